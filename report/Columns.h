#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

/// Tables for people and for spreadsheets.
namespace origo::report {

using Cells = std::vector<std::string>;

/// How many columns of a terminal a text takes.
int columnWidth(llvm::StringRef text);

/// A name of a model, escaped, for a cell: of a long one the beginning and more of the end, for that is where names
/// differ.
std::string shortName(llvm::StringRef name, size_t limit);

/// Prints rows in columns as wide as their widest cell. `row` makes the cells of a row; it is asked twice, so that a
/// million rows need not be kept. The columns of `rightAligned` hold numbers.
void printColumns(const Cells &head, size_t count, llvm::function_ref<Cells(size_t)> row, llvm::raw_ostream &os,
                  llvm::ArrayRef<size_t> rightAligned = {});

/// A quoted cell of comma-separated values. Text that a spreadsheet would take for a formula begins with an
/// apostrophe; control characters are escaped.
std::string csvText(llvm::StringRef text);

} // namespace origo::report
