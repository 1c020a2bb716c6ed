#include "eval/fast/FloatWindows.h"
#include "eval/fast/Regions.h"
#include "eval/fast/Transpose.h"

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

  /// Where a vector of channels begins. The last one may within the one before it, so that it is stored whole; where
  /// threads divide channels, two of them then store the same numbers there.
  int64_t place(int64_t channel, int64_t lanes) const {
    return std::max<int64_t>(0, std::min(channel, resultDepth - lanes));
  }
};

/// A part of all windows of a tile, and the channels of the result that are wanted: from a multiple of two vectors on.
struct Part {
  int64_t rowBegin, rowEnd, firstChannel, endChannel;
  int64_t pieces, length;   ///< of a row of the window: what lies side by side in the image
  int64_t start, skipped;   ///< the first element, in the image and in the window
  int64_t nextRow, between; ///< from a row's last piece to the next row, in the image and in the window
};

Part partOf(const Job &job, const Interval &rows, const Interval &columns, int64_t firstChannel, int64_t endChannel) {
  bool together = job.columnStep == job.depth; // neighbours in a row of the image are neighbours in memory
  int64_t width = columns.end - columns.begin, pieces = together ? std::min<int64_t>(1, width) : width;
  return {rows.begin,
          rows.end,
          firstChannel,
          endChannel,
          pieces,
          together ? width * job.depth : job.depth,
          rows.begin * job.rowStep + columns.begin * job.columnStep,
          (rows.begin * job.windowWidth + columns.begin) * job.depth,
          job.rowStep - std::max<int64_t>(0, pieces - 1) * job.columnStep,
          (job.windowWidth - width) * job.depth};
}

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

/// `Rows` pixels times `Wide` vectors of channels from `channel` on; `weights` are those of these channels, behind
/// their bias.
template <class V, int Rows, int Wide>
[[gnu::always_inline]] inline void tile(const Job &job, const Part &part, const float *weights, const int64_t *from,
                                        const int64_t *to, int64_t channel) {
  constexpr int64_t lanes = lanesOf<V>, step = Wide * lanes;
  float *results[Wide];
  for (int v = 0; v < Wide; ++v)
    results[v] = job.result + job.place(channel + v * lanes, lanes);
  V sums[Rows][Wide];
  for (int v = 0; v < Wide; ++v) {
    V bias;
    load(bias, weights + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
      sums[r][v] = bias;
  }
  weights += step;
  const float *left[Rows], *right = weights + part.skipped * step;
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    left[r] = job.image + (from[r] + part.start);
    asm("" : "+r"(left[r])); // not as distances from each other, which take more registers
  }
  for (int64_t y = part.rowBegin; y < part.rowEnd; ++y, right += part.between * step)
    for (int64_t piece = 1; piece <= part.pieces; ++piece) {
      for (int64_t k = 0; k < part.length; ++k, right += step) {
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
      int64_t next = piece < part.pieces ? job.columnStep : part.nextRow;
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r)
        left[r] += next;
    }
  const V low = job.low - V{}, high = job.high - V{};
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Wide; ++v) {
      V sum = sums[r][v];
      clamp(sum, low, high);
      if (Wide > 1 || job.resultDepth >= lanes)
        store(results[v] + to[r], sum);
      else
        storeSome<V>(results[v] + to[r], sum, job.resultDepth);
    }
}

using Tile = void (*)(const Job &, const Part &, const float *weights, const int64_t *from, const int64_t *to,
                      int64_t channel);
// Functions of their own, so that each has all registers.
struct Avx2 {
  using Vector = Vector8;
  template <int Rows, int Wide>
  [[gnu::noinline]] ORIGO_AVX2 static void run(const Job &job, const Part &part, const float *weights,
                                               const int64_t *from, const int64_t *to, int64_t channel) {
    tile<Vector, Rows, Wide>(job, part, weights, from, to, channel);
  }
};
struct Avx512 {
  using Vector = Vector16;
  template <int Rows, int Wide>
  [[gnu::noinline]] ORIGO_AVX512 static void run(const Job &job, const Part &part, const float *weights,
                                                 const int64_t *from, const int64_t *to, int64_t channel) {
    tile<Vector, Rows, Wide>(job, part, weights, from, to, channel);
  }
};

struct Tiles {
  int64_t lanes, most; ///< most: rows of one
  Tile at[2][8];       ///< by `Wide - 1`, `Rows - 1`
};
template <class For, int... Rows> constexpr Tiles tilesOf(std::integer_sequence<int, Rows...>) {
  return {lanesOf<typename For::Vector>,
          sizeof...(Rows),
          {{&For::template run<Rows + 1, 1>...}, {&For::template run<Rows + 1, 2>...}}};
}
constexpr Tiles tilesAvx2 = tilesOf<Avx2>(std::make_integer_sequence<int, 6>());
constexpr Tiles tilesAvx512 = tilesOf<Avx512>(std::make_integer_sequence<int, 8>());

/// Channels of some pixels: weights are read once for all of them.
void pixels(const Tiles &tiles, const Job &job, const Part &part, const int64_t *from, const int64_t *to,
            int64_t count) {
  int64_t groups = (count + tiles.most - 1) / tiles.most;
  const float *weights = job.packed + part.firstChannel * (job.taps + 1);
  for (int64_t first = part.firstChannel; first < part.endChannel;) {
    int64_t wide = job.resultDepth - first > tiles.lanes ? 2 : 1;
    for (int64_t g = 0; g < groups; ++g) {
      int64_t begin = count * g / groups, rows = count * (g + 1) / groups - begin;
      tiles.at[wide - 1][rows - 1](job, part, weights, from + begin, to + begin, first);
    }
    weights += wide * tiles.lanes * (job.taps + 1);
    first += wide * tiles.lanes;
  }
}

class Convolution : public LeadingKernel {
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
      if (job.resultDepth < lanes)
        std::fill_n(to, block * (job.taps + 1), 0.0f);
      for (int64_t v = 0; v < block; v += lanes) {
        int64_t place = job.place(first + v, lanes), count = std::min(lanes, job.resultDepth);
        for (int64_t c = 0; c < count; ++c)
          to[v + c] = bias ? bias[place + c] : 0;
        transposeRows(filter + place * job.taps, job.taps, count, job.taps, to + block + v, block);
      }
      to += block * (job.taps + 1);
      first += block;
    }
    job.packed = reinterpret_cast<const float *>(packed.data.get());
  }

  bool runThen(Operands in, Operands out, pthreadpool_t threads, const Behind &behind) override {
    const Tiles &tiles = lanes == 16 ? tilesAvx512 : tilesAvx2;
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
    now.image = windows.over(dataOf<float>(x), threads);
    now.result = dataOf<float>(*out[0]);
    now.columnStep = windows.horizontal.dilation * job.depth;
    now.rowStep = windows.vertical.dilation * windows.horizontal.image * job.depth;
    auto channels = [&](pthreadpool_t helpers, int64_t first, int64_t end, const Behind &behind) {
      windows.each(
          helpers,
          [&](const Interval &rows, const Interval &columns, const int64_t *from, const int64_t *to, int64_t count) {
            Part part = partOf(now, rows, columns, first, end);
            pixels(tiles, now, part, from, to, count);
          },
          behind);
    };
    int64_t block = 2 * lanes, blocks = (job.resultDepth + block - 1) / block, weights = job.taps * job.resultDepth;
    if (!threads || blocks < 2 || !dividesWeights(x.count(), weights, y.count() / job.resultDepth)) {
      channels(threads, 0, job.resultDepth, behind);
      return true;
    }
    int64_t parts = static_cast<int64_t>(pthreadpool_get_threads_count(threads));
    parallelFor(threads, static_cast<size_t>(blocks), static_cast<size_t>((blocks + parts - 1) / parts),
                [&](size_t first, size_t count) {
                  auto begin = static_cast<int64_t>(first) * block;
                  channels(nullptr, begin, std::min(begin + static_cast<int64_t>(count) * block, job.resultDepth),
                           std::nullopt);
                });
    if (behind)
      (*behind)(0, y.count());
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
  bool wide = processor() >= Processor::Avx512 && conv.groupOut > 8;
  return std::make_unique<Convolution>(conv, range, wide ? 16 : 8);
}

} // namespace origo::eval
