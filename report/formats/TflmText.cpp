/// TensorFlow Lite Micro's MicroProfiler::Log(): a line an event, in the order of running, with the operator's name as
/// its tag.

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "llvm/ADT/StringExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

struct Event {
  StringRef tag, ticks;
};

/// "CONV_2D took 1000 ticks (1 ms).", with whatever a serial console or a log puts in front of it.
std::optional<Event> eventOf(StringRef line) {
  auto [before, after] = line.split(" took ");
  StringRef tag = before.rtrim().rsplit(' ').second;
  if (tag.empty())
    tag = before.trim();
  StringRef ticks = after.take_while([](char c) { return llvm::isDigit(c); });
  if (tag.empty() || ticks.empty() || !after.drop_front(ticks.size()).starts_with(" ticks"))
    return std::nullopt;
  return Event{tag.rsplit('\t').second.empty() ? tag : tag.rsplit('\t').second, ticks};
}

bool isTflmText(StringRef text) {
  if (isJson(text) || !text.contains(" took "))
    return false;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (eventOf(line))
      return true;
    text = rest;
  }
  return false;
}

llvm::Error readTflmText(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "tflm";
  uint32_t step = 0;
  for (size_t number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    text = rest;
    auto event = eventOf(line.rtrim('\r'));
    if (!event)
      continue;
    auto ticks = parseDecimal(event->ticks, 0);
    if (!ticks)
      return makeError("line " + llvm::Twine(number) + ": " + llvm::toString(ticks.takeError()));
    ProfileRow &row = profile.rows.emplace_back();
    row.metric = row.unit = "cycles";
    row.rawName = row.kind = event->tag.str();
    row.value = *ticks;
    row.step = step++;
  }
  return step ? llvm::Error::success() : makeError("has no line \"… took … ticks\"");
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> TflmText() {
  return {{"tflm", Rank::Words, isTflmText, readTflmText,
           "what MicroProfiler::Log() of TensorFlow Lite Micro prints: ticks; see --clock"}};
}

} // namespace origo::report::formats
