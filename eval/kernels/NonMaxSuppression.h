#pragma once

#include "eval/Kernels.h"

#include <vector>

/// The best of boxes that overlap, of any kind of number: `With` computes with them, and says which is less.
namespace origo::eval::loops::suppression {

/// The area that two boxes share, by the area that they cover. A box is two opposite corners.
template <class With>
typename With::Number overlap(const typename With::Number *a, const typename With::Number *b, const With &with) {
  using Number = typename With::Number;
  auto low = [&](const Number *box, int axis) { return with.smaller(box[axis], box[axis + 2]); };
  auto high = [&](const Number *box, int axis) { return with.larger(box[axis], box[axis + 2]); };
  auto area = [&](const Number *box) {
    return with.multiply(with.subtract(high(box, 0), low(box, 0)), with.subtract(high(box, 1), low(box, 1)));
  };
  const Number areaA = area(a), areaB = area(b), zero = with.of(0);
  if (with.isAtMost(areaA, zero) || with.isAtMost(areaB, zero))
    return zero;
  auto shared = [&](int axis) {
    return with.larger(
        with.subtract(with.smaller(high(a, axis), high(b, axis)), with.larger(low(a, axis), low(b, axis))), zero);
  };
  const Number both = with.multiply(shared(0), shared(1));
  return with.divide(both, with.subtract(with.add(areaA, areaB), both));
}

template <class Number> struct Candidate {
  int32_t index;
  Number score;
  size_t compared; ///< up to here it was compared with what is selected
};

/// A binary heap with the best on top. Not std::priority_queue, because the order among equal scores, which quantised
/// ones often are, follows from how the heap is kept: here as in the runtime's library.
template <class With> class Queue {
public:
  using Candidate = suppression::Candidate<typename With::Number>;
  explicit Queue(const With &with) : with(with) {}
  bool empty() const { return heap.empty(); }
  void push(Candidate candidate) {
    heap.push_back(candidate);
    rise(heap.size() - 1);
  }
  /// The better child moves up all the way; the last element takes the place that is left, and rises from there.
  Candidate pop() {
    Candidate best = heap.front();
    size_t hole = 0;
    for (size_t child; (child = 2 * hole + 1) < heap.size(); hole = child) {
      if (child + 1 < heap.size() && with.less(heap[child].score, heap[child + 1].score))
        ++child;
      heap[hole] = heap[child];
    }
    heap[hole] = heap.back();
    heap.pop_back();
    if (hole < heap.size())
      rise(hole);
    return best;
  }

private:
  const With &with;
  std::vector<Candidate> heap;
  void rise(size_t at) {
    for (size_t parent; at > 0 && with.less(heap[parent = (at - 1) / 2].score, heap[at].score); at = parent)
      std::swap(heap[parent], heap[at]);
  }
};

/// Operands: boxes, scores, how many to select at most, the overlap from which on a box is dropped, the score that it
/// must have more than; V5: sigma of the Gauss curve by which the scores of overlapping boxes are lowered.
template <class With> llvm::Error run(KernelContext &ctx, const With &with) {
  using Number = typename With::Number;
  bool soft = ctx.op.code == BuiltinOperator::NON_MAX_SUPPRESSION_V5;
  for (unsigned i = 2; i < ctx.numInputs(); ++i)
    if (ctx.input(i).count() != 1)
      return ctx.fail(i, "must be a single number");
  int64_t most = *ctx.value(2);
  Tensor *indices = ctx.outputs[0], *selectedScores = soft && ctx.wants(1) ? ctx.outputs[1] : nullptr;
  Tensor *valid = ctx.wants(soft ? 2 : 1) ? ctx.outputs[soft ? 2 : 1] : nullptr;
  auto number = [&](unsigned i) { return ctx.input(i).as<Number>()[0]; };
  const Number overlapLimit = number(3), scoreLimit = number(4), zero = with.of(0);
  const Number sigma = soft ? number(5) : zero;
  if (with.less(sigma, zero))
    return ctx.fail(5, "is negative");
  const bool isSoft = with.less(zero, sigma);
  auto box = ctx.input(0).as<Number>();
  auto score = ctx.input(1).as<Number>();
  Queue<With> queue(with);
  for (size_t i = 0; i < score.size(); ++i)
    if (with.less(scoreLimit, score[i]))
      queue.push({static_cast<int32_t>(i), score[i], 0});
  std::vector<Candidate<Number>> selected;
  while (static_cast<int64_t>(selected.size()) < most && !queue.empty() && !ctx.late(selected.size())) {
    Candidate<Number> next = queue.pop();
    const Number before = next.score;
    bool dropped = false;
    for (size_t j = selected.size(); j-- > next.compared;) {
      Number part = overlap(box.data() + next.index * 4, box.data() + selected[j].index * 4, with);
      dropped = with.isAtMost(overlapLimit, part);
      if (dropped)
        break;
      if (isSoft)
        next.score = with.multiply(
            next.score, with.exponential(with.multiply(with.multiply(with.divide(with.of(-0.5f), sigma), part), part)));
      if (with.isAtMost(next.score, scoreLimit))
        break;
    }
    next.compared = selected.size();
    if (dropped)
      continue;
    if (with.isSame(next.score, before))
      selected.push_back(next);
    // What is selected comes back, too, and is dropped because it overlaps itself: the runtime does so.
    if (with.less(scoreLimit, next.score))
      queue.push(next);
  }
  // What is not needed is zero.
  for (int64_t i = 0; i < most; ++i) {
    bool isSelected = i < static_cast<int64_t>(selected.size());
    if (indices)
      indices->as<int32_t>()[i] = isSelected ? selected[i].index : 0;
    if (selectedScores)
      selectedScores->as<Number>()[i] = isSelected ? with.chosen(selected[i].score) : zero;
  }
  if (valid)
    valid->as<int32_t>()[0] = static_cast<int32_t>(selected.size());
  return llvm::Error::success();
}

} // namespace origo::eval::loops::suppression
