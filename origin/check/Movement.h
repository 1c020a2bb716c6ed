#pragma once

#include "origin/check/Graph.h"

namespace origo::origin {

constexpr size_t mostMoves = 16; ///< so many operators at most are looked at together

/// Operators that follow each other on the way and together move nothing are nothing for whoever works there: takes
/// them out of `missing`. What leaves shapes as they are may lie between them.
void excuseDetours(const FileGraph &file, llvm::ArrayRef<uint32_t> way, llvm::SmallVectorImpl<uint32_t> &missing);

} // namespace origo::origin
