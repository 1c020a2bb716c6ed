#include "report/target/Prediction.h"

#include "report/metrics/Metrics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace origo::report {

using Json = nlohmann::ordered_json;

namespace {

class Predictor {
public:
  Predictor(const Model &model, const Target &target) : model(model), target(target) {}

  Prediction run() {
    for (auto &graph : model.subgraphs)
      judge(*graph);
    // A graph that is called is known only behind the one that calls it.
    for (auto &graph : model.subgraphs)
      for (const Operator &op : llvm::reverse(graph->operators))
        refine(op);
    if (target.partition.whole && taken.size() != result.operators)
      taken.clear();
    for (auto &graph : model.subgraphs)
      divide(*graph);
    limit();
    count();
    return std::move(result);
  }

private:
  const Model &model;
  const Target &target;
  Prediction result;
  llvm::DenseMap<const Operator *, bool> taken; ///< those that are
  llvm::DenseMap<const Subgraph *, bool> whole; ///< with all that it calls

  const OperatorLimits *limitsOf(const Operator &op) const {
    auto found = target.ops.find(op.opName());
    return found == target.ops.end() ? nullptr : &found->second;
  }

  void judge(const Subgraph &graph) {
    for (const Operator &op : graph.operators) {
      ++result.operators;
      std::vector<Violation> violations = checkOperator(op, target);
      if (violations.empty())
        taken[&op] = true;
      bool fatal = llvm::any_of(violations, [](const Violation &one) { return one.rule == "fatal"; });
      if (!result.refusedFor && (fatal || (target.staticShapes && computedShape(op))))
        result.refusedFor = &op;
    }
  }

  bool takesAll(const Subgraph &graph) {
    auto known = whole.find(&graph);
    if (known != whole.end())
      return known->second;
    bool all = llvm::all_of(graph.operators, [&](const Operator &op) {
      return taken.count(&op) && llvm::all_of(op.callees(), [&](const Subgraph *callee) { return takesAll(*callee); });
    });
    return whole[&graph] = all;
  }

  /// What does not follow from the operator alone.
  void refine(const Operator &op) {
    if (!taken.count(&op))
      return;
    auto isTaken = [&](const Operator &other) { return taken.count(&other) != 0; };
    if (!llvm::all_of(op.callees(), [&](const Subgraph *callee) { return takesAll(*callee); })) {
      taken.erase(&op);
      return;
    }
    const OperatorLimits *limits = limitsOf(op);
    const Value *value = op.result();
    if (!limits || !limits->withUsers || !value || !op.operand(0) || op.operand(0)->isGraphInput ||
        !limits->unpacks(op.operand(0)->type))
      return;
    const Operator *producer = op.operand(0)->producer();
    if (producer && producer->code != BuiltinOperator::DENSIFY && producer->code != BuiltinOperator::DEQUANTIZE)
      return;
    bool all = true;
    value->forEachUse([&](const Use &use) { all &= isTaken(*use.user()); });
    if (!all)
      taken.erase(&op);
  }

  void divide(const Subgraph &graph) {
    result.runs.push_back(0);
    if (result.refusedFor)
      return;
    llvm::DenseMap<const Operator *, uint64_t> levels; // those of the back end are even
    // The first operator says which kind begins.
    const uint64_t first = graph.operators.empty() || taken.count(&graph.operators.front()) ? 0 : 2;
    std::map<uint64_t, Prediction::Part> parts;
    std::set<uint64_t> runs;
    const Operator *state = nullptr;
    bool ended = false;
    for (const Operator &op : graph.operators) {
      bool takes = taken.count(&op) && !ended;
      ended |= target.partition.prefix && !takes;
      uint64_t level = takes ? first : 1;
      auto follows = [&](const Operator *earlier) {
        uint64_t from = levels.lookup(earlier);
        level = std::max(level, from + (level + from) % 2);
      };
      for (const Use &use : op.operands())
        if (use.get() && use.get()->producer())
          follows(use.get()->producer());
      if (op.effects() & (uint8_t(Effect::ReadsState) | uint8_t(Effect::WritesState))) {
        if (state)
          follows(state);
        state = &op;
      }
      levels[&op] = level;
      runs.insert(level);
      if (takes) {
        auto [part, isNew] = parts.try_emplace(level, Prediction::Part{graph.index, {}});
        part->second.operators.push_back(&op);
      }
    }
    result.runs.back() = static_cast<unsigned>(runs.size());
    for (auto &[level, part] : parts)
      result.parts.push_back(std::move(part));
  }

  /// Parts that are too small go, and of the others those that are too many, smallest first.
  void limit() {
    const PartitionLimits &limits = target.partition;
    std::vector<Prediction::Part> &parts = result.parts;
    llvm::erase_if(parts, [&](const Prediction::Part &part) { return part.operators.size() < limits.minOperators; });
    if (limits.max && parts.size() > *limits.max) {
      llvm::stable_sort(parts, [](const Prediction::Part &a, const Prediction::Part &b) {
        return a.operators.size() > b.operators.size();
      });
      parts.resize(*limits.max);
      llvm::stable_sort(parts, [](const Prediction::Part &a, const Prediction::Part &b) {
        return std::pair(a.subgraph, a.operators.front()->index) < std::pair(b.subgraph, b.operators.front()->index);
      });
    }
    for (auto [i, part] : llvm::enumerate(parts))
      for (const Operator *op : part.operators)
        result.partOf[op] = static_cast<unsigned>(i);
  }

  void count() {
    for (auto &graph : model.subgraphs)
      for (const Operator &op : graph->operators) {
        uint64_t macs = macsOf(op).value_or(0);
        result.macs = llvm::SaturatingAdd(result.macs, macs);
        if (result.takes(op)) {
          ++result.taken;
          result.takenMacs = llvm::SaturatingAdd(result.takenMacs, macs);
        }
      }
  }
};

} // namespace

Prediction predict(const Model &model, const Target &target) { return Predictor(model, target).run(); }

std::string predictionText(const Prediction &prediction) {
  std::string whole = std::to_string(prediction.operators) + " operators";
  if (const Operator *op = prediction.refusedFor)
    return "nothing of " + whole + " is taken, for " + op->opName() + " at " + std::to_string(op->subgraph()->index) +
           ":" + std::to_string(op->index);
  std::string text = std::to_string(prediction.parts.size()) +
                     (prediction.parts.size() == 1 ? " part takes " : " parts take ") +
                     std::to_string(prediction.taken) + " of " + whole;
  if (!prediction.macs)
    return text;
  char share[32];
  std::snprintf(share, sizeof share, ", %.1f", 100 * prediction.macShare());
  return text + share + " % of the multiply-adds";
}

static Json toJson(llvm::ArrayRef<Violation> violations) {
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
    if (!violation.mendedBy.empty())
      row["mended_by"] = violation.mendedBy;
    json["violations"].push_back(std::move(row));
  }
  return json;
}

static std::string print(const Json &json) {
  return json.dump(1, ' ', true, Json::error_handler_t::replace) + "\n"; // in ASCII: no name steers a terminal
}

std::string violationsJson(llvm::ArrayRef<Violation> violations) { return print(toJson(violations)); }

std::string predictionJson(llvm::ArrayRef<Violation> violations, const Prediction &prediction) {
  Json json = toJson(violations);
  Json &partition = json["partition"];
  partition = {{"operators", prediction.operators},
               {"taken", prediction.taken},
               {"macs", prediction.macs},
               {"taken_macs", prediction.takenMacs},
               {"refused_for", Json()},
               {"parts", Json::array()},
               {"runs", prediction.runs}};
  if (const Operator *op = prediction.refusedFor)
    partition["refused_for"] = {{"subgraph", op->subgraph()->index}, {"op_index", op->index}, {"op", op->opName()}};
  for (const Prediction::Part &part : prediction.parts) {
    Json one = {{"subgraph", part.subgraph}, {"op_indices", Json::array()}};
    for (const Operator *op : part.operators)
      one["op_indices"].push_back(op->index);
    partition["parts"].push_back(std::move(one));
  }
  return print(json);
}

} // namespace origo::report
