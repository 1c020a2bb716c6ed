#pragma once

#include "tests/fuzz/FuzzChecks.h"
#include "tests/fuzz/FuzzRun.h"
#include "tests/fuzz/NativeRuntime.h"

namespace origo::fuzz {

/// What the runtime is given, for who looks on from another process: it may end this one.
enum class NativeStage : uint8_t {
  Idle,
  Source, ///< a model as it is, which it may refuse, or not survive
  Result, ///< what was made of one that it ran
};

/// Random models in the native runtime.
class FuzzNative {
public:
  /// `directory`: for the files that it is given. `stage`: takes what it is given now; may be null.
  FuzzNative(const NativeRuntime &runtime, llvm::StringRef directory, volatile NativeStage *stage = nullptr)
      : runtime(runtime), directory(directory), stage(stage) {}

  /// The runtime and the reference engine agree on whether the model runs, and on its numbers, in the kernels that the
  /// runtime prefers and in its plain ones; but for what is known of the runtime. `reference`: a run of `model`.
  std::string compare(Model &model, const Run &reference, llvm::StringRef text, uint32_t seed,
                      FuzzOutcome &outcome) const;

  /// The same numbers of a whole model, where they can be the same. `refused`: what the runtime says where it does not
  /// take that; empty: it ran; left alone where the runtime does not know it.
  std::string compareGraph(Model &model, const Run &reference, llvm::StringRef text, uint32_t seed, NativeStage stage,
                           std::optional<std::string> &refused, FuzzOutcome &outcome) const;

  /// Why the runtime refuses what was made of a model that it ran; empty: it runs, or the runtime does not know it.
  std::string refusal(llvm::StringRef text, uint32_t seed) const;

private:
  const NativeRuntime &runtime;
  std::string directory;
  volatile NativeStage *stage;

  NativeRuntime::Outcome run(llvm::StringRef text, uint32_t seed, bool plain, NativeStage now,
                             std::string &unsaid) const;
};

} // namespace origo::fuzz
