#pragma once

#include "passes/Pass.h"

#include <map>

namespace origo {

/// Which passes to run, and how.
struct Pipeline {
  struct Entry {
    const Pass *pass;
    std::vector<Rewriter::Scope> scopes; ///< empty: all of the pass
    bool mends = false;                  ///< only where the target refuses what goes
  };
  std::vector<Entry> entries;
  /// Decides, when the phase of quantisation begins, how tensors are to be stored (quantize/Plan.h).
  std::function<llvm::Expected<StoragePlan>(Model &)> plan;

  /// Before the layout: inputs, or outputs, that are pictures get their channels last.
  bool turnsInputs = false, turnsOutputs = false;

  bool empty() const { return entries.empty() && !turnsInputs && !turnsOutputs; }
  /// Adds a pass, which need not be one of allPasses(), or widens the scopes it runs with.
  void add(const Pass &pass, llvm::ArrayRef<Rewriter::Scope> scopes = {});
  void remove(llvm::StringRef pass);
  /// All passes of -O1.
  static Pipeline o1();
  /// Adds those of -O2, for a target: they mend what it refuses. `allowed`: besides those that are exact.
  void addMending(llvm::ArrayRef<Mends> allowed = {});
  bool keepsSmall = false; ///< what mends makes no more operators than go
  /// What stores tensors as a plan says.
  static Pipeline quantization(std::function<llvm::Expected<StoragePlan>(Model &)> plan);
};

/// What became of the attempts of one rule.
struct RuleStatistics {
  llvm::StringRef pass, rule;
  uint64_t tried = 0, applied = 0;
  std::map<std::string, uint64_t> declined = {}; ///< by reason
  double seconds = 0;
};

/// How to run a pipeline, and who looks on.
struct PipelineOptions {
  bool verifyEach = false;      ///< verify the model after each rewrite; a violation ends the run
  std::optional<uint32_t> fuel; ///< stop after so many rewrites
  std::function<void(const RewriteEvent &)> onRewrite;
  /// Told of each attempt at an operator, applied (`reason` is empty) or declined. The operator may be erased by then.
  /// Where the pattern was not found, the reason tells how far it got, which statistics leave out.
  std::function<void(const Operator &, IdSet origins, const Pass &, const Rule &, llvm::StringRef reason)> onAttempt;
  /// Told of each rule whose pattern was found at an operator and that declined all the same.
  std::function<void(const Operator &, const Pass &, const Rule &, llvm::StringRef reason)> onDecline;
  std::optional<Format> format; ///< of the file that is written; none: the model's own. Rules make what it has.
  /// Why an operator that a rule would create is not wanted, so that the rule declines; empty: it is. Null: all are.
  std::function<std::string(const Operator &)> refuses;
  std::function<double(const Operator &)> price; ///< what an operator costs that is refused; null: each the same
  /// Told of a rule that broke a law of rewrites, which was so not applied.
  std::function<void(llvm::StringRef)> onRefusal;
  /// Told of each constant that is computed: the operator, which is gone afterwards, and its results.
  std::function<void(const Operator &, llvm::ArrayRef<Payload>)> onFold;
  std::vector<RuleStatistics> *statistics = nullptr; ///< filled in, in the order of the pass table
};

/// Runs the pipeline: phase by phase, each to its fixed point, that is its passes and the simplifications on every
/// operator, again wherever something changed. Dead code and unneeded buffers are removed. An empty pipeline changes
/// nothing. A rule that breaks a law of rewrites is told of, or ends the run where `verifyEach` is set.
llvm::Error runPipeline(Model &model, const Pipeline &pipeline, PayloadStore &store,
                        const PipelineOptions &options = {});

/// Takes out the outputs that only bring codes of weights along, where a pass of the pipeline uses these, as a run does
/// when that pass had its turn.
void dropCodeOutputs(Model &model, const Pipeline &pipeline);

} // namespace origo
