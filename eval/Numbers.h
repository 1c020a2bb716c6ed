#pragma once

#include "llvm/ADT/bit.h"

#include <cmath>
#include <cstdint>

/// Element types that C++ does not have.
namespace origo::eval {

inline float halfToFloat(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16, exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
  if (exponent == 0x1f)
    return llvm::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent)
    return llvm::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  float small = std::ldexp(static_cast<float>(fraction), -24);
  return sign ? -small : small;
}

/// Rounded to nearest, ties to even.
inline uint16_t floatToHalf(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000)
    return static_cast<uint16_t>(sign | 0x7e00);
  if (rest >= 0x477ff000)
    return static_cast<uint16_t>(sign | 0x7c00);
  if (rest < 0x38800000) // below the normal numbers: counted in units of 2^-24
    return static_cast<uint16_t>(sign |
                                 static_cast<uint32_t>(std::nearbyint(std::ldexp(llvm::bit_cast<float>(rest), 24))));
  uint32_t rounded = rest + 0xfff + (rest >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

/// Element i of a tensor of packed int4: the even ones are in the low halves.
inline int8_t int4At(const uint8_t *packed, int64_t i) {
  uint8_t half = i % 2 ? packed[i / 2] >> 4 : packed[i / 2] & 0xf;
  return static_cast<int8_t>(half >= 8 ? half - 16 : half);
}

/// The same of int2: four a byte, the first in the lowest bits.
inline int8_t int2At(const uint8_t *packed, int64_t i) {
  uint8_t quarter = packed[i / 4] >> (i % 4 * 2) & 3;
  return static_cast<int8_t>(quarter >= 2 ? quarter - 4 : quarter);
}

/// The upper half of a float. Rounded to nearest, ties to even.
inline uint16_t floatToBFloat(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace origo::eval
