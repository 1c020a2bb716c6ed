#include "eval/Kernels.h"

namespace origo::eval {

namespace {

/// A sparse constant is made dense before any kernel sees it.
llvm::Error densifyConstant(KernelContext &ctx) {
  llvm::copy(ctx.input(0).bytes(), ctx.output().storage.begin());
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> densifyKernels() {
  static const KernelRow rows[] = {
      {BuiltinOperator::DENSIFY, "f32 -> f32", densifyConstant},
      {BuiltinOperator::DENSIFY, "f16 -> f16", densifyConstant},
      {BuiltinOperator::DENSIFY, "i8 -> i8", densifyConstant},
  };
  return rows;
}

} // namespace origo::eval
