#include "eval/fast/Parallel.h"
#include "eval/fast/Processor.h"
#include "eval/fast/Xnnpack.h"

/// PRELU of 8 bit numbers, by the arithmetic of the reference kernel.
namespace origo::eval {

namespace {

struct Prelu {
  std::vector<int32_t> alphas; ///< above their zero point, repeated until a vector is full
  int32_t inputZero, resultZero;
  Multiplier above, below;
};

/// One rounding product for both sides of zero. What is thrown away of 64 bits does not depend on their sign.
template <class T> [[gnu::always_inline]] inline void preluRow(const Prelu &prelu, const T *x, T *y) {
  const int32_t *alphas = prelu.alphas.data();
  const int32_t inputZero = prelu.inputZero, resultZero = prelu.resultZero;
  const int32_t mantissaAbove = prelu.above.mantissa, mantissaBelow = prelu.below.mantissa;
  const int leftAbove = std::clamp(prelu.above.shift, 0, 31), leftBelow = std::clamp(prelu.below.shift, 0, 31);
  const int rightAbove = std::clamp(-prelu.above.shift, 0, 31), rightBelow = std::clamp(-prelu.below.shift, 0, 31);
  for (size_t i = 0, count = prelu.alphas.size(); i < count; ++i) {
    int32_t value = x[i] - inputZero, alpha = alphas[i];
    bool isAbove = value >= 0;
    uint32_t shifted = static_cast<uint32_t>(value * (isAbove ? 1 : alpha)) << (isAbove ? leftAbove : leftBelow);
    int64_t product = static_cast<int64_t>(static_cast<int32_t>(shifted)) * (isAbove ? mantissaAbove : mantissaBelow);
    auto high = static_cast<int32_t>(static_cast<uint64_t>(product + (1 << 30)) >> 31);
    int right = isAbove ? rightAbove : rightBelow;
    auto mask = static_cast<int32_t>((1u << right) - 1);
    int32_t scaled = (high >> right) + ((high & mask) > (mask >> 1) + (high < 0) ? 1 : 0);
    y[i] = static_cast<T>(std::clamp<int32_t>(wrappingAdd(scaled, resultZero), std::numeric_limits<T>::min(),
                                              std::numeric_limits<T>::max()));
  }
}

template <class T> using Row = void (*)(const Prelu &, const T *, T *);
template <class T> void preluPlain(const Prelu &prelu, const T *x, T *y) { preluRow(prelu, x, y); }
template <class T> ORIGO_AVX2 void preluAvx2(const Prelu &prelu, const T *x, T *y) { preluRow(prelu, x, y); }
template <class T> ORIGO_AVX512BW void preluAvx512(const Prelu &prelu, const T *x, T *y) { preluRow(prelu, x, y); }

/// Alphas repeat along the elements: they have the last dimensions of the image.
template <class T> std::unique_ptr<FastKernel> prelu(const FastSite &site) {
  const Tensor &x = site.input(0), *alpha = site.constant(1), &result = site.output();
  if (!alpha || alpha->count() == 0 || !isPerTensor(x) || !isPerTensor(*alpha) || !isPerTensor(result))
    return nullptr;
  Prelu made;
  made.inputZero = x.zeroPoint();
  made.resultZero = result.zeroPoint();
  made.above = quantizeMultiplier(static_cast<double>(x.scale() / result.scale()));
  made.below = quantizeMultiplier(static_cast<double>(x.scale() * alpha->scale() / result.scale()));
  constexpr size_t atLeast = 256;
  do
    for (int64_t i = 0; i < alpha->count(); ++i)
      made.alphas.push_back(dataOf<T>(*alpha)[i] - alpha->zeroPoint());
  while (made.alphas.size() < atLeast);
  llvm::ArrayRef<int32_t> period = alpha->shape;
  Shape shape(period.begin(), period.end());
  return fastKernel([made = std::move(made), shape](Operands in, Operands out, pthreadpool_t threads) {
    static const auto row = forThisProcessorsBytes<Row<T>>(preluPlain<T>, preluAvx2<T>, preluAvx512<T>);
    const Tensor &x = *in[0];
    llvm::ArrayRef<int32_t> period = llvm::ArrayRef<int32_t>(shape).drop_while([](int32_t size) { return size == 1; });
    if (x.shape != out[0]->shape || period.size() > x.shape.size() ||
        llvm::ArrayRef<int32_t>(x.shape).take_back(period.size()) != period)
      return false;
    size_t length = made.alphas.size(), count = x.storage.size(), rows = count / length;
    const T *from = dataOf<T>(x);
    T *to = dataOf<T>(*out[0]);
    parallelFor(threads, rows, std::max<size_t>(1, (1 << 13) / length), [&](size_t first, size_t some) {
      for (size_t r = first; r < first + some; ++r)
        row(made, from + r * length, to + r * length);
    });
    // A part of a row is left where alphas were repeated.
    if (size_t rest = count - rows * length) {
      std::vector<T> last(length);
      std::copy_n(from + rows * length, rest, last.begin());
      row(made, last.data(), last.data());
      std::copy_n(last.begin(), rest, to + rows * length);
    }
    return true;
  });
}

std::unique_ptr<FastKernel> integerPrelu(const FastSite &site) {
  TensorType type = site.type(0);
  if (site.type(1) != type || site.output().type != type)
    return nullptr;
  return type == TensorType::INT8 ? prelu<int8_t>(site) : type == TensorType::UINT8 ? prelu<uint8_t>(site) : nullptr;
}

} // namespace

llvm::ArrayRef<FastRow> fastIntegerPrelu() {
  static const FastRow rows[] = {{BuiltinOperator::PRELU, integerPrelu}};
  return rows;
}

} // namespace origo::eval
