#pragma once

#include "export/Tables.h"
#include "origin/OriginMap.h"

namespace origo {

/// The origin map of a numbered model whose tables have been built.
llvm::Expected<origin::OriginMap> originMapOf(Model &model, const origin::Lineage &lineage, const Tables &tables);
origin::Listing listingOf(const Model &model, const Tables &tables);

} // namespace origo
