#include "eval/fast/Processor.h"
#include "eval/fast/Reduce.h"
#include "eval/fast/VectorMath.h"
#include "eval/fast/Zip.h"
#include "eval/kernels/QuantizedArithmetic.h"

/// Functions of floats, in loops that the compiler vectorises.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

#define FUNCTION(name, expression)                                                                                     \
  struct name {                                                                                                        \
    [[gnu::always_inline]] static inline float of(float x) { return expression; }                                      \
  };
FUNCTION(Absolute, std::abs(x))
FUNCTION(Ceil, std::ceil(x))
FUNCTION(Cos, cosf(x))
FUNCTION(Exp, expf(x))
FUNCTION(Floor, std::floor(x))
FUNCTION(HardSwish, x *(x > -3 ? x < 3 ? x + 3 : 6 : 0) * (1 / 6.f))
FUNCTION(Log, logf(x))
FUNCTION(Negative, -x)
FUNCTION(ReciprocalRoot, 1.f / std::sqrt(x))
// What is no number becomes the lower bound.
FUNCTION(Relu, x > 0 ? x : 0.f)
FUNCTION(Relu0To1, x > 0 ? x < 1 ? x : 1.f : 0.f)
FUNCTION(Relu6, x > 0 ? x < 6 ? x : 6.f : 0.f)
FUNCTION(ReluN1To1, x > -1 ? x < 1 ? x : 1.f : -1.f)
FUNCTION(Root, std::sqrt(x))
FUNCTION(Round, std::nearbyint(x))
FUNCTION(Sign, static_cast<float>(x > 0) - static_cast<float>(x < 0))
FUNCTION(Sin, sinf(x))
FUNCTION(Square, x *x)
FUNCTION(Tanh, tanhf(x))
FUNCTION(Gelu, 0.5f * x * (1 + erff(x * static_cast<float>(M_SQRT1_2))))
FUNCTION(GeluByTanh, 0.5f * x * (1 + tanhf(static_cast<float>(M_2_SQRTPI * M_SQRT1_2) * (x + 0.044715f * x * x * x))))
#undef FUNCTION

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
    float exponent = (x[i] - largest) * beta, made = expf(exponent < least ? least : exponent);
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

/// XNNPACK's exponential of numbers beyond 1e37 is none.
struct MendedLogistic {
  [[gnu::always_inline]] static inline void run(const float *x, float *y, int64_t count, float) {
    int32_t any = 0;
    for (int64_t i = 0; i < count; ++i)
      any |= y[i] != y[i];
    if (any)
      for (int64_t i = 0; i < count; ++i)
        y[i] = y[i] != y[i] ? 1 / (1 + expf(-x[i])) : y[i];
  }
};

/// Functions of two operands, which broadcast.
#define FUNCTION(name, expression)                                                                                     \
  struct name {                                                                                                        \
    [[gnu::always_inline]] static inline float of(float x, float y) { return expression; }                             \
  };
FUNCTION(Add, x + y)
FUNCTION(Divide, x / y)
FUNCTION(Greater, x > y ? x : y)
FUNCTION(Less, x < y ? x : y)
FUNCTION(Multiply, x *y)
FUNCTION(Power, powf(x, y))
FUNCTION(Prelu, x >= 0 ? x : x * y)
FUNCTION(SquaredDifference, (x - y) * (x - y))
FUNCTION(Subtract, x - y)
#undef FUNCTION
template <class F, bool Clamps> struct Pairs {
  [[gnu::always_inline]] static inline void run(const float *x, bool xMoves, const float *y, bool yMoves, float *to,
                                                int64_t count, std::pair<float, float> range) {
    float low = range.first, high = range.second;
    // What is no number becomes the lower bound.
    auto clamped = [low, high](float z) __attribute__((always_inline)) {
      float raised = z > low ? z : low;
      return Clamps ? raised < high ? raised : high : z;
    };
    if (xMoves && yMoves)
      for (int64_t i = 0; i < count; ++i)
        to[i] = clamped(F::of(x[i], y[i]));
    else if (xMoves)
      for (int64_t i = 0; i < count; ++i)
        to[i] = clamped(F::of(x[i], *y));
    else
      for (int64_t i = 0; i < count; ++i)
        to[i] = clamped(F::of(*x, yMoves ? y[i] : *y));
  }
};

template <class F, class... A> void runPlain(A... arguments) { F::run(arguments...); }
template <class F, class... A> ORIGO_AVX2 void runAvx2(A... arguments) { F::run(arguments...); }
template <class F, class... A> ORIGO_AVX512 void runAvx512(A... arguments) { F::run(arguments...); }

/// `rows`: of the last dimension; else of any length.
template <class F> std::unique_ptr<FastKernel> inRows(bool rows, float parameter = 0) {
  using Run = void (*)(const float *, float *, int64_t, float);
  Run run = forThisProcessor<Run>(runPlain<F>, runAvx2<F>, runAvx512<F>);
  return fastKernel([=](Operands in, Operands out, pthreadpool_t threads) {
    int64_t count = in[0]->count(), length = rows ? in[0]->shape.back() : 4096;
    Loops<1> pieces;
    pieces.add((count + length - 1) / length, {length});
    pieces.each(threads, [&](const Loops<1>::Steps &at, int64_t) {
      run(dataOf<float>(*in[0]) + at[0], dataOf<float>(*out[0]) + at[0], std::min(length, count - at[0]), parameter);
    });
    return true;
  });
}

std::unique_ptr<FastKernel> logistic() {
  constexpr size_t one = 1;
  auto first = xnnKernel(createXnn(xnn_create_sigmoid_nc_f32, one, one, one, 0u),
                         [](xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
                           auto count = static_cast<size_t>(in[0]->count());
                           return xnn_setup_sigmoid_nc_f32(op, count, dataOf<float>(*in[0]), dataOf<float>(*out[0]), threads);
                         });
  auto second = inRows<MendedLogistic>(false);
  return fastKernel([first = std::move(first), second = std::move(second)](Operands in, Operands out, pthreadpool_t threads) {
    return first && first->run(in, out, threads) && second->run(in, out, threads);
  });
}

std::unique_ptr<FastKernel> function(const FastSite &site) {
  if (site.type(0) != TensorType::FLOAT32 || site.output().type != TensorType::FLOAT32)
    return nullptr;
  switch (site.op.code) {
  case Op::ABS:
    return inRows<Each<Absolute>>(false);
  case Op::CEIL:
    return inRows<Each<Ceil>>(false);
  case Op::COS:
    return inRows<Each<Cos>>(false);
  case Op::EXP:
    return inRows<Each<Exp>>(false);
  case Op::FLOOR:
    return inRows<Each<Floor>>(false);
  case Op::HARD_SWISH:
    return inRows<Each<HardSwish>>(false);
  case Op::LEAKY_RELU:
    return inRows<LeakyRelu>(false, site.options<circle::LeakyReluOptions>().alpha());
  case Op::LOG:
    return inRows<Each<Log>>(false);
  case Op::LOGISTIC:
    return logistic();
  case Op::NEG:
    return inRows<Each<Negative>>(false);
  case Op::RELU:
    return inRows<Each<Relu>>(false);
  case Op::RELU6:
    return inRows<Each<Relu6>>(false);
  case Op::RELU_0_TO_1:
    return inRows<Each<Relu0To1>>(false);
  case Op::RELU_N1_TO_1:
    return inRows<Each<ReluN1To1>>(false);
  case Op::ROUND:
    return inRows<Each<Round>>(false);
  case Op::RSQRT:
    return inRows<Each<ReciprocalRoot>>(false);
  case Op::SIGN:
    return inRows<Each<Sign>>(false);
  case Op::SIN:
    return inRows<Each<Sin>>(false);
  case Op::SQRT:
    return inRows<Each<Root>>(false);
  case Op::SQUARE:
    return inRows<Each<Square>>(false);
  case Op::TANH:
    return inRows<Each<Tanh>>(false);
  case Op::GELU:
    return site.options<circle::GeluOptions>().approximate() ? inRows<Each<GeluByTanh>>(false)
                                                             : inRows<Each<Gelu>>(false);
  default:
    return nullptr;
  }
}

using RunPairs = void (*)(const float *, bool, const float *, bool, float *, int64_t, std::pair<float, float>);
template <class F> RunPairs pairsHere(bool clamps) {
  using Clamped = Pairs<F, true>;
  using Free = Pairs<F, false>;
  return clamps ? forThisProcessor<RunPairs>(runPlain<Clamped>, runAvx2<Clamped>, runAvx512<Clamped>)
                : forThisProcessor<RunPairs>(runPlain<Free>, runAvx2<Free>, runAvx512<Free>);
}

RunPairs pairsOf(Op op, bool clamps) {
  switch (op) {
  case Op::ADD:
    return pairsHere<Add>(clamps);
  case Op::SUB:
    return pairsHere<Subtract>(clamps);
  case Op::MUL:
    return pairsHere<Multiply>(clamps);
  case Op::DIV:
    return pairsHere<Divide>(clamps);
  case Op::MAXIMUM:
    return pairsHere<Greater>(clamps);
  case Op::MINIMUM:
    return pairsHere<Less>(clamps);
  case Op::SQUARED_DIFFERENCE:
    return pairsHere<SquaredDifference>(clamps);
  case Op::POW:
    return pairsHere<Power>(clamps);
  default:
    return pairsHere<Prelu>(clamps);
  }
}

std::unique_ptr<FastKernel> ofTwo(const FastSite &site) {
  auto activation = fusedActivation(site);
  auto range = clampRange<float>(activation, site.output());
  if (site.type(0) != TensorType::FLOAT32 || site.type(1) != TensorType::FLOAT32 || !range)
    return nullptr;
  RunPairs run = pairsOf(site.op.code, activation != circle::ActivationFunctionType::NONE);
  return fastKernel([run, range = *range, all = Zip<float>()](Operands in, Operands out, pthreadpool_t threads) mutable {
    float *result = dataOf<float>(*out[0]);
    all(*in[0], *in[1], *out[0], threads,
        [&](const float *x, bool xMoves, const float *y, bool yMoves, int64_t to, int64_t count) {
          run(x, xMoves, y, yMoves, result + to, count, range);
        });
    return true;
  });
}

/// Along the last dimension.
std::unique_ptr<FastKernel> alongRows(const FastSite &site) {
  // Ranks may change, but no kernel takes a scalar.
  if (site.type(0) != TensorType::FLOAT32 || site.output().type != TensorType::FLOAT32)
    return nullptr;
  switch (site.op.code) {
  case Op::SOFTMAX:
    return inRows<Softmax>(true, site.options<circle::SoftmaxOptions>().beta());
  case Op::LOG_SOFTMAX:
    return inRows<LogSoftmax>(true);
  default:
    return site.options<circle::L2NormOptions>().fused_activation_function() == circle::ActivationFunctionType::NONE
               ? inRows<Normalize>(true)
               : nullptr;
  }
}

} // namespace

llvm::ArrayRef<FastRow> fastMath() {
  static const FastRow rows[] = {{Op::ABS, function},
                                 {Op::CEIL, function},
                                 {Op::COS, function},
                                 {Op::EXP, function},
                                 {Op::FLOOR, function},
                                 {Op::HARD_SWISH, function},
                                 {Op::LEAKY_RELU, function},
                                 {Op::LOG, function},
                                 {Op::LOGISTIC, function},
                                 {Op::NEG, function},
                                 {Op::RELU, function},
                                 {Op::RELU6, function},
                                 {Op::RELU_0_TO_1, function},
                                 {Op::RELU_N1_TO_1, function},
                                 {Op::ROUND, function},
                                 {Op::RSQRT, function},
                                 {Op::SIGN, function},
                                 {Op::SIN, function},
                                 {Op::SQRT, function},
                                 {Op::SQUARE, function},
                                 {Op::TANH, function},
                                 {Op::GELU, function},
                                 {Op::SOFTMAX, alongRows},
                                 {Op::LOG_SOFTMAX, alongRows},
                                 {Op::L2_NORMALIZATION, alongRows},
                                 {Op::ADD, ofTwo},
                                 {Op::SUB, ofTwo},
                                 {Op::MUL, ofTwo},
                                 {Op::DIV, ofTwo},
                                 {Op::MAXIMUM, ofTwo},
                                 {Op::MINIMUM, ofTwo},
                                 {Op::SQUARED_DIFFERENCE, ofTwo},
                                 {Op::POW, ofTwo},
                                 {Op::PRELU, ofTwo}};
  return rows;
}

} // namespace origo::eval
