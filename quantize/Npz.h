#pragma once

#include "eval/Session.h"

namespace origo::quantize {

/// Reads the arrays of a .npz file as numpy.savez writes it, in its order. Compressed ones are refused, with the
/// remedy.
llvm::Expected<std::vector<eval::NamedTensor>> readNpz(llvm::ArrayRef<uint8_t> file);

} // namespace origo::quantize
