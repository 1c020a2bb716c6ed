#pragma once

#include "report/infer/Numbers.h"

/// One operator of the result, run on numbers that are not its own: those that the source has in their place.
namespace origo::report {

/// What an operator makes of these operands, in real numbers: nothing is rounded to the types that the file stores, so
/// that what is off has another reason. `operands`: null where there is none, or where it is NaN; then it has to
/// be a constant. `asStored`: in the types of the file. None: it cannot be run so.
std::optional<std::vector<std::optional<RealTensor>>>
execute(const Operator &op, llvm::ArrayRef<const RealTensor *> operands, bool asStored);

/// Does it hand its first operand on as it is, in real numbers?
bool storesOtherwise(const Operator &op);

} // namespace origo::report
