#pragma once

#include <cstdint>
#include <iterator>

namespace origo::fuzz {

/// splitmix64, as the text form has it: the same numbers on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t bits() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  unsigned below(unsigned end) { return static_cast<unsigned>((bits() >> 32) * end >> 32); }
  bool once(unsigned in) { return below(in) == 0; }
  template <class List> auto &of(const List &list) { return list[below(static_cast<unsigned>(std::size(list)))]; }

private:
  uint64_t state;
};

} // namespace origo::fuzz
