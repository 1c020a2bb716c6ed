#pragma once

#include "ir/Model.h"
#include "origin/OriginMap.h"
#include "origin/codec/Embedded.h"

namespace origo {

struct ExportOptions {
  Format format = Format::Circle;
  origin::Embed embed = origin::Embed::Names;
  std::optional<std::string> originJson;     ///< path of the side file; none: not written
  std::vector<std::string> *notes = nullptr; ///< takes one-line notices for the user
  bool otherEnds = false;                    ///< inputs or outputs are not those that the model was read with
};

/// Drops metadata that speaks of positions or of inputs and outputs, where these are not what they were (exportModel
/// does). An error: the model has been compiled, and changed since.
llvm::Error dropStaleMetadata(Model &model, const ExportOptions &options);

/// Writes the model, and the side file before it, each whole or not at all: to a temporary file beside `path` that is
/// renamed into place at the end (a symbolic link is followed; a pipe, a device or "-" is streamed to).
/// Renumbers the model (Model::number). Refuses by name what the format cannot express.
llvm::Error exportModel(Model &model, const origin::Lineage &lineage, llvm::StringRef path,
                        const ExportOptions &options);

/// The origin map that exportModel would write.
llvm::Expected<origin::OriginMap> originMapOf(Model &model, const origin::Lineage &lineage, Format format);

/// The listing of a model that is in no file yet (one read from text): that of the file it would be written to.
llvm::Expected<std::shared_ptr<origin::Listing>> listingOf(Model &model, Format format);

} // namespace origo
