#include "eval/Kernels.h"
#include "eval/Shapes.h"
#include "eval/kernels/BlockScales.h"
#include "eval/kernels/Channels.h"
#include "eval/kernels/Hybrid.h"
#include "eval/kernels/Uint4.h"
#include "eval/kernels/Wider.h"

namespace origo::eval {

namespace {

struct Product {
  const Tensor *input, *weights, *bias;
  Tensor *output;
  int64_t batches, depth, units;
  circle::ActivationFunctionType activation;
  circle::FullyConnectedOptionsWeightsFormat format;
};

/// Where element (unit, k) of the weights lies.
int64_t placeOf(const Product &p, int64_t unit, int64_t k) {
  switch (p.format) {
  case circle::FullyConnectedOptionsWeightsFormat::SHUFFLED4x16INT8:
    return unit / 4 * 4 * p.depth + k / 16 * 64 + unit % 4 * 16 + k % 16;
  case circle::FullyConnectedOptionsWeightsFormat::SHUFFLED16x1FLOAT32:
    return unit / 16 * 16 * p.depth + k * 16 + unit % 16;
  default:
    return unit * p.depth + k;
  }
}

/// output[b, u] = Σ input[b, k] · weights[u, k] + bias[u]
using Format = circle::FullyConnectedOptionsWeightsFormat;
llvm::Expected<Product> prepare(KernelContext &ctx) {
  const auto &options = ctx.options<circle::FullyConnectedOptions>();
  const Tensor &in = ctx.input(0), &weights = ctx.input(1);
  Product p{&in,
            &weights,
            ctx.optional(2),
            &ctx.output(),
            in.count() / weights.dim(1),
            weights.dim(1),
            weights.dim(0),
            options.fused_activation_function(),
            options.weights_format()};
  if ((p.format == Format::SHUFFLED4x16INT8 && (p.units % 4 || p.depth % 16)) ||
      (p.format == Format::SHUFFLED16x1FLOAT32 && p.units % 16))
    return ctx.fail(1, "does not fill the blocks that its elements are shuffled in");
  return p;
}

llvm::Error runFloat(KernelContext &ctx) {
  auto p = prepare(ctx);
  if (!p)
    return p.takeError();
  auto in = p->input->as<float>(), weights = p->weights->as<float>();
  auto bias = p->bias ? p->bias->as<float>() : llvm::ArrayRef<float>();
  auto out = p->output->as<float>();
  for (int64_t b = 0; b < p->batches; ++b)
    for (int64_t u = 0; u < p->units && !ctx.late(p->depth); ++u) {
      float sum = 0;
      for (int64_t k = 0; k < p->depth; ++k)
        sum += in[b * p->depth + k] * weights[placeOf(*p, u, k)];
      out[b * p->units + u] = activate(sum + (bias.empty() ? 0 : bias[u]), p->activation);
    }
  return llvm::Error::success();
}

/// FLOAT32 where nothing is said.
TensorType biasType(const KernelContext &ctx) {
  return ctx.options<circle::FullyConnectedOptions>().quantized_bias_type();
}

template <class T, class W, class Out, class Acc, class Bias> llvm::Error runQuantized(KernelContext &ctx) {
  auto p = prepare(ctx);
  if (!p)
    return p.takeError();
  auto scales =
      ChannelScales::of<Out>(ctx, *p->input, *p->weights, *p->output, static_cast<int32_t>(p->units), p->activation,
                             p->weights->perChannel() || !std::is_same_v<T, uint8_t> ? ChannelScales::Product::Double
                                                                                     : ChannelScales::Product::Float);
  if (!scales)
    return scales.takeError();
  scales->roundOnce = !std::is_same_v<T, uint8_t>;
  scales->narrowWhereFits = !p->bias && biasType(ctx) == TensorType::FLOAT32;
  auto in = p->input->as<T>();
  auto weights = weightsOf<W>(*p->weights);
  auto bias = p->bias ? p->bias->as<Bias>() : llvm::ArrayRef<Bias>();
  auto out = p->output->as<Out>();
  for (int64_t b = 0; b < p->batches; ++b)
    for (int64_t u = 0; u < p->units && !ctx.late(p->depth); ++u) {
      Acc sum = 0;
      for (int64_t k = 0; k < p->depth; ++k)
        sum = wrappingAdd<Acc>(sum, Acc(in[b * p->depth + k] - scales->inputZero) *
                                        (weights[u * p->depth + k] - scales->filterZeroAt(u * p->depth + k)));
      sum = bias.empty() ? sum : wrappingAdd<Acc>(sum, bias[u]);
      out[b * p->units + u] = scales->template scaled<Out>(sum, u);
    }
  return llvm::Error::success();
}

/// Sums of 64 bits, but where there is no bias and the option says that it would have 32.
llvm::Error runInt16(KernelContext &ctx) {
  return !ctx.has(2) && biasType(ctx) == TensorType::INT32
             ? runQuantized<int16_t, int8_t, int16_t, int32_t, int32_t>(ctx)
             : runQuantized<int16_t, int8_t, int16_t, int64_t, int64_t>(ctx);
}

/// As below, but each block of a unit's weights has a scale of its own, and rows are quantised asymmetrically whatever
/// the option says.
llvm::Error runBlockwise(KernelContext &ctx, const Product &p, llvm::ArrayRef<float> scales) {
  int64_t size = p.weights->quantization->more->blockSize, blocks = p.depth / size;
  HybridRows rows(p.input->as<float>(), p.batches, true);
  auto weights = weightsOf<int8_t>(*p.weights);
  auto bias = p.bias ? p.bias->as<float>() : llvm::ArrayRef<float>();
  auto out = p.output->as<float>();
  for (int64_t b = 0; b < p.batches; ++b)
    for (int64_t u = 0; u < p.units && !ctx.late(p.depth); ++u) {
      float real = 0;
      for (int64_t block = 0; block < blocks; ++block) {
        int32_t sum = 0;
        for (int64_t k = block * size; k < (block + 1) * size; ++k)
          sum = wrappingAdd(sum, rows.elements[b * p.depth + k] * weights[u * p.depth + k]);
        real += static_cast<float>(sum) * scales[u * blocks + block];
      }
      out[b * p.units + u] = activate(real * rows.scales[b] + (bias.empty() ? 0 : bias[u]), p.activation);
    }
  return llvm::Error::success();
}

/// Float input and narrow weights: each row is quantised by its own range, sums are integers. Weights that are called
/// uint8 are int8 there: old files have them so.
llvm::Error runHybrid(KernelContext &ctx) {
  auto p = prepare(ctx);
  if (!p)
    return p.takeError();
  auto blocks = blockScales(ctx, *p->weights);
  if (!blocks)
    return blocks.takeError();
  if (!blocks->empty())
    return runBlockwise(ctx, *p, *blocks);
  // Beside weights of 4 bits the runtime ignores the option.
  bool asymmetric =
      ctx.options<circle::FullyConnectedOptions>().asymmetric_quantize_inputs() && p->weights->type != TensorType::INT4;
  HybridRows rows(p->input->as<float>(), p->batches, asymmetric);
  auto weights = weightsOf<int8_t>(*p->weights);
  auto bias = p->bias ? p->bias->as<float>() : llvm::ArrayRef<float>();
  auto out = p->output->as<float>();
  for (int64_t b = 0; b < p->batches; ++b)
    for (int64_t u = 0; u < p->units && !ctx.late(p->depth); ++u) {
      int32_t sum = 0;
      for (int64_t k = 0; k < p->depth; ++k)
        sum = wrappingAdd(sum, rows.elements[b * p->depth + k] * weights[u * p->depth + k]);
      float real = static_cast<float>(sum) * (rows.scales[b] * p->weights->scaleOf(u));
      out[b * p->units + u] = activate((bias.empty() ? 0 : bias[u]) + real, p->activation);
    }
  return llvm::Error::success();
}

llvm::Error runUint4(KernelContext &ctx) {
  auto p = prepare(ctx);
  if (!p)
    return p.takeError();
  std::vector<double> in = realsOf(*p->input), weights = realsOf(*p->weights), bias, out;
  if (p->bias)
    bias = realsOf(*p->bias);
  for (int64_t b = 0; b < p->batches; ++b)
    for (int64_t u = 0; u < p->units && !ctx.late(p->depth); ++u) {
      double sum = bias.empty() ? 0 : bias[u];
      for (int64_t k = 0; k < p->depth; ++k)
        sum += in[b * p->depth + k] * weights[u * p->depth + k];
      out.push_back(static_cast<double>(activate(static_cast<float>(sum), p->activation)));
    }
  setReals(*p->output, out);
  return llvm::Error::success();
}

/// The older scheme with weights in blocks: input and weights are uint8 around 128, the second result is room for the
/// runtime to work in.
llvm::Error runShuffled(KernelContext &ctx) {
  auto p = prepare(ctx);
  if (!p)
    return p.takeError();
  auto scales = ChannelScales::of<int16_t>(ctx, *p->input, *p->weights, *p->output, static_cast<int32_t>(p->units),
                                           p->activation, ChannelScales::Product::Float);
  if (!scales)
    return scales.takeError();
  if (ctx.wants(1))
    llvm::copy(p->input->bytes(), ctx.output(1).storage.begin());
  auto in = p->input->as<uint8_t>();
  auto weights = p->weights->as<int8_t>(); // stored with the sign of int8
  auto bias = p->bias->as<int32_t>();
  auto out = p->output->as<int16_t>();
  for (int64_t b = 0; b < p->batches; ++b)
    for (int64_t u = 0; u < p->units && !ctx.late(p->depth); ++u) {
      int32_t sum = bias[u];
      for (int64_t k = 0; k < p->depth; ++k)
        sum = wrappingAdd(sum, (in[b * p->depth + k] - 128) * weights[placeOf(*p, u, k)]);
      out[b * p->units + u] = scales->scaled<int16_t>(sum, u);
    }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> fullyConnectedKernels() {
  using Op = BuiltinOperator;
  const Condition inOrder = is("weights_format", {"DEFAULT"});
  static const KernelRow rows[] = {
      {Op::FULLY_CONNECTED,
       "f32, f32[u,d], f32[#u]? -> f32[..,u]",
       runFloat,
       {is("weights_format", {"DEFAULT", "SHUFFLED16x1FLOAT32"})}},
      {Op::FULLY_CONNECTED, "f32, i8|i4|u8{t|c0|b}[u,d], f32[#u]? -> f32[..,u]", runHybrid, {inOrder}},
      {Op::FULLY_CONNECTED, "u4{t}, u4{t}[u,d], u4{t}[#u]? -> u4{t}[..,u]", runUint4, {inOrder}},
      {Op::FULLY_CONNECTED, "f32, u4{t}[u,d], f32[#u]? -> f32[..,u]", runUint4, {inOrder}},
      {Op::FULLY_CONNECTED,
       "u8{t}, u8{t|c0}[u,d], i32[#u] -> i16{t}[..,u], u8",
       runShuffled,
       {is("weights_format", {"SHUFFLED4x16INT8"})}},
      {Op::FULLY_CONNECTED,
       "i8{t}, i8|i4{t|c0}[u,d], i32[#u]? -> i8{t}[..,u]",
       runQuantized<int8_t, int8_t, int8_t, int32_t, int32_t>,
       {inOrder}},
      {Op::FULLY_CONNECTED,
       "u8{t}, u8{t|c0}[u,d], i32[#u]? -> u8{t}[..,u]",
       runQuantized<uint8_t, uint8_t, uint8_t, int32_t, int32_t>,
       {inOrder}},
      {Op::FULLY_CONNECTED,
       "u8{t}, u8{t|c0}[u,d], i32[#u]? -> i16{t}[..,u]",
       runQuantized<uint8_t, uint8_t, int16_t, int32_t, int32_t>,
       {inOrder}},
      {Op::FULLY_CONNECTED, "i16{t}, i8{t|c0}[u,d], i64[#u]? -> i16{t}[..,u]", runInt16, {inOrder}},
      {Op::FULLY_CONNECTED,
       "i16{t}, i8{t|c0}[u,d], i32[#u] -> i16{t}[..,u]",
       runQuantized<int16_t, int8_t, int16_t, int32_t, int32_t>,
       {inOrder}},
      {Op::FULLY_CONNECTED,
       "i16{t}, i16{t|c0}[u,d], i64[#u]? -> i16{t}[..,u]",
       runQuantized<int16_t, int16_t, int16_t, int64_t, int64_t>,
       {inOrder}},
      {Op::FULLY_CONNECTED, "f32, i2{t|c0}[u,d], f32[#u]? -> f32[..,u]", computeWider, {inOrder}},
      {Op::FULLY_CONNECTED, "i8{t}, i2{t|c0}[u,d], i32[#u]? -> i8{t}[..,u]", computeWider, {inOrder}},
  };
  return rows;
}

} // namespace origo::eval
