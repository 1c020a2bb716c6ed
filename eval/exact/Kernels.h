#pragma once

#include "eval/Kernels.h"
#include "eval/exact/Number.h"

#include <functional>

/// What operators compute without rounding.
namespace origo::eval::exact {

/// Are its elements numbers here? Others are bytes, as in every engine.
bool isReal(TensorType type);

/// What an exact kernel sees: tensors of real numbers hold Number, whatever their type.
class Context : public KernelContext {
public:
  Context(const Operator &op, const Arithmetic &math) : KernelContext(op), math(math) {}
  const Arithmetic &math;
  bool doubtful = false; ///< an integer of a result is one that the doubles did not decide
  /// Makes room for a result whose shape only the kernel knows.
  std::function<llvm::Expected<llvm::MutableArrayRef<uint8_t>>(unsigned result, llvm::ArrayRef<int32_t>)> room;

protected:
  llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned i, llvm::ArrayRef<int32_t> shape,
                                                          uint64_t) override {
    return room(i, shape);
  }
};

/// The kernel of an operator with real operands or results; null: there is none. What only moves elements needs none:
/// the reference kernel tells which goes where.
struct ExactKernel {
  BuiltinOperator code;
  llvm::Error (*compute)(Context &ctx);
  bool makesRoom = false; ///< the shape of its result follows from numbers
};
const ExactKernel *findExactKernel(const Operator &op);
llvm::ArrayRef<ExactKernel> exactKernels();

// By file.
llvm::ArrayRef<ExactKernel> elementwiseKernels();
llvm::ArrayRef<ExactKernel> orderKernels();
llvm::ArrayRef<ExactKernel> placeKernels();
llvm::ArrayRef<ExactKernel> productKernels();
llvm::ArrayRef<ExactKernel> recurrentKernels();
llvm::ArrayRef<ExactKernel> reductionKernels();
llvm::ArrayRef<ExactKernel> rowKernels();
llvm::ArrayRef<ExactKernel> typeKernels();
llvm::ArrayRef<ExactKernel> windowKernels();
/// Of the custom operator "Erf".
llvm::Error errorFunctions(Context &ctx);

/// Does the operator put elements of its real operands, and zeros, into its results, whatever these elements are?
bool onlyMoves(BuiltinOperator code);
inline bool onlyMoves(const Operator &op) { return onlyMoves(op.builtinMeant()); }

/// The real numbers that stored ones stand for.
llvm::Error readNumbers(const Tensor &stored, const Arithmetic &math, llvm::MutableArrayRef<Number> to);

} // namespace origo::eval::exact
