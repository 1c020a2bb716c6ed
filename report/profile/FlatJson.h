#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

/// A part of JSON that is read without building anything, for files with a million rows.
namespace origo::report {

/// Calls `visit` with keys and values, which are not null, of each object of a list, alone or as "rows". False where
/// the text is anything else: objects hold numbers from 0 on, truth values, and texts without escapes, and no key
/// twice; or where `visit` says so. Values of texts are without their quotes, numbers as they stand there.
bool forEachFlatObject(
    llvm::StringRef text,
    llvm::function_ref<bool(llvm::ArrayRef<llvm::StringRef> keys, llvm::ArrayRef<llvm::StringRef> values)> visit);

} // namespace origo::report
