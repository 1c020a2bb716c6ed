#include "quantize/Extremes.h"

#include "eval/fast/Processor.h"

#include <cmath>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace origo::quantize {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), lowest = std::numeric_limits<float>::lowest();

/// Of all but NaN: a comparison with it is false.
Extremes plain(const float *numbers, size_t count) {
  Extremes all;
  for (size_t i = 0; i < count; ++i) {
    all.min = numbers[i] < all.min ? numbers[i] : all.min;
    all.max = numbers[i] > all.max ? numbers[i] : all.max;
  }
  return all;
}

#ifdef __x86_64__
// The instructions' minimum of x and y is y where x is NaN. A few of them at a time, as each takes several cycles.
constexpr size_t chains = 4;

ORIGO_AVX2 Extremes avx2(const float *numbers, size_t count) {
  constexpr size_t lanes = 8;
  __m256 min[chains], max[chains];
  for (size_t k = 0; k < chains; ++k) {
    min[k] = _mm256_set1_ps(infinity);
    max[k] = _mm256_set1_ps(-infinity);
  }
  size_t i = 0;
  for (; i + chains * lanes <= count; i += chains * lanes)
    for (size_t k = 0; k < chains; ++k) {
      __m256 x = _mm256_loadu_ps(numbers + i + k * lanes);
      min[k] = _mm256_min_ps(x, min[k]);
      max[k] = _mm256_max_ps(x, max[k]);
    }
  Extremes all = plain(numbers + i, count - i);
  for (size_t k = 0; k < chains; ++k) {
    float low[lanes], high[lanes];
    _mm256_storeu_ps(low, min[k]);
    _mm256_storeu_ps(high, max[k]);
    for (size_t lane = 0; lane < lanes; ++lane)
      all.join({low[lane], high[lane]});
  }
  return all;
}

ORIGO_AVX512 Extremes avx512(const float *numbers, size_t count) {
  constexpr size_t lanes = 16;
  __m512 min[chains], max[chains];
  for (size_t k = 0; k < chains; ++k) {
    min[k] = _mm512_set1_ps(infinity);
    max[k] = _mm512_set1_ps(-infinity);
  }
  size_t i = 0;
  for (; i + chains * lanes <= count; i += chains * lanes)
    for (size_t k = 0; k < chains; ++k) {
      __m512 x = _mm512_loadu_ps(numbers + i + k * lanes);
      min[k] = _mm512_min_ps(x, min[k]);
      max[k] = _mm512_max_ps(x, max[k]);
    }
  Extremes all = plain(numbers + i, count - i);
  for (size_t k = 0; k < chains; ++k) {
    float low[lanes], high[lanes];
    _mm512_storeu_ps(low, min[k]);
    _mm512_storeu_ps(high, max[k]);
    for (size_t lane = 0; lane < lanes; ++lane)
      all.join({low[lane], high[lane]});
  }
  return all;
}
#else
constexpr auto avx2 = plain, avx512 = plain;
#endif

} // namespace

Extremes extremesOf(llvm::ArrayRef<float> numbers) {
  using Function = Extremes (*)(const float *, size_t);
  static const Function function = eval::forThisProcessor<Function>(plain, avx2, avx512);
  Extremes all = function(numbers.data(), numbers.size());
  if (all.min != lowest && all.max != lowest && all.min != -infinity)
    return all;
  // Something stands for nothing, which is rare.
  all = {};
  for (float x : numbers)
    if (x != lowest && !std::isnan(x))
      all.join({x, x});
  return all;
}

} // namespace origo::quantize
