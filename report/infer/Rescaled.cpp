#include "report/infer/Search.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

/// Tensors that another program has scaled as a whole or by channel, and constants that make up for it: what evens out
/// channels before it quantises does so.
namespace origo::report {

namespace {

bool isScale(const Step &step) {
  return step.kind == Step::Scaled ||
         (step.kind == Step::Affine && step.scale.kind == Step::Term::Number && step.shift.kind == Step::Term::None);
}

/// One over each factor.
Step inverseOf(Step step) {
  for (float &factor : step.factors)
    factor = 1 / factor;
  if (step.kind == Step::Affine)
    step.scale = Step::Term::of(1 / step.scale.number);
  return step;
}

/// The step along another axis; none: the axis has another number of places. A factor for all needs no axis.
std::optional<Step> along(const Step &step, llvm::ArrayRef<int32_t> shape, size_t axis) {
  Step moved = step;
  if (step.kind == Step::Affine)
    return axis == 0 ? std::optional(moved) : std::nullopt;
  if (shape[axis] < 0 || static_cast<size_t>(shape[axis]) != step.factors.size())
    return std::nullopt;
  moved.axis = static_cast<int>(axis);
  return moved;
}

/// Calls `visit` with `from` scaled by the step along each axis that it fits, the last one first. True ends it.
bool forEachScaled(const RealTensor &from, const Step &step,
                   llvm::function_ref<bool(const RealTensor &scaled, const Step &step)> visit) {
  for (size_t axis = std::max<size_t>(from.shape.size(), 1); axis-- > 0;)
    if (auto moved = along(step, from.shape, axis))
      if (auto scaled = applied(from, {*moved}, from.shape); scaled && visit(*scaled, *moved))
        return true;
  return false;
}

} // namespace

bool isRescaled(const FoundTensor &known) { return known.source && llvm::any_of(known.steps, isScale); }

/// The factors by which what an operator is given differs from the source's: `computed`: of tensors that depend on
/// inputs, else of constants.
std::vector<Step> InferSearch::factorsOf(const Operator &op, bool computed) const {
  std::vector<Step> factors;
  for (const Use &use : op.operands())
    if (const FoundTensor *known = use.get() ? find(*use.get()) : nullptr;
        known && known->source && !constantBehind(use.get()) == computed)
      for (const Step &step : known->steps)
        if (isScale(step))
          factors.push_back(step);
  return factors;
}

/// A constant that makes up for factors of what its operator is given, or of what it makes.
void InferSearch::findRescaledConstants(const Operator &op, llvm::ArrayRef<const Operator *> likes,
                                        llvm::ArrayRef<Step> made) {
  std::vector<Step> given;
  for (const Step &step : factorsOf(op, true))
    given.push_back(inverseOf(step));
  if (given.empty() && made.empty())
    return;
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *constant = constantBehind(op.operand(i));
    const FoundTensor *known = constant ? find(*constant) : nullptr;
    const RealTensor *mine = constant && isReal(*constant) ? own(*constant) : nullptr;
    if (!mine || (known && known->source))
      continue;
    Slack slack = roundingOf(*constant);
    slack.relative += 2e-6; // factors are found from rounded numbers
    for (const Operator *like : likes) {
      const Value *theirs = isSameKind(op, *like) && i < like->numOperands() ? like->operand(i) : nullptr;
      const RealTensor *from = theirs && !dependsOnInputs(*theirs) ? numbersOfSource(*theirs) : nullptr;
      if (!from || from->numbers.size() != mine->numbers.size())
        continue;
      auto takeBy = [&](const RealTensor &scaled, std::vector<Step> before, bool byFactors) {
        auto steps = stepsBetween(scaled, *mine, slack);
        if (!steps && byFactors)
          steps = scaledStepsBetween(scaled, *mine, slack);
        if (!steps)
          return false;
        llvm::append_range(before, *steps);
        take(*constant, *theirs, std::move(before)).slack = 4e-6;
        if (op.operand(i) != constant)
          findConstant(op, i, {});
        return true;
      };
      auto byResult = [&](const RealTensor &scaled, const std::vector<Step> &before) {
        return llvm::any_of(made, [&](const Step &factor) {
          return forEachScaled(scaled, factor, [&](const RealTensor &twice, const Step &step) {
            std::vector<Step> steps = before;
            steps.push_back(step);
            return takeBy(twice, std::move(steps), false);
          });
        });
      };
      if (byResult(*from, {}) || llvm::any_of(given, [&](const Step &factor) {
            return forEachScaled(*from, factor, [&](const RealTensor &scaled, const Step &step) {
              return takeBy(scaled, {step}, true) || byResult(scaled, {step});
            });
          }))
        break;
    }
  }
}

bool InferSearch::chooseRescaled(const Operator &op, const Value &value, const RealTensor &made, const Nearby &near,
                                 double loose) {
  if (made.flat)
    return false;
  std::vector<Step> factors = factorsOf(op, false);
  llvm::append_range(factors, factorsOf(op, true));
  for (const Operator *like : near.operators) {
    const Value *candidate = like->results().size() == op.results().size()
                                 ? like->results()[llvm::find(op.results(), &value) - op.results().begin()]
                                 : nullptr;
    const RealTensor *want = candidate && isSameKind(op, *like) ? numbersOfSource(*candidate) : nullptr;
    if (!want || want->flat || want->shape != made.shape || claims.lookup(candidate) > 0)
      continue;
    Slack slack;
    slack.absolute = slackFor(made, made, false, loose);
    // Those of the weights first: of channels that an activation makes zero, what is made tells none.
    std::optional<std::vector<Step>> steps;
    for (const Step &factor : factors)
      if (forEachScaled(*want, factor, [&](const RealTensor &scaled, const Step &step) {
            auto equal = stepsBetween(scaled, made, slack);
            if (!equal || !equal->empty())
              return false;
            steps = std::vector<Step>{step};
            return true;
          }))
        break;
    if (!steps)
      steps = scaledStepsBetween(*want, made, slack);
    if (!steps)
      continue;
    FoundTensor &known = found[&value];
    known.source = candidate;
    known.steps = std::move(*steps);
    known.executed = true;
    known.numbers.reset();
    ++claims[candidate];
    findRescaledConstants(op, {like}, llvm::ArrayRef(known.steps).take_back());
    return true;
  }
  return false;
}

bool InferSearch::agreesWithRescaled() const {
  for (auto &graph : result.subgraphs)
    for (const Value *output : graph->outputs)
      if (const FoundTensor *known = find(*output); paired.contains(graph.get()) && known && isRescaled(*known))
        return false;
  return true;
}

} // namespace origo::report
