#pragma once

#include "report/errors/Recover.h"
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

/// Operators of the source by what a person calls them, separated by commas: the name of a result, a scope that names
/// begin with (block3/), or the number of an operator of subgraph 0. An error: nothing is called so.
llvm::Expected<report::Layers> layersNamed(const Model &source, llvm::StringRef list);

} // namespace origo::tools
