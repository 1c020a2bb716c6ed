#include "eval/fast/Xnnpack.h"

/// Floats, one result of the operand's shape.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

/// The last dimension is that of the channels.
template <class Setup> std::unique_ptr<FastKernel> rows(XnnOperator op, int32_t depth, Setup setup) {
  return xnnKernel(std::move(op), [=](xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
    if (in[0]->rank() == 0 || in[0]->shape.back() != depth)
      return xnn_status_invalid_parameter;
    return setup(op, static_cast<size_t>(in[0]->count() / depth), dataOf<float>(*in[0]), dataOf<float>(*out[0]), threads);
  });
}

/// What the plan or else the model says.
int32_t lastDimension(const FastSite &site) {
  llvm::ArrayRef<int32_t> shape = site.input(0).shape;
  return shape.empty() ? 0 : shape.back();
}

std::unique_ptr<FastKernel> elu(const FastSite &site) {
  constexpr size_t one = 1; // all elements as a column of one channel
  if (site.constant(0) || site.type(0) != TensorType::FLOAT32)
    return nullptr;
  return xnnKernel(createXnn(xnn_create_elu_nc_f32, one, one, one, 1.f, 0u),
                   [](xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
                     return xnn_setup_elu_nc_f32(op, static_cast<size_t>(in[0]->count()), dataOf<float>(*in[0]),
                                                 dataOf<float>(*out[0]), threads);
                   });
}

std::unique_ptr<FastKernel> softmax(const FastSite &site) {
  int32_t depth = lastDimension(site);
  if (site.constant(0) || depth <= 0 || site.options<circle::SoftmaxOptions>().beta() != 1 ||
      site.type(0) != TensorType::FLOAT32 || site.output().type != TensorType::FLOAT32)
    return nullptr;
  size_t channels = static_cast<size_t>(depth);
  return rows(createXnn(xnn_create_softmax_nc_f32, channels, channels, channels, 0u), depth, xnn_setup_softmax_nc_f32);
}

} // namespace

llvm::ArrayRef<FastRow> fastElementwise() {
  static const FastRow rows[] = {{Op::ELU, elu}, {Op::SOFTMAX, softmax}};
  return rows;
}

} // namespace origo::eval
