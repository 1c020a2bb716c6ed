#pragma once

#include "ir/Taint.h"

#include "llvm/Support/raw_ostream.h"

namespace origo::text {

/// `{0, 2..5}`
void printIds(llvm::raw_ostream &os, const IdSets &sets, IdSet set);
/// The comment behind an operator or a constant, without the sign that begins it. Nothing where there is no provenance.
void printOrigins(llvm::raw_ostream &os, const Operator &op, const Taint &taint);
void printOrigins(llvm::raw_ostream &os, const Value &constant, const Taint &taint);

} // namespace origo::text
