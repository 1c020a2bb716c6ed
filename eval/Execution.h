#pragma once

#include "eval/Block.h"
#include "eval/Plan.h"
#include "eval/Resources.h"
#include "eval/fast/Fast.h"

#include <set>

namespace origo::eval {

class StepContext;

/// The tensors of a plan while it runs. Kept from run to run for its memory.
struct Frame {
  explicit Frame(const Plan &plan);
  ~Frame();
  const Plan &plan;
  Block memory; ///< of the arena
  std::vector<Tensor> tensors;
  /// By slot: the caller's memory, where a result of this size is computed.
  std::vector<llvm::MutableArrayRef<uint8_t>> outside;
  std::vector<std::unique_ptr<StepContext>> contexts; ///< by step; null for control flow
  /// For the shapes of this run, where the plan does not know them.
  std::optional<Arena> own;
  std::vector<Shape> arrangedFor; ///< inputs of these shapes
  const Arena &arena() const { return own ? *own : arranged->arena; }
  const Arrangement *arranged = &plan.filed; ///< of the last run
  /// What Session::run passes in and out, in the order of ports and in that of the subgraph.
  struct {
    std::vector<Tensor> given, arguments, results;
    std::vector<std::vector<uint8_t>> copies; ///< of inputs that cannot be used in place
  } call;
  std::vector<Block> heap; ///< of slots that are not in the arena
};

class StateStore {
public:
  std::map<const Value *, std::vector<uint8_t>> variables;
  std::set<const Subgraph *> calledOnce;
  Resources resources;
  std::map<const Plan *, std::unique_ptr<Frame>> frames; ///< of entries
  std::map<const Plan *, std::unique_ptr<Frame>> called; ///< of subgraphs that others call
  std::vector<Block> spare; ///< what tensors without a place in an arena have left, for the next ones
  uint64_t usedBytes = 0;   ///< of variable tensors, of frames and of `spare`; resources count theirs
};

/// One run.
class Execution {
public:
  Execution(const CompileOptions &options, StateStore &state, const RunOptions &run, FastKernels *fast,
            pthreadpool_t threads)
      : options(options), state(state), observer(run.observer), within(run.within),
        mayWrite(run.observer && !run.onlyReads), timer(run.timer), part(run.part), fast(fast), threads(threads),
        memoryLimit(options.memoryLimit - (fast ? std::min(fast->packedBytes, options.memoryLimit) : 0)) {
    if (options.timeout)
      deadline = std::chrono::steady_clock::now() + *options.timeout;
  }
  /// Runs the graph of the session: its arena is arranged for the shapes of `inputs`.
  llvm::Error runEntry(Frame &frame, llvm::ArrayRef<Tensor> inputs);

  /// Counts bytes of tensors; an error, before anything is allocated, if they are too many.
  llvm::Error reserve(uint64_t bytes, const Operator *op);
  void release(uint64_t bytes) { state.usedBytes -= bytes; }
  /// Makes `block` one of at least so many bytes.
  llvm::Error acquire(Block &block, uint64_t bytes, const Operator &op);
  void giveUp(Block &block);
  /// Memory for a result.
  llvm::Expected<llvm::MutableArrayRef<uint8_t>> room(Frame &frame, const Step &step, unsigned result, uint64_t bytes);

private:
  const CompileOptions &options;
  StateStore &state;
  const Observer &observer;
  const decltype(RunOptions::within) &within;
  bool mayWrite; ///< the observer, to results
  const Timer &timer;
  const RunPart *part; ///< null: all
  FastKernels *fast;   ///< null: reference kernels only
  pthreadpool_t threads;
  uint64_t memoryLimit; ///< of tensors, without packed weights
  std::optional<std::chrono::steady_clock::time_point> deadline;
  uint64_t iterations = 0;
  uint64_t liveBytes = 0;    ///< of computed tensors, where somebody asks for times
  bool onAllThreads = false; ///< the kernel that ran last

  llvm::Error run(Frame &frame, llvm::ArrayRef<Tensor> inputs);
  using TimePoint = std::chrono::steady_clock::time_point;
  /// What a step takes together with those whose work it does is the first one's.
  void tellTime(const Plan &plan, const Step &step, TimePoint begin, TimePoint end);
  /// Counts what a step has made, in `held` by slot, and what nobody reads after it.
  void countMade(const Frame &frame, const Step &step, std::vector<uint64_t> &held);
  /// A step that is not to compute: room for what the observer gives in its place.
  llvm::Error takeGiven(Frame &frame, const Step &step);
  /// `asIs`: even where another step does its work.
  llvm::Error runKernel(Frame &frame, const Step &step, bool asIs = false);
  /// False: its reference kernel has to compute it.
  bool runFast(Frame &frame, const Step &step, Operands inputs, FastKernels::Entry &entry);
  llvm::Error runControlFlow(Frame &frame, const Step &step);
  llvm::Error runWhile(Frame &frame, const Step &step);
  /// Runs callee `which` and hands back its outputs, which live until it runs again.
  llvm::Expected<std::vector<Tensor>> call(const Step &step, unsigned which, llvm::ArrayRef<Tensor> inputs);
  llvm::Error setResult(Frame &frame, const Step &step, unsigned i, const Tensor &from);
  llvm::Error checkTime(const Operator &op) const;
};

} // namespace origo::eval
