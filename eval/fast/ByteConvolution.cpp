#include "eval/fast/Convolution.h"
#include "eval/fast/Processor.h"

#include "llvm/Support/Compiler.h"

#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>

/// CONV_2D of 8 bit numbers where the processor multiplies four unsigned bytes by four signed ones and adds the
/// products up: numbers of an image of int8 are taken 128 higher, weights of uint8 128 lower. What that and the zero
/// points add to a sum depends on the part of the window that is within the image, and, where 128 is not the zero point
/// of weights of uint8, on the sum of the image's numbers there. Results are bytes, or floats where the image was made
/// of some.
namespace origo::eval {

namespace {

constexpr int64_t lanes = 16; ///< channels of a vector

template <class Result> struct Job {
  const uint8_t *image;
  Result *result;
  const uint8_t *packed;
  int64_t depth, resultDepth, windowWidth, positions, quads; ///< quads: groups of four bytes at a place of the window
  int64_t rowStep, columnStep;                               ///< in the image, from one place to the next
  float low, high;                                           ///< without the zero point
  int32_t zero;                                              ///< of bytes
  float factor;                                              ///< of floats, beside the channel's scale
  char flip;                                                 ///< of numbers of the image
  int32_t inputExcess;  ///< of numbers of the image as multiplied, above the real ones
  int32_t weightExcess; ///< of weights, above those packed

  /// Of a channel: its bias, its scale, the sum of its weights at each place, its weights.
  int64_t channelBytes() const { return 4 * (2 + positions + positions * quads); }
};

/// Where a depth is no multiple of four, the last of them lie behind the image, in memory that all operands have, and
/// are multiplied by 0.
LLVM_NO_SANITIZE("address") inline int32_t fourAt(const uint8_t *from) {
  int32_t four;
  std::memcpy(&four, from, sizeof four);
  return four;
}

/// What is within the image of a window.
template <class Result>
ORIGO_VNNI int32_t sumOf(const Job<Result> &job, const Interval &rows, const Interval &columns, int64_t from) {
  __m512i sums = _mm512_setzero_si512();
  const bool together = job.columnStep == job.depth;
  const int64_t count = columns.end - columns.begin, length = together ? count * job.depth : job.depth;
  for (int64_t y = rows.begin; y < rows.end; ++y)
    for (int64_t piece = 0; piece < (together ? 1 : count); ++piece) {
      const uint8_t *at = job.image + (from + y * job.rowStep + (columns.begin + piece) * job.columnStep);
      for (int64_t i = 0; i < length; i += 64) {
        __mmask64 some = length - i >= 64 ? ~__mmask64(0) : (__mmask64(1) << (length - i)) - 1;
        sums = _mm512_add_epi64(sums, _mm512_sad_epu8(_mm512_maskz_loadu_epi8(some, at + i), _mm512_setzero_si512()));
      }
    }
  return static_cast<int32_t>(_mm512_reduce_add_epi64(sums));
}

/// `Rows` pixels times `Wide` vectors of channels, of the part of the windows that is within the image. `more`: what is
/// added to all sums of a pixel.
template <int Rows, int Wide, class Result>
ORIGO_VNNI void tile(const Job<Result> &job, const Interval &rows, const Interval &columns, const uint8_t *packed,
                     const int64_t *from, const int64_t *to, const int32_t *more, int64_t channels) {
  __m512i sums[Rows][Wide];
  __m512 scales[Wide], bias[Wide];
  constexpr bool toFloats = std::is_same_v<Result, float>;
  constexpr int64_t step = Wide * 64;
  const uint8_t *excess = packed + 2 * step, *weights = excess + job.positions * step;
  for (int v = 0; v < Wide; ++v) {
    __m512i within = _mm512_setzero_si512();
    for (int64_t y = rows.begin; y < rows.end; ++y)
      for (int64_t x = columns.begin; x < columns.end; ++x)
        within = _mm512_add_epi32(within, _mm512_load_si512(excess + (y * job.windowWidth + x) * step + v * 64));
    bias[v] = _mm512_load_ps(packed + v * 64);
    __m512i start = _mm512_sub_epi32(toFloats ? _mm512_setzero_si512() : _mm512_castps_si512(bias[v]),
                                     _mm512_mullo_epi32(within, _mm512_set1_epi32(job.inputExcess)));
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
      sums[r][v] = _mm512_add_epi32(start, _mm512_set1_epi32(more[r]));
    scales[v] = _mm512_load_ps(packed + step + v * 64);
  }
  // Neighbours in a row of the image are neighbours in memory.
  const bool together = job.columnStep == job.depth && job.depth % 4 == 0;
  const int64_t pieces = together ? 1 : columns.end - columns.begin;
  const int64_t quads = together ? (columns.end - columns.begin) * job.quads : job.quads;
  const __m512i flip = _mm512_set1_epi8(job.flip);
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
  const __m512 factor = _mm512_set1_ps(job.factor);
  const __m512i zero = _mm512_set1_epi32(job.zero);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Wide; ++v) {
      int64_t left = channels - v * lanes;
      if (left <= 0)
        continue;
      __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[r][v]), scales[v]);
      auto mask = static_cast<__mmask16>(left >= lanes ? 0xFFFF : (1 << left) - 1);
      if constexpr (toFloats) {
        __m512 real = _mm512_add_ps(_mm512_mul_ps(scaled, factor), bias[v]); // NaN stays
        _mm512_mask_storeu_ps(job.result + to[r] + v * lanes, mask, _mm512_min_ps(high, _mm512_max_ps(low, real)));
      } else {
        __m512i whole = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(scaled, low), high));
        _mm512_mask_cvtepi32_storeu_epi8(job.result + to[r] + v * lanes, mask, _mm512_add_epi32(whole, zero));
      }
    }
}

/// All channels of up to 64 pixels: weights are read once for all of them.
template <class Result>
ORIGO_VNNI void pixels(const Job<Result> &job, const Interval &rows, const Interval &columns, const int64_t *from,
                       const int64_t *to, int64_t count) {
  constexpr int64_t most = 8;
  int64_t tiles = (count + most - 1) / most, places[Windows::most];
  const uint8_t *packed = job.packed;
  int32_t more[Windows::most] = {};
  for (int64_t i = 0; job.weightExcess && i < count; ++i)
    more[i] = static_cast<int32_t>(static_cast<uint32_t>(sumOf(job, rows, columns, from[i])) *
                                   static_cast<uint32_t>(job.weightExcess)); // sums wrap
  for (int64_t first = 0; first < job.resultDepth;) {
    int64_t channels = job.resultDepth - first, wide = channels > lanes ? 2 : 1;
    for (int64_t i = 0; i < count; ++i)
      places[i] = to[i] + first;
    for (int64_t t = 0; t < tiles; ++t) {
      int64_t begin = count * t / tiles, some = count * (t + 1) / tiles - begin;
#define TILE(Rows)                                                                                                     \
  case Rows:                                                                                                           \
    (wide == 2 ? tile<Rows, 2, Result> : tile<Rows, 1, Result>)(job, rows, columns, packed, from + begin,              \
                                                                places + begin, more + begin, channels);               \
    break;
      switch (some) { TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) TILE(7) TILE(8) }
#undef TILE
    }
    packed += wide * lanes * job.channelBytes();
    first += wide * lanes;
  }
}

/// Weights as `pixels` reads them, and windows over the image.
template <class Result> class Products {
public:
  explicit Products(const Conv &given) : conv(given) {
    job.depth = static_cast<int64_t>(conv.groupIn);
    job.resultDepth = static_cast<int64_t>(conv.groupOut);
    job.windowWidth = conv.width;
    job.positions = conv.height * conv.width;
    job.quads = (job.depth + 3) / 4;
    windows.depth = job.depth;
    windows.resultDepth = job.resultDepth;
  }

  /// Blocks of two vectors of channels, a last one of one where that is enough. `bias` and `scale` are of a channel; of
  /// weights `lower` is taken.
  template <class Weights, class Bias, class Scale>
  void pack(const Weights &filter, int32_t lower, int32_t weightZero, Bias bias, Scale scale) {
    int64_t padded = (job.resultDepth + lanes - 1) / lanes * lanes;
    if (!packed.allocate(static_cast<uint64_t>(padded * job.channelBytes())))
      return;
    std::memset(packed.data.get(), 0, packed.bytes);
    uint8_t *to = packed.data.get();
    auto put = [](uint8_t *at, auto value) {
      static_assert(sizeof value == 4);
      std::memcpy(at, &value, sizeof value);
    };
    for (int64_t first = 0; first < job.resultDepth;) {
      int64_t block = job.resultDepth - first > lanes ? 2 * lanes : lanes, row = 4 * block;
      uint8_t *excess = to + 2 * row, *weights = excess + job.positions * row;
      for (int64_t c = 0; c < std::min(block, job.resultDepth - first); ++c) {
        put(to + 4 * c, bias(first + c));
        put(to + row + 4 * c, scale(first + c));
      }
      for (int64_t position = 0; position < job.positions; ++position)
        for (int64_t c = 0; c < std::min(block, job.resultDepth - first); ++c) {
          int64_t of = ((first + c) * job.positions + position) * job.depth;
          uint8_t *at = weights + position * job.quads * row + 4 * c;
          int32_t sum = 0;
          auto take = [&](int64_t k, int64_t i) {
            int32_t weight = filter[of + k + i];
            sum += weight - weightZero;
            at[i] = static_cast<uint8_t>(weight - lower);
          };
          int64_t k = 0;
          for (; k + 4 <= job.depth; k += 4, at += row)
            for (int64_t i = 0; i < 4; ++i)
              take(k, i);
          for (int64_t i = 0; i < job.depth - k; ++i)
            take(k, i);
          put(excess + position * row + 4 * c, sum);
        }
      to += block * job.channelBytes();
      first += block;
    }
    job.packed = packed.data.get();
    conv.filter = conv.bias = nullptr; // they are there only now
  }

  /// Images of these shapes, whose numbers around them are `inputZero`. False: not for this kernel.
  bool run(const Tensor &x, const Tensor &y, int64_t images, const uint8_t *image, int32_t inputZero, Result *result,
           pthreadpool_t threads, const LeadingKernel::Behind &behind = std::nullopt) {
    if (!packed.data || x.rank() != 4 || x.dim(3) != job.depth)
      return false;
    if (!windows.arrange(conv.axis(x, y, 0), conv.axis(x, y, 1), images, inputZero))
      return false;
    Job<Result> now = job;
    now.inputExcess = inputZero + (job.flip ? 128 : 0);
    now.image = windows.over(image, threads);
    now.result = result;
    now.columnStep = windows.horizontal.dilation * job.depth;
    now.rowStep = windows.vertical.dilation * windows.horizontal.image * job.depth;
    windows.each(
        threads,
        [&](const Interval &rows, const Interval &columns, const int64_t *from, const int64_t *to, int64_t count) {
          pixels(now, rows, columns, from, to, count);
        },
        behind);
    return true;
  }

  Job<Result> job = {};

private:
  Conv conv;
  Block packed;
  ImageWindows<uint8_t> windows;
};

template <class T> class ByteConvolution : public LeadingKernel {
public:
  ByteConvolution(const Conv &conv, const Tensor &in, const Tensor &out, std::pair<T, T> range)
      : products(conv), inputZero(in.zeroPoint()) {
    constexpr bool isSigned = std::is_signed_v<T>;
    Job<uint8_t> &job = products.job;
    job.zero = out.zeroPoint();
    job.low = static_cast<float>(range.first - job.zero);
    job.high = static_cast<float>(range.second - job.zero);
    job.flip = isSigned ? -128 : 0;
    const int32_t lower = isSigned ? 0 : 128, weightZero = isSigned ? 0 : conv.filter->zeroPoint();
    job.weightExcess = lower - weightZero;
    const auto *bias = conv.bias ? dataOf<int32_t>(*conv.bias) : nullptr;
    products.pack(
        dataOf<T>(*conv.filter), lower, weightZero, [&](int64_t c) { return bias ? bias[c] : 0; },
        [&](int64_t c) { return in.scale() * conv.filter->scaleOf(static_cast<size_t>(c)) / out.scale(); });
  }

  bool runThen(Operands in, Operands out, pthreadpool_t threads, const Behind &behind) override {
    const Tensor &x = *in[0];
    return products.run(x, *out[0], x.rank() ? x.dim(0) : 0, dataOf<uint8_t>(x), inputZero, dataOf<uint8_t>(*out[0]),
                        threads, behind);
  }

private:
  Products<uint8_t> products;
  int32_t inputZero;
};

class QuantizedImages : public HybridProducts {
public:
  QuantizedImages(const Conv &conv, std::pair<float, float> range) : products(conv) {
    products.job.low = range.first;
    products.job.high = range.second;
    products.job.flip = -128;
    const auto *bias = conv.bias ? dataOf<float>(*conv.bias) : nullptr;
    products.pack(
        weightsOf<int8_t>(*conv.filter), 0, 0, [&](int64_t c) { return bias ? bias[c] : 0.0f; },
        [&](int64_t c) { return conv.filter->scaleOf(static_cast<size_t>(c)); });
  }

  bool run(const Tensor &x, const Tensor &y, const int8_t *image, const HybridScale &by, float *result,
           pthreadpool_t threads) override {
    products.job.factor = by.scale;
    return products.run(x, y, 1, reinterpret_cast<const uint8_t *>(image), static_cast<int32_t>(by.zero), result,
                        threads);
  }

private:
  Products<float> products;
};

} // namespace

template <class T>
static std::unique_ptr<FastKernel> make(const Conv &conv, const Tensor &in, const Tensor &out, std::pair<T, T> range) {
  if (processor() < Processor::Vnni || conv.groups != 1)
    return nullptr;
  return std::make_unique<ByteConvolution<T>>(conv, in, out, range);
}

std::unique_ptr<HybridProducts> hybridProducts(const Conv &conv, std::pair<float, float> range) {
  if (processor() < Processor::Vnni || conv.groups != 1 || conv.depthwise)
    return nullptr;
  return std::make_unique<QuantizedImages>(conv, range);
}

#else
namespace origo::eval {

template <class T>
static std::unique_ptr<FastKernel> make(const Conv &, const Tensor &, const Tensor &, std::pair<T, T>) {
  return nullptr;
}
std::unique_ptr<HybridProducts> hybridProducts(const Conv &, std::pair<float, float>) { return nullptr; }
#endif

std::unique_ptr<FastKernel> byteConvolution(const Conv &conv, const Tensor &in, const Tensor &out,
                                            std::pair<int8_t, int8_t> range) {
  return make(conv, in, out, range);
}
std::unique_ptr<FastKernel> byteConvolution(const Conv &conv, const Tensor &in, const Tensor &out,
                                            std::pair<uint8_t, uint8_t> range) {
  return make(conv, in, out, range);
}

} // namespace origo::eval
