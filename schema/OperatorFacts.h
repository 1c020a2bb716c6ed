#pragma once

#include "schema/Macs.h"
#include "schema/OperatorTable.h"

namespace origo {

/// How the scales of an operator's operands and results hang together.
enum class Scaling : uint8_t {
  Real,    ///< there is no form of it in integers
  Free,    ///< each has its own
  AsInput, ///< results have that of the first operand that is quantised
  Shared,  ///< operands have that of the result
  Fixed,   ///< the result's is given
  Whole,   ///< results are integers, so the scale is one too
};

/// What the work of an operator may change places with (docs/origin-map.md, law 11). What only moves data may with any.
enum class Trade : uint8_t {
  None = 0,
  Recode = 1,    ///< tells the same numbers in another type: with any
  Clamp = 2,     ///< of two operands: by a constant
  Scale = 4,     ///< by a constant
  Shift = 8,     ///< likewise
  Largest = 16,  ///< of several; changes places with what does not decrease
  Monotone = 32, ///< does not decrease, whatever it is given
  Sum = 64,      ///< a product, an average or a sum: what is scaled or shifted in front of it may be so behind it
  Reduce = 128,  ///< along axes of one element each it is nothing, and changes places with any
  LLVM_MARK_AS_BITMASK_ENUM(Reduce)
};

/// What runtimes, quantisers, counters and back ends have to know of an operator: columns of Operators.def that a graph
/// does not need. Lists are text, separated by blanks; types have the short names of the text form.
struct OperatorFacts {
  const char *operandCounts = "", *resultCounts = "", *subgraphs = ""; ///< of OperatorInfo
  bool deprecated = false, inTflite = true;                            ///< likewise

  /// The TensorFlow release that first has version 1, 2, …, as LiteRT's runtime_version.cc states it; "-": not known.
  const char *since = "";
  /// A type of that operand, and the version that it makes it; any other type makes it `otherVersion`. Where more than
  /// one type decides, ir/Versions.cpp has a function.
  unsigned versionOperand = 0;
  const char *versions = "";
  int otherVersion = 1;

  Scaling one = Scaling::Real, tflite = Scaling::Real; ///< as ONE and as TensorFlow Lite quantise it
  bool tflite16 = true;                                ///< TensorFlow Lite's runtime has it in 16 bits, too
  /// Type, scale and zero point of a result that is Scaling::Fixed, and those of ONE where they are others.
  const char *fixed = "", *fixedOne = "";

  MacRule macs = nullptr; ///< null: it multiplies no matrix and no window

  /// WebNN's operator, and its names of operands in the order of the row ("-": it has an attribute instead, so that it
  /// has to be constant); behind "->" those of results that are not called output. `!`: its uint8 is circle's bool.
  const char *webnn = "";

  /// Types that its kernels of f32, or of any type, compute as well, by way of wider ones (eval/Wider.h).
  const char *wider = "";

  Trade trades = Trade::None;

  /// What it computes, in a line for people; x is its first operand and y its second.
  const char *computes = "";
};

/// The defaults for what is not in the table.
const OperatorFacts &factsOf(int32_t code);
inline bool has(const OperatorInfo *info, Trade trade) {
  return info && (factsOf(int32_t(info->code)).trades & trade) != Trade::None;
}
/// Does it only move, cast or (de)quantise data?
inline bool onlyMoves(const OperatorInfo *info) {
  return info && (info->has(Trait::DataMovement) || has(info, Trade::Recode));
}
inline const OperatorFacts &factsOf(circle::BuiltinOperator code) { return factsOf(int32_t(code)); }

} // namespace origo
