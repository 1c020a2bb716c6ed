#include "origin/Sha256.h"

#include <cstring>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace origo::origin {

#ifdef __x86_64__

// The same of the cube roots of the first 64 primes.
alignas(16) static constexpr uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

bool Sha256::hasInstructions() {
  static const bool has = [] {
    unsigned a, b, c, d;
    return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1);
  }();
  return has;
}

[[gnu::target("sha,sse4.1")]] static void addBlocks(uint32_t (&state)[8], const uint8_t *data, size_t count) {
  auto *memory = reinterpret_cast<__m128i *>(state);
  const __m128i bigEndian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  // The instructions want the state as ABEF and CDGH, from the highest word down.
  __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(memory), 0xB1);
  __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(memory + 1), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  for (; count; --count, data += 64) {
    __m128i before[2] = {abef, cdgh}, words[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      if (i < 4) {
        words[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i *>(data) + i), bigEndian);
      } else {
        __m128i sums = _mm_add_epi32(_mm_sha256msg1_epu32(words[i - 4], words[i - 3]),
                                     _mm_alignr_epi8(words[i - 1], words[i - 2], 4));
        words[i] = _mm_sha256msg2_epu32(sums, words[i - 1]);
      }
      __m128i round = _mm_add_epi32(words[i], _mm_load_si128(reinterpret_cast<const __m128i *>(constants) + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, round);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(round, 0x0E));
    }
    abef = _mm_add_epi32(abef, before[0]);
    cdgh = _mm_add_epi32(cdgh, before[1]);
  }
  __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(memory, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(memory + 1, _mm_alignr_epi8(dchg, feba, 8));
}

#else

bool Sha256::hasInstructions() { return false; }
static void addBlocks(uint32_t (&)[8], const uint8_t *, size_t) {}

#endif

void Sha256::update(llvm::ArrayRef<uint8_t> bytes) {
  if (!byInstructions) {
    plain.update(bytes);
    return;
  }
  if (bytes.empty())
    return;
  total += bytes.size();
  if (used) {
    size_t some = std::min(bytes.size(), sizeof block - used);
    std::memcpy(block + used, bytes.data(), some);
    used += some;
    bytes = bytes.drop_front(some);
    if (used < sizeof block)
      return;
    addBlocks(state, block, 1);
    used = 0;
  }
  size_t whole = bytes.size() / sizeof block;
  addBlocks(state, bytes.data(), whole);
  bytes = bytes.drop_front(whole * sizeof block);
  if (!bytes.empty())
    std::memcpy(block, bytes.data(), used = bytes.size());
}

std::array<uint8_t, 32> Sha256::final() {
  if (!byInstructions)
    return plain.final();
  // A bit, zeros up to the last eight bytes of a block, and the number of bits.
  uint64_t bits = total * 8;
  uint8_t end[128] = {0x80};
  size_t length = (used < 56 ? 64 : 128) - used;
  for (size_t i = 0; i < 8; ++i)
    end[length - 1 - i] = static_cast<uint8_t>(bits >> 8 * i);
  update({end, length});
  std::array<uint8_t, 32> digest;
  for (size_t i = 0; i < 32; ++i)
    digest[i] = static_cast<uint8_t>(state[i / 4] >> (24 - i % 4 * 8));
  return digest;
}

} // namespace origo::origin
