#pragma once

#include "passes/Pass.h"

#include "ir/rewrite/Expression.h"

/// What a file of rules begins with.
namespace origo {

using namespace rewrite;

// Kinds of operators that several passes ask for.
std::vector<Op> operatorsWith(llvm::ArrayRef<Trait> any);
/// All that may be computed once instead of twice, by their rows.
std::vector<Op> pureOperators();
inline constexpr Op reshapes[] = {Op::RESHAPE, Op::SQUEEZE, Op::EXPAND_DIMS};

} // namespace origo
