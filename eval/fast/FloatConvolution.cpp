#include "eval/fast/FloatWindows.h"
#include "eval/fast/Regions.h"

/// CONV_2D of floats, all channels of a filter in one group.
namespace origo::eval {

namespace {

/// What a tile of pixels needs to know.
struct Job {
  const float *image;
  float *result;
  const float *packed;
  int64_t depth, resultDepth, windowWidth, taps; ///< taps: elements of a window
  int64_t rowStep, columnStep;                   ///< in the image, from one place of a window to the next
  float low, high;
};

/// A part of all windows of a tile, and the channels of the result that are wanted: from a multiple of two vectors on.
struct Part {
  int64_t rowBegin, rowEnd, columnBegin, columnEnd, firstChannel, endChannel;
};

/// The first `count` numbers.
template <class V> [[gnu::always_inline]] inline void storeSome(float *to, const V &numbers, int64_t count) {
  if (count >= lanesOf<V>) {
    store(to, numbers);
    return;
  }
  alignas(64) float list[lanesOf<V>];
  store(list, numbers);
  // Without a loop, which would become a call.
  const float *from = list;
  auto pieceOf = [&](auto size) __attribute__((always_inline)) {
    if (count & size) {
      std::memcpy(to, from, size * sizeof(float));
      from += size;
      to += size;
    }
  };
  if constexpr (lanesOf<V> == 16)
    pieceOf(std::integral_constant<int64_t, 8>());
  pieceOf(std::integral_constant<int64_t, 4>());
  pieceOf(std::integral_constant<int64_t, 2>());
  pieceOf(std::integral_constant<int64_t, 1>());
}

/// `Rows` pixels times `Wide` vectors of channels; `weights` are those of these channels, behind their bias.
template <class V, int Rows, int Wide>
[[gnu::always_inline]] inline void tile(const Job &job, const Part &part, const float *weights, const int64_t *from,
                                        const int64_t *to, int64_t channels) {
  constexpr int64_t lanes = lanesOf<V>;
  V sums[Rows][Wide];
  for (int v = 0; v < Wide; ++v) {
    V bias;
    load(bias, weights + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
      sums[r][v] = bias;
  }
  weights += Wide * lanes;
  // Neighbours in a row of the image are neighbours in memory.
  bool together = job.columnStep == job.depth;
  int64_t pieces = together ? 1 : part.columnEnd - part.columnBegin;
  int64_t length = together ? (part.columnEnd - part.columnBegin) * job.depth : job.depth;
  for (int64_t y = part.rowBegin; y < part.rowEnd; ++y)
    for (int64_t piece = 0; piece < pieces; ++piece) {
      int64_t x = part.columnBegin + piece;
      const float *left[Rows];
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r)
        left[r] = job.image + (from[r] + y * job.rowStep + x * job.columnStep);
      const float *right = weights + (y * job.windowWidth + x) * job.depth * (Wide * lanes);
      for (int64_t k = 0; k < length; ++k, right += Wide * lanes) {
        V b[Wide];
#pragma GCC unroll 2
        for (int v = 0; v < Wide; ++v)
          load(b[v], right + v * lanes);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
          float a = left[r][k];
#pragma GCC unroll 2
          for (int v = 0; v < Wide; ++v)
            sums[r][v] += a * b[v];
        }
      }
    }
  const V low = job.low - V{}, high = job.high - V{};
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Wide; ++v) {
      V sum = sums[r][v];
      sum = sum > low ? sum : low;
      sum = sum < high ? sum : high;
      if (channels > v * lanes)
        storeSome<V>(job.result + to[r] + v * lanes, sum, channels - v * lanes);
    }
}

/// Channels of up to 64 pixels: weights are read once for all of them.
template <class V, int Most>
[[gnu::always_inline]] inline void pixels(const Job &job, const Part &part, const int64_t *from, const int64_t *to,
                                          int64_t count) {
  constexpr int64_t lanes = lanesOf<V>;
  int64_t tiles = (count + Most - 1) / Most;
  const float *weights = job.packed + part.firstChannel * (job.taps + 1);
  int64_t places[Windows::most];
  for (int64_t first = part.firstChannel; first < part.endChannel;) {
    int64_t channels = job.resultDepth - first, wide = channels > lanes ? 2 : 1;
    for (int64_t i = 0; i < count; ++i)
      places[i] = to[i] + first;
    for (int64_t t = 0; t < tiles; ++t) {
      int64_t begin = count * t / tiles, rows = count * (t + 1) / tiles - begin;
#define TILE(Rows)                                                                                                     \
  case Rows:                                                                                                           \
    if (wide == 2)                                                                                                     \
      tile<V, Rows, 2>(job, part, weights, from + begin, places + begin, channels);                                    \
    else                                                                                                               \
      tile<V, Rows, 1>(job, part, weights, from + begin, places + begin, channels);                                    \
    break;
      switch (rows) {
        TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) default : if constexpr (Most == 8) {
          switch (rows) { TILE(7) TILE(8) }
        }
      }
#undef TILE
    }
    weights += wide * lanes * (job.taps + 1);
    first += wide * lanes;
  }
}

using Pixels = void (*)(const Job &, const Part &, const int64_t *, const int64_t *, int64_t);
ORIGO_AVX2 void pixelsAvx2(const Job &job, const Part &part, const int64_t *from, const int64_t *to, int64_t count) {
  pixels<Vector8, 6>(job, part, from, to, count);
}
ORIGO_AVX512 void pixelsAvx512(const Job &job, const Part &part, const int64_t *from, const int64_t *to,
                               int64_t count) {
  pixels<Vector16, 8>(job, part, from, to, count);
}

class Convolution : public FastKernel {
public:
  Convolution(const Conv &conv, std::pair<float, float> range, int64_t lanes) : conv(conv), lanes(lanes) {
    job.depth = static_cast<int64_t>(conv.groupIn);
    job.resultDepth = static_cast<int64_t>(conv.groupOut);
    job.windowWidth = conv.width;
    job.taps = conv.height * conv.width * job.depth;
    windows.depth = job.depth;
    windows.resultDepth = job.resultDepth;
    job.low = range.first;
    job.high = range.second;
    // Blocks of two vectors of channels, a last one of one where that is enough: bias, then the elements of the window.
    int64_t padded = (job.resultDepth + lanes - 1) / lanes * lanes;
    if (!packed.allocate(static_cast<uint64_t>(padded * (job.taps + 1)) * sizeof(float)))
      return;
    auto *to = reinterpret_cast<float *>(packed.data.get());
    const float *filter = dataOf<float>(*conv.filter), *bias = conv.bias ? dataOf<float>(*conv.bias) : nullptr;
    for (int64_t first = 0; first < job.resultDepth;) {
      int64_t block = job.resultDepth - first > lanes ? 2 * lanes : lanes;
      int64_t count = std::min(block, job.resultDepth - first);
      for (int64_t c = 0; c < block; ++c)
        *to++ = bias && c < count ? bias[first + c] : 0;
      if (count < block)
        std::fill_n(to, block * job.taps, 0.0f);
      // A line of the cache of each channel at a time.
      for (int64_t begin = 0; begin < job.taps; begin += 16)
        for (int64_t c = 0; c < count; ++c)
          for (int64_t k = begin; k < std::min(begin + 16, job.taps); ++k)
            to[k * block + c] = filter[(first + c) * job.taps + k];
      to += block * job.taps;
      first += block;
    }
    job.packed = reinterpret_cast<const float *>(packed.data.get());
  }

  bool run(Operands in, Operands out, pthreadpool_t threads) override {
    static const Pixels compute = forThisProcessor<Pixels>(nullptr, pixelsAvx2, pixelsAvx512);
    const Tensor &x = *in[0], &y = *out[0];
    if (!packed.data || x.rank() != 4 || x.dim(3) != job.depth)
      return false;
    WindowAxis vertical = conv.axis(x, y, 0), horizontal = conv.axis(x, y, 1);
    // A column is a row, whose windows are in one piece.
    bool turn = vertical.result > 1 && horizontal.image == 1 && horizontal.result == 1 && conv.width == 1;
    Job now = job;
    if (turn) {
      std::swap(vertical, horizontal);
      now.windowWidth = conv.height;
    }
    if (!windows.arrange(vertical, horizontal, x.dim(0), 0))
      return false;
    now.image = windows.over(dataOf<float>(x));
    now.result = dataOf<float>(*out[0]);
    now.columnStep = windows.horizontal.dilation * job.depth;
    now.rowStep = windows.vertical.dilation * windows.horizontal.image * job.depth;
    auto channels = [&](pthreadpool_t helpers, int64_t first, int64_t end) {
      windows.each(helpers, [&](const Interval &rows, const Interval &columns, const int64_t *from, const int64_t *to,
                                int64_t count) {
        compute(now, {rows.begin, rows.end, columns.begin, columns.end, first, end}, from, to, count);
      });
    };
    // Threads divide the larger one, the image or the weights: each reads the other one whole. A thread keeps its part
    // of the weights from run to run, in its own cache. Where that holds all weights, threads divide the image if it
    // has pixels for them: what one has computed, it reads again in the next operator.
    constexpr int64_t weightsInCache = 1 << 16, fewPixels = 16;
    int64_t block = 2 * lanes, blocks = (job.resultDepth + block - 1) / block, weights = job.taps * job.resultDepth;
    bool dividesImage = x.count() >= weights || (weights <= weightsInCache && y.count() / job.resultDepth >= fewPixels);
    if (!threads || blocks < 2 || dividesImage) {
      channels(threads, 0, job.resultDepth);
      return true;
    }
    int64_t parts = static_cast<int64_t>(pthreadpool_get_threads_count(threads));
    parallelFor(threads, static_cast<size_t>(blocks), static_cast<size_t>((blocks + parts - 1) / parts),
                [&](size_t first, size_t count) {
                  auto begin = static_cast<int64_t>(first) * block;
                  channels(nullptr, begin, std::min(begin + static_cast<int64_t>(count) * block, job.resultDepth));
                });
    return true;
  }

private:
  Conv conv;
  int64_t lanes;
  Job job = {};
  Block packed;
  ImageWindows<float> windows;
};

} // namespace

std::unique_ptr<FastKernel> floatConvolution(const Conv &conv, std::pair<float, float> range) {
  if (processor() == Processor::Plain || conv.groups != 1)
    return nullptr;
  return std::make_unique<Convolution>(conv, range, processor() >= Processor::Avx512 ? 16 : 8);
}

} // namespace origo::eval
