#pragma once

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
/// Refuses what is no JSON, is nested deeply, or has a key twice, of which a reader would silently drop one.
llvm::Error checkJson(llvm::StringRef text);
/// An element of a list of events. What holds its members is used for the next one again.
class ListedEvent {
public:
  static constexpr size_t mostMembers = 64;

  ListedEvent();
  ~ListedEvent();
  bool isObject = false;
  const nlohmann::json *find(llvm::StringRef key) const; ///< null where it has none
  llvm::StringRef text(llvm::StringRef key) const;       ///< of a member that is a string; else empty
  nlohmann::json *add(llvm::StringRef key);              ///< null where it has one, or has too many
  bool isFull() const { return size == mostMembers; }
  void clear();

private:
  size_t size = 0;
  std::vector<std::pair<std::string, nlohmann::json>> members; ///< of which `size` count
};
/// The elements of the list that the text is, or that its object has as "traceEvents", one after the other, checked
/// likewise: there may be a million, and `visit` may keep none. An error of `visit` comes with the number of the
/// element.
llvm::Error forEachEvent(llvm::StringRef text, llvm::function_ref<llvm::Error(const ListedEvent &)> visit);

} // namespace origo::report
