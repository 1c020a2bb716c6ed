#pragma once

#include "eval/Numbers.h"
#include "eval/RunOperator.h"

namespace origo::eval {

/// Scales of blocks of FULLY_CONNECTED's weights [units, depth], one after another in each unit's row; nothing if the
/// weights have others.
inline llvm::Expected<std::vector<float>> blockScales(const KernelContext &ctx, const Tensor &weights) {
  std::vector<float> scales;
  const Quantization *q = weights.quantization;
  if (!q || q->details != Quantization::Details::Blockwise)
    return scales;
  int64_t units = weights.dim(0), depth = weights.dim(1);
  if (!q->more->scales || !q->more->scales->isConstant() || q->more->scales->type != TensorType::FLOAT16 ||
      q->more->zeroPoints)
    return ctx.fail(1, "has scales for blocks that are no float16 constant, or zero points");
  auto halves = ConstantBytes::of(*q->more->scales, static_cast<uint64_t>(units * depth) * 2);
  if (!halves)
    return halves.takeError();
  int64_t blocks = q->more->blockSize > 0 ? depth / q->more->blockSize : 0;
  if (blocks == 0 || depth % q->more->blockSize || halves->bytes.size() / 2 != static_cast<size_t>(units * blocks))
    return ctx.fail(1, "does not have a scale for each block");
  for (size_t i = 0; i < halves->bytes.size(); i += 2)
    scales.push_back(halfToFloat(static_cast<uint16_t>(halves->bytes[i] | halves->bytes[i + 1] << 8)));
  return scales;
}

} // namespace origo::eval
