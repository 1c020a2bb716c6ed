#include "eval/fast/Parallel.h"
#include "eval/fast/Processor.h"
#include "eval/fast/Reduce.h"
#include "eval/fast/VectorMath.h"
#include "eval/fast/Vectors.h"
#include "eval/fast/Zip.h"
#include "eval/kernels/QuantizedArithmetic.h"

/// Functions of floats, in loops that the compiler vectorises.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

// NaN is not below a bound.
#define FUNCTIONS(F)                                                                                                   \
  F(ABS, std::abs(x))                                                                                                  \
  F(CEIL, std::ceil(x))                                                                                                \
  F(COS, cosf(x))                                                                                                      \
  F(ELU, x > 0 ? x : expm1f(x))                                                                                        \
  F(EXP, expf(x))                                                                                                      \
  F(FLOOR, std::floor(x))                                                                                              \
  F(HARD_SWISH, x *(x > -3 ? x < 3 ? x + 3 : 6 : 0) * (1 / 6.f))                                                       \
  F(LOG, logf(x))                                                                                                      \
  F(LOGISTIC, 1 / (1 + exponential(x < -87 ? 87 : x > 87 ? -87 : -x)))                                                 \
  F(NEG, -x)                                                                                                           \
  F(RELU, x < 0 ? 0.f : x)                                                                                             \
  F(RELU_0_TO_1, x<0 ? 0.f : x> 1 ? 1.f : x)                                                                           \
  F(RELU6, x<0 ? 0.f : x> 6 ? 6.f : x)                                                                                 \
  F(RELU_N1_TO_1, x<-1 ? -1.f : x> 1 ? 1.f : x)                                                                        \
  F(ROUND, std::nearbyint(x))                                                                                          \
  F(RSQRT, 1.f / std::sqrt(x))                                                                                         \
  F(SIGN, x == x ? static_cast<float>(x > 0) - static_cast<float>(x < 0) : x)                                          \
  F(SIN, sinf(x))                                                                                                      \
  F(SQRT, std::sqrt(x))                                                                                                \
  F(SQUARE, x *x)                                                                                                      \
  F(TANH, tanhf(x))
#define PAIRS(F)                                                                                                       \
  F(ADD, x + y)                                                                                                        \
  F(DIV, x / y)                                                                                                        \
  F(MAXIMUM, x > y ? x : y)                                                                                            \
  F(MINIMUM, x < y ? x : y)                                                                                            \
  F(MUL, x *y)                                                                                                         \
  F(PRELU, x >= 0 ? x : x * y)                                                                                         \
  F(SQUARED_DIFFERENCE, (x - y) * (x - y))                                                                             \
  F(SUB, x - y)

template <Op op> struct Function;
#define DEFINE(op, expression)                                                                                         \
  template <> struct Function<Op::op> {                                                                                \
    [[gnu::always_inline]] static inline float of(float x, [[maybe_unused]] float y = 0) { return expression; }        \
  };
FUNCTIONS(DEFINE)
PAIRS(DEFINE)
#undef DEFINE
/// The C library's computes 16 powers one by one where the base of one is not above zero.
template <> struct Function<Op::POW> {
  static constexpr float infinite = std::numeric_limits<float>::infinity();
  [[gnu::always_inline]] static inline float of(float x, float y) {
    float size = std::abs(x), half = y * 0.5f, power = powf(size == 0 ? 1 : size, y);
    bool whole = std::floor(y) == y, odd = whole & (std::floor(half) != half);
    // Odd powers have the sign of their base, which may be a zero.
    float ofZero = y > 0 ? odd ? x : 0.f : y < 0 ? odd ? 1 / x : infinite : y == 0 ? 1.f : y;
    float ofNegative = odd ? -power : (whole | (size == infinite)) ? power : NAN;
    return size == 0 ? ofZero : x < 0 ? ofNegative : power;
  }
};
struct Gelu {
  [[gnu::always_inline]] static inline float of(float x) {
    return 0.5f * x * (1 + erff(x * static_cast<float>(M_SQRT1_2)));
  }
};
struct GeluByTanh {
  [[gnu::always_inline]] static inline float of(float x) {
    return 0.5f * x * (1 + tanhf(static_cast<float>(M_2_SQRTPI * M_SQRT1_2) * (x + 0.044715f * x * x * x)));
  }
};

/// y = f(x), for `count` numbers.
template <class F> struct Each {
  [[gnu::always_inline]] static inline void run(const float *x, float *y, int64_t count, float) {
    for (int64_t i = 0; i < count; ++i)
      y[i] = F::of(x[i]);
  }
};

struct LeakyRelu {
  [[gnu::always_inline]] static inline void run(const float *x, float *y, int64_t count, float slope) {
    for (int64_t i = 0; i < count; ++i)
      y[i] = x[i] >= 0 ? x[i] : x[i] * slope;
  }
};

/// The largest of a row is taken off first, so that nothing overflows.
[[gnu::always_inline]] inline float exponentials(const float *x, float *y, int64_t count, float beta) {
  float largest = Maximum::start;
  reduceRun<Maximum>(x, count, &largest);
  // Numbers near 0 that no float holds in full, as masks make many, are slow to compute and make no difference.
  constexpr float least = -80;
  for (int64_t i = 0; i < count; ++i) {
    float exponent = (x[i] - largest) * beta, made = exponential(exponent < least ? least : exponent);
    y[i] = exponent < least ? 0 : made;
  }
  double sum = 0;
  reduceRun<Sum>(y, count, &sum);
  return static_cast<float>(sum);
}
struct Softmax {
  [[gnu::always_inline]] static inline void run(const float *x, float *y, int64_t count, float beta) {
    float factor = 1 / exponentials(x, y, count, beta);
    for (int64_t i = 0; i < count; ++i)
      y[i] *= factor;
  }
};
struct LogSoftmax {
  [[gnu::always_inline]] static inline void run(const float *x, float *y, int64_t count, float) {
    float largest = Maximum::start;
    reduceRun<Maximum>(x, count, &largest);
    float sum = std::log(exponentials(x, y, count, 1));
    for (int64_t i = 0; i < count; ++i)
      y[i] = x[i] - largest - sum;
  }
};
/// Divided by its Euclidean length.
struct Normalize {
  [[gnu::always_inline]] static inline void run(const float *x, float *y, int64_t count, float) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += static_cast<double>(x[i] * x[i]);
    float factor = 1 / std::max(static_cast<float>(std::sqrt(sum)), 1e-6f);
    for (int64_t i = 0; i < count; ++i)
      y[i] = x[i] * factor;
  }
};

/// Of two operands, which broadcast.
template <class F, bool Clamps> struct Pairs {
  [[gnu::always_inline]] static inline void run(const float *x, bool xMoves, const float *y, bool yMoves, float *to,
                                                int64_t count, std::pair<float, float> range) {
    float low = range.first, high = range.second;
    eachPair(
        x, xMoves, y, yMoves, to, count, [&](float x, float y) __attribute__((always_inline)) {
          float z = F::of(x, y);
          if constexpr (Clamps)
            clamp(z, low, high);
          return z;
        });
  }
};

template <class F, class... A> void runPlain(A... arguments) { F::run(arguments...); }
template <class F, class... A> ORIGO_AVX2 void runAvx2(A... arguments) { F::run(arguments...); }
template <class F, class... A> ORIGO_AVX512 void runAvx512(A... arguments) { F::run(arguments...); }

using Run = void (*)(const float *, float *, int64_t, float);
template <class F> Run runHere() { return forThisProcessor<Run>(runPlain<F>, runAvx2<F>, runAvx512<F>); }

/// Along the last dimension.
template <class F> std::unique_ptr<FastKernel> inRows(float parameter = 0) {
  return fastKernel([run = runHere<F>(), parameter](Operands in, Operands out, pthreadpool_t threads) {
    int64_t length = in[0]->shape.back();
    auto some = static_cast<size_t>(1 + 4096 / length);
    parallelFor(threads, static_cast<size_t>(in[0]->count() / length), some, [&](size_t first, size_t rows) {
      for (auto at = static_cast<int64_t>(first) * length, end = at + static_cast<int64_t>(rows) * length; at < end;
           at += length)
        run(dataOf<float>(*in[0]) + at, dataOf<float>(*out[0]) + at, length, parameter);
    });
    return true;
  });
}

class Elements : public ElementKernel {
public:
  Elements(Run compute, float parameter) : compute(compute), parameter(parameter) {}
  bool runThen(Operands in, Operands out, pthreadpool_t threads, const Behind &behind) override {
    parallelFor(threads, static_cast<size_t>(out[0]->count()), 4096, [&](size_t begin, size_t size) {
      auto first = static_cast<int64_t>(begin), count = static_cast<int64_t>(size);
      part(in, *out[0], first, count);
      if (behind)
        (*behind)(first, count);
    });
    return true;
  }
  bool fits(Operands in, const Tensor &out) const override { return in[0]->count() == out.count(); }
  void part(Operands in, Tensor &out, int64_t first, int64_t count) override {
    compute(dataOf<float>(*in[0]) + first, dataOf<float>(out) + first, count, parameter);
  }

private:
  Run compute;
  float parameter;
};
template <class F> std::unique_ptr<FastKernel> ofOne(float parameter = 0) {
  return std::make_unique<Elements>(runHere<F>(), parameter);
}

bool isOfFloats(const FastSite &site) {
  return site.type(0) == TensorType::FLOAT32 && site.output().type == TensorType::FLOAT32;
}

template <Op op> std::unique_ptr<FastKernel> function(const FastSite &site) {
  return isOfFloats(site) ? ofOne<Each<Function<op>>>() : nullptr;
}
std::unique_ptr<FastKernel> leakyRelu(const FastSite &site) {
  return isOfFloats(site) ? ofOne<LeakyRelu>(site.options<circle::LeakyReluOptions>().alpha()) : nullptr;
}
std::unique_ptr<FastKernel> gelu(const FastSite &site) {
  if (!isOfFloats(site))
    return nullptr;
  return site.options<circle::GeluOptions>().approximate() ? ofOne<Each<GeluByTanh>>() : ofOne<Each<Gelu>>();
}

using RunPairs = void (*)(const float *, bool, const float *, bool, float *, int64_t, std::pair<float, float>);
template <class F> RunPairs pairsHere(bool clamps) {
  using Clamped = Pairs<F, true>;
  using Free = Pairs<F, false>;
  return clamps ? forThisProcessor<RunPairs>(runPlain<Clamped>, runAvx2<Clamped>, runAvx512<Clamped>)
                : forThisProcessor<RunPairs>(runPlain<Free>, runAvx2<Free>, runAvx512<Free>);
}

template <Op op> std::unique_ptr<FastKernel> ofTwo(const FastSite &site) {
  auto activation = fusedActivation(site);
  auto range = clampRange<float>(activation, site.output());
  if (site.type(0) != TensorType::FLOAT32 || site.type(1) != TensorType::FLOAT32 || !range)
    return nullptr;
  if (op == Op::POW)
    if (const Tensor *exponent = site.constant(1); exponent && exponent->count() == 1 && *dataOf<float>(*exponent) == 2)
      return ofOne<Each<Function<Op::SQUARE>>>();
  RunPairs run = pairsHere<Function<op>>(activation != circle::ActivationFunctionType::NONE);
  auto compute = [run, range = *range](const float *x, bool xMoves, const float *y, bool yMoves, float *to,
                                       int64_t count) { run(x, xMoves, y, yMoves, to, count, range); };
  return std::make_unique<ZipKernel<float, decltype(compute)>>(compute);
}

/// Along the last dimension.
std::unique_ptr<FastKernel> alongRows(const FastSite &site) {
  // Ranks may change, but no kernel takes a scalar.
  if (!isOfFloats(site))
    return nullptr;
  switch (site.op.code) {
  case Op::SOFTMAX:
    // Exponents are not above zero.
    if (float beta = site.options<circle::SoftmaxOptions>().beta(); beta >= 0)
      return inRows<Softmax>(beta);
    return nullptr;
  case Op::LOG_SOFTMAX:
    return inRows<LogSoftmax>();
  default:
    return site.options<circle::L2NormOptions>().fused_activation_function() == circle::ActivationFunctionType::NONE
               ? inRows<Normalize>()
               : nullptr;
  }
}

} // namespace

llvm::ArrayRef<FastRow> fastMath() {
#define OF_ONE(op, expression) {Op::op, function<Op::op>},
#define OF_TWO(op, expression) {Op::op, ofTwo<Op::op>},
  static const FastRow rows[] = {FUNCTIONS(OF_ONE) PAIRS(OF_TWO){Op::POW, ofTwo<Op::POW>},
                                 {Op::LEAKY_RELU, leakyRelu},
                                 {Op::GELU, gelu},
                                 {Op::SOFTMAX, alongRows},
                                 {Op::LOG_SOFTMAX, alongRows},
                                 {Op::L2_NORMALIZATION, alongRows}};
  return rows;
}

} // namespace origo::eval
