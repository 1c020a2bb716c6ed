#pragma once

#include "schema/WireSchema.h"
#include "schema/circle_generated.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitmaskEnum.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace origo {

LLVM_ENABLE_BITMASK_ENUMS_IN_NAMESPACE();

/// What an operator does besides computing its results.
enum class Effect : uint8_t {
  None = 0,
  ReadsState = 1, ///< variable tensors or resources
  WritesState = 2,
  Random = 4,
  Calls = 8, ///< has the effects of its subgraphs
  Unknown = 16,
  LLVM_MARK_AS_BITMASK_ENUM(Unknown)
};

enum class Trait : uint32_t {
  None = 0,
  Elementwise = 1u << 0,      ///< the result has the operands' shape, up to broadcasting
  Unary = 1u << 1,            ///< elementwise, one operand
  Binary = 1u << 2,           ///< elementwise, two operands
  Commutative = 1u << 3,      ///< the operands may be matched in any order
  Comparison = 1u << 4,       ///< elementwise with bool results
  DataMovement = 1u << 5,     ///< moves, copies or repeats elements and computes nothing
  Linear = 1u << 6,           ///< input, filter and bias of a convolution or a matrix product
  Pooling = 1u << 7,          ///< a window over height and width
  Reduction = 1u << 8,        ///< over the axes that the second operand lists
  ShapeQuery = 1u << 9,       ///< the result depends on the operand's shape only
  FusedActivation = 1u << 10, ///< the options have fused_activation_function
  HoldsSubgraphs = 1u << 11,
  Clamps = 1u << 12, ///< its kernel does what the fused activation says; others have the option and refuse it
  LLVM_MARK_AS_BITMASK_ENUM(Clamps)
};

struct OperandInfo {
  llvm::StringRef name;
  bool optional = false; ///< may be -1, and absent if nothing stands behind it
  bool variadic = false;
  bool variable = false;           ///< a variable tensor, updated in place
  bool statesShape = false;        ///< tells nothing where the shapes of operands and results are static
  bool statesShapeIfWhole = false; ///< the same where besides no element is left out or added
};

/// A row of Operators.def.
struct OperatorInfo {
  circle::BuiltinOperator code;
  llvm::StringRef name;
  llvm::ArrayRef<OperandInfo> operands, results;
  circle::BuiltinOptions options;   ///< NONE if it has none in this union
  circle::BuiltinOptions2 options2; ///< likewise
  Trait traits;
  uint8_t effects;                                      ///< bits of Effect
  llvm::ArrayRef<unsigned> operandCounts, resultCounts; ///< where the marks on the names do not tell all
  llvm::ArrayRef<llvm::StringRef> subgraphFields; ///< option fields that hold a subgraph index or a vector of them
  bool deprecated;
  bool inTflite;

  /// Files in the wild leave out more than the format allows, so any number from the leading required ones on will do.
  bool accepts(unsigned operandCount) const;
  bool acceptsResults(unsigned resultCount) const;

  /// The options table from whichever union it is in, null if there is none. Both formats have the same ones.
  const wire::TableType *optionsType() const;

  bool has(Trait trait) const { return (traits & trait) != Trait::None; }
  bool has(Effect effect) const { return effects & uint8_t(effect); }
};

/// Null for what is not in the table.
const OperatorInfo *operatorInfo(int32_t code);
const OperatorInfo *operatorInfo(llvm::StringRef name);

inline const OperatorInfo *operatorInfo(circle::BuiltinOperator code) { return operatorInfo(int32_t(code)); }

/// By ascending code.
llvm::ArrayRef<OperatorInfo> allOperators();

/// The operator that the two fields of an OperatorCode stand for, whichever of the known writers wrote it.
int32_t resolveOpcode(int8_t deprecated, int32_t builtin);

/// What to write in deprecated_builtin_code beside builtin_code.
int8_t deprecatedCode(int32_t code);

} // namespace origo
