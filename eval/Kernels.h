#pragma once

#include "eval/Kernel.h"

namespace origo::eval {

/// A row that was read.
struct Kernel : KernelRow {
  explicit Kernel(const KernelRow &row);
  KernelSignature signature;
  /// Gives results their shapes by the rule, but for kernels that do it themselves; an error if operands of these
  /// shapes have no result, or not by this kernel.
  llvm::Error shape(KernelContext &context) const;
  /// Results have their shapes, and room.
  llvm::Error compute(KernelContext &context) const;
  /// All of it.
  llvm::Error run(KernelContext &context) const;
};

/// All kernels, ordered by operator.
llvm::ArrayRef<Kernel> allKernels();
/// Those of one operator: which types, and scales, and options it may have.
llvm::ArrayRef<Kernel> kernelsOf(BuiltinOperator code);

/// The kernel for an operator; or why there is none.
llvm::Expected<const Kernel *> kernelFor(const Operator &op);
/// The same; null: none.
const Kernel *findKernel(const Operator &op);

/// The types of an operator as a row would spell them, for messages and work lists.
std::string typesOf(const Operator &op);

/// Operators that are no kernels because they run subgraphs.
bool isControlFlow(BuiltinOperator code);

/// A line for each kernel: operator, a tab, types. What the engine can run, control flow included.
std::string supportTable();

} // namespace origo::eval
