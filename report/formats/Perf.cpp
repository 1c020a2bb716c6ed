/// Linux perf: the samples of `perf script`, and the table of `perf report --stdio`. A row is a function; generated
/// code has one a kernel. Samples are counted by their period, which is nanoseconds of a clock event and cycles of any
/// other.

#include "report/profile/Layers.h"
#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

bool isClock(StringRef event) { return event.starts_with("cpu-clock") || event.starts_with("task-clock"); }

/// "digits  1743 [001] 16353.476745:    1000000 cpu-clock:u:      560a68a84834 kernel_1+0xc4 (/srv/digits)", where the
/// code that was running may be on lines of its own, the innermost first.
struct Sample {
  StringRef period, event, code;
  StringRef seconds, fraction; ///< its time
  std::optional<uint64_t> thread;

  static std::optional<Sample> of(StringRef line) {
    // The time is the first word that is a number with a point and ends with a colon: the program's name may be
    // anything. "17/18", process and thread, or the thread alone stands before it.
    std::optional<uint64_t> thread;
    for (StringRef rest = line; !rest.empty();) {
      rest = rest.ltrim(" \t");
      StringRef word = rest.take_until([](char c) { return c == ' ' || c == '\t'; });
      rest = rest.drop_front(word.size());
      auto [seconds, fraction] = word.split('.');
      if (!fraction.consume_back(":") || seconds.empty() || fraction.empty() ||
          seconds.find_first_not_of("0123456789") != StringRef::npos ||
          fraction.find_first_not_of("0123456789") != StringRef::npos) {
        uint64_t number = 0;
        if (!word.rsplit('/').second.getAsInteger(10, number) || !word.getAsInteger(10, number))
          thread = number;
        continue;
      }
      Sample sample;
      sample.thread = thread;
      sample.seconds = seconds;
      sample.fraction = fraction;
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
  for (text = text.ltrim(); text.starts_with("#"); text = text.split('\n').second.ltrim())
    ; // perf script --header
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
      row.rawName = row.ownDetails().symbol = row.tensor = symbol.str();
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
          return bad("\"" + printable(line, 40) + "\" is not a number of events");
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
    std::string percent = share.str();
    std::replace(percent.begin(), percent.end(), ',', '.'); // of languages that have a decimal comma
    auto parts = parseDecimal(percent, 6);                  // of 10^8
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

/// When an operator ran, in nanoseconds.
struct Interval {
  uint64_t begin, end;
  size_t row; ///< of the profile
};
/// By thread. Those of threads that help come a second time: `whole` has each once.
struct Intervals {
  std::map<uint64_t, std::vector<Interval>> byThread;
  std::vector<Interval> whole;

  void sort() {
    // Where one operator runs within another, that counts: the one that began last.
    auto inOrder = [](const Interval &a, const Interval &b) {
      return std::pair(a.begin, ~a.end) < std::pair(b.begin, ~b.end);
    };
    llvm::stable_sort(whole, inOrder);
    for (auto &[thread, list] : byThread)
      llvm::stable_sort(list, inOrder);
  }
};

/// The intervals that samples lie in, asked for in order of time.
class Timeline {
public:
  explicit Timeline(llvm::ArrayRef<Interval> intervals) : intervals(intervals) {}
  const Interval *at(uint64_t time) {
    for (; next < intervals.size() && intervals[next].begin <= time; ++next)
      open.push_back(&intervals[next]);
    while (!open.empty() && open.back()->end < time)
      open.pop_back();
    return open.empty() ? nullptr : open.back();
  }

private:
  llvm::ArrayRef<Interval> intervals;
  size_t next = 0;
  std::vector<const Interval *> open;
};

llvm::Error readIntervals(StringRef trace, Profile &profile, Intervals &intervals) {
  std::map<std::pair<uint32_t, uint32_t>, size_t> rows;
  auto take = [&](const ListedEvent &event) -> llvm::Error {
    auto number = [](const nlohmann::json *value) { return value && value->is_number() ? value : nullptr; };
    const auto *begin = number(event.find("ts")), *length = number(event.find("dur")), *args = event.find("args");
    if (!begin || !length || !args)
      return llvm::Error::success();
    const auto *subgraph = number(memberOf(*args, "subgraph")), *op = number(memberOf(*args, "operator"));
    double from = begin->get<double>(), took = length->get<double>();
    if (!subgraph || !op || !subgraph->is_number_unsigned() || !op->is_number_unsigned() ||
        !(from >= 0 && from < 1e15) || !(took >= 0 && took < 1e15) || subgraph->get<uint64_t>() > UINT32_MAX ||
        op->get<uint64_t>() > UINT32_MAX)
      return llvm::Error::success();
    auto [found, isNew] = rows.try_emplace({subgraph->get<uint32_t>(), op->get<uint32_t>()}, profile.rows.size());
    if (isNew) {
      ProfileRow &row = profile.rows.emplace_back();
      row.subgraph = subgraph->get<uint32_t>();
      row.op = op->get<uint32_t>();
      row.count = 0;
      row.kind = event.text("name");
      row.tensor = textOf(*args, "output");
      row.rawName = row.tensor.empty() ? row.kind : row.tensor;
    }
    Interval is{static_cast<uint64_t>(from * 1e3), static_cast<uint64_t>((from + took) * 1e3), found->second};
    if (const auto *thread = number(event.find("tid")); thread && thread->is_number_unsigned())
      intervals.byThread[thread->get<uint64_t>()].push_back(is);
    if (event.text("cat") != "operator.part")
      intervals.whole.push_back(is);
    return llvm::Error::success();
  };
  if (llvm::Error error = forEachEvent(trace, take))
    return error;
  intervals.sort();
  return intervals.whole.empty() ? makeError("has no operator: circle-interpreter --profile=FILE writes such traces")
                                 : llvm::Error::success();
}

} // namespace

namespace {

struct Timed {
  uint64_t time, period;
  std::optional<uint64_t> thread;
};

/// All samples in order of time; `isTime`: their periods are times.
llvm::Error readSamples(StringRef text, std::vector<Timed> &samples, bool &isTime) {
  for (size_t number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    text = rest;
    auto sample = Sample::of(line.rtrim());
    if (!sample)
      continue;
    auto time = parseDecimal((sample->seconds + "." + sample->fraction).str(), 9),
         period = parseDecimal(sample->period, 0);
    if (!time || !period) {
      llvm::consumeError(time.takeError());
      llvm::consumeError(period.takeError());
      return makeError("line " + llvm::Twine(number) +
                       ": the sample has no period, or no time; perf script -F +period writes it");
    }
    isTime &= isClock(sample->event);
    samples.push_back({*time, *period, sample->thread});
  }
  llvm::stable_sort(samples, [](const Timed &a, const Timed &b) { return a.time < b.time; });
  return samples.empty() ? makeError("has no sample") : llvm::Error::success();
}

} // namespace

llvm::Expected<Profile> report::readPerfByLayers(StringRef text, StringRef trace) {
  Profile profile;
  profile.tool = "perf";
  Intervals intervals;
  std::vector<Timed> samples;
  bool isTime = true;
  if (llvm::Error error = readIntervals(trace, profile, intervals))
    return error;
  if (llvm::Error error = readSamples(text, samples, isTime))
    return error;
  // Threads have other numbers outside of a container: then time alone tells.
  bool byThread = llvm::any_of(
      samples, [&](const Timed &sample) { return sample.thread && intervals.byThread.count(*sample.thread); });
  if (!byThread)
    profile.notes.push_back("the samples and the trace have no thread in common: time alone tells the operator");
  std::map<uint64_t, Timeline> ofThreads;
  for (const auto &[thread, list] : intervals.byThread)
    ofThreads.emplace(thread, list);
  Timeline ofAll(intervals.whole);
  ProfileRow outside;
  outside.rawName = "(outside of operators)";
  outside.count = 0;
  for (const Timed &sample : samples) {
    auto own = ofThreads.find(sample.thread.value_or(0));
    const Interval *found = !byThread                ? ofAll.at(sample.time)
                            : own != ofThreads.end() ? own->second.at(sample.time)
                                                     : nullptr;
    ProfileRow &row = found ? profile.rows[found->row] : outside;
    ++row.count;
    if (llvm::Error error = addTime(row, sample.period))
      return error;
  }
  profile.rows.push_back(std::move(outside));
  for (ProfileRow &row : profile.rows)
    if (!isTime)
      row.metric = row.unit = "cycles";
  llvm::erase_if(profile.rows, [](const ProfileRow &row) { return row.count == 0; });
  if (profile.rows.size() == 1 && profile.rows.front().rawName == "(outside of operators)")
    return makeError(
        "no sample lies within an operator of the trace: perf record -k CLOCK_MONOTONIC, of the run that wrote it");
  return profile;
}

namespace origo::report::formats {

std::vector<ProfileFormat> Perf() {
  return {{"perf", Rank::Words, isPerfReport, readPerfReport, "what perf report --stdio prints"},
          {"perf", Rank::Form, isPerfScript, readPerfScript,
           "what perf script prints: functions, by their kernels (--kernels) or as tensors"}};
}

} // namespace origo::report::formats
