#include "eval/Kernels.h"
#include "eval/Shapes.h"

#include <cmath>
#include <vector>

/// The best of boxes that overlap.
namespace origo::eval {

namespace {

/// The area that two boxes share, by the area that they cover. A box is two opposite corners.
float overlap(const float *a, const float *b) {
  auto low = [](const float *box, int axis) { return std::min(box[axis], box[axis + 2]); };
  auto high = [](const float *box, int axis) { return std::max(box[axis], box[axis + 2]); };
  auto area = [&](const float *box) { return (high(box, 0) - low(box, 0)) * (high(box, 1) - low(box, 1)); };
  float areaA = area(a), areaB = area(b);
  if (areaA <= 0 || areaB <= 0)
    return 0;
  auto shared = [&](int axis) {
    return std::max(std::min(high(a, axis), high(b, axis)) - std::max(low(a, axis), low(b, axis)), 0.f);
  };
  float both = shared(0) * shared(1);
  return both / (areaA + areaB - both);
}

struct Candidate {
  int32_t index;
  float score;
  size_t compared; ///< up to here it was compared with what is selected
};

/// A binary heap with the best on top. Not std::priority_queue, because the order among equal scores, which quantised
/// ones often are, follows from how the heap is kept: here as in the runtime's library.
class Queue {
public:
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
      if (child + 1 < heap.size() && heap[child].score < heap[child + 1].score)
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
  std::vector<Candidate> heap;
  void rise(size_t at) {
    for (size_t parent; at > 0 && heap[parent = (at - 1) / 2].score < heap[at].score; at = parent)
      std::swap(heap[parent], heap[at]);
  }
};

/// Operands: boxes, scores, how many to select at most, the overlap from which on a box is dropped, the score that it
/// must have more than; V5: sigma of the Gauss curve by which the scores of overlapping boxes are lowered.
llvm::Error nonMaxSuppression(KernelContext &ctx) {
  bool soft = ctx.op.code == BuiltinOperator::NON_MAX_SUPPRESSION_V5;
  const Tensor &boxes = ctx.input(0), &scores = ctx.input(1);
  for (unsigned i = 2; i < ctx.numInputs(); ++i)
    if (ctx.input(i).count() != 1)
      return ctx.fail(i, "must be a single number");
  int64_t most = *ctx.value(2);
  Tensor *indices = ctx.outputs[0], *selectedScores = soft && ctx.wants(1) ? ctx.outputs[1] : nullptr;
  Tensor *valid = ctx.wants(soft ? 2 : 1) ? ctx.outputs[soft ? 2 : 1] : nullptr;
  float overlapLimit = ctx.input(3).as<float>()[0], scoreLimit = ctx.input(4).as<float>()[0];
  float sigma = soft ? ctx.input(5).as<float>()[0] : 0;
  if (sigma < 0)
    return ctx.fail(5, "is negative");
  auto box = boxes.as<float>();
  auto score = scores.as<float>();
  Queue queue;
  for (size_t i = 0; i < score.size(); ++i)
    if (score[i] > scoreLimit)
      queue.push({static_cast<int32_t>(i), score[i], 0});
  std::vector<Candidate> selected;
  while (static_cast<int64_t>(selected.size()) < most && !queue.empty() && !ctx.late(selected.size())) {
    Candidate next = queue.pop();
    float before = next.score;
    bool dropped = false;
    for (size_t j = selected.size(); j-- > next.compared;) {
      float part = overlap(box.data() + next.index * 4, box.data() + selected[j].index * 4);
      dropped = part >= overlapLimit;
      if (dropped)
        break;
      if (sigma > 0)
        next.score *= std::exp(-0.5f / sigma * part * part);
      if (next.score <= scoreLimit)
        break;
    }
    next.compared = selected.size();
    if (dropped)
      continue;
    if (next.score == before)
      selected.push_back(next);
    // What is selected comes back, too, and is dropped because it overlaps itself: the runtime does so.
    if (next.score > scoreLimit)
      queue.push(next);
  }
  // What is not needed is zero.
  for (int64_t i = 0; i < most; ++i) {
    bool isSelected = i < static_cast<int64_t>(selected.size());
    if (indices)
      indices->as<int32_t>()[i] = isSelected ? selected[i].index : 0;
    if (selectedScores)
      selectedScores->as<float>()[i] = isSelected ? selected[i].score : 0;
  }
  if (valid)
    valid->as<int32_t>()[0] = static_cast<int32_t>(selected.size());
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> nonMaxSuppressionKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::NON_MAX_SUPPRESSION_V4, "f32[b,4], f32[b], i32, f32, f32 -> i32, i32", nonMaxSuppression},
      {Op::NON_MAX_SUPPRESSION_V5, "f32[b,4], f32[b], i32, f32, f32, f32 -> i32, f32, i32", nonMaxSuppression},
  };
  return rows;
}

} // namespace origo::eval
