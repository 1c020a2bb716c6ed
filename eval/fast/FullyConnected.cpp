#include "eval/fast/Xnnpack.h"

/// FULLY_CONNECTED with constant weights.
namespace origo::eval {

namespace {

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
    return range ? rows<float>(createXnn(xnn_create_fully_connected_nc_f32, depth, units, depth, units,
                                         dataOf<float>(*weights), bias ? dataOf<float>(*bias) : nullptr, range->first,
                                         range->second, 0u),
                               rowLength, xnn_setup_fully_connected_nc_f32)
                 : nullptr;
  }
  if (!isPerTensor(in) || !isPerTensor(out) || !weights->quantization ||
      weights->quantization->details != Quantization::Details::None || !canRescale(in, *weights, out))
    return nullptr;
  const int32_t *sums = bias ? dataOf<int32_t>(*bias) : nullptr;
  if (in.type == TensorType::UINT8 && isPerTensor(*weights)) {
    auto range = clampRange<uint8_t>(activation, out);
    return range ? rows<uint8_t>(createXnn(xnn_create_fully_connected_nc_qu8, depth, units, depth, units,
                                           static_cast<uint8_t>(in.zeroPoint()), in.scale(),
                                           static_cast<uint8_t>(weights->zeroPoint()), weights->scale(),
                                           dataOf<uint8_t>(*weights), sums, static_cast<uint8_t>(out.zeroPoint()),
                                           out.scale(), range->first, range->second, 0u),
                                 rowLength, xnn_setup_fully_connected_nc_qu8)
                 : nullptr;
  }
  for (int64_t zero : weights->quantization->zeroPoint)
    if (zero != 0)
      return nullptr;
  auto range = clampRange<int8_t>(activation, out);
  if (in.type != TensorType::INT8 || !range)
    return nullptr;
  if (isPerTensor(*weights))
    return rows<int8_t>(createXnn(xnn_create_fully_connected_nc_qs8, depth, units, depth, units,
                                  static_cast<int8_t>(in.zeroPoint()), in.scale(), weights->scale(),
                                  dataOf<int8_t>(*weights), sums, static_cast<int8_t>(out.zeroPoint()), out.scale(),
                                  range->first, range->second, 0u),
                        rowLength, xnn_setup_fully_connected_nc_qs8);
  if (weights->quantization->scale.size() != units)
    return nullptr;
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
  static const FastRow rows[] = {{BuiltinOperator::FULLY_CONNECTED, fullyConnected}};
  return rows;
}

} // namespace origo::eval
