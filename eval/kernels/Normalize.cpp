#include "eval/FixedPoint.h"
#include "eval/Shapes.h"
#include "eval/kernels/InverseRoot.h"
#include "eval/kernels/Rows.h"
#include "ir/shapes/Rules.h"

/// Normalisation by the elements' own size, and rotary embeddings.
namespace origo::eval {

namespace {

/// Each row divided by its Euclidean length.
llvm::Error l2Float(KernelContext &ctx) {
  auto activation = ctx.options<circle::L2NormOptions>().fused_activation_function();
  Rows rows = Rows::of(ctx);
  const float *x = rows.in->as<float>().data();
  float *out = rows.out->as<float>().data();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.depth, out += rows.depth) {
    float sum = 0;
    for (int64_t i = 0; i < rows.depth; ++i)
      sum += x[i] * x[i];
    float length = std::max(std::sqrt(sum), 1e-6f);
    for (int64_t i = 0; i < rows.depth; ++i)
      out[i] = activate(x[i] / length, activation);
  }
  return llvm::Error::success();
}

/// In steps of 1/128, which is the only scale of the result.
template <class T> llvm::Error l2Quantized(KernelContext &ctx) {
  Rows rows = Rows::of(ctx);
  const T *x = rows.in->as<T>().data();
  T *out = rows.out->template as<T>().data();
  int32_t zero = rows.in->zeroPoint();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.depth, out += rows.depth) {
    int32_t sum = 0;
    for (int64_t i = 0; i < rows.depth; ++i)
      sum = wrappingAdd(sum, (x[i] - zero) * (x[i] - zero));
    Multiplier inverse = inverseRoot(std::max(sum, 0));
    // The 7 bits right of the point: part of the factor, or of the number. It shows in the rounding.
    constexpr bool older = std::is_same_v<T, uint8_t>;
    if (!older)
      inverse.shift += 7;
    for (int64_t i = 0; i < rows.depth; ++i) {
      int32_t value = multiply((x[i] - zero) * (older ? 128 : 1), inverse) + rows.out->zeroPoint();
      out[i] = static_cast<T>(std::clamp<int32_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
  }
  return llvm::Error::success();
}

/// x · (bias + alpha · the squares of the neighbours along the last dimension) ^ −beta
llvm::Error localResponse(KernelContext &ctx) {
  const auto &options = ctx.options<circle::LocalResponseNormalizationOptions>();
  Rows rows = Rows::of(ctx);
  int64_t radius = options.radius();
  const float *x = rows.in->as<float>().data();
  float *out = rows.out->as<float>().data();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.depth, out += rows.depth)
    for (int64_t i = 0; i < rows.depth && !ctx.late(static_cast<uint64_t>(std::min(radius, rows.depth))); ++i) {
      float sum = 0;
      for (int64_t k = std::max<int64_t>(0, i - radius); k < std::min(rows.depth, i + radius + 1); ++k)
        sum += x[k] * x[k];
      out[i] = x[i] * std::pow(options.bias() + options.alpha() * sum, -options.beta());
    }
  return llvm::Error::success();
}

/// The elements of a scale or an offset: one for each channel, or one for all.
llvm::Expected<llvm::ArrayRef<float>> perChannel(KernelContext &ctx, unsigned operand, int64_t channels) {
  const Tensor &tensor = ctx.input(operand);
  if (tensor.count() != channels && tensor.count() != 1)
    return ctx.fail(operand, "does not have an element for each channel", std::to_string(channels),
                    std::to_string(tensor.count()));
  return tensor.as<float>();
}

/// Each channel of each picture to mean 0 and variance 1, then · gamma + beta.
llvm::Error instanceNorm(KernelContext &ctx) {
  const auto &options = ctx.options<circle::InstanceNormOptions>();
  const Tensor &in = ctx.input(0);
  int64_t channels = in.dim(3), pixels = static_cast<int64_t>(in.dim(1)) * in.dim(2);
  Tensor &output = ctx.output();
  auto gamma = perChannel(ctx, 1, channels);
  if (!gamma)
    return gamma.takeError();
  auto beta = perChannel(ctx, 2, channels);
  if (!beta)
    return beta.takeError();
  const float *x = in.as<float>().data();
  float *out = output.as<float>().data();
  for (int64_t batch = 0; batch < in.dim(0); ++batch, x += pixels * channels, out += pixels * channels)
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < pixels; ++i)
        sum += static_cast<double>(x[i * channels + c]);
      double mean = sum / static_cast<double>(pixels);
      for (int64_t i = 0; i < pixels; ++i) {
        double difference = static_cast<double>(x[i * channels + c]) - mean;
        squares += difference * difference;
      }
      double variance = squares / static_cast<double>(pixels);
      double factor = static_cast<double>((*gamma)[gamma->size() == 1 ? 0 : c]) /
                      std::sqrt(variance + static_cast<double>(options.epsilon()));
      double offset = static_cast<double>((*beta)[beta->size() == 1 ? 0 : c]) - mean * factor;
      for (int64_t i = 0; i < pixels; ++i)
        out[i * channels + c] = activate(static_cast<float>(static_cast<double>(x[i * channels + c]) * factor + offset),
                                         options.fused_activation_function());
    }
  return llvm::Error::success();
}

/// Each row divided by the root of its mean square, then · gamma.
llvm::Error rmsNorm(KernelContext &ctx) {
  double epsilon = static_cast<double>(ctx.options<circle::RmsNormOptions>().epsilon());
  Rows rows = Rows::of(ctx);
  auto gamma = perChannel(ctx, 1, rows.depth);
  if (!gamma)
    return gamma.takeError();
  const float *x = rows.in->as<float>().data();
  float *out = rows.out->as<float>().data();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.depth, out += rows.depth) {
    double squares = 0;
    for (int64_t i = 0; i < rows.depth; ++i)
      squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    double factor = 1 / std::sqrt(squares / static_cast<double>(rows.depth) + epsilon);
    for (int64_t i = 0; i < rows.depth; ++i)
      out[i] = static_cast<float>(static_cast<double>(x[i]) * factor) * (*gamma)[gamma->size() == 1 ? 0 : i];
  }
  return llvm::Error::success();
}

/// x · cos + rotated x · sin, where pairs of elements (x, y) rotate to (−y, x): those of both halves of a row with each
/// other, or neighbours.
llvm::Error rotaryEmbedding(KernelContext &ctx) {
  Rows rows = Rows::of(ctx);
  llvm::ArrayRef<int32_t> shape = rows.in->shape;
  for (unsigned i : {1u, 2u}) {
    auto joined = inference::broadcast(shape, ctx.input(i).shape);
    if (!joined || llvm::ArrayRef<int32_t>(*joined) != shape)
      return ctx.fail(i, "does not broadcast to the input's shape");
  }
  if (rows.depth % 2)
    return ctx.fail(0, "has rows of an odd length");
  bool halves = ctx.options<circle::RoPEOptions>().mode() == circle::RoPEMode::GPT_NEOX;
  auto x = rows.in->as<float>(), sine = ctx.input(1).as<float>(), cosine = ctx.input(2).as<float>();
  auto out = rows.out->as<float>();
  int64_t half = rows.depth / 2, i = 0;
  for (Broadcast at(shape, {ctx.input(1).shape, ctx.input(2).shape}); !at.done() && !ctx.late(); at.next(), ++i) {
    bool first = halves ? i % rows.depth < half : i % 2 == 0;
    int64_t step = halves ? half : 1;
    float rotated = first ? -x[i + step] : x[i - step];
    out[i] = x[i] * cosine[at.index(1)] + rotated * sine[at.index(0)];
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> normalizeKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::L2_NORMALIZATION, "f32[..,c] -> f32[..,c]", l2Float},
      {Op::L2_NORMALIZATION, "i8{t}[..,c] -> i8{t}[..,c]", l2Quantized<int8_t>, {resultScale(1.f / 128, 0)}},
      {Op::L2_NORMALIZATION, "u8{t}[..,c] -> u8{t}[..,c]", l2Quantized<uint8_t>, {resultScale(1.f / 128, 128)}},
      {Op::LOCAL_RESPONSE_NORMALIZATION, "f32[..,c] -> f32[..,c]", localResponse, {within("radius", 0, INT32_MAX)}},
      {Op::INSTANCE_NORM, "f32[n,h,w,c], f32, f32 -> f32[n,h,w,c]", instanceNorm},
      {Op::RMS_NORM, "f32[..,c], f32 -> f32[..,c]", rmsNorm},
      {Op::ROPE, "f32[..,c], f32, f32 -> f32[..,c]", rotaryEmbedding},
  };
  return rows;
}

} // namespace origo::eval
