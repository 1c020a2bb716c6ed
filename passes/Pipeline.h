#pragma once

#include "passes/Passes.h"

namespace origo {

/// Which passes to run, and how.
struct Pipeline {
  struct Entry {
    const Pass *pass;
    std::vector<Rewriter::Scope> scopes; ///< empty: all of the pass
  };
  std::vector<Entry> entries;
  bool verifyEach = false; ///< verify the model after each rewrite; a violation ends the run
  std::function<void(const RewriteEvent &)> onRewrite; ///< may be empty

  bool empty() const { return entries.empty(); }
  /// Adds a pass, or widens the scopes it runs with.
  void add(const Pass &pass, llvm::ArrayRef<Rewriter::Scope> scopes = {});
  void remove(llvm::StringRef pass);
  /// All passes of -O1.
  static Pipeline o1();
};

/// Runs the pipeline to its fixed point: every pass on every operator, again wherever something changed. Dead code and
/// unneeded buffers are removed. An empty pipeline changes nothing.
llvm::Error runPipeline(Model &model, const Pipeline &pipeline, PayloadStore &store);

} // namespace origo
