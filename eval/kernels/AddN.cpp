#include "eval/FixedPoint.h"
#include "eval/Kernels.h"

namespace origo::eval {

namespace {

/// The sum of all operands, which have the same shape.
template <class T> llvm::Error addN(KernelContext &ctx) {
  auto out = ctx.output().as<T>();
  std::fill(out.begin(), out.end(), T(0));
  for (unsigned i = 0; i < ctx.numInputs(); ++i) {
    auto x = ctx.input(i).as<T>();
    for (size_t k = 0; k < out.size() && !ctx.late(); ++k)
      if constexpr (std::is_integral_v<T>)
        out[k] = wrappingAdd(out[k], x[k]);
      else
        out[k] += x[k];
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> addNKernels() {
  static const KernelRow rows[] = {
      {BuiltinOperator::ADD_N, "f32, same... -> f32", addN<float>},
      {BuiltinOperator::ADD_N, "i32, same... -> i32", addN<int32_t>},
  };
  return rows;
}

} // namespace origo::eval
