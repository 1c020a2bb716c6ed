#include "eval/fast/Xnnpack.h"
#include "eval/kernels/QuantizedArithmetic.h"

/// Arithmetic of two quantised operands that broadcast.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

struct Dims {
  size_t rank;
  std::array<size_t, XNN_MAX_TENSOR_DIMS> sizes;
  static std::optional<Dims> of(const Tensor &tensor) {
    if (tensor.rank() > XNN_MAX_TENSOR_DIMS || tensor.count() == 0)
      return std::nullopt;
    Dims dims{tensor.shape.size(), {}};
    std::copy(tensor.shape.begin(), tensor.shape.end(), dims.sizes.begin());
    return dims;
  }
};

template <class T, class Setup> std::unique_ptr<FastKernel> broadcasting(XnnOperator op, Setup setup) {
  return xnnKernel(std::move(op), [=](xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
    auto a = Dims::of(*in[0]), b = Dims::of(*in[1]);
    if (!a || !b)
      return xnn_status_invalid_parameter;
    return setup(op, a->rank, a->sizes.data(), b->rank, b->sizes.data(), dataOf<T>(*in[0]), dataOf<T>(*in[1]),
                 dataOf<T>(*out[0]), threads);
  });
}

template <class T, class Create, class Setup>
std::unique_ptr<FastKernel> binaryQuantized(const FastSite &site, Create create, Setup setup) {
  const Tensor &a = site.input(0), &b = site.input(1), &out = site.output();
  auto range = clampRange<T>(fusedActivation(site), out);
  if (!range || !isPerTensor(a) || !isPerTensor(b) || !isPerTensor(out))
    return nullptr;
  return broadcasting<T>(createXnn(create, static_cast<T>(a.zeroPoint()), a.scale(), static_cast<T>(b.zeroPoint()),
                                   b.scale(), static_cast<T>(out.zeroPoint()), out.scale(), range->first, range->second,
                                   0u),
                         setup);
}

std::unique_ptr<FastKernel> binary(const FastSite &site) {
  TensorType type = site.type(0);
  if (site.type(1) != type || site.output().type != type)
    return nullptr;
  bool isSigned = type == TensorType::INT8;
  if (!isSigned && type != TensorType::UINT8)
    return nullptr;
  switch (site.op.code) {
  case Op::ADD:
    return isSigned ? binaryQuantized<int8_t>(site, xnn_create_add_nd_qs8, xnn_setup_add_nd_qs8)
                    : binaryQuantized<uint8_t>(site, xnn_create_add_nd_qu8, xnn_setup_add_nd_qu8);
  case Op::SUB:
    return isSigned ? binaryQuantized<int8_t>(site, xnn_create_subtract_nd_qs8, xnn_setup_subtract_nd_qs8)
                    : binaryQuantized<uint8_t>(site, xnn_create_subtract_nd_qu8, xnn_setup_subtract_nd_qu8);
  default: // MUL
    return isSigned ? binaryQuantized<int8_t>(site, xnn_create_multiply_nd_qs8, xnn_setup_multiply_nd_qs8)
                    : binaryQuantized<uint8_t>(site, xnn_create_multiply_nd_qu8, xnn_setup_multiply_nd_qu8);
  }
}

} // namespace

llvm::ArrayRef<FastRow> fastBinary() {
  static const FastRow rows[] = {{Op::ADD, binary}, {Op::SUB, binary}, {Op::MUL, binary}};
  return rows;
}

} // namespace origo::eval
