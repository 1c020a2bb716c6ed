#pragma once

#include "origin/Files.h"
#include "origin/OriginMap.h"
#include "origin/check/Violation.h"

namespace origo::origin {

/// Checks the laws of docs/origin-map.md from the map and the bytes of the models alone. `source` may be null: then
/// what needs the source's bytes (laws 4 to 10 in part) is left out, and `skipped` says so.
std::vector<Violation> check(const OriginMap &map, const ModelView &target, const ModelView *source,
                             std::vector<std::string> &skipped);

/// `movedPast` of all operators of a map that is found, as nobody saw what changed places: all that can have, by
/// law 11.
void findMovedPast(OriginMap &map, const ModelView &target, const ModelView &source);

} // namespace origo::origin
