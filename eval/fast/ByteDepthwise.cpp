#include "eval/fast/ByteWindows.h"

#ifdef __x86_64__
#include <immintrin.h>

/// DEPTHWISE_CONV_2D of 8 bit numbers, depth multiplier 1.
namespace origo::eval {

namespace {

/// Bytes of a vector: channels, or those of some pixels side by side.
constexpr int64_t lanes = 64;

/// What a block of 64 lanes needs of its own, in the order that `interleave` gives.
struct alignas(64) Block64 {
  int32_t bias[lanes];
  float scale[lanes];
};

struct Job {
  const uint8_t *image;
  uint8_t *result;
  const Block64 *blocks;
  const uint8_t *weights;         ///< each place of the window, all blocks
  int64_t depth, together, count; ///< together: pixels in a vector; count: of blocks
  int64_t windowWidth;
  int64_t rowStep, columnStep;         ///< in the image, from one place of a window to the next
  uint8_t flip, resultFlip;            ///< resultFlip: for results of uint8, that are made as if of int8
  int32_t imageZero, weightZero, zero; ///< zero: of the result, as if of int8
  float low, high;                     ///< without it
};

/// The part of a window that is within the image; four places are added up at once.
struct Taps {
  static constexpr int64_t most = 256;
  int64_t count = 0, groups = 0;
  int64_t image[most], window[most];
};

/// Four places side by side for each lane: lanes 0 to 3, 4 to 7, 8 to 11 and 12 to 15 of each sixteen are a vector.
/// Packing with saturation twice undoes it.
[[gnu::always_inline]] ORIGO_VNNI inline void interleave(const __m512i (&places)[4], __m512i (&four)[4]) {
  __m512i low01 = _mm512_unpacklo_epi8(places[0], places[1]), high01 = _mm512_unpackhi_epi8(places[0], places[1]);
  __m512i low23 = _mm512_unpacklo_epi8(places[2], places[3]), high23 = _mm512_unpackhi_epi8(places[2], places[3]);
  four[0] = _mm512_unpacklo_epi16(low01, low23);
  four[1] = _mm512_unpackhi_epi16(low01, low23);
  four[2] = _mm512_unpacklo_epi16(high01, high23);
  four[3] = _mm512_unpackhi_epi16(high01, high23);
}

/// The lane whose number is at `i` of the four vectors.
int64_t laneAt(int64_t i) { return i % 16 / 4 * 16 + i / 16 * 4 + i % 4; }

/// Of one block: weights of the taps, and what sums begin with.
struct alignas(64) Ready {
  __m512i weights[Taps::most / 4][4], starts[4];
};

ORIGO_VNNI void prepare(const Job &job, const Taps &taps, int64_t block, Ready &ready) {
  __m512i sums[4] = {}, ones = _mm512_set1_epi8(1);
  for (int64_t group = 0; group < taps.groups; ++group) {
    __m512i places[4];
#pragma GCC unroll 4
    for (int64_t i = 0; i < 4; ++i) {
      int64_t tap = group * 4 + i;
      places[i] = tap < taps.count ? _mm512_load_si512(job.weights + (taps.window[tap] * job.count + block) * lanes)
                                   : _mm512_setzero_si512();
    }
    interleave(places, ready.weights[group]);
#pragma GCC unroll 4
    for (int64_t v = 0; v < 4; ++v)
      sums[v] = _mm512_dpbusd_epi32(sums[v], ones, ready.weights[group][v]);
  }
  const __m512i zeros = _mm512_set1_epi32(job.weightZero * static_cast<int32_t>(taps.count));
  for (int64_t v = 0; v < 4; ++v) {
    __m512i excess = _mm512_mullo_epi32(_mm512_sub_epi32(sums[v], zeros), _mm512_set1_epi32(job.imageZero));
    ready.starts[v] = _mm512_sub_epi32(_mm512_load_si512(job.blocks[block].bias + 16 * v), excess);
  }
}

/// One vector of the result. `Zero`: weights have a zero point.
template <bool Zero>
[[gnu::always_inline]] ORIGO_VNNI inline __m512i vector(const Job &job, const Taps &taps, const Ready &ready,
                                                        const Block64 &block, const uint8_t *image, __mmask64 mask) {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(job.flip)), ones = _mm512_set1_epi8(1);
  __m512i sums[4], plain[4] = {};
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v)
    sums[v] = ready.starts[v];
  for (int64_t group = 0; group < taps.groups; ++group) {
    const int64_t *at = taps.image + group * 4;
    __m512i places[4], four[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      places[i] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, image + at[i]), flip);
    interleave(places, four);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      sums[v] = _mm512_dpbusd_epi32(sums[v], four[v], ready.weights[group][v]);
      if constexpr (Zero) {
        // The places that fill the last group up are no part of the window.
        int64_t left = taps.count - group * 4;
        __m512i counted = left >= 4 ? ones : _mm512_set1_epi32(((1 << 8 * left) - 1) & 0x01010101);
        plain[v] = _mm512_dpbusd_epi32(plain[v], four[v], counted);
      }
    }
  }
  const __m512 low = _mm512_set1_ps(job.low), high = _mm512_set1_ps(job.high);
  const __m512i zero = _mm512_set1_epi32(job.zero), weightZero = _mm512_set1_epi32(job.weightZero);
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    if constexpr (Zero)
      sums[v] = _mm512_sub_epi32(sums[v], _mm512_mullo_epi32(plain[v], weightZero));
    __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[v]), _mm512_load_ps(block.scale + 16 * v));
    sums[v] = _mm512_add_epi32(_mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(scaled, low), high)), zero);
  }
  __m512i bytes = _mm512_packs_epi16(_mm512_packs_epi32(sums[0], sums[1]), _mm512_packs_epi32(sums[2], sums[3]));
  return _mm512_xor_si512(bytes, _mm512_set1_epi8(static_cast<char>(job.resultFlip)));
}

__mmask64 maskOf(int64_t count) { return count >= lanes ? ~__mmask64(0) : (__mmask64(1) << count) - 1; }

template <bool Zero>
ORIGO_VNNI void pixels(const Job &job, const Taps &taps, const int64_t *from, const int64_t *to, int64_t count) {
  Ready ready;
  for (int64_t block = 0; block < job.count; ++block) {
    prepare(job, taps, block, ready);
    const int64_t first = block * lanes, channels = std::min(lanes, job.depth - first);
    for (int64_t i = 0; i < count;) {
      // Pixels side by side.
      int64_t end = i + 1;
      while (end < count && end < i + job.together && from[end] == from[end - 1] + job.depth &&
             to[end] == to[end - 1] + job.depth)
        ++end;
      __mmask64 mask = maskOf((end - i) * channels);
      __m512i made = vector<Zero>(job, taps, ready, job.blocks[block], job.image + from[i] + first, mask);
      _mm512_mask_storeu_epi8(job.result + to[i] + first, mask, made);
      i = end;
    }
  }
}

class ByteDepthwise : public FastKernel {
public:
  ByteDepthwise(const Conv &given, const Bytes &bytes) : conv(given), filler(bytes.imageZero ^ bytes.imageFlip) {
    job.depth = static_cast<int64_t>(conv.groups);
    job.together = std::max<int64_t>(1, lanes / job.depth);
    job.count = (job.depth + lanes - 1) / lanes;
    job.windowWidth = conv.width;
    job.flip = bytes.imageFlip;
    job.resultFlip = bytes.weightFlip; // of the same type
    job.imageZero = bytes.imageZero;
    job.weightZero = bytes.weightZero;
    job.zero = bytes.resultZero - bytes.weightFlip;
    job.low = bytes.low;
    job.high = bytes.high;
    windows.depth = windows.resultDepth = job.depth;
    pack(bytes);
    conv.filter = conv.bias = nullptr; // they are there only now
  }

  bool run(Operands in, Operands out, pthreadpool_t threads) override {
    const Tensor &x = *in[0], &y = *out[0];
    if (!blocks.data || !weights.data || x.rank() != 4 || x.dim(3) != job.depth ||
        !windows.arrange(conv.axis(x, y, 0), conv.axis(x, y, 1), x.dim(0), filler))
      return false;
    Job now = job;
    now.image = windows.over(dataOf<uint8_t>(x));
    now.result = dataOf<uint8_t>(*out[0]);
    now.columnStep = windows.horizontal.dilation * job.depth;
    now.rowStep = windows.vertical.dilation * windows.horizontal.image * job.depth;
    windows.each(threads, [&](const Interval &rows, const Interval &columns, const int64_t *from, const int64_t *to,
                              int64_t count) {
      Taps taps;
      for (int64_t y = rows.begin; y < rows.end; ++y)
        for (int64_t x = columns.begin; x < columns.end; ++x) {
          taps.image[taps.count] = y * now.rowStep + x * now.columnStep;
          taps.window[taps.count++] = y * now.windowWidth + x;
        }
      taps.groups = (taps.count + 3) / 4;
      for (int64_t i = taps.count; i < taps.groups * 4; ++i)
        taps.image[i] = taps.image[0]; // times 0
      (now.weightZero ? pixels<true> : pixels<false>)(now, taps, from, to, count);
    });
    return true;
  }

private:
  Conv conv;
  int filler; ///< zero, around images
  Job job = {};
  Block blocks, weights;
  ImageWindows<uint8_t> windows;

  void pack(const Bytes &bytes) {
    const auto *filter = dataOf<uint8_t>(*conv.filter);
    const auto *bias = conv.bias ? dataOf<int32_t>(*conv.bias) : nullptr;
    if (!blocks.allocate(static_cast<uint64_t>(job.count) * sizeof(Block64)) ||
        !weights.allocate(static_cast<uint64_t>(conv.height * conv.width * job.count * lanes)))
      return;
    std::memset(blocks.data.get(), 0, blocks.bytes);
    std::memset(weights.data.get(), 0, weights.bytes);
    auto *block = reinterpret_cast<Block64 *>(blocks.data.get());
    job.blocks = block;
    job.weights = weights.data.get();
    /// The channel of a lane; none: -1.
    auto channel = [&](int64_t b, int64_t lane) {
      int64_t at = b * lanes + lane;
      return job.count == 1 ? (at < job.together * job.depth ? at % job.depth : -1) : at < job.depth ? at : -1;
    };
    for (int64_t b = 0; b < job.count; ++b)
      for (int64_t i = 0; i < lanes; ++i) {
        if (int64_t c = channel(b, laneAt(i)); c >= 0) {
          block[b].bias[i] = bias ? bias[c] : 0;
          block[b].scale[i] = bytes.scale(conv, c);
        }
        if (int64_t c = channel(b, i); c >= 0)
          for (int64_t place = 0; place < conv.height * conv.width; ++place)
            weights.data[static_cast<size_t>((place * job.count + b) * lanes + i)] =
                filter[place * job.depth + c] ^ bytes.weightFlip;
      }
  }
};

} // namespace

std::unique_ptr<FastKernel> byteDepthwise(const Conv &conv, const Bytes &bytes) {
  return conv.height * conv.width <= Taps::most ? std::make_unique<ByteDepthwise>(conv, bytes) : nullptr;
}

} // namespace origo::eval
#endif
