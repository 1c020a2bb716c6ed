#include "eval/Kernels.h"
#include "eval/kernels/Elementwise.h"

#include "llvm/Support/MathExtras.h"

#include <complex>
#include <numbers>

namespace origo::eval {

namespace {

using Complex = std::complex<double>;

template <class Real> llvm::Error absolute(KernelContext &ctx) {
  return map<std::complex<Real>, Real>(ctx, [](std::complex<Real> x) { return std::abs(x); });
}
/// By the formula, as the runtime does: no infinity is rescued.
llvm::Error multiplyComplex(KernelContext &ctx) {
  using Number = std::complex<float>;
  return zip<Number, Number>(ctx, [](Number x, Number y, const char *&) {
    return Number(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
  });
}
template <class Real> llvm::Error realPart(KernelContext &ctx) {
  return map<std::complex<Real>, Real>(ctx, [](std::complex<Real> x) { return x.real(); });
}
template <class Real> llvm::Error imaginaryPart(KernelContext &ctx) {
  return map<std::complex<Real>, Real>(ctx, [](std::complex<Real> x) { return x.imag(); });
}

/// The discrete Fourier transform in place; as many elements as a power of two.
void transform(llvm::MutableArrayRef<Complex> x) {
  size_t count = x.size();
  for (size_t i = 1, j = 0; i < count; ++i) { // to bit-reversed order
    size_t bit = count >> 1;
    for (; j & bit; bit >>= 1)
      j ^= bit;
    j ^= bit;
    if (i < j)
      std::swap(x[i], x[j]);
  }
  for (size_t length = 2; length <= count; length *= 2)
    for (size_t k = 0; k < length / 2; ++k) {
      Complex root = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length));
      for (size_t begin = 0; begin < count; begin += length) {
        Complex even = x[begin + k], odd = x[begin + k + length / 2] * root;
        x[begin + k] = even + odd;
        x[begin + k + length / 2] = even - odd;
      }
    }
}

/// The transform of the last two dimensions, cut or filled with zeros to the given lengths; of the last one, only the
/// half that the other half follows from.
llvm::Error realTransform2d(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto lengths = *ctx.values(1);
  for (int64_t length : lengths)
    if (length > 1 << 24 || !llvm::isPowerOf2_64(static_cast<uint64_t>(length)))
      return ctx.fail(1, "has a length that is no power of two");
  int64_t height = lengths[0], width = lengths[1], half = width / 2 + 1;
  int64_t inHeight = in.dim(in.rank() - 2), inWidth = in.dim(in.rank() - 1);
  int64_t count = product(in.shape, 0, in.rank() - 2);
  auto x = in.as<float>();
  auto out = ctx.output().as<std::complex<float>>();
  std::vector<Complex> row(width), column(height);
  for (int64_t matrix = 0; matrix < count; ++matrix) {
    std::complex<float> *result = out.data() + matrix * height * half;
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t i = 0; i < width; ++i)
        row[i] = y < inHeight && i < inWidth ? static_cast<double>(x[(matrix * inHeight + y) * inWidth + i]) : 0.0;
      transform(row);
      for (int64_t i = 0; i < half; ++i)
        result[y * half + i] = std::complex<float>(row[i]);
    }
    for (int64_t i = 0; i < half; ++i) {
      for (int64_t y = 0; y < height; ++y)
        column[y] = Complex(result[y * half + i]);
      transform(column);
      for (int64_t y = 0; y < height; ++y)
        result[y * half + i] = std::complex<float>(column[y]);
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> complexKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::COMPLEX_ABS, "c64 -> f32", absolute<float>},
      {Op::COMPLEX_ABS, "c128 -> f64", absolute<double>},
      {Op::REAL, "c64 -> f32", realPart<float>},
      {Op::REAL, "c128 -> f64", realPart<double>},
      {Op::IMAG, "c64 -> f32", imaginaryPart<float>},
      {Op::IMAG, "c128 -> f64", imaginaryPart<double>},
      {Op::MUL, "c64, c64 -> c64", multiplyComplex, {is("fused_activation_function", {"NONE"})}},
      {Op::RFFT2D, "f32[..,_,_], i32 -> c64[..,_,_]", realTransform2d},
  };
  return rows;
}

} // namespace origo::eval
