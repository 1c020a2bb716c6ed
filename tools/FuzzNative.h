#pragma once

#include "tools/FuzzChecks.h"
#include "tools/FuzzRun.h"
#include "tools/NativeRuntime.h"

namespace origo::tools {

/// Random models in the native runtime.
class FuzzNative {
public:
  /// `directory`: for the files that it is given.
  FuzzNative(const NativeRuntime &runtime, llvm::StringRef directory) : runtime(runtime), directory(directory) {}

  /// The runtime and the reference engine agree on whether the model runs, and on its numbers, in the kernels that the
  /// runtime prefers and in its plain ones; but for what is known of the runtime. `reference`: a run of `model`.
  std::string compare(Model &model, const Run &reference, llvm::StringRef text, uint32_t seed,
                      FuzzOutcome &outcome) const;

  /// The same numbers of a whole model. `refused`: what the runtime says where it does not take that; empty: it ran; left
  /// alone where the runtime is not asked.
  std::string compareGraph(Model &model, const Run &reference, llvm::StringRef text, uint32_t seed,
                           std::optional<std::string> &refused, FuzzOutcome &outcome) const;

private:
  const NativeRuntime &runtime;
  std::string directory;

  NativeRuntime::Outcome run(llvm::StringRef text, uint32_t seed, bool plain, std::string &unsaid) const;
};

} // namespace origo::tools
