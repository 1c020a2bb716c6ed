#pragma once

#include "origin/OriginMap.h"

#include "llvm/ADT/StringRef.h"

namespace origo::origin {

/// An affine step by constants of the source came later than the embedded format: there it stands as its JSON, which a
/// reader that does not know it keeps.
std::string affineBySource(const MapStep &step);
/// False: the text is something else. Read as the C header does, so that they agree on whatever stands there.
bool readAffineBySource(llvm::StringRef text, MapStep &step);

} // namespace origo::origin
