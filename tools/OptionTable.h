#pragma once

#include "commands/Command.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

/// The options of a command line as rows of one spelling each: what front door, shell completion and manual pages are
/// made of.
namespace origo::tools {

using commands::findOption, commands::Option;

/// Rows of what is no command: `origo`, and ONE's steps.
Option flagRow(llvm::StringRef name, llvm::StringRef help, llvm::StringRef category = "Options");
Option valueRow(llvm::StringRef name, llvm::StringRef value, llvm::StringRef help,
                llvm::StringRef category = "Options");
/// Do words follow `--a`, where there is no `=`?
inline bool takesWords(const Option &row) { return !row.flag && !row.bare && !row.prefix; }
/// What the value may be, and what each means; empty: anything.
inline std::vector<commands::Choice> valuesOf(const Option &row) {
  return row.choices ? row.choices() : std::vector<commands::Choice>();
}

/// What every tool prints for the one word `--print-options`, for programs.
constexpr llvm::StringLiteral printOptionsWord = "--print-options";
void printOptionTable(commands::Options rows);
/// The options of a command, each spelling one, by name.
std::vector<Option> rowsOf(commands::Options options);
/// What --help shows: the rows by category, in the order in which those come up.
std::string helpOf(commands::Options rows);

/// A command line taken apart as commands::parse() does it. What `options` does not know counts as a flag.
struct Word {
  std::string text;              ///< as it was given
  std::string option, value;     ///< option: empty for an argument
  std::vector<std::string> more; ///< the words behind it that are its values
};
std::vector<Word> takeApart(llvm::ArrayRef<std::string> words, commands::Options options);

} // namespace origo::tools
