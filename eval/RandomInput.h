#pragma once

#include "eval/Session.h"

namespace origo::eval {

/// Fills memory of this type from the generator of docs/kernels.md, which other runtimes can be given too. `stream`
/// tells the inputs of a run apart. False: there are no random elements of this type.
bool fillRandom(TensorType type, llvm::MutableArrayRef<uint8_t> bytes, uint32_t seed, uint32_t stream);

/// Random elements for the input at this position. Dimensions that are not known become `unknown`.
llvm::Expected<OwnedTensor> randomInput(const Port &port, unsigned position, uint32_t seed, int32_t unknown = 1);

} // namespace origo::eval
