#pragma once

#include "ir/Model.h"
#include "origin/OriginMap.h"

namespace origo {

/// Has the entry `debug_metadata`, if the model has one, say of each operator which lines called those of the source
/// that it does the work of.
void writeDebugLines(Model &model, const origin::Lineage &lineage);

} // namespace origo
