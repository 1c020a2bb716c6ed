#include "eval/Block.h"
#include "eval/fast/FloatWindows.h"
#include "eval/fast/Regions.h"

#include "llvm/ADT/bit.h"

/// DEPTHWISE_CONV_2D of floats and of 8 bit numbers.
namespace origo::eval {

namespace {

// Conversions of vectors in assembly: g++ converts element by element.
#if defined(__x86_64__) && !defined(__clang__)
#define ORIGO_CONVERTS
#endif

template <class T> constexpr bool isFloat = std::is_floating_point_v<T>;
template <class T> using Weight = std::conditional_t<isFloat<T>, float, uint32_t>; ///< sums of integers wrap

template <class T> struct Job {
  const T *image;
  T *result;
  const Weight<T> *packed;
  const Weight<T> *single; ///< channel by channel; null: there are at least as many as a vector has
  int64_t depth, windowHeight, windowWidth, stride; ///< stride: from one pixel to the next in its row
  int64_t rowStep, columnStep;                      ///< in the image, from one place of a window to the next
  float low, high;                                  ///< without the zero point
  uint32_t inputZero;
  int32_t zero;
  // The part of the windows of a tile that lies within the image.
  int64_t rowBegin, rowEnd, columnBegin, columnEnd;

  int64_t taps() const { return windowHeight * windowWidth; }
  /// Of a channel: what the sum of a whole window starts from, of integers bias and scale too, and its window.
  static constexpr int64_t heads = isFloat<T> ? 1 : 3;
  int64_t rows() const { return heads + taps(); }
};

/// `Lanes` elements and sums at a time: 8 with AVX2, 16 with AVX-512, 1 everywhere.
template <class T, int Lanes> struct Vectors {
  static constexpr int64_t lanes = Lanes;
  template <class N> struct Of { typedef N type __attribute__((vector_size(Lanes * sizeof(N)))); };
  template <class N> using Vector = typename std::conditional_t<Lanes == 1, std::type_identity<N>, Of<N>>::type;
  using Sum = Vector<Weight<T>>;
  struct Elements {
    T at[Lanes];
  };

  template <class To, class From> [[gnu::always_inline]] static void convert(To &to, const From &from) {
    if constexpr (Lanes == 1)
      to = static_cast<To>(from);
    else
      to = __builtin_convertvector(from, To);
  }
  [[gnu::always_inline]] static void load(Sum &to, const Weight<T> *from) { std::memcpy(&to, from, sizeof to); }
  [[gnu::always_inline]] static void pixel(Sum &to, const T *from) {
    Vector<T> elements;
    if constexpr (isFloat<T>) {
      std::memcpy(&to, from, sizeof to);
#ifdef ORIGO_CONVERTS
    } else if constexpr (Lanes > 1) {
      if constexpr (std::is_signed_v<T>)
        asm("vpmovsxbd %1, %0" : "=v"(to) : "m"(*reinterpret_cast<const Elements *>(from)));
      else
        asm("vpmovzxbd %1, %0" : "=v"(to) : "m"(*reinterpret_cast<const Elements *>(from)));
#endif
    } else {
      std::memcpy(&elements, from, sizeof elements);
      convert(to, elements);
    }
  }
  [[gnu::always_inline]] static void narrow(T *to, const Vector<int32_t> &from) {
    Vector<T> elements;
#ifdef ORIGO_CONVERTS
    if constexpr (Lanes == 16) {
      asm("vpmovdb %1, %0" : "=m"(*reinterpret_cast<Elements *>(to)) : "v"(from));
      return;
    }
    if constexpr (Lanes == 8) {
      auto bytes = reinterpret_cast<Vectors<uint8_t, 32>::Vector<uint8_t>>(from);
      auto lowest = __builtin_shufflevector(bytes, bytes, 0, 4, 8, 12, 16, 20, 24, 28);
      std::memcpy(to, &lowest, sizeof lowest);
      return;
    }
#endif
    convert(elements, from);
    std::memcpy(to, &elements, sizeof elements);
  }
  /// In a register: a compiler would read it once more for each product.
  [[gnu::always_inline]] static void keep(Sum &sum) {
#ifdef ORIGO_CONVERTS
    asm("" : "+v"(sum));
#endif
  }

  /// Of integers outside the image nothing is added, so that neither is the zero point subtracted.
  [[gnu::always_inline]] static void start(const Job<T> &job, const Weight<T> *weights, Sum &to) {
    load(to, weights);
    if constexpr (!isFloat<T>) {
      int64_t rows = job.rowEnd - job.rowBegin, columns = job.columnEnd - job.columnBegin;
      if (rows == job.windowHeight && columns == job.windowWidth)
        return;
      load(to, weights + Lanes);
      for (int64_t y = job.rowBegin; y < job.rowEnd; ++y)
        for (int64_t x = job.columnBegin; x < job.columnEnd; ++x) {
          Sum w;
          load(w, weights + (Job<T>::heads + y * job.windowWidth + x) * Lanes);
          to -= w * job.inputZero;
        }
    }
  }

  /// What every store needs: read once, for a result may lie where a job does, as far as a compiler knows.
  using Real = Vector<float>;
  struct Bounds {
    Real low, high;
  };
  [[gnu::always_inline]] static Bounds bounds(const Job<T> &job) { return {job.low - Real{}, job.high - Real{}}; }
  [[gnu::always_inline]] static void store(const Job<T> &job, const Bounds &bounds, const Weight<T> *weights, T *to,
                                           const Sum &sum) {
    Vector<int32_t> whole;
    Real real, scale;
    if constexpr (isFloat<T>) {
      real = sum;
    } else {
      std::memcpy(&scale, weights + 2 * Lanes, sizeof scale);
      std::memcpy(&whole, &sum, sizeof whole);
      convert(real, whole);
      real *= scale;
    }
    clamp(real, bounds.low, bounds.high);
    if constexpr (isFloat<T>) {
      std::memcpy(to, &real, sizeof real);
    } else {
      constexpr float great = 12582912; // 1.5 * 2^23: what is added to it is rounded to an integer, halves to even
      real = real + great;
      convert(whole, real - great);
      narrow(to, whole + job.zero);
    }
  }
};

/// One vector, from a channel on, of `Pixels` pixels; `weights` are those of these channels.
template <class V, int Pixels, class T>
[[gnu::always_inline]] inline void tile(const Job<T> &job, const Weight<T> *weights, const int64_t *from,
                                        const int64_t *to, int64_t channel) {
  typename V::Sum start, sums[Pixels];
  V::start(job, weights, start);
  const auto bounds = V::bounds(job);
  T *result = job.result;
  const T *image[Pixels];
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p) {
    sums[p] = start;
    image[p] = job.image + (from[p] + channel + job.columnBegin * job.columnStep);
  }
  for (int64_t y = job.rowBegin; y < job.rowEnd; ++y) {
    const Weight<T> *right = weights + (job.heads + y * job.windowWidth + job.columnBegin) * V::lanes;
    int64_t at = y * job.rowStep;
    for (int64_t x = job.columnBegin; x < job.columnEnd; ++x, right += V::lanes, at += job.columnStep) {
      typename V::Sum w;
      V::load(w, right);
#pragma GCC unroll 8
      for (int p = 0; p < Pixels; ++p) {
        typename V::Sum pixel;
        V::pixel(pixel, image[p] + at);
        sums[p] += pixel * w;
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p)
    V::store(job, bounds, weights, result + to[p] + channel, sums[p]);
}

/// The same of pixels side by side, whose whole windows of `Width` columns, `Stride` columns apart, overlap: each place
/// of the image is read once a row.
template <class V, int Pixels, int Width, int Stride, class T>
[[gnu::always_inline]] inline void sliding(const Job<T> &job, const Weight<T> *weights, const int64_t *from,
                                           const int64_t *to, int64_t channel) {
  typename V::Sum start, sums[Pixels];
  V::start(job, weights, start);
  const auto bounds = V::bounds(job);
  T *result = job.result;
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p)
    sums[p] = start;
  for (int64_t y = job.rowBegin; y < job.rowEnd; ++y) {
    const T *image = job.image + (from[0] + channel + y * job.rowStep);
    typename V::Sum w[Width];
#pragma GCC unroll 8
    for (int x = 0; x < Width; ++x)
      V::load(w[x], weights + (job.heads + y * Width + x) * V::lanes);
#pragma GCC unroll 32
    for (int place = 0; place < (Pixels - 1) * Stride + Width; ++place) {
      typename V::Sum pixel;
      V::pixel(pixel, image + place * job.depth);
      V::keep(pixel);
#pragma GCC unroll 8
      for (int x = 0; x < Width; ++x)
        if (place >= x && (place - x) % Stride == 0 && (place - x) / Stride < Pixels)
          sums[(place - x) / Stride] += pixel * w[x];
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p)
    V::store(job, bounds, weights, result + to[p] + channel, sums[p]);
}

/// The same of two rows of the result, for two windows of one stride share all rows of the image but two.
template <class V, int Pixels, int Width, class T>
[[gnu::always_inline]] inline void slidingPair(const Job<T> &job, const Weight<T> *weights, int64_t from,
                                               const int64_t *upperTo, const int64_t *lowerTo, int64_t channel) {
  typename V::Sum start, upper[Pixels], lower[Pixels], w[Width], before[Width];
  V::start(job, weights, start);
  const auto bounds = V::bounds(job);
  T *result = job.result;
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p)
    upper[p] = lower[p] = start;
  auto line = [&](int64_t y, auto hasUpper, auto hasLower) __attribute__((always_inline)) {
    const T *image = job.image + (from + channel + y * job.rowStep);
#pragma GCC unroll 8
    for (int x = 0; x < Width; ++x) {
      before[x] = w[x];
      if constexpr (hasUpper)
        V::load(w[x], weights + (job.heads + y * Width + x) * V::lanes);
    }
#pragma GCC unroll 16
    for (int place = 0; place < Pixels + Width - 1; ++place) {
      typename V::Sum pixel;
      V::pixel(pixel, image + place * job.depth);
      V::keep(pixel);
#pragma GCC unroll 8
      for (int x = 0; x < Width; ++x)
        if (place >= x && place - x < Pixels) {
          if constexpr (hasUpper)
            upper[place - x] += pixel * w[x];
          if constexpr (hasLower)
            lower[place - x] += pixel * before[x];
        }
    }
  };
  line(job.rowBegin, std::true_type(), std::false_type());
  for (int64_t y = job.rowBegin + 1; y < job.rowEnd; ++y)
    line(y, std::true_type(), std::true_type());
  line(job.rowEnd, std::false_type(), std::true_type());
#pragma GCC unroll 8
  for (int p = 0; p < Pixels; ++p) {
    V::store(job, bounds, weights, result + upperTo[p] + channel, upper[p]);
    V::store(job, bounds, weights, result + lowerTo[p] + channel, lower[p]);
  }
}

/// All channels of some pixels, a few at a time: what they read stays in the cache.
template <class V, int Pixels, int Width = 0, int Stride = 1, class T>
[[gnu::always_inline]] inline void channels(const Job<T> &job, const int64_t *from, const int64_t *to) {
  const Weight<T> *weights = job.packed;
  for (int64_t channel = 0; channel < job.depth; channel += V::lanes, weights += V::lanes * job.rows()) {
    int64_t first = std::min(channel, job.depth - V::lanes);
    if constexpr (Width)
      sliding<V, Pixels, Width, Stride>(job, weights, from, to, first);
    else
      tile<V, Pixels>(job, weights, from, to, first);
  }
}

template <class V, class T>
[[gnu::always_inline]] inline void apart(const Job<T> &job, const int64_t *from, const int64_t *to, int64_t count) {
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
template <class T, class Each>
[[gnu::always_inline]] inline void rowsOf(const Job<T> &job, const int64_t *from, const int64_t *to, int64_t count,
                                          Each each) {
  for (int64_t i = 0, end; i < count; i = end) {
    end = i + 1;
    while (end < count && from[end] == from[end - 1] + job.stride * job.depth && to[end] == to[end - 1] + job.depth)
      ++end;
    each(i, end);
  }
}

template <class V, int Width, int Stride, class T>
[[gnu::always_inline]] inline void beside(const Job<T> &job, const int64_t *from, const int64_t *to, int64_t count) {
  if (int64_t wide = count / 2;
      V::lanes == 16 && Stride == 1 && count % 2 == 0 && wide >= 8 && from[wide] == from[0] + job.rowStep &&
      from[wide - 1] == from[0] + (wide - 1) * job.depth && to[wide - 1] == to[0] + (wide - 1) * job.depth) {
    for (int64_t i = 0; i < wide; i += 8) {
      int64_t at = std::min(i, wide - 8);
      const Weight<T> *weights = job.packed;
      for (int64_t channel = 0; channel < job.depth; channel += V::lanes, weights += V::lanes * job.rows())
        slidingPair<V, 8, Width>(job, weights, from[at], to + at, to + wide + at,
                                 std::min(channel, job.depth - V::lanes));
    }
    return;
  }
  rowsOf(
      job, from, to, count, [&](int64_t i, int64_t end) __attribute__((always_inline)) {
        if (end - i < 8)
          return apart<V>(job, from + i, to + i, end - i);
        for (; i < end; i += 8) {
          int64_t at = std::min(i, end - 8);
          channels<V, 8, Width, Stride>(job, from + at, to + at);
        }
      });
}

/// Fewer channels than a vector has, and pixels side by side: as many of them as there are lanes are as many vectors as
/// there are channels, each with weights of its own.
template <class V, class T>
[[gnu::always_inline]] inline void few(const Job<T> &job, const int64_t *from, const int64_t *to, int64_t count) {
  rowsOf(
      job, from, to, count, [&](int64_t i, int64_t end) __attribute__((always_inline)) {
        for (; end - i < V::lanes && i < end; ++i)
          for (int64_t c = 0; c < job.depth; ++c)
            tile<Vectors<T, 1>, 1>(job, job.single + c * job.rows(), from + i, to + i, c);
        for (; i < end; i += V::lanes) {
          int64_t at = std::min(i, end - V::lanes);
          const Weight<T> *weights = job.packed;
          for (int64_t v = 0; v < job.depth; ++v, weights += V::lanes * job.rows())
            tile<V, 1>(job, weights, from + at, to + at, v * V::lanes);
        }
      });
}

template <class V, class T>
[[gnu::always_inline]] inline void pixels(const Job<T> &job, const int64_t *from, const int64_t *to, int64_t count) {
  bool isWhole = job.columnStep == job.depth && job.columnBegin == 0 && job.columnEnd == job.windowWidth;
  if (job.single)
    few<V>(job, from, to, count);
  else if (isWhole && job.windowWidth == 3 && job.stride == 1)
    beside<V, 3, 1>(job, from, to, count);
  else if (isWhole && job.windowWidth == 3 && job.stride == 2)
    beside<V, 3, 2>(job, from, to, count);
  else if (isWhole && job.windowWidth == 5 && job.stride == 1)
    beside<V, 5, 1>(job, from, to, count);
  else if (isWhole && job.windowWidth == 5 && job.stride == 2)
    beside<V, 5, 2>(job, from, to, count);
  else
    apart<V>(job, from, to, count);
}

template <class T>
ORIGO_AVX2 void pixelsAvx2(const Job<T> &job, const int64_t *from, const int64_t *to, int64_t count) {
  pixels<Vectors<T, 8>>(job, from, to, count);
}
template <class T>
ORIGO_AVX512 void pixelsAvx512(const Job<T> &job, const int64_t *from, const int64_t *to, int64_t count) {
  pixels<Vectors<T, 16>>(job, from, to, count);
}

template <class T> class Depthwise : public LeadingKernel {
public:
  /// `low`, `high`: of the result, without its zero point. Of integers: `in` and `out` are their quantisation.
  Depthwise(const Conv &conv, float low, float high, int64_t lanes, const Tensor *in = nullptr,
            const Tensor *out = nullptr)
      : conv(conv), lanes(lanes) {
    job.depth = static_cast<int64_t>(conv.groups);
    job.windowHeight = conv.height;
    job.windowWidth = conv.width;
    job.stride = conv.strideW;
    job.low = low;
    job.high = high;
    if (!isFloat<T>) {
      job.inputZero = static_cast<uint32_t>(in->zeroPoint());
      job.zero = out->zeroPoint();
    }
    // In vectors of channels. The last one may begin within the one before it.
    bool isFew = job.depth < lanes;
    int64_t vectors = isFew ? job.depth : (job.depth + lanes - 1) / lanes;
    int64_t count = vectors * lanes + (isFew ? job.depth : 0);
    if (!packed.allocate(static_cast<uint64_t>(count * job.rows()) * sizeof(Weight<T>)))
      return;
    auto *to = reinterpret_cast<Weight<T> *>(packed.data.get());
    job.packed = to;
    for (int64_t v = 0; v < vectors; ++v)
      to = pack(to, isFew ? v * lanes : std::min(v * lanes, job.depth - lanes), lanes, in, out);
    job.single = isFew ? to : nullptr;
    for (int64_t channel = 0; isFew && channel < job.depth; ++channel)
      to = pack(to, channel, 1, in, out);
    this->conv.filter = this->conv.bias = nullptr; // they are there only now
  }

  bool runThen(Operands in, Operands out, pthreadpool_t threads, const Behind &behind) override {
    const auto compute = lanes == 16 ? pixelsAvx512<T> : pixelsAvx2<T>;
    const Tensor &x = *in[0], &y = *out[0];
    if (!packed.data || x.rank() != 4 || x.dim(3) != job.depth)
      return false;
    windows.batch = x.dim(0);
    windows.depth = windows.resultDepth = job.depth;
    windows.set(conv.axis(x, y, 0), conv.axis(x, y, 1));
    windows.pairs =
        lanes == 16 && job.depth >= lanes && job.stride == 1 && windows.vertical.stride == windows.vertical.dilation;
    Job<T> now = job;
    now.image = dataOf<T>(x);
    now.result = dataOf<T>(*out[0]);
    now.columnStep = windows.horizontal.dilation * job.depth;
    now.rowStep = windows.vertical.dilation * windows.horizontal.image * job.depth;
    windows.each(
        threads,
        [&](const Interval &rows, const Interval &columns, const int64_t *from, const int64_t *to, int64_t count) {
          Job<T> part = now;
          std::tie(part.rowBegin, part.rowEnd) = std::pair(rows.begin, rows.end);
          std::tie(part.columnBegin, part.columnEnd) = std::pair(columns.begin, columns.end);
          compute(part, from, to, count);
        },
        behind);
    return true;
  }

private:
  Conv conv;
  int64_t lanes;
  Job<T> job = {};
  Block packed;
  Windows windows;

  /// Channels from `first` on, those of the next pixel behind the last one.
  Weight<T> *pack(Weight<T> *to, int64_t first, int64_t count, const Tensor *in, const Tensor *out) const {
    const T *filter = dataOf<T>(*conv.filter);
    using Bias = std::conditional_t<isFloat<T>, float, int32_t>;
    const Bias *bias = conv.bias ? dataOf<Bias>(*conv.bias) : nullptr;
    for (int64_t lane = 0; lane < count; ++lane) {
      int64_t channel = (first + lane) % job.depth;
      auto start = static_cast<Weight<T>>(bias ? bias[channel] : 0);
      Weight<T> *at = to + lane, *weights = at + job.heads * count;
      at[0] = start;
      if constexpr (!isFloat<T>)
        at[count] = start;
      for (int64_t tap = 0; tap < job.taps(); ++tap, weights += count) {
        *weights = static_cast<Weight<T>>(filter[tap * job.depth + channel]);
        if constexpr (!isFloat<T>) {
          *weights -= static_cast<uint32_t>(conv.filter->zeroPointOf(static_cast<int32_t>(channel)));
          at[0] -= *weights * job.inputZero;
        }
      }
      if constexpr (!isFloat<T>) {
        float scale = in->scale() * conv.filter->scaleOf(static_cast<int32_t>(channel)) / out->scale();
        at[2 * count] = llvm::bit_cast<uint32_t>(scale);
      }
    }
    return to + count * job.rows();
  }
};

/// Several results for each channel: one for each of as many like channels.
template <class T> class Widened : public LeadingKernel {
public:
  Widened(std::unique_ptr<LeadingKernel> depthwise, int64_t times) : depthwise(std::move(depthwise)), times(times) {}
  bool runThen(Operands in, Operands out, pthreadpool_t threads, const Behind &behind) override {
    const Tensor &x = *in[0];
    if (x.rank() != 4)
      return false;
    int64_t count = x.count(), channels = eval::times(x.dim(3), times);
    if (channels > std::numeric_limits<int32_t>::max() || eval::times(count, times) > int64_t(1) << 26)
      return false;
    auto bytes = static_cast<uint64_t>(count * times) * sizeof(T);
    if (image.bytes != bytes && !image.allocate(bytes))
      return false;
    T *to = reinterpret_cast<T *>(image.data.get());
    parallelFor(threads, static_cast<size_t>(count), 4096, [&](size_t first, size_t some) {
      const T *from = dataOf<T>(x);
      for (auto i = static_cast<int64_t>(first), end = i + static_cast<int64_t>(some); i < end; ++i)
        for (int64_t n = 0; n < times; ++n)
          to[i * times + n] = from[i];
    });
    wide.type = x.type;
    wide.shape = x.shape;
    wide.shape[3] = static_cast<int32_t>(channels);
    wide.storage = {image.data.get(), static_cast<size_t>(bytes)};
    Tensor *images = &wide;
    return depthwise->runThen(images, out, threads, behind);
  }

private:
  std::unique_ptr<LeadingKernel> depthwise;
  int64_t times;
  Block image;
  Tensor wide;
};

/// `make(convolution, lanes)` of one result for each channel. Null: not for this processor, or not for such a
/// convolution.
template <class T, class Make> std::unique_ptr<FastKernel> ofChannels(Conv conv, Make make) {
  auto times = static_cast<int64_t>(conv.groupOut);
  conv.groups *= static_cast<uint32_t>(times);
  conv.groupOut = 1;
  int64_t lanes = processor() >= Processor::Avx512 && conv.groups >= 16 ? 16 : 8;
  // XNNPACK is quicker where few channels are not side by side.
  if (processor() == Processor::Plain || (conv.groups < lanes && conv.strideW != 1))
    return nullptr;
  std::unique_ptr<LeadingKernel> made = make(conv, lanes);
  return times == 1 ? std::move(made) : std::make_unique<Widened<T>>(std::move(made), times);
}

template <class T>
std::unique_ptr<FastKernel> ofBytes(const Conv &conv, const Tensor &in, const Tensor &out, std::pair<T, T> range) {
  return ofChannels<T>(conv, [&](const Conv &conv, int64_t lanes) {
    int32_t zero = out.zeroPoint();
    return std::make_unique<Depthwise<T>>(conv, static_cast<float>(range.first - zero),
                                          static_cast<float>(range.second - zero), lanes, &in, &out);
  });
}

} // namespace

std::unique_ptr<FastKernel> floatDepthwise(const Conv &conv, std::pair<float, float> range) {
  return ofChannels<float>(conv, [&](const Conv &conv, int64_t lanes) {
    return std::make_unique<Depthwise<float>>(conv, range.first, range.second, lanes);
  });
}

std::unique_ptr<FastKernel> byteDepthwise(const Conv &conv, const Tensor &in, const Tensor &out,
                                          std::pair<int8_t, int8_t> range) {
  return ofBytes(conv, in, out, range);
}
std::unique_ptr<FastKernel> byteDepthwise(const Conv &conv, const Tensor &in, const Tensor &out,
                                          std::pair<uint8_t, uint8_t> range) {
  return ofBytes(conv, in, out, range);
}

} // namespace origo::eval
