#include "eval/fast/FloatWindows.h"
#include "eval/fast/Transpose.h"

/// CONV_2D of floats with filters of 3x3 by Winograd's F(2x2, 3x3): four pixels of the result need 16 products for each
/// pair of channels, not 36. Parts of the image of 4x4 pixels, which overlap by two, are transformed, those of all
/// input channels are multiplied by transformed weights, and the sums become squares of 2x2 pixels.
namespace origo::eval {

namespace {

constexpr int64_t terms = 16;       ///< of a transformed part of the image
constexpr int64_t mostLanes = 32;   ///< of channels at once
constexpr int64_t mostSquares = 16; ///< at once: what is made of them stays in the cache

/// Some squares of the result.
struct Squares {
  int64_t count;
  const float *from[mostSquares][terms]; ///< pixels of the image, zeros where it has none
  float *to[mostSquares][4];             ///< pixels of the result, spare memory where it has none
};

/// Between what belongs to two terms: not a power of two, for all 16 would fall to the same place of the cache.
int64_t distanceOf(int64_t floats) { return (floats + 15) / 16 * 16 + 16; }

struct Job {
  const float *packed, *bias;
  int64_t depth, resultDepth;
  float low, high;
};

/// A thread's memory.
struct Scratch {
  float *inputs, *sums, *spare;
  int64_t inputDistance, sumDistance;
};

template <class V>
[[gnu::always_inline]] inline void transformImage(const Squares &squares, int64_t depth, const Scratch &scratch) {
  constexpr int64_t lanes = lanesOf<V>;
  for (int64_t s = 0; s < squares.count; ++s) {
    const float *const *from = squares.from[s];
    for (int64_t next = 0; next < depth; next += lanes) {
      int64_t channel = std::min(next, depth - lanes); // the last ones once more, rather than some beyond them
      V rows[4][4];
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) {
        V d[4];
#pragma GCC unroll 4
        for (int y = 0; y < 4; ++y)
          load(d[y], from[4 * y + x] + channel);
        rows[0][x] = d[0] - d[2];
        rows[1][x] = d[1] + d[2];
        rows[2][x] = d[2] - d[1];
        rows[3][x] = d[1] - d[3];
      }
      float *to = scratch.inputs + s * depth + channel;
#pragma GCC unroll 4
      for (int y = 0; y < 4; ++y, to += 4 * scratch.inputDistance) {
        V *d = rows[y];
        store<V>(to, d[0] - d[2]);
        store<V>(to + scratch.inputDistance, d[1] + d[2]);
        store<V>(to + 2 * scratch.inputDistance, d[2] - d[1]);
        store<V>(to + 3 * scratch.inputDistance, d[1] - d[3]);
      }
    }
  }
}

/// One term of `Rows` squares, `Wide` vectors of channels.
template <class V, int Rows, int Wide>
[[gnu::always_inline]] inline void multiply(const float *inputs, const float *weights, int64_t depth, float *to) {
  constexpr int64_t lanes = lanesOf<V>, step = Wide * lanes;
  V sums[Rows][Wide] = {};
  const float *left[Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    left[r] = inputs + r * depth;
    asm("" : "+r"(left[r])); // not as distances from each other, which take more registers
  }
  for (int64_t k = 0; k < depth; ++k, weights += step) {
    V b[Wide];
#pragma GCC unroll 2
    for (int v = 0; v < Wide; ++v)
      load(b[v], weights + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      float a = left[r][k];
#pragma GCC unroll 2
      for (int v = 0; v < Wide; ++v)
        sums[r][v] += a * b[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Wide; ++v)
      store(to + r * step + v * lanes, sums[r][v]);
}

/// Channels of the result from `channel` on. False: sums are not numbers.
template <class V, int Wide>
[[gnu::always_inline]] inline bool transformSums(const Squares &squares, const Job &job, const Scratch &scratch,
                                                 int64_t channel) {
  constexpr int64_t lanes = lanesOf<V>;
  const V low = job.low - V{}, high = job.high - V{};
  V zeros = {};
  for (int v = 0; v < Wide; ++v) {
    int64_t place = std::min(channel + v * lanes, job.resultDepth - lanes);
    V bias;
    load(bias, job.bias + place);
    for (int64_t s = 0; s < squares.count; ++s) {
      const float *from = scratch.sums + (s * Wide + v) * lanes;
      V rows[2][4];
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) {
        V m[4];
#pragma GCC unroll 4
        for (int y = 0; y < 4; ++y)
          load(m[y], from + (4 * y + x) * scratch.sumDistance);
        rows[0][x] = m[0] + m[1] + m[2];
        rows[1][x] = m[1] - m[2] - m[3];
      }
#pragma GCC unroll 4
      for (int pixel = 0; pixel < 4; ++pixel) {
        const V *m = rows[pixel / 2];
        V sum = pixel % 2 ? m[1] - m[2] - m[3] : m[0] + m[1] + m[2];
        zeros += sum * 0.0f;
        sum += bias;
        clamp(sum, low, high);
        store(squares.to[s][pixel] + place, sum);
      }
    }
  }
  alignas(64) float list[lanes];
  store(list, zeros);
  float all = 0;
  for (float zero : list)
    all += zero;
  return all == 0;
}

// Functions of their own, so that each has all registers.
struct Avx2 {
  using Vector = Vector8;
  [[gnu::noinline]] ORIGO_AVX2 static void image(const Squares &squares, int64_t depth, const Scratch &scratch) {
    transformImage<Vector>(squares, depth, scratch);
  }
  template <int Rows, int Wide>
  [[gnu::noinline]] ORIGO_AVX2 static void products(const float *inputs, const float *weights, int64_t depth,
                                                    float *to) {
    multiply<Vector, Rows, Wide>(inputs, weights, depth, to);
  }
  template <int Wide>
  [[gnu::noinline]] ORIGO_AVX2 static bool sums(const Squares &squares, const Job &job, const Scratch &scratch,
                                                int64_t channel) {
    return transformSums<Vector, Wide>(squares, job, scratch, channel);
  }
};
struct Avx512 {
  using Vector = Vector16;
  [[gnu::noinline]] ORIGO_AVX512 static void image(const Squares &squares, int64_t depth, const Scratch &scratch) {
    transformImage<Vector>(squares, depth, scratch);
  }
  template <int Rows, int Wide>
  [[gnu::noinline]] ORIGO_AVX512 static void products(const float *inputs, const float *weights, int64_t depth,
                                                      float *to) {
    multiply<Vector, Rows, Wide>(inputs, weights, depth, to);
  }
  template <int Wide>
  [[gnu::noinline]] ORIGO_AVX512 static bool sums(const Squares &squares, const Job &job, const Scratch &scratch,
                                                  int64_t channel) {
    return transformSums<Vector, Wide>(squares, job, scratch, channel);
  }
};

struct Code {
  int64_t lanes, most; ///< most: squares that products take
  decltype(&Avx2::image) image;
  decltype(&Avx2::products<1, 1>) products[2][8]; ///< by `Wide - 1`, `Rows - 1`
  decltype(&Avx2::sums<1>) sums[2];
};
template <class For, int... Rows> constexpr Code codeOf(std::integer_sequence<int, Rows...>) {
  return {lanesOf<typename For::Vector>,
          sizeof...(Rows),
          &For::image,
          {{&For::template products<Rows + 1, 1>...}, {&For::template products<Rows + 1, 2>...}},
          {&For::template sums<1>, &For::template sums<2>}};
}
constexpr Code codeAvx2 = codeOf<Avx2>(std::make_integer_sequence<int, 6>());
constexpr Code codeAvx512 = codeOf<Avx512>(std::make_integer_sequence<int, 8>());

class Winograd : public LeadingKernel {
public:
  Winograd(const Conv &conv, std::pair<float, float> range, const Code &code, std::shared_ptr<Block> scratch)
      : conv(conv), code(code), scratch(std::move(scratch)) {
    job.depth = static_cast<int64_t>(conv.groupIn);
    job.resultDepth = static_cast<int64_t>(conv.groupOut);
    job.low = range.first;
    job.high = range.second;
    int64_t padded = (job.resultDepth + code.lanes - 1) / code.lanes * code.lanes;
    if (!packed.allocate(static_cast<uint64_t>(padded * (1 + terms * job.depth)) * sizeof(float)))
      return;
    auto *bias = reinterpret_cast<float *>(packed.data.get()), *weights = bias + padded;
    for (int64_t c = 0; c < job.resultDepth; ++c)
      bias[c] = conv.bias ? dataOf<float>(*conv.bias)[c] : 0;
    job.bias = bias;
    job.packed = weights;
    pack(dataOf<float>(*conv.filter), weights);
  }

  /// Weights are packed, and numbers.
  bool isReady() const { return finite; }

  bool runThen(Operands in, Operands out, pthreadpool_t threads, const Behind &behind) override {
    const Tensor &x = *in[0], &y = *out[0];
    if (x.rank() != 4 || x.dim(3) != job.depth)
      return false;
    Layout layout{conv.axis(x, y, 0), conv.axis(x, y, 1), dataOf<float>(x), dataOf<float>(*out[0]),
                  dataOf<float>(*in[1])};
    int64_t parts = threads ? static_cast<int64_t>(pthreadpool_get_threads_count(threads)) : 1;
    if (!prepare(parts))
      return false;
    int64_t rows = x.dim(0) * layout.down(), block = 2 * code.lanes;
    bool ofChannels = parts > 1 && job.resultDepth > block &&
                      dividesWeights(x.count(), 9 * job.depth * job.resultDepth, y.count() / job.resultDepth);
    // Of rows of squares, or of blocks of channels.
    int64_t all = ofChannels ? (job.resultDepth + block - 1) / block : rows;
    int64_t share = std::max<int64_t>(1, (all + parts - 1) / parts);
    parallelFor(
        threads, static_cast<size_t>(all), static_cast<size_t>(share),
        [&](size_t first, size_t count) {
          auto begin = static_cast<int64_t>(first), end = begin + static_cast<int64_t>(count);
          Scratch own = scratchOf(begin / share);
          if (ofChannels)
            someRows(layout, {0, rows}, {begin * block, std::min(end * block, job.resultDepth)}, own, std::nullopt);
          else
            someRows(layout, {begin, end}, {0, job.resultDepth}, own, behind);
        },
        PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    if (ofChannels && behind)
      (*behind)(0, y.count());
    return true;
  }

private:
  struct Range {
    int64_t begin, end;
  };
  /// Of a run.
  struct Layout {
    WindowAxis vertical, horizontal;
    const float *image;
    float *result;
    const float *filter;
    int64_t down() const { return (vertical.result + 1) / 2; }
    int64_t across() const { return (horizontal.result + 1) / 2; }
  };

  Conv conv;
  const Code &code;
  Job job = {};
  Block packed;
  std::shared_ptr<Block> scratch;
  bool finite = false;

  /// Blocks of two vectors of channels, a last one of one where that is enough: a term, all input channels of the
  /// next one.
  void pack(const float *filter, float *to) {
    constexpr int64_t some = 16; // a line of the cache of each channel at a time
    float lines[some][9][mostLanes], zeros[mostLanes] = {};
    for (int64_t first = 0; first < job.resultDepth;) {
      int64_t block = job.resultDepth - first > code.lanes ? 2 * code.lanes : code.lanes;
      for (int64_t begin = 0; begin < job.depth; begin += some) {
        int64_t count = std::min(some, job.depth - begin);
        for (int64_t v = 0; v < block; v += code.lanes) {
          int64_t channel = std::min(first + v, job.resultDepth - code.lanes);
          for (int64_t tap = 0; tap < 9; ++tap)
            transposeRows(filter + (channel * 9 + tap) * job.depth + begin, 9 * job.depth, code.lanes, count,
                          lines[0][tap] + v, 9 * mostLanes);
        }
        for (int64_t k = 0; k < count; ++k)
          transformFilter(lines[k], block, to + (begin + k) * block, job.depth * block, zeros);
      }
      to += terms * job.depth * block;
      first += block;
    }
    finite = llvm::all_of(zeros, [](float zero) { return zero == 0; });
  }

  /// Of one input channel; terms are so far from each other. NaN makes none of the zeros.
  static void transformFilter(const float (*g)[mostLanes], int64_t block, float *to, int64_t distance, float *zeros) {
    using V = Vector4;
    for (int64_t v = 0; v < block; v += lanesOf<V>, zeros += lanesOf<V>) {
      V rows[4][3], zero;
      load(zero, zeros);
      for (int x = 0; x < 3; ++x) {
        V top, middle, bottom;
        load(top, g[x] + v);
        load(middle, g[3 + x] + v);
        load(bottom, g[6 + x] + v);
        rows[0][x] = top;
        rows[1][x] = (top + bottom + middle) * 0.5f;
        rows[2][x] = (top + bottom - middle) * 0.5f;
        rows[3][x] = bottom;
      }
      for (int y = 0; y < 4; ++y) {
        V left = rows[y][0], middle = rows[y][1], right = rows[y][2];
        V all[] = {left, (left + right + middle) * 0.5f, (left + right - middle) * 0.5f, right};
        for (int x = 0; x < 4; ++x) {
          store(to + (4 * y + x) * distance + v, all[x]);
          zero += all[x] * 0.0f;
        }
      }
      store(zeros, zero);
    }
  }

  int64_t inputDistance() const { return distanceOf(mostSquares * job.depth); }
  int64_t sumDistance() const { return distanceOf(mostSquares * 2 * code.lanes); }
  int64_t partSize() const { return terms * (inputDistance() + sumDistance()) + distanceOf(job.resultDepth); }
  int64_t zeroCount() const { return distanceOf(job.depth); }
  const float *zeros() const { return reinterpret_cast<const float *>(scratch->data.get()); }

  /// Memory for so many threads, behind zeros for what lies around the image.
  bool prepare(int64_t parts) {
    uint64_t bytes = static_cast<uint64_t>(zeroCount() + parts * partSize()) * sizeof(float);
    if (scratch->bytes < bytes && !scratch->allocate(bytes))
      return false;
    std::fill_n(reinterpret_cast<float *>(scratch->data.get()), zeroCount(), 0.0f);
    return true;
  }
  Scratch scratchOf(int64_t part) const {
    float *inputs = reinterpret_cast<float *>(scratch->data.get()) + zeroCount() + part * partSize();
    float *sums = inputs + terms * inputDistance();
    return {inputs, sums, sums + terms * sumDistance(), inputDistance(), sumDistance()};
  }

  /// Squares in rows of them, which go on from one image to the next.
  void someRows(const Layout &layout, Range rows, Range channels, const Scratch &scratch, const Behind &behind) const {
    int64_t across = layout.across(), all = (rows.end - rows.begin) * across;
    int64_t most = mostSquares / code.most * code.most, groups = (all + most - 1) / most;
    Squares squares;
    for (int64_t g = 0; g < groups; ++g) {
      int64_t begin = rows.begin * across + all * g / groups, end = rows.begin * across + all * (g + 1) / groups;
      squares.count = end - begin;
      for (int64_t at = begin; at < end;) {
        int64_t next = std::min(end, (at / across + 1) * across);
        place(layout, at, next, squares.from + (at - begin), squares.to + (at - begin), scratch.spare);
        at = next;
      }
      if (!compute(squares, channels, scratch))
        computeDirectly(squares, channels, layout.filter);
      if (behind)
        tell(layout, begin, end, *behind);
    }
  }

  /// Where squares of one row are in the image and in the result.
  void place(const Layout &layout, int64_t square, int64_t end, const float *(*from)[terms], float *(*to)[4],
             float *spare) const {
    const WindowAxis &vertical = layout.vertical, &horizontal = layout.horizontal;
    int64_t across = layout.across(), row = square / across, picture = row / layout.down();
    int64_t toY = row % layout.down() * 2, toX = square % across * 2, depth = job.depth, resultDepth = job.resultDepth;
    int64_t y = toY - vertical.before, x = toX - horizontal.before; // may lie before the first pixel
    const float *line = layout.image + (picture * vertical.image + y) * horizontal.image * depth;
    float *result = layout.result + ((picture * vertical.result + toY) * horizontal.result + toX) * resultDepth;
    bool below = toY + 1 < vertical.result, rowsWithin = y >= 0 && y + 4 <= vertical.image;
    for (; square < end; ++square, ++from, ++to, x += 2, toX += 2, result += 2 * resultDepth) {
      bool right = toX + 1 < horizontal.result, within = rowsWithin && x >= 0 && x + 4 <= horizontal.image;
      if (within)
        for (int64_t i = 0; i < 4; ++i)
          for (int64_t j = 0; j < 4; ++j)
            (*from)[4 * i + j] = line + (i * horizontal.image + x + j) * depth;
      else
        for (int64_t i = 0; i < 4; ++i)
          for (int64_t j = 0; j < 4; ++j) {
            bool is = within || (y + i >= 0 && y + i < vertical.image && x + j >= 0 && x + j < horizontal.image);
            (*from)[4 * i + j] = is ? line + (i * horizontal.image + x + j) * depth : zeros();
          }
      float *next = result + horizontal.result * resultDepth;
      (*to)[0] = result;
      (*to)[1] = right ? result + resultDepth : spare;
      (*to)[2] = below ? next : spare;
      (*to)[3] = right && below ? next + resultDepth : spare;
    }
  }

  /// False: what it has computed is not right, for some of it is NaN.
  bool compute(const Squares &squares, Range channels, const Scratch &scratch) const {
    code.image(squares, job.depth, scratch);
    int64_t groups = (squares.count + code.most - 1) / code.most, begins[mostSquares + 1];
    for (int64_t g = 0; g <= groups; ++g)
      begins[g] = squares.count * g / groups; // evenly, so that none has a few last ones
    const float *weights = job.packed + channels.begin * terms * job.depth;
    bool good = true;
    for (int64_t first = channels.begin; first < channels.end;) {
      int64_t wide = job.resultDepth - first > code.lanes ? 2 : 1, step = wide * code.lanes;
      for (int64_t term = 0; term < terms; ++term, weights += job.depth * step)
        for (int64_t g = 0; g < groups; ++g)
          code.products[wide - 1][begins[g + 1] - begins[g] - 1](
              scratch.inputs + term * scratch.inputDistance + begins[g] * job.depth, weights, job.depth,
              scratch.sums + term * scratch.sumDistance + begins[g] * step);
      good = code.sums[wide - 1](squares, job, scratch, first) && good;
      first += step;
    }
    return good;
  }

  /// Differences of what is infinite, or overflows, are no numbers, where the sum of products is one.
  void computeDirectly(const Squares &squares, Range channels, const float *filter) const {
    for (int64_t s = 0; s < squares.count; ++s)
      for (int64_t pixel = 0; pixel < 4; ++pixel)
        for (int64_t channel = channels.begin; channel < channels.end; ++channel) {
          float sum = job.bias[channel];
          const float *weights = filter + channel * 9 * job.depth;
          for (int64_t tap = 0; tap < 9; ++tap, weights += job.depth) {
            const float *from = squares.from[s][(pixel / 2 + tap / 3) * 4 + pixel % 2 + tap % 3];
            for (int64_t k = 0; k < job.depth; ++k)
              sum += from[k] * weights[k];
          }
          clamp(sum, job.low, job.high);
          squares.to[s][pixel][channel] = sum;
        }
  }

  /// Rows of pixels of squares; those that follow each other together.
  void tell(const Layout &layout, int64_t begin, int64_t end, llvm::function_ref<void(int64_t, int64_t)> behind) const {
    int64_t across = layout.across(), first = 0, count = 0, height = layout.vertical.result,
            width = layout.horizontal.result;
    for (int64_t next; begin < end; begin = next) {
      int64_t row = begin / across, picture = row / layout.down(), y = row % layout.down() * 2;
      next = std::min(end, (row + 1) * across);
      int64_t x = (begin - row * across) * 2, pixels = std::min(width, (next - row * across) * 2) - x;
      for (int64_t at = y; at < std::min(height, y + 2); ++at) {
        int64_t place = ((picture * height + at) * width + x) * job.resultDepth;
        if (count && first + count != place) {
          behind(first, count);
          count = 0;
        }
        if (!count)
          first = place;
        count += pixels * job.resultDepth;
      }
    }
    if (count)
      behind(first, count);
  }
};

} // namespace

std::unique_ptr<FastKernel> winogradConvolution(const Conv &conv, std::pair<float, float> range,
                                                llvm::ArrayRef<int32_t> result, std::shared_ptr<Block> scratch) {
  // Below, transforms take longer than the products that are saved; with 16 channels and many pixels it takes two
  // thirds of the time, with 64 half of it.
  constexpr size_t fewChannels = 16;
  constexpr int32_t fewPixels = 6;
  if (processor() == Processor::Plain || conv.groups != 1 || conv.height != 3 || conv.width != 3 || conv.strideH != 1 ||
      conv.strideW != 1 || conv.dilationH != 1 || conv.dilationW != 1 || conv.groupIn < fewChannels ||
      conv.groupOut < fewChannels || result.size() != 4 || result[1] < fewPixels || result[2] < fewPixels)
    return nullptr;
  auto made = std::make_unique<Winograd>(conv, range, processor() >= Processor::Avx512 ? codeAvx512 : codeAvx2,
                                         std::move(scratch));
  return made->isReady() ? std::move(made) : nullptr;
}

} // namespace origo::eval
