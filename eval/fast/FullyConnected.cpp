#include "eval/fast/FloatWindows.h"

/// FULLY_CONNECTED with constant weights.
namespace origo::eval {

namespace {

/// A 1×1 convolution of a row of pixels.
class Pixels : public LeadingKernel {
public:
  Pixels(std::unique_ptr<FastKernel> convolution, int64_t depth, int64_t units)
      : convolution(std::move(convolution)), depth(depth), units(units) {}
  bool runThen(Operands in, Operands out, pthreadpool_t threads, const Behind &behind) override {
    int64_t count = in[0]->count() / depth;
    if (in[0]->count() % depth || out[0]->count() != count * units || count > std::numeric_limits<int32_t>::max())
      return false;
    row(x, *in[0], count, depth);
    row(y, *out[0], count, units);
    Tensor *image = &x, *result = &y;
    return convolution->leading()->runThen(image, result, threads, behind);
  }

private:
  std::unique_ptr<FastKernel> convolution;
  int64_t depth, units;
  Tensor x, y;

  static void row(Tensor &to, const Tensor &from, int64_t count, int64_t channels) {
    to.type = from.type;
    to.storage = from.storage;
    to.shape = {1, 1, static_cast<int32_t>(count), static_cast<int32_t>(channels)};
  }
};

/// Of our own; null: not for this processor.
std::unique_ptr<FastKernel> ownKernel(const Tensor &weights, const Tensor *bias, const Tensor &in, const Tensor &out,
                                      auto range) {
  Tensor filter = weights;
  filter.shape = {weights.dim(0), 1, 1, weights.dim(1)};
  Conv conv;
  conv.filter = &filter;
  conv.bias = bias;
  conv.groupIn = static_cast<size_t>(weights.dim(1));
  conv.groupOut = static_cast<size_t>(weights.dim(0));
  std::unique_ptr<FastKernel> made;
  if constexpr (std::is_same_v<decltype(range.first), float>)
    made = floatConvolution(conv, range);
  else
    made = byteConvolution(conv, in, out, range);
  return made ? std::make_unique<Pixels>(std::move(made), weights.dim(1), weights.dim(0)) : nullptr;
}

template <class T, class Setup> std::unique_ptr<FastKernel> rows(XnnOperator op, int64_t depth, Setup setup) {
  return xnnKernel(std::move(op), [=](xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
    const Tensor &x = *in[0];
    if (x.count() % depth)
      return xnn_status_invalid_parameter;
    return setup(op, static_cast<size_t>(x.count() / depth), dataOf<T>(x), dataOf<T>(*out[0]), threads);
  });
}

std::unique_ptr<FastKernel> fullyConnected(const FastSite &site) {
  const auto &options = site.options<circle::FullyConnectedOptions>();
  const Tensor *weights = site.constant(1), *bias = site.constant(2);
  const Tensor &in = site.input(0), &out = site.output();
  if (!weights || weights->rank() != 2 || weights->count() == 0 || (site.has(2) && !bias) || site.constant(0) ||
      options.weights_format() != circle::FullyConnectedOptionsWeightsFormat::DEFAULT ||
      (bias && bias->count() != weights->dim(0)) || in.type != weights->type || in.type != out.type)
    return nullptr;
  size_t units = static_cast<size_t>(weights->dim(0)), depth = static_cast<size_t>(weights->dim(1));
  int64_t rowLength = weights->dim(1);
  auto activation = options.fused_activation_function();
  if (in.type == TensorType::FLOAT32) {
    auto range = clampRange<float>(activation, out);
    if (auto own = range ? ownKernel(*weights, bias, in, out, *range) : nullptr)
      return own;
    return range && isFinite(weights) && isFinite(bias)
               ? rows<float>(createXnn(xnn_create_fully_connected_nc_f32, depth, units, depth, units,
                                       dataOf<float>(*weights), bias ? dataOf<float>(*bias) : nullptr, range->first,
                                       range->second, 0u),
                             rowLength, xnn_setup_fully_connected_nc_f32)
               : nullptr;
  }
  if (!isPerTensor(in) || !isPerTensor(out) || !weights->quantization ||
      weights->quantization->details != Quantization::Details::None || !rescales(in, *weights, out))
    return nullptr;
  const int32_t *sums = bias ? dataOf<int32_t>(*bias) : nullptr;
  if (in.type == TensorType::UINT8 && isPerTensor(*weights)) {
    auto range = clampRange<uint8_t>(activation, out);
    if (auto own = range ? ownKernel(*weights, bias, in, out, *range) : nullptr)
      return own;
    if (!range || !xnnpackRescales(in, *weights, out))
      return nullptr;
    return rows<uint8_t>(
        createXnn(xnn_create_fully_connected_nc_qu8, depth, units, depth, units, static_cast<uint8_t>(in.zeroPoint()),
                  in.scale(), static_cast<uint8_t>(weights->zeroPoint()), weights->scale(), dataOf<uint8_t>(*weights),
                  sums, static_cast<uint8_t>(out.zeroPoint()), out.scale(), range->first, range->second, 0u),
        rowLength, xnn_setup_fully_connected_nc_qu8);
  }
  for (int64_t zero : weights->quantization->zeroPoint)
    if (zero != 0)
      return nullptr;
  auto range = clampRange<int8_t>(activation, out);
  if (in.type != TensorType::INT8 || !range || (weights->perChannel() && weights->quantization->scale.size() != units))
    return nullptr;
  if (auto own = ownKernel(*weights, bias, in, out, *range))
    return own;
  if (!xnnpackRescales(in, *weights, out))
    return nullptr;
  if (isPerTensor(*weights))
    return rows<int8_t>(createXnn(xnn_create_fully_connected_nc_qs8, depth, units, depth, units,
                                  static_cast<int8_t>(in.zeroPoint()), in.scale(), weights->scale(),
                                  dataOf<int8_t>(*weights), sums, static_cast<int8_t>(out.zeroPoint()), out.scale(),
                                  range->first, range->second, 0u),
                        rowLength, xnn_setup_fully_connected_nc_qs8);
  // XNNPACK has scales for each channel in convolutions only; this one has 1×1 filters and a column of rows.
  return rows<int8_t>(createXnn(xnn_create_convolution2d_nhwc_qc8, 0u, 0u, 0u, 0u, 1u, 1u, 1u, 1u, 1u, 1u, 1u, depth,
                                units, depth, units, static_cast<int8_t>(in.zeroPoint()), in.scale(),
                                weights->quantization->scale.data(), dataOf<int8_t>(*weights), sums,
                                static_cast<int8_t>(out.zeroPoint()), out.scale(), range->first, range->second, 0u),
                      rowLength,
                      [](xnn_operator_t op, size_t count, const int8_t *x, int8_t *y, pthreadpool_t threads) {
                        return xnn_setup_convolution2d_nhwc_qc8(op, 1, count, 1, x, y, threads);
                      });
}

} // namespace

llvm::ArrayRef<FastRow> fastFullyConnected() {
  static const FastRow rows[] = {{BuiltinOperator::FULLY_CONNECTED, fullyConnected, Rank::First}};
  return rows;
}

} // namespace origo::eval
