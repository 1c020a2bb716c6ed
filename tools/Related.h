#pragma once

#include "commands/Related.h"
#include "origin/Files.h"
#include "report/errors/Recover.h"
#include "tools/Driver.h"

namespace origo::tools {

/// A model's tables, for who looks at bytes; of a text those of the file that it is when it is written.
llvm::Expected<std::unique_ptr<origin::ModelFile>> openModelFile(llvm::StringRef path);

using commands::loadRelated, commands::Related;

/// Operators of the source by what a person calls them, separated by commas: the name of a result, a scope that names
/// begin with (block3/), or the number of an operator of subgraph 0. An error: nothing is called so.
llvm::Expected<report::Layers> layersNamed(const Model &source, llvm::StringRef list);

} // namespace origo::tools
