/// Linux perf: the samples of `perf script`, and the table of `perf report --stdio`. A row is a function; generated
/// code has one a kernel. Samples are counted by their period, which is nanoseconds of a clock event and cycles of any
/// other.

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

bool isClock(StringRef event) { return event.starts_with("cpu-clock") || event.starts_with("task-clock"); }

/// "digits  1743 [001] 16353.476745:    1000000 cpu-clock:u:      560a68a84834 kernel_1+0xc4 (/srv/digits)", where the
/// code that was running may be on lines of its own, the innermost first.
struct Sample {
  StringRef period, event, code;

  static std::optional<Sample> of(StringRef line) {
    // The time is the first word that is a number with a point and ends with a colon: the program's name may be
    // anything.
    for (StringRef rest = line; !rest.empty();) {
      rest = rest.ltrim(" \t");
      StringRef word = rest.take_until([](char c) { return c == ' ' || c == '\t'; });
      rest = rest.drop_front(word.size());
      auto [seconds, fraction] = word.split('.');
      if (!fraction.consume_back(":") || seconds.empty() || fraction.empty() ||
          seconds.find_first_not_of("0123456789") != StringRef::npos ||
          fraction.find_first_not_of("0123456789") != StringRef::npos)
        continue;
      Sample sample;
      rest = rest.ltrim(" \t");
      sample.period = rest.take_while([](char c) { return llvm::isDigit(c); });
      rest = rest.drop_front(sample.period.size()).ltrim(" \t");
      sample.event = rest.take_until([](char c) { return c == ' ' || c == '\t'; });
      sample.code = rest.drop_front(sample.event.size()).trim();
      return sample.event.ends_with(":") ? std::optional(sample) : std::nullopt;
    }
    return std::nullopt;
  }
};

/// "560a68a84834 kernel_1+0xc4 (/srv/digits)"; where the program is, is nobody's business.
StringRef symbolOf(StringRef code) {
  code = code.trim();
  StringRef address = code.take_while([](char c) { return llvm::isHexDigit(c); });
  StringRef symbol = code.drop_front(address.size()).ltrim();
  if (symbol.ends_with(")"))
    symbol = symbol.take_front(symbol.rfind(" (")).rtrim();
  StringRef offset = symbol.rsplit('+').second;
  return offset.starts_with("0x") ? symbol.rsplit('+').first : symbol;
}

bool isPerfScript(StringRef text) {
  auto sample = Sample::of(firstLine(text));
  return sample && !sample->event.empty();
}
bool isPerfReport(StringRef text) {
  return text.ltrim().starts_with("#") && text.contains("\n# Event count (approx.): ");
}

class Rows {
public:
  explicit Rows(Profile &profile) : profile(profile) {}
  llvm::Error add(StringRef symbol, StringRef event, uint64_t value) {
    auto [found, isNew] = known.try_emplace(symbol.str(), profile.rows.size());
    if (isNew) {
      ProfileRow &row = profile.rows.emplace_back();
      row.rawName = row.symbol = row.tensor = symbol.str();
      row.backend = "cpu";
      row.count = 0;
      if (!isClock(event))
        row.metric = row.unit = "cycles";
    }
    ++profile.rows[found->second].count;
    return addTime(profile.rows[found->second], value);
  }

private:
  Profile &profile;
  std::map<std::string, size_t> known;
};

llvm::Error readPerfScript(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "perf";
  Rows rows(profile);
  std::optional<Sample> open; // whose code is on the next line
  std::string event;
  for (size_t number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    text = rest;
    line = line.rtrim();
    auto sample = Sample::of(line);
    if (!sample && open && !line.trim().empty())
      open->code = line.trim(), sample = open;
    else if (!sample)
      continue;
    open.reset();
    if (sample->period.empty())
      return makeError("line " + llvm::Twine(number) + ": the sample has no period; perf script -F +period writes it");
    if (sample->code.empty()) {
      open = sample;
      continue;
    }
    auto value = parseDecimal(sample->period, 0);
    if (!value)
      return makeError("line " + llvm::Twine(number) + ": " + llvm::toString(value.takeError()));
    if (event.empty())
      event = sample->event.str();
    if (sample->event != event)
      return makeError("line " + llvm::Twine(number) + ": there are samples of several events, \"" +
                       printable(event, 40) + "\" and \"" + printable(sample->event, 40) + "\"");
    if (llvm::Error error = rows.add(symbolOf(sample->code), sample->event, *value))
      return error;
  }
  return profile.rows.empty() ? makeError("has no sample") : llvm::Error::success();
}

llvm::Error readPerfReport(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "perf";
  Rows rows(profile);
  std::string event;
  uint64_t total = 0;
  bool children = false;
  for (size_t number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    text = rest;
    line = line.trim();
    auto bad = [&](const llvm::Twine &what) { return makeError("line " + llvm::Twine(number) + ": " + what); };
    if (line.consume_front("#")) {
      line = line.trim();
      if (size_t at = line.find(" of event '"); at != StringRef::npos)
        event = line.substr(at).split('\'').second.split('\'').first.str();
      else if (line.consume_front("Event count (approx.): ")) {
        if (line.getAsInteger(10, total) || total >> 63)
          return bad("\"" + printable(line, 40) + "\" is no number of events");
        if (!profile.rows.empty())
          return bad("there are several events; perf report of one of them is what can be joined");
      } else if (line.starts_with("Children"))
        children = true;
      continue;
    }
    if (line.empty())
      continue;
    auto [share, after] = line.split('%');
    if (children) // its own share stands behind that of all that it calls
      std::tie(share, after) = after.split('%');
    size_t mark = after.find("[.] ");
    if (mark == StringRef::npos)
      mark = after.find("[k] ");
    auto parts = parseDecimal(share, 6); // of 10^8
    if (!parts || mark == StringRef::npos) {
      llvm::consumeError(parts.takeError());
      continue; // a call chain
    }
    auto value = static_cast<uint64_t>(static_cast<unsigned __int128>(total) * *parts / 100'000'000);
    if (llvm::Error error = rows.add(after.substr(mark + 4).trim(), event, value))
      return error;
  }
  return profile.rows.empty() ? makeError("has no row \"12.34%  …  [.] function\"") : llvm::Error::success();
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> Perf() {
  return {{"perf", Rank::Words, isPerfReport, readPerfReport, "what perf report --stdio prints"},
          {"perf", Rank::Form, isPerfScript, readPerfScript,
           "what perf script prints: functions, by their kernels (--kernels) or as tensors"}};
}

} // namespace origo::report::formats
