#include "eval/fast/Fast.h"

/// ARG_MAX; the first of several, and NaN passed over.
namespace origo::eval {

namespace {

template <class T, class Index> std::unique_ptr<FastKernel> largest(int64_t axis) {
  return fastKernel([axis](Operands in, Operands out, pthreadpool_t) {
    const T *x = dataOf<T>(*in[0]);
    Index *y = dataOf<Index>(*out[0]);
    int rank = in[0]->rank();
    auto along = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    int64_t outer = product(in[0]->shape, 0, along), length = in[0]->shape[along];
    int64_t inner = product(in[0]->shape, along + 1, in[0]->shape.size());
    for (int64_t row = 0; row < outer && inner == 1; ++row, x += length) {
      const T *first = std::find_if(x, x + length, [](T number) { return number == number; });
      y[row] = first == x + length ? 0 : static_cast<Index>(std::max_element(first, x + length) - x);
    }
    for (int64_t row = 0; row < outer && inner > 1; ++row, x += length * inner)
      for (int64_t k = 0; k < inner; ++k) {
        int64_t best = k;
        T top = x[k];
        for (int64_t i = k + inner; i < length * inner; i += inner)
          if (x[i] > top || (top != top && x[i] == x[i])) {
            top = x[i];
            best = i;
          }
        *y++ = static_cast<Index>(best / inner);
      }
    return true;
  });
}

std::unique_ptr<FastKernel> argMax(const FastSite &site) {
  if (!site.constant(1))
    return nullptr;
  auto axis = site.integer(1);
  if (!axis) {
    llvm::consumeError(axis.takeError());
    return nullptr;
  }
  bool wide = site.output().type == TensorType::INT64;
  if (!wide && site.output().type != TensorType::INT32)
    return nullptr;
  switch (site.type(0)) {
  case TensorType::FLOAT32:
    return wide ? largest<float, int64_t>(*axis) : largest<float, int32_t>(*axis);
  case TensorType::INT8:
    return wide ? largest<int8_t, int64_t>(*axis) : largest<int8_t, int32_t>(*axis);
  case TensorType::UINT8:
    return wide ? largest<uint8_t, int64_t>(*axis) : largest<uint8_t, int32_t>(*axis);
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
