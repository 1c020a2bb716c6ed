#pragma once

#include "eval/kernels/Recurrent.h"

/// SVDF of any kind of number: products of the input with some filters, each with a memory over time; output u sums the
/// filters of its rank.
namespace origo::eval::loops::svdf {

enum { Input, Features, Times, Bias, State };

struct Sizes {
  int32_t batches, depth, filters, memory, units, rank;
};

inline llvm::Expected<Sizes> sizesOf(const KernelContext &ctx) {
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

template <class M> llvm::Error runReal(KernelContext &ctx, const M &math) {
  using Number = typename M::Number;
  auto sizes = sizesOf(ctx);
  if (!sizes)
    return sizes.takeError();
  const auto &options = ctx.options<circle::SVDFOptions>();
  auto features = M::Matrix::of(ctx, Features, sizes->filters, sizes->depth, options.asymmetric_quantize_inputs());
  if (!features)
    return features.takeError();
  int64_t perBatch = int64_t(sizes->filters) * sizes->memory;
  auto state = StateOf<Number>::of(ctx, State, TensorType::FLOAT32, sizes->batches * perBatch);
  if (!state)
    return state.takeError();
  auto out = ctx.output().as<Number>();
  auto in = ctx.input(Input).as<Number>();
  typename M::Vector times(ctx.input(Times));
  llvm::ArrayRef<Number> bias;
  if (ctx.has(Bias))
    bias = ctx.input(Bias).as<Number>();
  auto memories = state->begin();
  forgetOldest(memories, sizes->memory);
  std::vector<Number> sums(sizes->filters);
  for (int64_t b = 0; b < sizes->batches && !out.empty(); ++b) {
    auto memory = memories.slice(b * perBatch, perBatch);
    std::fill(sums.begin(), sums.end(), Number());
    features->addProduct(in.slice(b * sizes->depth, sizes->depth), sums, math);
    for (int64_t f = 0; f < sizes->filters; ++f) {
      memory[(f + 1) * sizes->memory - 1] = sums[f];
      Number sum{};
      for (int64_t t = 0; t < sizes->memory; ++t)
        sum = math.add(sum, math.multiply(times[f * sizes->memory + t], memory[f * sizes->memory + t]));
      sums[f] = sum;
    }
    for (int64_t u = 0; u < sizes->units; ++u) {
      Number sum = bias.empty() ? Number() : bias[u];
      for (int64_t r = 0; r < sizes->rank; ++r)
        sum = math.add(sum, sums[u * sizes->rank + r]);
      out[b * sizes->units + u] = math.activate(sum, options.fused_activation_function());
    }
  }
  stateChanged(ctx, State);
  return llvm::Error::success();
}

} // namespace origo::eval::loops::svdf
