/// The two forms of onert besides its Chrome trace: trace.json, in the form of SNPE's benchmarks, and trace.table.md.
/// SNPE's own files are like the former.

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;
using nlohmann::json;

namespace {

/// "#0 model $0 subgraph $3 Conv2D", "$2 subgraph $3 ADD", "$3 ADD", with "$1 session " in front where there are
/// several: the last number belongs to the name.
bool describeLabel(StringRef label, ProfileRow &row) {
  llvm::SmallVector<StringRef> words;
  label.split(words, ' ', -1, false);
  std::optional<size_t> last;
  uint32_t number = 0;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    StringRef word = words[i];
    if (!word.consume_front("$") || word.getAsInteger(10, number))
      continue;
    last = i;
    row.op = number;
    if (words[i + 1] == "subgraph")
      row.subgraph = number;
  }
  if (!last || words[*last + 1] == "subgraph" || words[*last + 1] == "session")
    return false;
  row.kind = label.substr(words[*last + 1].data() - label.data()).str();
  return true;
}

/// "layer_004 (Name:conv1 Type:convolutional)"
bool describeLayer(StringRef label, ProfileRow &row) {
  if (!label.starts_with("layer_"))
    return false;
  StringRef inside = label.split('(').second.rtrim(" )");
  size_t name = inside.find("Name:"), type = inside.rfind("Type:");
  if (name == StringRef::npos || type == StringRef::npos || type < name)
    return false;
  row.kind = inside.substr(type + 5).str();
  row.tensor = inside.slice(name + 5, type).trim().str();
  return true;
}

llvm::Error readExecutionData(StringRef text, bool onert, Profile &profile) {
  if (llvm::Error error = checkJson(text))
    return error;
  json file = json::parse(text.begin(), text.end());
  if (!file.is_object() || !file.contains("Execution_Data") || !file["Execution_Data"].is_object())
    return makeError("has no object \"Execution_Data\"");
  for (const auto &[runtime, entries] : file["Execution_Data"].items()) {
    std::string place = "Execution_Data." + printable(runtime, 40);
    if (!entries.is_object())
      return makeError(place + ": is not an object");
    for (const auto &[label, entry] : entries.items()) {
      ProfileRow row;
      row.rawName = label;
      row.backend = runtime;
      bool memory = entry.is_object() && entry.contains("Avg_Size");
      const char *key = memory ? "Avg_Size" : "Avg_Time";
      if (!entry.is_object() || !entry.contains(key))
        return makeError(place + ".\"" + printable(label, 60) + "\": has no \"Avg_Time\"");
      const json &value = entry[key];
      auto number =
          parseDecimal(value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', true), memory ? 0 : 3);
      if (!number)
        return makeError(place + ".\"" + printable(label, 60) + "\": " + llvm::toString(number.takeError()));
      row.value = *number;
      if (memory) {
        row.metric = "memory";
        row.unit = "kb";
      } else if (onert ? !describeLabel(label, row) && runtime == "runtime" : !describeLayer(label, row)) {
        row.metric = "graph_time"; // of the whole, around the others
      } else if (!onert && row.kind == "data") {
        row.metric = "data_time"; // an input, not a layer
      }
      profile.rows.push_back(std::move(row));
    }
  }
  // The file sorts by text; we sort by operator.
  llvm::stable_sort(profile.rows, [](const ProfileRow &a, const ProfileRow &b) {
    return std::tuple(a.op.has_value() ? 0 : 1, a.subgraph, a.op) <
           std::tuple(b.op.has_value() ? 0 : 1, b.subgraph, b.op);
  });
  return llvm::Error::success();
}

/// The cells between the bars of a line of a table in Markdown.
llvm::SmallVector<StringRef> barCells(StringRef line) {
  llvm::SmallVector<StringRef> cells;
  line = line.trim();
  line.consume_front("|");
  line.consume_back("|");
  line.split(cells, '|');
  for (StringRef &cell : cells)
    cell = cell.trim();
  return cells;
}

bool isRule(StringRef line) { return !line.empty() && line.find_first_not_of("|-: \t") == StringRef::npos; }

} // namespace

static llvm::Error readOnertTrace(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "onert";
  profile.includesCallees = true;
  return readExecutionData(text, true, profile);
}

static llvm::Error readSnpe(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "snpe";
  return readExecutionData(text, false, profile);
}

static llvm::Error readOnertTable(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "onert";
  profile.includesCallees = true;
  std::optional<uint32_t> subgraph;
  bool operators = false, any = false;
  llvm::SmallVector<std::string> head;
  for (size_t number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    text = rest;
    auto bad = [&](const llvm::Twine &what) { return makeError("line " + llvm::Twine(number) + ": " + what); };
    line = line.trim();
    if (line.starts_with("# Session:")) {
      uint32_t index = 0;
      StringRef after = line.split("Subgraph:").second.ltrim();
      if (after.consumeInteger(10, index))
        return bad("the heading names no subgraph");
      subgraph = index;
      operators = false;
      head.clear();
      any = true;
    } else if (line.starts_with("## Op")) {
      operators = true;
      head.clear();
    } else if (line.empty() || isRule(line)) {
      continue;
    } else if (auto cells = barCells(line); head.empty()) {
      head.assign(cells.begin(), cells.end());
    } else {
      if (cells.size() != head.size())
        return bad("the row has " + llvm::Twine(cells.size()) + " cells, the head " + llvm::Twine(head.size()));
      ProfileRow row;
      row.subgraph = subgraph;
      row.metric = operators ? "time" : "graph_time";
      bool hasTime = false;
      for (size_t i = 0; i < cells.size(); ++i) {
        if (head[i] == "Op name") {
          row.rawName = cells[i].str();
          StringRef label = cells[i].substr(cells[i].rfind('@') + 1);
          uint32_t index = 0;
          if (cells[i].contains('@') && !label.consumeInteger(10, index) && label.consume_front(" ")) {
            row.op = index;
            row.kind = label.str();
          }
        } else if (head[i] == "backend") {
          row.backend = cells[i].str();
        } else if (head[i] == "latency(us)") {
          auto time = parseDecimal(cells[i], 3);
          if (!time)
            return bad(llvm::toString(time.takeError()));
          row.value = *time;
          hasTime = true;
        }
      }
      if (!hasTime)
        return bad("the table has no column \"latency(us)\"");
      if (!operators)
        row.rawName = "subgraph " + std::to_string(subgraph.value_or(0));
      profile.rows.push_back(std::move(row));
    }
  }
  return any ? llvm::Error::success() : makeError("has no heading \"# Session: …, Subgraph: …\"");
}

static bool isSnpe(StringRef text) { return hasKey(text, "Execution_Data") && text.contains("\"layer_"); }
static bool isExecutionData(StringRef text) { return hasKey(text, "Execution_Data") && !isSnpe(text); }
static bool isOnertTable(StringRef text) { return text.ltrim().starts_with("# Session:"); }

namespace origo::report::formats {

std::vector<ProfileFormat> Onert() {
  return {{"snpe", Rank::Words, isSnpe, readSnpe,
           "snpe_bench.py -json; NOT VERIFIED against its source, only against what others read from it"},
          {"onert", Rank::Words, isExecutionData, readOnertTrace, "trace.json, version 1 to 3"},
          {"onert", Rank::Words, isOnertTable, readOnertTable, "trace.table.md"}};
}

} // namespace origo::report::formats
