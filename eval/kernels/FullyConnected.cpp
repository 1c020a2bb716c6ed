#include "eval/Kernels.h"
#include "eval/Shapes.h"
#include "eval/kernels/Channels.h"

namespace origo::eval {

namespace {

struct Product {
  const Tensor *input, *weights, *bias;
  Tensor *output;
  int64_t batches, depth, units;
  circle::ActivationFunctionType activation;
};

/// output[b, u] = Σ input[b, k] · weights[u, k] + bias[u]
llvm::Expected<Product> prepare(KernelContext &ctx) {
  if (llvm::Error error = ctx.wantRank(1, 2))
    return error;
  const auto &options = ctx.options<circle::FullyConnectedOptions>();
  if (options.weights_format() != circle::FullyConnectedOptionsWeightsFormat::DEFAULT)
    return ctx.fail(1, "shuffled weights have no kernel");
  const Tensor &in = ctx.input(0), &weights = ctx.input(1);
  Product p{&in, &weights,       ctx.optional(2), nullptr,
            0,   weights.dim(1), weights.dim(0),  options.fused_activation_function()};
  if (p.depth == 0 || in.count() % p.depth)
    return ctx.fail(0, "its elements do not fill rows as long as those of the weights");
  p.batches = in.count() / p.depth;
  if (p.bias && p.bias->count() != p.units)
    return ctx.fail(2, "does not have a number for each unit", std::to_string(p.units),
                    std::to_string(p.bias->count()));
  Shape shape{static_cast<int32_t>(p.batches), static_cast<int32_t>(p.units)};
  if (options.keep_num_dims()) {
    if (in.rank() == 0 || in.shape.back() != p.depth)
      return ctx.fail(0, "its last dimension is not the weights'");
    shape = in.shape;
    shape.back() = static_cast<int32_t>(p.units);
  }
  auto output = ctx.output(0, shape);
  if (!output)
    return output.takeError();
  p.output = *output;
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
    for (int64_t u = 0; u < p->units; ++u) {
      float sum = 0;
      for (int64_t k = 0; k < p->depth; ++k)
        sum += in[b * p->depth + k] * weights[u * p->depth + k];
      out[b * p->units + u] = activate(sum + (bias.empty() ? 0 : bias[u]), p->activation);
    }
  return llvm::Error::success();
}

template <class T, class W, class Out, class Acc, class Bias> llvm::Error runQuantized(KernelContext &ctx) {
  auto p = prepare(ctx);
  if (!p)
    return p.takeError();
  auto scales =
      ChannelScales::of<Out>(ctx, *p->input, *p->weights, *p->output, static_cast<int32_t>(p->units), p->activation,
                             p->weights->perChannel() ? ChannelScales::Product::Double : ChannelScales::Product::Float);
  if (!scales)
    return scales.takeError();
  auto in = p->input->as<T>();
  auto weights = p->weights->as<W>();
  auto bias = p->bias ? p->bias->as<Bias>() : llvm::ArrayRef<Bias>();
  auto out = p->output->as<Out>();
  for (int64_t b = 0; b < p->batches; ++b)
    for (int64_t u = 0; u < p->units; ++u) {
      Acc sum = 0;
      for (int64_t k = 0; k < p->depth; ++k)
        sum = wrappingAdd<Acc>(sum, (in[b * p->depth + k] - scales->inputZero) *
                                        (weights[u * p->depth + k] - scales->filterZero));
      out[b * p->units + u] = scales->template scaled<Out>(bias.empty() ? sum : wrappingAdd<Acc>(sum, bias[u]), u);
    }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> fullyConnectedKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::FULLY_CONNECTED, "f32, f32, f32? -> f32", runFloat},
      {Op::FULLY_CONNECTED, "i8, i8, i32? -> i8", runQuantized<int8_t, int8_t, int8_t, int32_t, int32_t>},
      {Op::FULLY_CONNECTED, "u8, u8, i32? -> u8", runQuantized<uint8_t, uint8_t, uint8_t, int32_t, int32_t>},
      {Op::FULLY_CONNECTED, "u8, u8, i32? -> i16", runQuantized<uint8_t, uint8_t, int16_t, int32_t, int32_t>},
      {Op::FULLY_CONNECTED, "i16, i8, i64? -> i16", runQuantized<int16_t, int8_t, int16_t, int64_t, int64_t>},
      {Op::FULLY_CONNECTED, "i16, i8, i32 -> i16", runQuantized<int16_t, int8_t, int16_t, int32_t, int32_t>},
  };
  return rows;
}

} // namespace origo::eval
