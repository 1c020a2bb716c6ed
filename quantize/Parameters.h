#pragma once

#include "quantize/Constraints.h"
#include "quantize/Extremes.h"

/// Scales and zero points: real = scale · (integer − zero point). Computed in double, kept as float.
namespace origo::quantize {

struct Parameters {
  float scale = 1;
  int64_t zeroPoint = 0;
};

/// Of an activation, or of a constant that is used like one: asymmetric in 8 bits, symmetric in 16. The range is made
/// to contain 0. ONE, uint8: (max − min)/255, −min/scale; a range on one side of 0 has its zero point at the end; at
/// least 1e-5. ONE, int16, and TensorFlow Lite's: greatest magnitude/32767. TensorFlow Lite, int8: (max − min)/255,
/// −128 − min/scale.
Parameters activationParameters(Extremes range, TensorType type, Dialect dialect);

/// Of weights, or of one channel of them. Asymmetric for uint8, as above; else symmetric, greatest magnitude / 7, 127
/// or 32767.
/// `hasFloor`: TensorFlow Lite's scales are not below the converter's floor, under which a channel is next to nothing.
Parameters weightParameters(Extremes range, TensorType type, Dialect dialect, bool hasFloor = true);
/// Is there anything above that floor in one of the channels? Where there is not, it is all that the network has.
bool reachesFloor(llvm::ArrayRef<Extremes> ranges);

/// The greatest integer of symmetric weights, which is the least one's magnitude.
double largestWeight(TensorType type);

/// The extremes of a dense constant of floats: of each channel along `axis`, or, where that is negative, of all. Or of
/// each block of so many elements in a row. Goes through the bytes once, and keeps none.
std::vector<Extremes> extremesOf(const Value &constant, int32_t axis, int32_t blockSize = 0);

/// Where the greatest magnitudes of symmetric weights are cut.
enum class WeightClip : uint8_t {
  None,
  LeastSquares, ///< where the sum of the squares of what rounding and cutting take away is least, by trying
  Mse,          ///< where it is least of numbers that are spread normally: by their root mean square alone
  Octav,        ///< by the fixed point of what rounding and cutting take away: Sakr et al., 2022; ten steps
};
std::vector<Extremes> clippedExtremesOf(const Value &constant, int32_t axis, TensorType type, WeightClip clip,
                                        int32_t blockSize = 0);

/// Of weights with a zero point, in steps of 2ᵇⁱᵗˢ − 1; with 0 among them.
Parameters asymmetricWeights(Extremes range, TensorType type);

} // namespace origo::quantize
