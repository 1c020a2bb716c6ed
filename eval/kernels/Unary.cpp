#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/kernels/Elementwise.h"

/// Elementwise operators of one operand.
namespace origo::eval {

namespace {

template <float (*f)(float)> llvm::Error mapFloat(KernelContext &ctx) { return map<float, float>(ctx, f); }

float square(float x) { return x * x; }
float reciprocalRoot(float x) { return 1.f / std::sqrt(x); }
float negate(float x) { return -x; }
/// Half to even, whatever the rounding mode.
float roundHalfToEven(float x) {
  float low = std::floor(x), rest = x - low;
  if (rest < 0.5f)
    return low;
  if (rest > 0.5f)
    return low + 1.f;
  return std::fmod(low, 2.f) == 0 ? low : low + 1.f;
}

float abs1(float x) { return std::fabs(x); }
float ceil1(float x) { return std::ceil(x); }
float floor1(float x) { return std::floor(x); }
float exp1(float x) { return std::exp(x); }
float log1(float x) { return std::log(x); }
float sqrt1(float x) { return std::sqrt(x); }
float sin1(float x) { return std::sin(x); }
float cos1(float x) { return std::cos(x); }

template <class T> llvm::Error negateInteger(KernelContext &ctx) {
  return map<T, T>(ctx, [](T x) { return wrappingSub<T>(0, x); });
}
template <class T> llvm::Error absInteger(KernelContext &ctx) {
  return map<T, T>(ctx, [](T x) { return x < 0 ? wrappingSub<T>(0, x) : x; });
}
template <class T> llvm::Error squareInteger(KernelContext &ctx) {
  return map<T, T>(ctx, [](T x) { return wrappingMul(x, x); });
}
llvm::Error logicalNot(KernelContext &ctx) {
  return map<uint8_t, uint8_t>(ctx, [](uint8_t x) -> uint8_t { return !x; });
}

/// NaN stays.
template <class T> llvm::Error signOf(KernelContext &ctx) {
  return map<T, T>(ctx, [](T x) -> T { return x == x ? static_cast<T>((x > 0) - (x < 0)) : x; });
}

/// How many of the sorted boundaries an element is not below.
template <class T> llvm::Error bucketize(KernelContext &ctx) {
  const auto *boundaries = ctx.options<circle::BucketizeOptions>().boundaries();
  llvm::SmallVector<float> sorted;
  if (boundaries)
    sorted.assign(boundaries->begin(), boundaries->end());
  if (!std::is_sorted(sorted.begin(), sorted.end()))
    return ctx.fail("the boundaries are not sorted");
  return map<T, int32_t>(ctx, [&](T x) {
    return static_cast<int32_t>(
        std::upper_bound(sorted.begin(), sorted.end(), x,
                         [](T a, float b) { return static_cast<double>(a) < static_cast<double>(b); }) -
        sorted.begin());
  });
}

/// Rounded to the numbers that a quantised type would have, with its range moved so that 0 is one of them.
llvm::Error fakeQuant(KernelContext &ctx) {
  const auto &options = ctx.options<circle::FakeQuantOptions>();
  int bits = options.num_bits();
  if (!(options.min() < options.max()) || !std::isfinite(options.max() - options.min()))
    return ctx.fail("has an impossible range");
  float low = options.narrow_range() ? 1 : 0, high = static_cast<float>((1 << bits) - 1);
  float scale = (options.max() - options.min()) / (high - low);
  float zero = std::clamp(std::round(low - options.min() / scale), low, high);
  float least = (low - zero) * scale, most = (high - zero) * scale, inverse = 1 / scale;
  return map<float, float>(ctx, [&](float x) {
    float inside = std::min(most, std::max(least, x));
    return std::round((inside - least) * inverse) * scale + least;
  });
}

} // namespace

llvm::ArrayRef<KernelRow> unaryKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::ABS, "f32 -> f32", mapFloat<abs1>},
      {Op::ABS, "i32 -> i32", absInteger<int32_t>},
      {Op::CEIL, "f32 -> f32", mapFloat<ceil1>},
      {Op::COS, "f32 -> f32", mapFloat<cos1>},
      {Op::EXP, "f32 -> f32", mapFloat<exp1>},
      {Op::FLOOR, "f32 -> f32", mapFloat<floor1>},
      {Op::LOG, "f32 -> f32", mapFloat<log1>},
      {Op::LOGICAL_NOT, "bool -> bool", logicalNot},
      {Op::NEG, "f32 -> f32", mapFloat<negate>},
      {Op::NEG, "i32 -> i32", negateInteger<int32_t>},
      {Op::NEG, "i64 -> i64", negateInteger<int64_t>},
      {Op::NEG, "i8{n} -> i8{n}", negateInteger<int8_t>},
      {Op::NEG, "i16{n} -> i16{n}", negateInteger<int16_t>},
      {Op::ROUND, "f32 -> f32", mapFloat<roundHalfToEven>},
      {Op::RSQRT, "f32 -> f32", mapFloat<reciprocalRoot>},
      {Op::SIGN, "f32 -> f32", signOf<float>},
      {Op::SIGN, "i32 -> i32", signOf<int32_t>},
      {Op::SIGN, "f64 -> f64", signOf<double>},
      {Op::BUCKETIZE, "f32 -> i32", bucketize<float>},
      {Op::BUCKETIZE, "f64 -> i32", bucketize<double>},
      {Op::BUCKETIZE, "i32 -> i32", bucketize<int32_t>},
      {Op::BUCKETIZE, "i64 -> i32", bucketize<int64_t>},
      {Op::FAKE_QUANT, "f32 -> f32", fakeQuant, {within("num_bits", 2, 16)}},
      {Op::SIN, "f32 -> f32", mapFloat<sin1>},
      {Op::SQRT, "f32 -> f32", mapFloat<sqrt1>},
      {Op::SQUARE, "f32 -> f32", mapFloat<square>},
      {Op::SQUARE, "i32 -> i32", squareInteger<int32_t>},
  };
  return rows;
}

} // namespace origo::eval
