#include "eval/Plan.h"
#include "eval/fast/Fast.h"

#include <utility>

/// Kernels that work on each part of what another one computes, while that is in the cache: additions behind
/// convolutions, and whatever else goes element by element.
namespace origo::eval {

namespace {

class Chain : public FastKernel {
public:
  Chain(std::unique_ptr<FastKernel> first, size_t operands) : first(std::move(first)), operands(operands) {}
  /// `carried`: its operand that the one before it makes.
  void append(std::unique_ptr<FastKernel> kernel, size_t all, size_t carried) {
    links.push_back({std::move(kernel), carried, llvm::SmallVector<Tensor *, 2>(all)});
  }
  /// Operands of the first kernel, and then those of the others that none of them makes.
  bool run(Operands in, Operands out, pthreadpool_t threads) override {
    size_t next = operands;
    for (Link &link : links) {
      for (size_t i = 0; i < link.operands.size(); ++i)
        link.operands[i] = i == link.carried ? out[0] : in[next++];
      if (!link.kernel->elements()->fits(link.operands, *out[0]))
        return false;
      link.kernel->elements()->begin(link.operands, *out[0]);
    }
    return first->leading()->runThen(in.take_front(operands), out, threads, [&](int64_t from, int64_t count) {
      for (Link &link : links)
        link.kernel->elements()->part(link.operands, *out[0], from, count);
    });
  }

private:
  struct Link {
    std::unique_ptr<FastKernel> kernel;
    size_t carried;
    llvm::SmallVector<Tensor *, 2> operands;
  };
  std::unique_ptr<FastKernel> first;
  size_t operands; ///< of the first one
  std::vector<Link> links;
};

/// Does it work behind so many steps that no other works behind it? All their operands are listed in each of them.
bool isLong(const Plan &plan, const Step &step) {
  int left = 8;
  for (const Step *at = &step; left && at->ahead >= 0; at = &plan.steps[at->ahead])
    --left;
  return left == 0;
}

/// The step, at most so far before it, whose result this one goes through element by element, and nothing else reads;
/// −1: none. The later one of two, for what is in between comes first then.
int stepAhead(const Plan &plan, const Plan::Uses &uses, const Step &step, llvm::ArrayRef<FastKernels::Entry> entries,
              int farthest) {
  auto kernelOf = [&](const Step &step) { return step.fast >= 0 ? entries[step.fast].kernel.get() : nullptr; };
  if (!kernelOf(step) || !kernelOf(step)->elements() || step.op->effects() != 0)
    return -1;
  // Where the plan does not know shapes, those that the model states; it is looked at again when the model runs.
  auto shaped = [&](int slot) {
    Tensor tensor = ShapeRun::stated(*plan.slots[slot].value);
    if (const auto &shape = plan.slots[slot].shape)
      tensor.shape = *shape;
    return tensor;
  };
  const Tensor result = shaped(step.results[0]);
  llvm::SmallVector<Tensor, 2> tensors;
  int found = -1;
  for (int slot : step.operands) {
    if (slot < 0)
      return -1;
    const Tensor &operand = tensors.emplace_back(shaped(slot));
    if (uses.producers[slot] < 0 || uses.readers[slot] != 1 || operand.type != result.type ||
        operand.shape != result.shape)
      continue;
    const Step &ahead = plan.steps[uses.producers[slot]];
    if (&step - &ahead <= farthest && kernelOf(ahead) && kernelOf(ahead)->leading() &&
        ahead.op->effects() == 0 && // nor does it read a variable, which may be written to in between
        !isLong(plan, ahead))
      found = std::max(found, uses.producers[slot]);
  }
  llvm::SmallVector<Tensor *, 2> operands;
  for (Tensor &tensor : tensors)
    operands.push_back(&tensor);
  return kernelOf(step)->elements()->fits(operands, result) ? found : -1;
}

/// False: there are none.
bool link(Plan &plan, llvm::ArrayRef<FastKernels::Entry> entries, int farthest) {
  const Plan::Uses uses = plan.uses();
  bool any = false;
  for (Step &step : plan.steps)
    if ((step.ahead = stepAhead(plan, uses, step, entries, farthest)) >= 0) {
      Step &ahead = plan.steps[step.ahead];
      any = ahead.folded = true;
      step.fastOperands.assign(ahead.reads().begin(), ahead.reads().end());
      llvm::copy_if(step.operands, std::back_inserter(step.fastOperands),
                    [&](int slot) { return slot != ahead.results[0]; });
    }
  return any;
}

void unlink(Plan &plan) {
  for (Step &step : plan.steps)
    if (step.ahead >= 0) {
      plan.steps[step.ahead].folded = false;
      step.ahead = -1;
      step.fastOperands.clear();
    }
}

} // namespace

std::unique_ptr<FastKernel> noKernel() {
  return fastKernel([](Operands, Operands, pthreadpool_t) { return false; });
}

bool FastKernels::findChains(Plan &plan, uint64_t memoryLimit) const {
  uint64_t before = plan.filed.arena.bytes;
  // What steps far ahead read is in memory longer.
  for (int farthest : {4, 1}) {
    if (!link(plan, entries, farthest))
      return false;
    plan.arrangeFiled(memoryLimit);
    if (plan.filed.arena.bytes <= before)
      return true;
    unlink(plan);
  }
  return false;
}

void FastKernels::join(const Plan &plan) {
  for (const Step &last : plan.steps) {
    if (last.ahead < 0 || last.folded)
      continue;
    llvm::SmallVector<const Step *> steps = {&last};
    while (steps.back()->ahead >= 0)
      steps.push_back(&plan.steps[steps.back()->ahead]);
    auto take = [&](const Step &step) { return std::exchange(entries[step.fast].kernel, noKernel()); };
    auto chain = std::make_unique<Chain>(take(*steps.back()), steps.back()->reads().size());
    for (size_t i = steps.size() - 1; i-- > 0;) {
      llvm::ArrayRef<int> operands = steps[i]->operands;
      chain->append(take(*steps[i]), operands.size(),
                    llvm::find(operands, steps[i + 1]->results[0]) - operands.begin());
    }
    entries[last.fast].kernel = std::move(chain);
  }
}

} // namespace origo::eval
