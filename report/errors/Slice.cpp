#include "report/errors/Slice.h"

#include "eval/RealNumbers.h"
#include "report/errors/Live.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace origo::report {

using namespace eval;

namespace {

/// Does the counterpart tell every number of the tensor? Both have the shapes that the models state.
bool tellsAll(const Value &source, const Counterpart &counterpart) {
  auto statedBy = [](const Value &value) { return viewOf(value, Shape(value.shape.begin(), value.shape.end())); };
  Tensor result = statedBy(*counterpart.value), whole = statedBy(source);
  auto way = wayAlong(whole, counterpart.steps, result);
  if (!way || way->straight)
    return way.has_value();
  std::vector<bool> told(static_cast<size_t>(whole.count()), false);
  for (size_t i = 0; i < way->from.size(); ++i)
    if (way->from[i] >= 0 && (way->scale.empty() || way->scale[i] != 0))
      told[way->from[i]] = true;
  return !llvm::is_contained(told, false);
}

class Slicing {
public:
  Slicing(const Pairs &pairs, llvm::DenseSet<const Value *> here, llvm::DenseSet<const Value *> there)
      : pairs(pairs), here(std::move(here)), there(std::move(there)) {}
  RunPart part;

  void need(const Value *value) {
    if (!value || !seen.insert(value).second)
      return;
    if (canBeGiven(*value))
      part.given.insert(value);
    else if (const Operator *op = value->producer())
      open.push_back(op);
  }
  void compute(const Operator &op) { open.push_back(&op); }

  void close() {
    while (!open.empty()) {
      const Operator *op = open.back();
      open.pop_back();
      if (!part.computes.insert(op).second)
        continue;
      for (const Use &use : op->operands())
        need(use.get());
      for (const Subgraph *callee : op->callees())
        if (callee)
          for (const Operator &inner : callee->operators)
            open.push_back(&inner);
    }
  }

private:
  const Pairs &pairs;
  llvm::DenseSet<const Value *> here, there; ///< what each run of the two has
  llvm::DenseSet<const Value *> seen;
  std::vector<const Operator *> open;

  bool canBeGiven(const Value &value) const {
    if (!here.contains(&value) || !value.isStatic() || !storesNumbers(value.type))
      return false;
    return llvm::any_of(pairs.holders({&value, 0}), [&](const auto &holder) {
      const Value &other = *holder.first->value;
      return (there.contains(&other) || other.isConstant()) && other.isStatic() && storesNumbers(other.type) &&
             tellsAll(value, *holder.first);
    });
  }
};

/// Is something wanted in what an operator calls? `looked`: at which subgraphs already.
bool callsWanted(const Operator &op, llvm::function_ref<bool(const Value &)> wanted,
                 llvm::DenseMap<const Subgraph *, bool> &looked) {
  return llvm::any_of(op.callees(), [&](const Subgraph *callee) {
    auto [known, isNew] = looked.try_emplace(callee, false);
    if (!callee || !isNew)
      return known->second;
    bool found = llvm::any_of(callee->operators, [&](const Operator &inner) {
      return callsWanted(inner, wanted, looked) ||
             llvm::any_of(inner.results(), [&](const Value *value) { return value && wanted(*value); });
    });
    return looked[callee] = found;
  });
}

} // namespace

llvm::Expected<RunPart> sliceOf(const Session &source, const Session &result, const Pairs &pairs,
                                const std::string &signature, llvm::function_ref<bool(const Value &)> wanted) {
  auto here = source.always(signature), there = result.always(signature);
  auto graph = source.graph(signature);
  if (!here || !there || !graph)
    return firstError(here, there, graph);
  Slicing slicing(pairs, std::move(*here), std::move(*there));
  llvm::DenseMap<const Subgraph *, bool> looked;
  for (const Operator &op : (*graph)->operators) {
    for (const Value *value : op.results())
      if (value && wanted(*value))
        slicing.need(value);
    // What it leaves in a variable may be read by what computes.
    if ((op.effects() & (uint8_t(Effect::WritesState) | uint8_t(Effect::Unknown))) || callsWanted(op, wanted, looked))
      slicing.compute(op);
  }
  slicing.close();
  return std::move(slicing.part);
}

} // namespace origo::report
