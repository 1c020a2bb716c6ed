/// TensorFlow Lite Micro's MicroProfiler. Log() prints a line an event, in the order of running, with the operator's
/// name as its tag; LogTicksPerTagCsv() for each type of operator what all of them took, often behind the events of
/// LogCsv() one by one, or of Log(); then these are read, and the sums say the same once more.

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "llvm/ADT/StringExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

constexpr StringRef eventHead = "\"Event\",\"Tag\",\"Ticks\"", tagHead = "\"Unique Tag\",\"Total ticks";

bool isNumber(StringRef text) { return !text.empty() && llvm::all_of(text, llvm::isDigit); }

struct Event {
  StringRef tag, ticks;
};

/// "CONV_2D took 1000 ticks (1 ms).", or "cycles" up to TensorFlow 2.4, with whatever a serial console or a log puts in
/// front of it.
std::optional<Event> eventOf(StringRef line) {
  auto [before, after] = line.split(" took ");
  StringRef tag = before.rtrim().rsplit(' ').second;
  if (tag.empty())
    tag = before.trim();
  if (StringRef last = tag.rsplit('\t').second; !last.empty())
    tag = last;
  StringRef ticks = after.take_while(llvm::isDigit), unit = after.drop_front(ticks.size());
  if (tag.empty() || ticks.empty() || !(unit.starts_with(" ticks") || unit.starts_with(" cycles")))
    return std::nullopt;
  return Event{tag, ticks};
}

bool isTflm(StringRef text) {
  if (isJson(text))
    return false;
  bool found = text.contains(tagHead);
  for (bool any = text.contains(" took "); any && !found && !text.empty();) {
    auto [line, rest] = text.split('\n');
    found = eventOf(line).has_value();
    text = rest;
  }
  return found;
}

/// What a line of a table says, by LogCsv() with its number in front and, in older ones, milliseconds behind.
std::optional<Event> cellsOf(StringRef line, bool numbered, size_t columns) {
  llvm::SmallVector<StringRef> cells;
  line.split(cells, ',');
  if (cells.size() != columns)
    return std::nullopt;
  Event event{cells[numbered].trim(" \""), cells[numbered + 1].trim()};
  return !event.tag.empty() && isNumber(event.ticks) ? std::optional(event) : std::nullopt;
}

llvm::Error readTflm(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "tflm";
  std::deque<ProfileRow> sums, printed;
  enum { Nothing, Events, Sums } within = Nothing;
  size_t columns = 0;
  for (size_t number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    text = rest;
    line = line.trim();
    if (line.contains(eventHead) || line.contains(tagHead)) {
      within = line.contains(tagHead) ? Sums : Events;
      columns = line.substr(line.find('"')).count(',') + 1;
      continue;
    }
    std::optional<Event> event;
    if (within != Nothing && !line.empty() && !(event = cellsOf(line, within == Events, columns)))
      within = Nothing; // what else the program prints
    bool isPrinted = !event;
    if (isPrinted)
      event = eventOf(line);
    if (!event)
      continue;
    if (!isPrinted && within == Sums && (event->tag == "total number of ticks" || event->tag == "total_ticks")) {
      within = Nothing;
      continue;
    }
    auto value = parseDecimal(event->ticks, 0);
    if (!value)
      return makeError("line " + llvm::Twine(number) + ": " + llvm::toString(value.takeError()));
    std::deque<ProfileRow> &rows = isPrinted ? printed : within == Events ? profile.rows : sums;
    ProfileRow &row = rows.emplace_back();
    row.metric = row.unit = "cycles";
    row.rawName = event->tag;
    row.value = *value;
    // Benchmarks print their own steps likewise: "InitializeRunner" and "RunIterations(10)".
    if (isPrinted && (event->tag.ends_with(")") || event->tag.starts_with("Initialize"))) {
      row.metric = event->tag.ends_with(")") ? "graph_time" : "init_time";
      continue;
    }
    row.kind = event->tag;
    if (&rows != &sums)
      row.step = static_cast<uint32_t>(rows.size() - 1);
  }
  if (profile.rows.empty())
    profile.rows =
        std::move(llvm::any_of(printed, [](const ProfileRow &row) { return row.isSummed(); }) ? printed : sums);
  return profile.rows.empty() ? makeError("has no line of a tag and its ticks") : llvm::Error::success();
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> Tflm() {
  return {{"tflm", Rank::Words, isTflm, readTflm,
           "what MicroProfiler of TensorFlow Lite Micro prints, Log() or LogTicksPerTagCsv(): ticks; see --clock"}};
}

} // namespace origo::report::formats
