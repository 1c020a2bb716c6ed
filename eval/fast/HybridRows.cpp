#include "eval/fast/HybridRows.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace origo::eval {

namespace {

std::pair<float, float> rangePlain(const float *values, int64_t count) {
  float least = 0, most = 0;
  for (int64_t i = 0; i < count; ++i) {
    least = std::min(least, values[i]);
    most = std::max(most, values[i]);
  }
  return {least, most};
}

template <class T> void quantizePlain(const float *values, int64_t count, const HybridScale &by, T *out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(by.quantize(values[i]) + (sizeof(T) == 1 ? by.zero : 0));
}

#ifdef __x86_64__
// Without fused products and sums: the numbers are to be the reference kernels'.

[[gnu::target("avx2")]] std::pair<float, float> rangeAvx2(const float *values, int64_t count) {
  constexpr int64_t width = 8, some = 4;
  __m256 least[some] = {}, most[some] = {};
  int64_t i = 0;
  for (; i + some * width <= count; i += some * width)
    for (int64_t n = 0; n < some; ++n) {
      __m256 x = _mm256_loadu_ps(values + i + n * width);
      least[n] = _mm256_min_ps(x, least[n]); // the second one, if x is NaN
      most[n] = _mm256_max_ps(x, most[n]);
    }
  float lows[some * width], highs[some * width];
  for (int64_t n = 0; n < some; ++n) {
    _mm256_storeu_ps(lows + n * width, least[n]);
    _mm256_storeu_ps(highs + n * width, most[n]);
  }
  auto rest = rangePlain(values + i, count - i);
  return {std::min(rest.first, rangePlain(lows, some * width).first),
          std::max(rest.second, rangePlain(highs, some * width).second)};
}

template <class T>
[[gnu::target("avx2")]] void quantizeAvx2(const float *values, int64_t count, const HybridScale &by, T *out) {
  constexpr int64_t width = 8;
  __m256 inverse = _mm256_set1_ps(by.inverse), zero = _mm256_set1_ps(by.zero), low = _mm256_set1_ps(by.low);
  __m256 high = _mm256_set1_ps(127), sign = _mm256_set1_ps(-0.f);
  // Half away from zero: the largest number below a half is added, and the rest cut off.
  __m256 half = _mm256_set1_ps(0.49999997f);
  int64_t i = 0;
  for (; i + width <= count; i += width) {
    __m256 x = _mm256_add_ps(zero, _mm256_mul_ps(_mm256_loadu_ps(values + i), inverse));
    x = _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
    x = _mm256_min_ps(_mm256_max_ps(x, low), high);
    x = _mm256_round_ps(_mm256_add_ps(x, _mm256_or_ps(half, _mm256_and_ps(x, sign))),
                        _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    if constexpr (sizeof(T) > 1)
      x = _mm256_sub_ps(x, zero);
    if constexpr (std::is_same_v<T, float>) {
      _mm256_storeu_ps(out + i, x);
    } else {
      __m256i whole = _mm256_cvttps_epi32(x);
      __m128i packed = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
      if constexpr (sizeof(T) == 1)
        _mm_storel_epi64(reinterpret_cast<__m128i *>(out + i), _mm_packs_epi16(packed, packed));
      else
        _mm_storeu_si128(reinterpret_cast<__m128i *>(out + i), packed);
    }
  }
  quantizePlain(values + i, count - i, by, out + i);
}

bool hasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
#endif

template <class T> void quantize(const float *values, int64_t count, const HybridScale &by, T *out) {
  if (by.empty)
    return std::fill(out, out + count, T(0));
#ifdef __x86_64__
  if (hasAvx2())
    return quantizeAvx2(values, count, by, out);
#endif
  quantizePlain(values, count, by, out);
}

} // namespace

std::pair<float, float> rangeWithZero(const float *values, int64_t count) {
#ifdef __x86_64__
  if (hasAvx2())
    return rangeAvx2(values, count);
#endif
  return rangePlain(values, count);
}

void quantizeHybrid(const float *values, int64_t count, const HybridScale &by, float *out) {
  quantize(values, count, by, out);
}

void quantizeHybrid(const float *values, int64_t count, const HybridScale &by, int16_t *out) {
  quantize(values, count, by, out);
}

void quantizeHybrid(const float *values, int64_t count, const HybridScale &by, int8_t *out) {
  quantize(values, count, by, out);
}

} // namespace origo::eval
