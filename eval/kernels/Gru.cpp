#include "eval/Kernels.h"
#include "eval/kernels/GruCells.h"

/// circle's GRU of floats.
namespace origo::eval {

llvm::ArrayRef<Recurrent> gruRecurrents() {
  static const Recurrent list[] = {recurrent<withDots<loops::gru::run<Floats>>>};
  return list;
}

llvm::ArrayRef<KernelRow> gruKernels() {
  static const KernelRow rows[] = {{BuiltinOperator::GRU,
                                    "f32[_,_,_], f32[_,_], f32?, f32[_,_], f32?, f32 -> f32[_,_,_]",
                                    plainly<withDots<loops::gru::run<Floats>>>,
                                    {is("fused_activation_function", {"NONE"})}}};
  return rows;
}

} // namespace origo::eval
