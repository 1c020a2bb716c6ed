#pragma once

#include "eval/Kernels.h"
#include "eval/Order.h"
#include "eval/Session.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>

namespace origo::eval {

/// A tensor of a plan.
struct Slot {
  enum class Kind : uint8_t { Input, Constant, Variable, Computed };
  const Value *value = nullptr;
  Kind kind = Kind::Computed;
  std::optional<ConstantBytes> constant = std::nullopt;
  std::optional<Shape> shape = std::nullopt; ///< where it is known before a run
  int sharedWith = -1;                       ///< the slot in whose memory it lies; −1: its own
  bool onlyGivenOut = false; ///< one output of the graph, that nothing reads and that shares memory with nothing
};

struct Step {
  const Operator *op;
  const Kernel *kernel;               ///< null: control flow
  int fast = -1;                      ///< its place among the FastKernels; −1: `kernel` computes it
  llvm::SmallVector<int, 4> operands; ///< slots; −1: absent
  llvm::SmallVector<int, 2> results;  ///< likewise
  llvm::SmallVector<const Plan *, 2> callees;
  bool settled = false; ///< where operands have the shapes of their slots, results have those of theirs
  // Where nobody observes, a fast kernel may do the work of steps before it, which are `folded`: of a PAD, and of those
  // that make what it goes through element by element.
  bool folded = false;
  int pad = -1;                                ///< −1: none
  int ahead = -1;                              ///< makes an operand, and may be so itself; −1: none
  llvm::SmallVector<int, 4> fastOperands = {}; ///< instead of `operands`; none: they are the same
  llvm::ArrayRef<int> reads() const { return fastOperands.empty() ? operands : fastOperands; }
};

/// Memory for all computed tensors whose sizes are known; those that never live at the same time share it.
struct Arena {
  struct Place {
    int64_t offset = -1; ///< −1: not in the arena
    uint64_t bytes = 0;
  };
  std::vector<Place> places; ///< by slot
  uint64_t bytes = 0;
};

/// An order of steps, and where tensors lie while they run in it.
struct Arrangement {
  std::vector<int> order;
  std::vector<llvm::SmallVector<int, 2>> release; ///< by step: slots that nothing reads after it
  Arena arena;                                    ///< for the shapes that are known before a run
};

/// What a subgraph does, in the file's order, and where its tensors lie.
struct Plan {
  const Subgraph *graph = nullptr;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  llvm::SmallVector<int> inputs, outputs;
  bool shapesKnown = false; ///< those of all inputs are

  Arrangement filed;                 ///< the file's order
  std::optional<Arrangement> packed; ///< another order, that takes less memory
  /// Who observes a run sees the file's order.
  const Arrangement &arranged(bool observed) const { return packed && !observed ? *packed : filed; }

  /// By slot: the step that makes it (−1: none), and how often it is read, as an output of the graph, too.
  struct Uses {
    std::vector<int> producers, readers;
  };
  Uses uses() const;

  /// An arena for tensors of these shapes, one a slot, in this order of steps. A tensor beyond `limit` bytes has no
  /// place.
  Arena arrange(llvm::ArrayRef<Tensor> tensors, uint64_t limit, llvm::ArrayRef<int> order) const;
  /// The place in the order of the last step that reads each slot, or what shares its memory; one behind the last place
  /// for outputs.
  std::vector<int> lastUses(llvm::ArrayRef<int> order) const;
  /// Which orders there are: what has effects or looks at a state keeps the file's. `places`: those of its arena.
  Ordering ordering(llvm::ArrayRef<Arena::Place> places) const;
  /// Says where slots are released and where they lie in the file's order: whenever steps read others than before.
  void arrangeFiled(uint64_t limit);
  /// Looks for an order that takes less memory, when it is settled what steps read.
  void arrangePacked(uint64_t limit);
  int ownerOf(int slot) const { return slots[slot].sharedWith >= 0 ? slots[slot].sharedWith : slot; }

private:
  void findOnlyGivenOut();
  std::vector<Tensor> knownTensors() const;
  Arrangement arrangement(llvm::ArrayRef<Tensor> tensors, uint64_t limit, std::vector<int> order) const;
};

/// Shapes, and values where they are few and follow from constants, without running the rest. What is called with the
/// same shapes and values again is not gone through again.
class ShapeRun {
public:
  /// A tensor for each slot. `rankKnown` is false where the shape depends on what is not known. `settled` gets for each
  /// step whether its results have these shapes whenever its operands have theirs. The values live as long as this.
  std::vector<Tensor> run(const Plan &plan, llvm::ArrayRef<Tensor> inputs, std::vector<bool> *settled = nullptr);
  /// What a graph says of an input.
  static Tensor stated(const Value &value);

private:
  std::deque<std::vector<uint8_t>> values;
  /// Outputs by what was called, and shapes and values of its inputs.
  std::map<std::pair<const Plan *, std::string>, std::vector<Tensor>> called;
  /// Steps of calls that are still gone through, for nested calls may double shapes and so have more than anybody can
  /// go through. Beyond, results have no known shapes.
  uint64_t stepsLeft = 1 << 18;
  std::vector<Tensor> through(const Plan &plan, llvm::ArrayRef<Tensor> inputs, std::vector<bool> *settled);
  bool runStep(const Step &step, std::vector<Tensor> &tensors);
  void runCall(const Step &step, std::vector<Tensor> &tensors);
  std::vector<Tensor> call(const Plan &plan, llvm::ArrayRef<Tensor> inputs);
};

/// Makes plans of subgraphs and of what they call.
class Planner {
public:
  explicit Planner(const CompileOptions &options) : options(options), sparseBytesLeft(options.memoryLimit) {
    if (options.timeout)
      deadline = std::chrono::steady_clock::now() + *options.timeout;
  }
  /// The plan that computes `outputs`. What goes wrong is added to `errors`.
  const Plan *plan(const Subgraph &graph, llvm::ArrayRef<Value *> outputs);
  /// The same for a called subgraph: all its outputs, once for all callers.
  const Plan *plan(const Subgraph &graph);

  void add(llvm::Error error) {
    if (error)
      errors.push_back(std::move(error));
  }
  /// Everything that was added, as one error.
  llvm::Error takeErrors();

  std::deque<Plan> plans;

private:
  const CompileOptions &options;
  llvm::DenseMap<const Subgraph *, const Plan *> called;
  llvm::SmallVector<const Subgraph *> inProgress;
  std::vector<llvm::Error> errors;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  ShapeRun shapes;
  bool late = false; ///< the deadline has passed
  bool outOfTime(const Operator &op);
  uint64_t sparseBytesLeft; ///< what sparse and unpacked constants may still grow to
  void inferShapes(Plan &plan);
  bool unpacksConstant(const Operator &op) const;
  void shareMemory(Plan &plan, const Step &step) const;
};

} // namespace origo::eval
