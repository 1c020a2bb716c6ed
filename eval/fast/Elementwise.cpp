#include "eval/fast/Xnnpack.h"

/// One operand, one result of its shape.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

/// All elements as a column of one channel.
template <class T, class To, class Setup> std::unique_ptr<FastKernel> column(XnnOperator op, Setup setup) {
  return xnnKernel(std::move(op), [=](xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
    return setup(op, static_cast<size_t>(in[0]->count()), dataOf<T>(*in[0]), dataOf<To>(*out[0]), threads);
  });
}

/// The last dimension is that of the channels.
template <class T, class Setup> std::unique_ptr<FastKernel> rows(XnnOperator op, int32_t depth, Setup setup) {
  return xnnKernel(std::move(op), [=](xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
    if (in[0]->rank() == 0 || in[0]->shape.back() != depth)
      return xnn_status_invalid_parameter;
    return setup(op, static_cast<size_t>(in[0]->count() / depth), dataOf<T>(*in[0]), dataOf<T>(*out[0]), threads);
  });
}

/// What the plan or else the model says.
int32_t lastDimension(const FastSite &site) {
  llvm::ArrayRef<int32_t> shape = site.input(0).shape;
  return shape.empty() ? 0 : shape.back();
}

template <class Create, class Setup, class... Parameters>
std::unique_ptr<FastKernel> floatColumn(Create create, Setup setup, Parameters... parameters) {
  constexpr size_t one = 1;
  return column<float, float>(createXnn(create, one, one, one, parameters..., 0u), setup);
}

std::unique_ptr<FastKernel> unaryFloat(const FastSite &site) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  auto clamp = [](float low, float high) {
    return floatColumn(xnn_create_clamp_nc_f32, xnn_setup_clamp_nc_f32, low, high);
  };
  switch (site.op.code) {
  case Op::ABS:
    return floatColumn(xnn_create_abs_nc_f32, xnn_setup_abs_nc_f32);
  case Op::CEIL:
    return floatColumn(xnn_create_ceiling_nc_f32, xnn_setup_ceiling_nc_f32);
  case Op::FLOOR:
    return floatColumn(xnn_create_floor_nc_f32, xnn_setup_floor_nc_f32);
  case Op::ROUND:
    return floatColumn(xnn_create_bankers_rounding_nc_f32, xnn_setup_bankers_rounding_nc_f32);
  case Op::NEG:
    return floatColumn(xnn_create_negate_nc_f32, xnn_setup_negate_nc_f32);
  case Op::SQUARE:
    return floatColumn(xnn_create_square_nc_f32, xnn_setup_square_nc_f32);
  case Op::SQRT:
    return floatColumn(xnn_create_square_root_nc_f32, xnn_setup_square_root_nc_f32);
  case Op::HARD_SWISH:
    return floatColumn(xnn_create_hardswish_nc_f32, xnn_setup_hardswish_nc_f32);
  case Op::ELU:
    return floatColumn(xnn_create_elu_nc_f32, xnn_setup_elu_nc_f32, 1.f);
  case Op::LEAKY_RELU:
    return floatColumn(xnn_create_leaky_relu_nc_f32, xnn_setup_leaky_relu_nc_f32,
                       site.options<circle::LeakyReluOptions>().alpha());
  case Op::RELU:
    return clamp(0, infinity);
  case Op::RELU6:
    return clamp(0, 6);
  case Op::RELU_N1_TO_1:
    return clamp(-1, 1);
  case Op::RELU_0_TO_1:
    return clamp(0, 1);
  default:
    return nullptr;
  }
}

/// XNNPACK clamps numbers of the same scale.
template <class T, class Create, class Setup>
std::unique_ptr<FastKernel> clampQuantized(const FastSite &site, Create create, Setup setup) {
  using Function = circle::ActivationFunctionType;
  const Tensor &in = site.input(0), &out = site.output();
  if (!isPerTensor(in) || !isPerTensor(out) || in.scale() != out.scale() || in.zeroPoint() != out.zeroPoint())
    return nullptr;
  Function activation = site.op.code == Op::RELU    ? Function::RELU
                        : site.op.code == Op::RELU6 ? Function::RELU6
                                                    : Function::RELU_N1_TO_1;
  auto range = clampRange<T>(activation, out);
  constexpr size_t one = 1;
  return range ? column<T, T>(createXnn(create, one, one, one, range->first, range->second, 0u), setup) : nullptr;
}

std::unique_ptr<FastKernel> clampQuantized(const FastSite &site) {
  return site.type(0) == TensorType::INT8
             ? clampQuantized<int8_t>(site, xnn_create_clamp_nc_s8, xnn_setup_clamp_nc_s8)
             : clampQuantized<uint8_t>(site, xnn_create_clamp_nc_u8, xnn_setup_clamp_nc_u8);
}

std::unique_ptr<FastKernel> unary(const FastSite &site) {
  TensorType from = site.type(0);
  if (site.constant(0) || site.output().type != from)
    return nullptr;
  if (from == TensorType::FLOAT32)
    return unaryFloat(site);
  bool clamps = site.op.code == Op::RELU || site.op.code == Op::RELU6 || site.op.code == Op::RELU_N1_TO_1;
  return clamps && (from == TensorType::INT8 || from == TensorType::UINT8) ? clampQuantized(site) : nullptr;
}

std::unique_ptr<FastKernel> dequantize(const FastSite &site) {
  constexpr size_t one = 1;
  const Tensor &in = site.input(0);
  if (!isPerTensor(in) || site.constant(0) || site.output().type != TensorType::FLOAT32)
    return nullptr;
  if (in.type == TensorType::INT8)
    return column<int8_t, float>(
        createXnn(xnn_create_convert_nc_qs8_f32, one, one, one, in.scale(), static_cast<int8_t>(in.zeroPoint()), 0u),
        xnn_setup_convert_nc_qs8_f32);
  if (in.type == TensorType::UINT8)
    return column<uint8_t, float>(
        createXnn(xnn_create_convert_nc_qu8_f32, one, one, one, in.scale(), static_cast<uint8_t>(in.zeroPoint()), 0u),
        xnn_setup_convert_nc_qu8_f32);
  return nullptr;
}

std::unique_ptr<FastKernel> quantize(const FastSite &site) {
  constexpr size_t one = 1;
  const Tensor &in = site.input(0), &out = site.output();
  if (!isPerTensor(out) || site.constant(0))
    return nullptr;
  if (in.type != TensorType::FLOAT32)
    return nullptr;
  if (out.type == TensorType::INT8)
    return column<float, int8_t>(createXnn(xnn_create_convert_nc_f32_qs8, one, one, one, out.scale(),
                                           static_cast<int8_t>(out.zeroPoint()), int8_t(-128), int8_t(127), 0u),
                                 xnn_setup_convert_nc_f32_qs8);
  if (out.type == TensorType::UINT8)
    return column<float, uint8_t>(createXnn(xnn_create_convert_nc_f32_qu8, one, one, one, out.scale(),
                                            static_cast<uint8_t>(out.zeroPoint()), uint8_t(0), uint8_t(255), 0u),
                                  xnn_setup_convert_nc_f32_qu8);
  return nullptr;
}

std::unique_ptr<FastKernel> softmax(const FastSite &site) {
  const Tensor &in = site.input(0), &out = site.output();
  int32_t depth = lastDimension(site);
  if (site.constant(0) || depth <= 0 || site.options<circle::SoftmaxOptions>().beta() != 1 || in.type != out.type)
    return nullptr;
  size_t channels = static_cast<size_t>(depth);
  if (in.type == TensorType::FLOAT32)
    return rows<float>(createXnn(xnn_create_softmax_nc_f32, channels, channels, channels, 0u), depth,
                       xnn_setup_softmax_nc_f32);
  if (in.type != TensorType::UINT8 || !isPerTensor(in) || !isPerTensor(out))
    return nullptr;
  return rows<uint8_t>(createXnn(xnn_create_softmax_nc_qu8, channels, channels, channels, in.scale(),
                                 static_cast<uint8_t>(out.zeroPoint()), out.scale(), 0u),
                       depth, xnn_setup_softmax_nc_qu8);
}

std::unique_ptr<FastKernel> prelu(const FastSite &site) {
  const Tensor *slope = site.constant(1);
  if (!slope || site.constant(0) || site.type(0) != TensorType::FLOAT32 || slope->rank() == 0 ||
      slope->count() != slope->shape.back() || slope->count() != lastDimension(site) || slope->count() == 0 ||
      slope->rank() > static_cast<int>(site.input(0).shape.size()))
    return nullptr;
  size_t channels = static_cast<size_t>(slope->count());
  return rows<float>(createXnn(xnn_create_prelu_nc_f32, channels, channels, channels, dataOf<float>(*slope), 0u),
                     slope->shape.back(), xnn_setup_prelu_nc_f32);
}

} // namespace

llvm::ArrayRef<FastRow> fastElementwise() {
  static const FastRow rows[] = {
      {Op::ABS, unary},         {Op::CEIL, unary},         {Op::FLOOR, unary},       {Op::ROUND, unary},
      {Op::NEG, unary},         {Op::SQUARE, unary},       {Op::SQRT, unary},        {Op::HARD_SWISH, unary},
      {Op::ELU, unary},         {Op::LEAKY_RELU, unary},   {Op::RELU, unary},        {Op::RELU6, unary},
      {Op::RELU_N1_TO_1, unary}, {Op::RELU_0_TO_1, unary}, {Op::DEQUANTIZE, dequantize},
      {Op::QUANTIZE, quantize}, {Op::SOFTMAX, softmax},    {Op::PRELU, prelu}};
  return rows;
}

} // namespace origo::eval
