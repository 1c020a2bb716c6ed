#include "calls.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>

using circle::ActivationFunctionType;
using circle::BuiltinOperator;
using circle::Padding;
using circle::TensorType;
using Shape = Graph::Shape;

static std::string list(const std::vector<int> &numbers) {
  std::string result;
  for (int one : numbers)
    result += (result.empty() ? "" : ", ") + number(one);
  return result;
}
static std::string array(const std::vector<int> &numbers) { return "(const int[]){" + list(numbers) + "}"; }

/// name(first, second, …);
static std::string invoke(const std::string &name, std::initializer_list<std::string> arguments) {
  std::string result;
  for (const std::string &one : arguments)
    result += (result.empty() ? "" : ", ") + one;
  return name + "(" + result + ");";
}

/// A number that the compiler reads back as the same one.
static std::string real(float value) {
  if (!std::isfinite(value))
    refuse("an option is not a number");
  char text[40];
  std::snprintf(text, sizeof text, "%a", static_cast<double>(std::fabs(value)));
  for (char &c : text) // printf writes a comma where the locale has one
    if (c == ',')
      c = '.';
  return std::string(std::signbit(value) ? "-" : "") + text + "f";
}

static std::string activation(ActivationFunctionType function) {
  switch (function) {
  case ActivationFunctionType::NONE:
    return "NONE";
  case ActivationFunctionType::RELU:
    return "RELU";
  case ActivationFunctionType::RELU_N1_TO_1:
    return "RELU_N1_TO_1";
  case ActivationFunctionType::RELU6:
    return "RELU6";
  default:
    refuse(std::string("there is no kernel with the activation ") + circle::EnumNameActivationFunctionType(function));
  }
}

//===---------------------------------------------------------------------------------------------------------------===//
// Where elements lie
//===---------------------------------------------------------------------------------------------------------------===//

static Shape stepsOf(const Shape &shape) {
  Shape steps(shape.size());
  int step = 1;
  for (size_t d = shape.size(); d-- > 0; step *= shape[d])
    steps[d] = step;
  return steps;
}

/// Loops over a shape with the steps of some tensors in each. Kernels have four: axes along which all tensors go on as
/// before are one.
struct Loops {
  Shape shape;
  std::vector<Shape> steps;

  void add(int size, std::initializer_list<int> each) {
    shape.push_back(size);
    steps.resize(each.size());
    size_t t = 0;
    for (int step : each)
      steps[t++].push_back(step);
  }
  Loops four() const {
    Loops made;
    made.steps.resize(steps.size());
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1)
        continue;
      bool joins = !made.shape.empty();
      for (size_t t = 0; t < steps.size(); ++t)
        joins = joins && made.steps[t].back() == steps[t][d] * shape[d];
      if (!joins)
        made.shape.push_back(1);
      made.shape.back() *= shape[d];
      for (size_t t = 0; t < steps.size(); ++t) {
        if (!joins)
          made.steps[t].push_back(0);
        made.steps[t].back() = steps[t][d];
      }
    }
    if (made.shape.size() > 4)
      refuse("its elements lie in more than four dimensions");
    size_t missing = 4 - made.shape.size();
    made.shape.insert(made.shape.begin(), missing, 1);
    for (Shape &one : made.steps)
      one.insert(one.begin(), missing, 0);
    return made;
  }
};

/// The steps of an operand that broadcasts to `shape`.
static Shape broadcast(const Tensor &operand, const Shape &shape) {
  need(operand.shape.size() <= shape.size());
  Shape steps(shape.size(), 0), own = stepsOf(operand.shape);
  size_t offset = shape.size() - own.size();
  for (size_t d = 0; d < own.size(); ++d) {
    need(operand.shape[d] == shape[offset + d] || operand.shape[d] == 1);
    steps[offset + d] = operand.shape[d] == 1 ? 0 : own[d];
  }
  return steps;
}

static std::string place(const Tensor &tensor, int offset) {
  return offset ? tensor.name() + " + " + number(offset) : tensor.name();
}

static std::string move(const Tensor &from, int fromOffset, const Tensor &to, int toOffset, const Loops &loops) {
  Loops four = loops.four();
  return invoke("move", {place(from, fromOffset), array(four.steps[0]), place(to, toOffset), array(four.steps[1]),
                         array(four.shape), number(from.width())});
}

//===---------------------------------------------------------------------------------------------------------------===//
// Numbers of 8 bits
//===---------------------------------------------------------------------------------------------------------------===//

struct Scale {
  int32_t mantissa = 0;
  int shift = 0;
  std::string c() const { return "{" + number(mantissa) + ", " + number(shift) + "}"; }
};

static Scale scaleOf(double factor) {
  if (factor == 0 || !std::isfinite(factor))
    return {};
  int shift;
  auto mantissa = static_cast<int64_t>(std::round(std::frexp(factor, &shift) * 2147483648.0));
  if (mantissa == int64_t(1) << 31) {
    mantissa /= 2;
    ++shift;
  }
  if (shift < -31)
    return {};
  if (shift > 30)
    return {std::numeric_limits<int32_t>::max(), 30};
  return {static_cast<int32_t>(mantissa), shift};
}

struct Range {
  int low, high;
};
static Range rangeOf(const Tensor &tensor) {
  return tensor.type == TensorType::INT8 ? Range{-128, 127} : Range{0, 255};
}
/// What a fused activation leaves of the numbers of a tensor.
static Range rangeOf(ActivationFunctionType function, const Tensor &tensor) {
  Range range = rangeOf(tensor);
  auto bound = [&](float value) {
    return tensor.zero() + static_cast<int>(std::clamp(std::round(value / tensor.scale()), -1e9f, 1e9f));
  };
  std::string name = activation(function); // refuses others
  if (name == "RELU" || name == "RELU6")
    range.low = std::max(range.low, bound(0));
  if (name == "RELU6")
    range.high = std::min(range.high, bound(6));
  if (name == "RELU_N1_TO_1")
    range = {std::max(range.low, bound(-1)), std::min(range.high, bound(1))};
  range.high = std::max(range.low, range.high);
  return range;
}

static std::string rescaling(const std::string &scales, size_t channels, bool once, int zero, Range range) {
  return "(struct rescaling){" + scales + ", " + number(channels) + ", " + number(once) + ", " + number(zero) + ", " +
         number(range.low) + ", " + number(range.high) + "}";
}
static std::string rescaling(Scale scale, int zero, Range range) {
  return rescaling("(const struct scale[]){" + scale.c() + "}", 1, false, zero, range);
}
static std::string structScale(Scale scale) { return "(struct scale)" + scale.c(); }

static std::string typed(const char *kernel, const Tensor &x) {
  return kernel + std::string(x.type == TensorType::INT8 ? "_i8" : "_u8");
}

//===---------------------------------------------------------------------------------------------------------------===//
// Operators
//===---------------------------------------------------------------------------------------------------------------===//

namespace {

class Caller {
public:
  Caller(const Graph &graph, uint32_t subgraph, const circle::Operator &op, const std::string &name)
      : graph(graph), subgraph(subgraph), op(op), name(name), code(graph.code(op)) {}

  Call call() {
    result = output(0);
    need(static_cast<bool>(result) && !result.bytes);
    made.text = statements();
    return made;
  }

private:
  const Graph &graph;
  uint32_t subgraph;
  const circle::Operator &op;
  const std::string &name;
  BuiltinOperator code;
  Tensor result;
  Call made;

  Tensor operand(uint32_t place) const { return tensorOf(graph, subgraph, at(op.inputs(), place)); }
  Tensor output(uint32_t place) const { return tensorOf(graph, subgraph, at(op.outputs(), place)); }
  uint32_t operands() const { return op.inputs() ? op.inputs()->size() : 0; }
  uint32_t outputs() const { return op.outputs() ? op.outputs()->size() : 0; }

  /// All of them floats, or all of the same 8 bits.
  static void needAlike(std::initializer_list<const Tensor *> tensors) {
    const Tensor &first = **tensors.begin();
    if (!first.isFloat() && !first.isByte())
      refuse("tensor " + number(first.index) + " is " + circle::EnumNameTensorType(first.type) +
             ", which has no kernel here");
    for (const Tensor *one : tensors)
      if (one->type != first.type)
        refuse("there is no kernel of " + std::string(circle::EnumNameTensorType(first.type)) + " and " +
               circle::EnumNameTensorType(one->type));
  }
  static void needSameNumbers(const Tensor &a, const Tensor &b) {
    need(a.type == b.type);
    if (a.isByte() && !a.scales.empty() && !b.scales.empty())
      need(a.scale() == b.scale() && a.zero() == b.zero());
  }

  std::string statements() {
    switch (code) {
    case BuiltinOperator::CONV_2D:
      return convolution(op.builtin_options_as_Conv2DOptions());
    case BuiltinOperator::DEPTHWISE_CONV_2D:
      return convolution(op.builtin_options_as_DepthwiseConv2DOptions());
    case BuiltinOperator::FULLY_CONNECTED:
      return fullyConnected();
    case BuiltinOperator::BATCH_MATMUL:
      return batchMatMul();
    case BuiltinOperator::AVERAGE_POOL_2D:
    case BuiltinOperator::MAX_POOL_2D:
      return pool();
    case BuiltinOperator::ADD:
      return binary("ADD", op.builtin_options_as_AddOptions());
    case BuiltinOperator::SUB:
      return binary("SUB", op.builtin_options_as_SubOptions());
    case BuiltinOperator::MUL:
      return binary("MUL", op.builtin_options_as_MulOptions());
    case BuiltinOperator::DIV:
      return binary("DIV", op.builtin_options_as_DivOptions());
    case BuiltinOperator::MAXIMUM:
      return binaryOf("MAXIMUM", ActivationFunctionType::NONE);
    case BuiltinOperator::MINIMUM:
      return binaryOf("MINIMUM", ActivationFunctionType::NONE);
    case BuiltinOperator::SQUARED_DIFFERENCE:
      return binaryOf("SQUARED_DIFFERENCE", ActivationFunctionType::NONE);
    case BuiltinOperator::PRELU:
      return binaryOf("PRELU", ActivationFunctionType::NONE);
    case BuiltinOperator::RELU:
      return clamped("CLAMPED_0", ActivationFunctionType::RELU);
    case BuiltinOperator::RELU6:
      return clamped("CLAMPED_6", ActivationFunctionType::RELU6);
    case BuiltinOperator::RELU_N1_TO_1:
      return clamped("CLAMPED_1", ActivationFunctionType::RELU_N1_TO_1);
    case BuiltinOperator::LOGISTIC:
      return function("LOGISTIC", [](float x) { return 1.f / (1.f + std::exp(-x)); });
    case BuiltinOperator::TANH:
      return function("TANH", [](float x) { return std::tanh(x); });
    case BuiltinOperator::EXP:
      return function("EXP", nullptr);
    case BuiltinOperator::NEG:
      return function("NEG", nullptr);
    case BuiltinOperator::ABS:
      return function("ABS", nullptr);
    case BuiltinOperator::SQUARE:
      return function("SQUARE", nullptr);
    case BuiltinOperator::SQRT:
      return function("SQRT", nullptr);
    case BuiltinOperator::RSQRT:
      return function("RSQRT", nullptr);
    case BuiltinOperator::HARD_SWISH:
      return function("HARD_SWISH", nullptr);
    case BuiltinOperator::GELU: {
      const auto *options = op.builtin_options_as_GeluOptions();
      need(options && options->approximate());
      return function("GELU", [](float x) {
        return 0.5f * x * (1 + std::tanh(static_cast<float>(M_2_SQRTPI * M_SQRT1_2) * (x + 0.044715f * x * x * x)));
      });
    }
    case BuiltinOperator::LEAKY_RELU: {
      const auto *options = op.builtin_options_as_LeakyReluOptions();
      need(options != nullptr);
      return function("LEAKY_RELU", nullptr, options->alpha());
    }
    case BuiltinOperator::SOFTMAX:
      return softmax();
    case BuiltinOperator::MEAN:
      return mean();
    case BuiltinOperator::QUANTIZE:
      return quantize();
    case BuiltinOperator::DEQUANTIZE: {
      Tensor x = operand(0);
      need(x.isByte() && result.isFloat() && x.size == result.size);
      return invoke(typed("dequantize", x),
                    {x.name(), result.name(), number(x.size), real(x.scale()), number(x.zero())});
    }
    case BuiltinOperator::RESHAPE:
    case BuiltinOperator::SQUEEZE:
    case BuiltinOperator::EXPAND_DIMS: {
      Tensor x = operand(0);
      needSameNumbers(x, result);
      need(x.size == result.size);
      Loops loops;
      loops.add(x.size, {1, 1});
      return ::move(x, 0, result, 0, loops);
    }
    case BuiltinOperator::TRANSPOSE:
      return transpose();
    case BuiltinOperator::PAD:
    case BuiltinOperator::PADV2:
      return pad();
    case BuiltinOperator::CONCATENATION:
      return concatenation();
    case BuiltinOperator::PACK:
      return pack();
    case BuiltinOperator::UNPACK:
    case BuiltinOperator::SPLIT:
      return apart();
    case BuiltinOperator::SLICE:
      return slice();
    case BuiltinOperator::STRIDED_SLICE:
      return stridedSlice();
    case BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM:
      return lstm();
    case BuiltinOperator::GATHER:
      return gather();
    case BuiltinOperator::WHILE:
      return loop();
    case BuiltinOperator::LESS:
      return compared("<");
    case BuiltinOperator::LESS_EQUAL:
      return compared("<=");
    case BuiltinOperator::GREATER:
      return compared(">");
    case BuiltinOperator::GREATER_EQUAL:
      return compared(">=");
    case BuiltinOperator::EQUAL:
      return compared("==");
    case BuiltinOperator::NOT_EQUAL:
      return compared("!=");
    case BuiltinOperator::RESIZE_BILINEAR:
    case BuiltinOperator::RESIZE_NEAREST_NEIGHBOR:
      return resize();
    default:
      refuse("there is no kernel for it");
    }
  }

  /// The bias of `channels` channels, if there is one.
  Tensor biasOf(uint32_t place, int channels, bool isFloat) const {
    Tensor bias = operand(place);
    if (bias)
      need(bias.size == channels && bias.type == (isFloat ? TensorType::FLOAT32 : TensorType::INT32));
    return bias;
  }

  /// From sums of products to the result. `once`: how the runtime rounds.
  std::string channelScales(const Tensor &x, const Tensor &weights, int channels, bool once,
                            ActivationFunctionType function) {
    bool isOld = x.type == TensorType::UINT8;
    for (int64_t zero : weights.zeros)
      need(weights.scales.size() == 1 || zero == 0);
    need(weights.scales.size() == 1 || weights.scales.size() == static_cast<size_t>(channels));
    std::string text;
    for (float scale : weights.scales) {
      double product = isOld && (weights.scales.size() == 1 || code != BuiltinOperator::FULLY_CONNECTED)
                           ? static_cast<double>(x.scale() * scale)
                           : static_cast<double>(x.scale()) * static_cast<double>(scale);
      Scale made = scaleOf(product / static_cast<double>(result.scale()));
      need(made.shift <= 30);
      text += (text.empty() ? "" : ", ") + made.c();
    }
    made.constants +=
        "static const struct scale " + name + "_scales[" + number(weights.scales.size()) + "] = {" + text + "};\n";
    return rescaling(name + "_scales", weights.scales.size(), once, result.zero(), rangeOf(function, result));
  }

  /// How many zeros lie before the first element; the length of the result is checked.
  static int before(Padding padding, int in, int out, int window, int stride, int dilation) {
    need(stride > 0 && stride < 1 << 12 && dilation > 0 && dilation < 1 << 12 && window > 0 && window < 1 << 12);
    int reach = (window - 1) * dilation + 1;
    need(out == (padding == Padding::SAME ? (in + stride - 1) / stride : (in - reach + stride) / stride));
    return std::max(0, (out - 1) * stride + reach - in) / 2;
  }

  /// CONV_2D and DEPTHWISE_CONV_2D, whose options have the same names.
  template <class Options> std::string convolution(const Options *options) {
    constexpr bool depthwise = std::is_same_v<Options, circle::DepthwiseConv2DOptions>;
    Tensor x = operand(0), filter = operand(1);
    needAlike({&x, &result, &filter});
    need(options && x.shape.size() == 4 && filter.shape.size() == 4 && result.shape.size() == 4 &&
         x.dim(0) == result.dim(0));
    int channels = result.dim(3);
    need(filter.dim(depthwise ? 3 : 0) == channels);
    if (depthwise)
      need(filter.dim(0) == 1 && channels % x.dim(3) == 0);
    else
      need(x.dim(3) % filter.dim(3) == 0 && channels % (x.dim(3) / filter.dim(3)) == 0);
    Tensor bias = biasOf(2, channels, x.isFloat());
    std::vector<int> stride = {options->stride_h(), options->stride_w()};
    std::vector<int> dilation = {options->dilation_h_factor(), options->dilation_w_factor()}, start;
    for (size_t d = 0; d < 2; ++d)
      start.push_back(
          before(options->padding(), x.dim(d + 1), result.dim(d + 1), filter.dim(d + 1), stride[d], dilation[d]));
    const char *kernel = depthwise ? "depthwise_conv_2d" : "conv_2d";
    ActivationFunctionType function = options->fused_activation_function();
    if (x.isFloat())
      return invoke(kernel, {x.name(), array(x.shape), filter.name(), array(filter.shape), bias.name(), result.name(),
                             array(result.shape), array(stride), array(dilation), array(start), activation(function)});
    return invoke(typed(kernel, x),
                  {x.name(), array(x.shape), number(x.zero()), filter.name(), array(filter.shape),
                   number(filter.scales.size() == 1 ? filter.zero() : 0), bias.name(), result.name(),
                   array(result.shape), array(stride), array(dilation), array(start),
                   channelScales(x, filter, channels, !depthwise && x.type == TensorType::INT8, function)});
  }

  std::string fullyConnected() {
    const auto *options = op.builtin_options_as_FullyConnectedOptions();
    Tensor x = operand(0), weights = operand(1);
    needAlike({&x, &result, &weights});
    need(options && weights.shape.size() == 2 &&
         options->weights_format() == circle::FullyConnectedOptionsWeightsFormat::DEFAULT);
    int to = weights.dim(0), from = weights.dim(1), batch = x.size / from;
    need(x.size == batch * from && result.size == batch * to);
    Tensor bias = biasOf(2, to, x.isFloat());
    ActivationFunctionType function = options->fused_activation_function();
    if (x.isFloat())
      return invoke("fully_connected", {x.name(), weights.name(), bias.name(), result.name(), number(batch),
                                        number(from), number(to), activation(function)});
    return invoke(typed("fully_connected", x),
                  {x.name(), number(x.zero()), weights.name(), number(weights.scales.size() == 1 ? weights.zero() : 0),
                   bias.name(), result.name(), number(batch), number(from), number(to),
                   channelScales(x, weights, to, x.type == TensorType::INT8, function)});
  }

  std::string batchMatMul() {
    const auto *options = op.builtin_options_as_BatchMatMulOptions();
    Tensor x = operand(0), y = operand(1);
    need(options && x.isFloat() && y.isFloat() && result.isFloat());
    size_t rank = result.shape.size();
    need(rank >= 2 && rank <= 4 && x.shape.size() == rank && y.shape.size() == rank);
    auto steps = [&](const Tensor &tensor, bool transposed) {
      Shape made = stepsOf(tensor.shape), all(4, 0);
      for (size_t d = 0; d + 2 < rank; ++d)
        all[d + 4 - rank] = tensor.shape[d] == 1 ? 0 : made[d];
      all[2] = made[transposed ? rank - 1 : rank - 2];
      all[3] = made[transposed ? rank - 2 : rank - 1];
      return all;
    };
    bool left = options->adjoint_lhs(), right = options->adjoint_rhs();
    int rows = x.shape[rank - (left ? 1 : 2)], depth = x.shape[rank - (left ? 2 : 1)];
    int columns = y.shape[rank - (right ? 2 : 1)];
    need(y.shape[rank - (right ? 1 : 2)] == depth && result.shape[rank - 2] == rows &&
         result.shape[rank - 1] == columns);
    std::vector<int> batch(2, 1);
    for (size_t d = 0; d + 2 < rank; ++d) {
      batch[d + 4 - rank] = result.shape[d];
      need((x.shape[d] == 1 || x.shape[d] == result.shape[d]) && (y.shape[d] == 1 || y.shape[d] == result.shape[d]));
    }
    return invoke("batch_matmul", {x.name(), array(steps(x, left)), y.name(), array(steps(y, right)), result.name(),
                                   array(batch), number(rows), number(depth), number(columns)});
  }

  std::string pool() {
    const auto *options = op.builtin_options_as_Pool2DOptions();
    Tensor x = operand(0);
    needAlike({&x, &result});
    need(options && x.shape.size() == 4 && result.shape.size() == 4 && x.dim(0) == result.dim(0) &&
         x.dim(3) == result.dim(3));
    std::vector<int> window = {options->filter_height(), options->filter_width()};
    std::vector<int> stride = {options->stride_h(), options->stride_w()}, start;
    for (size_t d = 0; d < 2; ++d)
      start.push_back(before(options->padding(), x.dim(d + 1), result.dim(d + 1), window[d], stride[d], 1));
    const char *kernel = code == BuiltinOperator::MAX_POOL_2D ? "max_pool_2d" : "average_pool_2d";
    if (x.isFloat())
      return invoke(kernel, {x.name(), array(x.shape), result.name(), array(result.shape), array(window), array(stride),
                             array(start), activation(options->fused_activation_function())});
    Range range = rangeOf(options->fused_activation_function(), result);
    return invoke(typed(kernel, x), {x.name(), array(x.shape), result.name(), array(result.shape), array(window),
                                     array(stride), array(start), number(range.low), number(range.high)});
  }

  template <class Options> std::string binary(const char *function, const Options *options) {
    need(options != nullptr);
    return binaryOf(function, options->fused_activation_function());
  }
  std::string binaryOf(const std::string &function, ActivationFunctionType fused) {
    Tensor x = operand(0), y = operand(1);
    bool isWhole = result.type == TensorType::INT32;
    if (!isWhole)
      needAlike({&x, &result, &y});
    need(x.type == result.type && y.type == result.type);
    Loops loops{result.shape, {broadcast(x, result.shape), broadcast(y, result.shape)}};
    Loops four = loops.four();
    std::string xSteps = array(four.steps[0]), ySteps = array(four.steps[1]), shape = array(four.shape);
    if (isWhole && function != "ADD" && function != "SUB" && function != "MUL" && function != "MAXIMUM" &&
        function != "MINIMUM")
      refuse("there is no kernel of int32 for it");
    if (isWhole) {
      need(fused == ActivationFunctionType::NONE);
      return invoke("binary_i32", {function, x.name(), xSteps, y.name(), ySteps, result.name(), shape});
    }
    if (x.isFloat())
      return invoke("binary", {function, x.name(), xSteps, y.name(), ySteps, result.name(), shape, activation(fused)});
    Range range = rangeOf(fused, result);
    float a = x.scale(), b = y.scale();
    if (function == "MUL")
      return invoke(typed("mul", x),
                    {x.name(), xSteps, number(x.zero()), y.name(), ySteps, number(y.zero()), result.name(), shape,
                     rescaling(scaleOf(static_cast<double>(a * b / result.scale())), result.zero(), range)});
    if (function != "ADD" && function != "SUB")
      refuse("there is no kernel of 8 bits for it");
    constexpr int spare = 20;
    double common = 2.0 * static_cast<double>(std::max(a, b));
    return invoke(
        typed("add", x),
        {x.name(), xSteps, number(x.zero()), structScale(scaleOf(static_cast<double>(a) / common)), y.name(), ySteps,
         number(y.zero()), structScale(scaleOf(static_cast<double>(b) / common)), number(function == "SUB"),
         number(spare), result.name(), shape,
         rescaling(scaleOf(common / ((1 << spare) * static_cast<double>(result.scale()))), result.zero(), range)});
  }

  std::string compared(const std::string &sign) {
    Tensor x = operand(0), y = operand(1);
    need(result.type == TensorType::BOOL && x.type == y.type && (x.isFloat() || x.type == TensorType::INT32));
    Loops four = Loops{result.shape, {broadcast(x, result.shape), broadcast(y, result.shape)}}.four();
    return "COMPARE(" + sign + ", " + x.name() + ", (" + array(four.steps[0]) + "), " + y.name() + ", (" +
           array(four.steps[1]) + "), " + result.name() + ", (" + array(four.shape) + "));";
  }

  /// The state is in the results; condition and body get copies, for they may reuse the memory of their inputs.
  std::string loop() {
    const auto *options = op.builtin_options_as_WhileOptions();
    need(options && options->cond_subgraph_index() > 0 && options->body_subgraph_index() > 0);
    auto condition = static_cast<uint32_t>(options->cond_subgraph_index()),
         body = static_cast<uint32_t>(options->body_subgraph_index());
    const auto &test = graph.subgraph(condition), &step = graph.subgraph(body);
    uint32_t count = operands();
    need(outputs() == count && test.inputs()->size() == count && step.inputs()->size() == count);
    need(step.outputs()->size() == count && test.outputs()->size() == 1);
    Tensor goesOn = tensorOf(graph, condition, test.outputs()->Get(0));
    need(goesOn && goesOn.type == TensorType::BOOL && goesOn.size == 1);
    auto all = [&](auto from, auto to) {
      std::string text;
      for (uint32_t i = 0; i < count; ++i) {
        Tensor a = from(i), b = to(i);
        need(a && b && a.type == b.type && a.shape == b.shape && !b.bytes);
        Loops loops;
        loops.add(a.size, {1, 1});
        text += ::move(a, 0, b, 0, loops) + " ";
      }
      return text;
    };
    auto own = [&](uint32_t i) { return operand(i); };
    auto state = [&](uint32_t i) { return output(i); };
    auto tested = [&](uint32_t i) { return tensorOf(graph, condition, test.inputs()->Get(i)); };
    auto before = [&](uint32_t i) { return tensorOf(graph, body, step.inputs()->Get(i)); };
    auto behind = [&](uint32_t i) { return tensorOf(graph, body, step.outputs()->Get(i)); };
    made.calls = {condition, body};
    return all(own, state) + "for (;;) { " + all(state, tested) + "net_graph_" + number(condition) + "(); if (!*" +
           goesOn.name() + ") break; " + all(state, before) + "net_graph_" + number(body) + "(); " +
           all(behind, state) + "}";
  }

  std::string clamped(const char *kernel, ActivationFunctionType bounds) {
    Tensor x = operand(0);
    needAlike({&x, &result});
    need(x.size == result.size);
    if (x.isFloat())
      return invoke("unary", {kernel, x.name(), result.name(), number(x.size), "0"});
    double factor = static_cast<double>(x.scale()) / static_cast<double>(result.scale());
    return invoke(typed("rescale", x), {x.name(), number(x.zero()), result.name(), number(x.size),
                                        rescaling(scaleOf(factor), result.zero(), rangeOf(bounds, result))});
  }

  /// `of`: what numbers of 8 bits are looked up of; null: there are none.
  std::string function(const char *kernel, const std::function<float(float)> &of, float alpha = 0) {
    Tensor x = operand(0);
    needAlike({&x, &result});
    need(x.size == result.size);
    if (x.isFloat())
      return invoke("unary", {kernel, x.name(), result.name(), number(x.size), real(alpha)});
    if (!of)
      refuse("there is no kernel of 8 bits for it");
    Range range = rangeOf(x), to = rangeOf(result);
    std::vector<int> table(256);
    float inverse = 1 / result.scale();
    for (int i = range.low; i <= range.high; ++i) {
      float value = of(x.scale() * static_cast<float>(i - x.zero()));
      float scaled = std::round(value * inverse) + static_cast<float>(result.zero());
      int element = static_cast<int>(std::clamp(scaled, static_cast<float>(to.low), static_cast<float>(to.high)));
      table[static_cast<uint8_t>(i)] = static_cast<uint8_t>(element);
    }
    made.constants += "static const uint8_t " + name + "_table[256] = {" + list(table) + "};\n";
    return invoke(typed("look_up", x), {x.name(), result.name(), number(x.size), name + "_table"});
  }

  std::string softmax() {
    const auto *options = op.builtin_options_as_SoftmaxOptions();
    Tensor x = operand(0);
    needAlike({&x, &result});
    need(options && !x.shape.empty() && x.size == result.size);
    int depth = x.shape.back(), rows = x.size / depth;
    if (x.isFloat())
      return invoke("softmax", {x.name(), result.name(), number(rows), number(depth), real(options->beta())});
    need(result.scale() == 1.f / 256 && result.zero() == rangeOf(result).low);
    double factor =
        std::min(static_cast<double>(options->beta()) * static_cast<double>(x.scale()) * (1 << 26), 2147483647.0);
    Scale scale = scaleOf(factor);
    need(factor > 1 && scale.shift >= 0);
    double radius = std::floor(31.0 * (1 << 26) / static_cast<double>(int64_t(1) << scale.shift));
    return invoke(typed("softmax", x), {x.name(), result.name(), number(rows), number(depth), structScale(scale),
                                        number(-static_cast<int>(std::min(radius, 512.0)))});
  }

  std::string mean() {
    const auto *options = op.builtin_options_as_ReducerOptions();
    Tensor x = operand(0);
    needAlike({&x, &result});
    need(options != nullptr);
    std::vector<bool> reduced(x.shape.size(), false);
    std::vector<int> axes = operand(1).values();
    for (int axis : axes) {
      int rank = static_cast<int>(x.shape.size());
      need(axis >= -rank && axis < rank);
      reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
    }
    Shape steps(x.shape.size(), 0);
    int step = 1, count = 1;
    for (size_t d = x.shape.size(); d-- > 0;)
      if (reduced[d]) {
        count *= x.shape[d];
      } else {
        steps[d] = step;
        step *= x.shape[d];
      }
    need(step == result.size);
    // The kernel reads its operand from the first element to the last.
    Loops four = Loops{x.shape, {steps, stepsOf(x.shape)}}.four();
    if (x.isFloat())
      return invoke("mean", {x.name(), array(four.shape), result.name(), array(four.steps[0]), number(result.size),
                             number(count)});
    // Of images the runtime takes the zero points away behind the scaling, else before.
    bool isImage = x.shape.size() == 4 && options->keep_dims() && axes.size() == 2 && reduced[1] && reduced[2];
    int zeros = 0, add = result.zero();
    Scale scale;
    if (isImage) {
      scale = scaleOf(static_cast<double>(x.scale() / (static_cast<float>(count) * result.scale())));
      add -= static_cast<int>(
          std::clamp(std::round(static_cast<float>(x.zero()) * x.scale() / result.scale()), -1e9f, 1e9f));
    } else {
      scale = scaleOf(static_cast<double>(x.scale()) / static_cast<double>(result.scale()));
      int bits = 0;
      while (count >> (bits + 1))
        ++bits;
      bits = std::min(bits, 31 + scale.shift);
      scale = {static_cast<int32_t>((static_cast<int64_t>(scale.mantissa) << bits) / count), scale.shift - bits};
      zeros = count * x.zero();
    }
    made.room = result.size * 4;
    return invoke(typed("mean", x),
                  {x.name(), array(four.shape), result.name(), array(four.steps[0]), number(result.size), "room",
                   number(zeros), rescaling(scale, add, rangeOf(result))});
  }

  std::string quantize() {
    Tensor x = operand(0);
    need(result.isByte() && x.size == result.size);
    if (x.isFloat())
      return invoke(typed("quantize", result),
                    {x.name(), result.name(), number(x.size), real(result.scale()), number(result.zero())});
    double factor = static_cast<double>(x.scale()) / static_cast<double>(result.scale());
    if (!x.isByte())
      needAlike({&x, &result});
    // The results of one type lie where those of the other do, 128 apart.
    if (x.type != result.type) {
      Range range = rangeOf(result);
      return invoke(typed("rescale_other", x), {x.name(), number(x.zero()), result.name(), number(x.size),
                                                rescaling(scaleOf(factor), result.zero(), range)});
    }
    return invoke(typed("rescale", x), {x.name(), number(x.zero()), result.name(), number(x.size),
                                        rescaling(scaleOf(factor), result.zero(), rangeOf(result))});
  }

  std::string transpose() {
    Tensor x = operand(0);
    needSameNumbers(x, result);
    std::vector<int> permutation = operand(1).values();
    need(permutation.size() == x.shape.size() && result.shape.size() == x.shape.size());
    Shape from = stepsOf(x.shape), to = stepsOf(result.shape);
    Loops loops;
    int64_t seen = 0;
    for (size_t d = 0; d < permutation.size(); ++d) {
      int axis = permutation[d] < 0 ? permutation[d] + static_cast<int>(permutation.size()) : permutation[d];
      need(axis >= 0 && axis < static_cast<int>(permutation.size()) && axis < 62 && !(seen >> axis & 1));
      seen |= int64_t(1) << axis;
      need(result.shape[d] == x.shape[static_cast<size_t>(axis)]);
      loops.add(result.shape[d], {from[static_cast<size_t>(axis)], to[d]});
    }
    return ::move(x, 0, result, 0, loops);
  }

  std::string pad() {
    Tensor x = operand(0), filler = operand(2);
    std::vector<int> around = operand(1).values();
    needSameNumbers(x, result);
    need(x.shape.size() == result.shape.size() && around.size() == 2 * x.shape.size());
    uint32_t element = x.isByte() ? static_cast<uint8_t>(result.zero()) : 0;
    if (filler) {
      need(filler.bytes && filler.size == 1 && filler.type == x.type);
      element = 0;
      std::memcpy(&element, filler.bytes->data(), filler.bytes->size());
    }
    Shape from = stepsOf(x.shape), to = stepsOf(result.shape);
    Loops loops;
    int offset = 0;
    for (size_t d = 0; d < x.shape.size(); ++d) {
      need(around[2 * d] >= 0 && around[2 * d + 1] >= 0 &&
           result.shape[d] - x.shape[d] == int64_t(around[2 * d]) + around[2 * d + 1]);
      loops.add(x.shape[d], {from[d], to[d]});
      offset += around[2 * d] * to[d];
    }
    return invoke("fill", {result.name(), number(result.size), number(element), number(x.width())}) + "\n  " +
           ::move(x, 0, result, offset, loops);
  }

  static size_t axisOf(int axis, size_t rank) {
    need(axis >= -static_cast<int>(rank) && axis < static_cast<int>(rank));
    return static_cast<size_t>(axis < 0 ? axis + static_cast<int>(rank) : axis);
  }

  std::string concatenation() {
    const auto *options = op.builtin_options_as_ConcatenationOptions();
    need(options && options->fused_activation_function() == ActivationFunctionType::NONE);
    size_t axis = axisOf(options->axis(), result.shape.size());
    Shape to = stepsOf(result.shape);
    std::string text;
    int begin = 0;
    for (uint32_t i = 0; i < operands(); ++i) {
      Tensor x = operand(i);
      needSameNumbers(x, result);
      need(x.shape.size() == result.shape.size());
      Shape from = stepsOf(x.shape);
      Loops loops;
      for (size_t d = 0; d < x.shape.size(); ++d) {
        need(d == axis || x.shape[d] == result.shape[d]);
        loops.add(x.shape[d], {from[d], to[d]});
      }
      text += (i ? "\n  " : "") + ::move(x, 0, result, begin * to[axis], loops);
      begin += x.shape[axis];
      need(begin <= result.shape[axis]);
    }
    need(begin == result.shape[axis]);
    return text;
  }

  std::string pack() {
    const auto *options = op.builtin_options_as_PackOptions();
    need(options && !result.shape.empty());
    size_t axis = axisOf(options->axis(), result.shape.size());
    need(operands() == static_cast<uint32_t>(result.shape[axis]));
    Shape to = stepsOf(result.shape);
    std::string text;
    for (uint32_t i = 0; i < operands(); ++i) {
      Tensor x = operand(i);
      needSameNumbers(x, result);
      need(x.shape.size() + 1 == result.shape.size());
      Shape from = stepsOf(x.shape);
      Loops loops;
      for (size_t d = 0; d < x.shape.size(); ++d) {
        size_t there = d < axis ? d : d + 1;
        need(x.shape[d] == result.shape[there]);
        loops.add(x.shape[d], {from[d], to[there]});
      }
      text += (i ? "\n  " : "") + ::move(x, 0, result, static_cast<int>(i) * to[axis], loops);
    }
    return text;
  }

  /// UNPACK and SPLIT.
  std::string apart() {
    bool unpacks = code == BuiltinOperator::UNPACK;
    Tensor x = operand(unpacks ? 0 : 1);
    const auto *options = op.builtin_options_as_UnpackOptions();
    need(!unpacks || options);
    std::vector<int> given = unpacks ? std::vector<int>{options->axis()} : operand(0).values();
    need(given.size() == 1);
    size_t axis = axisOf(given[0], x.shape.size());
    Shape from = stepsOf(x.shape);
    std::string text;
    need(outputs() > 0 && x.shape[axis] % static_cast<int>(outputs()) == 0);
    int each = x.shape[axis] / static_cast<int>(outputs());
    need(!unpacks || each == 1);
    for (uint32_t i = 0; i < outputs(); ++i) {
      Tensor part = output(i);
      needSameNumbers(x, part);
      need(static_cast<bool>(part) && !part.bytes && part.size == x.size / static_cast<int>(outputs()));
      Shape shape = x.shape;
      shape[axis] = each;
      Loops loops{shape, {from, stepsOf(shape)}};
      text += (i ? "\n  " : "") + ::move(x, static_cast<int>(i) * each * from[axis], part, 0, loops);
    }
    return text;
  }

  std::string slice() {
    Tensor x = operand(0);
    needSameNumbers(x, result);
    std::vector<int> begin = operand(1).values();
    need(begin.size() == x.shape.size() && result.shape.size() == x.shape.size());
    Shape from = stepsOf(x.shape), to = stepsOf(result.shape);
    Loops loops;
    int offset = 0;
    for (size_t d = 0; d < begin.size(); ++d) {
      need(begin[d] >= 0 && int64_t(begin[d]) + result.shape[d] <= x.shape[d]);
      offset += begin[d] * from[d];
      loops.add(result.shape[d], {from[d], to[d]});
    }
    return ::move(x, offset, result, 0, loops);
  }

  std::string stridedSlice() {
    const auto *options = op.builtin_options_as_StridedSliceOptions();
    Tensor x = operand(0);
    needSameNumbers(x, result);
    std::vector<int> begin = operand(1).values(), end = operand(2).values(), stride = operand(3).values();
    need(options && !options->ellipsis_mask() && !options->new_axis_mask() && !options->offset());
    need(begin.size() == end.size() && begin.size() == stride.size() && begin.size() <= x.shape.size());
    Shape from = stepsOf(x.shape);
    Loops loops;
    int offset = 0, step = result.size;
    for (size_t d = 0; d < x.shape.size(); ++d) {
      int size = x.shape[d], first = 0, count = size, by = 1;
      if (d < begin.size()) {
        bool shrinks = options->shrink_axis_mask() >> d & 1;
        by = shrinks ? 1 : stride[d];
        need(by > 0);
        first = options->begin_mask() >> d & 1 ? 0 : begin[d] < 0 ? begin[d] + size : begin[d];
        int last = options->end_mask() >> d & 1 ? size : end[d] < 0 ? end[d] + size : end[d];
        first = std::clamp(first, 0, size);
        last = shrinks ? first + 1 : std::clamp(last, 0, size);
        need(last > first && last <= size);
        count = (last - first - 1) / by + 1;
      }
      offset += first * from[d];
      step /= count;
      loops.add(count, {from[d] * by, step});
    }
    need(step == 1);
    return ::move(x, offset, result, 0, loops);
  }

  std::string gather() {
    const auto *options = op.builtin_options_as_GatherOptions();
    Tensor x = operand(0), indices = operand(1);
    needSameNumbers(x, result);
    need(options && options->batch_dims() == 0 && indices.type == TensorType::INT32 && !x.shape.empty());
    size_t axis = axisOf(options->axis(), x.shape.size());
    int outer = 1, inner = 1;
    for (size_t d = 0; d < x.shape.size(); ++d)
      (d < axis ? outer : inner) *= d == axis ? 1 : x.shape[d];
    need(result.size == outer * indices.size * inner);
    return invoke("gather", {x.name(), indices.name(), result.name(), number(outer), number(x.shape[axis]),
                             number(indices.size), number(inner), number(x.width())});
  }

  std::string resize() {
    bool bilinear = code == BuiltinOperator::RESIZE_BILINEAR;
    Tensor x = operand(0);
    needSameNumbers(x, result);
    const auto *line = op.builtin_options_as_ResizeBilinearOptions();
    const auto *near = op.builtin_options_as_ResizeNearestNeighborOptions();
    need((bilinear ? line != nullptr : near != nullptr) && x.shape.size() == 4 && result.shape.size() == 4);
    need(x.dim(0) == result.dim(0) && x.dim(3) == result.dim(3) && (!bilinear || x.isFloat()));
    bool corners = bilinear ? line->align_corners() : near->align_corners();
    bool centers = bilinear ? line->half_pixel_centers() : near->half_pixel_centers();
    need(!corners || !centers);
    for (size_t d = 1; d < 3; ++d) {
      int from = x.shape[d], to = result.shape[d];
      float scale = corners && to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1)
                                      : static_cast<float>(from) / static_cast<float>(to);
      std::string places;
      for (int i = 0; i < to; ++i) {
        float at = bilinear && !centers ? static_cast<float>(i) * scale
                   : bilinear           ? (static_cast<float>(i) + 0.5f) * scale - 0.5f
                                        : (static_cast<float>(i) + (centers ? 0.5f : 0.f)) * scale;
        auto whole = [&](float value) { return std::clamp(static_cast<int>(value), 0, from - 1); };
        int first = whole(!bilinear && corners ? std::round(at) : std::floor(at));
        places += (i ? ", {" : "{") + number(first) + ", " + number(whole(std::ceil(at))) + ", " +
                  real(at - static_cast<float>(first)) + "}";
      }
      made.constants += "static const struct between " + name + (d == 1 ? "_rows[" : "_columns[") + number(to) +
                        "] = {" + places + "};\n";
    }
    std::string rows = name + "_rows", columns = name + "_columns";
    if (bilinear)
      return invoke("resize_bilinear", {x.name(), array(x.shape), rows, columns, result.name(), array(result.shape)});
    return invoke("resize_nearest",
                  {x.name(), array(x.shape), rows, columns, result.name(), array(result.shape), number(x.width())});
  }

  std::string lstm() {
    const auto *options = op.builtin_options_as_UnidirectionalSequenceLSTMOptions();
    Tensor x = operand(0), state = operand(18), cell = operand(19);
    need(options && x.isFloat() && result.isFloat() && x.shape.size() == 3 && state && cell && state.variable &&
         cell.variable);
    int cells = cell.shape.empty() ? 0 : cell.shape.back(), depth = x.dim(2);
    bool byTime = options->time_major();
    int times = x.dim(byTime ? 0 : 1), batch = x.dim(byTime ? 1 : 0);
    need(cells > 0 && state.size == batch * cells && cell.size == batch * cells &&
         result.size == times * batch * cells);
    need(state.isFloat() && cell.isFloat() && options->proj_clip() == 0);
    std::string gates;
    for (uint32_t g = 0; g < 4; ++g) {
      Tensor input = operand(1 + g), recurrent = operand(5 + g), bias = operand(12 + g);
      need(input && recurrent && bias && input.isFloat() && recurrent.isFloat() && bias.isFloat());
      need(input.size == cells * depth && recurrent.size == cells * cells && bias.size == cells);
      gates += std::string(g ? ", " : "") + "{" + input.name() + ", " + recurrent.name() + ", " + bias.name() + "}";
    }
    for (uint32_t absent : {9, 10, 11, 16, 17, 20, 21, 22, 23}) // peepholes, a projection, normalisation
      need(!operand(absent));
    bool squashes = options->fused_activation_function() == ActivationFunctionType::TANH;
    made.room = 16 * cells;
    return invoke("lstm",
                  {x.name(), number(batch), number(times), number(depth), number(byTime),
                   "(const struct gate[]){" + gates + "}", state.name(), cell.name(), number(cells),
                   real(options->cell_clip()), squashes ? "NONE" : activation(options->fused_activation_function()),
                   number(squashes), "room", result.name()});
  }
};

} // namespace

Call callOf(const Graph &graph, uint32_t subgraph, const circle::Operator &op, const std::string &name) {
  return Caller(graph, subgraph, op, name).call();
}
