#include "eval/fast/HybridRows.h"

#include <cstring>

namespace origo::eval {

namespace {

/// Sixteen numbers, in as many registers as the processor takes for them.
using Floats = float __attribute__((vector_size(64)));
using Integers = int32_t __attribute__((vector_size(64)));
constexpr int64_t width = 16;

/// `each(vector, where)`; the last one is filled up with zeros.
template <class Each> [[gnu::always_inline]] inline void forVectors(const float *values, int64_t count, Each each) {
  int64_t i = 0;
  for (; i + width <= count; i += width) {
    Floats x;
    std::memcpy(&x, values + i, sizeof x);
    each(x, i);
  }
  if (i == count)
    return;
  Floats x = {};
  std::memcpy(&x, values + i, static_cast<size_t>(count - i) * sizeof(float));
  each(x, i);
}

[[gnu::always_inline]] inline std::pair<float, float> range(const float *values, int64_t count) {
  Floats least = {}, most = {};
  forVectors(
      values, count, [&](const Floats &x, int64_t) __attribute__((always_inline)) {
        least = x < least ? x : least;
        most = x > most ? x : most;
      });
  std::pair<float, float> all(0, 0);
  for (int64_t i = 0; i < width; ++i)
    all = {std::min(all.first, least[i]), std::max(all.second, most[i])};
  return all;
}

template <class T>
[[gnu::always_inline]] inline void quantize(const float *values, int64_t count, const HybridScale &by, T *out) {
  Floats nothing = {};
  Floats zero = nothing + by.zero, low = nothing + by.low, high = nothing + 127.f;
  Integers zeros = __builtin_convertvector(zero, Integers);
  forVectors(
      values, count, [&](const Floats &x, int64_t at) __attribute__((always_inline)) {
        Floats number = zero + x * by.inverse;
        number = number == number ? number : nothing;
        number = number < low ? low : number > high ? high : number;
        // Half away from zero: the largest number below a half is added, and the rest cut off.
        number += number < nothing ? nothing - 0.49999997f : nothing + 0.49999997f;
        Integers whole = __builtin_convertvector(number, Integers) - zeros;
        typedef T Result __attribute__((vector_size(16 * sizeof(T))));
        Result result = __builtin_convertvector(whole, Result);
        std::memcpy(out + at, &result, static_cast<size_t>(std::min(width, count - at)) * sizeof(T));
      });
}

// The same code for what different processors have. None fuses products and sums: the numbers are to be the reference
// kernels'.
struct Here {
  std::pair<float, float> (*range)(const float *, int64_t);
  void (*toFloats)(const float *, int64_t, const HybridScale &, float *);
  void (*toIntegers)(const float *, int64_t, const HybridScale &, int16_t *);
};
#define FOR_PROCESSOR(name, target)                                                                                    \
  target std::pair<float, float> range##name(const float *x, int64_t count) { return range(x, count); }                \
  target void floats##name(const float *x, int64_t count, const HybridScale &by, float *out) {                         \
    quantize(x, count, by, out);                                                                                       \
  }                                                                                                                    \
  target void integers##name(const float *x, int64_t count, const HybridScale &by, int16_t *out) {                     \
    quantize(x, count, by, out);                                                                                       \
  }                                                                                                                    \
  constexpr Here here##name = {range##name, floats##name, integers##name};
FOR_PROCESSOR(Plain, )
#ifdef __x86_64__
FOR_PROCESSOR(Avx2, [[gnu::target("avx2")]])
const Here &here() {
  static const Here &chosen = __builtin_cpu_supports("avx2") ? hereAvx2 : herePlain;
  return chosen;
}
#else
const Here &here() { return herePlain; }
#endif
#undef FOR_PROCESSOR

} // namespace

std::pair<float, float> rangeWithZero(const float *values, int64_t count) { return here().range(values, count); }

void quantizeHybrid(const float *values, int64_t count, const HybridScale &by, float *out) {
  if (by.empty)
    std::fill(out, out + count, 0.f);
  else
    here().toFloats(values, count, by, out);
}

void quantizeHybrid(const float *values, int64_t count, const HybridScale &by, int16_t *out) {
  if (by.empty)
    std::fill(out, out + count, int16_t(0));
  else
    here().toIntegers(values, count, by, out);
}

} // namespace origo::eval
