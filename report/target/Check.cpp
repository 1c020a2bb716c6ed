#include "report/target/Json.h"

#include "eval/KernelSignature.h"
#include "eval/RealNumbers.h"
#include "eval/RunOperator.h"
#include "ir/shapes/Inference.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"

#include <nlohmann/json.hpp>

/// Holds a model against a target description, operand by operand. Nothing here looks at a payload.
namespace origo::report {

using Json = nlohmann::ordered_json;

namespace {

/// In ASCII, so that names in it are safe wherever it is printed.
std::string text(const Json &json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace); }

/// Payloads may be absent, so a buffer is enough; a variable with one begins with what it holds.
bool isConstant(const Value &value) {
  return !value.producer() && !value.isGraphInput && (value.buffer || value.externalBuffer || value.isConstant());
}

/// The same behind operators that unpack it, as back ends do once, when they begin.
bool isUnpackedConstant(const Value &value, const Target &target) {
  const Value *at = &value;
  while (const Operator *op = at->producer()) {
    at = op->operand(0);
    if ((op->code != BuiltinOperator::DEQUANTIZE && op->code != BuiltinOperator::DENSIFY) || !at)
      return false;
    auto found = target.ops.find(op->opName());
    if (found != target.ops.end() && !found->second.unpacks(at->type))
      return false;
  }
  return isConstant(*at);
}

/// One channel is quantised in both ways, and what nobody can compute with in none. Floats and bools are the numbers
/// that they stand for, whatever scales stand beside them.
bool hasScheme(const Value &value, QuantizationScheme scheme) {
  const Quantization *q = value.quantization;
  if (!q || !q->quantized())
    return scheme == QuantizationScheme::None;
  if (llvm::errorToBool(eval::checkQuantization(value)))
    return false;
  if (scheme == QuantizationScheme::None && (eval::isFloat(value.type) || value.type == TensorType::BOOL))
    return true;
  switch (q->details) {
  case Quantization::Details::None:
    break;
  case Quantization::Details::Custom:
    return scheme == QuantizationScheme::Custom;
  case Quantization::Details::MX:
    return scheme == QuantizationScheme::Mx;
  case Quantization::Details::Blockwise:
    return scheme == QuantizationScheme::Blockwise;
  case Quantization::Details::MultiAxis:
    return scheme == QuantizationScheme::MultiAxis;
  }
  bool oneChannel = q->dimension >= 0 && q->dimension < value.rank() && value.shape[q->dimension] == 1;
  if (q->scale.size() == 1)
    return scheme == QuantizationScheme::PerTensor || (scheme == QuantizationScheme::PerChannel && oneChannel);
  return scheme == QuantizationScheme::PerChannel;
}

std::string schemeOf(const Value &value) {
  for (QuantizationScheme scheme : allSchemes())
    if (hasScheme(value, scheme))
      return schemeName(scheme).str();
  return "invalid";
}

/// Bytes of its elements; a dimension that is not known counts as 1. Nothing for strings and the like.
std::optional<uint64_t> byteLength(const Value &value) {
  uint64_t count = 1;
  for (int32_t dimension : value.shape)
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(std::max(dimension, dimension < 0 ? 1 : 0)), &count))
      return UINT64_MAX;
  return payloadBytes(value.type, count);
}

Json shapeJson(const Value &value) {
  Json json = Json::array();
  for (int32_t dimension : value.shape)
    json.push_back(dimension);
  return json;
}

/// Of lists that state a shape; PADV2 and the like have a number of the tensor's own type beside them.
bool isIndex(TensorType type) { return type == TensorType::INT32 || type == TensorType::INT64; }

/// An empty shape is a scalar's, or nobody knew it.
bool mayHaveAnyRank(const Value &value) { return value.shape.empty() && !value.hasRank && !isConstant(value); }

/// −1: not known.
int64_t dimensionOf(const Value &value, int64_t i) {
  i = i < 0 ? i + value.rank() : i;
  if (i < 0 || i >= value.rank())
    return -1;
  bool unknown = static_cast<int>(value.shapeSignature().size()) == value.rank() && value.shapeSignature()[i] < 0;
  return unknown ? -1 : value.shape[i];
}

/// −1: not known.
int64_t elementsOf(const Value &value) {
  int64_t count = mayHaveAnyRank(value) ? -1 : 1;
  for (int64_t i = 0; i < value.rank() && count >= 0; ++i)
    count = dimensionOf(value, i) < 0 ? -1 : eval::times(count, dimensionOf(value, i));
  return count;
}

Json propertyOf(const Value &value, const SlotProperty &of) {
  switch (of.property) {
  case SlotProperty::Elements:
    return elementsOf(value);
  case SlotProperty::Dimension:
    return dimensionOf(value, of.dimension);
  case SlotProperty::Dtype:
    return dataTypeName(value.type);
  case SlotProperty::Rank:
    return value.rank();
  case SlotProperty::Shape:
    return shapeJson(value);
  case SlotProperty::Quantization:
    break;
  }
  Json json = {{"scheme", schemeOf(value)}};
  if (const Quantization *q = value.quantization; q && q->quantized()) {
    json["scale"] = std::vector<float>(q->scale.begin(), q->scale.end());
    json["zero_point"] = std::vector<int64_t>(q->zeroPoint.begin(), q->zeroPoint.end());
    if (q->scale.size() > 1)
      json["axis"] = q->dimension;
  }
  return json;
}

/// A product of what a relation names; nothing where a dimension is not known. Saturates.
std::optional<int64_t> productOf(const Operator &op, const OptionRelation::Product &factors) {
  int64_t product = 1;
  for (const OptionRelation::Factor &factor : factors) {
    int64_t number = factor.number.value_or(0);
    if (factor.field)
      number = static_cast<int64_t>(eval::optionOf(op, *factor.field).number);
    if (factor.dimension) {
      const Slot slot = factor.dimension->slot;
      const Value *value = slot.result ? op.result(slot.index) : op.operand(slot.index);
      number = value ? dimensionOf(*value, factor.dimension->dimension) : -1;
      if (number < 0)
        return std::nullopt;
    }
    if (__builtin_mul_overflow(product, number, &product))
      return INT64_MAX;
  }
  return product;
}

bool holds(int64_t left, OptionRelation::Comparison comparison, int64_t right) {
  switch (comparison) {
  case OptionRelation::Equal:
    return left == right;
  case OptionRelation::NotEqual:
    return left != right;
  case OptionRelation::AtMost:
    return left <= right;
  case OptionRelation::Below:
    return left < right;
  case OptionRelation::Divides:
    return left > 0 && right % left == 0;
  }
  return false;
}

/// Dimensions that are not known agree with any, and so does a shape that may not be one.
bool shapesAgree(const Value &a, const Value &b) {
  if (mayHaveAnyRank(a) || mayHaveAnyRank(b))
    return true;
  bool agree = a.rank() == b.rank();
  for (int i = 0; agree && i < a.rank(); ++i)
    agree = dimensionOf(a, i) < 0 || dimensionOf(b, i) < 0 || dimensionOf(a, i) == dimensionOf(b, i);
  return agree;
}

/// Is it the same? Of quantisations without making texts of thousands of scales.
bool sameProperty(const Value &a, const SlotProperty &ofA, const Value &b, const SlotProperty &ofB) {
  auto number = [](const Value &value, const SlotProperty &of) {
    return of.property == SlotProperty::Elements ? elementsOf(value) : dimensionOf(value, of.dimension);
  };
  switch (ofB.property) {
  case SlotProperty::Elements:
  case SlotProperty::Dimension: {
    int64_t x = number(a, ofA), y = number(b, ofB);
    return x < 0 || y < 0 || x == y;
  }
  case SlotProperty::Dtype:
    return a.type == b.type;
  case SlotProperty::Rank:
    return a.rank() == b.rank();
  case SlotProperty::Shape:
    return shapesAgree(a, b);
  case SlotProperty::Quantization:
    return sameQuantization(a.quantization, b.quantization);
  }
  return false;
}

class Checker {
public:
  Checker(const Target &target, std::vector<Violation> &out) : target(target), out(out) {}

  void graph(const Subgraph &graph) {
    auto interface = [&](llvm::ArrayRef<Value *> values, const TensorLimits &limits, const char *name) {
      for (auto [i, value] : llvm::enumerate(values)) {
        at = {graph.index, nullptr, name + ("[" + std::to_string(i) + "]"), value, "", "", "", {}};
        IdSet origins = value->producer() ? value->producer()->origins : IdSet();
        if (!value->producer())
          value->forEachUse([&](const Use &use) { origins = sets(graph).join(origins, use.user()->origins); });
        at.origins = members(graph, origins);
        tensor(*value, limits, std::string(name) + ".");
        size(*value);
      }
    };
    interface(graph.inputs, target.input, "input");
    for (const Operator &op : graph.operators) {
      check(op);
      if (const Value *computed = target.staticShapes ? computedShape(op) : nullptr) {
        at = {graph.index, &op, "", computed, "", "", "", members(graph, op.origins)};
        report("static_shapes", true, false);
      }
    }
    interface(graph.outputs, target.output, "output");
  }

  void check(const Operator &op) {
    at = {op.subgraph()->index, &op, "", nullptr, "", "", "", members(*op.subgraph(), op.origins)};
    const size_t before = out.size();
    const OperatorLimits *limits = nullptr;
    std::string name = op.opName();
    if (op.code == BuiltinOperator::CUSTOM)
      limits = find("CUSTOM:" + op.customCode().str());
    if (!limits)
      limits = find(name);
    if (!limits) {
      if (op.code == BuiltinOperator::CUSTOM)
        name += ":" + op.customCode().str();
      report("ops", "listed", name);
    } else {
      check(op, *limits);
    }
    const bool isTaken = out.size() == before;
    forEachSlot(op, limits ? limits->names : OperatorLimits().names,
                [&](Slot, const std::string &operand, const Value *value) {
                  if (!value)
                    return;
                  at.operand = operand;
                  at.tensor = value;
                  if (isConstant(*value))
                    tensor(*value, target.constant, "constant.");
                  if (uint64_t most = target.fatalRank.value_or(UINT64_MAX); isTaken && uint64_t(value->rank()) >= most)
                    report("fatal", {{"rank", {{"below", most}}}}, value->rank());
                  size(*value);
                });
  }

private:
  const Target &target;
  std::vector<Violation> &out;
  Violation at; ///< place of the next one

  static IdSets &sets(const Subgraph &graph) { return graph.model().sets; }
  static std::vector<uint32_t> members(const Subgraph &graph, IdSet set) {
    std::vector<uint32_t> ids;
    sets(graph).forEach(set, [&](uint32_t id) { ids.push_back(id); });
    return ids;
  }
  const OperatorLimits *find(const std::string &name) const {
    auto found = target.ops.find(name);
    return found == target.ops.end() ? nullptr : &found->second;
  }
  void report(std::string rule, const Json &expected, const Json &actual) {
    at.rule = std::move(rule);
    at.expected = text(expected);
    at.actual = text(actual);
    out.push_back(at);
  }

  /// Calls `visit` with the slot, the name and the value of each operand and result: absent ones of the row too.
  static void forEachSlot(const Operator &op, const std::map<Slot, std::string> &names,
                          llvm::function_ref<void(Slot, const std::string &, const Value *)> visit) {
    const OperatorInfo *info = op.info();
    for (bool result : {false, true}) {
      llvm::ArrayRef<OperandInfo> row;
      if (info)
        row = result ? info->results : info->operands;
      size_t given = result ? op.results().size() : op.numOperands();
      for (size_t i = 0; i < std::max(given, row.size()); ++i) {
        const Value *value = i >= given ? nullptr : result ? op.result(i) : op.operand(i);
        Slot slot{result, static_cast<unsigned>(row.empty() ? i : std::min(i, row.size() - 1))};
        bool many = !row.empty() && row[slot.index].variadic;
        auto other = names.find(slot);
        std::string name = other != names.end() ? other->second : slotName(info, slot).str();
        if (many && i >= given)
          continue;
        if (many || name.empty() || i >= row.size())
          name = (name.empty() ? (result ? "output" : "input") : name) + "[" +
                 std::to_string(row.empty() ? i : i - slot.index) + "]";
        visit(slot, name, value);
      }
    }
  }

  void check(const Operator &op, const OperatorLimits &limits) {
    size_t before = out.size();
    forEachSlot(op, limits.names, [&](Slot slot, const std::string &operand, const Value *value) {
      auto found = limits.tensors.find(slot);
      if (found == limits.tensors.end())
        return;
      at.operand = operand;
      at.tensor = value;
      if (value)
        tensor(*value, found->second, "");
      else if (!found->second.optional)
        report("optional", false, true);
    });
    for (const AttributeLimits &attribute : limits.attributes)
      check(op, attribute);
    for (const auto &group : limits.same)
      same(op, limits, group);
    counts(op, limits);
    for (const ScaleRatio &ratio : limits.scaleRatios)
      check(op, limits, ratio);
    for (const OptionRelation &relation : limits.relations)
      check(op, relation);
    if (limits.maxVersion && op.version > *limits.maxVersion) {
      at.operand = "";
      at.tensor = nullptr;
      report("max_version", *limits.maxVersion, op.version);
    }
    // What it does not take for another reason is left to others, and the model with it.
    for (const OperatorLimits &choice : limits.fatal) {
      if (out.size() != before)
        break;
      std::vector<Violation> found;
      Checker(target, found).choose(op, choice, at);
      if (!found.empty())
        continue;
      at.operand = "";
      at.tensor = nullptr;
      report("fatal", false, true);
      break;
    }
    if (limits.anyOf.empty() || out.size() != before)
      return;
    // What stands in the way of the choice that comes closest.
    std::vector<Violation> closest;
    for (auto [i, choice] : llvm::enumerate(limits.anyOf)) {
      std::vector<Violation> found;
      Checker(target, found).choose(op, choice, at);
      if (found.empty())
        return;
      if (i == 0 || found.size() < closest.size())
        closest = std::move(found);
    }
    llvm::append_range(out, closest);
  }

  void choose(const Operator &op, const OperatorLimits &choice, const Violation &place) {
    at = place;
    check(op, choice);
  }

  void tensor(const Value &value, const TensorLimits &limits, const std::string &prefix) {
    if (limits.dataTypes && !llvm::is_contained(*limits.dataTypes, value.type)) {
      Json expected = Json::array();
      for (TensorType type : *limits.dataTypes)
        expected.push_back(dataTypeName(type));
      report(prefix + "dataTypes", expected, dataTypeName(value.type));
    }
    bool ranked = !mayHaveAnyRank(value);
    if (ranked && (value.rank() < limits.minRank.value_or(0) || value.rank() > limits.maxRank.value_or(INT32_MAX))) {
      Json expected = Json::object();
      if (limits.minRank)
        expected["min"] = *limits.minRank;
      if (limits.maxRank)
        expected["max"] = *limits.maxRank;
      report(prefix + "rankRange", expected, value.rank());
    }
    bool fits = !ranked || limits.shape.empty() || static_cast<int>(limits.shape.size()) == value.rank();
    for (auto [i, wanted] : llvm::enumerate(limits.shape))
      if (int64_t actual = dimensionOf(value, static_cast<int64_t>(i)); wanted >= 0 && actual >= 0)
        fits &= wanted == actual;
    if (!fits) {
      Json expected = Json::array();
      for (int64_t wanted : limits.shape)
        expected.push_back(wanted < 0 ? Json() : Json(wanted));
      report(prefix + "shape", expected, shapeJson(value));
    }
    if (limits.constant &&
        *limits.constant != (isConstant(value) || (limits.unpacked && isUnpackedConstant(value, target))))
      report(prefix + "constant", limits.unpacked ? Json("unpacked") : Json(*limits.constant), !*limits.constant);
    for (auto &[index, dimension] : limits.dimensions) {
      int64_t actual = dimensionOf(value, index);
      if (actual < 0 || (actual >= dimension.min.value_or(0) && actual <= dimension.max.value_or(INT32_MAX) &&
                         actual % dimension.multipleOf.value_or(1) == 0))
        continue;
      report(prefix + "dimensions", {{std::to_string(index), Json::parse(limitsJson(dimension), nullptr, false)}},
             {{std::to_string(index), actual}});
    }
    if (int64_t count = elementsOf(value);
        (limits.minElements || limits.maxElements) && count >= 0 &&
        (count < limits.minElements.value_or(0) || count > limits.maxElements.value_or(INT64_MAX)))
      report(prefix + "elements",
             Json::parse(limitsJson(ListLimits{limits.minElements, limits.maxElements, {}}), nullptr, false), count);
    values(value, limits, prefix);
    quantization(value, limits, prefix + "quantization");
  }

  /// Of a constant whose elements are at hand.
  void values(const Value &value, const TensorLimits &limits, const std::string &prefix) {
    auto numbers = limits.values ? readIntegers(&value) : std::nullopt;
    if (!numbers)
      return;
    const ListLimits &list = *limits.values;
    bool fits = llvm::all_of(*numbers, [&](int64_t number) {
      return number >= list.min.value_or(number) && number <= list.max.value_or(number);
    });
    fits &= !list.in || llvm::any_of(*list.in, [&](const auto &one) { return llvm::equal(one, *numbers); });
    if (!fits)
      report(prefix + "values", Json::parse(limitsJson(list), nullptr, false),
             std::vector<int64_t>(numbers->begin(), numbers->end()));
  }

  void quantization(const Value &value, const TensorLimits &limits, const std::string &rule) {
    auto has = [&](QuantizationScheme scheme) { return hasScheme(value, scheme); };
    if (limits.schemes && llvm::none_of(*limits.schemes, has)) {
      Json expected = Json::array();
      for (QuantizationScheme scheme : *limits.schemes)
        expected.push_back(schemeName(scheme).str());
      report(rule, {{"schemes", expected}}, schemeOf(value));
    }
    const Quantization *q = value.quantization;
    if (!q || !q->quantized())
      return;
    if (limits.symmetric)
      if (auto *other = llvm::find_if(q->zeroPoint, [](int64_t zero) { return zero != 0; });
          other != q->zeroPoint.end())
        report(rule, {{"symmetric", true}}, {{"zero_point", *other}});
    if (limits.axis && q->scale.size() > 1 &&
        q->dimension != (*limits.axis < 0 ? *limits.axis + value.rank() : *limits.axis))
      report(rule, {{"axis", *limits.axis}}, {{"axis", q->dimension}});
    if (limits.scale && (q->scale.size() != 1 || q->scale[0] != static_cast<float>(*limits.scale)))
      report(rule, {{"scale", *limits.scale}}, {{"scale", std::vector<float>(q->scale.begin(), q->scale.end())}});
    if (int64_t zero = q->zeroPoint.empty() ? 0 : q->zeroPoint[0]; limits.zeroPoint && zero != *limits.zeroPoint)
      report(rule, {{"zero_point", *limits.zeroPoint}}, {{"zero_point", zero}});
    auto ranges = [&](const NumberLimits &range, const auto &numbers, const char *key) {
      auto other = llvm::find_if(numbers, [&](auto number) { return !range.hold(static_cast<double>(number)); });
      if (other != numbers.end())
        report(rule, {{key, Json::parse(limitsJson(range), nullptr, false)}}, {{key, *other}});
    };
    ranges(limits.scaleRange, q->scale, "scale");
    ranges(limits.zeroPointRange, q->zeroPoint, "zero_point");
  }

  void size(const Value &value) {
    auto bytes = byteLength(value);
    if (target.maxTensorByteLength && bytes && *bytes > *target.maxTensorByteLength)
      report("maxTensorByteLength", *target.maxTensorByteLength, *bytes);
  }

  void check(const Operator &op, const AttributeLimits &limits) {
    const wire::Field &field = *limits.field;
    eval::OptionValue option = eval::optionOf(op, field);
    double number = option.number;
    at.operand = field.name.str();
    at.tensor = nullptr;
    Json actual = number, expected = Json::object();
    AttributeValue value;
    if (field.enumeration || field.type == wire::Type::Bool) {
      value.text = option.name.empty() ? std::to_string(static_cast<int64_t>(number)) : option.name.str();
      actual = field.enumeration ? Json(value.text) : Json(number != 0);
    } else {
      value.number = number;
      if (!wire::isReal(field.type))
        actual = static_cast<int64_t>(number);
    }
    bool fits = !(number < limits.min.value_or(number)) && !(number > limits.max.value_or(number)) &&
                (!limits.in || llvm::is_contained(*limits.in, value));
    if (fits && number == number)
      return;
    report("attributes", Json::parse(attributeJson(limits), nullptr, false), actual);
  }

  /// How many there are of what stands for many.
  void counts(const Operator &op, const OperatorLimits &limits) {
    for (auto &[slot, tensor] : limits.tensors) {
      if (!tensor.minCount && !tensor.maxCount)
        continue;
      int64_t given = static_cast<int64_t>(slot.result ? op.results().size() : op.numOperands());
      int64_t count = std::max<int64_t>(0, given - slot.index);
      if (count >= tensor.minCount.value_or(0) && count <= tensor.maxCount.value_or(count))
        continue;
      auto named = limits.names.find(slot);
      at.operand = named == limits.names.end() ? slotName(op.info(), slot).str() : named->second;
      at.tensor = nullptr;
      report("count", Json::parse(limitsJson(ListLimits{tensor.minCount, tensor.maxCount, {}}), nullptr, false), count);
    }
  }

  /// Each channel's own, where there are several.
  void check(const Operator &op, const OperatorLimits &limits, const ScaleRatio &ratio) {
    std::vector<double> product = {1};
    for (auto [slots, power] : {std::pair(&ratio.of, 1), std::pair(&ratio.by, -1)})
      for (const SlotProperty &member : *slots) {
        const Value *value = member.slot.result ? op.result(member.slot.index) : op.operand(member.slot.index);
        const Quantization *q = value ? value->quantization : nullptr;
        if (!q || q->scale.empty())
          return;
        if (q->scale.size() > 1 && product.size() == 1)
          product.resize(q->scale.size(), product[0]);
        if (q->scale.size() > 1 && product.size() != q->scale.size())
          return;
        for (size_t i = 0; i < product.size(); ++i) {
          double scale = q->scale[q->scale.size() == 1 ? 0 : i];
          product[i] = power > 0 ? product[i] * scale : product[i] / scale;
        }
      }
    auto other = llvm::find_if(product, [&](double number) { return !ratio.limits.hold(number); });
    if (other == product.end())
      return;
    const Slot slot = ratio.of.front().slot;
    auto named = limits.names.find(slot);
    at.operand = named == limits.names.end() ? slotName(op.info(), slot).str() : named->second;
    at.tensor = slot.result ? op.result(slot.index) : op.operand(slot.index);
    report("scale_ratio", Json::parse(limitsJson(ratio.limits), nullptr, false), *other);
  }

  void check(const Operator &op, const OptionRelation &relation) {
    auto left = productOf(op, relation.left), right = productOf(op, relation.right);
    if (!left || !right || holds(*left, relation.comparison, *right))
      return;
    at.operand = "";
    at.tensor = nullptr;
    report("relations", relation.text, {*left, *right});
  }

  void same(const Operator &op, const OperatorLimits &limits, llvm::ArrayRef<SlotProperty> group) {
    const Value *first = nullptr;
    SlotProperty firstMember{};
    for (const SlotProperty &member : group)
      forEachSlot(op, limits.names, [&](Slot slot, const std::string &operand, const Value *value) {
        if (slot != member.slot || !value)
          return;
        bool isNumber = member.property == SlotProperty::Elements || member.property == SlotProperty::Dimension;
        if (isNumber && propertyOf(*value, member) == -1)
          return;
        if (!first) {
          first = value;
          firstMember = member;
          return;
        }
        if (sameProperty(*first, firstMember, *value, member))
          return;
        at.operand = operand;
        at.tensor = value;
        report("same", propertyOf(*first, firstMember), propertyOf(*value, member));
      });
  }
};

} // namespace

std::vector<Violation> checkTarget(const Model &model, const Target &target) {
  std::vector<Violation> violations;
  Checker checker(target, violations);
  for (auto &graph : model.subgraphs)
    checker.graph(*graph);
  return violations;
}

const Value *computedShape(const Operator &op) {
  /// What the file states is what a runtime begins with; what an operator computes from it is not known by then.
  class Stated : public ShapeSite {
  public:
    using ShapeSite::ShapeSite;
    std::optional<llvm::SmallVector<int32_t, 4>> shape(unsigned i) const override {
      const Value *value = operand(i);
      if (!value || mayHaveAnyRank(*value))
        return std::nullopt;
      return llvm::SmallVector<int32_t, 4>(value->shape.begin(), value->shape.end());
    }
  };
  if (op.results().empty() || !op.callees().empty())
    return nullptr;
  auto results = inferResults(Stated(op));
  if (!results) {
    llvm::consumeError(results.takeError());
    return nullptr;
  }
  // A runtime does not ask whether what is stated matters, and takes a list without bytes for one that is computed.
  if (op.info() && op.result() && op.result()->type != TensorType::RESOURCE)
    for (auto [operand, use] : llvm::zip(op.info()->operands, op.operands()))
      if ((operand.statesShape || operand.statesShapeIfWhole) && use.get() && isIndex(use.get()->type) &&
          (!isConstant(*use.get()) || elementsOf(*use.get()) == 0))
        return op.result();
  for (auto [type, value] : llvm::zip(*results, op.results()))
    if (value && value->type != TensorType::RESOURCE && (!type.rankKnown || llvm::is_contained(type.shape, -1)))
      return value;
  return nullptr;
}

std::vector<Violation> checkOperator(const Operator &op, const Target &target) {
  std::vector<Violation> violations;
  Checker(target, violations).check(op);
  return violations;
}

} // namespace origo::report
