#pragma once

#include "eval/Session.h"

#include <optional>
#include <vector>

/// What rounding explains. Floats of another order of operations differ; by how much depends on the operators in
/// between, so it is measured and not guessed: the source model runs again with each number a few units in the last
/// place off, up or down at random (Monte Carlo arithmetic), and how far its tensors move is what they may be off.
namespace origo::eval {

/// How far a number of one tensor may be off.
class Tolerance {
public:
  /// `relative`: a part of the number itself.
  explicit Tolerance(double relative) : relative(relative) {}
  /// In parts of the range of these numbers, where nothing was measured.
  static Tolerance ofRange(llvm::ArrayRef<double> numbers, double part);
  /// From numbers and how far each one has moved. Numbers of a like size move alike: huge ones (a mask of −1e9) say
  /// nothing of the others beside them.
  static Tolerance measured(llvm::ArrayRef<double> numbers, llvm::ArrayRef<double> moved, double relative);

  double at(double number) const;
  const double relative;

private:
  std::vector<double> most; ///< by exponent: of all numbers up to that size
  double all = 0;           ///< of numbers that are larger than any
};

/// Rounding errors may add up to this many times what was seen in a few trials.
inline constexpr double margin = 4;

/// A unit in the last place of 1; 0 for what is not floats.
double unitOf(TensorType type);

/// The rounding error of a result in parts of the numbers that it is the sum of, or a little more. Errors of a sum of n
/// terms grow with √n.
double roundingOf(const Operator &op, TensorType type);

/// Puts floats off by that part, up or down at random. Whole numbers are left alone: what is counted is not rounded,
/// and what is compared or rounded down would jump. False for types that it cannot do this to.
bool jiggle(TensorType type, llvm::MutableArrayRef<uint8_t> bytes, double part, uint64_t seed);

/// A session of a model whose constants are off, and what holds them.
struct JiggledSession {
  std::vector<Payload> payloads;
  Session session;
};

/// Constants are put off by as much as the sums that they are read for, times `errors`, which may be 0: what is rounded
/// inside of an operator does not show in a result that is nearly zero. The model is as it was afterwards.
llvm::Expected<JiggledSession> compileJiggled(Model &model, const CompileOptions &options, double errors,
                                              llvm::function_ref<uint64_t(const Value &)> seedOf);

} // namespace origo::eval
