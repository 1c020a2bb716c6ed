#pragma once

#include "eval/RunOperator.h"

namespace origo::eval {

/// Reads the bytes of a .npy file of numbers in C order, as numpy.save writes it. Errors say what to do about other
/// ones.
llvm::Expected<OwnedTensor> readNpy(llvm::ArrayRef<uint8_t> file);

/// What stands before the elements in a .npy file. Types that numpy does not have are bytes, in one dimension.
std::string npyHeader(TensorType type, llvm::ArrayRef<int32_t> shape, uint64_t bytes);

} // namespace origo::eval
