#include "quantize/Patches.h"

#include "eval/Dense.h"
#include "eval/Shapes.h"
#include "quantize/Constraints.h"

namespace origo::quantize {

using namespace eval;
using Op = BuiltinOperator;

static int64_t resultsAlong(int64_t length, int64_t size, int64_t stride, int64_t dilation, bool padded) {
  int64_t places = padded ? length : length - (size - 1) * dilation;
  return std::max<int64_t>(0, (places + stride - 1) / stride);
}

template <class Options> Patches::Window Patches::windowOf(const Operator &op) {
  const auto *options = op.options.as<Options>();
  const Value &filter = *op.operand(1);
  if (!options)
    return {filter.shape[1], filter.shape[2], 1, 1, 1, 1, true};
  return {filter.shape[1],
          filter.shape[2],
          options->stride_h(),
          options->stride_w(),
          options->dilation_h_factor(),
          options->dilation_w_factor(),
          options->padding() == circle::Padding::SAME};
}

Patches::Patches(const Operator &op) : op(op), transposed(op.code == Op::TRANSPOSE_CONV) {
  bool depthwise = op.code == Op::DEPTHWISE_CONV_2D;
  const Value &w = *op.operand(1);
  if (op.code == Op::CONV_2D)
    window = windowOf<circle::Conv2DOptions>(op);
  else if (depthwise)
    window = windowOf<circle::DepthwiseConv2DOptions>(op);
  else if (const auto *options = op.options.as<circle::TransposeConvOptions>(); transposed && options)
    window = {w.shape[1],
              w.shape[2],
              options->stride_h(),
              options->stride_w(),
              1,
              1,
              options->padding() == circle::Padding::SAME};
  inGroup = depthwise ? 1 : w.shape.back();
  size = static_cast<size_t>(depthwise ? window.height * window.width : eval::product(w.shape, 1, w.shape.size()));
  if (op.code != Op::FULLY_CONNECTED)
    count = static_cast<size_t>(op.operand(inputOf(op))->shape.back() / inGroup);
}

/// A transposed convolution pads as the convolution from its result to its input does.
Patches::Axis Patches::axis(unsigned dimension, int64_t length, int64_t size, int64_t stride, int64_t dilation) const {
  int64_t from = transposed ? op.result()->shape[dimension] : length;
  int64_t to = resultsAlong(from, size, stride, dilation, window.padded);
  return {length,    transposed ? from : to, stride, dilation, paddingBefore(from, to, size, stride, dilation),
          transposed};
}

Patches::Positions Patches::over(llvm::ArrayRef<int32_t> shape) const {
  Positions made;
  made.patches = this;
  int64_t batches = 1, height = 1, width = 1;
  if (op.code == Op::FULLY_CONNECTED) {
    made.channels = static_cast<int64_t>(size);
    width = eval::product(shape) / std::max<int64_t>(made.channels, 1);
  } else if (shape.size() == 4) {
    batches = shape[0];
    height = shape[1];
    width = shape[2];
    made.channels = shape[3];
  } else {
    return made;
  }
  made.vertical = axis(1, height, window.height, window.strideH, window.dilationH);
  made.horizontal = axis(2, width, window.width, window.strideW, window.dilationW);
  made.all = static_cast<uint64_t>(batches * made.vertical.results * made.horizontal.results);
  return made;
}

void Patches::Positions::read(const float *x, uint64_t position, size_t group,
                              llvm::MutableArrayRef<float> patch) const {
  const Window &window = patches->window;
  auto place = static_cast<int64_t>(position);
  int64_t ox = place % horizontal.results, row = place / horizontal.results;
  int64_t oy = row % vertical.results, b = row / vertical.results;
  int64_t inGroup = patches->inGroup;
  float *to = patch.data();
  for (int64_t fy = 0; fy < window.height; ++fy)
    for (int64_t fx = 0; fx < window.width; ++fx, to += inGroup) {
      int64_t y = vertical.at(oy, fy), column = horizontal.at(ox, fx);
      if (y < 0 || column < 0) {
        std::fill(to, to + inGroup, 0.f);
        continue;
      }
      const float *from = x + ((b * vertical.length + y) * horizontal.length + column) * channels +
                          static_cast<int64_t>(group) * inGroup;
      std::copy(from, from + inGroup, to);
    }
}

/// Does it go on from window to window?
template <class Options> static bool advances(const Operator &op) {
  const auto *options = op.options.as<Options>();
  return !options || (options->stride_h() > 0 && options->stride_w() > 0);
}

bool Patches::fit(const Operator &op) {
  bool linear = op.code == Op::CONV_2D || op.code == Op::DEPTHWISE_CONV_2D || op.code == Op::TRANSPOSE_CONV ||
                op.code == Op::FULLY_CONNECTED;
  unsigned input = inputOf(op);
  if (!linear || op.numOperands() < std::max(2u, input + 1) || !op.operand(input) || !op.result() ||
      !isDense(op.operand(1)))
    return false;
  const Value &x = *op.operand(input), &w = *op.operand(1);
  if (x.type != TensorType::FLOAT32 || w.type != TensorType::FLOAT32 || x.isConstant() ||
      w.elementCount().value_or(0) == 0)
    return false;
  if (op.code == Op::FULLY_CONNECTED)
    return w.rank() == 2;
  if (w.rank() != 4 || x.rank() != 4 || op.result()->rank() != 4 || x.shape[3] <= 0)
    return false;
  if (op.code == Op::DEPTHWISE_CONV_2D)
    return w.shape[3] % x.shape[3] == 0 && advances<circle::DepthwiseConv2DOptions>(op);
  if (op.code == Op::TRANSPOSE_CONV) // of a size that compiling has checked, for its input is seen before it runs
    return op.operand(0) && op.operand(0)->isConstant() && op.options.as<circle::TransposeConvOptions>() &&
           w.shape[3] == x.shape[3] && op.result()->isStatic() && advances<circle::TransposeConvOptions>(op);
  return advances<circle::Conv2DOptions>(op) && x.shape[3] % w.shape[3] == 0 &&
         w.shape[0] % (x.shape[3] / w.shape[3]) == 0;
}

WeightRows::WeightRows(const Operator &op, size_t length, size_t groups) : length(length) {
  const Value &w = *op.operand(1);
  bool depthwise = op.code == Op::DEPTHWISE_CONV_2D;
  count = static_cast<size_t>(depthwise ? w.shape.back() : w.shape.front());
  (depthwise ? along : across) = depthwise ? count : length;
  perGroup = count / groups;
}

std::vector<float> floatsOf(const Payload &payload) {
  std::vector<float> numbers(payload.size() / sizeof(float));
  payload.read(0, {reinterpret_cast<uint8_t *>(numbers.data()), numbers.size() * sizeof(float)});
  return numbers;
}

Payload payloadOf(llvm::ArrayRef<float> numbers) {
  return Payload::owned(std::string(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(float)));
}

} // namespace origo::quantize
