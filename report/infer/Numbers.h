#pragma once

#include "eval/RunOperator.h"
#include "ir/Provenance.h"

#include <cmath>
#include <optional>
#include <vector>

namespace origo::report {

/// The real numbers that a tensor stands for in one run, with what cannot change when elements are moved.
struct RealTensor {
  eval::Shape shape;
  std::vector<float> numbers;
  double most = 0, squares = 0;           ///< the largest size, and the sum of squares
  bool flat = true;                       ///< all are the same number, so that nothing tells one tensor from another
  float low = -INFINITY, high = INFINITY; ///< of a quantised one: the numbers that it can hold
  double quantum = 0; ///< of a quantised one: how far apart two numbers next to each other are at most

  /// None: it holds no numbers.
  static std::optional<RealTensor> of(const eval::Tensor &tensor);
  static std::optional<RealTensor> ofConstant(const Value &value);
  void measure();
  /// As a tensor would hold it that can hold no more than this.
  std::optional<RealTensor> clampedTo(const RealTensor &other) const;
};

/// Are the elements of a value real numbers, be they stored as integers?
bool isReal(const Value &value);
/// Do two tensors store their numbers in the same way?
bool isStoredAlike(const Value &a, const Value &b);

/// How far one number may be from another.
struct Slack {
  double absolute = 0, relative = 0;
  std::vector<double> byChannel = {}; ///< absolute, of the second tensor's channels
  size_t inner = 1;                   ///< elements of a channel that lie side by side
  double at(size_t element, double number) const {
    double all = byChannel.empty() ? absolute : byChannel[element / inner % byChannel.size()];
    return all + relative * (number < 0 ? -number : number);
  }
};
/// What rounding to the type of a constant explains: half a quantum.
Slack roundingOf(const Value &constant);

/// The steps that lead from one tensor to the other by moving elements; none: nothing that is looked for does.
std::optional<std::vector<Step>> stepsBetween(const RealTensor &from, const RealTensor &to, const Slack &slack);
/// The same with a factor, of all or along an axis of `to`, that is found by least squares and holds for each element.
std::optional<std::vector<Step>> scaledStepsBetween(const RealTensor &from, const RealTensor &to, const Slack &slack);
/// The part of `from` that `to` is, where `at` says which element of it each one is.
std::optional<std::vector<Step>> sliceBetween(llvm::ArrayRef<int32_t> from, const RealTensor &to,
                                              llvm::ArrayRef<float> at);

/// The steps that lead to `to` where it is `from` repeated along dimensions that have one place there.
std::optional<std::vector<Step>> spreadBetween(const RealTensor &from, const RealTensor &to, const Slack &slack);

/// `from` with such steps applied, in the shape of the result.
std::optional<RealTensor> applied(const RealTensor &from, llvm::ArrayRef<Step> steps, llvm::ArrayRef<int32_t> shape);

} // namespace origo::report
