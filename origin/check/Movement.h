#pragma once

#include "origin/check/Graph.h"

namespace origo::origin {

constexpr size_t mostMoves = 16; ///< so many operators at most are looked at together

/// Operators of a file that follow each other, each with one operand that is no constant: does the result of the last
/// one have the shape of what the first one is given, and its elements in the same order?
bool movesNothing(const FileGraph &file, llvm::ArrayRef<uint32_t> way);
/// Are the elements in the same order, whatever the shape?
bool keepsOrder(const FileGraph &file, llvm::ArrayRef<uint32_t> way, bool andShape = false);

/// Operators that follow each other on the way and together move nothing are nothing for whoever works there: takes
/// them out of `missing`. What leaves shapes as they are may lie between them.
void excuseDetours(const FileGraph &file, llvm::ArrayRef<uint32_t> way, llvm::SmallVectorImpl<uint32_t> &missing);

} // namespace origo::origin
