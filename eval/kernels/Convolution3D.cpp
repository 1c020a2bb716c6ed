#include "eval/kernels/Convolution3D.h"

namespace origo::eval {

template <bool transposed> static llvm::Error convolveFloats(KernelContext &ctx) {
  return loops::convolve3D<float, float, transposed>(
      ctx, [](float &sum, float x, float w) { sum += x * w; },
      [](float sum, const float *bias, auto activation) { return activate(sum + (bias ? *bias : 0), activation); });
}

llvm::ArrayRef<KernelRow> convolution3DKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::CONV_3D, "f32[n,d,h,w,c], f32[z,y,x,c,o], f32[#o]? -> f32[n,_,_,_,o]", convolveFloats<false>},
      {Op::CONV_3D_TRANSPOSE, "i32, f32[z,y,x,o,c], f32[n,d,h,w,c], f32[#o]? -> f32[n,_,_,_,o]", convolveFloats<true>},
  };
  return rows;
}

} // namespace origo::eval
