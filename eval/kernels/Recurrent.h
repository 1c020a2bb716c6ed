#pragma once

#include "eval/FixedPoint.h"
#include "eval/Kernel.h"
#include "eval/Resources.h"
#include "eval/kernels/Dots.h"
#include "schema/TensorTypes.h"

/// What the kernels with a state have in common.
namespace origo::eval {

/// Rows of a sequence: [time, batch, depth] or [batch, time, depth]; [batch, depth] is one moment.
struct Sequence {
  int32_t times = 1, batches = 1, depth = 0;
  bool timeMajor = false;
  int64_t row(int32_t time, int32_t batch) const {
    return timeMajor ? int64_t(time) * batches + batch : int64_t(batch) * times + time;
  }
  static Sequence of(const KernelContext &ctx, unsigned operand, bool timeMajor) {
    const Tensor &in = ctx.input(operand);
    if (in.rank() == 2)
      return {1, in.dim(0), in.dim(1), false};
    return {in.dim(timeMajor ? 0 : 1), in.dim(timeMajor ? 1 : 0), in.dim(2), timeMajor};
  }
};

/// Refuses an operand that is absent or does not have this type and shape.
inline llvm::Error wantTensor(const KernelContext &ctx, unsigned operand, llvm::ArrayRef<TensorType> types,
                              llvm::ArrayRef<int32_t> shape) {
  const Tensor *tensor = ctx.optional(operand);
  if (!tensor)
    return ctx.fail(operand, "is missing");
  if (!llvm::is_contained(types, tensor->type))
    return ctx.fail(operand, "has another type", tensorTypeName(types[0]).str(), tensorTypeName(tensor->type).str());
  if (llvm::ArrayRef<int32_t>(tensor->shape) != shape)
    return ctx.fail(operand, "has another shape", shapeText(shape), shapeText(tensor->shape));
  return llvm::Error::success();
}

/// A vector of floats, one that is absent, or one of int8 (or of uint8, which old files have in its place) with a
/// scale.
class Vector {
public:
  Vector() = default;
  explicit Vector(const Tensor &tensor) : tensor(&tensor) {}
  static llvm::Expected<Vector> of(const KernelContext &ctx, unsigned operand, int32_t count, bool required = false) {
    Vector made;
    if (!ctx.has(operand) && !required)
      return made;
    if (llvm::Error error =
            wantTensor(ctx, operand, {TensorType::FLOAT32, TensorType::INT8, TensorType::UINT8}, {count}))
      return error;
    made.tensor = ctx.optional(operand);
    return made;
  }
  explicit operator bool() const { return tensor; }
  float operator[](size_t i) const {
    return tensor->type == TensorType::FLOAT32 ? tensor->as<float>()[i]
                                               : static_cast<float>(tensor->as<int8_t>()[i]) * tensor->scale();
  }

private:
  const Tensor *tensor = nullptr;
};

class Matrix;

/// What cells compute with where numbers are floats.
struct Floats {
  using Number = float;
  using Matrix = eval::Matrix;
  using Vector = eval::Vector;
  const Dots &dots;
  float of(float x) const { return x; }
  float add(float a, float b) const { return a + b; }
  float subtract(float a, float b) const { return a - b; }
  float multiply(float a, float b) const { return a * b; }
  float divide(float a, float b) const { return a / b; }
  float root(float x) const { return std::sqrt(x); }
  float sigmoid(float x) const { return 1.f / (1.f + std::exp(-x)); }
  float tangent(float x) const { return std::tanh(x); }
  float clamp(float x, float low, float high) const { return std::clamp(x, low, high); }
  float activate(float x, circle::ActivationFunctionType how) const { return eval::activate(x, how); }
};
template <llvm::Error (*compute)(KernelContext &, const Floats &)>
llvm::Error withDots(KernelContext &ctx, const Dots &dots) {
  return compute(ctx, Floats{dots});
}

template <class Number> llvm::ArrayRef<Number> numbersAt(const KernelContext &ctx, unsigned operand) {
  return ctx.input(operand).as<Number>();
}

/// A matrix of floats, or of int8 with a scale. In the latter case the vector that it is multiplied with is rounded to
/// int8, too, with a scale of its own.
class Matrix {
public:
  /// Of `rows` × `columns` elements; empty if it is absent and need not be there.
  static llvm::Expected<Matrix> of(const KernelContext &ctx, unsigned operand, int32_t rows, int32_t columns,
                                   bool asymmetric, bool required = true) {
    Matrix made;
    if (!ctx.has(operand) && !required)
      return made;
    if (llvm::Error error =
            wantTensor(ctx, operand, {TensorType::FLOAT32, TensorType::INT8, TensorType::UINT8}, {rows, columns}))
      return error;
    made.tensor = ctx.optional(operand);
    if (made.tensor->type != TensorType::FLOAT32 && made.tensor->perChannel())
      return ctx.fail(operand, "a scale for each row has no kernel");
    made.rows = rows;
    made.columns = columns;
    made.asymmetric = asymmetric;
    return made;
  }
  explicit operator bool() const { return tensor; }
  /// y += this · x
  void addProduct(llvm::ArrayRef<float> x, llvm::MutableArrayRef<float> y, const Floats &math) const {
    const Dots &dots = math.dots;
    if (tensor->type == TensorType::FLOAT32) {
      const float *weights = tensor->as<float>().data();
      for (int64_t r = 0; r < rows; ++r)
        y[r] += dots.floats(weights + r * columns, x.data(), columns);
      return;
    }
    const int8_t *weights = tensor->as<int8_t>().data();
    auto [rounded, scale, zero] = asymmetric ? roundAsymmetric(x) : roundSymmetric(x);
    for (int16_t &number : rounded)
      number = static_cast<int16_t>(number - zero);
    for (int64_t r = 0; r < rows; ++r)
      y[r] +=
          static_cast<float>(dots.integers(weights + r * columns, rounded.data(), columns)) * (scale * tensor->scale());
  }

private:
  const Tensor *tensor = nullptr;
  int64_t rows = 0, columns = 0;
  bool asymmetric = false;

  struct Rounded {
    std::vector<int16_t> numbers;
    float scale = 1;
    int32_t zero = 0;
  };
  static int8_t nearest(float x, float low) { return static_cast<int8_t>(std::clamp(std::round(x), low, 127.f)); }
  static std::pair<float, float> range(llvm::ArrayRef<float> x) {
    float low = 0, high = 0;
    for (float number : x) {
      low = std::min(low, number);
      high = std::max(high, number);
    }
    return {low, high};
  }
  static Rounded roundSymmetric(llvm::ArrayRef<float> x) {
    auto [low, high] = range(x);
    float most = std::max(-low, high);
    Rounded made{std::vector<int16_t>(x.size()), 1, 0};
    if (most == 0 || !std::isfinite(most))
      return made;
    made.scale = most / 127;
    for (size_t i = 0; i < x.size(); ++i)
      made.numbers[i] = std::isnan(x[i]) ? 0 : nearest(x[i] * (127 / most), -127.f);
    return made;
  }
  static Rounded roundAsymmetric(llvm::ArrayRef<float> x) {
    auto [low, high] = range(x);
    Rounded made{std::vector<int16_t>(x.size()), 1, 0};
    if (low == high || !std::isfinite(high - low))
      return made;
    double scale = (static_cast<double>(high) - low) / 255;
    // The zero point from the end that rounds less.
    double fromLow = -128 - low / scale, fromHigh = 127 - high / scale;
    bool lowIsBetter = 128 + std::fabs(low / scale) < 127 + std::fabs(high / scale);
    made.zero = static_cast<int32_t>(std::round(std::clamp(lowIsBetter ? fromLow : fromHigh, -128.0, 127.0)));
    made.scale = static_cast<float>(scale);
    for (size_t i = 0; i < x.size(); ++i)
      made.numbers[i] = std::isnan(x[i]) ? 0 : nearest(static_cast<float>(made.zero) + x[i] * (1 / made.scale), -128.f);
    return made;
  }
};

/// A state: a variable, which is updated in place, or a tensor that only says where a run begins.
template <class T> class StateOf {
public:
  static llvm::Expected<StateOf> of(const KernelContext &ctx, unsigned operand, TensorType type, int64_t count) {
    if (!ctx.has(operand))
      return ctx.fail(operand, "is missing");
    Tensor &tensor = *ctx.inputs[operand];
    if (tensor.type != type)
      return ctx.fail(operand, "has another type", tensorTypeName(type).str(), tensorTypeName(tensor.type).str());
    if (tensor.count() != count)
      return ctx.fail(operand, "has another number of elements", std::to_string(count), std::to_string(tensor.count()));
    return StateOf(tensor);
  }
  llvm::MutableArrayRef<T> begin() {
    auto elements = tensor->as<T>();
    if (tensor->value && tensor->value->isVariable)
      return elements;
    copy.assign(elements.begin(), elements.end());
    return copy;
  }

private:
  explicit StateOf(Tensor &tensor) : tensor(&tensor) {}
  Tensor *tensor;
  std::vector<T> copy;
};

/// The state at this operand has new numbers.
inline void stateChanged(const KernelContext &ctx, unsigned operand) {
  const Tensor *state = ctx.optional(operand);
  if (ctx.resources && ctx.resources->within && state && state->value && state->value->isVariable)
    ctx.resources->within(*state->value, state->as<float>());
}

} // namespace origo::eval
