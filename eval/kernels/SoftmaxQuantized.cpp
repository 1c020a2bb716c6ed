#include "eval/kernels/SoftmaxQuantized.h"
#include "eval/kernels/Rows.h"

/// SOFTMAX and LOG_SOFTMAX of quantised numbers, along the last axis.
namespace origo::eval {

namespace {

/// exp(−i · step) for all differences of 8 bits.
std::array<float, 256> exponentials(float step) {
  std::array<float, 256> table;
  for (int i = 0; i < 256; ++i)
    table[i] = std::exp(-step * static_cast<float>(i));
  return table;
}

/// The runtime computes in float what has more bits than its operand, and what is not in steps of 1/256.
template <class In, class Out> llvm::Error softmaxByTable(KernelContext &ctx) {
  Rows rows = Rows::of(ctx);
  auto table = exponentials(rows.in->scale() * ctx.options<circle::SoftmaxOptions>().beta());
  const In *x = rows.in->as<In>().data();
  Out *out = rows.out->template as<Out>().data();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.depth, out += rows.depth) {
    int largest = *std::max_element(x, x + rows.depth);
    float sum = 0;
    for (int64_t i = 0; i < rows.depth; ++i)
      sum += table[largest - x[i]];
    float inverse = 1 / (sum * rows.out->scale());
    for (int64_t i = 0; i < rows.depth; ++i) {
      float value = std::min(table[largest - x[i]] * inverse + 0.5f, 1e6f);
      out[i] = saturate<Out>(static_cast<int32_t>(std::isnan(value) ? 0 : value) + rows.out->zeroPoint());
    }
  }
  return llvm::Error::success();
}

template <class T> llvm::Error softmax8(KernelContext &ctx) {
  if (!Softmax8::makes<T>(ctx.output()))
    return softmaxByTable<T, T>(ctx);
  Rows rows = Rows::of(ctx);
  auto softmax = Softmax8::of(ctx);
  if (!softmax)
    return softmax.takeError();
  const T *x = rows.in->as<T>().data();
  T *out = rows.out->template as<T>().data();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.depth, out += rows.depth) {
    int32_t largest = *std::max_element(x, x + rows.depth), sum = 0;
    for (int64_t i = 0; i < rows.depth; ++i)
      sum = wrappingAdd(sum, Softmax8::summand(softmax->exponential(x[i] - largest)));
    Softmax8::Row<T> scaled(sum);
    for (int64_t i = 0; i < rows.depth; ++i)
      out[i] = scaled(softmax->exponential(x[i] - largest));
  }
  return llvm::Error::success();
}

llvm::Error softmax16(KernelContext &ctx) {
  Rows rows = Rows::of(ctx);
  auto softmax = Softmax16::of(ctx);
  const int16_t *x = rows.in->as<int16_t>().data();
  int16_t *out = rows.out->as<int16_t>().data();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.depth, out += rows.depth)
    if (!softmax.row(x, out, rows.depth))
      return ctx.fail("the sum of the exponentials overflows");
  return llvm::Error::success();
}

/// In float, with a table of exponentials.
template <class T> llvm::Error logSoftmax8(KernelContext &ctx) {
  Rows rows = Rows::of(ctx);
  float inScale = rows.in->scale(), outScale = rows.out->scale();
  auto exponential = exponentials(inScale);
  const T *x = rows.in->as<T>().data();
  T *out = rows.out->template as<T>().data();
  for (int64_t row = 0; row < rows.count; ++row, x += rows.depth, out += rows.depth) {
    int largest = *std::max_element(x, x + rows.depth);
    float sum = 0;
    for (int64_t i = 0; i < rows.depth; ++i)
      sum += exponential[largest - x[i]];
    float base = (inScale * static_cast<float>(largest) + std::log(sum)) / outScale;
    for (int64_t i = 0; i < rows.depth; ++i) {
      float value = std::rint(inScale / outScale * static_cast<float>(x[i]) - base);
      out[i] = saturate<T>(static_cast<int32_t>(std::isnan(value) ? 0 : std::clamp(value, -1e6f, 1e6f)) +
                           rows.out->zeroPoint());
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> softmaxQuantizedKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::SOFTMAX, "i8{t}[..,c] -> i8{t}[..,c]", softmax8<int8_t>},
      {Op::SOFTMAX, "u8{t}[..,c] -> u8{t}[..,c]", softmax8<uint8_t>},
      {Op::SOFTMAX, "i8{t}[..,c] -> i16{t}[..,c]", softmaxByTable<int8_t, int16_t>},
      {Op::SOFTMAX, "u8{t}[..,c] -> i16{t}[..,c]", softmaxByTable<uint8_t, int16_t>},
      {Op::SOFTMAX, "i16{t}[..,c] -> i16{t}[..,c]", softmax16, {resultScale(1.f / 32768, 0)}},
      {Op::LOG_SOFTMAX, "i8{t}[..,c] -> i8{t}[..,c]", logSoftmax8<int8_t>},
      {Op::LOG_SOFTMAX, "u8{t}[..,c] -> u8{t}[..,c]", logSoftmax8<uint8_t>},
  };
  return rows;
}

} // namespace origo::eval
