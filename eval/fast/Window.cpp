#include "eval/fast/Xnnpack.h"

/// Windows over images of floats: pooling, the mean of an image, bilinear resizing.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

/// For operators that are made for `depth` channels.
template <class Setup> std::unique_ptr<FastKernel> images(XnnOperator op, int32_t depth, Setup setup) {
  return xnnKernel(std::move(op), [=](xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
    const Tensor &x = *in[0];
    if (x.rank() != 4 || x.dim(3) != depth)
      return xnn_status_invalid_parameter;
    return setup(op, static_cast<size_t>(x.dim(0)), static_cast<size_t>(x.dim(1)), static_cast<size_t>(x.dim(2)),
                 *in[0], *out[0], threads);
  });
}

/// Nothing for what is no image of floats.
int32_t channelsOf(const FastSite &site) {
  llvm::ArrayRef<int32_t> shape = site.input(0).shape;
  return site.type(0) == TensorType::FLOAT32 && shape.size() == 4 && !site.constant(0) ? shape[3] : 0;
}

XnnPadding paddingOf(const FastSite &site) {
  const auto &options = site.options<circle::Pool2DOptions>();
  return XnnPadding(options.padding(), site.input(0).shape, {options.filter_height(), options.stride_h()},
                    {options.filter_width(), options.stride_w()});
}

/// `dilation...` where XNNPACK's operator has one.
template <class Create, class... Dilation>
XnnOperator createPool(const FastSite &site, Create create, size_t channels, Dilation... dilation) {
  const auto &options = site.options<circle::Pool2DOptions>();
  auto range = clampRange<float>(options.fused_activation_function(), site.output());
  if (!range || options.stride_h() <= 0 || options.stride_w() <= 0 || options.filter_height() <= 0 ||
      options.filter_width() <= 0)
    return nullptr;
  XnnPadding padding = paddingOf(site);
  auto [top, right, bottom, left] = padding.stated();
  auto whole = [](int32_t size) { return static_cast<uint32_t>(size); };
  return createXnn(create, top, right, bottom, left, whole(options.filter_height()), whole(options.filter_width()),
                   whole(options.stride_h()), whole(options.stride_w()), dilation..., channels, channels, channels,
                   range->first, range->second, padding.flags);
}

template <class Setup> auto pooling(const FastSite &site, Setup setup) {
  const auto &options = site.options<circle::Pool2DOptions>();
  return [setup, &options, padding = paddingOf(site)](xnn_operator_t op, size_t batch, size_t height, size_t width,
                                                      const Tensor &in, Tensor &out, pthreadpool_t threads) {
    if (!padding.fits(in) || !fitsPointers(out, options.filter_height(), options.filter_width()))
      return xnn_status_invalid_parameter;
    return setup(op, batch, height, width, dataOf<float>(in), dataOf<float>(out), threads);
  };
}

std::unique_ptr<FastKernel> maxPool(const FastSite &site) {
  int32_t depth = channelsOf(site);
  return depth > 0 ? images(createPool(site, xnn_create_max_pooling2d_nhwc_f32, static_cast<size_t>(depth), 1u, 1u),
                            depth, pooling(site, xnn_setup_max_pooling2d_nhwc_f32))
                   : nullptr;
}

std::unique_ptr<FastKernel> averagePool(const FastSite &site) {
  int32_t depth = channelsOf(site);
  return depth > 0 ? images(createPool(site, xnn_create_average_pooling2d_nhwc_f32, static_cast<size_t>(depth)), depth,
                            pooling(site, xnn_setup_average_pooling2d_nhwc_f32))
                   : nullptr;
}

/// The mean over height and width.
std::unique_ptr<FastKernel> imageMean(const FastSite &site) {
  int32_t depth = channelsOf(site);
  if (depth <= 0 || !site.constant(1))
    return nullptr;
  auto axes = site.integers(1);
  if (!axes) {
    llvm::consumeError(axes.takeError());
    return nullptr;
  }
  uint32_t found = 0;
  for (int64_t axis : *axes) {
    if (axis < -4 || axis >= 4)
      return nullptr;
    found |= 1u << (axis < 0 ? axis + 4 : axis);
  }
  if (found != 0b0110)
    return nullptr;
  size_t channels = static_cast<size_t>(depth);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  return images(
      createXnn(xnn_create_global_average_pooling_nwc_f32, channels, channels, channels, -infinity, infinity, 0u),
      depth,
      [](xnn_operator_t op, size_t batch, size_t height, size_t width, const Tensor &in, Tensor &out,
         pthreadpool_t threads) {
        return xnn_setup_global_average_pooling_nwc_f32(op, batch, height * width, dataOf<float>(in),
                                                        dataOf<float>(out), threads);
      });
}

std::unique_ptr<FastKernel> resizeBilinear(const FastSite &site) {
  int32_t depth = channelsOf(site);
  const auto &options = site.options<circle::ResizeBilinearOptions>();
  if (depth <= 0 || !site.constant(1) || (options.align_corners() && options.half_pixel_centers()))
    return nullptr;
  uint32_t flags = options.align_corners()        ? XNN_FLAG_ALIGN_CORNERS
                   : options.half_pixel_centers() ? 0
                                                  : XNN_FLAG_TENSORFLOW_LEGACY_MODE;
  size_t channels = static_cast<size_t>(depth);
  return images(createXnn(xnn_create_resize_bilinear2d_nhwc_f32, channels, channels, channels, flags), depth,
                [](xnn_operator_t op, size_t batch, size_t height, size_t width, const Tensor &in, Tensor &out,
                   pthreadpool_t threads) {
                  return xnn_setup_resize_bilinear2d_nhwc_f32(op, batch, height, width, static_cast<size_t>(out.dim(1)),
                                                              static_cast<size_t>(out.dim(2)), dataOf<float>(in),
                                                              dataOf<float>(out), threads);
                });
}

} // namespace

llvm::ArrayRef<FastRow> fastWindow() {
  static const FastRow rows[] = {{Op::MAX_POOL_2D, maxPool},
                                 {Op::AVERAGE_POOL_2D, averagePool},
                                 {Op::MEAN, imageMean},
                                 {Op::RESIZE_BILINEAR, resizeBilinear}};
  return rows;
}

} // namespace origo::eval
