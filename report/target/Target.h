#pragma once

#include "ir/Model.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Target descriptions: what a back end can take, as a JSON file in the shape of WebNN's opSupportLimits
/// (docs/targets.md).
namespace origo::report {

enum class QuantizationScheme : uint8_t { None, PerTensor, PerChannel, Blockwise, Mx, MultiAxis, Custom };
llvm::StringRef schemeName(QuantizationScheme scheme); ///< "per-channel"
llvm::ArrayRef<QuantizationScheme> allSchemes();

/// What a number may be.
struct NumberLimits {
  std::optional<double> min, max, below; ///< `below`: excluded
  bool limits() const { return min || max || below; }
  bool hold(double number) const {
    return !(min && number < *min) && !(max && number > *max) && !(below && number >= *below);
  }
};

/// What the elements of a constant of integers may be.
struct ListLimits {
  std::optional<int64_t> min, max;                     ///< of each
  std::optional<std::vector<std::vector<int64_t>>> in; ///< all of them together
};

struct DimensionLimits {
  std::optional<int64_t> min, max, multipleOf;
};

/// Limits of one tensor. What is not set is not limited.
struct TensorLimits {
  std::optional<std::vector<TensorType>> dataTypes; ///< an empty list: there may be no tensor here
  std::optional<int64_t> minRank, maxRank;
  std::vector<int64_t> shape; ///< −1: any; empty: none is said
  std::optional<bool> constant;
  bool unpacked = false; ///< a constant behind DEQUANTIZE or DENSIFY is one, too
  std::optional<ListLimits> values;
  std::map<int64_t, DimensionLimits> dimensions; ///< by index, from the end if it is negative; where there is one
  std::optional<int64_t> minElements, maxElements;
  std::optional<int64_t> minCount, maxCount; ///< of an operand or a result that stands for many: how many
  bool optional = false;                     ///< of an operand or a result: may be absent
  std::optional<std::vector<QuantizationScheme>> schemes;
  bool symmetric = false;      ///< all zero points are 0
  std::optional<int64_t> axis; ///< of what is quantised per channel; from the end if it is negative
  std::optional<double> scale; ///< the one that it must have
  std::optional<int64_t> zeroPoint;
  NumberLimits scaleRange;     ///< of each scale
  NumberLimits zeroPointRange; ///< of each zero point
};

/// A number, or the text of an enumerator or of a bool.
struct AttributeValue {
  std::optional<double> number;
  std::string text;
  bool operator==(const AttributeValue &) const = default;
};

struct AttributeLimits {
  const wire::Field *field;
  std::optional<double> min, max;
  std::optional<std::vector<AttributeValue>> in;
};

/// An operand or a result by its position in the operator's row; the last one may stand for many.
struct Slot {
  bool result = false;
  unsigned index = 0;
  auto operator<=>(const Slot &) const = default;
};

struct SlotProperty {
  Slot slot;
  enum Property { Dtype, Rank, Shape, Quantization, Elements, Dimension } property;
  int64_t dimension = 0; ///< of Dimension; from the end if it is negative
};

/// The product of the scales of some over that of others; of each channel. Holds where one of them has no scale.
struct ScaleRatio {
  std::vector<SlotProperty> of, by; ///< their `property` is of no meaning
  NumberLimits limits;
};

/// `stride_h <= filter_height`: products of attributes, dimensions and numbers, compared. Holds where a dimension is
/// not known.
struct OptionRelation {
  struct Factor {
    std::optional<int64_t> number;
    const wire::Field *field = nullptr;
    std::optional<SlotProperty> dimension;
  };
  using Product = std::vector<Factor>;
  enum Comparison { Equal, NotEqual, AtMost, Below, Divides } comparison;
  Product left, right;
  std::string text;
};

struct OperatorLimits {
  std::map<Slot, TensorLimits> tensors;
  std::map<Slot, std::string> names; ///< as the description writes them, where the row has another
  std::vector<AttributeLimits> attributes;
  std::vector<std::vector<SlotProperty>> same;
  /// Where not empty: one of these has to hold besides. They have none of their own.
  std::vector<OperatorLimits> anyOf;
  std::vector<ScaleRatio> scaleRatios;
  std::vector<OptionRelation> relations;
  std::optional<int64_t> maxVersion;
  /// One that keeps one of these limits is refused, and so is the whole graph with it.
  std::vector<OperatorLimits> fatal;
  /// Of an operator that unpacks a constant: it is taken only where all that use it are.
  bool withUsers = false;
  std::vector<TensorType> unpacked; ///< those that it unpacks; empty: of any type
  bool unpacks(TensorType type) const {
    return unpacked.empty() || std::find(unpacked.begin(), unpacked.end(), type) != unpacked.end();
  }
};

/// How many parts of a graph the back end takes, and which.
struct PartitionLimits {
  std::optional<uint64_t> max; ///< those with most operators
  uint64_t minOperators = 1;
  bool prefix = false; ///< from the first operator to the first that is not taken
  bool whole = false;  ///< all or nothing
};

struct Target {
  std::string name;
  std::string source, commit, date; ///< where the limits stand, and when they were read or measured there
  std::string preferredInputLayout; ///< "nchw", "nhwc" or empty
  std::optional<uint64_t> maxTensorByteLength;
  TensorLimits input, constant, output; ///< of every graph's
  /// By the enumerator; "CUSTOM:code" is one custom operator, "CUSTOM" all the others.
  std::map<std::string, OperatorLimits> ops;
  /// What an operator costs that is not taken, by its enumerator, in operators of a kind that is not named.
  std::map<std::string, double> refusalCost;
  bool staticShapes = false; ///< a graph with a shape that is computed is refused as a whole
  /// From so many dimensions on, a tensor of an operator that would be taken has the model refused as a whole.
  std::optional<uint64_t> fatalRank;
  PartitionLimits partition;
};

/// Those that come with the program, by their names.
llvm::ArrayRef<std::pair<llvm::StringLiteral, llvm::StringLiteral>> builtinTargets();
/// The text of one; null: there is none of that name.
const llvm::StringLiteral *builtinTarget(llvm::StringRef name);

/// Reads a description. Errors name the place, for example `ops.CONV_2D.filter.dataTypes[0]`. A key that is not known
/// is an error, since a limit that is passed over would let models through; keys that begin with `_` are comments.
llvm::Expected<Target> readTarget(llvm::StringRef text);
/// Reads a dump of WebNN's MLContext.opSupportLimits(). What has no operator in circle goes to `notes`.
llvm::Expected<Target> readWebnn(llvm::StringRef text, std::vector<std::string> &notes);
std::string writeTarget(const Target &target);

/// The limits of our own interpreter, from the registry of its kernels.
Target opSupportLimits();

/// The name of an operand or result in the row of its operator; empty without a row.
llvm::StringRef slotName(const OperatorInfo *info, Slot slot);

/// One limit that an operator's operand, result or attribute, or a graph's input or output, does not keep.
struct Violation {
  unsigned subgraph = 0;
  const Operator *op = nullptr; ///< null: of the graph
  std::string operand;          ///< its name, in the description if it is there; `values[2]` is one of many
  const Value *tensor = nullptr;
  std::string rule;             ///< the key of the description
  std::string expected, actual; ///< JSON
  std::vector<uint32_t> origins;
  std::string mendedBy = {}; ///< where somebody looked: rewrites, or "none known"
};

/// All of them, in file order. Reads no payload: a tensor that has a buffer other than 0, no producer, and is neither
/// an input nor a variable is a constant.
std::vector<Violation> checkTarget(const Model &model, const Target &target);
/// Those of one operator, without those inside the subgraphs that it calls.
std::vector<Violation> checkOperator(const Operator &op, const Target &target);

/// {"supported", "violations"}.
std::string violationsJson(llvm::ArrayRef<Violation> violations);

/// A result whose shape a runtime knows only when it runs: it follows from elements that are no constants. Null: none.
const Value *computedShape(const Operator &op);

} // namespace origo::report
