#include "eval/Shapes.h"
#include "eval/fast/Parallel.h"
#include "eval/fast/Processor.h"
#include "eval/fast/Vectors.h"
#include "eval/fast/Xnnpack.h"

#include <cstring>

/// Pooling of floats and of 8 and 16 bit numbers.
namespace origo::eval {

namespace {

template <class T> constexpr bool isFloat = std::is_floating_point_v<T>;
template <class T> using Bound = std::conditional_t<isFloat<T>, float, int32_t>;

template <class T> struct Pool {
  const T *image;
  T *result;
  int64_t height, width, depth, rows, columns, windowHeight, windowWidth, strideH, strideW, above, before;
  Bound<T> low, high;
};

/// The part of a window that lies within the image, and its result, of channels from `first` on.
template <class T> struct Window {
  const T *image;
  T *to;
  int64_t y0, y1, x0, x1, first;
};

/// Elements side by side.
template <class T, int64_t Count> struct Channels { typedef T type __attribute__((vector_size(Count * sizeof(T)))); };
template <class T> struct Channels<T, 1> { using type = T; };

template <class T, int64_t Count>
[[gnu::always_inline]] inline void maxChannels(const Pool<T> &pool, const Window<T> &at) {
  using V = typename Channels<T, Count>::type;
  V largest = V{} + std::numeric_limits<T>::lowest();
  auto add = [&largest](const T *pixel) __attribute__((always_inline)) {
    V next;
    std::memcpy(&next, pixel, sizeof next);
    largest = next > largest ? next : largest; // not of NaN
  };
  const int64_t line = pool.width * pool.depth;
  const T *corner = at.image + at.y0 * line + at.x0 * pool.depth + at.first;
  if (at.y1 - at.y0 == 2 && at.x1 - at.x0 == 2) { // as most are: loops would take longer than what is in them
    add(corner);
    add(corner + pool.depth);
    add(corner + line);
    add(corner + line + pool.depth);
  } else {
    for (int64_t y = at.y0; y < at.y1; ++y, corner += line)
      for (int64_t x = 0; x < at.x1 - at.x0; ++x)
        add(corner + x * pool.depth);
  }
  const V low = V{} + static_cast<T>(pool.low), high = V{} + static_cast<T>(pool.high);
  clamp(largest, low, high);
  std::memcpy(at.to + at.first, &largest, sizeof largest);
}

template <class T, int64_t Count>
[[gnu::always_inline]] inline void averageChannels(const Pool<T> &pool, const Window<T> &at) {
  Bound<T> sums[Count] = {};
  for (int64_t y = at.y0; y < at.y1; ++y)
    for (int64_t x = at.x0; x < at.x1; ++x) {
      const T *pixel = at.image + (y * pool.width + x) * pool.depth + at.first;
      for (int64_t c = 0; c < Count; ++c)
        sums[c] += pixel[c];
    }
  auto count = static_cast<int32_t>(std::max<int64_t>(0, at.y1 - at.y0) * std::max<int64_t>(0, at.x1 - at.x0));
  count = std::max(count, 1);
  for (int64_t c = 0; c < Count; ++c) {
    Bound<T> value = sums[c];
    if constexpr (isFloat<T>)
      value /= static_cast<float>(count);
    else // a quotient of integers of 32 bits, cut off, is the one of the doubles
      value = static_cast<int32_t>((value > 0 ? value + count / 2 : value - count / 2) / double(count));
    clamp(value, pool.low, pool.high);
    at.to[at.first + c] = static_cast<T>(value);
  }
}

/// Some channels are computed side by side, the last ones with some before them once more.
template <class T, bool Average> [[gnu::always_inline]] inline void poolRow(const Pool<T> &pool, int64_t row) {
  constexpr int64_t most = Average ? 32 : 64 / sizeof(T), least = Average ? 4 : 16 / sizeof(T);
  const int64_t depth = pool.depth;
  int64_t top = row % pool.rows * pool.strideH - pool.above;
  Window<T> at = {pool.image + row / pool.rows * pool.height * pool.width * depth,
                  pool.result + row * pool.columns * depth,
                  std::max<int64_t>(top, 0),
                  std::min(top + pool.windowHeight, pool.height),
                  0,
                  0,
                  0};
  for (int64_t ox = 0; ox < pool.columns; ++ox, at.to += depth) {
    int64_t left = ox * pool.strideW - pool.before;
    at.x0 = std::max<int64_t>(left, 0);
    at.x1 = std::min(left + pool.windowWidth, pool.width);
    int64_t next = 0;
    auto some = [&](auto channels) __attribute__((always_inline)) {
      for (; depth - next >= channels; next += channels) {
        at.first = next;
        if constexpr (Average)
          averageChannels<T, channels>(pool, at);
        else
          maxChannels<T, channels>(pool, at);
      }
    };
    some(std::integral_constant<int64_t, most>());
    some(std::integral_constant<int64_t, least>());
    if (next < depth && depth >= least)
      next = depth - least;
    some(std::integral_constant<int64_t, least>());
    some(std::integral_constant<int64_t, 1>());
  }
}

template <class T> using Row = void (*)(const Pool<T> &, int64_t row);
template <class T, bool Average> void rowPlain(const Pool<T> &pool, int64_t row) { poolRow<T, Average>(pool, row); }
template <class T, bool Average> ORIGO_AVX2 void rowAvx2(const Pool<T> &pool, int64_t row) {
  poolRow<T, Average>(pool, row);
}
template <class T, bool Average> ORIGO_AVX512BW void rowAvx512(const Pool<T> &pool, int64_t row) {
  poolRow<T, Average>(pool, row);
}
template <class T, bool Average> Row<T> rowHere() {
  return forThisProcessorsBytes<Row<T>>(rowPlain<T, Average>, rowAvx2<T, Average>, rowAvx512<T, Average>);
}

template <class T> std::unique_ptr<FastKernel> pool(const FastSite &site) {
  const auto &options = site.options<circle::Pool2DOptions>();
  if (site.output().type != site.type(0))
    return nullptr;
  // Sums of so many have 32 bits.
  if (options.filter_height() <= 0 || options.filter_width() <= 0 || options.stride_h() <= 0 ||
      options.stride_w() <= 0 || int64_t(options.filter_height()) * options.filter_width() > 1 << 15)
    return nullptr;
  Pool<T> pool = {};
  if constexpr (isFloat<T>) {
    auto range = clampRange<float>(options.fused_activation_function(), site.output());
    if (!range)
      return nullptr;
    std::tie(pool.low, pool.high) = *range;
  } else {
    std::tie(pool.low, pool.high) = quantizedActivationRange<T>(options.fused_activation_function(), site.output());
  }
  pool.windowHeight = options.filter_height();
  pool.windowWidth = options.filter_width();
  pool.strideH = options.stride_h();
  pool.strideW = options.stride_w();
  bool average = site.op.code == BuiltinOperator::AVERAGE_POOL_2D;
  return fastKernel([pool, row = average ? rowHere<T, true>() : rowHere<T, false>()](Operands in, Operands out,
                                                                                     pthreadpool_t threads) mutable {
    const Tensor &x = *in[0], &y = *out[0];
    if (x.rank() != 4 || x.count() == 0 || y.count() == 0)
      return false;
    pool.image = dataOf<T>(x);
    pool.result = dataOf<T>(*out[0]);
    pool.height = x.dim(1);
    pool.width = x.dim(2);
    pool.depth = x.dim(3);
    pool.rows = y.dim(1);
    pool.columns = y.dim(2);
    pool.above = paddingBefore(pool.height, pool.rows, pool.windowHeight, pool.strideH);
    pool.before = paddingBefore(pool.width, pool.columns, pool.windowWidth, pool.strideW);
    parallelFor(threads, static_cast<size_t>(y.dim(0) * pool.rows), 1,
                [&](size_t first, size_t) { row(pool, static_cast<int64_t>(first)); });
    return true;
  });
}

std::unique_ptr<FastKernel> pool(const FastSite &site) {
  switch (site.type(0)) {
  case TensorType::FLOAT32:
    return pool<float>(site);
  case TensorType::INT8:
    return pool<int8_t>(site);
  case TensorType::UINT8:
    return pool<uint8_t>(site);
  case TensorType::INT16:
    return pool<int16_t>(site);
  default:
    return nullptr;
  }
}

} // namespace

llvm::ArrayRef<FastRow> fastPooling() {
  static const FastRow rows[] = {{BuiltinOperator::AVERAGE_POOL_2D, pool}, {BuiltinOperator::MAX_POOL_2D, pool}};
  return rows;
}

} // namespace origo::eval
