#include "eval/Kernels.h"
#include "eval/kernels/BinaryCodes.h"

/// circle's operators on binary-coded weights, of floats.
namespace origo::eval {

llvm::ArrayRef<KernelRow> bcqKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::BCQ_FULLY_CONNECTED, "f32[_,_], f32, i32, f32?, i32[_,2] -> f32",
       plainly<withDots<loops::bcq::fullyConnected<Floats>>>},
      {Op::BCQ_GATHER, "f32, i32, i32|i64, i32[_,2] -> f32", plainly<withDots<loops::bcq::gather<Floats>>>},
  };
  return rows;
}

} // namespace origo::eval
