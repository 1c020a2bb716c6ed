#pragma once

#include "llvm/Support/Error.h"

/// An error is one line.
inline bool fails(llvm::Error error) {
  if (!error)
    return false;
  if (llvm::toString(std::move(error)).find('\n') != std::string::npos)
    __builtin_trap();
  return true;
}
