#pragma once

#include "eval/Kernels.h"

#include <memory>

namespace origo::eval {

/// A tensor that owns its bytes.
struct OwnedTensor {
  TensorType type = TensorType::FLOAT32;
  Shape shape;
  std::vector<uint8_t> bytes;
};

/// A tensor in the caller's memory.
struct TensorRef {
  TensorType type = TensorType::FLOAT32;
  Shape shape = {};
  llvm::ArrayRef<uint8_t> bytes = {};
  TensorRef() = default;
  TensorRef(TensorType type, Shape shape, llvm::ArrayRef<uint8_t> bytes)
      : type(type), shape(std::move(shape)), bytes(bytes) {}
  TensorRef(const OwnedTensor &tensor) : type(tensor.type), shape(tensor.shape), bytes(tensor.bytes) {}
};

/// How far vector kernels may read behind an operand; what they find there changes nothing.
constexpr size_t readAhead = 16;

/// Whether those bytes can be read, behind memory that nobody knows the end of: they can on the same page.
inline bool canReadAhead(llvm::ArrayRef<uint8_t> bytes) {
  constexpr uintptr_t page = 4096;
  uintptr_t end = reinterpret_cast<uintptr_t>(bytes.end()) % page;
  return end != 0 && end + readAhead <= page;
}

/// Bytes of a constant at an address where its elements can be read; copied only if they lie elsewhere, or are sparse:
/// no kernel sees a sparse tensor. An error if they do not fit its shape or cannot be read (compressed, in another
/// file), or if a sparse one would take more than `memoryLimit` bytes.
class ConstantBytes {
public:
  static llvm::Expected<ConstantBytes> of(const Value &value, uint64_t memoryLimit);
  /// Copies them unless there are readable bytes behind them.
  void makeReadAhead(const Payload &payload);
  static ConstantBytes copyOf(llvm::ArrayRef<uint8_t> bytes);
  llvm::MutableArrayRef<uint8_t> bytes; ///< never written to
private:
  std::unique_ptr<uint8_t[]> copy;
};

/// Kernels rely on zero points within the range of their type (uint8: or of int8), and on scales that are numbers above
/// zero.
llvm::Error checkQuantization(const Value &value);

/// The tensors of one operator, for a kernel that is run by itself.
class OperatorTensors {
public:
  /// Gives them to the context. `given[i]` is operand i; where it is null, the operand must be a constant or absent, or
  /// else one whose elements are not `wanted`: it has a shape only. A sparse constant of more than `memoryLimit` bytes
  /// is refused.
  llvm::Error bind(
      KernelContext &context, llvm::ArrayRef<const TensorRef *> given, uint64_t memoryLimit,
      llvm::function_ref<bool(const Value &)> wanted = [](const Value &) { return true; });
  llvm::SmallVector<Tensor, 6> operands;
  llvm::SmallVector<Tensor, 2> results;

private:
  std::vector<ConstantBytes> constants;
  std::vector<std::vector<uint8_t>> copies;
};

/// Computes one operator. `given[i]` is operand i; where it is null, the operand must be a constant or absent. Results
/// are in the order of the operator's; an absent one is empty. More than `memoryLimit` bytes of results are refused.
/// `leaves(i, bytes)`: what operand i, which is a variable and was given, holds then.
llvm::Expected<std::vector<OwnedTensor>>
runOperator(const Operator &op, llvm::ArrayRef<const TensorRef *> given, uint64_t memoryLimit = uint64_t(1) << 32,
            llvm::function_ref<void(unsigned, llvm::ArrayRef<uint8_t>)> leaves = nullptr);

} // namespace origo::eval
