#include "eval/fast/ByReference.h"
#include "eval/fast/Fast.h"
#include "eval/fast/Parallel.h"
#include "eval/fast/Processor.h"

#include <cstring>
#ifdef __x86_64__
#include <immintrin.h>
#endif

/// Functions of one number of 8 or 16 bits: what the reference kernel makes of each, looked up.
namespace origo::eval {

namespace {

/// What makes a table of 16 bit numbers pay.
constexpr int64_t fewElements = 1 << 14;

using LookUp = void (*)(const uint8_t *table, const uint8_t *x, uint8_t *y, size_t count);

void lookUpBytes(const uint8_t *table, const uint8_t *x, uint8_t *y, size_t count) {
  for (size_t i = 0; i < count; ++i)
    y[i] = table[x[i]];
}

#ifdef __x86_64__
/// Sixteen parts of the table: a byte that is not of a part has its highest bit set and finds 0 there.
ORIGO_AVX2 void lookUpShuffling(const uint8_t *table, const uint8_t *x, uint8_t *y, size_t count) {
  size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(x + i)), found = _mm256_setzero_si256();
    for (int part = 0; part < 16; ++part) {
      __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i *>(table + 16 * part));
      __m256i at = _mm256_xor_si256(bytes, _mm256_set1_epi8(static_cast<char>(16 * part)));
      at = _mm256_adds_epu8(at, _mm256_set1_epi8(0x70));
      found = _mm256_or_si256(found, _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(values), at));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(y + i), found);
  }
  lookUpBytes(table, x + i, y + i, count - i);
}

[[gnu::target("avx512f,avx512bw,avx512vbmi")]] void lookUpPermuting(const uint8_t *table, const uint8_t *x, uint8_t *y,
                                                                    size_t count) {
  __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + 64);
  __m512i c = _mm512_loadu_si512(table + 128), d = _mm512_loadu_si512(table + 192);
  size_t i = 0;
  for (; i + 64 <= count; i += 64) {
    __m512i at = _mm512_loadu_si512(x + i);
    _mm512_storeu_si512(y + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), _mm512_permutex2var_epi8(a, at, b),
                                                      _mm512_permutex2var_epi8(c, at, d)));
  }
  lookUpBytes(table, x + i, y + i, count - i);
}
#endif

LookUp lookUpHere() {
#ifdef __x86_64__
  if (processor() >= Processor::Vnni && __builtin_cpu_supports("avx512vbmi"))
    return lookUpPermuting;
  if (processor() >= Processor::Avx2)
    return lookUpShuffling;
#endif
  return lookUpBytes;
}

template <class From, class To> std::unique_ptr<FastKernel> lookUp(llvm::ArrayRef<uint8_t> bytes) {
  std::vector<To> table(bytes.size() / sizeof(To));
  std::memcpy(table.data(), bytes.data(), bytes.size());
  return fastKernel([table = std::move(table)](Operands in, Operands out, pthreadpool_t threads) {
    const From *x = dataOf<From>(*in[0]);
    To *y = dataOf<To>(*out[0]);
    static const LookUp lookUpAll = lookUpHere();
    parallelFor(threads, in[0]->storage.size() / sizeof(From), 1 << 13, [&](size_t first, size_t count) {
      if constexpr (sizeof(From) == 1 && sizeof(To) == 1)
        return lookUpAll(table.data(), x + first, y + first, count);
      for (size_t i = first; i < first + count; ++i)
        y[i] = table[x[i]];
    });
    return true;
  });
}

template <class From> std::unique_ptr<FastKernel> byTable(const FastSite &site) {
  constexpr int32_t numbers = 1 << 8 * sizeof(From);
  AllNumbers each(site.input(0), {numbers});
  auto table = computeByReference(site, each.tensor);
  if (!table)
    return nullptr;
  switch (table->size() / numbers) {
  case 1:
    return lookUp<From, uint8_t>(*table);
  case 2:
    return lookUp<From, uint16_t>(*table);
  case 4:
    return lookUp<From, uint32_t>(*table);
  default:
    return nullptr;
  }
}

std::unique_ptr<FastKernel> unary(const FastSite &site) {
  const Tensor &x = site.input(0), &y = site.output();
  if (site.constant(0) || hasManyScales(x) || hasManyScales(y))
    return nullptr;
  switch (x.type) {
  case TensorType::INT8:
  case TensorType::UINT8:
  case TensorType::BOOL:
    return byTable<uint8_t>(site);
  case TensorType::INT16:
    return y.rankKnown && y.count() < fewElements ? nullptr : byTable<uint16_t>(site);
  default:
    return nullptr;
  }
}

} // namespace

llvm::ArrayRef<FastRow> fastUnaryTable() {
  static const std::vector<FastRow> rows = [] {
    std::vector<FastRow> made;
    for (const OperatorInfo &info : allOperators())
      if (info.has(Trait::Unary))
        made.push_back({info.code, unary, Rank::Last});
    return made;
  }();
  return rows;
}

} // namespace origo::eval
