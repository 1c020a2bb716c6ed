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
RewriteResult softmaxOfIntegers(Lowering &n) {
  auto axis = Lowering::axis(n.integer("axis", -1), n.input(0).rank());
  if (!axis || *axis != n.input(0).rank() - 1)
    return decline("its axis is not the last one");
  return onReals(n, 0, std::nullopt, 3, [](Expr a, Expr) { return op(Op::SOFTMAX, {a}).withReal("beta", 1); });
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
  static const Row rows[] = {{"DequantizeLinear", dequantize},
                             {"QLinearMatMul", matrixProduct},
                             {"QuantizeLinear", quantize},
                             {"com.microsoft.QLinearAdd", addition},
                             {"com.microsoft.QLinearMul", product},
                             {"com.microsoft.QLinearSigmoid", sigmoid},
                             {"com.microsoft.QLinearSoftmax", softmaxOfIntegers}};
  return rows;
}

} // namespace origo::onnx
