#pragma once

#include "passes/Rule.h"

#include "ir/CustomAttributes.h"

namespace origo {

/// The attributes of a custom operator. None: it has no map of them.
inline std::optional<flexbuffers::Map> attributesOf(Node custom) { return attributesIn(custom.customOptions()); }

} // namespace origo
