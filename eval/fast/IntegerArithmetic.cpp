#include "eval/fast/Processor.h"
#include "eval/fast/Zip.h"
#include "eval/kernels/QuantizedArithmetic.h"

#include <bit>

/// ADD, SUB and MUL of quantised numbers of 8 and 16 bits.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

/// Of 8 bits, with XNNPACK's numbers: the operands' scales as multiples of the result's, with 21 bits.
template <class T> class ByteSum {
public:
  /// Nothing for scales that these bits do not hold.
  static std::optional<ByteSum> of(const FastSite &site, std::pair<T, T> range) {
    const Tensor &x = site.input(0), &y = site.input(1), &out = site.output();
    float ofX = x.scale() / out.scale(), ofY = y.scale() / out.scale(), larger = std::max(ofX, ofY);
    if (!(std::min(ofX, ofY) >= 0x1p-10f && larger < 0x1p8f))
      return std::nullopt;
    ByteSum sum;
    sum.shift = 20 - std::ilogb(larger);
    sum.ofX = static_cast<int32_t>(std::lrint(std::ldexp(ofX, sum.shift)));
    sum.ofY = static_cast<int32_t>(std::lrint(std::ldexp(ofY, sum.shift)));
    if (site.op.code == Op::SUB)
      sum.ofY = -sum.ofY;
    sum.zero = out.zeroPoint();
    sum.start = (1 << (sum.shift - 1)) - sum.ofX * x.zeroPoint() - sum.ofY * y.zeroPoint();
    sum.low = range.first - sum.zero;
    sum.high = range.second - sum.zero;
    return sum;
  }
  T operator()(T x, T y) const {
    return static_cast<T>(std::clamp((start + x * ofX + y * ofY) >> shift, low, high) + zero);
  }

private:
  int32_t shift, ofX, ofY, start, low, high, zero;
};

/// Likewise: the product of integers, scaled as a float and rounded to the nearest one.
template <class T> class ByteProduct {
public:
  static std::optional<ByteProduct> of(const FastSite &site, std::pair<T, T> range) {
    const Tensor &x = site.input(0), &y = site.input(1), &out = site.output();
    float scale = x.scale() * y.scale() / out.scale();
    if (!(scale >= 0x1p-16f && scale < 0x1p8f))
      return std::nullopt;
    return ByteProduct{x.zeroPoint(),
                       y.zeroPoint(),
                       out.zeroPoint(),
                       scale,
                       static_cast<float>(range.first - out.zeroPoint()),
                       static_cast<float>(range.second - out.zeroPoint())};
  }
  T operator()(T x, T y) const {
    float product = static_cast<float>((x - zeroX) * (y - zeroY)) * scale;
    product = product > low ? product : low;
    product = product < high ? product : high;
    // The last bit of so large a float is a whole one.
    constexpr float large = 0x1.8p23f;
    return static_cast<T>(std::bit_cast<int32_t>(product + large) - std::bit_cast<int32_t>(large) + zero);
  }

  int32_t zeroX, zeroY, zero;
  float scale, low, high;
};

// The same code for what different processors have.
template <class T, class F>
void zipPlain(const T *x, bool xMoves, const T *y, bool yMoves, T *out, int64_t count, const F &f) {
  eachPair(x, xMoves, y, yMoves, out, count, f);
}
template <class T, class F>
ORIGO_AVX2 void zipAvx2(const T *x, bool xMoves, const T *y, bool yMoves, T *out, int64_t count, const F &f) {
  eachPair(x, xMoves, y, yMoves, out, count, f);
}
template <class T, class F>
ORIGO_AVX512BW void zipAvx512(const T *x, bool xMoves, const T *y, bool yMoves, T *out, int64_t count, const F &f) {
  eachPair(x, xMoves, y, yMoves, out, count, f);
}

template <class T, class F> std::unique_ptr<FastKernel> kernel(F f) {
  using Run = void (*)(const T *, bool, const T *, bool, T *, int64_t, const F &);
  Run run = forThisProcessorsBytes<Run>(zipPlain<T, F>, zipAvx2<T, F>, zipAvx512<T, F>);
  auto compute = [run, f](const T *x, bool xMoves, const T *y, bool yMoves, T *out, int64_t count) {
    run(x, xMoves, y, yMoves, out, count, f);
  };
  return std::make_unique<ZipKernel<T, decltype(compute)>>(compute);
}

template <class T> std::unique_ptr<FastKernel> bytes(const FastSite &site) {
  auto range = clampRange<T>(fusedActivation(site), site.output());
  auto fits = [](const Tensor &tensor) { return isPerTensor(tensor) && std::in_range<T>(tensor.zeroPoint()); };
  if (!range || !fits(site.input(0)) || !fits(site.input(1)) || !fits(site.output()))
    return nullptr;
  if (site.op.code == Op::MUL) {
    auto product = ByteProduct<T>::of(site, *range);
    return product ? kernel<T>(*product) : nullptr;
  }
  auto sum = ByteSum<T>::of(site, *range);
  return sum ? kernel<T>(*sum) : nullptr;
}

std::unique_ptr<FastKernel> arithmetic(const FastSite &site) {
  const Tensor &result = site.output();
  if (site.type(1) != site.type(0) || result.type != site.type(0))
    return nullptr;
  switch (site.type(0)) {
  case TensorType::INT8:
    return bytes<int8_t>(site);
  case TensorType::UINT8:
    return bytes<uint8_t>(site);
  case TensorType::INT16:
    break;
  default:
    return nullptr;
  }
  if (site.op.code == Op::MUL)
    return kernel<int16_t>(QuantizedProduct<int16_t>(site, result));
  auto sum = ShiftedSum::of(site, result);
  return sum ? kernel<int16_t>(*sum) : kernel<int16_t>(QuantizedSum<int16_t, 15>(site, result));
}

} // namespace

llvm::ArrayRef<FastRow> fastIntegerArithmetic() {
  static const FastRow rows[] = {
      {Op::ADD, arithmetic, Rank::First}, {Op::SUB, arithmetic, Rank::First}, {Op::MUL, arithmetic, Rank::First}};
  return rows;
}

} // namespace origo::eval
