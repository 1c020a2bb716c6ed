#pragma once

#include <cstdint>
#include <cstring>

/// Vectors of floats, for functions that are compiled for a processor that has them.
namespace origo::eval {

using Vector4 = float __attribute__((vector_size(16)));
using Vector8 = float __attribute__((vector_size(32)));
using Vector16 = float __attribute__((vector_size(64)));
template <class V> constexpr int64_t lanesOf = sizeof(V) / sizeof(float);

/// They may lie anywhere.
template <class V> [[gnu::always_inline]] inline void load(V &to, const float *from) {
  std::memcpy(&to, from, sizeof to);
}
template <class V> [[gnu::always_inline]] inline void store(float *to, const V &from) {
  std::memcpy(to, &from, sizeof from);
}

/// To within the bounds, numbers and many of them at once. NaN stays: so the processor's maximum and minimum do with
/// their second operand.
template <class V> [[gnu::always_inline]] inline void clamp(V &x, const V &low, const V &high) {
  x = low > x ? low : x;
  x = high < x ? high : x;
}

} // namespace origo::eval
