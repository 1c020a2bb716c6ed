#pragma once

#include "origin/codec/MapView.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace origo::origin {

/// Writes the side file: row by row, so that a map of a million operators needs no document in memory.
///
/// In an affine step a JSON integer is the index of a constant; a number is always written with a fraction or an
/// exponent (7.0). A relation with a factor or addend that is not finite is left out, since JSON has no such number and
/// null would say that there is none; a row that loses its last relation so gets the reason "approximated".
/// A source without names (`namesKnown`) says `"names": false` and has empty names.
void writeJson(const MapView &view, llvm::raw_ostream &os);

/// Reads a side file; unknown keys, fates, steps and reasons are tolerated, a higher version is refused by number.
/// Errors name the place (`target.subgraphs[0].operators[3].origins`). Rows must be where their `index` and `id` say
/// and may not be there twice, keys neither; `map` and the output names of the source are not read, because they follow
/// from the rest. Ids are not checked against what exists: that is what check() is for.
llvm::Expected<OriginMap> readJson(llvm::StringRef text);

} // namespace origo::origin
