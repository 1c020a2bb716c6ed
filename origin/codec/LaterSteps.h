#pragma once

#include "origin/OriginMap.h"

#include "llvm/ADT/StringRef.h"

namespace origo::origin {

/// Affine steps by constants of the source, and steps that are scaled by the index, came later than the embedded
/// format: there they stand as their JSON, which a reader that does not know it keeps.
bool isLaterStep(const MapStep &step);
std::string laterStepText(const MapStep &step);
/// False: the text is something else. Of an affine step read as the C header does, so that they agree on whatever
/// stands there; a scaled step is a text to it.
bool readLaterStep(llvm::StringRef text, MapStep &step);

} // namespace origo::origin
