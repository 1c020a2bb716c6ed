/// ExecuTorch: what its Inspector saves of an ETDump, as comma- or tab-separated values.

#include "report/profile/Readers.h"

#include "ir/Error.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

char separatorOf(StringRef text) { return firstLine(text).contains('\t') ? '\t' : ','; }

bool isEtdump(StringRef text) {
  StringRef head = firstLine(text);
  return head.contains("event_block_name") && head.contains("event_name") &&
         head.find_first_of(",\t") != StringRef::npos;
}

llvm::Error readEtdump(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "executorch";
  uint32_t step = 0;
  return readCsvRows(text, separatorOf(text), [&](const CsvRow &cells) -> llvm::Error {
    auto cell = [&](StringRef title) {
      auto found = cells.find(std::string_view(title));
      return found == cells.end() ? StringRef() : StringRef(found->second);
    };
    ProfileRow row;
    row.rawName = cell("event_name").str();
    row.backend = cell("delegate_backend_name").str();
    bool measured = false;
    for (const auto &[title, value] : cells) { // "avg (ms)"
      StringRef unit = title;
      if (!unit.consume_front("avg (") || !unit.consume_back(")") || value.empty())
        continue;
      if (unit == "cycles")
        row.metric = row.unit = "cycles";
      auto exponent = unit == "cycles" ? std::optional(0) : nanosecondExponent(unit);
      if (!exponent)
        return makeError("\"" + printable(title, 40) + "\" is in no unit that is known");
      auto time = parseDecimal(value, *exponent);
      if (!time)
        return time.takeError();
      row.value = *time;
      measured = true;
    }
    if (!measured)
      return llvm::Error::success();
    StringRef name = row.rawName;
    // A delegate's call is no operator of the model: its rows are in the sequence of all.
    if (cell("is_delegated_op").equals_insensitive("true")) {
      row.kind = name.split(" #").first.str();
      row.step = step++;
    } else if (name.consume_front("native_call_")) {
      row.kind = name.split('.').first.str();
      row.step = step++;
    } else if (name == "DELEGATE_CALL") {
      row.metric = "graph_time";
    } else {
      row.metric = name.starts_with("Program") || name.contains("init") ? "init_time" : "graph_time";
    }
    profile.rows.push_back(std::move(row));
    return llvm::Error::success();
  });
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> Etdump() {
  return {{"executorch", Rank::Words, isEtdump, readEtdump,
           "the table of ExecuTorch's Inspector (save_data_to_tsv, or the frame as CSV): operators by type, in the "
           "order of running"}};
}

} // namespace origo::report::formats
