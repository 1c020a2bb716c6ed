#pragma once

#include "report/errors/Errors.h"
#include "report/errors/Pairs.h"

namespace origo::report {

/// What is computed from constants alone is so before a run: it is compared here, and the row's figures are of that.
void compareConstants(ErrorRow &row, llvm::ArrayRef<Counterpart> counterparts);

} // namespace origo::report
