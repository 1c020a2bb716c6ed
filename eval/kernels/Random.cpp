#include "eval/Kernels.h"
#include "eval/Shapes.h"

#include <array>
#include <cmath>
#include <numbers>

/// Random numbers. The generator is TensorFlow's Philox 4x32-10, so that the first run of a model computes what it
/// computes elsewhere. Each run begins at the seeds again; where both are zero, runtimes take seeds of their own and
/// this one takes zero.
namespace origo::eval {

namespace {

class Philox {
public:
  explicit Philox(const circle::RandomOptions &options)
      : key{low(options.seed()), high(options.seed())}, counter{0, 0, low(options.seed2()), high(options.seed2())} {}

  std::array<uint32_t, 4> next() {
    std::array<uint32_t, 4> x = counter;
    std::array<uint32_t, 2> k = key;
    for (int round = 0; round < 10; ++round) {
      uint64_t a = uint64_t(0xD2511F53) * x[0], b = uint64_t(0xCD9E8D57) * x[2];
      x = {uint32_t(b >> 32) ^ x[1] ^ k[0], uint32_t(b), uint32_t(a >> 32) ^ x[3] ^ k[1], uint32_t(a)};
      k[0] += 0x9E3779B9;
      k[1] += 0xBB67AE85;
    }
    for (uint32_t &word : counter)
      if (++word != 0)
        break;
    return x;
  }

private:
  static uint32_t low(int64_t seed) { return static_cast<uint32_t>(seed); }
  static uint32_t high(int64_t seed) { return static_cast<uint32_t>(static_cast<uint64_t>(seed) >> 32); }
  std::array<uint32_t, 2> key;
  std::array<uint32_t, 4> counter;
};

/// In [0, 1).
float toFloat(uint32_t bits) { return llvm::bit_cast<float>(0x3f800000 | (bits & 0x7fffff)) - 1.f; }
double toDouble(uint32_t upper, uint32_t lower) {
  return llvm::bit_cast<double>(0x3ff0000000000000 | uint64_t(upper & 0xfffff) << 32 | lower) - 1.0;
}

std::array<float, 4> uniform(const std::array<uint32_t, 4> &bits) {
  return {toFloat(bits[0]), toFloat(bits[1]), toFloat(bits[2]), toFloat(bits[3])};
}
/// Box and Muller's two normal numbers of two uniform ones.
std::array<float, 4> normal(const std::array<uint32_t, 4> &bits) {
  std::array<float, 4> numbers;
  for (int i = 0; i < 4; i += 2) {
    float angle = 2 * std::numbers::pi_v<float> * toFloat(bits[i + 1]);
    float radius = std::sqrt(-2.f * std::log(std::max(toFloat(bits[i]), 1e-7f)));
    numbers[i] = std::sin(angle) * radius;
    numbers[i + 1] = std::cos(angle) * radius;
  }
  return numbers;
}

template <std::array<float, 4> (*numbersOf)(const std::array<uint32_t, 4> &)> llvm::Error fill(KernelContext &ctx) {
  Philox random(ctx.options<circle::RandomOptions>());
  auto out = ctx.output().as<float>();
  for (size_t i = 0; i < out.size(); i += 4) {
    auto numbers = numbersOf(random.next());
    std::copy_n(numbers.begin(), std::min<size_t>(4, out.size() - i), out.begin() + i);
  }
  return llvm::Error::success();
}

/// Draws classes with the probabilities of softmax(logits).
template <class T> llvm::Error multinomial(KernelContext &ctx) {
  const Tensor &logits = ctx.input(0);
  int32_t batches = logits.dim(0), classes = logits.dim(1), samples = ctx.output().dim(1);
  if (classes == 0)
    return ctx.fail(0, "has no classes");
  auto in = logits.as<float>();
  auto out = ctx.output().as<T>();
  Philox random(ctx.options<circle::RandomOptions>());
  std::array<uint32_t, 4> bits;
  size_t used = 4;
  auto word = [&] {
    if (used == 4) {
      bits = random.next();
      used = 0;
    }
    return bits[used++];
  };
  std::vector<double> sums(classes);
  for (int64_t b = 0; b < batches && samples > 0; ++b) {
    auto row = in.slice(b * classes, classes);
    float most = std::numeric_limits<float>::lowest();
    for (float logit : row)
      if (std::isfinite(logit))
        most = std::max(most, logit);
    double sum = 0;
    for (int32_t c = 0; c < classes; ++c) {
      if (std::isfinite(row[c]))
        sum += std::exp(static_cast<double>(row[c]) - static_cast<double>(most));
      sums[c] = sum;
    }
    for (int64_t s = 0; s < samples; ++s) {
      uint32_t upper = word(), lower = word();
      auto found = std::upper_bound(sums.begin(), sums.end(), toDouble(upper, lower) * sum);
      out[b * samples + s] = static_cast<T>(std::min<int64_t>(found - sums.begin(), classes - 1));
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> randomKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::RANDOM_UNIFORM, "i32|i64 -> f32", fill<uniform>},
      {Op::RANDOM_STANDARD_NORMAL, "i32|i64 -> f32", fill<normal>},
      {Op::MULTINOMIAL, "f32[b,c], i32 -> i32[b,_]", multinomial<int32_t>},
      {Op::MULTINOMIAL, "f32[b,c], i32 -> i64[b,_]", multinomial<int64_t>},
  };
  return rows;
}

} // namespace origo::eval
