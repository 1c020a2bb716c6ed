#pragma once

#include "eval/Kernels.h"
#include "eval/kernels/Views.h"
#include "ir/DetachedOperator.h"

/// Results of operators on constants that kernels compute part by part, when somebody reads them.
namespace origo::eval {

struct Box;

/// An elementwise operator: its kernel runs on boxes of operands and result.
class ElementwiseFold : public Computation {
public:
  /// Is the operator one of those, and are its operands dense constants that broadcast to the stated result?
  static bool canFold(const Operator &op);
  explicit ElementwiseFold(const Operator &op);

  void fill(uint64_t offset, llvm::MutableArrayRef<uint8_t> window) const override;
  unsigned cost() const override { return windowCost; }

  /// Is shown a run of the kernel; false: enough.
  using See = llvm::function_ref<bool(const KernelContext &)>;
  /// The elements [first, first + count) of the result, at `to`; false if `see` has had enough.
  llvm::Expected<bool> compute(int64_t first, int64_t count, uint8_t *to, See see) const;
  /// The first `count` elements of the result, which are then forgotten.
  llvm::Expected<bool> look(int64_t count, See see) const;

private:
  const DetachedOperator detached;
  const Operator &op;
  const Kernel &kernel;
  const uint64_t size; ///< of an element of the result
  unsigned windowCost = 1;
  llvm::Expected<bool> runBox(const Box &box, llvm::MutableArrayRef<uint8_t> to, See see) const;
};

/// A constant of floats, rounded to integers of any width: clamp(round(x / scale) + zero point), halves away from zero,
/// NaN as 0; with a scale for each channel or one for all. What kernels compute for the types that they have. Or
/// rounded to halves, which no kernel makes.
class QuantizeFold : public Computation {
public:
  /// Is it a QUANTIZE of a dense constant of floats to a stated shape, with scales that fit, or a CAST to FLOAT16?
  static bool canFold(const Operator &op);
  explicit QuantizeFold(const Operator &op);
  uint64_t size() const; ///< in bytes
  void fill(uint64_t offset, llvm::MutableArrayRef<uint8_t> window) const override;
  unsigned cost() const override { return 1 + numbers.cost(); }

private:
  const Payload numbers;
  const TensorType type;
  const uint64_t count;
  std::vector<double> scale, zeroPoint; ///< by channel; or, without zero points, there are
  llvm::ArrayRef<float> blockScales;    ///< those of blocks: of millions, so that they stay in the model's arena
  static bool isInteger(TensorType type);
  double scaleAt(size_t channel) const { return blockScales.empty() ? scale[channel] : blockScales[channel]; }
  double zeroPointAt(size_t channel) const { return blockScales.empty() ? zeroPoint[channel] : 0; }
  size_t channelOf(uint64_t element) const {
    size_t channels = blockScales.empty() ? scale.size() : blockScales.size();
    return channels == 1 ? 0 : element / inner % channels;
  }
  uint64_t inner = 1; ///< elements that lie behind each other in one channel
};

/// The elements of a payload that has bytes, at steps.
class ViewFold : public Computation {
public:
  ViewFold(Payload elements, View view, uint64_t size)
      : elements(std::move(elements)), view(std::move(view)), size(size) {}
  void fill(uint64_t offset, llvm::MutableArrayRef<uint8_t> window) const override;
  /// Does it go through elements that lie one behind the other?
  static bool isPiece(const View &view);

private:
  const Payload elements;
  const View view;
  const uint64_t size; ///< of an element
};

/// A payload that is computed when it is read; or at once if it is so small that a computation would take as much
/// memory.
Payload madeOf(std::shared_ptr<const Computation> computation, uint64_t size, PayloadStore &store);

} // namespace origo::eval
