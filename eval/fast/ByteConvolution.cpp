#include "eval/Block.h"
#include "eval/fast/Convolution.h"
#include "eval/fast/Processor.h"

#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>

/// CONV_2D of int8 where the processor multiplies four unsigned bytes by four signed ones and adds the products up. The
/// image is copied with its numbers 128 higher, amid as many zero points as the windows need: none of them is cut off,
/// so what 128 and the zero point add to a sum is the same everywhere and goes into the bias.
namespace origo::eval {

namespace {

constexpr int64_t lanes = 16; ///< channels of a vector

struct Job {
  const uint8_t *image;
  int8_t *result;
  const uint8_t *packed;
  llvm::ArrayRef<int64_t> pieces; ///< of a window: where they lie in the image
  int64_t quads, resultDepth;     ///< quads: groups of four bytes in a piece
  float low, high;                ///< without the zero point
  int32_t zero;

  /// Of a channel: its bias, its scale and its weights.
  int64_t channelBytes() const { return 4 * (2 + static_cast<int64_t>(pieces.size()) * quads); }
};

/// `Rows` pixels times `Wide` vectors of channels.
template <int Rows, int Wide>
ORIGO_VNNI void tile(const Job &job, const uint8_t *weights, const int64_t *from, const int64_t *to, int64_t channels) {
  __m512i sums[Rows][Wide];
  __m512 scales[Wide];
  for (int v = 0; v < Wide; ++v, weights += 64)
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
      sums[r][v] = _mm512_load_si512(weights);
  for (int v = 0; v < Wide; ++v, weights += 64)
    scales[v] = _mm512_load_ps(weights);
  for (int64_t piece : job.pieces) {
    const uint8_t *left[Rows];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
      left[r] = job.image + (from[r] + piece);
    for (int64_t k = 0; k < job.quads; ++k, weights += Wide * 64) {
      __m512i b[Wide];
#pragma GCC unroll 2
      for (int v = 0; v < Wide; ++v)
        b[v] = _mm512_load_si512(weights + v * 64);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        int32_t four;
        std::memcpy(&four, left[r] + 4 * k, sizeof four);
        __m512i a = _mm512_set1_epi32(four);
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
      _mm512_mask_cvtsepi32_storeu_epi8(job.result + to[r] + v * lanes, mask, _mm512_add_epi32(whole, zero));
    }
}

/// All channels of up to 64 pixels: weights are read once for all of them.
ORIGO_VNNI void pixels(const Job &job, const int64_t *from, const int64_t *to, int64_t count) {
  constexpr int64_t most = 8;
  int64_t tiles = (count + most - 1) / most, places[Windows::most];
  const uint8_t *weights = job.packed;
  for (int64_t first = 0; first < job.resultDepth;) {
    int64_t channels = job.resultDepth - first, wide = channels > lanes ? 2 : 1;
    for (int64_t i = 0; i < count; ++i)
      places[i] = to[i] + first;
    for (int64_t t = 0; t < tiles; ++t) {
      int64_t begin = count * t / tiles, rows = count * (t + 1) / tiles - begin;
#define TILE(Rows)                                                                                                     \
  case Rows:                                                                                                           \
    (wide == 2 ? tile<Rows, 2> : tile<Rows, 1>)(job, weights, from + begin, places + begin, channels);                 \
    break;
      switch (rows) { TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) TILE(7) TILE(8) }
#undef TILE
    }
    weights += wide * lanes * job.channelBytes();
    first += wide * lanes;
  }
}

ORIGO_VNNI void raise(const int8_t *from, uint8_t *to, int64_t count) {
  const __m512i sign = _mm512_set1_epi8(-128);
  int64_t i = 0;
  for (; i + 64 <= count; i += 64)
    _mm512_storeu_si512(to + i, _mm512_xor_si512(_mm512_loadu_si512(from + i), sign));
  __mmask64 rest = (uint64_t(1) << (count - i)) - 1;
  _mm512_mask_storeu_epi8(to + i, rest, _mm512_xor_si512(_mm512_maskz_loadu_epi8(rest, from + i), sign));
}

class ByteConvolution : public FastKernel {
public:
  ByteConvolution(const Conv &given, int32_t inputZero, int32_t outputZero, std::pair<int8_t, int8_t> range,
                  llvm::ArrayRef<float> scales)
      : conv(given), inputZero(inputZero), depth(static_cast<int64_t>(conv.groupIn)) {
    // Neighbours in a row of the image are neighbours in memory.
    bool together = conv.dilationW == 1;
    int64_t length = together ? conv.width * depth : depth;
    pieces.resize(static_cast<size_t>(together ? conv.height : conv.height * conv.width));
    job.pieces = pieces;
    job.quads = (length + 3) / 4;
    job.resultDepth = static_cast<int64_t>(conv.groupOut);
    job.low = static_cast<float>(range.first - outputZero);
    job.high = static_cast<float>(range.second - outputZero);
    job.zero = outputZero;
    pack(dataOf<int8_t>(*conv.filter), conv.bias ? dataOf<int32_t>(*conv.bias) : nullptr, length, scales);
    conv.filter = conv.bias = nullptr; // they are there only now
  }

  bool run(Operands in, Operands out, pthreadpool_t threads) override {
    const Tensor &x = *in[0], &y = *out[0];
    if (!packed.data || x.rank() != 4 || x.dim(3) != depth || y.rank() != 4 || y.dim(3) != job.resultDepth ||
        !arrange(x, y))
      return false;
    surround(dataOf<int8_t>(x), threads);
    Job now = job;
    now.image = surrounded.data.get();
    now.result = dataOf<int8_t>(*out[0]);
    windows.each(threads, [&](const Interval &, const Interval &, const int64_t *from, const int64_t *to,
                              int64_t count) { pixels(now, from, to, count); });
    return true;
  }

private:
  Conv conv;
  int32_t inputZero;
  int64_t depth;
  std::vector<int64_t> pieces;
  Job job = {};
  Block packed, surrounded;
  Windows windows;
  WindowAxis asked[2] = {};
  int64_t batch = 0;

  /// Blocks of two vectors of channels, a last one of one where that is enough.
  void pack(const int8_t *filter, const int32_t *bias, int64_t length, llvm::ArrayRef<float> scales) {
    int64_t padded = (job.resultDepth + lanes - 1) / lanes * lanes;
    if (!packed.allocate(static_cast<uint64_t>(padded * job.channelBytes())))
      return;
    std::memset(packed.data.get(), 0, packed.bytes);
    auto parts = static_cast<int64_t>(pieces.size());
    uint8_t *to = packed.data.get();
    for (int64_t first = 0; first < job.resultDepth;) {
      int64_t block = job.resultDepth - first > lanes ? 2 * lanes : lanes;
      uint8_t *weights = to + block * 8;
      for (int64_t c = 0; c < std::min(block, job.resultDepth - first); ++c) {
        const int8_t *of = filter + (first + c) * parts * length;
        uint32_t sum = 0;
        for (int64_t part = 0; part < parts; ++part)
          for (int64_t k = 0; k < length; ++k, ++of) {
            weights[(part * job.quads + k / 4) * 4 * block + 4 * c + k % 4] = static_cast<uint8_t>(*of);
            sum += static_cast<uint32_t>(int32_t(*of));
          }
        uint32_t start = bias ? static_cast<uint32_t>(bias[first + c]) : 0;
        start -= static_cast<uint32_t>(128 + inputZero) * sum;
        std::memcpy(to + 4 * c, &start, sizeof start);
        std::memcpy(to + 4 * (block + c), &scales[static_cast<size_t>(first + c)], sizeof(float));
      }
      to += block * job.channelBytes();
      first += block;
    }
    job.packed = packed.data.get();
  }

  /// False: there is no memory.
  bool arrange(const Tensor &x, const Tensor &y) {
    WindowAxis axes[] = {conv.axis(x, y, 0), conv.axis(x, y, 1)};
    if (axes[0] == asked[0] && axes[1] == asked[1] && batch == x.dim(0))
      return true;
    batch = 0;
    auto whole = [](WindowAxis axis) {
      int64_t end = (axis.result - 1) * axis.stride + (axis.size - 1) * axis.dilation + 1;
      axis.image = std::max(axis.before + axis.image, end);
      axis.before = 0;
      return axis;
    };
    WindowAxis tall = whole(axes[0]), wide = whole(axes[1]);
    int64_t bytes = times(times(times(x.dim(0), tall.image), wide.image), depth);
    if (bytes > int64_t(1) << 28 || !surrounded.allocate(static_cast<uint64_t>(bytes)))
      return false;
    std::memset(surrounded.data.get(), 128 + inputZero, surrounded.bytes);
    windows.batch = x.dim(0);
    windows.depth = depth;
    windows.resultDepth = job.resultDepth;
    windows.set(tall, wide);
    bool together = conv.dilationW == 1;
    for (size_t i = 0; i < pieces.size(); ++i) {
      int64_t at = static_cast<int64_t>(i);
      int64_t row = together ? at : at / conv.width, column = together ? 0 : at % conv.width;
      pieces[i] = (row * tall.dilation * wide.image + column * wide.dilation) * depth;
    }
    asked[0] = axes[0];
    asked[1] = axes[1];
    batch = x.dim(0);
    return true;
  }

  void surround(const int8_t *image, pthreadpool_t threads) {
    const auto &[vertical, horizontal] = asked;
    int64_t row = horizontal.image * depth, rows = batch * vertical.image;
    int64_t aTask = std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, row)); // of 64 KiB
    parallelFor(threads, static_cast<size_t>(rows), static_cast<size_t>(aTask), [&](size_t first, size_t count) {
      for (auto at = static_cast<int64_t>(first), end = at + static_cast<int64_t>(count); at < end; ++at) {
        int64_t to = at / vertical.image * windows.vertical.image + vertical.before + at % vertical.image;
        to = (to * windows.horizontal.image + horizontal.before) * depth;
        raise(image + at * row, surrounded.data.get() + to, row);
      }
    });
  }
};

} // namespace

std::unique_ptr<FastKernel> byteConvolution(const Conv &conv, const Tensor &in, const Tensor &out,
                                            std::pair<int8_t, int8_t> range, llvm::ArrayRef<float> scales) {
  if (processor() < Processor::Vnni || conv.depthwise || conv.groups != 1)
    return nullptr;
  return std::make_unique<ByteConvolution>(conv, in.zeroPoint(), out.zeroPoint(), range, scales);
}

} // namespace origo::eval
#else
namespace origo::eval {
std::unique_ptr<FastKernel> byteConvolution(const Conv &, const Tensor &, const Tensor &, std::pair<int8_t, int8_t>,
                                            llvm::ArrayRef<float>) {
  return nullptr;
}
} // namespace origo::eval
#endif
