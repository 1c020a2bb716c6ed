#include "eval/fast/Convolution.h"
#include "eval/fast/FloatWindows.h"
#include "eval/fast/Transpose.h"

/// CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV with constant weights.
namespace origo::eval {

namespace {

template <class T, class Setup> std::unique_ptr<FastKernel> convolution(XnnOperator op, const Conv &conv, Setup setup) {
  int32_t depth = static_cast<int32_t>(conv.groups * conv.groupIn);
  int32_t height = conv.filter->dim(1), width = conv.filter->dim(2);
  return xnnKernel(
      std::move(op), [=, padding = conv.padding](xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
        const Tensor &x = *in[0];
        if (x.rank() != 4 || x.dim(3) != depth || !padding.fits(x) || !fitsPointers(*out[0], height, width))
          return xnn_status_invalid_parameter;
        return setup(op, static_cast<size_t>(x.dim(0)), static_cast<size_t>(x.dim(1)), static_cast<size_t>(x.dim(2)),
                     dataOf<T>(x), dataOf<T>(*out[0]), threads);
      });
}

/// Many results of an image's only channel are those of a plain convolution, whose filter lies the other way round.
Tensor plainFilter(const Tensor &depthwise, std::vector<uint8_t> &memory) {
  Tensor made = depthwise;
  int64_t taps = int64_t(depthwise.dim(1)) * depthwise.dim(2), results = depthwise.dim(3);
  made.shape = {depthwise.dim(3), depthwise.dim(1), depthwise.dim(2), 1};
  bool isFloat = depthwise.type == TensorType::FLOAT32;
  memory.resize(static_cast<size_t>(taps * results) * (isFloat ? sizeof(float) : 1));
  made.storage = memory;
  if (isFloat)
    transposeRows(dataOf<float>(depthwise), results, taps, results, dataOf<float>(made), taps);
  else
    transposeRows(dataOf<uint8_t>(depthwise), results, taps, results, dataOf<uint8_t>(made), taps);
  return made;
}

std::unique_ptr<FastKernel> convFloat(const FastSite &site, const Conv &conv) {
  auto range = clampRange<float>(conv.activation, site.output());
  if (!range)
    return nullptr;
  // Where the plan does not know the shape, that which the model states.
  llvm::ArrayRef<int32_t> result = site.output().shape;
  if (auto own = conv.depthwise ? nullptr : winogradConvolution(conv, *range, result, site.scratch))
    return own;
  if (auto own = conv.depthwise ? floatDepthwise(conv, *range) : floatConvolution(conv, *range))
    return own;
  if (!isFinite(conv.filter) || !isFinite(conv.bias))
    return nullptr;
  return convolution<float>(
      createConv<float, float>(xnn_create_convolution2d_nhwc_f32, conv, *range, std::tuple<>(), std::tuple<>()), conv,
      xnn_setup_convolution2d_nhwc_f32);
}

std::unique_ptr<FastKernel> convInt8(const FastSite &site, const Conv &conv) {
  const Tensor &in = site.input(0), &out = site.output(), &filter = *conv.filter;
  auto range = clampRange<int8_t>(conv.activation, out);
  if (!range || !filter.quantization || filter.quantization->details != Quantization::Details::None)
    return nullptr;
  for (int64_t zero : filter.quantization->zeroPoint)
    if (zero != 0)
      return nullptr;
  if (!rescales(in, filter, out) ||
      (filter.perChannel() && filter.quantization->scale.size() != conv.groups * conv.groupOut))
    return nullptr;
  if (auto own = conv.depthwise ? byteDepthwise(conv, in, out, *range) : byteConvolution(conv, in, out, *range))
    return own;
  if (!xnnpackRescales(in, filter, out))
    return nullptr;
  std::tuple<int8_t, float> inputScale(static_cast<int8_t>(in.zeroPoint()), in.scale()),
      after(static_cast<int8_t>(out.zeroPoint()), out.scale());
  if (!filter.perChannel()) {
    auto before = std::tuple_cat(inputScale, std::tuple(filter.scale()));
    return convolution<int8_t>(
        createConv<int8_t, int32_t>(xnn_create_convolution2d_nhwc_qs8, conv, *range, before, after), conv,
        xnn_setup_convolution2d_nhwc_qs8);
  }
  auto before = std::tuple_cat(inputScale, std::tuple(filter.quantization->scale.data()));
  return convolution<int8_t>(
      createConv<int8_t, int32_t>(xnn_create_convolution2d_nhwc_qc8, conv, *range, before, after), conv,
      xnn_setup_convolution2d_nhwc_qc8);
}

std::unique_ptr<FastKernel> convUint8(const FastSite &site, const Conv &conv) {
  const Tensor &in = site.input(0), &out = site.output(), &filter = *conv.filter;
  auto range = clampRange<uint8_t>(conv.activation, out);
  if (!range || !isPerTensor(filter) || !rescales(in, filter, out))
    return nullptr;
  if (auto own = conv.depthwise ? byteDepthwise(conv, in, out, *range) : byteConvolution(conv, in, out, *range))
    return own;
  if (!xnnpackRescales(in, filter, out))
    return nullptr;
  std::tuple before(static_cast<uint8_t>(in.zeroPoint()), in.scale(), static_cast<uint8_t>(filter.zeroPoint()),
                    filter.scale());
  std::tuple after(static_cast<uint8_t>(out.zeroPoint()), out.scale());
  return convolution<uint8_t>(
      createConv<uint8_t, int32_t>(xnn_create_convolution2d_nhwc_qu8, conv, *range, before, after), conv,
      xnn_setup_convolution2d_nhwc_qu8);
}

/// Its weights have elements.
std::unique_ptr<FastKernel> convWithWeights(const FastSite &site) {
  std::optional<Conv> conv = convOf(site, true);
  if (!conv)
    return nullptr;
  TensorType in = site.type(0);
  Tensor turned;
  std::vector<uint8_t> memory;
  if (conv->depthwise && conv->groups == 1 && conv->groupOut >= 8) {
    turned = plainFilter(*conv->filter, memory);
    conv->filter = &turned;
    conv->depthwise = false;
  }
  if (in == TensorType::FLOAT32)
    return convFloat(site, *conv);
  if (!isPerTensor(site.input(0)) || !isPerTensor(site.output()))
    return nullptr;
  return in == TensorType::INT8 ? convInt8(site, *conv) : convUint8(site, *conv);
}

std::unique_ptr<FastKernel> conv(const FastSite &site) {
  TensorType in = site.type(0), filter = site.type(1);
  if (in != filter || !llvm::is_contained({TensorType::FLOAT32, TensorType::INT8, TensorType::UINT8}, in))
    return nullptr;
  if (site.constant(1) && (site.constant(2) || !site.has(2)))
    return convWithWeights(site);
  // What is computed is packed in each run.
  return fastKernel(
      [&op = site.op, border = site.border, scratch = site.scratch](Operands in, Operands out, pthreadpool_t threads) {
        FastSite now(op, in, out);
        now.border = border;
        now.scratch = scratch;
        auto kernel = convWithWeights(now);
        return kernel && kernel->run(in, out, threads);
      });
}

/// What TRANSPOSE_CONV cuts off along one dimension, and what it adds at the end.
struct Cut {
  uint32_t before, after, adjustment;
  static std::optional<Cut> of(int64_t in, int64_t out, int64_t size, int64_t stride, bool same) {
    // As the convolution from `out` to `in` pads.
    int64_t steps = same ? (out + stride - 1) / stride : (out + stride - size) / stride;
    int64_t before = std::max<int64_t>(0, (steps - 1) * stride + size - out) / 2;
    int64_t after = (in - 1) * stride + size - before - out;
    Cut cut{static_cast<uint32_t>(before), static_cast<uint32_t>(std::max<int64_t>(after, 0)),
            static_cast<uint32_t>(std::max<int64_t>(-after, 0))};
    return cut.adjustment < stride ? std::optional(cut) : std::nullopt;
  }
};

/// But for the batch.
bool fits(llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<int32_t> made) {
  return shape.size() == made.size() && shape.drop_front() == made.drop_front();
}

std::unique_ptr<FastKernel> transposeConv(const FastSite &site) {
  const Tensor *size = site.constant(0), *filter = site.constant(1), *bias = site.constant(3);
  const Tensor &in = site.input(2), &out = site.output();
  const auto &options = site.options<circle::TransposeConvOptions>();
  // Where the plan does not know the shapes, those that the model states are checked when it runs.
  Shape shape = in.shape, result = out.shape;
  if (!size || !filter || filter->rank() != 4 || filter->count() == 0 || site.constant(2) || shape.size() != 4 ||
      result.size() != 4 || (site.has(3) && !bias) || options.stride_h() <= 0 || options.stride_w() <= 0)
    return nullptr;
  bool same = options.padding() == circle::Padding::SAME;
  auto vertical = Cut::of(shape[1], result[1], filter->dim(1), options.stride_h(), same);
  auto horizontal = Cut::of(shape[2], result[2], filter->dim(2), options.stride_w(), same);
  if (!vertical || !horizontal || !fitsPointers(out, filter->dim(1), filter->dim(2)) ||
      times(options.stride_h(), options.stride_w()) > 1 << 16) // for which it keeps a table
    return nullptr;
  size_t channels = static_cast<size_t>(filter->dim(0)), depth = static_cast<size_t>(filter->dim(3));
  auto create = [&](auto function, auto range, auto... quantization) {
    using T = decltype(range.first);
    using Bias = std::conditional_t<std::is_same_v<T, float>, float, int32_t>;
    auto make = [&](auto before, auto after) {
      return std::apply(
          [&](auto... arguments) { return createXnn(function, arguments...); },
          std::tuple_cat(std::tuple(vertical->before, horizontal->after, vertical->after, horizontal->before,
                                    static_cast<uint32_t>(filter->dim(1)), static_cast<uint32_t>(filter->dim(2)),
                                    static_cast<uint32_t>(options.stride_h()),
                                    static_cast<uint32_t>(options.stride_w()), 1u, 1u, 1u, depth, channels, depth,
                                    channels),
                         before, std::tuple(dataOf<T>(*filter), bias ? dataOf<Bias>(*bias) : nullptr), after,
                         std::tuple(range.first, range.second, 0u)));
    };
    return make(quantization...);
  };
  auto kernel = [&](XnnOperator op, auto setup, auto element) {
    using T = decltype(element);
    return xnnKernel(std::move(op), [=, v = vertical->adjustment, h = horizontal->adjustment](
                                        xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
      const Tensor &x = *in[2];
      if (!fits(x.shape, shape) || !fits(out[0]->shape, result))
        return xnn_status_invalid_parameter;
      return setup(op, static_cast<size_t>(x.dim(0)), static_cast<size_t>(x.dim(1)), static_cast<size_t>(x.dim(2)), v,
                   h, dataOf<T>(x), dataOf<T>(*out[0]), threads);
    });
  };
  if (filter->type != in.type || !isFinite(filter) || !isFinite(bias))
    return nullptr;
  if (in.type == TensorType::FLOAT32)
    if (auto range = clampRange<float>(options.fused_activation_function(), out))
      return kernel(create(xnn_create_deconvolution2d_nhwc_f32, *range, std::tuple<>(), std::tuple<>()),
                    xnn_setup_deconvolution2d_nhwc_f32, float());
  if (!isPerTensor(in) || !isPerTensor(out) || !isPerTensor(*filter) || !xnnpackRescales(in, *filter, out))
    return nullptr;
  if (in.type == TensorType::INT8 && filter->zeroPoint() == 0)
    if (auto range = clampRange<int8_t>(options.fused_activation_function(), out))
      return kernel(create(xnn_create_deconvolution2d_nhwc_qs8, *range,
                           std::tuple(static_cast<int8_t>(in.zeroPoint()), in.scale(), filter->scale()),
                           std::tuple(static_cast<int8_t>(out.zeroPoint()), out.scale())),
                    xnn_setup_deconvolution2d_nhwc_qs8, int8_t());
  if (in.type == TensorType::UINT8)
    if (auto range = clampRange<uint8_t>(options.fused_activation_function(), out))
      return kernel(create(xnn_create_deconvolution2d_nhwc_qu8, *range,
                           std::tuple(static_cast<uint8_t>(in.zeroPoint()), in.scale(),
                                      static_cast<uint8_t>(filter->zeroPoint()), filter->scale()),
                           std::tuple(static_cast<uint8_t>(out.zeroPoint()), out.scale())),
                    xnn_setup_deconvolution2d_nhwc_qu8, uint8_t());
  return nullptr;
}

} // namespace

llvm::ArrayRef<FastRow> fastConvolution() {
  static const FastRow rows[] = {{BuiltinOperator::CONV_2D, conv, Rank::First},
                                 {BuiltinOperator::DEPTHWISE_CONV_2D, conv, Rank::First},
                                 {BuiltinOperator::TRANSPOSE_CONV, transposeConv, Rank::First}};
  return rows;
}

} // namespace origo::eval
