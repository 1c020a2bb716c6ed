#pragma once

#include "eval/Relations.h"
#include "eval/Session.h"

#include <set>

namespace origo::eval {

/// A tensor that does not hold what it should.
struct Deviation {
  const Value *value;
  std::optional<uint32_t> source; ///< id of the source tensor that it is related to; none: it is an output
  std::string text;
};

/// What was found of many pairs of tensors.
struct Comparison {
  unsigned equal = 0, within = 0;            ///< relations and outputs, each counted once for all inputs
  std::map<std::string, unsigned> unchecked; ///< by reason
  std::vector<Deviation> deviations;         ///< constants first, then in the order of execution
};

/// What a model computes from random inputs, to compare later states of it with.
///
/// A state is run twice. By itself: what is said to be exact has to have the same bits. Then led: each tensor that
/// stands for one of the source is compared and goes on with the source's numbers, so that every tensor is judged by
/// the operators since those before it, however deep the network is. How far it may be off is measured: the source runs
/// again with rounding errors at random (Rounding.h) in the operators between the same tensors.
class Baseline {
public:
  Baseline(Baseline &&) noexcept;
  ~Baseline();
  /// Runs the first subgraph, and each signature of another one, for each seed; variables keep their values from one to
  /// the next. The model must outlive this and stay as it is. Its tensors give their values to the source tensors that
  /// they equal by their relations.
  static llvm::Expected<Baseline> of(Model &model, llvm::ArrayRef<uint32_t> seeds, const CompileOptions &options = {});
  /// The same on records instead of random numbers: those that `given` has for the inputs of each signature.
  using Given = llvm::function_ref<llvm::Expected<std::vector<std::vector<OwnedTensor>>>(llvm::ArrayRef<Port> inputs)>;
  static llvm::Expected<Baseline> of(Model &model, Given given, const CompileOptions &options = {});

  /// Runs a state of the same model that passes have made, and compares its outputs, and all tensors and constants that
  /// have a relation to a source tensor. An error if it cannot be run.
  llvm::Expected<Comparison> compare(Model &result) const;

  /// What tensors held: the last time, where a subgraph was called more often.
  struct Held {
    OwnedTensor tensor;
    unsigned times = 0;
  };
  using Recording = std::map<const Value *, Held>;
  struct Run {
    std::string signature;
    std::vector<OwnedTensor> inputs;
    std::vector<NamedTensor> outputs = {};
    std::vector<const Value *> ports = {}; ///< the outputs' values
    Recording held = {};
  };
  llvm::ArrayRef<Run> runs() const { return all; }

private:
  Baseline();
  struct Trials;
  Model *model = nullptr;
  CompileOptions options;
  bool stateful = false; ///< a run may depend on the one before it
  mutable std::unique_ptr<Trials> trials;
  std::vector<Run> all;
  std::map<uint32_t, const Value *> sources; ///< by id

  static llvm::Expected<Baseline> of(Model &model, llvm::ArrayRef<uint32_t> seeds, Given given,
                                     const CompileOptions &options);
  llvm::Expected<std::map<const Value *, Tolerance>> tolerances(size_t run, const std::set<const Value *> &anchors,
                                                                const std::set<const Value *> &wanted) const;
};

} // namespace origo::eval
