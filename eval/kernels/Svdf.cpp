#include "eval/Kernels.h"
#include "eval/kernels/Recurrent.h"

/// SVDF: products of the input with some filters, each with a memory over time; output u sums the filters of its rank.
namespace origo::eval {

namespace {

enum { Input, Features, Times, Bias, State };

struct Sizes {
  int32_t batches, depth, filters, memory, units, rank;
};

llvm::Expected<Sizes> sizesOf(const KernelContext &ctx) {
  int32_t rank = ctx.options<circle::SVDFOptions>().rank();
  Sizes sizes{
      ctx.input(Input).dim(0), ctx.input(Input).dim(1), ctx.input(Features).dim(0), ctx.input(Times).dim(1), 0, rank};
  sizes.units = sizes.filters / rank;
  if (sizes.memory < 1)
    return ctx.fail(Times, "has no columns");
  if (ctx.has(Bias) && ctx.input(Bias).count() != sizes.units)
    return ctx.fail(Bias, "does not have a number for each unit");
  return sizes;
}

/// Makes room for the newest element of each memory.
template <class T> void forgetOldest(llvm::MutableArrayRef<T> memories, int64_t size) {
  for (size_t at = 0; at < memories.size(); at += size)
    std::copy(memories.begin() + at + 1, memories.begin() + at + size, memories.begin() + at);
}

llvm::Error runFloat(KernelContext &ctx, const Dots &dots) {
  auto sizes = sizesOf(ctx);
  if (!sizes)
    return sizes.takeError();
  const auto &options = ctx.options<circle::SVDFOptions>();
  auto features = Matrix::of(ctx, Features, sizes->filters, sizes->depth, options.asymmetric_quantize_inputs());
  if (!features)
    return features.takeError();
  int64_t perBatch = int64_t(sizes->filters) * sizes->memory;
  auto state = StateOf<float>::of(ctx, State, TensorType::FLOAT32, sizes->batches * perBatch);
  if (!state)
    return state.takeError();
  auto out = ctx.output().as<float>();
  auto in = ctx.input(Input).as<float>();
  const Tensor &times = ctx.input(Times);
  auto timeAt = [&](int64_t i) {
    return times.type == TensorType::FLOAT32 ? times.as<float>()[i]
                                             : static_cast<float>(times.as<int8_t>()[i]) * times.scale();
  };
  auto bias = ctx.has(Bias) ? ctx.input(Bias).as<float>() : llvm::ArrayRef<float>();
  auto memories = state->begin();
  forgetOldest(memories, sizes->memory);
  std::vector<float> sums(sizes->filters);
  for (int64_t b = 0; b < sizes->batches && !out.empty(); ++b) {
    auto memory = memories.slice(b * perBatch, perBatch);
    std::fill(sums.begin(), sums.end(), 0.f);
    features->addProduct(in.slice(b * sizes->depth, sizes->depth), sums, dots);
    for (int64_t f = 0; f < sizes->filters; ++f) {
      memory[(f + 1) * sizes->memory - 1] = sums[f];
      float sum = 0;
      for (int64_t t = 0; t < sizes->memory; ++t)
        sum += timeAt(f * sizes->memory + t) * memory[f * sizes->memory + t];
      sums[f] = sum;
    }
    for (int64_t u = 0; u < sizes->units; ++u) {
      float sum = bias.empty() ? 0 : bias[u];
      for (int64_t r = 0; r < sizes->rank; ++r)
        sum += sums[u * sizes->rank + r];
      out[b * sizes->units + u] = activate(sum, options.fused_activation_function());
    }
  }
  stateChanged(ctx, State);
  return llvm::Error::success();
}

/// S is the type of the memories and of the weights over time. No activation but the bounds of the output.
template <class S> llvm::Error runInteger(KernelContext &ctx, const Dots &dots) {
  auto sizes = sizesOf(ctx);
  if (!sizes)
    return sizes.takeError();
  int64_t perBatch = int64_t(sizes->filters) * sizes->memory;
  auto state = StateOf<S>::of(ctx, State, ctx.input(State).type, sizes->batches * perBatch);
  if (!state)
    return state.takeError();
  const Tensor &input = ctx.input(Input), &kept = ctx.input(State);
  Multiplier toState = quantizeMultiplier(input.scale() * ctx.input(Features).scale() / kept.scale());
  Multiplier toOutput = quantizeMultiplier(kept.scale() * ctx.input(Times).scale() / ctx.output().scale());
  auto in = input.as<int8_t>(), features = ctx.input(Features).as<int8_t>();
  auto times = ctx.input(Times).as<S>();
  auto bias = ctx.has(Bias) ? ctx.input(Bias).as<int32_t>() : llvm::ArrayRef<int32_t>();
  auto out = ctx.output().as<int8_t>();
  auto memories = state->begin();
  forgetOldest(memories, sizes->memory);
  std::vector<int16_t> x(sizes->depth);
  for (int64_t b = 0; b < sizes->batches && !out.empty(); ++b) {
    for (int64_t i = 0; i < sizes->depth; ++i)
      x[i] = static_cast<int16_t>(in[b * sizes->depth + i] - input.zeroPoint());
    for (int64_t u = 0; u < sizes->units; ++u) {
      int32_t total = bias.empty() ? 0 : bias[u];
      for (int64_t f = u * sizes->rank; f < (u + 1) * sizes->rank; ++f) {
        int32_t sum = dots.integers(features.data() + f * sizes->depth, x.data(), sizes->depth);
        S *memory = memories.data() + b * perBatch + f * sizes->memory;
        memory[sizes->memory - 1] =
            static_cast<S>(std::clamp<int64_t>(int64_t(multiply(sum, toState)) + kept.zeroPoint(),
                                               std::numeric_limits<S>::min(), std::numeric_limits<S>::max()));
        for (int64_t t = 0; t < sizes->memory; ++t)
          total = wrappingAdd<int32_t>(total, times[f * sizes->memory + t] *
                                                  (memory[t] - (sizeof(S) == 1 ? kept.zeroPoint() : 0)));
      }
      out[b * sizes->units + u] = static_cast<int8_t>(
          std::clamp<int64_t>(int64_t(multiply(total, toOutput)) + ctx.output().zeroPoint(), -128, 127));
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<Recurrent> svdfRecurrents() {
  static const Recurrent list[] = {recurrent<runFloat>, recurrent<runInteger<int16_t>>, recurrent<runInteger<int8_t>>};
  return list;
}

llvm::ArrayRef<KernelRow> svdfKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::SVDF, "f32[b,i], f32|i8|u8{n|t}[f,i], f32|i8|u8{n|t}[f,m], f32?, f32 -> f32[b,_]", plainly<runFloat>},
      {Op::SVDF, "i8{t}[b,i], i8{t}[f,i], i16{t}[f,m], i32?, i16{t} -> i8{t}[b,_]", plainly<runInteger<int16_t>>},
      {Op::SVDF, "i8{t}[b,i], i8{t}[f,i], i8{t}[f,m], i32?, i8{t} -> i8{t}[b,_]", plainly<runInteger<int8_t>>},
  };
  return rows;
}

} // namespace origo::eval
