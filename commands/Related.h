#pragma once

#include "import/Import.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace origo::commands {

/// A model and the one that it was made from.
struct Related {
  Imported source, result;
  bool byOrigins = true; ///< else the result's origin map does not lead to the source
};

/// Reads both so that their tensors can be paired: ids of the source are its own if the result's origin map leads to
/// it, and else those of the model that its own map leads to.
llvm::Expected<Related> relate(llvm::function_ref<llvm::Expected<Imported>(const ImportOptions &)> readSource,
                               llvm::function_ref<llvm::Expected<Imported>(const ImportOptions &)> readResult);

} // namespace origo::commands
