#pragma once

#include "eval/RunOperator.h"

#include "llvm/ADT/DenseSet.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace origo::eval {

struct Plan;
class FastKernels;
class StateStore;

/// Which kernels compute.
enum class Engine : uint8_t {
  Reference, ///< the semantics, bit for bit; what every other engine is judged by
  Fast,      ///< vector kernels, where there is one, within small tolerances
};

struct CompileOptions {
  /// The signature to compile; empty: all of them, and subgraph 0 under the names of its tensors.
  std::string signature = {};
  /// Outputs by their name in the signature, or any tensors by theirs; what they do not need is not computed. Empty:
  /// the outputs of the graph.
  std::vector<std::string> outputs = {};
  Engine engine = Engine::Reference;
  unsigned threads = 1; ///< of Engine::Fast, shared by all runs of the session; Engine::Reference uses one
  uint64_t memoryLimit =
      uint64_t(4) << 30; ///< bytes of tensors that live at the same time, and of packed weights; constants aside
  uint64_t iterationLimit = 1 << 20;                     ///< rounds of all WHILE operators of a run
  std::optional<std::chrono::milliseconds> timeout = {}; ///< of a run; looked at between operators
  bool observed = false; ///< runs have observers, so that no kernel is prepared to do the work of two operators
};

/// What outlives a run: variable tensors, resources, and memory that is used again. For one run at a time.
class State {
public:
  State();
  ~State();
  State(State &&) noexcept;
  State &operator=(State &&) noexcept;
  /// As before the first run, but for the memory.
  void reset();
  /// What a variable tensor holds; none: no run has used it yet.
  std::optional<llvm::ArrayRef<uint8_t>> variable(const Value &value) const;

private:
  friend class Session;
  std::unique_ptr<StateStore> store;
};

/// An input or an output of a graph. −1 in `shape`: known at run time only.
struct Port {
  std::string name;
  TensorType type = TensorType::FLOAT32;
  Shape shape;
  bool rankKnown = true;
  const Value *value = nullptr;
};

struct NamedTensor {
  std::string name;
  OwnedTensor tensor;
};

using Inputs = std::map<std::string, TensorRef>;
/// Memory of the caller, for outputs by name.
using Outputs = std::map<std::string, llvm::MutableArrayRef<uint8_t>>;
/// Sees each tensor that an operator has computed, in called subgraphs too; what it writes there, later operators read.
using Observer = std::function<void(const Operator &op, const Value &value, Tensor &tensor)>;
/// When an operator ran. Where a fast kernel does the work of several, its time is that of the first one, the
/// convolution before an addition.
struct Timed {
  const Operator &op;
  std::chrono::steady_clock::time_point begin, end;
  bool onAllThreads = false; ///< its work was handed out to the threads of the session
  uint64_t liveBytes = 0;    ///< of computed tensors while it ran, in subgraphs that go on, too
};
/// Told of each operator, of one that calls subgraphs after what it called.
using Timer = std::function<void(const Timed &)>;

/// A part of a graph. Other operators do not run, and their results are not there.
struct RunPart {
  llvm::DenseSet<const Operator *> computes;
  llvm::DenseSet<const Value *> given; ///< written by the observer, instead: of those that Session::always() has
};

/// Kernels for runs of one session that take turns in a thread: each stands in its observer while another one works.
class Turns {
public:
  Turns();
  ~Turns();
  Turns(Turns &&) noexcept;

private:
  friend class Session;
  std::unique_ptr<FastKernels> fast;
};

struct RunOptions {
  std::string signature = {}; ///< which of several; empty: the one that was compiled, or subgraph 0
  State *state = nullptr;     ///< null: a fresh one
  Observer observer = {};
  bool onlyReads = false; ///< the observer writes nothing, so that tensors may share memory as if there were none
  /// Sees floats that no result has, several times in one operator: the state of LSTM and SVDF each time that it
  /// changes, and what the intermediates of LSTM stand for.
  std::function<void(const Operator &, const Value &, llvm::ArrayRef<float>)> within = {};
  Timer timer = {};
  const RunPart *part = nullptr; ///< null: all of it
  Turns *turns = nullptr;        ///< null: kernels of its own
};

/// A compiled model. It does not change, so several threads may run it, each with its own State. The model must outlive
/// it and stay as it is.
class Session {
public:
  ~Session();
  Session(Session &&) noexcept;

  llvm::Expected<llvm::ArrayRef<Port>> inputs(llvm::StringRef signature = {}) const;
  llvm::Expected<llvm::ArrayRef<Port>> outputs(llvm::StringRef signature = {}) const;
  std::vector<std::string> signatures() const;
  /// What runs on a signature.
  llvm::Expected<const Subgraph *> graph(llvm::StringRef signature = {}) const;
  /// Does nothing call that graph, so that its tensors are computed once?
  bool runsOnce(llvm::StringRef signature = {}) const;
  /// Then: its inputs and computed tensors that each run has; without `anyShape`, in the shape that is known before.
  llvm::Expected<llvm::DenseSet<const Value *>> always(llvm::StringRef signature = {}, bool anyShape = false) const;

  /// All outputs, in the order of outputs().
  llvm::Expected<std::vector<NamedTensor>> run(const Inputs &inputs, const RunOptions &options = {}) const;
  /// The same with inputs in the order of inputs(); names may be empty or repeated.
  llvm::Expected<std::vector<NamedTensor>> run(llvm::ArrayRef<TensorRef> inputs, const RunOptions &options = {}) const;
  /// Into the caller's memory, which must be as large as the outputs are; the error says how large that is. Operators
  /// write there where nothing else reads their result, so it may have changed after an error, too.
  llvm::Error run(const Inputs &inputs, const Outputs &outputs, const RunOptions &options = {}) const;
  /// The same with inputs in the order of inputs() and memory in that of outputs(); an output without memory is not
  /// wanted.
  llvm::Error runInto(llvm::ArrayRef<TensorRef> inputs, llvm::ArrayRef<llvm::MutableArrayRef<uint8_t>> outputs,
                      const RunOptions &options = {}) const;

  /// Operators by what computed them in the last run, called subgraphs included; before any run, by what is going to.
  struct Coverage {
    std::vector<const Operator *> fast, reference;
  };
  Coverage coverage() const;
  /// The threads that help the one that runs, by the numbers that the system gives them.
  std::vector<int> helpers() const;

  /// The outputs' shapes for these inputs, without running. An input without bytes has a shape only.
  llvm::Expected<std::vector<Port>> inferShapes(const Inputs &inputs, llvm::StringRef signature = {}) const;

private:
  friend llvm::Expected<Session> compile(Model &model, const CompileOptions &options);
  Session();
  llvm::Expected<std::vector<NamedTensor>> runList(llvm::ArrayRef<const TensorRef *> inputs,
                                                   const RunOptions &options) const;
  struct Compiled;
  struct Entry;
  using Wanted = llvm::SmallVector<const llvm::MutableArrayRef<uint8_t> *, 16>; ///< null: not wanted
  llvm::Error runEntry(const Entry &entry, llvm::ArrayRef<const TensorRef *> inputs, const Wanted &outputs,
                       const RunOptions &options) const;
  std::unique_ptr<Compiled> compiled;
};

/// Plans the model; only numbers of operators and tensors in it are set anew. The error holds everything that has no
/// kernel.
llvm::Expected<Session> compile(Model &model, const CompileOptions &options = {});

} // namespace origo::eval
