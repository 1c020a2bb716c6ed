#include "eval/Shapes.h"
#include "eval/fast/Parallel.h"
#include "eval/fast/Processor.h"
#include "eval/fast/Xnnpack.h"

/// Pooling of 8 and 16 bit numbers that XNNPACK has not.
namespace origo::eval {

namespace {

template <class T> struct Pool {
  const T *image;
  T *result;
  int64_t height, width, depth, rows, columns, windowHeight, windowWidth, strideH, strideW, above, before;
  int32_t low, high;
};

/// Some channels are computed side by side.
template <class T, bool Average> [[gnu::always_inline]] inline void poolRow(const Pool<T> &pool, int64_t row) {
  using Partial = std::conditional_t<Average, int32_t, T>;
  constexpr int64_t some = Average ? 32 : 64;
  const int64_t depth = pool.depth;
  const T *image = pool.image + row / pool.rows * pool.height * pool.width * depth;
  T *to = pool.result + row * pool.columns * depth;
  int64_t top = row % pool.rows * pool.strideH - pool.above;
  int64_t y0 = std::max<int64_t>(top, 0), y1 = std::min(top + pool.windowHeight, pool.height);
  for (int64_t ox = 0; ox < pool.columns; ++ox) {
    int64_t left = ox * pool.strideW - pool.before;
    int64_t x0 = std::max<int64_t>(left, 0), x1 = std::min(left + pool.windowWidth, pool.width);
    auto count = static_cast<int32_t>(std::max<int64_t>(0, y1 - y0) * std::max<int64_t>(0, x1 - x0));
    for (int64_t first = 0; first < depth; first += some) {
      int64_t channels = std::min(some, depth - first);
      Partial partial[some];
      std::fill_n(partial, some, Average ? Partial(0) : std::numeric_limits<Partial>::lowest());
      auto add = [&](const T *pixel, int64_t c) __attribute__((always_inline)) {
        if constexpr (Average)
          partial[c] += pixel[c];
        else
          partial[c] = std::max(partial[c], pixel[c]);
      };
      for (int64_t y = y0; y < y1; ++y)
        for (int64_t x = x0; x < x1; ++x) {
          const T *pixel = image + (y * pool.width + x) * depth + first;
          if (channels == some)
            for (int64_t c = 0; c < some; ++c)
              add(pixel, c);
          else
            for (int64_t c = 0; c < channels; ++c)
              add(pixel, c);
        }
      // A quotient of whole numbers of 32 bits, cut off, is the one of the doubles.
      for (int64_t c = 0; c < channels; ++c) {
        int32_t value = partial[c];
        if constexpr (Average)
          value =
              static_cast<int32_t>((value > 0 ? value + count / 2 : value - count / 2) / double(std::max(count, 1)));
        *to++ = static_cast<T>(std::clamp(value, pool.low, pool.high));
      }
    }
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
  if (!sameQuantization(site.op.operand(0)->quantization, site.op.result()->quantization))
    return nullptr; // to be rescaled
  // Sums of so many have 32 bits.
  if (options.filter_height() <= 0 || options.filter_width() <= 0 || options.stride_h() <= 0 ||
      options.stride_w() <= 0 || int64_t(options.filter_height()) * options.filter_width() > 1 << 15)
    return nullptr;
  Pool<T> pool = {};
  std::tie(pool.low, pool.high) = quantizedActivationRange<T>(options.fused_activation_function(), site.output());
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

std::unique_ptr<FastKernel> integerPool(const FastSite &site) {
  switch (site.type(0)) {
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

llvm::ArrayRef<FastRow> fastIntegerWindow() {
  static const FastRow rows[] = {{BuiltinOperator::AVERAGE_POOL_2D, integerPool},
                                 {BuiltinOperator::MAX_POOL_2D, integerPool}};
  return rows;
}

} // namespace origo::eval
