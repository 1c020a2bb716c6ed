#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/SHA256.h"

#include <array>

namespace origo::origin {

/// SHA-256, by the processor's instructions for it where it has them. With LLVM's, two fifths of the instructions of
/// reading a small network and running it once were in here.
class Sha256 {
public:
  static bool hasInstructions();
  /// `byInstructions`: only where there are some.
  explicit Sha256(bool byInstructions = hasInstructions()) : byInstructions(byInstructions) {}
  void update(llvm::ArrayRef<uint8_t> bytes);
  std::array<uint8_t, 32> final();

private:
  bool byInstructions;
  llvm::SHA256 plain;
  // The first 32 bits of the fractions of the square roots of the first primes.
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t block[64];
  size_t used = 0;
  uint64_t total = 0;
};

} // namespace origo::origin
