#pragma once

#include "report/profile/Profile.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

/// What profilers call the types of operators.
namespace origo::report {

enum class Agreement {
  Contradicts, ///< it is surely another type
  Unknown,     ///< nobody knows the word
  Agrees
};

/// Is `said` ("Convolution (NHWC, F32) GEMM", "FusedConv", "Pooling2d", "conv_2d") the type of an operator (CONV_2D)?
Agreement agreement(llvm::StringRef said, llvm::StringRef op);

/// Is it what the schema calls a type, and no profiler's own word?
bool isSchemaKind(llvm::StringRef said);

/// Is it the type that TFLite gives to the node of a delegate?
bool isDelegateKind(llvm::StringRef said);

/// Without what is no letter or digit, in small letters.
std::string plainKind(llvm::StringRef name);

/// What a row calls the type of its operator; tables of names may have an operator's as it is in the schema.
llvm::StringRef kindOf(const ProfileRow &row);

/// What a kernel's name says beyond the type, as XNNPACK has it: "(NHWC, QS8) IGEMM".
struct KernelWords {
  std::optional<bool> depthwise, pointwise; ///< DWConv; GEMM or IGEMM
  std::optional<bool> takesFloat, isFloat;  ///< of the elements of the operand and of the result
  bool converts = false;                    ///< between types of elements, of which each way is an operator of its own
  static KernelWords of(llvm::StringRef said);
};

} // namespace origo::report
