#include "eval/kernels/Elementwise.h"
#include "eval/exact/Shared.h"
#include "eval/kernels/FakeRange.h"
#include "eval/kernels/QuantizedArithmetic.h"

/// What is computed element by element.
namespace origo::eval::exact {

using namespace loops;

namespace {

template <Number (Arithmetic::*f)(const Number &) const> llvm::Error each(Context &ctx) {
  return map<Number, Number>(ctx, [&](const Number &x) { return (ctx.math.*f)(x); });
}
template <Number (Arithmetic::*f)(const Number &, const Number &) const> llvm::Error both(Context &ctx) {
  Activation activation = fusedActivation(ctx);
  return zip<Number, Number>(ctx, [&](const Number &x, const Number &y, const char *&) {
    return activated(ctx, (ctx.math.*f)(x, y), activation);
  });
}
template <class F> llvm::Error eachBy(Context &ctx, F f) {
  return map<Number, Number>(ctx, [&](const Number &x) { return f(ctx.math, x); });
}

llvm::Error reciprocalRoot(Context &ctx) {
  return eachBy(ctx, [](const Arithmetic &math, const Number &x) { return math.divide(math.of(1), math.root(x)); });
}
template <double (*rounds)(double)> llvm::Error rounded(Context &ctx) {
  return eachBy(ctx, [](const Arithmetic &math, const Number &x) { return math.rounded(x, rounds); });
}

/// `positive` or `negative` of x, by its sign.
template <class P, class N> Number bySign(const Arithmetic &math, const Number &x, P positive, N negative) {
  Order order = math.compare(x, {});
  Number made = order == Order::Less || (order == Order::Unknown && x.value < 0) ? negative(x) : positive(x);
  return order == Order::Unknown ? Arithmetic::doubtful(made) : made;
}
auto same = [](const Number &x) { return x; };

llvm::Error absolute(Context &ctx) {
  return eachBy(ctx, [](const Arithmetic &math, const Number &x) {
    return bySign(math, x, same, [&](const Number &x) { return math.negate(x); });
  });
}
llvm::Error sign(Context &ctx) {
  return eachBy(ctx, [](const Arithmetic &math, const Number &x) {
    return x.image == 0
               ? Number()
               : bySign(
                     math, x, [&](const Number &) { return math.of(1); }, [&](const Number &) { return math.of(-1); });
  });
}
llvm::Error leakyRelu(Context &ctx) {
  Number alpha = ctx.math.of(static_cast<double>(ctx.options<circle::LeakyReluOptions>().alpha()));
  return eachBy(ctx, [&](const Arithmetic &math, const Number &x) {
    return bySign(math, x, same, [&](const Number &x) { return math.multiply(x, alpha); });
  });
}
llvm::Error prelu(Context &ctx) {
  return zip<Number, Number>(ctx, [&](const Number &x, const Number &alpha, const char *&) {
    return bySign(ctx.math, x, same, [&](const Number &x) { return ctx.math.multiply(x, alpha); });
  });
}
llvm::Error elu(Context &ctx) {
  return eachBy(ctx, [](const Arithmetic &math, const Number &x) {
    return bySign(math, x, same, [&](const Number &x) { return math.subtract(math.exponential(x), math.of(1)); });
  });
}
llvm::Error relu(Context &ctx) {
  Op code = ctx.op.builtinMeant();
  return eachBy(ctx, [&](const Arithmetic &math, const Number &x) {
    return code == Op::RELU           ? math.larger(x, {})
           : code == Op::RELU6        ? bounded(math, x, 0, 6)
           : code == Op::RELU_N1_TO_1 ? bounded(math, x, -1, 1)
                                      : bounded(math, x, 0, 1);
  });
}
llvm::Error hardSwish(Context &ctx) {
  return eachBy(ctx, [](const Arithmetic &math, const Number &x) {
    return math.divide(math.multiply(x, bounded(math, math.add(x, math.of(3)), 0, 6)), math.of(6));
  });
}
/// With the constants that the kernel has, which are floats.
llvm::Error gelu(Context &ctx) {
  bool approximate = ctx.options<circle::GeluOptions>().approximate();
  auto constant = [&](double number) { return ctx.math.of(static_cast<double>(static_cast<float>(number))); };
  Number half = ctx.math.of(0.5), one = ctx.math.of(1), rootHalf = constant(M_SQRT1_2),
         outer = constant(M_2_SQRTPI * M_SQRT1_2), inner = constant(0.044715);
  return eachBy(ctx, [&](const Arithmetic &math, const Number &x) {
    Number gate;
    if (approximate) {
      Number cube = math.multiply(math.square(x), x);
      gate = math.hyperbolicTangent(math.multiply(outer, math.add(x, math.multiply(inner, cube))));
    } else {
      gate = math.errorFunction(math.multiply(x, rootHalf));
    }
    return math.multiply(math.multiply(half, x), math.add(one, gate));
  });
}
llvm::Error squaredDifference(Context &ctx) {
  return zip<Number, Number>(
      ctx, [&](const Number &x, const Number &y, const char *&) { return ctx.math.square(ctx.math.subtract(x, y)); });
}
Number floorOfQuotient(const Arithmetic &math, const Number &x, const Number &y) {
  return math.rounded(math.divide(x, y), down);
}
llvm::Error floorDivide(Context &ctx) {
  return zip<Number, Number>(
      ctx, [&](const Number &x, const Number &y, const char *&) { return floorOfQuotient(ctx.math, x, y); });
}
llvm::Error floorRemainder(Context &ctx) {
  return zip<Number, Number>(ctx, [&](const Number &x, const Number &y, const char *&) {
    return ctx.math.subtract(x, ctx.math.multiply(floorOfQuotient(ctx.math, x, y), y));
  });
}
llvm::Error addAll(Context &ctx) {
  auto out = ctx.output().as<Number>();
  std::fill(out.begin(), out.end(), Number());
  for (unsigned i = 0; i < ctx.numInputs(); ++i)
    for (auto [sum, x] : llvm::zip(out, ctx.input(i).as<Number>()))
      sum = ctx.math.add(sum, x);
  return llvm::Error::success();
}

/// Truth from the order of two numbers.
llvm::Error compare(Context &ctx) {
  Op code = ctx.op.builtinMeant();
  return zip<Number, uint8_t>(ctx, [&](const Number &x, const Number &y, const char *&) -> uint8_t {
    bool differ = x.image != y.image;
    if (code == Op::EQUAL || code == Op::NOT_EQUAL) {
      ctx.doubtful |= x.isDoubtful() || y.isDoubtful();
      return differ == (code == Op::NOT_EQUAL);
    }
    Order order = ctx.math.compare(x, y);
    ctx.doubtful |= order == Order::Unknown;
    bool less = order == Order::Less || (order == Order::Unknown && x.value < y.value);
    switch (code) {
    case Op::LESS:
      return differ && less;
    case Op::LESS_EQUAL:
      return !differ || less;
    case Op::GREATER:
      return differ && !less;
    default:
      return !differ || !less;
    }
  });
}

/// Rounded to the numbers that a quantised type would have, which are these floats: a constant that was computed so is
/// the same. The range is moved in floats, as the kernel moves it.
llvm::Error fakeQuant(Context &ctx) {
  auto range = FakeRange::of(ctx);
  if (!range)
    return range.takeError();
  auto number = [&](float x) { return ctx.math.of(static_cast<double>(x)); };
  Number least = number(range->least), most = number(range->most), inverse = number(1 / range->scale);
  return eachBy(ctx, [&](const Arithmetic &math, const Number &x) {
    Number inside = math.smaller(most, math.larger(least, x));
    Number step = math.rounded(math.multiply(math.subtract(inside, least), inverse), awayAtHalf);
    Number result = number(static_cast<float>(step.value) * range->scale + range->least);
    return step.isDoubtful() ? Arithmetic::doubtful(result) : result;
  });
}

llvm::Error bucketize(Context &ctx) {
  llvm::SmallVector<Number> boundaries;
  if (const auto *all = ctx.options<circle::BucketizeOptions>().boundaries())
    for (float boundary : *all)
      boundaries.push_back(ctx.math.of(static_cast<double>(boundary)));
  return map<Number, int32_t>(ctx, [&](const Number &x) {
    return static_cast<int32_t>(llvm::count_if(boundaries, [&](const Number &boundary) {
      Order order = ctx.math.compare(x, boundary);
      ctx.doubtful |= order == Order::Unknown;
      return order == Order::Greater || order == Order::Same;
    }));
  });
}

/// From `start` in steps of `delta`, which are added up.
llvm::Error range(Context &ctx) {
  Number value = ctx.input(0).as<Number>()[0], limit = ctx.input(1).as<Number>()[0],
         delta = ctx.input(2).as<Number>()[0];
  Number count = ctx.math.rounded(ctx.math.divide(ctx.math.subtract(limit, value), delta), up);
  if (!(count.value < std::numeric_limits<int32_t>::max()))
    return ctx.fail("a range that does not end");
  ctx.doubtful = count.isDoubtful();
  auto output = ctx.output(0, {static_cast<int32_t>(std::max(count.value, 0.))});
  if (!output)
    return output.takeError();
  for (Number &element : (*output)->as<Number>()) {
    element = value;
    value = ctx.math.add(value, delta);
  }
  return llvm::Error::success();
}

} // namespace

llvm::Error errorFunctions(Context &ctx) { return each<&Arithmetic::errorFunction>(ctx); }

llvm::ArrayRef<ExactKernel> elementwiseKernels() {
  using A = Arithmetic;
  static const ExactKernel rows[] = {
      {Op::ABS, absolute},
      {Op::ADD, both<&A::add>},
      {Op::ADD_N, addAll},
      {Op::ATAN2, both<&A::arcTangent>},
      {Op::BUCKETIZE, bucketize},
      {Op::CEIL, rounded<up>},
      {Op::COS, each<&A::cosine>},
      {Op::DIV, both<&A::divide>},
      {Op::ELU, elu},
      {Op::EQUAL, compare},
      {Op::EXP, each<&A::exponential>},
      {Op::FAKE_QUANT, fakeQuant},
      {Op::FLOOR, rounded<down>},
      {Op::FLOOR_DIV, floorDivide},
      {Op::FLOOR_MOD, floorRemainder},
      {Op::GELU, gelu},
      {Op::GREATER, compare},
      {Op::GREATER_EQUAL, compare},
      {Op::HARD_SWISH, hardSwish},
      {Op::LEAKY_RELU, leakyRelu},
      {Op::LESS, compare},
      {Op::LESS_EQUAL, compare},
      {Op::LOG, each<&A::logarithm>},
      {Op::LOGISTIC, each<&A::logistic>},
      {Op::MAXIMUM, both<&A::larger>},
      {Op::MINIMUM, both<&A::smaller>},
      {Op::MUL, both<&A::multiply>},
      {Op::NEG, each<&A::negate>},
      {Op::NOT_EQUAL, compare},
      {Op::POW, both<&A::power>},
      {Op::PRELU, prelu},
      {Op::RANGE, range, true},
      {Op::RELU, relu},
      {Op::RELU6, relu},
      {Op::RELU_0_TO_1, relu},
      {Op::RELU_N1_TO_1, relu},
      {Op::ROUND, rounded<nearest>},
      {Op::RSQRT, reciprocalRoot},
      {Op::SIGN, sign},
      {Op::SIN, each<&A::sine>},
      {Op::SQRT, each<&A::root>},
      {Op::SQUARE, each<&A::square>},
      {Op::SQUARED_DIFFERENCE, squaredDifference},
      {Op::SUB, both<&A::subtract>},
      {Op::TANH, each<&A::hyperbolicTangent>},
  };
  return rows;
}

} // namespace origo::eval::exact
