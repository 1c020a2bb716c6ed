#include "eval/kernels/TransposeConv.h"
#include "eval/Kernels.h"
#include "eval/Shapes.h"
#include "eval/kernels/Channels.h"
#include "eval/kernels/Hybrid.h"
#include "ir/shapes/Rules.h"

namespace origo::eval {

using namespace loops;

namespace {

llvm::Error transposeFloat(KernelContext &ctx) {
  auto c = transposedConvOf(ctx);
  if (!c)
    return c.takeError();
  auto in = c->input->as<float>(), filter = c->filter->as<float>();
  auto bias = c->bias ? c->bias->as<float>() : llvm::ArrayRef<float>();
  gatherTransposed<float, float>(
      *c, [&](float &sum, int64_t i, int64_t f) { sum += in[i] * filter[f]; },
      [&](float sum, int64_t channel) { return activate(sum + (bias.empty() ? 0 : bias[channel]), c->activation); });
  return llvm::Error::success();
}

/// Float input and narrow weights: each picture is quantised by its own range, asymmetrically; sums are integers.
llvm::Error transposeHybrid(KernelContext &ctx) {
  auto c = transposedConvOf(ctx);
  if (!c)
    return c.takeError();
  int64_t pictures = c->input->dim(0), perPicture = pictures ? c->output->count() / pictures : 0, done = 0;
  HybridRows rows(c->input->as<float>(), pictures, true);
  auto filter = weightsOf<int8_t>(*c->filter);
  auto bias = c->bias ? c->bias->as<float>() : llvm::ArrayRef<float>();
  gatherTransposed<int32_t, float>(
      *c, [&](int32_t &sum, int64_t i, int64_t f) { sum = wrappingAdd(sum, rows.elements[i] * filter[f]); },
      [&](int32_t sum, int64_t channel) {
        float scale = rows.scales[done++ / perPicture];
        float real = static_cast<float>(sum) * c->filter->scaleOf(channel) * scale;
        return activate(real + (bias.empty() ? 0 : bias[channel]), c->activation);
      });
  return llvm::Error::success();
}

/// Acc: the type of sums and bias.
template <class T, class W, class Acc> llvm::Error transposeQuantized(KernelContext &ctx) {
  auto c = transposedConvOf(ctx);
  if (!c)
    return c.takeError();
  auto scales =
      ChannelScales::of<T>(ctx, *c->input, *c->filter, *c->output, c->output->dim(3), c->activation,
                           std::is_same_v<T, uint8_t> ? ChannelScales::Product::Float : ChannelScales::Product::Double);
  if (!scales)
    return scales.takeError();
  auto in = c->input->as<T>();
  auto filter = weightsOf<W>(*c->filter);
  auto bias = c->bias ? c->bias->as<Acc>() : llvm::ArrayRef<Acc>();
  gatherTransposed<Acc, T>(
      *c,
      [&](Acc &sum, int64_t i, int64_t f) {
        sum = wrappingAdd<Acc>(sum, Acc(in[i] - scales->inputZero) * (filter[f] - scales->filterZeroAt(f)));
      },
      [&](Acc sum, int64_t channel) {
        return scales->template scaled<T>(bias.empty() ? sum : wrappingAdd(sum, bias[channel]), channel);
      });
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> transposeConvKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::TRANSPOSE_CONV, "i32, f32[o,y,x,c], f32[n,h,w,c], f32[#o]? -> f32[n,_,_,o]", transposeFloat},
      {Op::TRANSPOSE_CONV, "i32, i8{t|c0}[o,y,x,c], f32[n,h,w,c], f32[#o]? -> f32[n,_,_,o]", transposeHybrid},
      {Op::TRANSPOSE_CONV, "i32, u8{t|c0}[o,y,x,c], u8{t}[n,h,w,c], i32[#o]? -> u8{t}[n,_,_,o]",
       transposeQuantized<uint8_t, uint8_t, int32_t>},
      {Op::TRANSPOSE_CONV, "i32, i8{t|c0}[o,y,x,c], i8{t}[n,h,w,c], i32[#o]? -> i8{t}[n,_,_,o]",
       transposeQuantized<int8_t, int8_t, int32_t>},
      {Op::TRANSPOSE_CONV, "i32, i8{t|c0}[o,y,x,c], i16{t}[n,h,w,c], i64[#o]? -> i16{t}[n,_,_,o]",
       transposeQuantized<int16_t, int8_t, int64_t>},
      {Op::TRANSPOSE_CONV, "i32, i8{t|c0}[o,y,x,c], i16{t}[n,h,w,c], i32[#o] -> i16{t}[n,_,_,o]",
       transposeQuantized<int16_t, int8_t, int32_t>},
      {Op::TRANSPOSE_CONV, "i32, i16{t|c0}[o,y,x,c], i16{t}[n,h,w,c], i64[#o]? -> i16{t}[n,_,_,o]",
       transposeQuantized<int16_t, int16_t, int64_t>},
  };
  return rows;
}

} // namespace origo::eval
