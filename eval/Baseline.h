#pragma once

#include "eval/Relations.h"
#include "eval/Session.h"

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
class Baseline {
public:
  /// Runs the first subgraph, and each signature of another one, for each seed; variables keep their values from one to
  /// the next. The model must outlive this and stay as it is. Its tensors give their values to the source tensors that
  /// they equal by their relations.
  static llvm::Expected<Baseline> of(Model &model, llvm::ArrayRef<uint32_t> seeds, const CompileOptions &options = {});

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
    Recording held = {};
  };
  llvm::ArrayRef<Run> runs() const { return all; }

private:
  CompileOptions options;
  std::vector<Run> all;
  std::map<uint32_t, const Value *> sources; ///< by id
};

} // namespace origo::eval
