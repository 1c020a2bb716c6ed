#pragma once

#include "llvm/Support/CommandLine.h"

#include <string>

/// origin-dump --join-values: tensors that a model had elsewhere, in terms of its source.
namespace origo::tools {

llvm::cl::OptionCategory &valuesCategory();
bool wantsValues();
/// The exit code.
int runValues(const std::string &model, const std::string &source, bool json);

} // namespace origo::tools
