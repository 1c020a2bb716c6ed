#pragma once

#include "ir/Error.h"
#include "ir/Model.h"

#include <vector>

namespace origo::eval {

enum class EvalPhase : uint8_t { Build, Compile, Run };

enum class ErrorCode : uint8_t {
  UnknownName,  ///< of an input, an output or a signature
  MissingInput, ///< not all inputs were given
  BadInput,     ///< of another type, shape or size than the graph's
  BadOutput,    ///< the caller's buffer does not fit; `expected` is the size that is needed
  BadOperand,   ///< an operator refuses an operand or an option
  BadGraph,     ///< for example a constant whose bytes do not fit its shape
  Unsupported,  ///< no kernel for the operator with these types
  MemoryLimit,
  IterationLimit,
  Timeout,
};
llvm::StringRef errorCodeName(ErrorCode code);
llvm::StringRef phaseName(EvalPhase phase);

/// What is wrong with building, compiling or running a graph. Where several things are (operators without a kernel),
/// the llvm::Error holds one of these for each.
class EvalError : public llvm::ErrorInfo<EvalError, ModelError> {
public:
  static char ID;
  EvalError(ErrorCode code, EvalPhase phase, Place place, std::string message)
      : ErrorInfo(std::move(place), std::move(message)), code(code), phase(phase) {}

  ErrorCode code;
  EvalPhase phase;
  std::string operand = {}; ///< its name in the operator's row; empty: none in particular
  std::string expected = {}, actual = {};
  std::vector<uint32_t> origins = {}; ///< ids of the source operators behind the operator
};

/// An error of no operator.
llvm::Error evalError(ErrorCode code, EvalPhase phase, const llvm::Twine &message);
/// An error about an operator, and, if `operand` is not negative, about one of its operands.
llvm::Error evalError(ErrorCode code, EvalPhase phase, const Operator &op, int operand, const llvm::Twine &message,
                      std::string expected = {}, std::string actual = {});

/// "[1,?,3]" for messages.
std::string shapeText(llvm::ArrayRef<int32_t> shape);

} // namespace origo::eval
