#include "eval/fast/IntegerProduct.h"

#include <cstring>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace origo::eval {

namespace {

void addPlain(const int16_t *const *left, int64_t rows, const int8_t *stripe, int64_t pairs, Sums<int32_t> &sums) {
  for (int64_t r = 0; r < rows; ++r) {
    const int8_t *b = stripe;
    for (int64_t k = 0; k < pairs; ++k, b += 2 * PackedMatrix::width)
      for (size_t c = 0; c < PackedMatrix::width; ++c) {
        auto products =
            static_cast<uint32_t>(left[r][2 * k] * b[2 * c]) + static_cast<uint32_t>(left[r][2 * k + 1] * b[2 * c + 1]);
        sums[r][c] = static_cast<int32_t>(static_cast<uint32_t>(sums[r][c]) + products);
      }
  }
}

#ifdef __x86_64__
int32_t pairAt(const int16_t *left, int64_t k) {
  int32_t pair;
  std::memcpy(&pair, left + 2 * k, sizeof pair);
  return pair;
}

template <int Rows>
[[gnu::target("avx2")]] void rowsAvx2(const int16_t *const *left, const int8_t *stripe, int64_t pairs,
                                      Sums<int32_t> &sums, int64_t first) {
  __m256i low[Rows], high[Rows];
  auto *at = reinterpret_cast<__m256i *>(&sums[first]);
  for (int r = 0; r < Rows; ++r) {
    low[r] = _mm256_loadu_si256(at + 2 * r);
    high[r] = _mm256_loadu_si256(at + 2 * r + 1);
  }
  for (int64_t k = 0; k < pairs; ++k) {
    auto *b = reinterpret_cast<const __m128i *>(stripe) + 2 * k;
    __m256i b0 = _mm256_cvtepi8_epi16(_mm_loadu_si128(b)), b1 = _mm256_cvtepi8_epi16(_mm_loadu_si128(b + 1));
    for (int r = 0; r < Rows; ++r) {
      __m256i a = _mm256_set1_epi32(pairAt(left[first + r], k));
      low[r] = _mm256_add_epi32(low[r], _mm256_madd_epi16(a, b0));
      high[r] = _mm256_add_epi32(high[r], _mm256_madd_epi16(a, b1));
    }
  }
  for (int r = 0; r < Rows; ++r) {
    _mm256_storeu_si256(at + 2 * r, low[r]);
    _mm256_storeu_si256(at + 2 * r + 1, high[r]);
  }
}

void addAvx2(const int16_t *const *left, int64_t rows, const int8_t *stripe, int64_t pairs, Sums<int32_t> &sums) {
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4)
    rowsAvx2<4>(left, stripe, pairs, sums, row);
  for (; row < rows; ++row)
    rowsAvx2<1>(left, stripe, pairs, sums, row);
}

template <int Rows>
[[gnu::target("avx512f,avx512bw")]] void rowsAvx512(const int16_t *const *left, const int8_t *stripe, int64_t pairs,
                                                    Sums<int32_t> &sums, int64_t first) {
  __m512i all[Rows];
  for (int r = 0; r < Rows; ++r)
    all[r] = _mm512_loadu_si512(&sums[first + r]);
  for (int64_t k = 0; k < pairs; ++k) {
    __m512i b = _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(stripe) + k));
    for (int r = 0; r < Rows; ++r) {
      __m512i a = _mm512_set1_epi32(pairAt(left[first + r], k));
      all[r] = _mm512_add_epi32(all[r], _mm512_madd_epi16(a, b));
    }
  }
  for (int r = 0; r < Rows; ++r)
    _mm512_storeu_si512(&sums[first + r], all[r]);
}

void addAvx512(const int16_t *const *left, int64_t rows, const int8_t *stripe, int64_t pairs, Sums<int32_t> &sums) {
  if (rows == maxRows)
    return rowsAvx512<maxRows>(left, stripe, pairs, sums, 0);
  int64_t row = 0;
  for (; row + 2 <= rows; row += 2)
    rowsAvx512<2>(left, stripe, pairs, sums, row);
  if (row < rows)
    rowsAvx512<1>(left, stripe, pairs, sums, row);
}

#endif

} // namespace

llvm::ArrayRef<AddProducts> allAddProducts() {
  static const std::vector<AddProducts> all = [] {
    std::vector<AddProducts> found;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
      found.push_back(addAvx512);
    if (__builtin_cpu_supports("avx2"))
      found.push_back(addAvx2);
#endif
    found.push_back(addPlain);
    return found;
  }();
  return all;
}

} // namespace origo::eval
