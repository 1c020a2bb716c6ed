#include "eval/exact/Kernels.h"

#include "eval/RealNumbers.h"
#include "eval/kernels/QuantizedArithmetic.h"

namespace origo::eval::exact {

using Op = BuiltinOperator;

bool isReal(TensorType type) { return isFloat(type); }

llvm::Error readNumbers(const Tensor &stored, const Arithmetic &math, llvm::MutableArrayRef<Number> to) {
  auto numbers = storedNumbers(stored);
  if (!numbers || numbers->size() != to.size())
    return llvm::createStringError("what is not numbers");
  bool scaled = !isReal(stored.type) && stored.quantization && stored.quantization->quantized();
  if (!scaled) {
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = math.of((*numbers)[i]);
    return llvm::Error::success();
  }
  Channels channels(stored);
  if (!channels.fit)
    return llvm::createStringError("scales that do not fit the shape");
  for (size_t i = 0; i < to.size(); ++i) {
    size_t channel = channels.of(i);
    to[i] = math.multiply(math.subtract(math.of((*numbers)[i]), math.of(channels.zeroPoint(channel))),
                          math.of(channels.scale(channel)));
  }
  return llvm::Error::success();
}

bool onlyMoves(BuiltinOperator code) {
  switch (code) {
  case Op::SELECT:
  case Op::SELECT_V2:
  case Op::FILL:
  case Op::ONE_HOT:
  case Op::HASHTABLE_LOOKUP:
  case Op::ZEROS_LIKE:
  case Op::SPARSE_TO_DENSE:
  case Op::RESIZE_NEAREST_NEIGHBOR:
  case Op::MATRIX_DIAG:
  case Op::MATRIX_SET_DIAG:
    return true;
  default: {
    const OperatorInfo *info = operatorInfo(code);
    return info && (info->has(Trait::DataMovement) || info->has(Trait::ShapeQuery));
  }
  }
}

llvm::ArrayRef<ExactKernel> exactKernels() {
  static const std::vector<ExactKernel> all = [] {
    std::vector<ExactKernel> rows;
    for (auto table : {elementwiseKernels, orderKernels, placeKernels, productKernels, recurrentKernels,
                       reductionKernels, rowKernels, typeKernels, windowKernels})
      llvm::append_range(rows, table());
    return rows;
  }();
  return all;
}

const ExactKernel *findExactKernel(const Operator &op) {
  static const ExactKernel erf{Op::CUSTOM, errorFunctions};
  if (op.code == Op::CUSTOM && op.customCode() == "Erf")
    return &erf;
  for (const ExactKernel &kernel : exactKernels())
    if (kernel.code == op.builtinMeant())
      return &kernel;
  return nullptr;
}

} // namespace origo::eval::exact
