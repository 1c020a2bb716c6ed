#pragma once

#include "eval/Block.h"
#include "eval/Kernel.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <deque>
#include <memory>
#include <optional>
#include <pthreadpool.h>

/// Engine::Fast: kernels that are prepared when the model is compiled and run many times.
namespace origo::eval {

struct Kernel;
struct Plan;
struct Step;

using Operands = llvm::ArrayRef<Tensor *>;

template <class T> const T *dataOf(const Tensor &tensor) { return reinterpret_cast<const T *>(tensor.storage.data()); }
template <class T> T *dataOf(Tensor &tensor) { return reinterpret_cast<T *>(tensor.storage.data()); }

class LeadingKernel;
class ElementKernel;

/// An operator that is ready to run, weights packed. For one run at a time.
class FastKernel {
public:
  virtual ~FastKernel() = default;
  /// Computes; the results have their shapes. False: not for operands of these shapes. Allocates only where shapes
  /// change.
  virtual bool run(Operands in, Operands out, pthreadpool_t threads) = 0;
  /// Null: it is none.
  virtual LeadingKernel *leading() { return nullptr; }
  virtual ElementKernel *elements() { return nullptr; }
};

/// Has one result, and lets others work on each part of it while that is still in the cache.
class LeadingKernel : public FastKernel {
public:
  /// Gets elements of the result, from `first` on. Null: nothing follows.
  using Behind = std::optional<llvm::function_ref<void(int64_t first, int64_t count)>>;
  virtual bool runThen(Operands in, Operands out, pthreadpool_t threads, const Behind &behind) = 0;
  bool run(Operands in, Operands out, pthreadpool_t threads) final { return runThen(in, out, threads, std::nullopt); }
  LeadingKernel *leading() final { return this; }
};

/// Each element of its result follows from those at the same place of the operands: it can work in the memory of one.
class ElementKernel : public LeadingKernel {
public:
  /// False: not for operands of these shapes. They need not have elements.
  virtual bool fits(Operands in, const Tensor &out) const = 0;
  /// Before parts of the result, for operands that fit. One of them may lie in the memory of the result.
  virtual void begin(Operands, const Tensor &) {}
  virtual void part(Operands in, Tensor &out, int64_t first, int64_t count) = 0;
  ElementKernel *elements() final { return this; }
};

/// An operator that is looked at before it runs: its constants have elements (`constant`), the other operands the shape
/// that the plan knows, or `rankKnown` is false.
class FastSite : public KernelContext {
public:
  explicit FastSite(const Operator &op) : KernelContext(op) {}
  /// In a run: all operands have elements.
  FastSite(const Operator &op, Operands operands, Operands results = {}) : KernelContext(op) {
    inputs.append(operands.begin(), operands.end());
    outputs.append(results.begin(), results.end());
  }
  /// Null: it is absent or computed.
  const Tensor *constant(unsigned i) const { return has(i) && inputs[i]->known ? inputs[i] : nullptr; }
  const Tensor &output() const { return *outputs[0]; }
  TensorType type(unsigned i) const { return op.operand(i)->type; }
  /// Of an image NHWC that is operand 0: what a PAD adds that is not to be computed by itself.
  struct Border {
    int64_t top = 0, bottom = 0, left = 0, right = 0;
  };
  std::optional<Border> border;
  /// Where all kernels of a set work, one after the other; it keeps nothing from one run of a kernel to the next.
  std::shared_ptr<Block> scratch;

protected:
  llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned, llvm::ArrayRef<int32_t>, uint64_t) override {
    return fail("nothing is computed yet");
  }
};

/// Null: none for this operator.
using MakeFastKernel = std::unique_ptr<FastKernel> (*)(const FastSite &);

/// When a row is asked where several files have rows of an operator.
enum class Rank : uint8_t {
  First, ///< is quicker than the others
  Usual,
  Last, ///< takes any scale or shape
};

struct FastRow {
  BuiltinOperator code;
  MakeFastKernel make;
  Rank rank = Rank::Usual;
};

/// A kernel of any callable `run(in, out, threads)`.
template <class Run> std::unique_ptr<FastKernel> fastKernel(Run run) {
  class Kernel : public FastKernel {
  public:
    explicit Kernel(Run run) : compute(std::move(run)) {}
    bool run(Operands in, Operands out, pthreadpool_t threads) override { return compute(in, out, threads); }

  private:
    Run compute;
  };
  return std::make_unique<Kernel>(std::move(run));
}

/// Leaves everything to the reference kernel.
std::unique_ptr<FastKernel> noKernel();

/// The fast kernels of some plans, for one run at a time.
class FastKernels {
public:
  /// Numbers the steps that have one. Packed weights take at most half of the memory limit; what would need more is
  /// left to the reference kernels. With `fold`, steps do the work of others before them: convolutions that of a PAD,
  /// what goes element by element that of the step whose result it reads.
  static FastKernels choose(std::deque<Plan> &plans, uint64_t memoryLimit, bool fold = true);
  /// Another set, for steps that are numbered; `alone`: each computes its own result, for an observer to see.
  explicit FastKernels(const std::deque<Plan> &plans, bool alone);

  struct Entry {
    std::unique_ptr<FastKernel> kernel; ///< null: the result is the first operand in another shape
    bool taken = true;                  ///< in the last run; false: the reference kernel had to compute
  };
  std::vector<Entry> entries; ///< by Step::fast
  uint64_t packedBytes = 0;   ///< at most, of weights
  bool alone = false;         ///< no step does another one's work

private:
  std::shared_ptr<Block> scratch = std::make_shared<Block>();
  FastKernels() = default;
  /// Which steps do the work of others ahead of them. The arena of the file's order does not grow by that. True: there
  /// are some, and it is arranged for them.
  bool findChains(Plan &plan, uint64_t memoryLimit) const;
  /// Their kernels become one.
  void join(const Plan &plan);
};

} // namespace origo::eval
