#include "passes/onnx/Lowering.h"

#include <cmath>

namespace origo::onnx {

namespace {

/// Types that circle's arithmetic has no kernels for are computed in wider ones, whose low bits are the same.
TensorType computedIn(TensorType type) {
  switch (type) {
  case TensorType::INT8:
  case TensorType::UINT8:
  case TensorType::INT16:
  case TensorType::UINT16:
    return TensorType::INT32;
  case TensorType::UINT32:
  case TensorType::UINT64:
    return TensorType::INT64;
  case TensorType::FLOAT64:
    return TensorType::FLOAT32;
  default:
    return type;
  }
}

template <Op code> RewriteResult unary(Lowering &n) {
  TensorType type = n.input(0).type(), in = computedIn(type);
  return n.replace(castTo(op(code, {castTo(n.input(0), type, in)}), in, type));
}

Expr binary(Op code, Expr a, Expr b, TensorType type, TensorType result) {
  TensorType in = computedIn(type);
  Expr value = op(code, {castTo(std::move(a), type, in), castTo(std::move(b), type, in)});
  return result == type ? castTo(value, in, type) : value;
}

/// Of files before version 7, which say along which axis the second operand is repeated.
Expr second(Lowering &n) {
  Tensor a = n.input(0), b = n.input(1);
  if (n.opset >= 7 || !n.integer("broadcast") || b.rank() == 0 || a.rank() <= b.rank())
    return b;
  std::optional<int> axis = Lowering::axis(n.integer("axis", a.rank() - b.rank()), a.rank());
  if (!axis || *axis + b.rank() == a.rank())
    return b;
  Sizes shape(b.shape().begin(), b.shape().end());
  shape.resize(a.rank() - *axis, 1);
  return b.isDenseConstant() ? fold(reshape(b, list(shape))) : shaped(b, shape);
}

template <Op code> RewriteResult arithmetic(Lowering &n) {
  return n.replace(binary(code, n.input(0), second(n), n.input(0).type(), n.input(0).type()));
}
template <Op code> RewriteResult comparison(Lowering &n) {
  return n.replace(binary(code, n.input(0), second(n), n.input(0).type(), TensorType::BOOL));
}
template <Op code> RewriteResult logical(Lowering &n) { return n.replace(op(code, {n.input(0), second(n)})); }

RewriteResult equal(Lowering &n) {
  if (n.input(0).type() == TensorType::BOOL)
    return n.replace(op(Op::EQUAL, {n.input(0), second(n)}));
  return comparison<Op::EQUAL>(n);
}

/// x1 ∘ x2 ∘ …, of one operand that itself.
template <Op code> RewriteResult chained(Lowering &n) {
  Expr value = n.input(0);
  for (unsigned i = 1; i < n.inputs(); ++i)
    value = binary(code, value, n.input(i), n.input(0).type(), n.input(0).type());
  return n.inputs() == 1 ? asItIs(n) : n.replace(value);
}
RewriteResult meanOfAll(Lowering &n) {
  Expr value = n.input(0);
  for (unsigned i = 1; i < n.inputs(); ++i)
    value = value + Expr(n.input(i));
  return n.replace(value * number(1.0 / n.inputs(), n.input(0).type()));
}

Expr clamped(Expr x, Expr low, Expr high) { return minimum(maximum(std::move(x), std::move(low)), std::move(high)); }

RewriteResult relu(Lowering &n) {
  TensorType type = n.input(0).type();
  if (isInteger(type))
    return n.replace(binary(Op::MAXIMUM, n.input(0), number(0, type), type, type));
  TensorType in = computedIn(type);
  return n.replace(castTo(op(Op::RELU, {castTo(n.input(0), type, in)}), in, type));
}
RewriteResult leakyRelu(Lowering &n) {
  return n.replace(op(Op::LEAKY_RELU, {n.input(0)}).withReal("alpha", n.real("alpha", 0.01)));
}
RewriteResult prelu(Lowering &n) {
  Tensor x = n.input(0), slope = n.input(1);
  // The slope of old files goes along the channels.
  if (n.opset < 7 && slope.rank() == 1 && x.rank() > 2 && slope.elementCount() != 1u) {
    Sizes shape(x.rank() - 1, 1);
    shape[0] = slope.shape()[0];
    return n.replace(op(Op::PRELU, {x, fold(reshape(slope, list(shape)))}));
  }
  return n.replace(op(Op::PRELU, {x, slope}));
}

/// x where it is positive, else y.
Expr positiveOr(Tensor x, Expr y) {
  return op(Op::SELECT_V2, {op(Op::GREATER, {x, number(0, x.type())}), x, std::move(y)});
}
RewriteResult elu(Lowering &n) {
  Tensor x = n.input(0);
  double alpha = n.real("alpha", 1);
  Expr value = op(Op::ELU, {x});
  return n.replace(alpha == 1 ? value : positiveOr(x, value * number(alpha, x.type())));
}
RewriteResult selu(Lowering &n) {
  Tensor x = n.input(0);
  double alpha = n.real("alpha", 1.67326319217681884765625), gamma = n.real("gamma", 1.05070102214813232421875);
  return n.replace(positiveOr(x, op(Op::ELU, {x}) * number(alpha, x.type())) * number(gamma, x.type()));
}
RewriteResult celu(Lowering &n) {
  Tensor x = n.input(0);
  double alpha = n.real("alpha", 1);
  if (alpha == 1)
    return n.replace(op(Op::ELU, {x}));
  return n.replace(positiveOr(x, op(Op::ELU, {Expr(x) / number(alpha, x.type())}) * number(alpha, x.type())));
}
RewriteResult hardSigmoid(Lowering &n) {
  Tensor x = n.input(0);
  auto c = [&](double value) { return number(value, x.type()); };
  return n.replace(clamped(Expr(x) * c(n.real("alpha", 0.2)) + c(n.real("beta", 0.5)), c(0), c(1)));
}
RewriteResult softplus(Lowering &n) {
  Tensor x = n.input(0);
  return n.replace(relu(Expr(x)) + op(Op::LOG, {number(1, x.type()) + op(Op::EXP, {-op(Op::ABS, {x})})}));
}
RewriteResult softsign(Lowering &n) {
  Tensor x = n.input(0);
  return n.replace(Expr(x) / (number(1, x.type()) + op(Op::ABS, {x})));
}
RewriteResult mish(Lowering &n) {
  Tensor x = n.input(0);
  Expr plus = relu(Expr(x)) + op(Op::LOG, {number(1, x.type()) + op(Op::EXP, {-op(Op::ABS, {x})})});
  return n.replace(Expr(x) * tanh(plus));
}
RewriteResult swish(Lowering &n) {
  Tensor x = n.input(0);
  Expr scaled = n.real("alpha", 1) == 1 ? Expr(x) : Expr(x) * number(n.real("alpha", 1), x.type());
  return n.replace(Expr(x) * op(Op::LOGISTIC, {scaled}));
}
RewriteResult thresholdedRelu(Lowering &n) {
  Tensor x = n.input(0);
  Expr above = op(Op::GREATER, {x, number(n.real("alpha", 1), x.type())});
  return n.replace(op(Op::SELECT_V2, {above, x, number(0, x.type())}));
}
RewriteResult shrink(Lowering &n) {
  Tensor x = n.input(0);
  auto c = [&](double value) { return number(value, x.type()); };
  double lambda = n.real("lambd", 0.5), bias = n.real("bias", 0);
  return n.replace(op(Op::SELECT_V2, {op(Op::LESS, {x, c(-lambda)}), Expr(x) + c(bias),
                                      op(Op::SELECT_V2, {op(Op::GREATER, {x, c(lambda)}), Expr(x) - c(bias), c(0)})}));
}
RewriteResult gelu(Lowering &n) {
  return n.replace(op(Op::GELU, {n.input(0)}).with("approximate", n.text("approximate", "none") == "tanh"));
}
template <bool approximate> RewriteResult contribGelu(Lowering &n) {
  Expr x = n.input(0);
  if (n.input(1))
    x = x + Expr(n.input(1));
  return n.replace(op(Op::GELU, {x}).with("approximate", approximate));
}
RewriteResult quickGelu(Lowering &n) {
  Tensor x = n.input(0);
  return n.replace(Expr(x) * op(Op::LOGISTIC, {Expr(x) * number(n.real("alpha", 1.702), x.type())}));
}
/// Abramowitz and Stegun, 7.1.26: within 1.5e-7.
RewriteResult erf(Lowering &n) {
  Tensor x = n.input(0);
  if (!x.isFloat())
    return decline("not float32");
  Expr magnitude = op(Op::ABS, {x}), t = Expr(1.0) / (Expr(1.0) + Expr(0.3275911) * magnitude);
  Expr sum = Expr(1.061405429) * t + Expr(-1.453152027);
  sum = (((sum * t + Expr(1.421413741)) * t + Expr(-0.284496736)) * t + Expr(0.254829592)) * t;
  return n.replace(op(Op::SIGN, {x}) * (Expr(1.0) - sum * op(Op::EXP, {-square(Expr(x))})));
}
RewriteResult reciprocal(Lowering &n) {
  TensorType type = n.input(0).type(), in = computedIn(type);
  return n.replace(castTo(number(1, in) / castTo(n.input(0), type, in), in, type));
}
RewriteResult tangent(Lowering &n) { return n.replace(op(Op::SIN, {n.input(0)}) / op(Op::COS, {n.input(0)})); }
RewriteResult sinh(Lowering &n) {
  Expr e = op(Op::EXP, {n.input(0)});
  return n.replace((e - number(1, n.input(0).type()) / e) * number(0.5, n.input(0).type()));
}
RewriteResult cosh(Lowering &n) {
  Expr e = op(Op::EXP, {n.input(0)});
  return n.replace((e + number(1, n.input(0).type()) / e) * number(0.5, n.input(0).type()));
}
RewriteResult asinh(Lowering &n) {
  Tensor x = n.input(0);
  Expr m = op(Op::ABS, {x});
  return n.replace(op(Op::SIGN, {x}) * op(Op::LOG, {m + sqrt(square(m) + number(1, x.type()))}));
}
RewriteResult acosh(Lowering &n) {
  Tensor x = n.input(0);
  return n.replace(op(Op::LOG, {Expr(x) + sqrt(square(Expr(x)) - number(1, x.type()))}));
}
RewriteResult atanh(Lowering &n) {
  Tensor x = n.input(0);
  Expr one = number(1, x.type());
  return n.replace(op(Op::LOG, {(one + Expr(x)) / (one - Expr(x))}) * number(0.5, x.type()));
}
Expr leg(Tensor x) { return sqrt((number(1, x.type()) - Expr(x)) * (number(1, x.type()) + Expr(x))); }
RewriteResult asin(Lowering &n) { return n.replace(op(Op::ATAN2, {n.input(0), leg(n.input(0))})); }
RewriteResult acos(Lowering &n) { return n.replace(op(Op::ATAN2, {leg(n.input(0)), n.input(0)})); }
RewriteResult atan(Lowering &n) {
  Tensor x = n.input(0);
  return n.replace(op(Op::ATAN2, {x, fold(op(Op::FILL, {list({1}), number(1, x.type())}))}));
}

RewriteResult absolute(Lowering &n) {
  Tensor x = n.input(0);
  TensorType type = x.type(), in = computedIn(type);
  if (type == TensorType::UINT64)
    return asItIs(n);
  Expr value = castTo(x, type, in);
  bool hasKernel = in == TensorType::FLOAT32 || in == TensorType::INT32;
  return n.replace(castTo(hasKernel ? op(Op::ABS, {value}) : maximum(value, -value), in, type));
}
RewriteResult sign(Lowering &n) {
  Tensor x = n.input(0);
  if (x.isFloat())
    return n.replace(op(Op::SIGN, {x}));
  TensorType type = x.type(), in = computedIn(type);
  auto as = [&](Op code) { return castTo(op(code, {castTo(x, type, in), number(0, in)}), TensorType::BOOL, in); };
  return n.replace(castTo(as(Op::GREATER) - as(Op::LESS), in, type));
}

RewriteResult power(Lowering &n) {
  Tensor x = n.input(0), y = n.input(1);
  if (x.isFloat() && n.m.isEvery(y, 2) && y.elementCount() == 1u && y.rank() <= x.rank())
    return n.replace(op(Op::MUL, {x, x}));
  if (x.isFloat())
    return n.replace(pow(x, castTo(y, y.type(), TensorType::FLOAT32)));
  Expr value = pow(castTo(x, x.type(), TensorType::FLOAT32), castTo(y, y.type(), TensorType::FLOAT32));
  return n.replace(castTo(value, TensorType::FLOAT32, x.type()));
}
RewriteResult modulo(Lowering &n) {
  Tensor x = n.input(0), y = n.input(1);
  if (!n.integer("fmod"))
    return n.replace(binary(Op::FLOOR_MOD, x, y, x.type(), x.type()));
  // The remainder has the sign of the dividend.
  TensorType type = x.type(), in = computedIn(type);
  Expr a = castTo(x, type, in), b = castTo(y, type, in);
  Expr rest = op(Op::FLOOR_MOD, {maximum(a, -a), maximum(b, -b)});
  return n.replace(castTo(op(Op::SELECT_V2, {op(Op::LESS, {a, number(0, in)}), -rest, rest}), in, type));
}

RewriteResult clip(Lowering &n) {
  Tensor x = n.input(0);
  TensorType type = x.type(), in = computedIn(type);
  std::optional<Expr> low, high;
  if (n.opset < 11) {
    double least = n.real("min", -3.4028234663852886e38), most = n.real("max", 3.4028234663852886e38);
    if (least == 0 && most == 6)
      return n.replace(relu6(x));
    if (least > -3.4e38)
      low = number(least, type);
    if (most < 3.4e38)
      high = number(most, type);
  } else {
    if (n.input(1))
      low = castTo(n.input(1), type, in);
    if (n.input(2))
      high = castTo(n.input(2), type, in);
    if (x.isFloat() && low && high && n.m.isEvery(n.input(1), 0) && n.m.isEvery(n.input(2), 6))
      return n.replace(relu6(x));
  }
  Expr value = castTo(x, type, in);
  if (low)
    value = maximum(value, *low);
  if (high)
    value = minimum(value, *high);
  if (!low && !high)
    return asItIs(n);
  return n.replace(castTo(value, in, type));
}

/// x ∘ 2^y in wide integers, whose low bits are those of narrow ones.
template <Op code> RewriteResult shifted(Lowering &n) {
  Tensor x = n.input(0), y = n.input(1);
  TensorType wide = TensorType::INT64;
  Expr power = castTo(pow(Expr(2.0), castTo(y, y.type(), TensorType::FLOAT32)), TensorType::FLOAT32, wide);
  return n.replace(castTo(op(code, {castTo(x, x.type(), wide), power}), wide, x.type()));
}
/// Of files before version 7: α · x + β, and a picture scaled and shifted by channel.
RewriteResult affine(Lowering &n) {
  TensorType type = n.input(0).type();
  return n.replace(Expr(n.input(0)) * number(n.real("alpha", 1), type) + number(n.real("beta", 0), type));
}
RewriteResult imageScaler(Lowering &n) {
  Tensor x = n.input(0);
  auto bias = n.reals("bias");
  if (!x.isFloat() || x.rank() != 4 || bias.empty())
    return decline("not of float32 pictures");
  std::vector<Expr> channels;
  for (float one : bias)
    channels.push_back(fold(reshape(Expr(static_cast<double>(one)), list({1, 1, 1, 1}))));
  Expr shift = channels.size() == 1 ? channels.front() : fold(op(Op::CONCATENATION, channels).with("axis", 1));
  return n.replace(Expr(x) * Expr(n.real("scale", 1)) + shift);
}
RewriteResult bitwiseNot(Lowering &n) {
  return n.replace(op(Op::BITWISE_XOR, {n.input(0), number(-1, n.input(0).type())}));
}
/// (a + b ± (a xor b)) / 2, of which 64 bits have the sums of narrower integers.
template <bool isOr> RewriteResult bitwise(Lowering &n) {
  TensorType type = n.input(0).type(), wide = TensorType::INT64;
  if (!isInteger(type) || type == TensorType::INT64 || type == TensorType::UINT64)
    return decline("of integers of 64 bits");
  Expr a = castTo(n.input(0), type, wide), b = castTo(n.input(1), type, wide);
  Expr sum = a + b, other = castTo(op(Op::BITWISE_XOR, {n.input(0), n.input(1)}), type, wide);
  return n.replace(castTo(op(Op::FLOOR_DIV, {isOr ? sum + other : sum - other, number(2, wide)}), wide, type));
}
/// Of integers without a sign. What has 64 bits has one here, so that halving needs them below 2^63.
RewriteResult bitShift(Lowering &n) {
  bool isRight = n.text("direction") == "RIGHT";
  if (!isRight)
    return shifted<Op::MUL>(n);
  return n.input(0).type() == TensorType::UINT64 ? shifted<Op::FLOOR_DIV>(n)
                                                 : n.replace(op(Op::RIGHT_SHIFT, {n.input(0), n.input(1)}));
}
RewriteResult isNan(Lowering &n) { return n.replace(op(Op::NOT_EQUAL, {n.input(0), n.input(0)})); }
RewriteResult infinite(Lowering &n) {
  Tensor x = n.input(0);
  if (!isReal(x.type()) || x.type() == TensorType::FLOAT64) // which float32 has no room for is infinite there
    return decline("not float32 or float16");
  return isInfinite(n, x);
}
RewriteResult choose(Lowering &n) { return n.replace(op(Op::SELECT_V2, {n.input(0), n.input(1), n.input(2)})); }

} // namespace

RewriteResult isInfinite(Lowering &n, Tensor x) {
  bool positive = n.integer("detect_positive", 1), negative = n.integer("detect_negative", 1);
  if (!positive && !negative)
    return decline("it looks for nothing");
  Expr value = positive && negative ? op(Op::ABS, {wide(x)}) : positive ? wide(x) : -wide(x);
  return n.replace(op(Op::EQUAL, {value, Expr(double{INFINITY})}));
}

llvm::ArrayRef<Row> elementwiseRows() {
  static const Row rows[] = {
      {"Abs", absolute},
      {"Acos", acos},
      {"Acosh", acosh},
      {"Add", arithmetic<Op::ADD>},
      {"Affine", affine},
      {"And", logical<Op::LOGICAL_AND>},
      {"Asin", asin},
      {"Asinh", asinh},
      {"Atan", atan},
      {"Atanh", atanh},
      {"BitShift", bitShift},
      {"BitwiseNot", bitwiseNot},
      {"BitwiseAnd", bitwise<false>},
      {"BitwiseOr", bitwise<true>},
      {"BitwiseXor", arithmetic<Op::BITWISE_XOR>},
      {"Ceil", unary<Op::CEIL>},
      {"Celu", celu},
      {"Clip", clip},
      {"Cos", unary<Op::COS>},
      {"Cosh", cosh},
      {"Div", arithmetic<Op::DIV>},
      {"Elu", elu},
      {"Equal", equal},
      {"Erf", erf},
      {"Exp", unary<Op::EXP>},
      {"Floor", unary<Op::FLOOR>},
      {"Gelu", gelu},
      {"Greater", comparison<Op::GREATER>},
      {"GreaterOrEqual", comparison<Op::GREATER_EQUAL>},
      {"HardSigmoid", hardSigmoid},
      {"HardSwish", unary<Op::HARD_SWISH>},
      {"ImageScaler", imageScaler},
      {"IsInf", infinite},
      {"IsNaN", isNan},
      {"LeakyRelu", leakyRelu},
      {"Less", comparison<Op::LESS>},
      {"LessOrEqual", comparison<Op::LESS_EQUAL>},
      {"Log", unary<Op::LOG>},
      {"Max", chained<Op::MAXIMUM>},
      {"Mean", meanOfAll},
      {"Min", chained<Op::MINIMUM>},
      {"Mish", mish},
      {"Mod", modulo},
      {"Mul", arithmetic<Op::MUL>},
      {"Neg", unary<Op::NEG>},
      {"Not", unary<Op::LOGICAL_NOT>},
      {"Or", logical<Op::LOGICAL_OR>},
      {"PRelu", prelu},
      {"Pow", power},
      {"Reciprocal", reciprocal},
      {"Relu", relu},
      {"Round", unary<Op::ROUND>},
      {"Selu", selu},
      {"Shrink", shrink},
      {"Sigmoid", unary<Op::LOGISTIC>},
      {"Sign", sign},
      {"Sin", unary<Op::SIN>},
      {"Sinh", sinh},
      {"Softplus", softplus},
      {"Softsign", softsign},
      {"Sqrt", unary<Op::SQRT>},
      {"Sub", arithmetic<Op::SUB>},
      {"Sum", chained<Op::ADD>},
      {"Swish", swish},
      {"Tan", tangent},
      {"Tanh", unary<Op::TANH>},
      {"ThresholdedRelu", thresholdedRelu},
      {"Where", choose},
      {"Xor", logical<Op::NOT_EQUAL>},
      {"com.microsoft.BiasGelu", contribGelu<false>},
      {"com.microsoft.FastGelu", contribGelu<true>},
      {"com.microsoft.Gelu", contribGelu<false>},
      {"com.microsoft.QuickGelu", quickGelu},
  };
  return rows;
}

} // namespace origo::onnx
