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
std::optional<Expr> rounded(Lowering &n, Expr value, Tensor like, Tensor scale, Tensor zero,
                            TensorType without = TensorType::UINT8) {
  TensorType type = zero ? zero.type() : without;
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

/// Scales or zero points beside a factor of a product of matrices: one number, one for each row of the left one, for
/// each column of the right one, or as they are broadcast.
Expr besideMatrices(Tensor numbers, bool isLeft) {
  Expr value = bridged(numbers, TensorType::FLOAT32);
  if (!isLeft || numbers.rank() != 1 || numbers.elementCount() == 1u)
    return value;
  value = reshape(value, list({numbers.lastDimension(), 1}));
  return foldedIf(numbers.isDenseConstant(), value);
}
/// What a matrix of integers stands for; without a scale, without its zero point.
Expr realMatrix(Tensor x, Tensor scale, Tensor zero, bool isLeft) {
  Expr value = castTo(x, x.type(), TensorType::FLOAT32);
  bool isConstant = x.isDenseConstant() && (!scale || scale.isDenseConstant()) && (!zero || zero.isDenseConstant());
  if (zero)
    value = value - besideMatrices(zero, isLeft);
  if (scale)
    value = value * besideMatrices(scale, isLeft);
  return foldedIf(isConstant, value);
}

/// Integers times integers, added up as floats: sums beyond 2^24 are rounded as these are.
RewriteResult matrixProductOfIntegers(Lowering &n) {
  Tensor a = n.input(0), b = n.input(1);
  if (a.rank() < 2 || b.rank() < 2)
    return decline("an operand without two dimensions");
  Expr left = realMatrix(a, Tensor(), n.input(2), true), right = realMatrix(b, Tensor(), n.input(3), false);
  return n.replace(asInteger(op(Op::BATCH_MATMUL, {left, right})));
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

RewriteResult matrixProduct(Lowering &n) {
  Tensor a = n.input(0), b = n.input(3);
  if (a.rank() < 2 || b.rank() < 2)
    return decline("an operand without two dimensions");
  Expr left = realMatrix(a, n.input(1), n.input(2), true), right = realMatrix(b, n.input(4), n.input(5), false);
  auto value = rounded(n, op(Op::BATCH_MATMUL, {left, right}), a, n.input(6), n.input(7));
  return value ? n.replace(*value) : decline(notTaken);
}
/// alpha · a · b + c, where c has the steps of a · b. Without a scale for it the result is float.
RewriteResult generalProduct(Lowering &n) {
  Tensor a = n.input(0), b = n.input(3), c = n.input(6);
  if (a.rank() != 2 || b.rank() != 2 || n.input(1).elementCount() != 1u)
    return decline("not of matrices, or with a scale for each row");
  bool turnsRight = n.integer("transB") != 0;
  // Numbers of the right one go along the columns of what it is when it is turned.
  Expr left = realMatrix(a, n.input(1), n.input(2), false), right = realMatrix(b, n.input(4), n.input(5), turnsRight);
  Expr value =
      op(Op::BATCH_MATMUL, {left, right}).with("adjoint_lhs", n.integer("transA") != 0).with("adjoint_rhs", turnsRight);
  Expr alpha = n.real("alpha", 1);
  if (n.real("alpha", 1) != 1)
    value = value * alpha;
  if (c) {
    Expr step = besideMatrices(n.input(1), false) * besideMatrices(n.input(4), false);
    Expr shift = castTo(c, c.type(), TensorType::FLOAT32) * (n.real("alpha", 1) == 1 ? step : step * alpha);
    bool isConstant = c.isDenseConstant() && n.input(1).isDenseConstant() && n.input(4).isDenseConstant();
    value = value + foldedIf(isConstant, shift);
  }
  if (!n.input(7))
    return n.replace(value);
  auto stored = rounded(n, value, a, n.input(7), n.input(8));
  return stored ? n.replace(*stored) : decline(notTaken);
}
RewriteResult leakyReluOfIntegers(Lowering &n) {
  return onReals(n, 0, std::nullopt, 3,
                 [&](Expr a, Expr) { return op(Op::LEAKY_RELU, {a}).withReal("alpha", n.real("alpha", 0.01)); });
}
/// Each part has its own scale and zero point; those of the result come first.
RewriteResult concatenation(Lowering &n) {
  auto axis = n.inputs() > 2 ? Lowering::axis(n.integer("axis", 0), n.input(2).rank()) : std::nullopt;
  if (!axis || n.inputs() % 3 != 2)
    return decline("its axis is not one of its inputs'");
  std::vector<Expr> parts;
  for (unsigned i = 2; i < n.inputs(); i += 3) {
    auto part = real(n, n.input(i), n.input(i + 1), n.input(i + 2));
    if (!part)
      return decline(notTaken);
    parts.push_back(*part);
  }
  auto value = rounded(n, op(Op::CONCATENATION, parts).with("axis", *axis), n.input(2), n.input(0), n.input(1));
  return value ? n.replace(*value) : decline(notTaken);
}
RewriteResult choice(Lowering &n) {
  return onReals(n, 1, 4, 7, [&](Expr a, Expr b) { return op(Op::SELECT_V2, {n.input(0), a, b}); });
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
  // Zeros alone are zeros by any scale; ONNX Runtime takes 1.
  Expr span = high - low;
  Expr scale = op(Op::SELECT_V2, {op(Op::GREATER, {span, Expr(0.0)}), span / Expr(255.0), Expr(1.0)});
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
  if (!isReal(scale.type()))
    return decline("its scale is not float");
  auto value = real(n, x, scale, zero);
  return value ? n.replace(castTo(*value, TensorType::FLOAT32, scale.type()))
               : decline("it has scales or zero points for blocks");
}

RewriteResult quantize(Lowering &n) {
  Tensor x = n.input(0), scale = n.input(1), zero = n.input(2);
  if ((!isReal(x.type()) && x.type() != TensorType::INT32) || !isReal(scale.type()))
    return decline("not float");
  auto named = n.has("output_dtype") ? tensorTypeOfOnnx(n.integer("output_dtype")) : TensorType::UINT8;
  if (!zero && !named)
    return decline(notTaken);
  auto value = rounded(n, castTo(x, x.type(), TensorType::FLOAT32), x, scale, zero, *named);
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
                             {"com.microsoft.QGemm", generalProduct},
                             {"com.microsoft.QLinearAdd", addition},
                             {"com.microsoft.QLinearAveragePool", averageOfIntegers},
                             {"com.microsoft.QLinearConcat", concatenation},
                             {"com.microsoft.QLinearGlobalAveragePool", globalAverageOfIntegers},
                             {"com.microsoft.QLinearLeakyRelu", leakyReluOfIntegers},
                             {"com.microsoft.QLinearMul", product},
                             {"com.microsoft.QLinearSigmoid", sigmoid},
                             {"com.microsoft.QLinearSoftmax", softmaxOfIntegers},
                             {"com.microsoft.QLinearWhere", choice},
                             {"com.microsoft.QuantizeLinear", quantize}};
  return rows;
}

} // namespace origo::onnx
