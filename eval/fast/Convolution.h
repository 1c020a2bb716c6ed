#pragma once

#include "eval/fast/Regions.h"
#include "eval/fast/Xnnpack.h"
#include "eval/kernels/Hybrid.h"

/// What the kernels for CONV_2D and DEPTHWISE_CONV_2D with constant weights have in common.
namespace origo::eval {

/// A convolution as XNNPACK takes it. Filters are [output channels, height, width, input channels], those of a
/// depthwise one [1, height, width, channels].
struct Conv {
  const Tensor *filter = nullptr, *bias = nullptr; ///< while the kernel is made
  bool depthwise = false, same = false;
  uint32_t strideH = 1, strideW = 1, dilationH = 1, dilationW = 1, groups = 1;
  size_t groupIn = 0, groupOut = 0;
  circle::ActivationFunctionType activation = circle::ActivationFunctionType::NONE;
  XnnPadding padding = {};
  FastSite::Border border = {};
  int64_t height = 1, width = 1; ///< of the filter

  /// Vertical: 0. Horizontal: 1. Of an image and its result.
  WindowAxis axis(const Tensor &in, const Tensor &out, int which) const {
    int64_t image = in.dim(1 + which), result = out.dim(1 + which), size = which ? width : height;
    int64_t stride = which ? strideW : strideH, dilation = which ? dilationW : dilationH;
    return {image,    result,
            size,     stride,
            dilation, same ? paddingBefore(image, result, size, stride, dilation) : which ? border.left : border.top};
  }
};

/// Nothing: not for XNNPACK, or there is a border that is not expected.
inline std::optional<Conv> convOf(const FastSite &site, bool takesBorder = false) {
  if (site.border && !takesBorder)
    return std::nullopt;
  const Tensor *filter = site.constant(1), *bias = site.constant(2);
  const Value &input = *site.op.operand(0);
  if (!filter || filter->rank() != 4 || filter->count() == 0 || (site.has(2) && !bias))
    return std::nullopt;
  // Where the plan does not know the input's channels, those that the model states, or else as many as the filter has,
  // are checked when it runs.
  llvm::ArrayRef<int32_t> shape =
      site.input(0).rankKnown ? llvm::ArrayRef<int32_t>(site.input(0).shape) : llvm::ArrayRef<int32_t>(input.shape);
  if (!site.input(0).rankKnown && (shape.size() != 4 || shape[3] <= 0))
    shape = filter->shape;
  if (shape.size() != 4 || shape[3] <= 0)
    return std::nullopt;
  int32_t depth = shape[3];
  Conv c;
  c.filter = filter;
  c.bias = bias;
  c.depthwise = site.op.code == BuiltinOperator::DEPTHWISE_CONV_2D;
  auto read = [&](const auto &options) {
    c.same = options.padding() == circle::Padding::SAME;
    c.activation = options.fused_activation_function();
    for (auto [to, from] :
         {std::pair(&c.strideH, options.stride_h()), std::pair(&c.strideW, options.stride_w()),
          std::pair(&c.dilationH, options.dilation_h_factor()), std::pair(&c.dilationW, options.dilation_w_factor())})
      *to = from > 0 ? static_cast<uint32_t>(from) : 0;
  };
  if (c.depthwise) {
    read(site.options<circle::DepthwiseConv2DOptions>());
    if (filter->dim(0) != 1 || filter->dim(3) % depth)
      return std::nullopt;
    c.groups = static_cast<uint32_t>(depth);
    c.groupIn = 1;
    c.groupOut = static_cast<size_t>(filter->dim(3) / depth);
  } else {
    read(site.options<circle::Conv2DOptions>());
    if (depth % filter->dim(3) || filter->dim(0) % (depth / filter->dim(3)))
      return std::nullopt;
    c.groups = static_cast<uint32_t>(depth / filter->dim(3));
    c.groupIn = static_cast<size_t>(filter->dim(3));
    c.groupOut = static_cast<size_t>(filter->dim(0)) / c.groups;
  }
  if (!c.strideH || !c.strideW || !c.dilationH || !c.dilationW ||
      (bias && bias->count() != static_cast<int64_t>(c.groupOut * c.groups)))
    return std::nullopt;
  if (site.border) {
    c.border = *site.border;
    if (c.same)
      return std::nullopt;
  }
  c.height = filter->dim(1);
  c.width = filter->dim(2);
  c.padding = XnnPadding(c.same ? circle::Padding::SAME : circle::Padding::VALID, shape,
                         {filter->dim(1), c.strideH, c.dilationH}, {filter->dim(2), c.strideW, c.dilationW});
  return c;
}

/// CONV_2D of one group, in products of bytes, and DEPTHWISE_CONV_2D; the numbers that XNNPACK's kernels compute. Null:
/// not for this processor, or not for such a convolution.
std::unique_ptr<FastKernel> byteConvolution(const Conv &conv, const Tensor &in, const Tensor &out,
                                            std::pair<int8_t, int8_t> range);
std::unique_ptr<FastKernel> byteConvolution(const Conv &conv, const Tensor &in, const Tensor &out,
                                            std::pair<uint8_t, uint8_t> range);
std::unique_ptr<FastKernel> byteDepthwise(const Conv &conv, const Tensor &in, const Tensor &out,
                                          std::pair<int8_t, int8_t> range);
std::unique_ptr<FastKernel> byteDepthwise(const Conv &conv, const Tensor &in, const Tensor &out,
                                          std::pair<uint8_t, uint8_t> range);

/// CONV_2D of one group with weights of bytes and floats that were quantised.
class HybridProducts {
public:
  virtual ~HybridProducts() = default;
  /// One picture of x's and y's shapes; what `by` makes of numbers is `image`, with the zero point. False: not for
  /// such.
  virtual bool run(const Tensor &x, const Tensor &y, const int8_t *image, const HybridScale &by, float *result,
                   pthreadpool_t threads) = 0;
};
/// Null: not for this processor, or not for such a convolution.
std::unique_ptr<HybridProducts> hybridProducts(const Conv &conv, std::pair<float, float> range);

/// `create(parameters of its own...)` with those that all convolutions have around them.
template <class T, class Bias, class Create, class... Quantization>
XnnOperator createConv(Create create, const Conv &c, std::pair<T, T> range, std::tuple<Quantization...> before,
                       auto after) {
  uint32_t flags = (c.depthwise ? XNN_FLAG_DEPTHWISE_CONVOLUTION : 0) | c.padding.flags;
  int height = c.filter->dim(1), width = c.filter->dim(2);
  auto [top, right, bottom, left] = c.padding.stated();
  auto amount = [](uint32_t stated, int64_t border) { return stated + static_cast<uint32_t>(border); };
  auto all = std::tuple_cat(std::tuple(amount(top, c.border.top), amount(right, c.border.right),
                                       amount(bottom, c.border.bottom), amount(left, c.border.left)),
                            std::tuple(static_cast<uint32_t>(height), static_cast<uint32_t>(width), c.strideH,
                                       c.strideW, c.dilationH, c.dilationW, c.groups, c.groupIn, c.groupOut,
                                       c.groups * c.groupIn, c.groups * c.groupOut),
                            before, std::tuple(dataOf<T>(*c.filter), c.bias ? dataOf<Bias>(*c.bias) : nullptr), after,
                            std::tuple(range.first, range.second, flags));
  return std::apply([&](auto... arguments) { return createXnn(create, arguments...); }, all);
}

} // namespace origo::eval
