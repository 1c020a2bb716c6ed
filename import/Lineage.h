#pragma once

#include "import/Import.h"
#include "import/Source.h"
#include "origin/Files.h"

namespace origo {

/// Gives the graph its provenance: continues the map of the input, or makes the input its own source. Afterwards the
/// model has none of the metadata that held origins, so that export writes them anew.
llvm::Error takeLineage(const Source &source, const ImportOptions &options, Imported &imported);

/// Goes on with a map that leads to the model, as which the file `name` counts among those on the way from now on.
/// `content`: of the model.
llvm::Error continueMap(origin::OriginMap map, const origin::Digest &fingerprint, const origin::Digest &content,
                        std::string name, std::string format, bool payloads, Imported &imported);

/// Stamps the facts of a map on the graph of the model that it leads to. All its numbers are checked.
/// `dropConstants`: relations of constants do not hold any more, for the weights were trained again. Without
/// `payloads`, constants may have lost their bytes, and what they were computed from.
llvm::Error applyMap(const origin::OriginMap &map, bool dropConstants, Model &model, bool payloads = true);

} // namespace origo
