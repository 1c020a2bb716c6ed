#pragma once

#include "commands/Command.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

/// The options of a command line as data: what front door, shell completion and manual pages are made of.
namespace origo::tools {

struct OptionRow {
  enum Kind { Flag, Value, Optional, Prefix } kind = Flag; ///< Optional: `--a` or `--a=x`; Prefix: `-O1`
  unsigned words = 0;                                      ///< that follow `--a`, where there is no `=`
  std::string name, value, category, help;
  std::vector<std::pair<std::string, std::string>> choices; ///< of the value, and what each means; empty: anything
  std::string spelled() const { return (name.size() == 1 ? "-" : "--") + name; }
};

/// What every tool prints for the one word `--print-options`, for programs.
constexpr llvm::StringLiteral printOptionsWord = "--print-options";
void printOptionTable(llvm::ArrayRef<OptionRow> rows);
/// The options of a command, each spelling one, by name.
std::vector<OptionRow> rowsOf(commands::Options options);
/// What --help shows: the rows by category, in the order in which those come up.
std::string helpOf(llvm::ArrayRef<OptionRow> rows);

/// Null: there is none of that name.
const OptionRow *findOption(llvm::ArrayRef<OptionRow> options, llvm::StringRef name);

/// A command line taken apart as commands::parse() does it. What `options` does not know counts as a flag.
struct Word {
  std::string text;              ///< as it was given
  std::string option, value;     ///< option: empty for an argument
  std::vector<std::string> more; ///< the words behind it that are its values
};
std::vector<Word> takeApart(llvm::ArrayRef<std::string> words, llvm::ArrayRef<OptionRow> options);

} // namespace origo::tools
