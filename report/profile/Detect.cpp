#include "report/profile/Damage.h"
#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace origo::report::formats {
#define FORMAT(file) std::vector<ProfileFormat> file();
#include "report/Formats.inc"
#undef FORMAT
} // namespace origo::report::formats

llvm::ArrayRef<ProfileFormat> report::profileFormats() {
  static const std::vector<ProfileFormat> all = [] {
    std::vector<ProfileFormat> all;
    for (auto *formatsOfFile : {
#define FORMAT(file) &formats::file,
#include "report/Formats.inc"
#undef FORMAT
         })
      llvm::append_range(all, formatsOfFile());
    llvm::stable_sort(all, [](const ProfileFormat &a, const ProfileFormat &b) { return a.rank < b.rank; });
    return all;
  }();
  return all;
}

/// Null where no format takes it for its own. A tool's last format is what --format takes a file for that looks like
/// none of them.
static const ProfileFormat *formatOf(StringRef bytes, const ProfileOptions &options) {
  const ProfileFormat *named = nullptr;
  for (const ProfileFormat &format : profileFormats()) {
    bool isNamed = options.format == format.tool;
    if (!isNamed && !options.format.empty())
      continue;
    if (format.looksLike(bytes))
      return &format;
    if (isNamed)
      named = &format;
  }
  return named;
}

/// From a line that begins like JSON to where JSON may end; empty where the text is JSON as a whole, or holds none.
static StringRef jsonWithin(StringRef text) {
  auto isBegin = [](StringRef part) { // and not "[INFO] …"
    return (part.consume_front("{") && part.ltrim().starts_with("\"")) ||
           (part.consume_front("[") && part.ltrim().starts_with("{"));
  };
  if (isJson(text))
    return {};
  for (size_t at = text.find('\n'); at != StringRef::npos; at = text.find('\n', at + 1))
    if (isBegin(text.drop_front(at + 1)))
      return text.slice(at + 1, text.find_last_of("}]") + 1);
  return {};
}

llvm::Expected<Profile> report::readProfile(StringRef bytes, const ProfileOptions &options) {
  bytes.consume_front("\xef\xbb\xbf"); // what some editors put in front of UTF-8
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"))
    return makeError("is text in UTF-16; convert it to UTF-8");
  std::optional<std::string> plain = asPlainText(bytes);
  if (plain)
    bytes = *plain;
  bytes = withoutBlankLines(bytes);
  std::optional<std::string> headed = withLongHeads(bytes);
  if (headed)
    bytes = *headed;
  std::optional<std::string> whole = withoutHeads(bytes, [&](StringRef lines) {
    const ProfileFormat *format = formatOf(lines, options);
    return format && format->rank != Rank::Table && format->looksLike(lines);
  });
  if (whole)
    bytes = *whole;
  const ProfileFormat *found = formatOf(bytes, options);
  if (StringRef part = jsonWithin(bytes); !part.empty()) // a program told of itself before and after
    if (const ProfileFormat *other = formatOf(part, options); other && other->rank == Rank::Words) {
      found = other;
      bytes = part;
    }
  // A table that no tool writes so may be one that a spreadsheet saved.
  std::optional<std::string> commas;
  if ((!found || found->rank == Rank::Table) && options.columns.empty()) {
    commas = withCommas(bytes);
    const ProfileFormat *other = commas ? formatOf(*commas, options) : nullptr;
    if (other && other->rank == Rank::Words) {
      found = other;
      bytes = *commas;
    }
  }
  if (!found && !options.format.empty())
    return makeError("there is no format \"" + printable(options.format, 40) + "\"; --help lists them");
  if (!found)
    return makeError("is no profile of a known format; --help lists them, and --format chooses one");
  Profile profile;
  if (llvm::Error error = found->read(bytes, options, profile))
    return makeError(llvm::toString(std::move(error)) + " (read as " + found->tool + ")");
  return profile;
}
