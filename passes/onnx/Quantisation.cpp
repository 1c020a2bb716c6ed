#include "passes/onnx/Lowering.h"

namespace origo::onnx {

namespace {

/// A scale or a zero point beside a tensor: one number, or one along an axis.
std::optional<Expr> beside(Lowering &n, Tensor x, Tensor numbers, TensorType type) {
  Expr value = bridged(numbers, type);
  auto finished = [&](Expr shape) {
    return numbers.isDenseConstant() ? fold(reshape(value, shape)) : reshape(value, shape);
  };
  if (numbers.elementCount() == 1u)
    return numbers.rank() == 0 ? value : finished(list({}));
  auto axis = Lowering::axis(n.integer("axis", 1), x.rank());
  if (!axis || numbers.rank() != 1 || n.integer("block_size"))
    return std::nullopt;
  Sizes shape(x.rank(), 1);
  shape[*axis] = numbers.lastDimension();
  return finished(list(shape));
}

/// What integers of these parameters stand for, as float.
std::optional<Expr> real(Lowering &n, Tensor x, Tensor scale, Tensor zero) {
  auto s = beside(n, x, scale, TensorType::FLOAT32);
  if (!s)
    return std::nullopt;
  Expr value = castTo(x, x.type(), TensorType::FLOAT32);
  if (zero) {
    auto z = beside(n, x, zero, TensorType::FLOAT32);
    if (!z)
      return std::nullopt;
    value = value - *z;
  }
  value = value * *s;
  return x.isDenseConstant() ? fold(value) : value;
}

/// The integer nearest to a float, with these parameters: clamp(round(x / scale) + zero point). It rounds halves to
/// even as ONNX does; QUANTIZE rounds them away from zero.
std::optional<Expr> rounded(Lowering &n, Expr value, Tensor like, Tensor scale, Tensor zero) {
  TensorType type = zero ? zero.type() : TensorType::UINT8;
  std::pair<double, double> range = type == TensorType::UINT8    ? std::pair(0.0, 255.0)
                                    : type == TensorType::INT8   ? std::pair(-128.0, 127.0)
                                    : type == TensorType::UINT16 ? std::pair(0.0, 65535.0)
                                    : type == TensorType::INT16  ? std::pair(-32768.0, 32767.0)
                                                                 : std::pair(0.0, 0.0);
  auto s = beside(n, like, scale, TensorType::FLOAT32);
  if (!s || range.second == 0)
    return std::nullopt;
  value = op(Op::ROUND, {value / *s});
  if (zero) {
    auto z = beside(n, like, zero, TensorType::FLOAT32);
    if (!z)
      return std::nullopt;
    value = value + *z;
  }
  return castTo(minimum(maximum(value, Expr(range.first)), Expr(range.second)), TensorType::FLOAT32, type);
}

constexpr const char *notTaken = "its scales are for blocks, or its type is not taken";

/// f(real(x), …), rounded: operators on integers that ONNX Runtime's quantiser writes.
template <class F> RewriteResult onReals(Lowering &n, unsigned x, std::optional<unsigned> second, unsigned scale, F f) {
  auto a = real(n, n.input(x), n.input(x + 1), n.input(x + 2));
  auto b = second ? real(n, n.input(*second), n.input(*second + 1), n.input(*second + 2)) : a;
  if (!a || !b)
    return decline(notTaken);
  auto value = rounded(n, f(*a, *b), n.input(x), n.input(scale), n.input(scale + 1));
  return value ? n.replace(*value) : decline(notTaken);
}
RewriteResult addition(Lowering &n) {
  return onReals(n, 0, 3, 6, [](Expr a, Expr b) { return a + b; });
}
RewriteResult product(Lowering &n) {
  return onReals(n, 0, 3, 6, [](Expr a, Expr b) { return a * b; });
}
RewriteResult sigmoid(Lowering &n) {
  return onReals(n, 0, std::nullopt, 3, [](Expr a, Expr) { return op(Op::LOGISTIC, {a}); });
}
RewriteResult matrixProduct(Lowering &n) {
  return onReals(n, 0, 3, 6, [](Expr a, Expr b) { return op(Op::BATCH_MATMUL, {a, b}); });
}
RewriteResult averageOfIntegers(Lowering &n) {
  if (n.integer("channels_last"))
    return decline("its channels are last");
  Tensor x = n.input(0);
  const char *why = notTaken;
  auto image = real(n, x, n.input(1), n.input(2));
  auto value = image ? averaged(n, x, *image, why) : std::nullopt;
  auto stored = value ? rounded(n, *value, x, n.input(3), n.input(4)) : std::nullopt;
  return stored ? n.replace(*stored) : decline(why);
}
RewriteResult globalAverageOfIntegers(Lowering &n) {
  if (n.integer("channels_last"))
    return decline("its channels are last");
  Sizes axes;
  for (int i = 2; i < n.input(0).rank(); ++i)
    axes.push_back(i);
  return onReals(n, 0, std::nullopt, 3, [&](Expr a, Expr) {
    return op(Op::MEAN, {a, list(axes)}).with("keep_dims", 1);
  });
}
RewriteResult softmaxOfIntegers(Lowering &n) {
  auto axis = Lowering::axis(n.integer("axis", -1), n.input(0).rank());
  if (!axis || *axis != n.input(0).rank() - 1)
    return decline("its axis is not the last one");
  return onReals(n, 0, std::nullopt, 3, [](Expr a, Expr) { return op(Op::SOFTMAX, {a}).withReal("beta", 1); });
}

/// The float of an integer that a zero point is taken from, if there is one.
std::optional<Expr> shifted(Lowering &n, Tensor x, Tensor zero) {
  Expr value = castTo(x, x.type(), TensorType::FLOAT32);
  auto z = zero ? beside(n, x, zero, TensorType::FLOAT32) : std::nullopt;
  if (zero && !z)
    return std::nullopt;
  if (z)
    value = value - *z;
  return foldedIf(x.isDenseConstant() && (!zero || zero.isDenseConstant()), value);
}
Expr asInteger(Expr value) { return castTo(std::move(value), TensorType::FLOAT32, TensorType::INT32); }

/// Integers times integers, added up as floats: sums beyond 2^24 are rounded as these are.
RewriteResult matrixProductOfIntegers(Lowering &n) {
  Tensor a = n.input(0), b = n.input(1);
  if (a.rank() < 2 || b.rank() < 2 || (n.input(2) && n.input(2).elementCount() != 1u) ||
      (n.input(3) && n.input(3).elementCount() != 1u))
    return decline("an operand without two dimensions, or a zero point for each row");
  auto left = shifted(n, a, n.input(2)), right = shifted(n, b, n.input(3));
  return left && right ? n.replace(asInteger(op(Op::BATCH_MATMUL, {*left, *right}))) : decline(notTaken);
}
RewriteResult convolutionOfIntegers(Lowering &n) {
  Tensor x = n.input(0), w = n.input(1);
  for (unsigned i : {2u, 3u})
    if (n.input(i) && n.input(i).elementCount() != 1u)
      return decline("a zero point for each channel");
  auto image = shifted(n, x, n.input(2)), weights = shifted(n, w, n.input(3));
  const char *why = notTaken;
  auto value = image && weights ? convolved(n, x, *image, w, *weights, std::nullopt, why) : std::nullopt;
  return value ? n.replace(asInteger(*value)) : decline(why);
}

/// A convolution of what the integers stand for, rounded.
RewriteResult quantisedConvolution(Lowering &n) {
  Tensor x = n.input(0), w = n.input(3), bias = n.input(8);
  const char *why = notTaken;
  auto image = real(n, x, n.input(1), n.input(2));
  // Scales of weights go along their results' channels, the first dimension.
  auto along = [&](Tensor numbers) -> Expr {
    Expr value = bridged(numbers, TensorType::FLOAT32);
    if (numbers.elementCount() == 1u)
      return value;
    Sizes shape(w.rank(), 1);
    shape[0] = numbers.lastDimension();
    return foldedIf(numbers.isDenseConstant(), reshape(value, list(shape)));
  };
  bool isConstant = w.isDenseConstant() && n.input(4).isDenseConstant() && n.input(5).isDenseConstant();
  if (!image || w.rank() < 3 || (w.isDenseConstant() && !isConstant))
    return decline("its scales are for blocks, or computed where its weights are constant");
  Expr filter = foldedIf(isConstant, castTo(w, w.type(), TensorType::FLOAT32) - along(n.input(5)));
  filter = foldedIf(isConstant, filter * along(n.input(4)));
  std::optional<Expr> shift;
  if (bias) {
    if (!bias.isDenseConstant() || !n.input(1).isDenseConstant())
      return decline("its bias is computed");
    Expr scales = fold(reshape(bridged(n.input(4), TensorType::FLOAT32), list({-1})));
    Expr step = fold(scales * fold(reshape(n.input(1), list({}))));
    shift = fold(fold(castTo(bias, bias.type(), TensorType::FLOAT32)) * step);
  }
  auto value = convolved(n, x, *image, w, filter, shift, why);
  if (!value)
    return decline(why);
  auto stored = rounded(n, *value, x, n.input(6), n.input(7));
  return stored ? n.replace(*stored) : decline(notTaken);
}

/// An image's range, 0 in it, in 255 steps.
RewriteResult dynamicQuantize(Lowering &n) {
  Tensor x = n.input(0);
  if (!x.isFloat())
    return decline("not float32");
  Sizes axes;
  for (int i = 0; i < x.rank(); ++i)
    axes.push_back(i);
  auto end = [&](Op code) { return op(code, {x, list(axes)}).with("keep_dims", 0); };
  Expr low = minimum(end(Op::REDUCE_MIN), Expr(0.0)), high = maximum(end(Op::REDUCE_MAX), Expr(0.0));
  Expr scale = (high - low) / Expr(255.0);
  auto between = [](Expr value) { return minimum(maximum(std::move(value), Expr(0.0)), Expr(255.0)); };
  auto stored = [](Expr value) { return castTo(std::move(value), TensorType::FLOAT32, TensorType::UINT8); };
  Expr zero = op(Op::ROUND, {between(-low / scale)});
  Expr value = stored(between(op(Op::ROUND, {Expr(x) / scale}) + zero));
  std::vector<std::pair<Tensor, Expr>> values = {{n.node.result(0), value}};
  if (n.node.resultCount() > 1 && n.node.result(1))
    values.push_back({n.node.result(1), scale});
  if (n.node.resultCount() > 2 && n.node.result(2))
    values.push_back({n.node.result(2), stored(zero)});
  return n.m.replace(std::move(values));
}

/// (x − zero point) · scale
RewriteResult dequantize(Lowering &n) {
  Tensor x = n.input(0), scale = n.input(1), zero = n.input(2);
  if (!scale.isFloat())
    return decline("its scale is not float32");
  auto value = real(n, x, scale, zero);
  return value ? n.replace(*value) : decline("it has scales or zero points for blocks");
}

RewriteResult quantize(Lowering &n) {
  Tensor x = n.input(0), scale = n.input(1), zero = n.input(2);
  if (!x.isFloat() || !scale.isFloat())
    return decline("not float32");
  if (!zero && n.has("output_dtype"))
    return decline("it says the type of its result, and has no zero point");
  auto value = rounded(n, x, x, scale, zero);
  return value ? n.replace(*value) : decline(notTaken);
}

} // namespace

llvm::ArrayRef<Row> quantisationRows() {
  static const Row rows[] = {{"ConvInteger", convolutionOfIntegers},
                             {"DequantizeLinear", dequantize},
                             {"DynamicQuantizeLinear", dynamicQuantize},
                             {"MatMulInteger", matrixProductOfIntegers},
                             {"QLinearConv", quantisedConvolution},
                             {"QLinearMatMul", matrixProduct},
                             {"QuantizeLinear", quantize},
                             {"com.microsoft.DequantizeLinear", dequantize},
                             {"com.microsoft.QLinearAdd", addition},
                             {"com.microsoft.QLinearAveragePool", averageOfIntegers},
                             {"com.microsoft.QLinearGlobalAveragePool", globalAverageOfIntegers},
                             {"com.microsoft.QLinearMul", product},
                             {"com.microsoft.QLinearSigmoid", sigmoid},
                             {"com.microsoft.QLinearSoftmax", softmaxOfIntegers},
                             {"com.microsoft.QuantizeLinear", quantize}};
  return rows;
}

} // namespace origo::onnx
