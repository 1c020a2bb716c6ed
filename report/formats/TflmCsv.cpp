/// TensorFlow Lite Micro's MicroProfiler::LogTicksPerTagCsv(): for each type of operator what all of them took, often
/// behind the events of LogCsv() one by one; then these are read, and the sums say the same once more.

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "llvm/ADT/StringExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

constexpr StringRef eventHead = "\"Event\",\"Tag\",\"Ticks\"", tagHead = "\"Unique Tag\",\"Total ticks";

bool isTflmCsv(StringRef text) { return !isJson(text) && text.contains(tagHead); }

llvm::Error readTflmCsv(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "tflm";
  std::deque<ProfileRow> sums;
  enum { Nothing, Events, Sums } within = Nothing;
  uint32_t step = 0;
  for (size_t number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    text = rest;
    line = line.trim();
    if (line.contains(eventHead) || line.contains(tagHead)) {
      within = line.contains(tagHead) ? Sums : Events;
      continue;
    }
    if (line.empty() || within == Nothing)
      continue; // what else the program prints
    auto [front, ticks] = line.rsplit(',');
    StringRef tag = front.trim();
    if (within == Events)
      tag = tag.split(',').second.trim();
    tag = tag.trim('"');
    ticks = ticks.trim();
    if (ticks.empty() || !llvm::all_of(ticks, [](char c) { return llvm::isDigit(c); }) || tag.empty()) {
      within = Nothing;
      continue;
    }
    if (within == Sums && (tag == "total number of ticks" || tag == "total_ticks")) {
      within = Nothing;
      continue;
    }
    auto value = parseDecimal(ticks, 0);
    if (!value)
      return makeError("line " + llvm::Twine(number) + ": " + llvm::toString(value.takeError()));
    ProfileRow &row = within == Events ? profile.rows.emplace_back() : sums.emplace_back();
    row.metric = row.unit = "cycles";
    row.rawName = row.kind = tag.str();
    row.value = *value;
    if (within == Events)
      row.step = step++;
  }
  if (profile.rows.empty())
    profile.rows = std::move(sums);
  return profile.rows.empty() ? makeError("has no line of a tag and its ticks") : llvm::Error::success();
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> TflmCsv() {
  return {{"tflm", Rank::Words, isTflmCsv, readTflmCsv,
           "what MicroProfiler::LogTicksPerTagCsv() of TensorFlow Lite Micro prints: ticks by type; see --clock"}};
}

} // namespace origo::report::formats
