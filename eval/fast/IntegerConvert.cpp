#include "eval/fast/Parallel.h"
#include "eval/fast/Processor.h"
#include "eval/fast/Xnnpack.h"

#include <bit>

/// QUANTIZE of floats and DEQUANTIZE to them, of numbers of 8 bits with one scale. Rounds as XNNPACK does, to the
/// nearest even one.
namespace origo::eval {

namespace {

/// `factor` is what the numbers that it goes from are multiplied with.
template <class T> struct Narrow {
  using From = float;
  using To = T;
  static float factorOf(float scale) { return 1 / scale; }
  [[gnu::always_inline]] static inline void run(const float *x, T *to, size_t count, float factor, int32_t zero) {
    const auto low = static_cast<float>(std::numeric_limits<T>::min() - zero);
    const auto high = static_cast<float>(std::numeric_limits<T>::max() - zero);
    constexpr float large = 0x1.8p23f; // the last bit of so large a float is a whole one
    for (size_t i = 0; i < count; ++i) {
      float scaled = x[i] * factor;
      scaled = scaled > low ? scaled : low;
      scaled = scaled < high ? scaled : high;
      to[i] = static_cast<T>(std::bit_cast<int32_t>(scaled + large) - std::bit_cast<int32_t>(large) + zero);
    }
  }
};
template <class T> struct Widen {
  using From = T;
  using To = float;
  static float factorOf(float scale) { return scale; }
  [[gnu::always_inline]] static inline void run(const T *x, float *to, size_t count, float factor, int32_t zero) {
    for (size_t i = 0; i < count; ++i)
      to[i] = static_cast<float>(x[i] - zero) * factor;
  }
};

template <class Way> using Run = void (*)(const typename Way::From *, typename Way::To *, size_t, float, int32_t);
template <class Way, class From, class To>
void runPlain(const From *x, To *to, size_t count, float factor, int32_t zero) {
  Way::run(x, to, count, factor, zero);
}
template <class Way, class From, class To>
ORIGO_AVX2 void runAvx2(const From *x, To *to, size_t count, float factor, int32_t zero) {
  Way::run(x, to, count, factor, zero);
}
template <class Way, class From, class To>
ORIGO_AVX512BW void runAvx512(const From *x, To *to, size_t count, float factor, int32_t zero) {
  Way::run(x, to, count, factor, zero);
}

template <template <class> class Way, class T> std::unique_ptr<FastKernel> converting(const Tensor &quantized) {
  if (!isPerTensor(quantized) || !std::in_range<T>(quantized.zeroPoint()))
    return nullptr;
  using Here = Way<T>;
  using From = typename Here::From;
  using To = typename Here::To;
  auto run =
      forThisProcessorsBytes<Run<Here>>(runPlain<Here, From, To>, runAvx2<Here, From, To>, runAvx512<Here, From, To>);
  return fastKernel([run, factor = Here::factorOf(quantized.scale()),
                     zero = quantized.zeroPoint()](Operands in, Operands out, pthreadpool_t threads) {
    const From *x = dataOf<From>(*in[0]);
    To *to = dataOf<To>(*out[0]);
    parallelFor(threads, static_cast<size_t>(out[0]->count()), 1 << 13,
                [&](size_t first, size_t count) { run(x + first, to + first, count, factor, zero); });
    return true;
  });
}

template <template <class> class Way> std::unique_ptr<FastKernel> convert(const Tensor &quantized, TensorType other) {
  if (other != TensorType::FLOAT32)
    return nullptr;
  return quantized.type == TensorType::INT8    ? converting<Way, int8_t>(quantized)
         : quantized.type == TensorType::UINT8 ? converting<Way, uint8_t>(quantized)
                                               : nullptr;
}

std::unique_ptr<FastKernel> quantize(const FastSite &site) {
  return site.constant(0) ? nullptr : convert<Narrow>(site.output(), site.type(0));
}
std::unique_ptr<FastKernel> dequantize(const FastSite &site) {
  return site.constant(0) ? nullptr : convert<Widen>(site.input(0), site.output().type);
}

} // namespace

llvm::ArrayRef<FastRow> fastIntegerConvert() {
  static const FastRow rows[] = {{BuiltinOperator::QUANTIZE, quantize}, {BuiltinOperator::DEQUANTIZE, dequantize}};
  return rows;
}

} // namespace origo::eval
