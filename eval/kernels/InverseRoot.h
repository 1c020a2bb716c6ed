#pragma once

#include "eval/FixedPointFunctions.h"

#include "llvm/ADT/bit.h"

namespace origo::eval {

/// 1 / √x as a factor, for x of at least 1, by the steps of the runtime's reference kernels.
inline Multiplier inverseRoot(int32_t x) {
  using Fixed32 = Fixed<int32_t>;
  if (x <= 1)
    return {std::numeric_limits<int32_t>::max(), 0};
  int right = 11;
  for (; x >= 1 << 29; x /= 4)
    ++right;
  int pairs = (llvm::countl_zero(static_cast<uint32_t>(x)) - 1) / 2 - 1;
  right -= pairs;
  x <<= 2 * pairs;
  // Newton's steps with three integer bits.
  int32_t half = Fixed32::scaled(x >> 1, -1), threeHalves = (1 << 28) + (1 << 27);
  int32_t root = Fixed32::one(3);
  for (int i = 0; i < 5; ++i) {
    int32_t cube = Fixed32::scaled(Fixed32::multiply(Fixed32::multiply(root, root), root), 6);
    root = Fixed32::scaled(wrappingSub(Fixed32::multiply(threeHalves, root), Fixed32::multiply(half, cube)), 3);
  }
  root = Fixed32::multiply(root, 1518500250); // √2 / 2
  if (right < 0) {
    root = static_cast<int32_t>(static_cast<uint32_t>(root) << -right);
    right = 0;
  }
  return {root, -right};
}

} // namespace origo::eval
