#pragma once

#include "commands/Door.h"
#include "import/Import.h"
#include "origin/Files.h"
#include "quantize/Parts.h"
#include "report/errors/Recover.h"

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

/// The same from files. With `tell`, a note says where origins do not lead from one to the other.
llvm::Expected<Related> loadRelated(llvm::StringRef source, llvm::StringRef result, PayloadStore &store,
                                    const Door &door, bool tell = true);

/// Has a model read with its origin map: that of the file `map`, or, where that is empty, the one inside it or beside
/// it. Where there is none, options stay as they are. An error: `model` is a side file.
llvm::Error takeMap(ImportOptions &options, const std::string &model, const std::string &map, const Door &door);

/// A model's tables, for who looks at bytes; of a text those of the file that it is when it is written.
llvm::Expected<std::unique_ptr<origin::ModelFile>> openModelFile(llvm::StringRef path, const Door &door);

/// What operators of the source are called, for who looks for parts of what became of them. Texts are the listing's.
quantize::SourceLayers sourceLayers(const origin::Lineage &lineage);

/// Operators of the source by what a person calls them (quantize/Parts.h), separated by commas.
llvm::Expected<report::Layers> layersNamed(const Imported &source, llvm::StringRef list);

} // namespace origo::commands
