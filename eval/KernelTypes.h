#pragma once

#include "eval/Kernels.h"

namespace origo::eval {

/// What a row says of one operand or result.
struct TypeSlot {
  llvm::SmallVector<TensorType> types;
  std::optional<unsigned> sameAs; ///< operand
  bool optional = false;
  bool accepts(const Value *value, llvm::ArrayRef<const Value *> operands) const;
};

/// The types of a row, read.
struct TypeList {
  llvm::SmallVector<TypeSlot, 4> operands, results;
  bool operandsRepeat = false, resultsRepeat = false;
};
TypeList parseTypes(llvm::StringRef text); ///< of a row
/// For each of allKernels().
llvm::ArrayRef<TypeList> kernelTypes();

/// Does the kernel refuse operands and results of 16 bits and less without a scale?
bool needsScales(const KernelRow &row);
/// May this operand, or result, have several scales? A kernel that does not ask computes with the first.
bool takesChannels(const KernelRow &row, unsigned index, bool result);
/// May this operand be quantised in blocks?
bool takesBlocks(const KernelRow &row, unsigned operand);

/// Does the kernel refuse a result that is quantised in another way than operand 0?
bool keepsQuantization(const KernelRow &row);

/// A range of an option that all kernels of an operator want; of an enumeration, its one value.
struct OptionRange {
  BuiltinOperator code;
  llvm::StringRef option;
  std::optional<double> min, max;
  llvm::StringRef only;
};
llvm::ArrayRef<OptionRange> optionRanges();

/// The dimension along which kernels take scales of an operand.
struct ChannelAxis {
  BuiltinOperator code;
  unsigned operand;
  int64_t axis;
};
llvm::ArrayRef<ChannelAxis> channelAxes();

/// The rank that all kernels of an operator want of an operand.
struct OperandRank {
  BuiltinOperator code;
  unsigned operand;
  int rank;
};
llvm::ArrayRef<OperandRank> operandRanks();

} // namespace origo::eval
