#pragma once

#include "origin/Files.h"

namespace origo::origin {

constexpr llvm::StringLiteral debugMetadataName = "debug_metadata";

/// The lines of programs that a converter wrote beside the operators of a view, into the listing of that view.
/// `payload` is that of the entry `debug_metadata`, which schema/debug_metadata.fbs describes; what cannot be read adds
/// nothing. Paths are relative.
void addDebugLines(const ModelView &view, llvm::ArrayRef<uint8_t> payload, Listing &listing);

} // namespace origo::origin
