#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

/// Random models as text, for circle-fuzz. The same seed gives the same text on every machine.
namespace origo::fuzz {

/// A graph of up to about thirty operators: those of the operator table, and what rewrites look for. It is valid,
/// though it may compute infinities.
std::string randomGraph(uint64_t seed);

/// One operator of what the row of a kernel takes, or just does not (RandomOperator.h). It need not be valid.
std::string randomOperator(uint64_t seed);

/// Some operators that follow each other in one of these files, as a model of its own. Empty where the file cannot be
/// read, or computes too much for all the checks.
std::string randomPart(llvm::ArrayRef<std::string> files, uint64_t seed);

} // namespace origo::fuzz
