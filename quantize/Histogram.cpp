#include "quantize/Histogram.h"

#include "eval/fast/Processor.h"

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace origo::quantize {

// A float's bits are its place on the grid: eight of exponent and five of mantissa behind the sign.
constexpr unsigned shift = 18, firstCell = (127 - 64) << 5, perSign = Histogram::cells / 2;

uint64_t Histogram::total() const {
  uint64_t sum = 0;
  for (uint64_t count : counts)
    sum = sum + count < sum ? UINT64_MAX : sum + count;
  return sum;
}

namespace {

// Four counters a cell, taken in turn: adding to one waits until it has been added to before, and there are many zeros.
constexpr size_t turns = 4, block = 1024;

/// The cells of numbers, in any order; what counts nowhere is in the last ones. Widens the span of cells in use.
struct Used {
  uint16_t first = Histogram::cells - 1, last = 0;
};

void plain(const float *numbers, size_t count, uint16_t *places, Used &used) {
  for (size_t i = 0; i < count; ++i) {
    auto bits = __builtin_bit_cast(int32_t, numbers[i]);
    int32_t cell = ((bits & 0x7fffffff) >> shift) - static_cast<int32_t>(firstCell);
    cell = std::clamp(cell, 0, static_cast<int32_t>(perSign) - 1) ^ (bits >> 31); // all ones behind a minus
    places[i] = static_cast<uint16_t>(static_cast<int32_t>(perSign) + cell);
    used.first = std::min(used.first, places[i]);
    used.last = std::max(used.last, places[i]);
  }
}

#ifdef __x86_64__
ORIGO_AVX2 void avx2(const float *numbers, size_t count, uint16_t *places, Used &used) {
  constexpr size_t lanes = 16;
  __m256i first = _mm256_set1_epi16(static_cast<int16_t>(used.first)),
          last = _mm256_set1_epi16(static_cast<int16_t>(used.last));
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(numbers + i));
    __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(numbers + i + lanes / 2));
    __m256i magnitudes = _mm256_packus_epi32(_mm256_srli_epi32(_mm256_slli_epi32(a, 1), shift + 1),
                                             _mm256_srli_epi32(_mm256_slli_epi32(b, 1), shift + 1));
    __m256i signs = _mm256_packs_epi32(_mm256_srai_epi32(a, 31), _mm256_srai_epi32(b, 31));
    __m256i cells =
        _mm256_min_epu16(_mm256_subs_epu16(magnitudes, _mm256_set1_epi16(firstCell)), _mm256_set1_epi16(perSign - 1));
    __m256i all = _mm256_add_epi16(_mm256_xor_si256(cells, signs), _mm256_set1_epi16(perSign));
    first = _mm256_min_epu16(first, all);
    last = _mm256_max_epu16(last, all);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(places + i), all);
  }
  uint16_t low[lanes], high[lanes];
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(low), first);
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(high), last);
  used = {*std::min_element(low, low + lanes), *std::max_element(high, high + lanes)};
  plain(numbers + i, count - i, places + i, used);
}
#else
constexpr auto avx2 = plain;
#endif

} // namespace

void Histogram::add(llvm::ArrayRef<float> numbers) {
  if (counts.empty())
    counts.resize(cells);
  using Function = void (*)(const float *, size_t, uint16_t *, Used &);
  static const Function function = eval::forThisProcessor<Function>(plain, avx2, avx2);
  static thread_local std::vector<uint32_t> few(cells * turns);
  uint32_t *one = few.data(), *two = one + cells, *three = two + cells, *four = three + cells;
  uint16_t places[block];
  constexpr size_t most = size_t(1) << 31, little = 4096;
  for (size_t begin = 0; begin < numbers.size();) {
    llvm::ArrayRef<float> part = numbers.slice(begin).take_front(most); // as many as the small counters hold
    size_t end = begin + part.size();
    Used used;
    for (; begin < end; begin += block) {
      size_t length = std::min(block, end - begin), i = 0;
      function(numbers.data() + begin, length, places, used);
      if (numbers.size() < little) { // adding the small counters up would take longer
        for (; i < length; ++i)
          ++counts[places[i]];
        continue;
      }
      for (; i + turns <= length; i += turns) {
        uint64_t next; // four at once
        std::memcpy(&next, places + i, sizeof(next));
        ++one[next & 0xffff];
        ++two[next >> 16 & 0xffff];
        ++three[next >> 32 & 0xffff];
        ++four[next >> 48];
      }
      for (; i < length; ++i)
        ++one[places[i]];
    }
    begin = end;
    if (numbers.size() >= little)
      for (size_t cell = used.first; cell <= used.last; ++cell) {
        counts[cell] += uint64_t(one[cell]) + two[cell] + three[cell] + four[cell];
        one[cell] = two[cell] = three[cell] = four[cell] = 0;
      }
    if (used.first > 0 && used.last < cells - 1)
      continue;
    // What counts nowhere, which is rare, is there now.
    for (float x : part)
      if (!std::isfinite(x) || x == std::numeric_limits<float>::lowest())
        --counts[std::signbit(x) ? 0 : cells - 1];
  }
}

void Histogram::add(unsigned cell, uint64_t count) {
  if (counts.empty())
    counts.resize(cells);
  counts[cell] = counts[cell] + count < count ? UINT64_MAX : counts[cell] + count;
}

void Histogram::add(const Histogram &other) {
  for (unsigned cell = 0; cell < other.counts.size(); ++cell)
    add(cell, other.counts[cell]);
}

/// Where the cells of one sign begin.
static float edge(unsigned cell) {
  return cell == 0         ? 0.0f
         : cell >= perSign ? std::numeric_limits<float>::max()
                           : llvm::bit_cast<float>((cell + firstCell) << shift);
}

float Histogram::low(unsigned cell) { return cell >= zero ? edge(cell - zero) : -edge(zero - cell); }
float Histogram::high(unsigned cell) { return cell >= zero ? edge(cell - zero + 1) : -edge(zero - 1 - cell); }

} // namespace origo::quantize
