#include "report/CheckedJson.h"
#include "report/target/Json.h"

#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace origo::report {

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using Json = nlohmann::ordered_json;

static const std::array<StringRef, 7> schemeNames = {"none", "per-tensor", "per-channel", "blockwise",
                                                     "mx",   "multi-axis", "custom"};
static const std::array<StringRef, 5> propertyNames = {"dtype", "rank", "shape", "quantization", "elements"};

StringRef schemeName(QuantizationScheme scheme) { return schemeNames[static_cast<size_t>(scheme)]; }

llvm::ArrayRef<QuantizationScheme> allSchemes() {
  static const QuantizationScheme schemes[] = {QuantizationScheme::None,       QuantizationScheme::PerTensor,
                                               QuantizationScheme::PerChannel, QuantizationScheme::Blockwise,
                                               QuantizationScheme::Mx,         QuantizationScheme::MultiAxis,
                                               QuantizationScheme::Custom};
  return schemes;
}

std::string dataTypeName(TensorType type) { return tensorTypeName(type).lower(); }

StringRef slotName(const OperatorInfo *info, Slot slot) {
  llvm::ArrayRef<OperandInfo> row;
  if (info)
    row = slot.result ? info->results : info->operands;
  return row.empty() ? StringRef() : row[std::min<size_t>(slot.index, row.size() - 1)].name;
}

static std::optional<Slot> slotNamed(const OperatorInfo &info, StringRef name) {
  for (bool result : {false, true})
    for (auto [i, operand] : llvm::enumerate(result ? info.results : info.operands))
      if (operand.name == name)
        return Slot{result, static_cast<unsigned>(i)};
  return std::nullopt;
}

/// The same by names that others use: WebNN, and TFLite's dialect.
static std::optional<Slot> slotOtherwiseNamed(const OperatorInfo &info, StringRef name) {
  if (auto slot = webnnSlot(info, name))
    return slot;
  if (name == "filter" || name == "weights")
    return slotNamed(info, name == "filter" ? "weights" : "filter");
  auto isOneOf = [&](auto... names) { return ((name == names) || ...); };
  if (isOneOf("output", "outputs") && !info.results.empty())
    return Slot{true, 0};
  if (isOneOf("input", "inputs", "x", "a", "lhs") && !info.operands.empty())
    return Slot{false, 0};
  if (isOneOf("y", "b", "rhs") && info.has(Trait::Binary))
    return Slot{false, 1};
  return std::nullopt;
}

namespace {

/// A value of the file with its place in it.
struct Cursor {
  const Json &json;
  std::string path;
  unsigned version; ///< of the description

  Error fail(const Twine &what) const { return makeError((path.empty() ? "" : path + ": ") + what); }
  Cursor at(const std::string &key, const Json &value) const {
    return {value, (path.empty() ? "" : path + ".") + printable(key), version};
  }
  Cursor at(size_t i) const { return {json[i], path + "[" + std::to_string(i) + "]", version}; }

  Error forEachMember(llvm::function_ref<Error(StringRef, const Cursor &)> visit) const {
    if (!json.is_object())
      return fail("is not an object");
    for (auto &[key, value] : json.items())
      if (!StringRef(key).starts_with("_"))
        if (Error error = visit(key, at(key, value)))
          return error;
    return Error::success();
  }
  Error forEachElement(llvm::function_ref<Error(const Cursor &)> visit) const {
    if (!json.is_array())
      return fail("is not a list");
    for (size_t i = 0; i < json.size(); ++i)
      if (Error error = visit(at(i)))
        return error;
    return Error::success();
  }
  /// `more`: what version 2 has besides.
  Error unknown(const std::string &known, const std::string &more = "") const {
    std::string rest = more.empty() ? "" : version >= 2 ? ", " + more : "; schema_version 2 has " + more;
    return fail("is not known here; there are " + known + rest);
  }

  Error get(std::string &out) const {
    if (!json.is_string())
      return fail("is not a string");
    out = json.get<std::string>();
    return Error::success();
  }
  Error get(bool &out) const {
    if (!json.is_boolean())
      return fail("is neither true nor false");
    out = json.get<bool>();
    return Error::success();
  }
  Error get(uint64_t &out) const {
    if (!json.is_number_unsigned())
      return fail("is not an integer from 0 on");
    out = json.get<uint64_t>();
    return Error::success();
  }
  Error get(std::optional<int64_t> &out) const {
    uint64_t value = 0;
    if (Error error = get(value))
      return error;
    if (value > INT32_MAX)
      return fail("is too large");
    out = static_cast<int64_t>(value);
    return Error::success();
  }
  /// Below 0, too.
  Error getSigned(std::optional<int64_t> &out) const {
    if (!json.is_number_integer() || json.get<double>() < INT32_MIN || json.get<double>() > INT32_MAX)
      return fail("is not an integer of 32 bits");
    out = json.get<int64_t>();
    return Error::success();
  }
  Error get(std::optional<double> &out) const {
    if (!json.is_number())
      return fail("is not a number");
    out = json.get<double>();
    return Error::success();
  }
};

Error readTypes(const Cursor &at, std::vector<TensorType> &types) {
  return at.forEachElement([&](const Cursor &element) -> Error {
    std::string name;
    if (Error error = element.get(name))
      return error;
    std::optional<TensorType> type = tensorTypeFromName(StringRef(name).upper());
    if (!type || name != dataTypeName(*type))
      return element.fail("there is no data type \"" + printable(name) + "\"; types are float32, int8 and the like");
    types.push_back(*type);
    return Error::success();
  });
}

template <class Number>
Error inOrder(const Cursor &at, const std::optional<Number> &min, const std::optional<Number> &max) {
  return min && max && *min > *max ? at.fail("its min is above its max") : Error::success();
}

Error readRange(const Cursor &at, std::optional<int64_t> &min, std::optional<int64_t> &max) {
  if (Error error = at.forEachMember([&](StringRef key, const Cursor &value) {
        return key == "min" ? value.get(min) : key == "max" ? value.get(max) : value.unknown("min and max");
      }))
    return error;
  return inOrder(at, min, max);
}

Error readNumbers(const Cursor &at, NumberLimits &limits) {
  if (Error error = at.forEachMember([&](StringRef key, const Cursor &value) {
        return key == "min"     ? value.get(limits.min)
               : key == "max"   ? value.get(limits.max)
               : key == "below" ? value.get(limits.below)
                                : value.unknown("min, max and below");
      }))
    return error;
  double high = std::min(limits.max.value_or(INFINITY), limits.below.value_or(INFINITY));
  return inOrder(at, limits.min, std::optional(high));
}

Error readValues(const Cursor &at, ListLimits &limits) {
  if (Error error = at.forEachMember([&](StringRef key, const Cursor &value) -> Error {
        if (key == "min")
          return value.getSigned(limits.min);
        if (key == "max")
          return value.getSigned(limits.max);
        if (key != "in")
          return value.unknown("min, max and in");
        limits.in.emplace();
        return value.forEachElement([&](const Cursor &list) -> Error {
          auto &numbers = limits.in->emplace_back();
          return list.forEachElement([&](const Cursor &element) -> Error {
            std::optional<int64_t> number;
            if (Error error = element.getSigned(number))
              return error;
            numbers.push_back(*number);
            return Error::success();
          });
        });
      }))
    return error;
  return inOrder(at, limits.min, limits.max);
}

Error readDimensions(const Cursor &at, std::map<int64_t, DimensionLimits> &dimensions) {
  return at.forEachMember([&](StringRef key, const Cursor &value) -> Error {
    int32_t index = 0;
    if (key.getAsInteger(10, index))
      return value.fail("is no index of a dimension; 0 is the first one, -1 the last");
    auto [found, isNew] = dimensions.try_emplace(index);
    if (!isNew)
      return value.fail("is another way to write a dimension that has its limits already");
    DimensionLimits &limits = found->second;
    if (Error error = value.forEachMember([&](StringRef limit, const Cursor &number) -> Error {
          if (limit == "min")
            return number.get(limits.min);
          if (limit == "max")
            return number.get(limits.max);
          if (limit != "multiple_of")
            return number.unknown("min, max and multiple_of");
          if (Error error = number.get(limits.multipleOf))
            return error;
          return *limits.multipleOf ? Error::success() : number.fail("is 0");
        }))
      return error;
    return inOrder(value, limits.min, limits.max);
  });
}

Error readQuantization(const Cursor &at, TensorLimits &limits) {
  return at.forEachMember([&](StringRef key, const Cursor &value) -> Error {
    if (key == "symmetric")
      return value.get(limits.symmetric);
    if (key == "axis")
      return value.getSigned(limits.axis);
    bool range = value.version >= 2 && value.json.is_object();
    if (key == "scale")
      return range ? readNumbers(value, limits.scaleRange) : value.get(limits.scale);
    if (key == "zero_point")
      return range ? readNumbers(value, limits.zeroPointRange) : value.getSigned(limits.zeroPoint);
    if (key != "schemes")
      return value.unknown("schemes, symmetric, axis, scale and zero_point");
    limits.schemes.emplace();
    return value.forEachElement([&](const Cursor &element) -> Error {
      std::string name;
      if (Error error = element.get(name))
        return error;
      auto *known = llvm::find(schemeNames, name);
      if (known == schemeNames.end())
        return element.fail("there is no scheme \"" + printable(name) + "\"; schemes are " +
                            llvm::join(schemeNames, ", "));
      limits.schemes->push_back(static_cast<QuantizationScheme>(known - schemeNames.begin()));
      return Error::success();
    });
  });
}

Error readTensor(const Cursor &at, bool ofOperator, TensorLimits &limits) {
  return at.forEachMember([&](StringRef key, const Cursor &value) -> Error {
    if (key == "dataTypes")
      return readTypes(value, limits.dataTypes.emplace());
    if (key == "rankRange")
      return readRange(value, limits.minRank, limits.maxRank);
    if (key == "quantization")
      return readQuantization(value, limits);
    if (key == "shape")
      return value.forEachElement([&](const Cursor &element) -> Error {
        std::optional<int64_t> dimension = -1;
        if (!element.json.is_null())
          if (Error error = element.get(dimension))
            return error;
        limits.shape.push_back(*dimension);
        return Error::success();
      });
    if (ofOperator && key == "optional")
      return value.get(limits.optional);
    if (ofOperator && key == "constant") {
      limits.unpacked = value.version >= 2 && value.json == "unpacked";
      limits.constant.emplace(true);
      return limits.unpacked ? Error::success() : value.get(*limits.constant);
    }
    if (value.version >= 2 && key == "dimensions")
      return readDimensions(value, limits.dimensions);
    if (value.version >= 2 && key == "elements")
      return readRange(value, limits.minElements, limits.maxElements);
    if (value.version >= 2 && ofOperator && key == "values")
      return readValues(value, limits.values.emplace());
    if (value.version >= 2 && ofOperator && key == "count")
      return readRange(value, limits.minCount, limits.maxCount);
    return ofOperator ? value.unknown("dataTypes, rankRange, shape, quantization, constant and optional",
                                      "dimensions, elements, values and count")
                      : value.unknown("dataTypes, rankRange, shape and quantization", "dimensions and elements");
  });
}

Expected<AttributeValue> readAttributeValue(const Cursor &at, const wire::Field &field) {
  if (field.enumeration) {
    std::string name;
    if (at.json.is_string() && !at.get(name) && field.enumeration->find(StringRef(name)))
      return AttributeValue{std::nullopt, name};
    return at.fail("is none of " + field.enumeration->name + ": " +
                   llvm::join(llvm::map_range(field.enumeration->values, [](auto &one) { return one.name; }), ", "));
  }
  if (field.type == wire::Type::Bool) {
    bool value = false;
    if (Error error = at.get(value))
      return error;
    return AttributeValue{std::nullopt, value ? "true" : "false"};
  }
  AttributeValue value;
  if (Error error = at.get(value.number))
    return error;
  return value;
}

std::string attributeNames(const wire::TableType *table) {
  std::vector<StringRef> names;
  if (table)
    for (const wire::Field &field : table->fields)
      if (!field.deprecated && wire::isScalar(field.type))
        names.push_back(field.name);
  return names.empty() ? "none" : llvm::join(names, ", ");
}

Error readAttributes(const Cursor &at, const OperatorInfo &info, std::vector<AttributeLimits> &attributes) {
  return at.forEachMember([&](StringRef name, const Cursor &value) -> Error {
    const wire::TableType *table = info.optionsType();
    const wire::Field *field = table ? table->find(name) : nullptr;
    if (!field || field->deprecated)
      return value.fail(info.name + " has no such attribute; it has " + attributeNames(table));
    if (!wire::isScalar(field->type))
      return value.fail("is no single value, and cannot be limited");
    AttributeLimits limits{field, {}, {}, {}};
    if (Error error = value.forEachMember([&](StringRef key, const Cursor &limit) -> Error {
          bool number = !field->enumeration && field->type != wire::Type::Bool;
          if (number && key == "min")
            return limit.get(limits.min);
          if (number && key == "max")
            return limit.get(limits.max);
          if (key != "in")
            return limit.unknown(number ? "min, max and in" : "in");
          limits.in.emplace();
          return limit.forEachElement([&](const Cursor &element) -> Error {
            Expected<AttributeValue> one = readAttributeValue(element, *field);
            if (!one)
              return one.takeError();
            limits.in->push_back(std::move(*one));
            return Error::success();
          });
        }))
      return error;
    if (Error error = inOrder(value, limits.min, limits.max))
      return error;
    attributes.push_back(std::move(limits));
    return Error::success();
  });
}

Expected<Slot> readSlot(const Cursor &at, const OperatorInfo &info, StringRef name, OperatorLimits &limits) {
  if (auto slot = slotNamed(info, name))
    return *slot;
  if (auto slot = slotOtherwiseNamed(info, name)) {
    limits.names.try_emplace(*slot, name.str());
    return *slot;
  }
  std::string names;
  for (auto row : {info.operands, info.results})
    for (const OperandInfo &operand : row)
      names += (names.empty() ? "" : ", ") + operand.name.str();
  return at.fail(info.name + " has no operand or result \"" + printable(name) + "\"; it has " + names);
}

Error readSame(const Cursor &at, const OperatorInfo &info, OperatorLimits &limits) {
  return at.forEachElement([&](const Cursor &group) -> Error {
    limits.same.emplace_back();
    return group.forEachElement([&](const Cursor &element) -> Error {
      std::string text;
      if (Error error = element.get(text))
        return error;
      auto [name, property] = StringRef(text).rsplit('.');
      auto *known = llvm::find(propertyNames, property);
      int32_t dimension = 0;
      bool isDimension =
          property.consume_front("shape[") && property.consume_back("]") && !property.getAsInteger(10, dimension);
      if (known == propertyNames.end() && !isDimension)
        return element.fail("is not like input.dtype; what can be the same is " + llvm::join(propertyNames, ", ") +
                            ", shape[0]");
      Expected<Slot> slot = readSlot(element, info, name, limits);
      if (!slot)
        return slot.takeError();
      limits.same.back().push_back(
          {*slot,
           isDimension ? SlotProperty::Dimension : static_cast<SlotProperty::Property>(known - propertyNames.begin()),
           dimension});
      auto isNumber = [](const SlotProperty &one) { return one.property >= SlotProperty::Elements; };
      const SlotProperty &first = limits.same.back().front(), &last = limits.same.back().back();
      return first.property == last.property || (isNumber(first) && isNumber(last))
                 ? Error::success()
                 : element.fail("cannot be the same as a " + propertyNames[first.property]);
    });
  });
}

Error readRatio(const Cursor &at, const OperatorInfo &info, OperatorLimits &limits) {
  ScaleRatio &ratio = limits.scaleRatios.emplace_back();
  auto readSlots = [&](const Cursor &list, std::vector<SlotProperty> &slots) {
    return list.forEachElement([&](const Cursor &element) -> Error {
      std::string name;
      if (Error error = element.get(name))
        return error;
      Expected<Slot> slot = readSlot(element, info, name, limits);
      if (!slot)
        return slot.takeError();
      slots.push_back({*slot, SlotProperty::Quantization});
      return Error::success();
    });
  };
  if (Error error = at.forEachMember([&](StringRef key, const Cursor &value) -> Error {
        return key == "of"      ? readSlots(value, ratio.of)
               : key == "by"    ? readSlots(value, ratio.by)
               : key == "min"   ? value.get(ratio.limits.min)
               : key == "max"   ? value.get(ratio.limits.max)
               : key == "below" ? value.get(ratio.limits.below)
                                : value.unknown("of, by, min, max and below");
      }))
    return error;
  return ratio.of.empty() ? at.fail("is of nothing") : Error::success();
}

Expected<OptionRelation::Factor> readFactor(const Cursor &at, const OperatorInfo &info, StringRef text,
                                            OperatorLimits &limits) {
  OptionRelation::Factor factor;
  int32_t number = 0;
  if (!text.getAsInteger(10, number)) {
    factor.number = number;
    return factor;
  }
  auto [name, property] = text.rsplit('.');
  if (property.consume_front("shape[") && property.consume_back("]") && !property.getAsInteger(10, number)) {
    Expected<Slot> slot = readSlot(at, info, name, limits);
    if (!slot)
      return slot.takeError();
    factor.dimension = SlotProperty{*slot, SlotProperty::Dimension, number};
    return factor;
  }
  const wire::TableType *table = info.optionsType();
  factor.field = table ? table->find(text) : nullptr;
  if (!factor.field || factor.field->deprecated || !wire::isScalar(factor.field->type))
    return at.fail("\"" + printable(text) + "\" is neither a number nor an attribute of " + info.name +
                   " and nothing like input.shape[0]");
  return factor;
}

Error readRelation(const Cursor &at, const OperatorInfo &info, OperatorLimits &limits) {
  static constexpr std::pair<StringRef, OptionRelation::Comparison> comparisons[] = {
      {" == ", OptionRelation::Equal},
      {" != ", OptionRelation::NotEqual},
      {" <= ", OptionRelation::AtMost},
      {" < ", OptionRelation::Below},
      {" divides ", OptionRelation::Divides}};
  OptionRelation &relation = limits.relations.emplace_back();
  if (Error error = at.get(relation.text))
    return error;
  StringRef text = relation.text;
  auto *found = llvm::find_if(comparisons, [&](auto &one) { return text.contains(one.first); });
  if (found == std::end(comparisons))
    return at.fail("is not like stride_h <= filter_height; what can be said is ==, !=, <=, < and divides");
  relation.comparison = found->second;
  auto [left, right] = text.split(found->first);
  for (auto [side, product] : {std::pair(left, &relation.left), std::pair(right, &relation.right)}) {
    llvm::SmallVector<StringRef> factors;
    side.split(factors, " * ", 8);
    for (StringRef factor : factors) {
      Expected<OptionRelation::Factor> one = readFactor(at, info, factor.trim(), limits);
      if (!one)
        return one.takeError();
      product->push_back(std::move(*one));
    }
  }
  return Error::success();
}

Error readOperator(const Cursor &at, const OperatorInfo &info, OperatorLimits &limits, bool mayBranch) {
  return at.forEachMember([&](StringRef key, const Cursor &value) -> Error {
    // An operand's name wins: no row has one of these, as far as there are limits.
    if (key == "attributes")
      return readAttributes(value, info, limits.attributes);
    if (key == "same")
      return readSame(value, info, limits);
    if (key == "anyOf" && mayBranch && value.json.is_array() && value.json.empty())
      return value.fail("is empty, so that nothing could hold; without it, all does");
    if (key == "anyOf" && mayBranch)
      return value.forEachElement(
          [&](const Cursor &element) { return readOperator(element, info, limits.anyOf.emplace_back(), false); });
    if (value.version >= 2) {
      if (key == "fatal" && mayBranch)
        return value.forEachElement(
            [&](const Cursor &element) { return readOperator(element, info, limits.fatal.emplace_back(), false); });
      if (key == "scale_ratio")
        return value.forEachElement([&](const Cursor &element) { return readRatio(element, info, limits); });
      if (key == "relations")
        return value.forEachElement([&](const Cursor &element) { return readRelation(element, info, limits); });
      if (key == "max_version")
        return value.get(limits.maxVersion);
      if (key == "with_users" && mayBranch) {
        limits.withUsers = value.json.is_array();
        return limits.withUsers ? readTypes(value, limits.unpacked) : value.get(limits.withUsers);
      }
    }
    Expected<Slot> slot = readSlot(value, info, key, limits);
    if (!slot)
      return slot.takeError();
    auto [tensor, isNew] = limits.tensors.try_emplace(*slot);
    return isNew ? readTensor(value, true, tensor->second)
                 : value.fail("is another name of " + slotName(&info, *slot) + ", which has its limits already");
  });
}

Error readPartition(const Cursor &at, PartitionLimits &limits) {
  return at.forEachMember([&](StringRef key, const Cursor &value) -> Error {
    if (key == "max")
      return value.get(limits.max.emplace());
    if (key == "min_operators")
      return value.get(limits.minOperators);
    if (key == "prefix")
      return value.get(limits.prefix);
    return key == "whole" ? value.get(limits.whole) : value.unknown("max, min_operators, prefix and whole");
  });
}

Error readTop(const Cursor &top, Target &target) {
  bool hasOperators = false;
  if (Error error = top.forEachMember([&](StringRef key, const Cursor &value) -> Error {
        if (key == "target")
          return value.get(target.name);
        if (key == "preferredInputLayout")
          return value.get(target.preferredInputLayout);
        if (key == "maxTensorByteLength")
          return value.get(target.maxTensorByteLength.emplace());
        if (key == "input")
          return readTensor(value, false, target.input);
        if (key == "constant")
          return readTensor(value, false, target.constant);
        if (key == "output")
          return readTensor(value, false, target.output);
        if (key == "schema_version") // read already
          return Error::success();
        if (value.version >= 2) {
          for (auto [name, text] : {std::pair("source", &target.source), std::pair("commit", &target.commit),
                                    std::pair("date", &target.date)})
            if (key == name)
              return value.get(*text);
          if (key == "static_shapes")
            return value.get(target.staticShapes);
          if (key == "fatal_rank")
            return value.get(target.fatalRank.emplace());
          if (key == "partition")
            return readPartition(value, target.partition);
          if (key == "refusal_cost")
            return value.forEachMember([&](StringRef name, const Cursor &number) -> Error {
              std::optional<double> cost;
              if (!operatorInfo(name))
                return number.fail("there is no such operator");
              if (Error error = number.get(cost))
                return error;
              target.refusalCost[name.str()] = *cost;
              return *cost > 0 ? Error::success() : number.fail("is not above 0");
            });
        }
        if (key != "ops")
          return value.unknown("target, schema_version, preferredInputLayout, maxTensorByteLength, input, constant, "
                               "output and ops",
                               "source, commit, date, static_shapes, fatal_rank, partition and refusal_cost");
        hasOperators = true;
        return value.forEachMember([&](StringRef name, const Cursor &limits) -> Error {
          const OperatorInfo *info = operatorInfo(name.starts_with("CUSTOM:") ? StringRef("CUSTOM") : name);
          if (!info)
            return limits.fail("there is no such operator; names are those of the schema, for example CONV_2D");
          return readOperator(limits, *info, target.ops[name.str()], true);
        });
      }))
    return error;
  return hasOperators ? Error::success() : top.fail("has no \"ops\", so that nothing could be supported");
}

Json rangeJson(std::optional<int64_t> min, std::optional<int64_t> max) {
  Json json = Json::object();
  if (min)
    json["min"] = *min;
  if (max)
    json["max"] = *max;
  return json;
}

Json toJson(const NumberLimits &limits) {
  Json json = Json::object();
  for (auto [key, limit] :
       {std::pair("min", limits.min), std::pair("max", limits.max), std::pair("below", limits.below)})
    if (limit)
      json[key] = *limit;
  return json;
}

Json toJson(const ListLimits &limits) {
  Json json = rangeJson(limits.min, limits.max);
  if (limits.in)
    json["in"] = *limits.in;
  return json;
}

Json toJson(const DimensionLimits &limits) {
  Json json = rangeJson(limits.min, limits.max);
  if (limits.multipleOf)
    json["multiple_of"] = *limits.multipleOf;
  return json;
}

Json typesJson(llvm::ArrayRef<TensorType> types) {
  Json json = Json::array();
  for (TensorType type : types)
    json.push_back(dataTypeName(type));
  return json;
}

Json toJson(const TensorLimits &limits) {
  Json json = Json::object();
  if (limits.dataTypes)
    json["dataTypes"] = typesJson(*limits.dataTypes);
  if (limits.minRank)
    json["rankRange"]["min"] = *limits.minRank;
  if (limits.maxRank)
    json["rankRange"]["max"] = *limits.maxRank;
  for (int64_t dimension : limits.shape)
    json["shape"].push_back(dimension < 0 ? Json() : Json(dimension));
  if (limits.schemes)
    for (QuantizationScheme scheme : *limits.schemes)
      json["quantization"]["schemes"].push_back(schemeName(scheme));
  if (limits.symmetric)
    json["quantization"]["symmetric"] = true;
  if (limits.axis)
    json["quantization"]["axis"] = *limits.axis;
  if (limits.scale)
    json["quantization"]["scale"] = *limits.scale;
  if (limits.scaleRange.limits())
    json["quantization"]["scale"] = toJson(limits.scaleRange);
  if (limits.zeroPoint)
    json["quantization"]["zero_point"] = *limits.zeroPoint;
  if (limits.zeroPointRange.limits())
    json["quantization"]["zero_point"] = toJson(limits.zeroPointRange);
  if (limits.constant)
    json["constant"] = limits.unpacked ? Json("unpacked") : Json(*limits.constant);
  for (auto &[index, dimension] : limits.dimensions)
    json["dimensions"][std::to_string(index)] = toJson(dimension);
  if (limits.minElements || limits.maxElements)
    json["elements"] = rangeJson(limits.minElements, limits.maxElements);
  if (limits.values)
    json["values"] = toJson(*limits.values);
  if (limits.minCount || limits.maxCount)
    json["count"] = rangeJson(limits.minCount, limits.maxCount);
  if (limits.optional)
    json["optional"] = true;
  return json;
}

Json toJson(const AttributeValue &value, const wire::Field &field) {
  if (!value.number)
    return field.type == wire::Type::Bool ? Json(value.text == "true") : Json(value.text);
  bool whole = !wire::isReal(field.type) && std::abs(*value.number) < 9e15;
  return whole ? Json(static_cast<int64_t>(*value.number)) : Json(*value.number);
}

Json toJson(const AttributeLimits &limits) {
  Json json = Json::object();
  if (limits.min)
    json["min"] = toJson(AttributeValue{limits.min, {}}, *limits.field);
  if (limits.max)
    json["max"] = toJson(AttributeValue{limits.max, {}}, *limits.field);
  if (limits.in) {
    json["in"] = Json::array();
    for (const AttributeValue &value : *limits.in)
      json["in"].push_back(toJson(value, *limits.field));
  }
  return json;
}

Json toJson(const OperatorInfo &info, const OperatorLimits &limits) {
  Json json = Json::object();
  for (auto &[slot, tensor] : limits.tensors)
    json[slotName(&info, slot).str()] = toJson(tensor);
  for (const AttributeLimits &attribute : limits.attributes)
    json["attributes"][attribute.field->name.str()] = toJson(attribute);
  for (const auto &group : limits.same) {
    Json names = Json::array();
    for (const SlotProperty &member : group)
      names.push_back((slotName(&info, member.slot) + "." +
                       (member.property == SlotProperty::Dimension ? "shape[" + Twine(member.dimension) + "]"
                                                                   : Twine(propertyNames[member.property])))
                          .str());
    json["same"].push_back(std::move(names));
  }
  for (const OperatorLimits &choice : limits.anyOf)
    json["anyOf"].push_back(toJson(info, choice));
  for (const ScaleRatio &ratio : limits.scaleRatios) {
    Json one = toJson(ratio.limits);
    for (auto [key, slots] : {std::pair("of", &ratio.of), std::pair("by", &ratio.by)})
      for (const SlotProperty &member : *slots)
        one[key].push_back(slotName(&info, member.slot));
    json["scale_ratio"].push_back(std::move(one));
  }
  for (const OptionRelation &relation : limits.relations)
    json["relations"].push_back(relation.text);
  if (limits.maxVersion)
    json["max_version"] = *limits.maxVersion;
  for (const OperatorLimits &choice : limits.fatal)
    json["fatal"].push_back(toJson(info, choice));
  if (limits.withUsers)
    json["with_users"] = limits.unpacked.empty() ? Json(true) : typesJson(limits.unpacked);
  return json;
}

/// Objects and lists of scalars stay on a line; only what holds more is broken.
void print(const Json &json, unsigned depth, std::string &out) {
  std::string flat = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!json.is_structured() || flat.size() + 2 * depth <= 100) {
    out += flat;
    return;
  }
  std::string indent(2 * depth + 2, ' ');
  out += json.is_array() ? '[' : '{';
  bool first = true;
  for (auto &[key, value] : json.items()) {
    out += (first ? "\n" : ",\n") + indent;
    if (json.is_object())
      out += Json(key).dump(-1, ' ', false, Json::error_handler_t::replace) + ": ";
    print(value, depth + 1, out);
    first = false;
  }
  out += '\n' + std::string(2 * depth, ' ') + (json.is_array() ? ']' : '}');
}

} // namespace

std::string attributeJson(const AttributeLimits &limits) { return toJson(limits).dump(); }
std::string limitsJson(const NumberLimits &limits) { return toJson(limits).dump(); }
std::string limitsJson(const ListLimits &limits) { return toJson(limits).dump(); }
std::string limitsJson(const DimensionLimits &limits) { return toJson(limits).dump(); }

Expected<Target> readTarget(StringRef text) {
  if (Error error = checkJson(text))
    return error;
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  Target target;
  uint64_t version = 1;
  if (auto given = json.is_object() ? json.find("schema_version") : json.end(); given != json.end()) {
    if (Error error = Cursor{*given, "schema_version", 1}.get(version))
      return error;
    if (version < 1 || version > 2)
      return makeError("schema_version: is " + Twine(version) + ", and only versions 1 and 2 are known");
  }
  if (Error error = readTop({json, "", static_cast<unsigned>(version)}, target))
    return error;
  return target;
}

std::string writeTarget(const Target &target) {
  Json json;
  json["target"] = target.name;
  json["schema_version"] = 2;
  for (auto [key, text] :
       {std::pair("source", &target.source), std::pair("commit", &target.commit), std::pair("date", &target.date)})
    if (!text->empty())
      json[key] = *text;
  if (!target.preferredInputLayout.empty())
    json["preferredInputLayout"] = target.preferredInputLayout;
  if (target.maxTensorByteLength)
    json["maxTensorByteLength"] = *target.maxTensorByteLength;
  if (target.staticShapes)
    json["static_shapes"] = true;
  if (target.fatalRank)
    json["fatal_rank"] = *target.fatalRank;
  if (const PartitionLimits &limits = target.partition;
      limits.max || limits.minOperators != 1 || limits.prefix || limits.whole) {
    Json &one = json["partition"];
    if (limits.max)
      one["max"] = *limits.max;
    if (limits.minOperators != 1)
      one["min_operators"] = limits.minOperators;
    if (limits.prefix)
      one["prefix"] = true;
    if (limits.whole)
      one["whole"] = true;
  }
  for (auto &[name, cost] : target.refusalCost)
    json["refusal_cost"][name] = cost;
  for (auto [key, limits] : {std::pair("input", &target.input), std::pair("constant", &target.constant),
                             std::pair("output", &target.output)})
    if (Json one = toJson(*limits); !one.empty())
      json[key] = std::move(one);
  json["ops"] = Json::object();
  for (auto &[name, limits] : target.ops)
    json["ops"][name] = toJson(*operatorInfo(StringRef(name).starts_with("CUSTOM:") ? "CUSTOM" : name), limits);
  std::string out;
  print(json, 0, out);
  return out + "\n";
}

} // namespace origo::report
