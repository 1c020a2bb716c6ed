#include "quantize/Histogram.h"

#include "llvm/ADT/bit.h"

#include <algorithm>

namespace origo::quantize {

// A float's bits are its place on the grid: eight of exponent and five of mantissa behind the sign.
constexpr unsigned shift = 18, firstCell = (127 - 64) << 5, perSign = Histogram::cells / 2;

uint64_t Histogram::total() const {
  uint64_t sum = 0;
  for (uint64_t count : counts)
    sum = sum + count < sum ? UINT64_MAX : sum + count;
  return sum;
}

void Histogram::add(llvm::ArrayRef<float> numbers) {
  if (counts.empty())
    counts.resize(cells);
  constexpr uint32_t infinity = 0x7f800000, lowest = 0xff7fffff;
  constexpr size_t block = 512;
  // First where each number goes, which the compiler makes vectors of. What counts nowhere goes behind the end.
  uint16_t places[block];
  std::array<uint64_t, 4> nowhere = {};
  for (size_t begin = 0; begin < numbers.size(); begin += block) {
    size_t length = std::min(block, numbers.size() - begin);
    const float *at = numbers.data() + begin;
    for (size_t i = 0; i < length; ++i) {
      auto bits = llvm::bit_cast<uint32_t>(at[i]), magnitude = bits & 0x7fffffff;
      int32_t cell = static_cast<int32_t>(magnitude >> shift) - static_cast<int32_t>(firstCell);
      cell = cell < 0 ? 0 : cell;
      cell = cell > static_cast<int32_t>(perSign) - 1 ? static_cast<int32_t>(perSign) - 1 : cell;
      int32_t place =
          static_cast<int32_t>(bits) < 0 ? static_cast<int32_t>(zero) - 1 - cell : static_cast<int32_t>(zero) + cell;
      place = magnitude >= infinity || bits == lowest ? static_cast<int32_t>(cells) : place;
      places[i] = static_cast<uint16_t>(place);
    }
    for (size_t i = 0; i < length; ++i)
      ++(places[i] < cells ? counts[places[i]] : nowhere[0]);
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
