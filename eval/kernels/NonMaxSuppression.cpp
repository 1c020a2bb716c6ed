#include "eval/kernels/NonMaxSuppression.h"

#include <cmath>

namespace origo::eval {

namespace {

/// Arithmetic on floats, as loops::suppression asks for it.
struct Scores {
  using Number = float;
  static float of(float x) { return x; }
  static float add(float a, float b) { return a + b; }
  static float subtract(float a, float b) { return a - b; }
  static float multiply(float a, float b) { return a * b; }
  static float divide(float a, float b) { return a / b; }
  static float exponential(float x) { return std::exp(x); }
  static float larger(float a, float b) { return std::max(a, b); }
  static float smaller(float a, float b) { return std::min(a, b); }
  static bool less(float a, float b) { return a < b; }
  static bool isAtMost(float a, float b) { return a <= b; }
  static bool isSame(float a, float b) { return a == b; }
  static float chosen(float x) { return x; }
};

llvm::Error nonMaxSuppression(KernelContext &ctx) { return loops::suppression::run(ctx, Scores()); }

} // namespace

llvm::ArrayRef<KernelRow> nonMaxSuppressionKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::NON_MAX_SUPPRESSION_V4, "f32[b,4], f32[b], i32, f32, f32 -> i32, i32", nonMaxSuppression},
      {Op::NON_MAX_SUPPRESSION_V5, "f32[b,4], f32[b], i32, f32, f32, f32 -> i32, f32, i32", nonMaxSuppression},
  };
  return rows;
}

} // namespace origo::eval
