#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/kernels/FakeRange.h"
#include "eval/kernels/InverseRoot.h"
#include "eval/kernels/LookupTable.h"

/// Elementwise operators of one operand.
namespace origo::eval {

namespace {

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

/// Rounded to the numbers that a quantised type would have.
llvm::Error fakeQuant(KernelContext &ctx) {
  auto range = FakeRange::of(ctx);
  if (!range)
    return range.takeError();
  float inverse = 1 / range->scale;
  return map<float, float>(ctx, [range = *range, inverse](float x) {
    float inside = std::min(range.most, std::max(range.least, x));
    return std::round((inside - range.least) * inverse) * range.scale + range.least;
  });
}

template <class T> llvm::Error absolute(KernelContext &ctx) {
  const Tensor &in = ctx.input(0), &result = *ctx.outputs[0];
  Multiplier factor = quantizeMultiplier(static_cast<double>(in.scale()) / static_cast<double>(result.scale()));
  bool rescale = in.scale() != result.scale();
  return map<T, T>(ctx, [&](T x) {
    int32_t value = std::abs(x - in.zeroPoint());
    return saturate<T>(wrappingAdd(rescale ? multiply(value, factor) : value, result.zeroPoint()));
  });
}

/// 1 / √x; an operand of zero gives the largest number.
llvm::Error reciprocalRoot8(KernelContext &ctx) {
  constexpr int spare = 20;
  const Tensor &in = ctx.input(0), &result = *ctx.outputs[0];
  Multiplier factor =
      quantizeMultiplier(1 / (std::sqrt(static_cast<double>(in.scale())) * static_cast<double>(result.scale())));
  factor.shift -= spare;
  if (factor.shift < -31 || factor.shift > 30)
    return ctx.fail("the scales are too far apart");
  bool negative = false;
  if (llvm::Error error = map<int8_t, int8_t>(ctx, [&](int8_t x) -> int8_t {
        int32_t value = x - in.zeroPoint();
        negative |= value < 0;
        if (value <= 0)
          return std::numeric_limits<int8_t>::max();
        Multiplier root = inverseRoot(value);
        root.shift += spare;
        return saturate<int8_t>(wrappingAdd(multiply(multiply(1, root), factor), result.zeroPoint()));
      }))
    return error;
  return negative ? ctx.fail(0, "has elements below zero") : llvm::Error::success();
}

/// The real number that the largest or least number of the result stands for.
template <class T> float limit(const Tensor &result, T number) {
  return result.scale() * static_cast<float>(number - result.zeroPoint());
}

llvm::Error reciprocalRoot16(KernelContext &ctx) {
  float most = limit<int16_t>(*ctx.outputs[0], 32767);
  if (llvm::Error error = mapByTable16(ctx, [&](float x) { return x > 0 ? 1 / std::sqrt(x) : most; }))
    return error;
  for (int16_t x : ctx.input(0).as<int16_t>())
    if (x < ctx.input(0).zeroPoint())
      return ctx.fail(0, "has elements below zero");
  return llvm::Error::success();
}

llvm::Error logarithm8(KernelContext &ctx) {
  float least = limit<int8_t>(*ctx.outputs[0], -128);
  return mapByTable8<int8_t>(ctx, [&](float x) { return x > 0 ? std::log(x) : least; });
}
llvm::Error logarithm16(KernelContext &ctx) {
  float least = limit<int16_t>(*ctx.outputs[0], -32768);
  return mapByTable16(ctx, [&](float x) { return x > 0 ? std::log(x) : least; });
}

/// √x, of which the steps above the zero point are not rounded but cut off.
template <class T> llvm::Error root(KernelContext &ctx) {
  const Tensor &in = ctx.input(0), &result = *ctx.outputs[0];
  bool negative = false;
  if (llvm::Error error = map<T, T>(ctx, [&](T x) -> T {
        negative |= x < in.zeroPoint();
        float real = in.scale() * static_cast<float>(std::max(0, x - in.zeroPoint()));
        auto steps = static_cast<int32_t>(std::min(std::sqrt(real) / result.scale(), 1e6f));
        return saturate<T>(result.zeroPoint() + steps);
      }))
    return error;
  return negative ? ctx.fail(0, "has elements below zero") : llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> unaryKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::ABS, "f32 -> f32", mapFloat<abs1>},
      {Op::ABS, "i32 -> i32", absInteger<int32_t>},
      {Op::ABS, "i8{t} -> i8{t}", absolute<int8_t>},
      {Op::ABS, "i16{t} -> i16{t}", absolute<int16_t>},
      {Op::CEIL, "f32 -> f32", mapFloat<ceil1>},
      {Op::COS, "f32 -> f32", mapFloat<cos1>},
      {Op::EXP, "i8{t} -> i8{t}", mapByTable8<int8_t, exp1>},
      {Op::EXP, "i16{t} -> i16{t}", mapByTable16<exp1>},
      {Op::EXP, "f32 -> f32", mapFloat<exp1>},
      {Op::FLOOR, "f32 -> f32", mapFloat<floor1>},
      {Op::LOG, "f32 -> f32", mapFloat<log1>},
      {Op::LOG, "i8{t} -> i8{t}", logarithm8},
      {Op::LOG, "i16{t} -> i16{t}", logarithm16},
      {Op::LOGICAL_NOT, "bool -> bool", logicalNot},
      {Op::NEG, "f32 -> f32", mapFloat<negate>},
      {Op::NEG, "i32 -> i32", negateInteger<int32_t>},
      {Op::NEG, "i64 -> i64", negateInteger<int64_t>},
      {Op::NEG, "i8{n} -> i8{n}", negateInteger<int8_t>},
      {Op::NEG, "i16{n} -> i16{n}", negateInteger<int16_t>},
      {Op::ROUND, "f32 -> f32", mapFloat<roundHalfToEven>},
      {Op::RSQRT, "f32 -> f32", mapFloat<reciprocalRoot>},
      {Op::RSQRT, "i8{t} -> i8{t}", reciprocalRoot8},
      {Op::RSQRT, "i16{t} -> i16{t}", reciprocalRoot16},
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
      {Op::SQRT, "i8{t} -> i8{t}", root<int8_t>},
      {Op::SQRT, "i16{t} -> i16{t}", root<int16_t>},
      {Op::SQUARE, "f32 -> f32", mapFloat<square>},
      {Op::SQUARE, "i32 -> i32", squareInteger<int32_t>},
  };
  return rows;
}

} // namespace origo::eval
