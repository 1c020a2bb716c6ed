/// The kernels of TensorFlow Lite's GPU delegate, as its performance_profiling prints them: "LABEL - 1.043610 ms", with
/// the unit behind a blank or not, and from ML Drift "LABEL; 0.133391 ms; 11.447432 Gb/s; …". The numbers in a label
/// are those of the delegate's own graph, in the order of running; a kernel computes the first operator of its label
/// and those linked to it.

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "llvm/ADT/StringExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

constexpr StringRef heading = "Per kernel timing(";

bool isGpuKernels(StringRef text) { return !isJson(text) && text.contains(heading); }

/// "convolution_2d 2" without its number.
std::string kindOf(StringRef label) {
  label = label.trim();
  return (label.rtrim("0123456789").ends_with(" ") ? label.rtrim("0123456789").rtrim() : label).str();
}

llvm::Error readGpuKernels(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "tflite-gpu";
  bool inside = false;
  uint32_t step = 0;
  std::string said;
  for (size_t number = 1; !text.empty(); ++number) {
    auto [whole, rest] = text.split('\n');
    text = rest;
    StringRef line = whole.trim();
    if (size_t at = line.find(heading); at != StringRef::npos) {
      said = line.substr(at + heading.size()).take_while([](char c) { return llvm::isDigit(c); }).str();
      inside = true;
      continue;
    }
    if (line.starts_with("---") || line.starts_with("Accumulated time"))
      inside = false;
    size_t dash = line.find("; "), behind = 2;
    if (dash == StringRef::npos)
      dash = line.rfind(" - "), behind = 3;
    if (!inside || dash == StringRef::npos)
      continue;
    StringRef measured = line.substr(dash + behind).ltrim(),
              time = measured.take_while([](char c) { return llvm::isDigit(c) || c == '.'; });
    auto exponent = nanosecondExponent(
        measured.drop_front(time.size()).ltrim().take_while([](char c) { return llvm::isAlpha(c); }));
    if (!exponent)
      return makeError("line " + llvm::Twine(number) + ": there is no unit of time behind \"" + printable(time, 20) +
                       "\"");
    auto value = parseDecimal(time, *exponent);
    if (!value)
      return makeError("line " + llvm::Twine(number) + ": " + llvm::toString(value.takeError()));
    ProfileRow &row = profile.rows.emplace_back();
    row.rawName = line.take_front(dash).str();
    row.backend = "gpu";
    row.value = *value;
    row.step = step++;
    llvm::SmallVector<StringRef> labels;
    line.take_front(dash).split(labels, line.take_front(dash).contains("->") ? "->" : "linked :");
    row.kind = kindOf(labels.front());
    for (StringRef linked : llvm::ArrayRef(labels).drop_front())
      row.ownDetails().linked.push_back(kindOf(linked));
  }
  if (!step)
    return makeError("has no kernel below \"Per kernel timing\"");
  if (said != std::to_string(step))
    profile.notes.push_back("the list has " + std::to_string(step) + " kernels, and says that there are " +
                            printable(said, 20) + ": is the file whole?");
  return llvm::Error::success();
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> GpuKernels() {
  return {{"tflite-gpu", Rank::Words, isGpuKernels, readGpuKernels,
           "the kernels that TensorFlow Lite's GPU delegate, or ML Drift, lists (\"Per kernel timing\")"}};
}

} // namespace origo::report::formats
