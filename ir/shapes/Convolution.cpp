#include "ir/shapes/Rules.h"

/// Convolutions, pooling and resizing: what slides over height and width. Layouts are channels-last.

using namespace origo;
using namespace origo::inference;
using circle::Padding;

namespace {

/// The number of positions of a window, as ComputeOutSize in the runtime: nothing for impossible numbers.
std::optional<int64_t> positions(Padding padding, int64_t image, int64_t window, int64_t stride, int64_t dilation = 1) {
  if (image < 0)
    return -1;
  if (stride <= 0 || dilation <= 0 || window < 0)
    return std::nullopt;
  int64_t extent = (window - 1) * dilation + 1;
  int64_t count = padding == Padding::SAME ? (image + stride - 1) / stride : (image + stride - extent) / stride;
  return count < 0 ? std::nullopt : std::optional(count);
}

/// Whether `window` is unknown where it matters.
bool blocksAnswer(Padding padding, int32_t window) { return padding == Padding::VALID && window < 0; }

struct Window {
  int64_t size, stride, dilation;
};

/// Input, filter and one window a spatial dimension; the batch is dimension 0, then come the spatial ones.
Answer slide(const Operator &op, llvm::ArrayRef<int32_t> input, Padding padding, llvm::ArrayRef<Window> windows,
             int64_t channels) {
  if (padding != Padding::SAME && padding != Padding::VALID)
    return fail(op, "unknown padding");
  llvm::SmallVector<int64_t> dims{input[0]};
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window &w = windows[i];
    int64_t size = w.size;
    if (size < 0 && blocksAnswer(padding, size)) {
      dims.push_back(-1);
      continue;
    }
    auto count = positions(padding, input[i + 1], std::max<int64_t>(size, 0), w.stride, w.dilation);
    if (!count)
      return fail(op, "a window of size " + llvm::Twine(w.size) + ", stride " + llvm::Twine(w.stride) +
                          " and dilation " + llvm::Twine(w.dilation) + " over " + llvm::Twine(input[i + 1]));
    dims.push_back(*count);
  }
  dims.push_back(channels);
  return oneChecked(op, typeOf(op, 0), dims);
}

/// Shapes of an input and a filter of the given rank; an error for another rank.
llvm::Expected<std::optional<std::pair<Shape, Shape>>> inputAndFilter(const Operator &op, size_t rank) {
  auto input = shapeOf(op, 0), filter = shapeOf(op, 1);
  if (!input || !filter)
    return std::nullopt;
  if (input->size() != rank || filter->size() != rank)
    return fail(op, "input of rank " + llvm::Twine(input->size()) + " and filter of rank " +
                        llvm::Twine(filter->size()) + " instead of " + llvm::Twine(rank));
  return std::pair(std::move(*input), std::move(*filter));
}

Answer conv2D(const Operator &op) {
  const auto *options = optionsOf<circle::Conv2DOptions>(op);
  auto shapes = inputAndFilter(op, 4);
  if (!shapes)
    return shapes.takeError();
  if (!options || !*shapes)
    return noAnswer();
  auto &[input, filter] = **shapes;
  // A filter of fewer input channels than the input has means groups.
  if (filter[3] == 0 || (input[3] >= 0 && filter[3] > 0 && input[3] % filter[3] != 0))
    return fail(op, "filter for " + llvm::Twine(filter[3]) + " of " + llvm::Twine(input[3]) + " channels");
  return slide(op, input, options->padding(),
               {{filter[1], options->stride_h(), options->dilation_h_factor()},
                {filter[2], options->stride_w(), options->dilation_w_factor()}},
               filter[0]);
}

Answer depthwiseConv2D(const Operator &op) {
  const auto *options = optionsOf<circle::DepthwiseConv2DOptions>(op);
  auto shapes = inputAndFilter(op, 4);
  if (!shapes)
    return shapes.takeError();
  if (!options || !*shapes)
    return noAnswer();
  auto &[input, filter] = **shapes;
  if (filter[0] > 1)
    return fail(op, "filter whose first dimension is not 1");
  if (input[3] == 0 || (input[3] > 0 && filter[3] >= 0 && filter[3] % input[3] != 0))
    return fail(op, "filter of " + llvm::Twine(filter[3]) + " for " + llvm::Twine(input[3]) + " channels");
  return slide(op, input, options->padding(),
               {{filter[1], options->stride_h(), options->dilation_h_factor()},
                {filter[2], options->stride_w(), options->dilation_w_factor()}},
               filter[3]);
}

Answer conv3D(const Operator &op) {
  const auto *options = optionsOf<circle::Conv3DOptions>(op);
  auto shapes = inputAndFilter(op, 5);
  if (!shapes)
    return shapes.takeError();
  if (!options || !*shapes)
    return noAnswer();
  auto &[input, filter] = **shapes; // filter: depth, height, width, in, out
  return slide(op, input, options->padding(),
               {{filter[0], options->stride_d(), options->dilation_d_factor()},
                {filter[1], options->stride_h(), options->dilation_h_factor()},
                {filter[2], options->stride_w(), options->dilation_w_factor()}},
               filter[4]);
}

/// Transposed convolutions are told their result's shape by operand 0.
Answer transposed(const Operator &op, size_t rank, unsigned filterChannels) {
  auto filter = shapeOf(op, 1), input = shapeOf(op, 2);
  if ((filter && filter->size() != rank) || (input && input->size() != rank))
    return fail(op, "input or filter of another rank than " + llvm::Twine(rank));
  TensorType type = typeOf(op, 2);
  if (auto sizes = readIntegers(op.operand(0))) {
    if (sizes->size() != rank)
      return fail(op, "output shape of " + llvm::Twine(sizes->size()) + " dimensions");
    return oneFromConstant(op, type, *sizes);
  }
  Shape shape = unknownShape(rank);
  if (input)
    shape[0] = (*input)[0];
  if (filter)
    shape[rank - 1] = (*filter)[filterChannels];
  return one(type, std::move(shape));
}

Answer transposeConv(const Operator &op) { return transposed(op, 4, 0); }
Answer conv3DTranspose(const Operator &op) { return transposed(op, 5, 3); }

Answer pool2D(const Operator &op) {
  const auto *options = optionsOf<circle::Pool2DOptions>(op);
  auto input = shapeOf(op, 0);
  if (!options || !input)
    return noAnswer();
  if (input->size() != 4)
    return fail(op, "input of rank " + llvm::Twine(input->size()) + " instead of 4");
  if (options->filter_height() <= 0 || options->filter_width() <= 0)
    return fail(op, "window of no size");
  return slide(op, *input, options->padding(),
               {{options->filter_height(), options->stride_h(), 1}, {options->filter_width(), options->stride_w(), 1}},
               (*input)[3]);
}

Answer resize(const Operator &op) {
  auto input = shapeOf(op, 0);
  if (!input)
    return noAnswer();
  if (input->size() != 4)
    return fail(op, "input of rank " + llvm::Twine(input->size()) + " instead of 4");
  auto size = readIntegers(op.operand(1));
  if (!size)
    return one(typeOf(op, 0), {(*input)[0], -1, -1, (*input)[3]});
  if (size->size() != 2 || (*size)[0] <= 0 || (*size)[1] <= 0)
    return fail(op, "a size that is not two positive numbers");
  return oneChecked(op, typeOf(op, 0), {(*input)[0], (*size)[0], (*size)[1], (*input)[3]});
}

constexpr RuleRow rules[] = {
    {BuiltinOperator::CONV_2D, conv2D},
    {BuiltinOperator::DEPTHWISE_CONV_2D, depthwiseConv2D},
    {BuiltinOperator::CONV_3D, conv3D},
    {BuiltinOperator::TRANSPOSE_CONV, transposeConv},
    {BuiltinOperator::CONV_3D_TRANSPOSE, conv3DTranspose},
    {BuiltinOperator::AVERAGE_POOL_2D, pool2D},
    {BuiltinOperator::MAX_POOL_2D, pool2D},
    {BuiltinOperator::L2_POOL_2D, pool2D},
    {BuiltinOperator::RESIZE_BILINEAR, resize},
    {BuiltinOperator::RESIZE_NEAREST_NEIGHBOR, resize},
};

} // namespace

llvm::ArrayRef<RuleRow> inference::convolutionRules() { return rules; }
