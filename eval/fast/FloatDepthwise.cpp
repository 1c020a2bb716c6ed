#include "eval/Block.h"
#include "eval/fast/FloatWindows.h"
#include "eval/fast/Regions.h"

/// DEPTHWISE_CONV_2D of floats, with one result for each channel.
namespace origo::eval {

namespace {

struct Job {
  const float *image;
  float *result;
  const float *packed;
  const float *single; ///< channel by channel; null: there are at least as many as a vector has
  int64_t depth, windowWidth, taps, stride; ///< stride: from one pixel to the next in its row
  int64_t rowStep, columnStep; ///< in the image, from one place of a window to the next
  float low, high;
  // The part of the windows of a tile that lies within the image.
  int64_t rowBegin, rowEnd, columnBegin, columnEnd;
};

template <class V, int Pixels>
[[gnu::always_inline]] inline void finish(const Job &job, const V *sums, const int64_t *to, int64_t channel) {
  const V low = job.low - V{}, high = job.high - V{};
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p) {
    V sum = sums[p] > low ? sums[p] : low;
    sum = sum < high ? sum : high;
    store(job.result + to[p] + channel, sum);
  }
}

/// One vector, from a channel on, of `Pixels` pixels; `weights` are those of these channels, behind their bias.
template <class V, int Pixels>
[[gnu::always_inline]] inline void tile(const Job &job, const float *weights, const int64_t *from, const int64_t *to,
                                        int64_t channel) {
  constexpr int64_t lanes = lanesOf<V>;
  V bias, sums[Pixels];
  load(bias, weights);
  const float *image[Pixels];
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p) {
    sums[p] = bias;
    image[p] = job.image + (from[p] + channel + job.columnBegin * job.columnStep);
  }
  for (int64_t y = job.rowBegin; y < job.rowEnd; ++y) {
    const float *right = weights + (1 + y * job.windowWidth + job.columnBegin) * lanes;
    int64_t at = y * job.rowStep;
    for (int64_t x = job.columnBegin; x < job.columnEnd; ++x, right += lanes, at += job.columnStep) {
      V w;
      load(w, right);
#pragma GCC unroll 8
      for (int p = 0; p < Pixels; ++p) {
        V pixel;
        load(pixel, image[p] + at);
        sums[p] += pixel * w;
      }
    }
  }
  finish<V, Pixels>(job, sums, to, channel);
}

/// The same of pixels side by side, whose whole windows of `Width` columns overlap: each place of the image is read
/// once a row.
template <class V, int Pixels, int Width>
[[gnu::always_inline]] inline void sliding(const Job &job, const float *weights, const int64_t *from, const int64_t *to,
                                           int64_t channel) {
  constexpr int64_t lanes = lanesOf<V>;
  V bias, sums[Pixels];
  load(bias, weights);
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p)
    sums[p] = bias;
  for (int64_t y = job.rowBegin; y < job.rowEnd; ++y) {
    const float *image = job.image + (from[0] + channel + y * job.rowStep);
    V w[Width];
#pragma GCC unroll 8
    for (int x = 0; x < Width; ++x)
      load(w[x], weights + (1 + y * Width + x) * lanes);
#pragma GCC unroll 16
    for (int place = 0; place < Pixels + Width - 1; ++place) {
      V pixel;
      load(pixel, image + place * job.depth);
      asm("" : "+v"(pixel)); // not once more for each product
#pragma GCC unroll 8
      for (int x = 0; x < Width; ++x)
        if (place >= x && place - x < Pixels)
          sums[place - x] += pixel * w[x];
    }
  }
  finish<V, Pixels>(job, sums, to, channel);
}

/// All channels of some pixels, a few at a time: what they read stays in the cache.
template <class V, int Pixels, int Width = 0>
[[gnu::always_inline]] inline void channels(const Job &job, const int64_t *from, const int64_t *to) {
  constexpr int64_t lanes = lanesOf<V>;
  const float *weights = job.packed;
  for (int64_t channel = 0; channel < job.depth; channel += lanes, weights += lanes * (job.taps + 1)) {
    int64_t first = std::min(channel, job.depth - lanes);
    if constexpr (Width)
      sliding<V, Pixels, Width>(job, weights, from, to, first);
    else
      tile<V, Pixels>(job, weights, from, to, first);
  }
}

template <class V>
[[gnu::always_inline]] inline void apart(const Job &job, const int64_t *from, const int64_t *to, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    channels<V, 8>(job, from + i, to + i);
  if (count - i >= 4) {
    channels<V, 4>(job, from + i, to + i);
    i += 4;
  }
  for (; i < count; ++i)
    channels<V, 1>(job, from + i, to + i);
}

/// `each(i, end)`: pixels that lie side by side, as do the first places of their windows.
template <class Each>
[[gnu::always_inline]] inline void rowsOf(const Job &job, const int64_t *from, const int64_t *to, int64_t count,
                                          Each each) {
  for (int64_t i = 0, end; i < count; i = end) {
    end = i + 1;
    while (end < count && from[end] == from[end - 1] + job.depth && to[end] == to[end - 1] + job.depth)
      ++end;
    each(i, end);
  }
}

template <class V, int Width>
[[gnu::always_inline]] inline void beside(const Job &job, const int64_t *from, const int64_t *to, int64_t count) {
  rowsOf(job, from, to, count, [&](int64_t i, int64_t end) __attribute__((always_inline)) {
    if (end - i < 8)
      return apart<V>(job, from + i, to + i, end - i);
    for (; i < end; i += 8) {
      int64_t at = std::min(i, end - 8);
      channels<V, 8, Width>(job, from + at, to + at);
    }
  });
}

/// Fewer channels than a vector has, and pixels side by side: as many of them as there are lanes are as many vectors as
/// there are channels, each with weights of its own.
template <class V>
[[gnu::always_inline]] inline void few(const Job &job, const int64_t *from, const int64_t *to, int64_t count) {
  constexpr int64_t lanes = lanesOf<V>;
  rowsOf(job, from, to, count, [&](int64_t i, int64_t end) __attribute__((always_inline)) {
    for (; end - i < lanes && i < end; ++i)
      for (int64_t c = 0; c < job.depth; ++c)
        tile<float, 1>(job, job.single + c * (job.taps + 1), from + i, to + i, c);
    for (; i < end; i += lanes) {
      int64_t at = std::min(i, end - lanes);
      const float *weights = job.packed;
      for (int64_t v = 0; v < job.depth; ++v, weights += lanes * (job.taps + 1))
        tile<V, 1>(job, weights, from + at, to + at, v * lanes);
    }
  });
}

template <class V>
[[gnu::always_inline]] inline void pixels(const Job &job, const int64_t *from, const int64_t *to, int64_t count) {
  bool isWhole = job.stride == 1 && job.columnStep == job.depth && job.columnBegin == 0 &&
                 job.columnEnd == job.windowWidth;
  if (job.single)
    few<V>(job, from, to, count);
  else if (isWhole && job.windowWidth == 3)
    beside<V, 3>(job, from, to, count);
  else if (isWhole && job.windowWidth == 5)
    beside<V, 5>(job, from, to, count);
  else
    apart<V>(job, from, to, count);
}

using Pixels = void (*)(const Job &, const int64_t *, const int64_t *, int64_t);
ORIGO_AVX2 void pixelsAvx2(const Job &job, const int64_t *from, const int64_t *to, int64_t count) {
  pixels<Vector8>(job, from, to, count);
}
ORIGO_AVX512 void pixelsAvx512(const Job &job, const int64_t *from, const int64_t *to, int64_t count) {
  pixels<Vector16>(job, from, to, count);
}

class Depthwise : public FastKernel {
public:
  Depthwise(const Conv &conv, std::pair<float, float> range, int64_t lanes) : conv(conv), lanes(lanes) {
    job.depth = static_cast<int64_t>(conv.groups);
    job.windowWidth = conv.width;
    job.taps = conv.height * job.windowWidth;
    job.stride = conv.strideW;
    job.low = range.first;
    job.high = range.second;
    const float *filter = dataOf<float>(*conv.filter), *bias = conv.bias ? dataOf<float>(*conv.bias) : nullptr;
    // In vectors of channels: bias, then the window. The last one may begin within the one before it.
    bool isFew = job.depth < lanes;
    int64_t vectors = isFew ? job.depth : (job.depth + lanes - 1) / lanes, block = lanes * (job.taps + 1);
    int64_t singles = isFew ? job.depth * (job.taps + 1) : 0;
    if (!packed.allocate(static_cast<uint64_t>(vectors * block + singles) * sizeof(float)))
      return;
    auto *to = reinterpret_cast<float *>(packed.data.get());
    auto pack = [&](int64_t first, int64_t count) {
      for (int64_t tap = -1; tap < job.taps; ++tap)
        for (int64_t lane = 0; lane < count; ++lane) {
          int64_t channel = (first + lane) % job.depth;
          *to++ = tap >= 0 ? filter[tap * job.depth + channel] : bias ? bias[channel] : 0;
        }
    };
    job.packed = to;
    for (int64_t v = 0; v < vectors; ++v)
      pack(isFew ? v * lanes : std::min(v * lanes, job.depth - lanes), lanes);
    job.single = isFew ? to : nullptr;
    for (int64_t channel = 0; isFew && channel < job.depth; ++channel)
      pack(channel, 1);
  }

  bool run(Operands in, Operands out, pthreadpool_t threads) override {
    const Pixels compute = lanes == 16 ? pixelsAvx512 : pixelsAvx2;
    const Tensor &x = *in[0], &y = *out[0];
    if (!packed.data || x.rank() != 4 || x.dim(3) != job.depth)
      return false;
    windows.batch = x.dim(0);
    windows.depth = windows.resultDepth = job.depth;
    windows.set(conv.axis(x, y, 0), conv.axis(x, y, 1));
    Job now = job;
    now.image = dataOf<float>(x);
    now.result = dataOf<float>(*out[0]);
    now.columnStep = windows.horizontal.dilation * job.depth;
    now.rowStep = windows.vertical.dilation * windows.horizontal.image * job.depth;
    windows.each(threads, [&](const Interval &rows, const Interval &columns, const int64_t *from, const int64_t *to,
                              int64_t count) {
      Job part = now;
      std::tie(part.rowBegin, part.rowEnd) = std::pair(rows.begin, rows.end);
      std::tie(part.columnBegin, part.columnEnd) = std::pair(columns.begin, columns.end);
      compute(part, from, to, count);
    });
    return true;
  }

private:
  Conv conv;
  int64_t lanes;
  Job job = {};
  Block packed;
  Windows windows;
};

} // namespace

std::unique_ptr<FastKernel> floatDepthwise(const Conv &conv, std::pair<float, float> range) {
  int64_t lanes = processor() >= Processor::Avx512 && conv.groups >= 16 ? 16 : 8;
  // XNNPACK is quicker where few channels are not side by side.
  if (processor() == Processor::Plain || conv.groupOut != 1 || (conv.groups < lanes && conv.strideW != 1))
    return nullptr;
  return std::make_unique<Depthwise>(conv, range, lanes);
}

} // namespace origo::eval
