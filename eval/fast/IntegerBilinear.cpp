#include "eval/fast/Parallel.h"
#include "eval/fast/Processor.h"
#include "eval/fast/Xnnpack.h"
#include "eval/kernels/Bilinear.h"

#include <cstring>

/// RESIZE_BILINEAR of 8 bit numbers, as the reference computes it. XNNPACK keeps four pointers for each pixel.
namespace origo::eval {

namespace {

/// Four pixels, in the order of the sum, and how much of each.
template <class T, class Number> struct Corners {
  const T *pixels[4];
  Number parts[4];
};

constexpr int64_t lanes = 8;
template <class T> using Vector __attribute__((vector_size(lanes * sizeof(T)))) = T;

/// Rounded as the reference does.
[[gnu::always_inline]] inline Vector<uint8_t> rounded(const Vector<float> &sum) {
  return __builtin_convertvector(__builtin_convertvector(sum + 0.5f, Vector<int32_t>), Vector<uint8_t>);
}
/// Sums wrap on the way only.
[[gnu::always_inline]] inline Vector<int8_t> rounded(const Vector<uint32_t> &bits) {
  auto sum = reinterpret_cast<const Vector<int32_t> &>(bits);
  sum += sum > 0 ? Vector<int32_t>{} + (1 << 19) : Vector<int32_t>{} - (1 << 19);
  return __builtin_convertvector((sum + ((sum >> 31) & ((1 << 20) - 1))) >> 20, Vector<int8_t>);
}

template <class T, class Number>
[[gnu::always_inline]] inline void pixel(const Corners<T, Number> &from, T *to, int64_t depth) {
  for (int64_t channel = 0; channel < depth; channel += lanes) {
    // The last vector may begin within the one before it.
    int64_t at = depth < lanes ? 0 : std::min(channel, depth - lanes);
    int64_t count = std::min(depth, lanes);
    Vector<T> pixels[4] = {};
    for (int i = 0; i < 4; ++i)
      if (count == lanes)
        std::memcpy(&pixels[i], from.pixels[i] + at, lanes);
      else
        for (int64_t c = 0; c < count; ++c)
          pixels[i][c] = from.pixels[i][c];
    Vector<Number> sum = __builtin_convertvector(pixels[0], Vector<Number>) * from.parts[0];
    for (int i = 1; i < 4; ++i)
      sum += __builtin_convertvector(pixels[i], Vector<Number>) * from.parts[i];
    Vector<T> made = rounded(sum);
    if (count == lanes)
      std::memcpy(to + at, &made, lanes);
    else
      for (int64_t c = 0; c < count; ++c)
        to[c] = made[c];
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

template <class T, class Rest> void rowPlain(const Row<T> &row, Rest v, llvm::ArrayRef<Between<Rest>> columns) {
  mixRow(row, v, columns);
}
template <class T, class Rest>
ORIGO_AVX2 void rowAvx2(const Row<T> &row, Rest v, llvm::ArrayRef<Between<Rest>> columns) {
  mixRow(row, v, columns);
}

template <class T, class Rest, class Places> std::unique_ptr<FastKernel> kernel(Places placesOf) {
  return fastKernel([placesOf, rows = llvm::SmallVector<Between<Rest>, 0>(),
                     columns = llvm::SmallVector<Between<Rest>, 0>(),
                     size = std::array<int32_t, 4>()](Operands in, Operands out, pthreadpool_t threads) mutable {
    static const auto mixRow = processor() == Processor::Plain ? rowPlain<T, Rest> : rowAvx2<T, Rest>;
    const Tensor &x = *in[0];
    Tensor &y = *out[0];
    if (x.count() == 0 || y.count() == 0)
      return false;
    if (std::array now = {x.dim(1), x.dim(2), y.dim(1), y.dim(2)}; now != size) {
      rows = placesOf(x.dim(1), y.dim(1));
      columns = placesOf(x.dim(2), y.dim(2));
      size = now;
    }
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
  if (site.type(0) == TensorType::UINT8)
    return kernel<uint8_t, float>([how](int32_t from, int32_t to) { return how.places(from, to); });
  if (site.type(0) == TensorType::INT8)
    return kernel<int8_t, int64_t>([how](int32_t from, int32_t to) { return how.integerPlaces(from, to); });
  return nullptr;
}

} // namespace

llvm::ArrayRef<FastRow> fastIntegerBilinear() {
  static const FastRow rows[] = {{BuiltinOperator::RESIZE_BILINEAR, resize}};
  return rows;
}

} // namespace origo::eval
