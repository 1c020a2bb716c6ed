#include "ir/rewrite/Build.h"

#include "ir/ConstantView.h"
#include "ir/Mutation.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

/// Results of operators of which only the scale of each channel was changed.
namespace origo::rewrite {

static bool isScaling(const llvm::SmallVectorImpl<Step> &steps, int axis) {
  return steps.size() == 1 && steps[0].kind == Step::Scaled && steps[0].axis == axis &&
         llvm::all_of(steps[0].factors, [](float factor) { return factor > 0; });
}

/// By what each channel of a created operator's result is multiplied, compared to that of `original`; null: it is not
/// known to be that. f(x, W·s, b·s) is f(x, W, b)·s, also behind a RELU, for s > 0; so are min(x·s, c·s) and
/// x·s + c·s.
const Step *Build::factorsOf(const Created &item, Operator *&original) const {
  const Operator &op = *item.op;
  auto scaling = [&](const Value *constant, const Value *of, int axis) -> const Step * {
    auto known = made.find(constant);
    bool fits = known != made.end() && known->second.base == of && isScaling(known->second.steps, axis);
    return fits ? &known->second.steps[0] : nullptr;
  };
  auto equal = [](const Step *a, const Step *b) { return a && b && a->factors == b->factors; };
  if (op.code == Op::MINIMUM && op.numOperands() == 2) {
    const Created *input = maker(op.operand(0));
    const Step *by = input ? factorsOf(*input, original) : nullptr;
    if (!by)
      return nullptr;
    if (item.originals.size() == 1) { // what was a minimum before
      const Step *bound = item.originals[0]->operand(0) == original->result()
                              ? scaling(op.operand(1), item.originals[0]->operand(1), 0)
                              : nullptr;
      original = item.originals[0];
      return bound && equal(by, bound) ? by : nullptr;
    }
    // The clamp at 6 that the original had.
    auto bounds = readConstant<float>(op.operand(1), Step::mostFactors);
    bool isClamp = activationOf(*original) == Activation::RELU6 && activationOf(*input->op) == Activation::RELU &&
                   bounds && bounds->size() == by->factors.size();
    for (size_t i = 0; isClamp && i < bounds->size(); ++i)
      isClamp = std::fabs((*bounds)[i] - 6 * by->factors[i]) <= 1e-5f * (*bounds)[i];
    return isClamp ? by : nullptr;
  }
  if (item.originals.size() == 1 && (op.code == Op::MUL || op.code == Op::ADD)) { // by a constant
    const Step *before = nullptr;
    const Value *x = op.operand(0);
    if (op.code == Op::ADD) {
      const Created *input = maker(x);
      before = input ? factorsOf(*input, original) : nullptr;
      if (!before || activationOf(*input->op) != Activation::NONE || activationOf(*original) != Activation::NONE)
        return nullptr;
      x = original->result();
    }
    original = item.originals[0];
    unsigned at = original->operand(0) == x ? 1 : 0;
    const Value *own = original->operand(at);
    const Step *by = original->operand(1 - at) == x ? scaling(op.operand(1), own, own->rank() - 1) : nullptr;
    return !before || equal(by, before) ? by : nullptr;
  }
  if (item.originals.size() != 1 ||
      (op.code != Op::CONV_2D && op.code != Op::DEPTHWISE_CONV_2D && op.code != Op::FULLY_CONNECTED))
    return nullptr;
  original = item.originals[0];
  if (op.operand(0) != original->operand(0))
    return nullptr;
  const Step *by = scaling(op.operand(1), original->operand(1), op.code == Op::DEPTHWISE_CONV_2D ? 3 : 0);
  const Value *bias = op.operand(2);
  return by && (!bias || equal(by, scaling(bias, original->operand(2), 0))) ? by : nullptr;
}

void Build::relateScaled() {
  for (Created &item : created) {
    Value *result = item.op->result();
    Operator *original = nullptr;
    if (!result || !result->relations.empty() || item.synthetic || ways.size() > 1)
      continue;
    const Step *by = factorsOf(item, original);
    if (!by)
      continue;
    const Value *before = original->result();
    for (const Replaced &one : replaced) // what has its place is made of this
      if (one.of == original)
        before = one.old;
    if (!before)
      continue;
    // A clamp that has an operator of its own is missing before it; what is clamped elsewhere is not the same.
    Activation now = activationOf(*item.op);
    bool clamped = item.op->code == Op::MINIMUM;
    if (!clamped && (now != activationOf(*original) || (now != Activation::NONE && now != Activation::RELU)))
      continue;
    Step step = *by;
    step.axis = result->rank() - 1;
    for (Relation relation : before->relations) {
      if (step.axis < 0 || !model.steps.extend(relation.steps, step))
        continue;
      relation.exact = false;
      relation.lineage = 0;
      result->relations.push_back(relation);
    }
    if (!result->relations.empty())
      result->noRelation = NoRelation::None;
    mutation::related(model, *result);
  }
}

} // namespace origo::rewrite
