#include "eval/kernels/Bilinear.h"
#include "eval/fast/Fast.h"
#include "eval/fast/Parallel.h"
#include "eval/fast/Processor.h"
#include "eval/fast/Vectors.h"

/// RESIZE_BILINEAR of floats and, as the reference computes it, of 8 bit numbers. XNNPACK keeps four pointers for each
/// pixel.
namespace origo::eval {

namespace {

/// Four pixels, in the order of the sum, and how much of each.
template <class T, class Number> struct Corners {
  const T *pixels[4];
  Number parts[4];
};

/// Rounded as the reference does.
[[gnu::always_inline]] inline uint8_t rounded(float sum) {
  return static_cast<uint8_t>(static_cast<int32_t>(sum + 0.5f));
}
/// Sums wrap on the way only.
[[gnu::always_inline]] inline int8_t rounded(uint32_t bits) {
  auto sum = static_cast<int32_t>(bits);
  sum += sum > 0 ? 1 << 19 : -(1 << 19);
  return static_cast<int8_t>((sum + ((sum >> 31) & ((1 << 20) - 1))) >> 20);
}

template <class T, class Number>
[[gnu::always_inline]] inline void pixel(const Corners<T, Number> &from, T *__restrict to, int64_t depth) {
  const T *a = from.pixels[0], *b = from.pixels[1], *c = from.pixels[2], *d = from.pixels[3];
  Number p = from.parts[0], q = from.parts[1], r = from.parts[2], s = from.parts[3];
  for (int64_t i = 0; i < depth; ++i) {
    Number sum = static_cast<Number>(a[i]) * p;
    sum += static_cast<Number>(b[i]) * q;
    sum += static_cast<Number>(c[i]) * r;
    sum += static_cast<Number>(d[i]) * s;
    to[i] = rounded(sum);
  }
}

template <class T> struct Row {
  const T *upper, *lower;
  T *to;
  int64_t depth;
};

[[gnu::always_inline]] inline void mixRow(const Row<uint8_t> &row, float v, llvm::ArrayRef<Between<float>> columns) {
  uint8_t *to = row.to;
  for (const auto &[first, second, h] : columns) {
    int64_t left = first * row.depth, right = second * row.depth;
    pixel<uint8_t, float>({{row.upper + left, row.upper + right, row.lower + left, row.lower + right},
                           {(1 - v) * (1 - h), (1 - v) * h, v * (1 - h), v * h}},
                          to, row.depth);
    to += row.depth;
  }
}

[[gnu::always_inline]] inline void mixRow(const Row<int8_t> &row, int64_t v, llvm::ArrayRef<Between<int64_t>> columns) {
  int8_t *to = row.to;
  for (const auto &[first, second, h] : columns) {
    int64_t left = first * row.depth, right = second * row.depth;
    auto part = [](int64_t a, int64_t b) { return static_cast<uint32_t>(a * b); };
    pixel<int8_t, uint32_t>({{row.upper + left, row.lower + left, row.upper + right, row.lower + right},
                             {part(1024 - v, 1024 - h), part(v, 1024 - h), part(1024 - v, h), part(v, h)}},
                            to, row.depth);
    to += row.depth;
  }
}

/// `V`: no longer than a pixel.
template <class V>
[[gnu::always_inline]] inline void mixFloats(const Row<float> &row, float v, llvm::ArrayRef<Between<float>> columns) {
  constexpr int64_t lanes = lanesOf<V>;
  float *to = row.to;
  for (const auto &[first, second, h] : columns) {
    int64_t left = first * row.depth, right = second * row.depth;
    float p = (1 - v) * (1 - h), q = (1 - v) * h, r = v * (1 - h), s = v * h;
    for (int64_t next = 0; next < row.depth; next += lanes) {
      int64_t i = std::min(next, row.depth - lanes); // the last ones once more, rather than some beyond them
      V a, b, c, d;
      load(a, row.upper + left + i);
      load(b, row.upper + right + i);
      load(c, row.lower + left + i);
      load(d, row.lower + right + i);
      store<V>(to + i, a * p + b * q + c * r + d * s);
    }
    to += row.depth;
  }
}
template <class V> void floatsPlain(const Row<float> &row, float v, llvm::ArrayRef<Between<float>> columns) {
  mixFloats<V>(row, v, columns);
}
ORIGO_AVX2 void floatsAvx2(const Row<float> &row, float v, llvm::ArrayRef<Between<float>> columns) {
  mixFloats<Vector8>(row, v, columns);
}
ORIGO_AVX512 void floatsAvx512(const Row<float> &row, float v, llvm::ArrayRef<Between<float>> columns) {
  mixFloats<Vector16>(row, v, columns);
}

template <class T, class Rest> void rowPlain(const Row<T> &row, Rest v, llvm::ArrayRef<Between<Rest>> columns) {
  mixRow(row, v, columns);
}
template <class T, class Rest>
ORIGO_AVX2 void rowAvx2(const Row<T> &row, Rest v, llvm::ArrayRef<Between<Rest>> columns) {
  mixRow(row, v, columns);
}

template <class T, class Rest> using MixRow = void (*)(const Row<T> &, Rest, llvm::ArrayRef<Between<Rest>>);
/// For pixels of so many numbers.
template <class T, class Rest> MixRow<T, Rest> mixOf(int64_t depth) {
  if constexpr (std::is_same_v<T, float>)
    return depth >= 16 && processor() >= Processor::Avx512 ? floatsAvx512
           : depth >= 8 && processor() >= Processor::Avx2  ? floatsAvx2
           : depth >= 4                                    ? floatsPlain<Vector4>
                                                           : floatsPlain<float>;
  else
    return processor() == Processor::Plain ? rowPlain<T, Rest> : rowAvx2<T, Rest>;
}

template <class T, class Rest, class Places> std::unique_ptr<FastKernel> kernel(Places placesOf) {
  return fastKernel([placesOf, rows = llvm::SmallVector<Between<Rest>, 0>(),
                     columns = llvm::SmallVector<Between<Rest>, 0>(),
                     size = std::array<int32_t, 4>()](Operands in, Operands out, pthreadpool_t threads) mutable {
    const Tensor &x = *in[0];
    Tensor &y = *out[0];
    if (x.count() == 0 || y.count() == 0)
      return false;
    if (std::array now = {x.dim(1), x.dim(2), y.dim(1), y.dim(2)}; now != size) {
      rows = placesOf(x.dim(1), y.dim(1));
      columns = placesOf(x.dim(2), y.dim(2));
      size = now;
    }
    const MixRow<T, Rest> mixRow = mixOf<T, Rest>(x.dim(3));
    int64_t depth = x.dim(3), line = x.dim(2) * depth, height = y.dim(1);
    parallelFor(threads, static_cast<size_t>(x.dim(0) * height), 4, [&](size_t first, size_t count) {
      for (auto at = static_cast<int64_t>(first), end = at + static_cast<int64_t>(count); at < end; ++at) {
        const Between<Rest> &place = rows[static_cast<size_t>(at % height)];
        const T *image = dataOf<T>(x) + at / height * x.dim(1) * line;
        mixRow({image + place.first * line, image + place.second * line, dataOf<T>(y) + at * y.dim(2) * depth, depth},
               place.rest, columns);
      }
    });
    return true;
  });
}

std::unique_ptr<FastKernel> resize(const FastSite &site) {
  const auto &options = site.options<circle::ResizeBilinearOptions>();
  Bilinear how{options.align_corners(), options.half_pixel_centers()};
  auto places = [how](int32_t from, int32_t to) { return how.places(from, to); };
  if (site.type(0) == TensorType::FLOAT32)
    return kernel<float, float>(places);
  if (site.type(0) == TensorType::UINT8)
    return kernel<uint8_t, float>(places);
  if (site.type(0) == TensorType::INT8)
    return kernel<int8_t, int64_t>([how](int32_t from, int32_t to) { return how.integerPlaces(from, to); });
  return nullptr;
}

} // namespace

llvm::ArrayRef<FastRow> fastBilinear() {
  static const FastRow rows[] = {{BuiltinOperator::RESIZE_BILINEAR, resize}};
  return rows;
}

} // namespace origo::eval
