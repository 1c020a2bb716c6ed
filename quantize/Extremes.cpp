#include "quantize/Extremes.h"

namespace origo::quantize {

Extremes extremesOf(llvm::ArrayRef<float> numbers) {
  // Lanes, because a compiler does not reorder comparisons of floats by itself.
  constexpr size_t lanes = 16;
  constexpr float lowest = std::numeric_limits<float>::lowest();
  float min[lanes], max[lanes];
  for (size_t k = 0; k < lanes; ++k) {
    min[k] = Extremes().min;
    max[k] = Extremes().max;
  }
  size_t i = 0;
  for (; i + lanes <= numbers.size(); i += lanes)
    for (size_t k = 0; k < lanes; ++k) {
      float x = numbers[i + k], forMin = x == lowest ? min[k] : x;
      // A comparison with NaN is false.
      min[k] = forMin < min[k] ? forMin : min[k];
      max[k] = x > max[k] && x != lowest ? x : max[k];
    }
  Extremes all;
  for (size_t k = 0; k < lanes; ++k)
    all.join({min[k], max[k]});
  for (; i < numbers.size(); ++i)
    if (float x = numbers[i]; x != lowest)
      all.join({x, x});
  return all;
}

} // namespace origo::quantize
