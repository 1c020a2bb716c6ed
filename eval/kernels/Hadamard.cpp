#include "eval/CustomKernels.h"
#include "eval/kernels/CustomOptions.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace origo::eval {

namespace {

/// How many numbers in a row are transformed together, as ai-edge-quantizer writes it; the runtime's operator knows
/// powers of two alone.
llvm::Expected<int64_t> hadamardSize(KernelContext &ctx) {
  auto options = attributes(ctx);
  if (!options)
    return options.takeError();
  int64_t size = (*options)["hadamard_size"].AsInt64();
  const Tensor &in = ctx.input(0);
  if (size < 1 || !llvm::isPowerOf2_64(static_cast<uint64_t>(size)))
    return ctx.fail("its hadamard_size is no power of two");
  if (in.rank() == 0 || in.dim(in.rank() - 1) % size != 0)
    return ctx.fail(0, "does not have a last dimension of whole groups", "a multiple of " + std::to_string(size),
                    shapeText(in.shape));
  return size;
}

llvm::Error hadamardShape(KernelContext &ctx) {
  auto size = hadamardSize(ctx);
  if (size && ctx.wants(0))
    ctx.output(0).shape = ctx.input(0).shape;
  return size.takeError();
}

/// The Walsh-Hadamard transform of each group, divided by √size: its own inverse.
llvm::Error hadamardRotation(KernelContext &ctx) {
  auto size = hadamardSize(ctx);
  if (!size)
    return size.takeError();
  auto x = ctx.input(0).as<float>();
  auto out = ctx.output().as<float>();
  std::copy(x.begin(), x.end(), out.begin());
  auto count = static_cast<size_t>(*size);
  float scale = 1 / std::sqrt(static_cast<float>(count));
  for (size_t begin = 0; begin + count <= out.size(); begin += count) {
    for (size_t half = 1; half < count; half *= 2)
      for (size_t i = 0; i < count; i += 2 * half)
        for (size_t k = begin + i; k < begin + i + half; ++k) {
          float a = out[k], b = out[k + half];
          out[k] = a + b;
          out[k + half] = a - b;
        }
    for (size_t k = begin; k < begin + count; ++k)
      out[k] *= scale;
    if (ctx.late(count))
      break;
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<CustomKernelRow> hadamardCustomKernels() {
  static const CustomKernelRow rows[] = {
      {"aeq.hadamard_rotation",
       {BuiltinOperator::CUSTOM, "f32 -> f32", hadamardRotation, {}, ShapesFrom::Rule, hadamardShape}},
  };
  return rows;
}

} // namespace origo::eval
