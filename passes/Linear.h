#pragma once

#include "passes/Rule.h"

#include <cmath>

namespace origo {

/// What Conv2D, DepthwiseConv2D, TransposeConv and FullyConnected have in common: output channel c is
/// sum(input · filter[c]) + bias[c].
struct Linear {
  Tensor filter, bias; ///< bias: null where there is none
  int32_t channels;
  /// A list of one number a channel, in the shape that broadcasts to the filter.
  llvm::SmallVector<int32_t, 4> alongFilter;
};

/// Why an operator that has the trait is not all float32 with a dense constant filter of the usual layout, and a
/// constant bias of one number a channel or none; null: it is.
inline const char *readLinear(Node op, Linear &linear) {
  linear.filter = op.operand("filter");
  linear.bias = op.operand("bias");
  Tensor input = op.operand(op.code() == Op::TRANSPOSE_CONV ? 2 : 0);
  auto isPlain = [](Tensor t) { return t && t.isFloat() && t.isDenseConstant(); };
  if (!input || !input.isFloat() || op.resultCount() != 1 || !op.result().isFloat() || !isPlain(linear.filter) ||
      linear.filter.rank() != (op.code() == Op::FULLY_CONNECTED ? 2 : 4))
    return "not a float linear operator with a constant filter";
  if (op.code() == Op::FULLY_CONNECTED && op.option("weights_format") != 0)
    return "the weights are shuffled";
  size_t axis = op.code() == Op::DEPTHWISE_CONV_2D ? 3 : 0;
  linear.channels = linear.filter.shape()[axis];
  linear.alongFilter.assign(linear.filter.rank(), 1);
  linear.alongFilter[axis] = linear.channels;
  if (linear.channels <= 0 || (linear.bias && (!isPlain(linear.bias) || linear.bias.elementCount() != linear.channels)))
    return "the bias is not one constant number a channel";
  return nullptr;
}

/// Does each group of its output channels read other input channels? Then rows of the filter keep their order.
inline bool isGrouped(Node op, const Linear &linear) {
  return op.code() == Op::CONV_2D && op.operand(0u).lastDimension() != linear.filter.lastDimension();
}

/// Holds one number, or one for each channel of the last dimension of `like`, and so broadcasts along nothing but that.
inline bool isPerChannel(Tensor constant, Tensor like, int32_t channels) {
  if (!constant.isFloat() || constant.rank() > like.rank() || like.rank() == 0 || like.lastDimension() != channels)
    return false;
  return constant.elementCount() == 1 || (constant.elementCount() == channels && constant.lastDimension() == channels);
}

/// Why nothing that follows a linear operator by a constant, the root of the match, can be fused into it.
inline const char *fusionRefusal(Match &m, const Expr &linear, Tensor constant, Linear &parts) {
  if (const char *why = readLinear(m.op(linear), parts))
    return why;
  if (!isPerChannel(constant, m[linear], parts.channels))
    return "the constant is not one number an output channel";
  bool separate = m.op(linear).code() == Op::TRANSPOSE_CONV && m.root().activation() != Activation::NONE;
  return separate ? "a TransposeConv is left without a fused activation" : nullptr;
}

/// Linear operators of one operand, with the same options, whose results the root puts side by side along their last
/// dimension, one operator an operand of the root.
struct JoinedLinear {
  std::vector<Expr> filters, biases;         ///< biases: of all or of none, as lists
  llvm::SmallVector<int32_t, 4> filterShape; ///< with the channels of all
};

/// Why they are not that; null: they are. `packs`: along a new dimension, for which all are of one shape.
inline const char *readJoined(Match &m, const Expr &linear, const Expr &x, bool packs, JoinedLinear &all) {
  Tensor first = m.root().operand(0);
  int64_t axis = m.root().option("axis"), last = packs ? first.rank() : first.rank() - 1;
  const unsigned count = m.root().operandCount();
  if (count < 2 || (axis != last && axis != -1))
    return "one operand, or not joined along the last dimension";
  for (unsigned i = 0; i < count; ++i) {
    Linear parts;
    if (const char *why = readLinear(m.op(i, linear), parts))
      return why;
    if (!(m.at(i, x) == m.at(0, x)) || !m.op(i, linear).hasOptionsOf(m.op(0, linear)))
      return "the operators are not of one input, or have different options";
    if (m.root().operand(i).lastDimension() != parts.channels)
      return "the channels are not the last dimension";
    if (parts.filter.isShared() && !m.isReadLikewise(parts.filter, m.op(i, linear)))
      return "a filter has other users, for whom it would have to stay";
    llvm::ArrayRef<int32_t> shape = parts.filter.shape();
    if (i == 0)
      all.filterShape.assign(shape.begin(), shape.end());
    else if (shape.drop_front() != llvm::ArrayRef(all.filterShape).drop_front() ||
             (packs && parts.channels != first.lastDimension()))
      return "the filters have different shapes";
    else
      all.filterShape[0] += parts.channels;
    all.filters.emplace_back(parts.filter);
    if (parts.bias)
      all.biases.emplace_back(reshape(parts.bias, list({parts.channels})));
  }
  if (!all.biases.empty() && all.biases.size() != all.filters.size())
    return "some of the operators have a bias";
  return nullptr;
}

/// Such a constant as a list: one number may have more dimensions than the filter and the bias.
inline Expr listed(Tensor constant) {
  return reshape(constant, list({static_cast<int32_t>(*constant.elementCount())}));
}

/// The filter, multiplied or divided by such a constant.
inline Expr scaledFilter(const Linear &parts, Tensor constant, Op code = Op::MUL) {
  bool one = constant.elementCount() == 1;
  return op(code, {parts.filter, one ? listed(constant) : reshape(constant, list(parts.alongFilter))});
}

/// A product that over- or underflows where its factors did not would lose what the two steps keep.
inline bool keepsWeight(float weight, float scale, float scaled) {
  if (weight == 0 || std::isnormal(scaled))
    return true;
  bool subnormal = std::fpclassify(weight) == FP_SUBNORMAL;
  bool annihilates = scale == 0 || std::isinf(scale); // times zero, or divided by infinity
  return scaled == 0 ? annihilates || subnormal : subnormal && std::isfinite(scaled);
}

} // namespace origo
