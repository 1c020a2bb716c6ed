#include "report/target/Json.h"

#include "eval/KernelSignature.h"
#include "eval/RealNumbers.h"
#include "eval/RunOperator.h"
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

/// One channel is quantised in both ways, and what nobody can compute with in none. Floats and bools are the numbers that
/// they stand for, whatever scales stand beside them.
bool hasScheme(const Value &value, Scheme scheme) {
  const Quantization *q = value.quantization;
  if (!q || !q->quantized())
    return scheme == Scheme::None;
  if (llvm::errorToBool(eval::checkQuantization(value)))
    return false;
  if (scheme == Scheme::None && (eval::isFloat(value.type) || value.type == TensorType::BOOL))
    return true;
  switch (q->details) {
  case Quantization::Details::None:
    break;
  case Quantization::Details::Custom:
    return scheme == Scheme::Custom;
  case Quantization::Details::MX:
    return scheme == Scheme::Mx;
  case Quantization::Details::Blockwise:
    return scheme == Scheme::Blockwise;
  case Quantization::Details::MultiAxis:
    return scheme == Scheme::MultiAxis;
  }
  bool oneChannel = q->dimension >= 0 && q->dimension < value.rank() && value.shape[q->dimension] == 1;
  if (q->scale.size() == 1)
    return scheme == Scheme::PerTensor || (scheme == Scheme::PerChannel && oneChannel);
  return scheme == Scheme::PerChannel;
}

std::string schemeOf(const Value &value) {
  for (Scheme scheme : allSchemes())
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
    for (const Operator &op : graph.operators)
      check(op);
    interface(graph.outputs, target.output, "output");
  }

  void check(const Operator &op) {
    at = {op.subgraph()->index, &op, "", nullptr, "", "", "", members(*op.subgraph(), op.origins)};
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
    forEachSlot(op, limits ? limits->names : OperatorLimits().names,
                [&](Slot, const std::string &operand, const Value *value) {
                  if (!value)
                    return;
                  at.operand = operand;
                  at.tensor = value;
                  if (isConstant(*value))
                    tensor(*value, target.constant, "constant.");
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
    if (limits.constant && *limits.constant != isConstant(value))
      report(prefix + "constant", *limits.constant, !*limits.constant);
    quantization(value, limits, prefix + "quantization");
  }

  void quantization(const Value &value, const TensorLimits &limits, const std::string &rule) {
    auto has = [&](Scheme scheme) { return hasScheme(value, scheme); };
    if (limits.schemes && llvm::none_of(*limits.schemes, has)) {
      Json expected = Json::array();
      for (Scheme scheme : *limits.schemes)
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

std::vector<Violation> checkOperator(const Operator &op, const Target &target) {
  std::vector<Violation> violations;
  Checker(target, violations).check(op);
  return violations;
}

std::string violationsJson(llvm::ArrayRef<Violation> violations) {
  Json json = {{"supported", violations.empty()}, {"violations", Json::array()}};
  for (const Violation &violation : violations) {
    Json row = {{"subgraph", violation.subgraph},
                {"op_index", violation.op ? Json(violation.op->index) : Json()},
                {"op", violation.op ? Json(violation.op->opName()) : Json()},
                {"operand", violation.operand},
                {"tensor", violation.tensor ? Json(violation.tensor->name.str()) : Json()},
                {"rule", violation.rule},
                {"expected", Json::parse(violation.expected, nullptr, false)},
                {"actual", Json::parse(violation.actual, nullptr, false)},
                {"origins", violation.origins}};
    json["violations"].push_back(std::move(row));
  }
  return json.dump(1, ' ', true, Json::error_handler_t::replace) + "\n"; // in ASCII: no name steers a terminal
}

} // namespace origo::report
