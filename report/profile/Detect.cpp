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

llvm::Expected<Profile> report::readProfile(StringRef bytes, const ProfileOptions &options) {
  bytes.consume_front("\xef\xbb\xbf"); // what some editors put in front of UTF-8
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"))
    return makeError("is text in UTF-16; convert it to UTF-8");
  // A tool's last format is what --format takes a file for that looks like none of them.
  const ProfileFormat *found = nullptr;
  for (const ProfileFormat &format : profileFormats()) {
    bool named = options.format == format.tool;
    if (!named && !options.format.empty())
      continue;
    if (format.looksLike(bytes)) {
      found = &format;
      break;
    }
    if (named)
      found = &format;
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
