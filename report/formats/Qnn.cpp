/// Qualcomm's qnn-profile-viewer, and the QNN provider of ONNX Runtime: a CSV file of events, of which those of nodes
/// name an operator.

#include "report/profile/Readers.h"

#include "ir/Error.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

constexpr StringRef headBegin = "Msg Timestamp,Message,Time,";

/// Lines about the file may stand in front of the head.
size_t headOf(StringRef text) {
  size_t at = text.find(headBegin);
  return at == 0 || (at != StringRef::npos && text[at - 1] == '\n') ? at : StringRef::npos;
}

bool isQnn(StringRef text) { return headOf(text) != StringRef::npos; }

llvm::Error readQnn(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "qnn";
  size_t head = headOf(text);
  if (head == StringRef::npos)
    return makeError("has no head \"" + headBegin + "…\"");
  std::map<std::string, size_t> rows;
  return readCsvRows(text.drop_front(head), ',', [&](const CsvRow &cells) -> llvm::Error {
    auto cell = [&](StringRef title) {
      auto found = cells.find(std::string_view(title));
      return found == cells.end() ? StringRef() : StringRef(found->second);
    };
    ProfileRow row;
    row.backend = cell("Timing Source").str();
    bool node = cell("Message") == "NODE";
    // "conv1:OpId_21 (cycles)"
    StringRef name = cell("Event Identifier").rsplit(":OpId_").first;
    row.rawName = (node ? name : cell("Message")).str();
    if (node)
      row.tensor = row.ownDetails().prefixed = name;
    std::string unit = cell("Unit of Measurement").lower();
    auto exponent = nanosecondExponent(unit);
    if (!exponent && unit != "cycles") // a count
      return llvm::Error::success();
    auto time = parseDecimal(cell("Time"), exponent.value_or(0));
    if (!time)
      return time.takeError();
    row.metric = !node ? "graph_time" : exponent ? "time" : "cycles";
    row.unit = exponent ? "ns" : "cycles";
    row.value = *time;
    auto [found, isNew] = rows.try_emplace(row.metric.str() + " " + row.rawName.str(), profile.rows.size());
    if (isNew) {
      profile.rows.push_back(std::move(row));
      return llvm::Error::success();
    }
    ++profile.rows[found->second].count; // a run after the first
    return addTime(profile.rows[found->second], *time);
  });
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> Qnn() {
  return {{"qnn", Rank::Words, isQnn, readQnn,
           "the CSV file of qnn-profile-viewer and of ONNX Runtime's QNN provider; verified against the latter's "
           "source only"}};
}

} // namespace origo::report::formats
