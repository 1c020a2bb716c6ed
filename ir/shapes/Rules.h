#pragma once

#include "ir/shapes/Inference.h"

#include "llvm/Support/MathExtras.h"

/// What the inference rules share. A rule is a function from an operator to its results; Inference.cpp collects the
/// rules of all files into one table.
namespace origo::inference {

using Shape = llvm::SmallVector<int32_t, 4>; ///< −1: not known
using Results = llvm::SmallVector<ResultType, 2>;
using Answer = llvm::Expected<Results>;
using Rule = Answer (*)(const ShapeSite &);

struct RuleRow {
  BuiltinOperator code;
  Rule rule;
};

llvm::ArrayRef<RuleRow> convolutionRules();
llvm::ArrayRef<RuleRow> movementRules();
llvm::ArrayRef<RuleRow> indexingRules();
llvm::ArrayRef<RuleRow> reductionRules();
llvm::ArrayRef<RuleRow> matrixRules();
llvm::ArrayRef<RuleRow> recurrentRules();
llvm::ArrayRef<RuleRow> controlFlowRules();
llvm::ArrayRef<RuleRow> elementwiseRules();
/// By trait, for the rest; null if the operator has none of the traits.
Rule traitRule(const OperatorInfo &info);

/// Numbers in a model are 32 bits wide, dimensions too; rules compute with 64 so that a product of two does not
/// overflow. Tensors of more dimensions than this get no answer, so that the time of a rule is bounded.
inline constexpr size_t maxRank = 64;
inline constexpr size_t maxResults = 1 << 16;

inline Results noAnswer() { return {}; }

/// The shape of a value with −1 for each unknown dimension; nothing if it is absent or its rank is not known.
std::optional<Shape> shapeOf(const Value *value);
/// The stated type of the first result if it is one of `others`, else `first`: for operators that leave a choice.
TensorType statedType(const ShapeSite &op, TensorType first, llvm::ArrayRef<TensorType> others);

inline Results one(TensorType type, Shape shape) { return {ResultType{type, std::move(shape), true}}; }
inline Results unranked(TensorType type) { return {ResultType{type, {}, false}}; }
Shape unknownShape(size_t rank);

/// A dimension from a computed number; an error if it is negative (but −1 is "unknown" and stays) or too large.
llvm::Error checkDims(const ShapeSite &op, llvm::ArrayRef<int64_t> dims, Shape &shape);
/// A one-result answer from computed numbers.
Answer oneChecked(const ShapeSite &op, TensorType type, llvm::ArrayRef<int64_t> dims);
/// For dimensions that are read from a constant or an option, where −1 is not a known meaning.
Answer oneFromConstant(const ShapeSite &op, TensorType type, llvm::ArrayRef<int64_t> dims);

/// False for an operand that is known to have another number of elements than one.
bool isSingle(const ShapeSite &op, unsigned operand);

/// Python's meaning of a negative axis; nothing if it is out of range.
std::optional<unsigned> axisIn(int64_t axis, size_t rank);

/// One dimension that must be equal in two places; nothing if they contradict.
std::optional<int32_t> mergeDim(int32_t a, int32_t b);
/// NumPy's broadcasting; nothing if the shapes do not broadcast.
std::optional<Shape> broadcast(llvm::ArrayRef<int32_t> a, llvm::ArrayRef<int32_t> b);

/// The number of elements, −1 where a dimension is unknown; nothing if it does not fit in 63 bits.
std::optional<int64_t> elementCount(llvm::ArrayRef<int32_t> shape);
/// A shape from the number of elements and a list in which one −1 stands for what is left.
Answer reshapeTo(const ShapeSite &op, TensorType type, llvm::ArrayRef<int32_t> from, llvm::ArrayRef<int64_t> to);

/// The number of positions of a window along a dimension, as ComputeOutSize in the runtime: nothing for impossible
/// numbers.
std::optional<int64_t> positions(circle::Padding padding, int64_t image, int64_t window, int64_t stride,
                                 int64_t dilation = 1);

/// begin:end:stride of one axis, as Python reads it but for its masks: where it begins, and how many elements it picks.
struct Range {
  int64_t first, count;
};
Range pickedRange(int64_t dim, int64_t begin, int64_t end, int64_t stride, bool fromStart, bool toEnd,
                  bool endIsLength);

/// Result of operand 0's type and shape.
Answer sameAsFirst(const ShapeSite &op);

} // namespace origo::inference
