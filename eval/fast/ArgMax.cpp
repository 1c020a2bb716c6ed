#include "eval/fast/Xnnpack.h"

/// ARG_MAX along the last dimension; the first of several.
namespace origo::eval {

namespace {

template <class T, class Index> std::unique_ptr<FastKernel> alongRows() {
  return fastKernel([](Operands in, Operands out, pthreadpool_t) {
    const T *x = dataOf<T>(*in[0]);
    Index *y = dataOf<Index>(*out[0]);
    int64_t depth = in[0]->shape.back(), rows = out[0]->count();
    if (in[0]->count() != rows * depth)
      return false;
    for (int64_t row = 0; row < rows; ++row, x += depth)
      y[row] = static_cast<Index>(std::max_element(x, x + depth) - x);
    return true;
  });
}

std::unique_ptr<FastKernel> argMax(const FastSite &site) {
  if (!site.constant(1) || site.input(0).shape.empty() || site.constant(0))
    return nullptr;
  auto axis = site.integer(1);
  if (!axis) {
    llvm::consumeError(axis.takeError());
    return nullptr;
  }
  // Of an input whose rank may change, only the axis that counts from the end is the last one.
  if (*axis != -1 && (!site.input(0).rankKnown || *axis != site.input(0).rank() - 1))
    return nullptr;
  bool wide = site.output().type == TensorType::INT64;
  if (!wide && site.output().type != TensorType::INT32)
    return nullptr;
  switch (site.type(0)) {
  case TensorType::FLOAT32:
    return wide ? alongRows<float, int64_t>() : alongRows<float, int32_t>();
  case TensorType::INT8:
    return wide ? alongRows<int8_t, int64_t>() : alongRows<int8_t, int32_t>();
  case TensorType::UINT8:
    return wide ? alongRows<uint8_t, int64_t>() : alongRows<uint8_t, int32_t>();
  default:
    return nullptr;
  }
}

} // namespace

llvm::ArrayRef<FastRow> fastArgMax() {
  static const FastRow rows[] = {{BuiltinOperator::ARG_MAX, argMax}};
  return rows;
}

} // namespace origo::eval
