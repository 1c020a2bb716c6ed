#include "eval/Kernels.h"

/// Operators whose results are shapes, or depend on nothing else.
namespace origo::eval {

namespace {

template <class T> llvm::Error shapeOf(KernelContext &ctx) {
  llvm::copy(ctx.input(0).shape, ctx.output().as<T>().begin());
  return llvm::Error::success();
}

llvm::Error rankOf(KernelContext &ctx) {
  ctx.output().as<int32_t>()[0] = ctx.input(0).rank();
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> shapeQueryKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::SHAPE, "any|i4|i2|u4|str -> i32", shapeOf<int32_t>},
      {Op::SHAPE, "any|i4|i2|u4|str -> i64", shapeOf<int64_t>},
      {Op::RANK, "any|i4|i2|u4|str -> i32", rankOf},
  };
  return rows;
}

} // namespace origo::eval
