#include "eval/Kernels.h"
#include "eval/kernels/SvdfCells.h"

/// SVDF of floats, and of integers.
namespace origo::eval {

using namespace loops::svdf;

namespace {

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
  static const Recurrent list[] = {recurrent<withDots<runReal<Floats>>>, recurrent<runInteger<int16_t>>,
                                   recurrent<runInteger<int8_t>>};
  return list;
}

llvm::ArrayRef<KernelRow> svdfKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::SVDF, "f32[b,i], f32|i8|u8{n|t}[f,i], f32|i8|u8{n|t}[f,m], f32?, f32 -> f32[b,_]",
       plainly<withDots<runReal<Floats>>>},
      {Op::SVDF, "i8{t}[b,i], i8{t}[f,i], i16{t}[f,m], i32?, i16{t} -> i8{t}[b,_]", plainly<runInteger<int16_t>>},
      {Op::SVDF, "i8{t}[b,i], i8{t}[f,i], i8{t}[f,m], i32?, i8{t} -> i8{t}[b,_]", plainly<runInteger<int8_t>>},
  };
  return rows;
}

} // namespace origo::eval
