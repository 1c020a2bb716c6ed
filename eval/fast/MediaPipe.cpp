#include "eval/kernels/MediaPipe.h"
#include "eval/Shapes.h"
#include "eval/fast/MatMul.h"
#include "eval/fast/Parallel.h"
#include "eval/fast/Processor.h"
#include "eval/fast/Reduce.h"
#include "eval/fast/Xnnpack.h"

#include <atomic>

/// MediaPipe's custom operators of floats.
namespace origo::eval {

namespace {

using Pool = MediaPipePool;

std::optional<Pool> poolOf(const FastSite &site, size_t count) {
  auto pool = Pool::of(site, count);
  if (pool)
    return *pool;
  llvm::consumeError(pool.takeError());
  return std::nullopt;
}

/// One product gives what each pixel adds at all places of its window; then each row of the result takes what reaches
/// it.
class Transposed {
public:
  Transposed(const Pool &pool, const Tensor &filter, const Tensor &bias)
      : pool(pool), channels(filter.dim(0)), rows(filter.dim(1)), columns(filter.dim(2)), depth(filter.dim(3)),
        biases(dataOf<float>(bias), dataOf<float>(bias) + channels) {
    std::vector<float> places; // (row, column, output channel), input channel
    for (int64_t place = 0; place < rows * columns; ++place)
      for (int64_t c = 0; c < channels; ++c) {
        const float *from = dataOf<float>(filter) + (c * rows * columns + place) * depth;
        places.insert(places.end(), from, from + depth);
      }
    weights.pack({places.data(), 1, depth}, depth, window());
  }

  bool run(Operands in, Operands out, pthreadpool_t threads) {
    const Tensor &x = *in[0];
    bool same = pool.padding == Pool::Padding::Same;
    TransposedAxis vertical{x.dim(1), pool.strideY, rows, same}, horizontal{x.dim(2), pool.strideX, columns, same};
    int64_t height = out[0]->dim(1), width = out[0]->dim(2), line = horizontal.in * window();
    int64_t top = vertical.before(), left = horizontal.before();
    // As many rows of the image as fit into a cache, with what they add.
    int64_t some = std::clamp<int64_t>((int64_t(1) << 16) / std::max<int64_t>(line, 1), 1, vertical.in);
    sums.resize(static_cast<size_t>(some * line));
    for (int64_t b = 0; b < x.dim(0); ++b) {
      const float *image = dataOf<float>(x) + b * vertical.in * horizontal.in * depth;
      float *result = dataOf<float>(*out[0]) + b * height * width * channels;
      int64_t begun = 0; // rows of the result that have their bias
      for (int64_t first = 0; first < vertical.in; first += some) {
        int64_t count = std::min(some, vertical.in - first);
        weights.multiply({image + first * horizontal.in * depth, depth, 1}, count * horizontal.in, nullptr, sums.data(),
                         threads);
        int64_t from = std::max<int64_t>(0, first * pool.strideY - top);
        // The last ones go on to the end: strides above the filter leave rows to nobody.
        int64_t end = first + count == vertical.in
                          ? height
                          : std::min(height, (first + count - 1) * pool.strideY - top + std::max(rows, pool.strideY));
        parallelFor(threads, static_cast<size_t>(std::max<int64_t>(0, end - from)), 8, [&](size_t at, size_t number) {
          for (int64_t y = from + static_cast<int64_t>(at), last = y + static_cast<int64_t>(number); y < last; ++y) {
            float *to = result + y * width * channels;
            if (y >= begun)
              for (int64_t i = 0; i < width; ++i)
                std::copy_n(biases.data(), channels, to + i * channels);
            int64_t reached = y + top, iy = std::max(first, reached < rows ? 0 : (reached - rows) / pool.strideY + 1);
            for (; iy < first + count && iy * pool.strideY <= reached; ++iy)
              addRow(sums.data() + (iy - first) * line + (reached - iy * pool.strideY) * columns * channels,
                     horizontal.in, to, left, width);
          }
        });
        begun = std::max(begun, end);
      }
    }
    return true;
  }

private:
  Pool pool;
  int64_t channels, rows, columns, depth;
  std::vector<float> biases, sums;
  PackedFloats weights;

  int64_t window() const { return rows * columns * channels; }
  void addRow(const float *from, int64_t pixels, float *to, int64_t left, int64_t width) const {
    for (int64_t ix = 0; ix < pixels; ++ix, from += window()) {
      int64_t at = ix * pool.strideX - left;
      int64_t begin = std::max<int64_t>(0, -at) * channels, end = std::min(columns, width - at) * channels;
      for (int64_t i = begin; i < end; ++i)
        to[at * channels + i] += from[i];
    }
  }
};

std::unique_ptr<FastKernel> transposed(const FastSite &site) {
  auto pool = poolOf(site, 3);
  const Tensor *filter = site.constant(1), *bias = site.constant(2);
  if (!pool || !filter || filter->rank() != 4 || filter->count() == 0 || !bias || bias->count() != filter->dim(0))
    return nullptr;
  return fastKernel(
      [made = Transposed(*pool, *filter, *bias)](Operands in, Operands out, pthreadpool_t threads) mutable {
        return made.run(in, out, threads);
      });
}

/// Numbers of a pixel, from one channel on.
struct Pixels {
  const float *from;
  float *most, *where;
  int64_t channels, rowStep, columnStep; ///< of `from`
  int64_t firstY, endY, firstX, endX, windowWidth;
  float low, high;
};

/// The same code for numbers and for many of them at once.
template <class V> [[gnu::always_inline]] inline void poolChannels(const Pixels &p, int64_t channel) {
  V most = V{} + std::numeric_limits<float>::lowest(), where{}, next;
  for (int64_t y = p.firstY; y < p.endY; ++y)
    for (int64_t x = p.firstX; x < p.endX; ++x) {
      std::memcpy(&next, p.from + y * p.rowStep + x * p.columnStep + channel, sizeof next);
      V here = V{} + static_cast<float>(y * p.windowWidth + x);
      where = next > most ? here : where;
      most = next > most ? next : most;
    }
  V low = V{} + p.low, high = V{} + p.high;
  most = most < low ? low : most;
  most = most > high ? high : most;
  where += 0.1f;
  std::memcpy(p.most + channel, &most, sizeof most);
  std::memcpy(p.where + channel, &where, sizeof where);
}

[[gnu::always_inline]] inline void poolPixel(const Pixels &p) {
  int64_t c = 0;
  for (; c + width <= p.channels; c += width)
    poolChannels<Wide>(p, c);
  for (; c < p.channels; ++c)
    poolChannels<float>(p, c);
}
void poolPlain(const Pixels &p) { poolPixel(p); }
ORIGO_AVX2 void poolAvx2(const Pixels &p) { poolPixel(p); }
ORIGO_AVX512 void poolAvx512(const Pixels &p) { poolPixel(p); }

std::unique_ptr<FastKernel> pooled(const FastSite &site) {
  auto pool = poolOf(site, 6);
  // Above this a float does not say where.
  if (!pool || times(pool->height, pool->width) > 1 << 20)
    return nullptr;
  auto range = clampRange<float>(pool->activation, site.output());
  if (!range)
    return nullptr;
  return fastKernel([=, pool = *pool](Operands in, Operands out, pthreadpool_t threads) {
    static const auto compute = forThisProcessor(poolPlain, poolAvx2, poolAvx512);
    const Tensor &x = *in[0];
    int64_t height = x.dim(1), width = x.dim(2), channels = x.dim(3), rows = out[0]->dim(1), columns = out[0]->dim(2);
    bool same = pool.padding == Pool::Padding::Same;
    int64_t above = same ? paddingBefore(height, rows, pool.height, pool.strideY) : 0;
    int64_t before = same ? paddingBefore(width, columns, pool.width, pool.strideX) : 0;
    parallelFor(threads, static_cast<size_t>(x.dim(0) * rows), 4, [&](size_t first, size_t count) {
      for (int64_t row = static_cast<int64_t>(first), end = row + static_cast<int64_t>(count); row < end; ++row)
        for (int64_t column = 0; column < columns; ++column) {
          int64_t top = row % rows * pool.strideY - above, left = column * pool.strideX - before;
          int64_t to = (row * columns + column) * channels;
          Pixels p{dataOf<float>(x) + ((row / rows * height + top) * width + left) * channels,
                   dataOf<float>(*out[0]) + to,
                   dataOf<float>(*out[1]) + to,
                   channels,
                   width * channels,
                   channels,
                   std::max<int64_t>(0, -top),
                   std::min(pool.height, height - top),
                   std::max<int64_t>(0, -left),
                   std::min(pool.width, width - left),
                   pool.width,
                   range->first,
                   range->second};
          compute(p);
        }
    });
    return true;
  });
}

/// All places of a window that nobody else writes to, for one pixel.
struct Unpooled {
  const float *from, *index;
  float *to;
  int64_t channels, rowStep, height, width;
};

/// False: an index is no place of the window.
template <class V> [[gnu::always_inline]] inline bool unpoolChannels(const Unpooled &u, int64_t channel) {
  V value, index, none{};
  std::memcpy(&value, u.from + channel, sizeof value);
  std::memcpy(&index, u.index + channel, sizeof index);
  V number{}, places = none;
  for (int64_t y = 0; y < u.height; ++y)
    for (int64_t x = 0; x < u.width; ++x, number += 1.f) {
      V above = index >= number ? none + 1.f : none;
      V hit = index < number + 1.f ? above : none;
      V put = hit > none ? value : none;
      places += hit;
      std::memcpy(u.to + y * u.rowStep + x * u.channels + channel, &put, sizeof put);
    }
  float found[sizeof(V) / sizeof(float)];
  std::memcpy(found, &places, sizeof found);
  return std::find(std::begin(found), std::end(found), 0.f) == std::end(found);
}

[[gnu::always_inline]] inline bool unpoolPixel(const Unpooled &u) {
  bool good = true;
  int64_t c = 0;
  for (; c + width <= u.channels; c += width)
    good &= unpoolChannels<Wide>(u, c);
  for (; c < u.channels; ++c)
    good &= unpoolChannels<float>(u, c);
  return good;
}
bool unpoolPlain(const Unpooled &u) { return unpoolPixel(u); }
ORIGO_AVX2 bool unpoolAvx2(const Unpooled &u) { return unpoolPixel(u); }
ORIGO_AVX512 bool unpoolAvx512(const Unpooled &u) { return unpoolPixel(u); }

std::unique_ptr<FastKernel> unpooled(const FastSite &site) {
  auto pool = poolOf(site, 5);
  // Windows that lie side by side: each place belongs to one pixel.
  if (!pool || site.type(1) != TensorType::FLOAT32 || pool->strideY != pool->height || pool->strideX != pool->width ||
      times(pool->height, pool->width) > 1 << 20)
    return nullptr;
  return fastKernel([pool = *pool](Operands in, Operands out, pthreadpool_t threads) {
    static const auto compute = forThisProcessor(unpoolPlain, unpoolAvx2, unpoolAvx512);
    const Tensor &x = *in[0];
    int64_t columns = x.dim(2), channels = x.dim(3), row = columns * pool.width * channels;
    std::atomic<bool> good = true;
    parallelFor(threads, static_cast<size_t>(x.dim(0) * x.dim(1)), 4, [&](size_t first, size_t count) {
      for (int64_t at = static_cast<int64_t>(first), end = at + static_cast<int64_t>(count); at < end; ++at)
        for (int64_t column = 0; column < columns; ++column) {
          int64_t pixel = (at * columns + column) * channels;
          if (!compute({dataOf<float>(x) + pixel, dataOf<float>(*in[1]) + pixel,
                        dataOf<float>(*out[0]) + at * pool.height * row + column * pool.width * channels, channels, row,
                        pool.height, pool.width}))
            good = false;
        }
    });
    return good.load(); // the reference kernel says which one is not
  });
}

std::unique_ptr<FastKernel> mediaPipe(const FastSite &site) {
  llvm::StringRef name = site.op.customCode();
  auto make = name == "Convolution2DTransposeBias" ? transposed
              : name == "MaxPoolingWithArgmax2D"   ? pooled
              : name == "MaxUnpooling2D"           ? unpooled
                                                   : nullptr;
  return make ? make(site) : nullptr;
}

} // namespace

llvm::ArrayRef<FastRow> fastMediaPipe() {
  static const FastRow rows[] = {{BuiltinOperator::CUSTOM, mediaPipe}};
  return rows;
}

} // namespace origo::eval
