#include "eval/fast/Xnnpack.h"

/// RESIZE_BILINEAR of floats.
namespace origo::eval {

namespace {

std::unique_ptr<FastKernel> resizeBilinear(const FastSite &site) {
  llvm::ArrayRef<int32_t> shape = site.input(0).shape;
  const auto &options = site.options<circle::ResizeBilinearOptions>();
  if (site.type(0) != TensorType::FLOAT32 || shape.size() != 4 || shape[3] <= 0 || site.constant(0) ||
      !site.constant(1) || (options.align_corners() && options.half_pixel_centers()))
    return nullptr;
  uint32_t flags = options.align_corners()        ? XNN_FLAG_ALIGN_CORNERS
                   : options.half_pixel_centers() ? 0
                                                  : XNN_FLAG_TENSORFLOW_LEGACY_MODE;
  size_t channels = static_cast<size_t>(shape[3]);
  return xnnKernel(createXnn(xnn_create_resize_bilinear2d_nhwc_f32, channels, channels, channels, flags),
                   [channels](xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
                     const Tensor &x = *in[0], &y = *out[0];
                     auto size = [](const Tensor &tensor, int d) { return static_cast<size_t>(tensor.dim(d)); };
                     if (x.rank() != 4 || size(x, 3) != channels)
                       return xnn_status_invalid_parameter;
                     return xnn_setup_resize_bilinear2d_nhwc_f32(op, size(x, 0), size(x, 1), size(x, 2), size(y, 1),
                                                                 size(y, 2), dataOf<float>(x), dataOf<float>(*out[0]),
                                                                 threads);
                   });
}

} // namespace

llvm::ArrayRef<FastRow> fastFloatBilinear() {
  static const FastRow rows[] = {{BuiltinOperator::RESIZE_BILINEAR, resizeBilinear}};
  return rows;
}

} // namespace origo::eval
