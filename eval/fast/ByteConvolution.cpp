#include "eval/fast/ByteWindows.h"

#include "llvm/Support/Compiler.h"

#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>

/// CONV_2D of 8 bit numbers. What the zero point of the image adds to a sum depends only on the part of the window that
/// is within the image, and is subtracted before; what that of the weights adds is the sum of a window times it.
namespace origo::eval {

namespace {

constexpr int64_t lanes = 16; ///< channels of a vector

struct Job {
  const uint8_t *image;
  uint8_t *result;
  const uint8_t *packed;
  int64_t depth, resultDepth, windowWidth, positions, quads; ///< quads: groups of four bytes at a place of the window
  int64_t rowStep, columnStep;                               ///< in the image, from one place to the next
  uint8_t flip;                                              ///< what makes the image unsigned
  int32_t weightZero, zero;                                  ///< zero: of the result
  float low, high;                                           ///< without it

  /// Of a channel: its bias, its scale, what to subtract at each place, its weights.
  int64_t channelBytes() const { return 4 * (2 + positions + positions * quads); }
};

/// Where a depth is no multiple of four, the last of them lie behind the image, in memory that all operands have, and
/// are multiplied by 0.
LLVM_NO_SANITIZE("address") inline int32_t fourAt(const uint8_t *from) {
  int32_t four;
  std::memcpy(&four, from, sizeof four);
  return four;
}

/// The sum of the part of a window that is within the image.
ORIGO_VNNI int32_t windowSum(const Job &job, const Interval &rows, const Interval &columns, int64_t from) {
  const bool together = job.columnStep == job.depth;
  const int64_t pieces = together ? 1 : columns.end - columns.begin;
  const int64_t length = together ? (columns.end - columns.begin) * job.depth : job.depth;
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(job.flip)), ones = _mm512_set1_epi8(1);
  __m512i sums = _mm512_setzero_si512();
  for (int64_t y = rows.begin; y < rows.end; ++y)
    for (int64_t piece = 0; piece < pieces; ++piece) {
      const uint8_t *at = job.image + (from + y * job.rowStep + (columns.begin + piece) * job.columnStep);
      for (int64_t left = length; left > 0; left -= 64, at += 64) {
        __mmask64 mask = left >= 64 ? ~__mmask64(0) : (__mmask64(1) << left) - 1;
        __m512i some = _mm512_maskz_loadu_epi8(mask, at);
        sums = _mm512_dpbusd_epi32(sums, _mm512_xor_si512(some, flip), _mm512_maskz_mov_epi8(mask, ones));
      }
    }
  return _mm512_reduce_add_epi32(sums);
}

/// `Rows` pixels times `Wide` vectors of channels, of the part of the windows that is within the image.
template <int Rows, int Wide>
ORIGO_VNNI void tile(const Job &job, const Interval &rows, const Interval &columns, const uint8_t *packed,
                     const int64_t *from, const int64_t *to, const int32_t *starts, int64_t channels) {
  __m512i sums[Rows][Wide];
  __m512 scales[Wide];
  constexpr int64_t step = Wide * 64;
  const uint8_t *excess = packed + 2 * step, *weights = excess + job.positions * step;
  for (int v = 0; v < Wide; ++v) {
    __m512i start = _mm512_load_si512(packed + v * 64);
    for (int64_t y = rows.begin; y < rows.end; ++y)
      for (int64_t x = columns.begin; x < columns.end; ++x)
        start = _mm512_sub_epi32(start, _mm512_load_si512(excess + (y * job.windowWidth + x) * step + v * 64));
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
      sums[r][v] = _mm512_add_epi32(start, _mm512_set1_epi32(starts[r]));
    scales[v] = _mm512_load_ps(packed + step + v * 64);
  }
  // Neighbours in a row of the image are neighbours in memory.
  const bool together = job.columnStep == job.depth && job.depth % 4 == 0;
  const int64_t pieces = together ? 1 : columns.end - columns.begin;
  const int64_t quads = together ? (columns.end - columns.begin) * job.quads : job.quads;
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(job.flip));
  for (int64_t y = rows.begin; y < rows.end; ++y)
    for (int64_t piece = 0; piece < pieces; ++piece) {
      int64_t x = columns.begin + piece;
      const uint8_t *left[Rows];
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r)
        left[r] = job.image + (from[r] + y * job.rowStep + x * job.columnStep);
      const uint8_t *right = weights + (y * job.windowWidth + x) * job.quads * step;
      for (int64_t k = 0; k < quads; ++k, right += step) {
        __m512i b[Wide];
#pragma GCC unroll 2
        for (int v = 0; v < Wide; ++v)
          b[v] = _mm512_load_si512(right + v * 64);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
          __m512i a = _mm512_xor_si512(_mm512_set1_epi32(fourAt(left[r] + 4 * k)), flip);
#pragma GCC unroll 2
          for (int v = 0; v < Wide; ++v)
            sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], a, b[v]);
        }
      }
    }
  const __m512 low = _mm512_set1_ps(job.low), high = _mm512_set1_ps(job.high);
  const __m512i zero = _mm512_set1_epi32(job.zero);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Wide; ++v) {
      int64_t left = channels - v * lanes;
      if (left <= 0)
        continue;
      __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[r][v]), scales[v]);
      __m512i whole = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(scaled, low), high));
      auto mask = static_cast<__mmask16>(left >= lanes ? 0xFFFF : (1 << left) - 1);
      _mm512_mask_cvtepi32_storeu_epi8(job.result + to[r] + v * lanes, mask, _mm512_add_epi32(whole, zero));
    }
}

/// All channels of up to 64 pixels: weights are read once for all of them.
ORIGO_VNNI void pixels(const Job &job, const Interval &rows, const Interval &columns, const int64_t *from,
                       const int64_t *to, int64_t count) {
  constexpr int64_t most = 8;
  int64_t tiles = (count + most - 1) / most, places[Windows::most];
  int32_t starts[Windows::most] = {};
  for (int64_t i = 0; job.weightZero && i < count; ++i)
    starts[i] = static_cast<int32_t>(-static_cast<uint32_t>(job.weightZero) *
                                     static_cast<uint32_t>(windowSum(job, rows, columns, from[i])));
  const uint8_t *packed = job.packed;
  for (int64_t first = 0; first < job.resultDepth;) {
    int64_t channels = job.resultDepth - first, wide = channels > lanes ? 2 : 1;
    for (int64_t i = 0; i < count; ++i)
      places[i] = to[i] + first;
    for (int64_t t = 0; t < tiles; ++t) {
      int64_t begin = count * t / tiles, some = count * (t + 1) / tiles - begin;
#define TILE(Rows)                                                                                                     \
  case Rows:                                                                                                           \
    (wide == 2 ? tile<Rows, 2> : tile<Rows, 1>)(job, rows, columns, packed, from + begin, places + begin,              \
                                                starts + begin, channels);                                             \
    break;
      switch (some) { TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) TILE(7) TILE(8) }
#undef TILE
    }
    packed += wide * lanes * job.channelBytes();
    first += wide * lanes;
  }
}

class ByteConvolution : public FastKernel {
public:
  ByteConvolution(const Conv &given, const Bytes &bytes) : conv(given), filler(bytes.imageZero ^ bytes.imageFlip) {
    job.depth = static_cast<int64_t>(conv.groupIn);
    job.resultDepth = static_cast<int64_t>(conv.groupOut);
    job.windowWidth = conv.width;
    job.positions = conv.height * conv.width;
    job.quads = (job.depth + 3) / 4;
    job.flip = bytes.imageFlip;
    job.weightZero = bytes.weightZero;
    job.zero = bytes.resultZero;
    job.low = bytes.low;
    job.high = bytes.high;
    windows.depth = job.depth;
    windows.resultDepth = job.resultDepth;
    pack(bytes);
    conv.filter = conv.bias = nullptr; // they are there only now
  }

  bool run(Operands in, Operands out, pthreadpool_t threads) override {
    const Tensor &x = *in[0], &y = *out[0];
    if (!packed.data || x.rank() != 4 || x.dim(3) != job.depth)
      return false;
    WindowAxis vertical = conv.axis(x, y, 0), horizontal = conv.axis(x, y, 1);
    if (!windows.arrange(vertical, horizontal, x.dim(0), filler))
      return false;
    Job now = job;
    now.image = windows.over(dataOf<uint8_t>(x));
    now.result = dataOf<uint8_t>(*out[0]);
    now.columnStep = windows.horizontal.dilation * job.depth;
    now.rowStep = windows.vertical.dilation * windows.horizontal.image * job.depth;
    windows.each(threads, [&](const Interval &rows, const Interval &columns, const int64_t *from, const int64_t *to,
                              int64_t count) { pixels(now, rows, columns, from, to, count); });
    return true;
  }

private:
  Conv conv;
  int filler; ///< zero, around images
  Job job = {};
  Block packed;
  ImageWindows<uint8_t> windows;

  static void flipped(uint8_t *to, const uint8_t *from, int64_t count, uint8_t flip) {
    if (count == 4) {
      uint32_t four;
      std::memcpy(&four, from, 4);
      four ^= flip * 0x01010101u;
      std::memcpy(to, &four, 4);
      return;
    }
    for (int64_t i = 0; i < count; ++i)
      to[i] = from[i] ^ flip;
  }

  /// What the zero point of the image adds at one place of the window, to each channel; sums wrap.
  ORIGO_VNNI void sumUp(uint8_t *to, const uint8_t *weights, int64_t row, const Bytes &bytes) const {
    const __m512i zeros = _mm512_set1_epi32(static_cast<int32_t>(-job.depth * bytes.weightZero));
    for (int64_t v = 0; v < row; v += 64) {
      __m512i sum = zeros;
      for (int64_t k = 0; k < job.quads; ++k)
        sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), _mm512_load_si512(weights + k * row + v));
      _mm512_store_si512(to + v, _mm512_mullo_epi32(sum, _mm512_set1_epi32(bytes.imageZero)));
    }
  }

  /// Blocks of two vectors of channels, a last one of one where that is enough.
  void pack(const Bytes &bytes) {
    const auto *filter = dataOf<uint8_t>(*conv.filter);
    const auto *bias = conv.bias ? dataOf<int32_t>(*conv.bias) : nullptr;
    int64_t padded = (job.resultDepth + lanes - 1) / lanes * lanes;
    if (!packed.allocate(static_cast<uint64_t>(padded * job.channelBytes())))
      return;
    std::memset(packed.data.get(), 0, packed.bytes);
    uint8_t *to = packed.data.get();
    for (int64_t first = 0; first < job.resultDepth;) {
      int64_t block = job.resultDepth - first > lanes ? 2 * lanes : lanes, row = 4 * block;
      uint8_t *excess = to + 2 * row, *weights = excess + job.positions * row;
      for (int64_t c = 0; c < std::min(block, job.resultDepth - first); ++c) {
        if (bias)
          std::memcpy(to + 4 * c, &bias[first + c], sizeof(int32_t));
        float scale = bytes.scale(conv, first + c);
        std::memcpy(to + row + 4 * c, &scale, sizeof scale);
      }
      const uint8_t *of = filter + first * job.positions * job.depth;
      for (int64_t position = 0; position < job.positions; ++position, of += job.depth) {
        uint8_t *at = weights + position * job.quads * row;
        for (int64_t k = 0; k < job.depth; k += 4, at += row)
          for (int64_t c = 0; c < std::min(block, job.resultDepth - first); ++c)
            flipped(at + 4 * c, of + c * job.positions * job.depth + k, std::min<int64_t>(4, job.depth - k),
                    bytes.weightFlip);
        sumUp(excess + position * row, weights + position * job.quads * row, row, bytes);
      }
      to += block * job.channelBytes();
      first += block;
    }
    job.packed = packed.data.get();
  }
};

} // namespace

std::unique_ptr<FastKernel> byteConvolution(const Conv &conv, const Tensor &in, const Tensor &out,
                                            std::pair<int, int> range) {
  if (processor() < Processor::Vnni)
    return nullptr;
  if (conv.depthwise)
    return conv.groupOut == 1 ? byteDepthwise(conv, Bytes(conv, in, out, range)) : nullptr;
  return conv.groups == 1 ? std::make_unique<ByteConvolution>(conv, Bytes(conv, in, out, range)) : nullptr;
}

} // namespace origo::eval
#else
namespace origo::eval {
std::unique_ptr<FastKernel> byteConvolution(const Conv &, const Tensor &, const Tensor &, std::pair<int, int>) {
  return nullptr;
}
} // namespace origo::eval
#endif
