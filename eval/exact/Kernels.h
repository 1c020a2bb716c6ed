#pragma once

#include "eval/Kernels.h"
#include "eval/exact/Number.h"

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

protected:
  llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned, llvm::ArrayRef<int32_t>, uint64_t) override {
    return fail("an exact kernel makes no room");
  }
};

/// The kernel of an operator with real operands or results; null: there is none. What only moves elements needs none:
/// the reference kernel tells which goes where.
struct ExactKernel {
  BuiltinOperator code;
  llvm::Error (*compute)(Context &ctx);
};
const ExactKernel *findExactKernel(const Operator &op);
llvm::ArrayRef<ExactKernel> exactKernels();

/// Does the operator put elements of its real operands, and zeros, into its results, whatever these elements are?
bool onlyMoves(const Operator &op);

/// The real numbers that stored ones stand for.
llvm::Error readNumbers(const Tensor &stored, const Arithmetic &math, llvm::MutableArrayRef<Number> to);

} // namespace origo::eval::exact
