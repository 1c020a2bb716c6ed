#include "eval/kernels/Dots.h"

#include "eval/FixedPoint.h"

namespace origo::eval {

static int32_t dotOfIntegers(const int8_t *x, const int16_t *y, int64_t count) {
  int32_t sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum = wrappingAdd<int32_t>(sum, x[i] * y[i]);
  return sum;
}

static float dotOfFloats(const float *x, const float *y, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += x[i] * y[i];
  return sum;
}

const Dots plainDots = {dotOfIntegers, dotOfFloats};

} // namespace origo::eval
