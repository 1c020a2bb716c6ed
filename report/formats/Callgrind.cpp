/// valgrind --tool=callgrind: instructions of each function itself, without those of what it calls.

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "llvm/ADT/StringExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

bool isCallgrind(StringRef text) {
  return text.starts_with("# callgrind format") ||
         (text.starts_with("version: 1") && text.contains("\ncreator: callgrind"));
}

llvm::Error readCallgrind(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "callgrind";
  std::map<std::string, std::string, std::less<>> names; // "(502)" stands for the name that it came with first
  std::map<std::string, size_t> rows;
  std::string function;
  size_t positions = 1;
  bool called = false; // the next line of costs is that of a call
  for (size_t number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    text = rest;
    line = line.rtrim();
    auto bad = [&](const llvm::Twine &what) { return makeError("line " + llvm::Twine(number) + ": " + what); };
    if (line.consume_front("positions:")) {
      llvm::SmallVector<StringRef> words;
      line.split(words, ' ', -1, false);
      positions = std::max<size_t>(words.size(), 1);
    } else if (StringRef name = line; name.consume_front("fn=") || name.consume_front("cfn=")) {
      auto [id, full] = name.split(' ');
      std::string known = name.str();
      if (id.starts_with("(") && id.ends_with(")")) {
        if (!full.empty())
          names[id.str()] = full.str();
        known = names[id.str()];
      }
      if (line.starts_with("fn="))
        function = known;
    } else if (line.starts_with("calls=")) {
      called = true;
    } else if (!line.empty() && (llvm::isDigit(line[0]) || StringRef("+-*").contains(line[0]))) {
      if (std::exchange(called, false))
        continue;
      llvm::SmallVector<StringRef> words;
      line.split(words, ' ', -1, false);
      if (words.size() <= positions)
        continue; // no cost
      auto cost = parseDecimal(words[positions], 0);
      if (!cost)
        return bad(llvm::toString(cost.takeError()));
      auto [found, isNew] = rows.try_emplace(function, profile.rows.size());
      if (isNew) {
        ProfileRow &row = profile.rows.emplace_back();
        row.rawName = row.ownDetails().symbol = row.tensor = function;
        row.backend = "cpu";
        row.metric = row.unit = "cycles";
      }
      if (llvm::Error error = addTime(profile.rows[found->second], *cost))
        return bad(llvm::toString(std::move(error)));
    }
  }
  profile.notes.push_back("the first event of callgrind, instructions, is counted as cycles");
  return profile.rows.empty() ? makeError("has no costs") : llvm::Error::success();
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> Callgrind() {
  return {{"callgrind", Rank::Words, isCallgrind, readCallgrind, "callgrind.out.*: instructions by function, as perf"}};
}

} // namespace origo::report::formats
