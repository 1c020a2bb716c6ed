#pragma once

#include "report/CheckedJson.h"
#include "report/profile/Profile.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <nlohmann/json_fwd.hpp>

/// What the readers of report/formats/ state of themselves, and what they share.
namespace origo::report {

/// How sure a format may be of a file that looks like its own. Smaller ones are asked first. Two formats of one rank
/// never take the same file for theirs: tests/formats_test.cpp asks all of them about all samples.
enum class Rank {
  Bytes, ///< no text has these bytes
  Words, ///< keys, headings or columns that only this tool writes
  Form,  ///< a form that several tools write, told from what is in it
  Table, ///< any table with a head, any list of objects
};

/// A row of a reader: what the function that its file is named after returns.
struct ProfileFormat {
  const char *tool; ///< what --format calls it; several formats may be one tool's
  Rank rank;
  bool (*looksLike)(llvm::StringRef);
  llvm::Error (*read)(llvm::StringRef, const ProfileOptions &, Profile &);
  const char *help;
};
/// All of them, by rank.
llvm::ArrayRef<ProfileFormat> profileFormats();

/// What the two cells that name a row of benchmark_model say.
void describeBenchmarkRow(llvm::StringRef type, llvm::StringRef name, ProfileRow &row);

bool isJson(llvm::StringRef text);
/// What is told from keys is told from their appearance anywhere in the first 4 MiB, before the file is known to be
/// whole.
bool hasKey(llvm::StringRef text, llvm::StringRef key);
/// The first line that is not blank.
llvm::StringRef firstLine(llvm::StringRef text);

/// A decimal number times 10^exponent, to the nearest integer. Refuses what is negative, no number, or not below 2^63.
llvm::Expected<uint64_t> parseDecimal(llvm::StringRef text, int exponent);
/// Powers of ten from a unit of time to nanoseconds; none for a unit that is not known.
std::optional<int> nanosecondExponent(llvm::StringRef unit);
/// Adds to a row's value; an error where the sum is not below 2^63.
llvm::Error addTime(ProfileRow &row, uint64_t time);

/// The cells of a line of comma-separated values, without their quotes. `line` and what follows is taken off `text`,
/// since a quoted cell may go over lines.
llvm::Expected<std::vector<std::string>> takeCsvLine(llvm::StringRef &text, char separator = ',');
/// The lines of a table that has a head, as cells by title; lines of one empty cell are passed over. `visit` gets the
/// number of the line. Of two columns with one title the first counts.
using CsvRow = std::map<std::string, std::string, std::less<>>;
llvm::Error readCsvRows(llvm::StringRef text, char separator, llvm::function_ref<llvm::Error(const CsvRow &)> visit);

/// Of an object; null where it has none, or is no object.
const nlohmann::json *memberOf(const nlohmann::json &object, const char *key);
/// A member that is a string; else empty.
llvm::StringRef textOf(const nlohmann::json &object, const char *key);

} // namespace origo::report
