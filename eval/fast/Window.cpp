#include "eval/fast/Xnnpack.h"

/// Windows over images: pooling, the mean of an image, bilinear resizing.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

/// For operators that are made for `depth` channels.
template <class T, class Setup> std::unique_ptr<FastKernel> images(XnnOperator op, int32_t depth, Setup setup) {
  return xnnKernel(std::move(op), [=](xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
    const Tensor &x = *in[0];
    if (x.rank() != 4 || x.dim(3) != depth)
      return xnn_status_invalid_parameter;
    return setup(op, static_cast<size_t>(x.dim(0)), static_cast<size_t>(x.dim(1)), static_cast<size_t>(x.dim(2)),
                 *in[0], *out[0], threads);
  });
}

int32_t channelsOf(const FastSite &site) {
  llvm::ArrayRef<int32_t> shape = site.input(0).shape;
  return shape.size() == 4 && !site.constant(0) ? shape[3] : 0;
}

XnnPadding paddingOf(const FastSite &site) {
  const auto &options = site.options<circle::Pool2DOptions>();
  return XnnPadding(options.padding(), site.input(0).shape, {options.filter_height(), options.stride_h()},
                    {options.filter_width(), options.stride_w()});
}

/// XNNPACK's order of arguments around those of quantisation: `create(padding, size, strides, [dilation],
/// channels...)`.
template <class T, class Create, class... Quantization>
XnnOperator createPool(const FastSite &site, Create create, bool dilates, size_t channels,
                       Quantization... quantization) {
  const auto &options = site.options<circle::Pool2DOptions>();
  auto range = clampRange<T>(options.fused_activation_function(), site.output());
  if (!range || options.stride_h() <= 0 || options.stride_w() <= 0 || options.filter_height() <= 0 ||
      options.filter_width() <= 0)
    return nullptr;
  XnnPadding padding = paddingOf(site);
  auto window = std::tuple_cat(padding.stated(), std::tuple(static_cast<uint32_t>(options.filter_height()),
                                                            static_cast<uint32_t>(options.filter_width()),
                                                            static_cast<uint32_t>(options.stride_h()),
                                                            static_cast<uint32_t>(options.stride_w())));
  std::tuple rest(channels, channels, channels, quantization..., range->first, range->second, padding.flags);
  auto call = [&](auto... arguments) {
    if constexpr (std::is_invocable_v<Create, decltype(arguments)..., xnn_operator_t *>)
      return createXnn(create, arguments...);
    else
      return XnnOperator();
  };
  return dilates ? std::apply(call, std::tuple_cat(window, std::tuple(1u, 1u), rest))
                 : std::apply(call, std::tuple_cat(window, rest));
}

template <class T, class Setup> auto pooling(const FastSite &site, Setup setup) {
  const auto &options = site.options<circle::Pool2DOptions>();
  return [setup, &options, padding = paddingOf(site)](xnn_operator_t op, size_t batch, size_t height, size_t width,
                                                      const Tensor &in, Tensor &out, pthreadpool_t threads) {
    if (!padding.fits(in) || !fitsPointers(out, options.filter_height(), options.filter_width()))
      return xnn_status_invalid_parameter;
    return setup(op, batch, height, width, dataOf<T>(in), dataOf<T>(out), threads);
  };
}

std::unique_ptr<FastKernel> maxPool(const FastSite &site) {
  int32_t depth = channelsOf(site);
  if (depth <= 0)
    return nullptr;
  size_t channels = static_cast<size_t>(depth);
  if (!sameQuantization(site.op.operand(0)->quantization, site.op.result()->quantization))
    return nullptr; // to be rescaled
  switch (site.type(0)) {
  case TensorType::FLOAT32:
    return images<float>(createPool<float>(site, xnn_create_max_pooling2d_nhwc_f32, true, channels), depth,
                         pooling<float>(site, xnn_setup_max_pooling2d_nhwc_f32));
  case TensorType::INT8:
    return images<int8_t>(createPool<int8_t>(site, xnn_create_max_pooling2d_nhwc_s8, true, channels), depth,
                          pooling<int8_t>(site, xnn_setup_max_pooling2d_nhwc_s8));
  case TensorType::UINT8:
    return images<uint8_t>(createPool<uint8_t>(site, xnn_create_max_pooling2d_nhwc_u8, true, channels), depth,
                           pooling<uint8_t>(site, xnn_setup_max_pooling2d_nhwc_u8));
  default:
    return nullptr;
  }
}

std::unique_ptr<FastKernel> averagePool(const FastSite &site) {
  int32_t depth = channelsOf(site);
  if (depth <= 0)
    return nullptr;
  size_t channels = static_cast<size_t>(depth);
  const Tensor &in = site.input(0), &out = site.output();
  if (in.type == TensorType::FLOAT32)
    return images<float>(createPool<float>(site, xnn_create_average_pooling2d_nhwc_f32, false, channels), depth,
                         pooling<float>(site, xnn_setup_average_pooling2d_nhwc_f32));
  // XNNPACK's sum counts what is padded, as elements too.
  if (in.type == TensorType::UINT8 && isPerTensor(in) && isPerTensor(out) &&
      site.options<circle::Pool2DOptions>().padding() == circle::Padding::VALID)
    return images<uint8_t>(createPool<uint8_t>(site, xnn_create_average_pooling2d_nhwc_qu8, false, channels,
                                               static_cast<uint8_t>(in.zeroPoint()), in.scale(),
                                               static_cast<uint8_t>(out.zeroPoint()), out.scale()),
                           depth, pooling<uint8_t>(site, xnn_setup_average_pooling2d_nhwc_qu8));
  return nullptr;
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
  const Tensor &in = site.input(0), &out = site.output();
  auto mean = [](auto setup) {
    return [setup](xnn_operator_t op, size_t batch, size_t height, size_t width, const Tensor &in, Tensor &out,
                   pthreadpool_t threads) { return setup(op, batch, height * width, in, out, threads); };
  };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (in.type == TensorType::FLOAT32)
    return images<float>(
        createXnn(xnn_create_global_average_pooling_nwc_f32, channels, channels, channels, -infinity, infinity, 0u),
        depth, mean([](auto op, size_t batch, size_t width, auto &in, auto &out, auto threads) {
          return xnn_setup_global_average_pooling_nwc_f32(op, batch, width, dataOf<float>(in), dataOf<float>(out),
                                                          threads);
        }));
  if (!isPerTensor(in) || !isPerTensor(out) || in.type != out.type)
    return nullptr;
  if (in.type == TensorType::INT8)
    return images<int8_t>(createXnn(xnn_create_global_average_pooling_nwc_qs8, channels, channels, channels,
                                    static_cast<int8_t>(in.zeroPoint()), in.scale(),
                                    static_cast<int8_t>(out.zeroPoint()), out.scale(), int8_t(-128), int8_t(127), 0u),
                          depth, mean([](auto op, size_t batch, size_t width, auto &in, auto &out, auto threads) {
                            return xnn_setup_global_average_pooling_nwc_qs8(op, batch, width, dataOf<int8_t>(in),
                                                                            dataOf<int8_t>(out), threads);
                          }));
  if (in.type == TensorType::UINT8)
    return images<uint8_t>(createXnn(xnn_create_global_average_pooling_nwc_qu8, channels, channels, channels,
                                     static_cast<uint8_t>(in.zeroPoint()), in.scale(),
                                     static_cast<uint8_t>(out.zeroPoint()), out.scale(), uint8_t(0), uint8_t(255), 0u),
                           depth, mean([](auto op, size_t batch, size_t width, auto &in, auto &out, auto threads) {
                             return xnn_setup_global_average_pooling_nwc_qu8(op, batch, width, dataOf<uint8_t>(in),
                                                                             dataOf<uint8_t>(out), threads);
                           }));
  return nullptr;
}

std::unique_ptr<FastKernel> resizeBilinear(const FastSite &site) {
  int32_t depth = channelsOf(site);
  const auto &options = site.options<circle::ResizeBilinearOptions>();
  if (site.type(0) != TensorType::FLOAT32 || depth <= 0 || !site.constant(1) ||
      (options.align_corners() && options.half_pixel_centers()))
    return nullptr;
  uint32_t flags = options.align_corners()        ? XNN_FLAG_ALIGN_CORNERS
                   : options.half_pixel_centers() ? 0
                                                  : XNN_FLAG_TENSORFLOW_LEGACY_MODE;
  size_t channels = static_cast<size_t>(depth);
  return images<float>(createXnn(xnn_create_resize_bilinear2d_nhwc_f32, channels, channels, channels, flags), depth,
                       [](xnn_operator_t op, size_t batch, size_t height, size_t width, const Tensor &in, Tensor &out,
                          pthreadpool_t threads) {
                         return xnn_setup_resize_bilinear2d_nhwc_f32(
                             op, batch, height, width, static_cast<size_t>(out.dim(1)), static_cast<size_t>(out.dim(2)),
                             dataOf<float>(in), dataOf<float>(out), threads);
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
