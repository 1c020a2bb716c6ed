#pragma once

#include "quantize/Scheme.h"

/// Weights of which each block in a row has a scale.
namespace origo::quantize {

/// Sizes that there are kernels for.
inline bool isBlockSize(int32_t size) { return size == 32 || size == 64 || size == 128 || size == 256; }

/// FULLY_CONNECTED alone has kernels for that.
inline bool isByBlock(const Operator &op, const Scheme::Choice &choice) {
  return choice.blockSize > 0 && op.code == BuiltinOperator::FULLY_CONNECTED;
}

/// The scale as kernels take it: a half with no more digits than bfloat16 has.
float blockScale(float scale);

/// While a model is rewritten, scales of blocks are a list, as those of channels are; in files they are a tensor. Makes
/// these, one for each list.
void storeBlockScales(Model &model);

} // namespace origo::quantize
