#include "ir/shapes/Rules.h"

/// Convolutions, pooling and resizing: what slides over height and width. Layouts are channels-last.

using namespace origo;
using namespace origo::inference;
using circle::Padding;

std::optional<int64_t> inference::positions(Padding padding, int64_t image, int64_t window, int64_t stride,
                                            int64_t dilation) {
  if (stride <= 0 || dilation <= 0 || window <= 0)
    return std::nullopt;
  if (image < 0)
    return -1;
  int64_t extent = (window - 1) * dilation + 1;
  int64_t count = padding == Padding::SAME ? (image + stride - 1) / stride : (image + stride - extent) / stride;
  return count < 0 ? std::nullopt : std::optional(count);
}

namespace {

struct Window {
  int64_t size, stride, dilation;
};

/// Input, filter and one window a spatial dimension; the batch is dimension 0, then come the spatial ones.
Answer slide(const ShapeSite &op, llvm::ArrayRef<int32_t> input, Padding padding, llvm::ArrayRef<Window> windows,
             int64_t channels) {
  if (padding != Padding::SAME && padding != Padding::VALID)
    return op.fail("unknown padding");
  llvm::SmallVector<int64_t> dims{input[0]};
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window &w = windows[i];
    bool unknown = w.size < 0; // which does not matter to SAME
    auto count = positions(padding, unknown && padding == Padding::VALID ? -1 : input[i + 1], unknown ? 1 : w.size,
                           w.stride, w.dilation);
    if (!count)
      return op.fail("a window of size " + llvm::Twine(w.size) + ", stride " + llvm::Twine(w.stride) +
                     " and dilation " + llvm::Twine(w.dilation) + " over " + llvm::Twine(input[i + 1]));
    dims.push_back(*count);
  }
  dims.push_back(channels);
  return oneChecked(op, op.type(0), dims);
}

/// Shapes of an input and a filter of the given rank; an error for another rank.
llvm::Expected<std::optional<std::pair<Shape, Shape>>> inputAndFilter(const ShapeSite &op, size_t rank) {
  auto input = op.shape(0), filter = op.shape(1);
  if (!input || !filter)
    return std::nullopt;
  if (input->size() != rank || filter->size() != rank)
    return op.fail("input of rank " + llvm::Twine(input->size()) + " and filter of rank " +
                   llvm::Twine(filter->size()) + " instead of " + llvm::Twine(rank));
  return std::pair(std::move(*input), std::move(*filter));
}

Answer conv2D(const ShapeSite &op) {
  const auto &options = op.options<circle::Conv2DOptions>();
  auto shapes = inputAndFilter(op, 4);
  if (!shapes)
    return shapes.takeError();
  if (!*shapes)
    return noAnswer();
  auto &[input, filter] = **shapes;
  // A filter of fewer input channels than the input has means groups.
  bool known = input[3] >= 0 && filter[3] > 0;
  if (filter[3] == 0 || input[3] == 0 || (known && input[3] % filter[3] != 0) ||
      (known && filter[0] >= 0 && filter[0] % (input[3] / filter[3]) != 0))
    return op.fail("filter for " + llvm::Twine(filter[3]) + " of " + llvm::Twine(input[3]) + " channels");
  return slide(op, input, options.padding(),
               {{filter[1], options.stride_h(), options.dilation_h_factor()},
                {filter[2], options.stride_w(), options.dilation_w_factor()}},
               filter[0]);
}

Answer depthwiseConv2D(const ShapeSite &op) {
  const auto &options = op.options<circle::DepthwiseConv2DOptions>();
  auto shapes = inputAndFilter(op, 4);
  if (!shapes)
    return shapes.takeError();
  if (!*shapes)
    return noAnswer();
  auto &[input, filter] = **shapes;
  if (filter[0] > 1)
    return op.fail("filter whose first dimension is not 1");
  if (input[3] == 0 || (input[3] > 0 && filter[3] >= 0 && filter[3] % input[3] != 0))
    return op.fail("filter of " + llvm::Twine(filter[3]) + " for " + llvm::Twine(input[3]) + " channels");
  return slide(op, input, options.padding(),
               {{filter[1], options.stride_h(), options.dilation_h_factor()},
                {filter[2], options.stride_w(), options.dilation_w_factor()}},
               filter[3]);
}

Answer conv3D(const ShapeSite &op) {
  const auto &options = op.options<circle::Conv3DOptions>();
  auto shapes = inputAndFilter(op, 5);
  if (!shapes)
    return shapes.takeError();
  if (!*shapes)
    return noAnswer();
  auto &[input, filter] = **shapes; // filter: depth, height, width, in, out
  return slide(op, input, options.padding(),
               {{filter[0], options.stride_d(), options.dilation_d_factor()},
                {filter[1], options.stride_h(), options.dilation_h_factor()},
                {filter[2], options.stride_w(), options.dilation_w_factor()}},
               filter[4]);
}

/// Transposed convolutions are told their result's shape by operand 0. The windows are those of the convolution from
/// the result to the input.
Answer transposed(const ShapeSite &op, size_t rank, unsigned filterChannels, Padding padding,
                  llvm::ArrayRef<Window> windows) {
  auto filter = op.shape(1), input = op.shape(2);
  if ((filter && filter->size() != rank) || (input && input->size() != rank))
    return op.fail("input or filter of another rank than " + llvm::Twine(rank));
  Shape shape = unknownShape(rank);
  if (input)
    shape[0] = (*input)[0];
  if (filter)
    shape[rank - 1] = (*filter)[filterChannels];
  auto sizes = op.values(0);
  if (!sizes)
    return one(op.type(2), std::move(shape));
  if (sizes->size() != rank)
    return op.fail("output shape of " + llvm::Twine(sizes->size()) + " dimensions");
  for (size_t d : {size_t(0), rank - 1})
    if (shape[d] >= 0 && (*sizes)[d] != shape[d])
      return op.fail("an output shape without the input's batches and the filter's channels");
  for (size_t i = 0; i < windows.size(); ++i)
    if (windows[i].size >= 0 &&
        !positions(padding, (*sizes)[i + 1], windows[i].size, windows[i].stride, windows[i].dilation))
      return op.fail("a window of size " + llvm::Twine(windows[i].size) + " and stride " +
                     llvm::Twine(windows[i].stride) + " over " + llvm::Twine((*sizes)[i + 1]));
  return oneFromConstant(op, op.type(2), *sizes);
}

Answer transposeConv(const ShapeSite &op) {
  const auto &options = op.options<circle::TransposeConvOptions>();
  auto filter = op.shape(1);
  if (!filter || filter->size() != 4)
    return transposed(op, 4, 0, options.padding(), {});
  return transposed(op, 4, 0, options.padding(),
                    {{(*filter)[1], options.stride_h(), 1}, {(*filter)[2], options.stride_w(), 1}});
}

Answer conv3DTranspose(const ShapeSite &op) {
  const auto &options = op.options<circle::Conv3DOptions>();
  auto filter = op.shape(1);
  if (!filter || filter->size() != 5)
    return transposed(op, 5, 3, options.padding(), {});
  return transposed(op, 5, 3, options.padding(),
                    {{(*filter)[0], options.stride_d(), options.dilation_d_factor()},
                     {(*filter)[1], options.stride_h(), options.dilation_h_factor()},
                     {(*filter)[2], options.stride_w(), options.dilation_w_factor()}});
}

Answer pool2D(const ShapeSite &op) {
  const auto &options = op.options<circle::Pool2DOptions>();
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  if (input->size() != 4)
    return op.fail("input of rank " + llvm::Twine(input->size()) + " instead of 4");
  if (options.filter_height() <= 0 || options.filter_width() <= 0) // −1 does not mean unknown here
    return op.fail("window of no size");
  return slide(op, *input, options.padding(),
               {{options.filter_height(), options.stride_h(), 1}, {options.filter_width(), options.stride_w(), 1}},
               (*input)[3]);
}

Answer resize(const ShapeSite &op) {
  auto input = op.shape(0);
  if (!input)
    return noAnswer();
  if (input->size() != 4)
    return op.fail("input of rank " + llvm::Twine(input->size()) + " instead of 4");
  if ((*input)[1] == 0 || (*input)[2] == 0)
    return op.fail("an image without pixels");
  auto size = op.values(1);
  if (!size)
    return one(op.type(0), {(*input)[0], -1, -1, (*input)[3]});
  if (size->size() != 2 || (*size)[0] <= 0 || (*size)[1] <= 0)
    return op.fail("a size that is not two positive numbers");
  return oneChecked(op, op.type(0), {(*input)[0], (*size)[0], (*size)[1], (*input)[3]});
}

constexpr RuleRow convolutionRows[] = {
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

llvm::ArrayRef<RuleRow> inference::convolutionRules() { return convolutionRows; }
