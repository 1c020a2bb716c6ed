#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

/// What happens to a text on its way: a log puts words in front of its lines, who pastes it indents it, a spreadsheet
/// saves it with separators and decimal commas of its language.
namespace origo::report {

/// The text without colours of terminals, and with its lines ended by line feeds; none where it is so.
std::optional<std::string> asPlainText(llvm::StringRef text);

/// What `logcat -v long` writes, whose heads are lines of their own, with a head in front of each line.
std::optional<std::string> withLongHeads(llvm::StringRef text);

/// Without blank lines in front, which a file of bytes may well begin with.
llvm::StringRef withoutBlankLines(llvm::StringRef bytes);

/// The text without what logs, quoting and indenting put in front of its lines; none where nothing did. Of a log that
/// several programs wrote into, those lines that `isProfile` takes for one.
std::optional<std::string> withoutHeads(llvm::StringRef text, llvm::function_ref<bool(llvm::StringRef)> isProfile);

/// A table of semicolons, tabs, or tabs that became blanks, as comma-separated values with decimal points; none where
/// its head has commas or nothing of these.
std::optional<std::string> withCommas(llvm::StringRef table);

/// "1.234,5" as "1234.5": spreadsheets of languages with a decimal comma.
std::string withPoint(std::string number);

} // namespace origo::report
