#pragma once

#include "ir/Model.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

/// Target descriptions: what a back end can take, as a JSON file in the shape of WebNN's opSupportLimits
/// (docs/targets.md).
namespace origo::report {

enum class Scheme : uint8_t { None, PerTensor, PerChannel, Blockwise, Mx, MultiAxis, Custom };
llvm::StringRef schemeName(Scheme scheme); ///< "per-channel"
llvm::ArrayRef<Scheme> allSchemes();

/// Limits of one tensor. What is not set is not limited.
struct TensorLimits {
  std::optional<std::vector<TensorType>> dataTypes; ///< an empty list: there may be no tensor here
  std::optional<int64_t> minRank, maxRank;
  std::vector<int64_t> shape; ///< −1: any; empty: none is said
  std::optional<bool> constant;
  bool optional = false; ///< of an operand or a result: may be absent
  std::optional<std::vector<Scheme>> schemes;
  bool symmetric = false;      ///< all zero points are 0
  std::optional<int64_t> axis; ///< of what is quantised per channel; from the end if it is negative
  std::optional<double> scale; ///< the one that it must have
  std::optional<int64_t> zeroPoint;
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

struct OperatorLimits {
  std::map<Slot, TensorLimits> tensors;
  std::map<Slot, std::string> names; ///< as the description writes them, where the row has another
  std::vector<AttributeLimits> attributes;
  std::vector<std::vector<SlotProperty>> same;
  /// Where not empty: one of these has to hold besides. They have none of their own.
  std::vector<OperatorLimits> anyOf;
};

struct Target {
  std::string name;
  std::string preferredInputLayout; ///< "nchw", "nhwc" or empty
  std::optional<uint64_t> maxTensorByteLength;
  TensorLimits input, constant, output; ///< of every graph's
  /// By the enumerator; "CUSTOM:code" is one custom operator, "CUSTOM" all the others.
  std::map<std::string, OperatorLimits> ops;
};

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
};

/// All of them, in file order. Reads no payload: a tensor that has a buffer other than 0, no producer, and is neither
/// an input nor a variable is a constant.
std::vector<Violation> checkTarget(const Model &model, const Target &target);
/// Those of one operator, without those inside the subgraphs that it calls.
std::vector<Violation> checkOperator(const Operator &op, const Target &target);

/// {"supported", "violations"}.
std::string violationsJson(llvm::ArrayRef<Violation> violations);

} // namespace origo::report
