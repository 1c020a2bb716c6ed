#include "report/infer/InferredMap.h"

#include "report/infer/Execute.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

/// The rows of operators and tensors: origins and relations.
namespace origo::report {

using namespace origin;

llvm::StringRef InferredMap::bridgeOf(const Operator &op) {
  using enum BuiltinOperator;
  switch (op.code) {
  case TRANSPOSE:
  case RESHAPE:
    return "layout-bridge";
  case QUANTIZE:
  case DEQUANTIZE:
  case CAST:
    return "quantize-border";
  case BROADCAST_TO:
    return "broadcast";
  default:
    return "";
  }
}

void InferredMap::operatorRow(const Subgraph &graph, const Operator &op, TargetSubgraph &rows) {
  OperatorRow &row = rows.operators[op.index];
  llvm::SmallVector<const Value *, 8> from, to, constants;
  for (const Use &use : op.operands())
    if (use.get() && (!use.get()->isConstant() || op.numOperands() == 1))
      for (const Value *start : starts.lookup(use.get()))
        add(from, start);
  llvm::SmallPtrSet<const Value *, 8> reached; // there may be very many results
  for (const Value *value : op.results())
    if (value)
      for (const Value *end : ends.lookup(value))
        if (reached.insert(end).second)
          to.push_back(end);
  bool handsOn = llvm::any_of(to, [&](const Value *end) { return llvm::is_contained(from, end); });
  if (!to.empty() && !(handsOn && !bridgeOf(op).empty())) {
    row.origins = cone(from, to, constants);
    if (row.origins.empty()) {
      widen(from);
      row.origins = cone(from, to, constants);
    }
    // At the least, who makes what it makes.
    if (row.origins.empty() && !handsOn) {
      std::set<uint32_t> makers;
      for (const Value *end : to)
        if (end->producer())
          makers.insert(idOf(*end->producer()));
      row.origins.assign(makers.begin(), makers.end());
    }
  }
  if (isDoubted(op))
    row.origins.clear();
  if (const Operator *like = search.matchOf(op); like && row.origins.empty())
    row.origins = {idOf(*like)};
  // What has been moved in front of it is not its work.
  llvm::SmallVector<uint32_t, 2> done;
  for (const Use &use : op.operands())
    if (use.get())
      llvm::append_range(done, moved.lookup(use.get()));
  if (!careful && row.origins.empty() && handsOn && bridgeOf(op) == "layout-bridge")
    if (const Operator *like = movementOf(op, from, done)) {
      row.origins = {idOf(*like)};
      done.push_back(idOf(*like));
      for (const Value *value : op.results())
        if (value)
          moved[value] = done;
    }
  if (row.origins.size() > 1 && !done.empty()) {
    std::vector<uint32_t> rest;
    llvm::copy_if(row.origins, std::back_inserter(rest), [&](uint32_t id) { return !llvm::is_contained(done, id); });
    if (!rest.empty())
      row.origins = rest;
  }
  if (const OperatorRow *was = keptRow(op)) {
    row.origins = was->origins;
    row.passes = was->passes;
    row.syntheticReason = was->syntheticReason;
    row.serves = was->serves;
    row.wide = was->wide;
    row.calls = was->calls;
    ++coverage.kept;
    if (row.origins.empty())
      return;
  }
  if (row.origins.empty()) {
    row.syntheticReason = std::string(handsOn && !bridgeOf(op).empty() ? bridgeOf(op) : "unknown");
    row.serves = {servedBy(from, to, op)};
    return;
  }
  for (uint32_t id : row.origins)
    carried[id].emplace_back(graph.index, op.index);
  // What was worked into its constants is what the cone reads besides.
  for (const Use &use : op.operands()) {
    const Value *value = use.get();
    if (!value || !value->isConstant())
      continue;
    TensorRow &constant = rows.tensors[value->index];
    if (!constant.tensors.empty() || !constant.operators.empty())
      continue;
    if (!isReal(*value)) {
      constant.reason = "synthetic";
      constant.syntheticReason = "invented-constant";
      continue;
    }
    std::set<uint32_t> tensors;
    for (const Value *one : constants)
      if (one->isConstant() && isReal(*one))
        tensors.insert(idOf(*one));
    if (tensors.empty()) {
      constant.reason = "synthetic";
      constant.syntheticReason = "invented-constant";
      continue;
    }
    constant.syntheticReason = "";
    constant.tensors.assign(tensors.begin(), tensors.end());
    constant.reason = "approximated";
    foldedFrom(*value, constants, constant);
    if (!constant.relations.empty())
      liveTensors[constant.relations.front().tensor].emplace_back(graph.index, value->index);
    for (uint32_t id : tensors)
      liveTensors[id].emplace_back(graph.index, value->index);
  }
}

/// A list of numbers that is one of the source times another, plus a third: what folding leaves of biases.
void InferredMap::foldedFrom(const Value &value, llvm::ArrayRef<const Value *> constants, TensorRow &row) {
  auto mine = RealTensor::ofConstant(value);
  constexpr size_t most = 12, longest = 4096;
  if (!mine || mine->flat || mine->numbers.size() < 2 || mine->numbers.size() > longest)
    return;
  size_t count = mine->numbers.size();
  Slack slack = roundingOf(value);
  std::vector<std::pair<const Value *, const RealTensor *>> terms;
  for (const Value *one : constants)
    if (const RealTensor *numbers = one->isConstant() ? search.numbersOfSource(*one) : nullptr;
        numbers && (numbers->numbers.size() == count || numbers->numbers.size() == 1) && terms.size() < most &&
        llvm::none_of(terms, [&](auto &term) { return term.first == one; }))
      terms.emplace_back(one, numbers);
  auto axisOf = [&](size_t size) {
    int32_t axis = -1;
    for (unsigned i = 0; i < value.shape.size() && size > 1; ++i)
      axis = value.shape[i] == static_cast<int32_t>(size) ? static_cast<int32_t>(i) : axis;
    return axis;
  };
  auto at = [&](const RealTensor *numbers, size_t i, double otherwise) {
    return !numbers ? otherwise : static_cast<double>(numbers->numbers[numbers->numbers.size() == 1 ? 0 : i]);
  };
  for (auto &[base, numbers] : terms) {
    if (numbers->numbers.size() != count ||
        llvm::ArrayRef<int32_t>(base->shape) != llvm::ArrayRef<int32_t>(value.shape))
      continue;
    for (size_t s = 0; s <= terms.size(); ++s)
      for (size_t t = 0; t <= terms.size(); ++t) {
        const RealTensor *scale = s ? terms[s - 1].second : nullptr, *shift = t ? terms[t - 1].second : nullptr;
        if (s && terms[s - 1].first == base)
          continue;
        bool holds = true;
        for (size_t i = 0; holds && i < count; ++i) {
          double product = at(numbers, i, 0) * at(scale, i, 1), want = product + at(shift, i, 0);
          double off = std::fabs(want - static_cast<double>(mine->numbers[i]));
          holds = off <= slack.at(i, want) + 4e-7 * (std::fabs(product) + std::fabs(want));
        }
        if (!holds || (!s && !t))
          continue;
        std::vector<MapStep> steps;
        auto step = [&](size_t of, bool scales) {
          if (!of)
            return;
          MapStep &made = steps.emplace_back();
          made.kind = MapStep::Affine;
          made.axis = axisOf(terms[of - 1].second->numbers.size());
          (scales ? made.scale : made.shift) = {Term::Source, 0, idOf(*terms[of - 1].first)};
        };
        step(s, true);
        step(t, false);
        if (isReal(value) && value.type != base->type)
          steps.emplace_back().kind =
              value.quantization && value.quantization->quantized() ? MapStep::Quantize : MapStep::Cast;
        row.relations.push_back({idOf(*base), MapSteps(std::move(steps)), false});
        row.reason = "";
        return;
      }
  }
}

void InferredMap::run() {
  operatorsAt.resize(source.subgraphs.size());
  for (auto &graph : source.subgraphs)
    for (const Operator &op : graph->operators)
      operatorsAt[graph->index].push_back(&op);
  carried.resize(map.source.operatorCount());
  int64_t operators = 0;
  for (auto &graph : result.subgraphs) {
    firstOperators.push_back(operators);
    operators += static_cast<int64_t>(graph->operators.size());
  }
  folded.resize(map.source.operatorCount());
  liveTensors.resize(map.source.tensorCount());
  sourceValues.resize(map.source.tensorCount());
  for (auto &graph : source.subgraphs)
    for (const Value *value : graph->values)
      sourceValues[idOf(*value)] = value;
  for (auto &graph : result.subgraphs)
    target(*graph);
  for (auto &graph : result.subgraphs)
    count(*graph);
  ledger();
}

std::vector<MapStep> InferredMap::stepsOf(const Value &value, const FoundTensor &known) const {
  std::vector<MapStep> steps;
  for (const Step &step : known.steps) {
    MapStep &made = steps.emplace_back();
    made.kind = step.kind == Step::Scaled ? MapStep::Scaled : static_cast<MapStep::Kind>(step.kind);
    made.axis = step.axis;
    made.first.assign(step.first.begin(), step.first.end());
    made.second.assign(step.second.begin(), step.second.end());
    made.factors.assign(step.factors.begin(), step.factors.end());
    if (step.scale.kind == Step::Term::Number)
      made.scale = {Term::Number, step.scale.number};
    if (step.shift.kind == Step::Term::Number)
      made.shift = {Term::Number, step.shift.number};
  }
  const Value &from = *known.source;
  if (steps.empty() && value.isStatic() && from.isStatic() &&
      llvm::ArrayRef<int32_t>(value.shape) != llvm::ArrayRef<int32_t>(from.shape))
    steps.emplace_back().kind = MapStep::Reshape;
  bool quantized = value.quantization && value.quantization->quantized();
  bool wasQuantized = from.quantization && from.quantization->quantized();
  if (quantized && !(wasQuantized && isStoredAlike(value, from)))
    steps.emplace_back().kind = MapStep::Quantize;
  else if ((quantized ? TensorType::FLOAT32 : value.type) != (wasQuantized ? TensorType::FLOAT32 : from.type))
    steps.emplace_back().kind = MapStep::Cast;
  return steps;
}

void InferredMap::target(const Subgraph &graph) {
  findEnds(graph);
  TargetSubgraph &rows = map.target.subgraphs[graph.index];
  const Subgraph *from = search.sourceOf(graph);
  rows.source = {from ? from->index : graph.index < source.subgraphs.size() ? graph.index : 0};
  for (const Value *value : graph.values) {
    TensorRow &row = rows.tensors[value->index];
    if (const FoundTensor *known = claimed(*value)) {
      uint32_t id = idOf(*known->source);
      row.relations.push_back({id, MapSteps(stepsOf(*value, *known)), known->exact});
      liveTensors[id].emplace_back(graph.index, value->index);
      if (row.constant)
        comeFrom(row, graph, *known->source);
      keepRelations(*value, *known, row);
    } else {
      row.reason = value->isVariable ? "state" : "new-intermediate";
      keepConstant(*value, row);
    }
  }
  for (const Operator &op : graph.operators)
    operatorRow(graph, op, rows);
  if (!careful)
    for (const Operator &op : graph.operators)
      takeMovement(graph, op, rows);
  if (!careful)
    leaveMovements(graph, rows);
}

const Operator *InferredMap::sourceOperator(uint32_t id) const {
  for (const SourceSubgraph &graph : map.source.subgraphs)
    if (id >= graph.firstOperator && id - graph.firstOperator < graph.operators.size())
      return operatorsAt[static_cast<size_t>(&graph - map.source.subgraphs.data())][id - graph.firstOperator];
  return nullptr;
}

/// A constant comes from one of the source, or from what the source computes of constants alone.
void InferredMap::comeFrom(TensorRow &row, const Subgraph &graph, const Value &from) {
  if (from.isConstant()) {
    row.tensors = {idOf(from)};
    return;
  }
  llvm::SmallVector<const Value *, 8> pending{&from};
  std::set<uint32_t> tensors, operators;
  while (!pending.empty() && operators.size() < 1024) {
    const Value *value = pending.pop_back_val();
    if (value->isConstant())
      tensors.insert(idOf(*value));
    else if (value->producer() && operators.insert(idOf(*value->producer())).second)
      for (const Use &use : value->producer()->operands())
        if (use.get())
          pending.push_back(use.get());
  }
  row.tensors.assign(tensors.begin(), tensors.end());
  row.operators.assign(operators.begin(), operators.end());
  for (uint32_t id : operators)
    folded[id].emplace_back(graph.index, row.index);
  for (uint32_t id : tensors)
    liveTensors[id].emplace_back(graph.index, row.index);
}

/// A source operator near it.
uint32_t InferredMap::servedBy(llvm::ArrayRef<const Value *> from, llvm::ArrayRef<const Value *> to,
                               const Operator &op) const {
  for (const Value *value : from)
    if (value->producer())
      return idOf(*value->producer());
  for (const Value *value : from) {
    const Operator *user = nullptr;
    value->forEachUse([&](const Use &use) {
      if (!user || idOf(*use.user()) < idOf(*user))
        user = use.user();
    });
    if (user)
      return idOf(*user);
  }
  for (const Value *value : to)
    if (value->producer())
      return idOf(*value->producer());
  return std::min(op.index, std::max(map.source.operatorCount(), 1u) - 1);
}

} // namespace origo::report
