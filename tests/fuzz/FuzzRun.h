#pragma once

#include "eval/Session.h"

/// Running a random model, and what two runs of it may differ by.
namespace origo::fuzz {

struct Run {
  std::string refused; ///< empty: it ran
  bool limited = false;
  bool isOdd = false; ///< NaN, infinity or a denormal number was computed on the way, or divided by zero
  /// Engines may make different things of it: it began with a denormal number or a divisor of zero, or constants are so
  /// large that a sum may overflow in one order, and not in another, within an operator that clamps what comes of it.
  bool isUnsteady = false;
  /// A number was quantised that is beyond 32 bits when it is counted in steps: TFLite takes it as such before it
  /// clamps.
  bool overflowsWords = false;
  bool compiled = false;
  std::vector<eval::NamedTensor> outputs;
};

/// Results without a shape get what the shape rules say.
void inferShapes(Model &model);

/// Is there such a float among the constants?
bool anyConstant(const Model &model, llvm::function_ref<bool(float)> is);

/// `noise`: puts every float off by a few rounding errors, up or down as this says; 0: none.
Run runOn(eval::Engine engine, Model &model, uint32_t seed, uint64_t noise = 0);

/// What the outputs of another run have that `reference`, a run of the reference engine, does not explain, not even by
/// rounding; empty: nothing. `integers`: those count, too; those of 16 bits may be so many `steps` off.
std::string differenceFrom(const Run &reference, llvm::ArrayRef<eval::OwnedTensor> outputs, Model &model, uint32_t seed,
                           bool integers, unsigned steps = 0);

} // namespace origo::fuzz
