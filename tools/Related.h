#pragma once

#include "report/errors/Pairs.h"
#include "tools/Driver.h"

namespace origo::tools {

/// A model and the one that it was made from.
struct Related {
  Imported source, result;
};

/// Reads both so that their tensors can be paired: ids of `source` are its own if the result's origin map leads to it,
/// and else those of the model that its own map leads to. With
/// `tell`, a note says where neither does.
llvm::Expected<Related> loadRelated(llvm::StringRef source, llvm::StringRef result, PayloadStore &store,
                                    bool tell = true);

} // namespace origo::tools
