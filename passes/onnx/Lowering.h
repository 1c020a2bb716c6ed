#pragma once

#include "passes/Attributes.h"
#include "passes/Rule.h"
#include "schema/OnnxTypes.h"

/// Lowering the operators of ONNX to those of circle. A lowering is a row and a function: it sees one node, and says by
/// what expression it is replaced, or why it is not. Names and meanings are those of https://onnx.ai/onnx/operators.
namespace origo::onnx {

/// A node whose inputs have types, as a lowering sees it.
class Lowering {
public:
  Lowering(Match &match, Node node, flexbuffers::Map attributes)
      : m(match), node(node), opset(attributes["$opset"].AsInt64()), attributes(attributes) {}
  Match &m;
  Node node;
  int64_t opset; ///< version of the node's operator set

  /// None: it is absent.
  Tensor input(unsigned i) const { return node.operand(i); }
  unsigned inputs() const { return node.operandCount(); }
  bool has(const char *attribute) const { return !attributes[attribute].IsNull(); }
  int64_t integer(const char *attribute, int64_t otherwise = 0) const;
  double real(const char *attribute, double otherwise = 0) const;
  llvm::StringRef text(const char *attribute, llvm::StringRef otherwise = "") const;
  llvm::SmallVector<int64_t, 8> integers(const char *attribute) const;
  llvm::SmallVector<float, 8> reals(const char *attribute) const;
  std::vector<std::string> texts(const char *attribute) const;
  /// The operand that is an attribute; none: there is no such.
  Tensor tensor(const char *attribute) const;
  /// An axis of a tensor of this rank, counted from the end where it is negative. None: it has no such.
  static std::optional<int> axis(int64_t axis, int rank);

  RewriteResult replace(const Expr &value, SourceLine where = SourceLine::current()) { return m.replace(value, where); }

private:
  flexbuffers::Map attributes;
};

struct Row {
  llvm::StringLiteral name; ///< of the operator; with its domain, where that is not ai.onnx
  RewriteResult (*lower)(Lowering &);
};

// The rows, by what they are about.
llvm::ArrayRef<Row> elementwiseRows();
llvm::ArrayRef<Row> shapeRows();
llvm::ArrayRef<Row> movementRows();
llvm::ArrayRef<Row> pickingRows();
llvm::ArrayRef<Row> reductionRows();
llvm::ArrayRef<Row> linearRows();
llvm::ArrayRef<Row> windowRows();
llvm::ArrayRef<Row> resizingRows();
llvm::ArrayRef<Row> normalisationRows();
llvm::ArrayRef<Row> recurrentRows();
llvm::ArrayRef<Row> quantisationRows();
llvm::ArrayRef<Row> lossRows();
llvm::ArrayRef<Row> samplingRows();
llvm::ArrayRef<Row> attentionRows();
llvm::ArrayRef<Row> loopRows();

/// Where x is infinite, which the node's operand is then, too.
RewriteResult isInfinite(Lowering &n, Tensor x);
/// A Loop or a Scan, which is a WHILE of a body that runs as often as is known.
RewriteResult unrolled(Lowering &n);

// What lowerings share.
using Sizes = llvm::SmallVector<int32_t, 6>;
/// What is computed from constants only is one.
inline Expr foldedIf(bool isConstant, Expr value) { return isConstant ? fold(std::move(value)) : value; }
/// A number of this type, without dimensions.
Expr number(double value, TensorType type);
Expr castTo(Expr x, TensorType from, TensorType to); ///< x itself where they are the same
/// The same as a bridge, which does no work of the source; the operand itself where it has the type.
Expr bridged(Tensor x, TensorType to);
/// A tensor of sizes, axes or indices as int32.
Expr indices(Tensor x);
Expr turned(Expr x, llvm::ArrayRef<int32_t> permutation); ///< a layout bridge; of a constant, a constant
Expr turnedConstant(Tensor x, llvm::ArrayRef<int32_t> permutation);
Expr shaped(Expr x, llvm::ArrayRef<int32_t> shape); ///< likewise
/// Sizes of a shape made from x: where one is −1 and x's dimension `copies` is not known before run time, it is read
/// when it runs. Of a constant that was read, what is known stays bound to it.
Expr openShape(Tensor x, llvm::ArrayRef<int32_t> sizes, llvm::ArrayRef<int> copies,
               const std::optional<Integers> &from = std::nullopt);
/// A convolution of what has the shapes of x and of weights, in the layout of ONNX. None: it cannot be told, for `why`.
std::optional<Expr> convolved(Lowering &n, Tensor x, const Expr &values, Tensor weights, const Expr &filterValues,
                              std::optional<Expr> bias, const char *&why);
/// Likewise an average over windows.
std::optional<Expr> averaged(Lowering &n, Tensor x, const Expr &values, const char *&why);
/// 0, 1, 2, … along an axis of a tensor of these sizes.
Expr counted(llvm::ArrayRef<int32_t> sizes, int axis);
/// How many a list has, where that is known though its numbers are not.
std::optional<int32_t> countOf(Tensor list);
/// For axes that are computed: a row for each, with 1 in the column of its axis and 0 in the others, of int32.
Expr atAxes(const Expr &axes, int rank);
/// The sum over the rows of a table.
Expr overRows(Expr table);
/// The sizes of x when it runs, all or without those of so many axes that are computed.
Expr sizesOf(Tensor x);
Expr otherSizes(Tensor x, const Expr &axes, int32_t count);
/// A list of pairs, of shape [n, 2].
Expr pairs(llvm::ArrayRef<int32_t> numbers);
bool isInteger(TensorType type);
/// With the activation that ONNX Runtime has fused into a node; of others, as it is. None: it is not one that is taken.
std::optional<Expr> activated(Lowering &n, Expr value);
inline bool isReal(TensorType type) {
  return type == TensorType::FLOAT32 || type == TensorType::FLOAT16 || type == TensorType::FLOAT64;
}
/// Reals of any width as float32, in which they are computed.
inline Expr wide(Tensor x) {
  bool folds = x.isDenseConstant() && x.type() != TensorType::FLOAT32;
  return foldedIf(folds, castTo(x, x.type(), TensorType::FLOAT32));
}
/// More indices along an axis than this are no constant: a small file may ask for any number.
constexpr int64_t mostIndices = 1 << 16;
/// x itself, or, where the model's interface needs a tensor of its own, a copy.
RewriteResult asItIs(Lowering &n);
inline RewriteResult notKnown() { return decline("its shape is not known before run time"); }

} // namespace origo::onnx
