#include "report/target/Json.h"

#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
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

StringRef schemeName(Scheme scheme) { return schemeNames[static_cast<size_t>(scheme)]; }

llvm::ArrayRef<Scheme> allSchemes() {
  static const Scheme schemes[] = {Scheme::None, Scheme::PerTensor, Scheme::PerChannel, Scheme::Blockwise,
                                   Scheme::Mx,   Scheme::MultiAxis, Scheme::Custom};
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

  Error fail(const Twine &what) const { return makeError((path.empty() ? "" : path + ": ") + what); }
  Cursor at(const std::string &key, const Json &value) const {
    return {value, (path.empty() ? "" : path + ".") + printable(key)};
  }
  Cursor at(size_t i) const { return {json[i], path + "[" + std::to_string(i) + "]"}; }

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
  Error unknown(StringRef known) const { return fail("is not known here; there are " + known); }

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
      return fail("is not a whole number from 0 on");
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
      return fail("is not a whole number of 32 bits");
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

Error readRange(const Cursor &at, std::optional<int64_t> &min, std::optional<int64_t> &max) {
  if (Error error = at.forEachMember([&](StringRef key, const Cursor &value) {
        return key == "min" ? value.get(min) : key == "max" ? value.get(max) : value.unknown("min and max");
      }))
    return error;
  return min && max && *min > *max ? at.fail("its min is above its max") : Error::success();
}

Error readQuantization(const Cursor &at, TensorLimits &limits) {
  return at.forEachMember([&](StringRef key, const Cursor &value) -> Error {
    if (key == "symmetric")
      return value.get(limits.symmetric);
    if (key == "axis")
      return value.getSigned(limits.axis);
    if (key == "scale")
      return value.get(limits.scale);
    if (key == "zero_point")
      return value.getSigned(limits.zeroPoint);
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
      limits.schemes->push_back(static_cast<Scheme>(known - schemeNames.begin()));
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
    if (ofOperator && key == "constant")
      return value.get(limits.constant.emplace());
    return value.unknown(ofOperator ? "dataTypes, rankRange, shape, quantization, constant and optional"
                                    : "dataTypes, rankRange, shape and quantization");
  });
}

Expected<AttributeValue> readAttributeValue(const Cursor &at, const wire::Field &field) {
  if (field.enumeration) {
    std::string name;
    if (at.json.is_string() && !at.get(name) && field.enumeration->find(StringRef(name)))
      return AttributeValue{std::nullopt, name};
    return at.fail("is none of " + field.enumeration->name);
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

Error readAttributes(const Cursor &at, const OperatorInfo &info, std::vector<AttributeLimits> &attributes) {
  return at.forEachMember([&](StringRef name, const Cursor &value) -> Error {
    const wire::TableType *table = info.optionsType();
    const wire::Field *field = table ? table->find(name) : nullptr;
    if (!field || field->deprecated)
      return value.fail(info.name + " has no such attribute");
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
      return Error::success();
    });
  });
}

Error readOperator(const Cursor &at, const OperatorInfo &info, OperatorLimits &limits, bool mayBranch) {
  return at.forEachMember([&](StringRef key, const Cursor &value) -> Error {
    // An operand's name wins: no row has one of these, as far as there are limits.
    if (key == "attributes")
      return readAttributes(value, info, limits.attributes);
    if (key == "same")
      return readSame(value, info, limits);
    if (key == "anyOf" && mayBranch)
      return value.forEachElement(
          [&](const Cursor &element) { return readOperator(element, info, limits.anyOf.emplace_back(), false); });
    Expected<Slot> slot = readSlot(value, info, key, limits);
    if (!slot)
      return slot.takeError();
    auto [tensor, isNew] = limits.tensors.try_emplace(*slot);
    return isNew ? readTensor(value, true, tensor->second)
                 : value.fail("is another name of " + slotName(&info, *slot) + ", which has its limits already");
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
        if (key == "schema_version") {
          uint64_t version = 0;
          if (Error error = value.get(version))
            return error;
          return version == 1 ? Error::success() : value.fail("is " + Twine(version) + ", and only version 1 is known");
        }
        if (key != "ops")
          return value.unknown("target, schema_version, preferredInputLayout, maxTensorByteLength, input, constant, "
                               "output and ops");
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

Json toJson(const TensorLimits &limits) {
  Json json = Json::object();
  if (limits.dataTypes) {
    json["dataTypes"] = Json::array();
    for (TensorType type : *limits.dataTypes)
      json["dataTypes"].push_back(dataTypeName(type));
  }
  if (limits.minRank)
    json["rankRange"]["min"] = *limits.minRank;
  if (limits.maxRank)
    json["rankRange"]["max"] = *limits.maxRank;
  for (int64_t dimension : limits.shape)
    json["shape"].push_back(dimension < 0 ? Json() : Json(dimension));
  if (limits.schemes)
    for (Scheme scheme : *limits.schemes)
      json["quantization"]["schemes"].push_back(schemeName(scheme));
  if (limits.symmetric)
    json["quantization"]["symmetric"] = true;
  if (limits.axis)
    json["quantization"]["axis"] = *limits.axis;
  if (limits.scale)
    json["quantization"]["scale"] = *limits.scale;
  if (limits.zeroPoint)
    json["quantization"]["zero_point"] = *limits.zeroPoint;
  if (limits.constant)
    json["constant"] = *limits.constant;
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

/// The document, in which no object has a key twice.
static Expected<Json> parseJson(StringRef text) {
  std::vector<std::set<std::string>> open;
  std::string twice;
  auto watch = [&](int, Json::parse_event_t event, Json &value) {
    if (event == Json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      open.pop_back();
    else if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  Json json = Json::parse(text.begin(), text.end(), watch, false);
  if (json.is_discarded())
    return makeError("is not JSON");
  if (!twice.empty())
    return makeError("has the key \"" + printable(twice) + "\" twice in one object");
  return json;
}

Expected<Target> readTarget(StringRef text) {
  Expected<Json> json = parseJson(text);
  if (!json)
    return json.takeError();
  Target target;
  if (Error error = readTop({*json, ""}, target))
    return error;
  return target;
}

std::string writeTarget(const Target &target) {
  Json json;
  json["target"] = target.name;
  json["schema_version"] = 1;
  if (!target.preferredInputLayout.empty())
    json["preferredInputLayout"] = target.preferredInputLayout;
  if (target.maxTensorByteLength)
    json["maxTensorByteLength"] = *target.maxTensorByteLength;
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
