#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/Shapes.h"
#include "eval/kernels/ReduceQuantized.h"
#include "eval/kernels/Reduction.h"
#include "eval/kernels/Wider.h"

/// Sums, means, products, extremes and truth of the elements along axes.
namespace origo::eval {

using namespace loops;

namespace {

template <class T> struct Sum {
  static constexpr T start() { return 0; }
  static T next(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a + b;
    else
      return wrappingAdd(a, b);
  }
};
template <class T> struct Product {
  static constexpr T start() { return 1; }
  static T next(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a * b;
    else
      return wrappingMul(a, b);
  }
};
template <class T> struct Maximum {
  static constexpr T start() { return std::numeric_limits<T>::lowest(); }
  static T next(T a, T b) { return b > a ? b : a; }
};
template <class T> struct Minimum {
  static constexpr T start() { return std::numeric_limits<T>::max(); }
  static T next(T a, T b) { return b < a ? b : a; }
};
struct Any {
  static constexpr uint8_t start() { return 0; }
  static uint8_t next(uint8_t a, uint8_t b) { return a || b; }
};
struct All {
  static constexpr uint8_t start() { return 1; }
  static uint8_t next(uint8_t a, uint8_t b) { return a && b; }
};

/// Sums are kept in the type itself, as the runtime does.
template <class T, class F> llvm::Error reduce(KernelContext &ctx) {
  Reduction reduction(ctx);
  auto results = reduction.fold<T, T>(ctx.input(0), F::start(), F::next);
  llvm::copy(results, reduction.output->as<T>().begin());
  return llvm::Error::success();
}

/// Integers are added up in 64 bits and the quotient is rounded towards zero.
template <class T> llvm::Error mean(KernelContext &ctx) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, T, int64_t>;
  Reduction reduction(ctx);
  auto sums = reduction.fold<Wide, T>(ctx.input(0), Wide(0), [](Wide a, T b) { return Sum<Wide>::next(a, b); });
  if (reduction.count == 0 && !std::is_floating_point_v<T> && !sums.empty())
    return ctx.fail(0, "the mean of no elements");
  auto out = reduction.output->as<T>();
  for (size_t i = 0; i < sums.size(); ++i)
    out[i] = static_cast<T>(sums[i] / static_cast<Wide>(reduction.count));
  return llvm::Error::success();
}

template <class T> std::vector<int32_t> rawSums(const Reduction &reduction, const Tensor &in) {
  return reduction.fold<int32_t, T>(in, 0, [](int32_t a, T b) { return wrappingAdd<int32_t>(a, b); });
}

/// The mean over height and width of 8 bit images, their dimensions kept.
bool isImageMean(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  return in.rank() == 4 && in.type != TensorType::INT16 && ctx.options<circle::ReducerOptions>().keep_dims() &&
         areImageAxes(ctx.input(1).as<int32_t>());
}

template <class T, class MakeEnd> llvm::Error reduceQuantized(KernelContext &ctx, MakeEnd make) {
  Reduction reduction(ctx);
  auto sums = rawSums<T>(reduction, ctx.input(0));
  if (sums.empty())
    return llvm::Error::success();
  auto end = make(ctx.input(0), *reduction.output, reduction.count);
  if (!end)
    return ctx.fail(0, "the mean of no elements, or of too many");
  auto out = reduction.output->as<T>();
  for (size_t i = 0; i < sums.size(); ++i)
    out[i] = (*end)(sums[i]);
  return llvm::Error::success();
}

template <class T> llvm::Error meanQuantized(KernelContext &ctx) {
  return reduceQuantized<T>(ctx, [&](const Tensor &in, const Tensor &out, int64_t count) {
    return MeanEnd<T>::of(in, out, count, isImageMean(ctx));
  });
}

template <class T> llvm::Error sumQuantized(KernelContext &ctx) {
  return reduceQuantized<T>(ctx, [&](const Tensor &in, const Tensor &out, int64_t count) {
    return std::optional(SumEnd<T>(in, out, count));
  });
}

/// Scaled after each factor, so that the product stays small: by input scale / the count-th root of the output scale.
template <class T> llvm::Error productQuantized(KernelContext &ctx) {
  Reduction reduction(ctx);
  const Tensor &in = ctx.input(0);
  Tensor &output = *reduction.output;
  if (reduction.count == 0)
    return ctx.fail(0, "the product of no elements");
  Multiplier factor = quantizeMultiplier(static_cast<double>(in.scale()) /
                                         std::pow(static_cast<double>(output.scale()), 1.0 / reduction.count));
  if (factor.shift > 14)
    return ctx.fail("the scales are too far apart");
  auto x = in.as<T>();
  std::vector<int32_t> products(static_cast<size_t>(output.count()));
  std::vector<bool> begun(products.size(), false);
  reduction.forEach(in, [&](int64_t to, int64_t from) {
    int32_t value = x[from] - in.zeroPoint();
    if (!begun[to])
      products[to] = value;
    else
      products[to] = multiply(static_cast<int64_t>(products[to]) * value, factor);
    begun[to] = true;
  });
  auto out = output.as<T>();
  for (size_t i = 0; i < products.size(); ++i)
    out[i] = clampTo<T>(multiply(static_cast<int64_t>(products[i]), factor), output.zeroPoint());
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> reduceKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::MEAN, "f32, i32 -> f32", mean<float>},
      {Op::MEAN, "i32, i32 -> i32", mean<int32_t>},
      {Op::MEAN, "i64, i32 -> i64", mean<int64_t>},
      {Op::MEAN, "i8{t}, i32 -> i8{t}", meanQuantized<int8_t>},
      {Op::MEAN, "u8{t}, i32 -> u8{t}", meanQuantized<uint8_t>},
      {Op::MEAN, "i16{t}, i32 -> i16{t}", meanQuantized<int16_t>},
      {Op::SUM, "f32, i32 -> f32", reduce<float, Sum<float>>},
      {Op::SUM, "i32, i32 -> i32", reduce<int32_t, Sum<int32_t>>},
      {Op::SUM, "i64, i32 -> i64", reduce<int64_t, Sum<int64_t>>},
      {Op::SUM, "i8{t}, i32 -> i8{t}", sumQuantized<int8_t>},
      {Op::SUM, "u8{t}, i32 -> u8{t}", sumQuantized<uint8_t>},
      {Op::SUM, "i16{t}, i32 -> i16{t}", sumQuantized<int16_t>},
      {Op::REDUCE_PROD, "f32, i32 -> f32", reduce<float, Product<float>>},
      {Op::REDUCE_PROD, "i32, i32 -> i32", reduce<int32_t, Product<int32_t>>},
      {Op::REDUCE_PROD, "i64, i32 -> i64", reduce<int64_t, Product<int64_t>>},
      {Op::REDUCE_PROD, "i8{t}, i32 -> i8{t}", productQuantized<int8_t>},
      {Op::REDUCE_PROD, "i16{t}, i32 -> i16{t}", productQuantized<int16_t>},
      // The order of quantised numbers is that of the real ones, as long as the scale stays.
      {Op::REDUCE_MAX, "f32, i32 -> f32", reduce<float, Maximum<float>>},
      {Op::REDUCE_MAX, "i32, i32 -> i32", reduce<int32_t, Maximum<int32_t>>},
      {Op::REDUCE_MAX, "i64, i32 -> i64", reduce<int64_t, Maximum<int64_t>>},
      {Op::REDUCE_MAX, "i8{t}, i32 -> i8{t}", reduce<int8_t, Maximum<int8_t>>, {keepsQuantization()}},
      {Op::REDUCE_MAX, "u8{t}, i32 -> u8{t}", reduce<uint8_t, Maximum<uint8_t>>, {keepsQuantization()}},
      {Op::REDUCE_MAX, "i16{t}, i32 -> i16{t}", reduce<int16_t, Maximum<int16_t>>, {keepsQuantization()}},
      {Op::REDUCE_MAX, "u8{t}, i32 -> u8{t}", computeInReals}, // with a scale of its own, as ONE's quantiser has it
      {Op::REDUCE_MAX, "i16{t}, i32 -> i16{t}", computeInReals},
      {Op::REDUCE_MIN, "f32, i32 -> f32", reduce<float, Minimum<float>>},
      {Op::REDUCE_MIN, "i32, i32 -> i32", reduce<int32_t, Minimum<int32_t>>},
      {Op::REDUCE_MIN, "i64, i32 -> i64", reduce<int64_t, Minimum<int64_t>>},
      {Op::REDUCE_MIN, "i8{t}, i32 -> i8{t}", reduce<int8_t, Minimum<int8_t>>, {keepsQuantization()}},
      {Op::REDUCE_MIN, "u8{t}, i32 -> u8{t}", reduce<uint8_t, Minimum<uint8_t>>, {keepsQuantization()}},
      {Op::REDUCE_MIN, "i16{t}, i32 -> i16{t}", reduce<int16_t, Minimum<int16_t>>, {keepsQuantization()}},
      {Op::REDUCE_MIN, "u8{t}, i32 -> u8{t}", computeInReals}, // with a scale of its own, as ONE's quantiser has it
      {Op::REDUCE_MIN, "i16{t}, i32 -> i16{t}", computeInReals},
      {Op::REDUCE_ANY, "bool, i32 -> bool", reduce<uint8_t, Any>},
      {Op::REDUCE_ALL, "bool, i32 -> bool", reduce<uint8_t, All>},
  };
  return rows;
}

} // namespace origo::eval
