#pragma once

#include "eval/Tensor.h"

#include <optional>
#include <vector>

namespace origo::eval {

struct OwnedTensor;

bool isFloat(TensorType type);
/// Are its elements integers that stand for real numbers?
bool isQuantized(const Tensor &tensor);

/// The elements as they are stored; none for types that are not numbers.
std::optional<std::vector<double>> storedNumbers(const Tensor &tensor);
/// The real numbers that a tensor stands for.
std::optional<std::vector<double>> realNumbers(const Tensor &tensor);
std::optional<std::vector<double>> realNumbers(OwnedTensor &tensor, const Quantization *quantization);

/// The other way: each element becomes the nearest that its type can hold. False for types that it cannot do this to.
bool storeNumbers(Tensor &tensor, llvm::ArrayRef<double> numbers);
/// Can it do so with tensors of this type?
bool storesNumbers(TensorType type);
/// Makes `to`, of as many elements, what `from` stands for, element by element. False: one of them is not numbers.
bool copyNumbers(const Tensor &from, Tensor &to);

/// Tells the channel of each element of a tensor that is quantised by channel, or the block; else all are channel 0.
class Channels {
public:
  explicit Channels(const Tensor &tensor);
  size_t of(size_t element) const { return element / inner % count; }
  double scale(size_t channel) const { return blocks.empty() ? tensor.scaleOf(channel) : blocks[channel]; }
  double zeroPoint(size_t channel) const { return blocks.empty() ? tensor.zeroPointOf(channel) : 0; }
  bool byBlock() const { return !blocks.empty(); }
  bool fit = true; ///< the channels are those of the shape

private:
  const Tensor &tensor;
  std::vector<float> blocks; ///< their scales
  size_t inner = 1, count = 1;
};

} // namespace origo::eval
