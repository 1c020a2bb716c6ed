#include "eval/fast/Fast.h"
#include "eval/fast/Parallel.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <complex>
#include <numbers>

/// The Fourier transform of real numbers, and the magnitude of complex ones.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

/// Complex numbers, real and imaginary parts apart.
struct Parts {
  double *re, *im;
};

/// e^(−2πi·k/count) for the first k.
struct Roots {
  std::vector<double> re, im;
  Roots(size_t count, size_t most) : re(most), im(most) {
    for (size_t k = 0; k < most; ++k) {
      double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(count);
      re[k] = std::cos(angle);
      im[k] = std::sin(angle);
    }
  }
};

/// The discrete Fourier transform of so many complex numbers, a power of two, by Stockham's algorithm: each stage goes
/// from one room to the other, in order.
class Transform {
public:
  explicit Transform(size_t count) : count(count), roots(count, count / 2) {}
  /// Where the result is: in one of the two.
  Parts operator()(Parts x, Parts y) const {
    for (size_t half = count / 2, stride = 1; half; half /= 2, stride *= 2) {
      for (size_t p = 0; p < half; ++p)
        butterflies(x.re + stride * p, x.im + stride * p, y.re + 2 * stride * p, y.im + 2 * stride * p, stride * half,
                    stride, roots.re[p * stride], roots.im[p * stride]);
      std::swap(x, y);
    }
    return x;
  }

private:
  size_t count;
  Roots roots;

  static void butterflies(const double *__restrict re, const double *__restrict im, double *__restrict toRe,
                          double *__restrict toIm, size_t across, size_t stride, double rootRe, double rootIm) {
    for (size_t q = 0; q < stride; ++q) {
      double aRe = re[q], aIm = im[q], bRe = re[q + across], bIm = im[q + across];
      double differenceRe = aRe - bRe, differenceIm = aIm - bIm;
      toRe[q] = aRe + bRe;
      toIm[q] = aIm + bIm;
      toRe[q + stride] = differenceRe * rootRe - differenceIm * rootIm;
      toIm[q + stride] = differenceRe * rootIm + differenceIm * rootRe;
    }
  }
};

/// Of the last two dimensions, cut or filled with zeros to the given lengths.
class RealTransform2d : public FastKernel {
public:
  RealTransform2d(int64_t height, int64_t width)
      : height(height), width(width), alongWidth(static_cast<size_t>(std::max<int64_t>(1, width / 2))),
        alongHeight(static_cast<size_t>(height)), roots(static_cast<size_t>(width), static_cast<size_t>(width / 2)) {}

  bool run(Operands in, Operands out, pthreadpool_t threads) override {
    const Shape &shape = in[0]->shape;
    int64_t inHeight = shape[shape.size() - 2], inWidth = shape.back(), half = width / 2 + 1;
    int64_t matrices = static_cast<int64_t>(out[0]->count()) / (height * half);
    const float *x = dataOf<float>(*in[0]);
    auto *y = dataOf<std::complex<float>>(*out[0]);
    onAllThreads(threads, matrices * height, [&](int64_t row, double *room) {
      int64_t matrix = row / height, line = row % height;
      ofRow(x + (matrix * inHeight + line) * inWidth, line < inHeight ? std::min(inWidth, width) : 0, y + row * half,
            room);
    });
    if (height > 1)
      onAllThreads(threads, matrices * half, [&](int64_t column, double *room) {
        ofColumn(y + column / half * height * half + column % half, half, room);
      });
    return true;
  }

private:
  int64_t height, width;
  Transform alongWidth, alongHeight;
  Roots roots;
  std::vector<double> rooms;

  size_t roomOfThread() const { return 4 * static_cast<size_t>(std::max(width / 2 + 1, height)); }

  template <class Body> void onAllThreads(pthreadpool_t threads, int64_t total, const Body &body) {
    if (!total)
      return;
    size_t count = std::max<size_t>(1, pthreadpool_get_threads_count(threads));
    size_t tile = (static_cast<size_t>(total) + count - 1) / count;
    if (rooms.size() < count * roomOfThread())
      rooms.resize(count * roomOfThread());
    parallelFor(threads, static_cast<size_t>(total), tile, [&](size_t first, size_t some) {
      for (size_t i = first; i < first + some; ++i)
        body(static_cast<int64_t>(i), rooms.data() + first / tile * roomOfThread());
    });
  }

  /// Two real numbers are one complex one of a transform half as long, from which those of the whole one follow.
  void ofRow(const float *x, int64_t given, std::complex<float> *y, double *room) const {
    size_t half = static_cast<size_t>(width / 2), step = half + 1;
    auto at = [&](size_t i) { return static_cast<int64_t>(i) < given ? double{x[i]} : 0.0; };
    if (half == 0) {
      y[0] = static_cast<float>(at(0));
      return;
    }
    Parts from{room, room + step}, to{room + 2 * step, room + 3 * step};
    for (size_t k = 0; k < half; ++k) {
      from.re[k] = at(2 * k);
      from.im[k] = at(2 * k + 1);
    }
    Parts z = alongWidth(from, to);
    for (size_t k = 0; k <= half; ++k) {
      size_t a = k == half ? 0 : k, b = k == 0 ? 0 : half - k;
      double evenRe = (z.re[a] + z.re[b]) / 2, evenIm = (z.im[a] - z.im[b]) / 2;
      double oddRe = (z.im[a] + z.im[b]) / 2, oddIm = (z.re[b] - z.re[a]) / 2;
      double rootRe = k == half ? -1 : roots.re[k], rootIm = k == half ? 0 : roots.im[k];
      y[k] = {static_cast<float>(evenRe + oddRe * rootRe - oddIm * rootIm),
              static_cast<float>(evenIm + oddRe * rootIm + oddIm * rootRe)};
    }
  }
  void ofColumn(std::complex<float> *y, int64_t stride, double *room) const {
    size_t count = static_cast<size_t>(height);
    Parts from{room, room + count}, to{room + 2 * count, room + 3 * count};
    for (size_t k = 0; k < count; ++k) {
      from.re[k] = y[static_cast<int64_t>(k) * stride].real();
      from.im[k] = y[static_cast<int64_t>(k) * stride].imag();
    }
    Parts z = alongHeight(from, to);
    for (size_t k = 0; k < count; ++k)
      y[static_cast<int64_t>(k) * stride] = {static_cast<float>(z.re[k]), static_cast<float>(z.im[k])};
  }
};

std::unique_ptr<FastKernel> realTransform(const FastSite &site) {
  const Tensor *lengths = site.constant(1);
  if (!lengths || lengths->type != TensorType::INT32 || lengths->count() != 2 || site.type(0) != TensorType::FLOAT32)
    return nullptr;
  const auto *length = dataOf<int32_t>(*lengths);
  for (int i = 0; i < 2; ++i)
    if (length[i] < 1 || length[i] > 1 << 24 || !llvm::isPowerOf2_32(static_cast<uint32_t>(length[i])))
      return nullptr;
  return std::make_unique<RealTransform2d>(length[0], length[1]);
}

std::unique_ptr<FastKernel> magnitude(const FastSite &site) {
  if (site.type(0) != TensorType::COMPLEX64)
    return nullptr;
  return fastKernel([](Operands in, Operands out, pthreadpool_t threads) {
    const auto *x = dataOf<std::complex<float>>(*in[0]);
    auto *y = dataOf<float>(*out[0]);
    parallelFor(threads, out[0]->count(), 1 << 14, [=](size_t first, size_t count) {
      for (size_t i = first; i < first + count; ++i) {
        double re = x[i].real(), im = x[i].imag();
        y[i] = static_cast<float>(std::sqrt(re * re + im * im));
        if (std::isnan(y[i]))
          y[i] = std::abs(x[i]); // which is infinite beside NaN
      }
    });
    return true;
  });
}

} // namespace

llvm::ArrayRef<FastRow> fastFourier() {
  static const FastRow rows[] = {{Op::RFFT2D, realTransform}, {Op::COMPLEX_ABS, magnitude}};
  return rows;
}

} // namespace origo::eval
