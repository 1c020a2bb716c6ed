#include "report/Compare.h"

#include "report/Columns.h"
#include "report/JoinPrint.h"
#include "report/ProfileReaders.h"

#include "ir/Error.h"
#include "origin/Json.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/STLExtras.h"

using namespace origo;
using namespace origo::report;
using nlohmann::json;

static bool toNumber(const json &object, const char *key, uint64_t &result) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number_unsigned())
    return false;
  result = object[key].get<uint64_t>();
  return result <= INT64_MAX;
}

llvm::Expected<JoinSummary> report::readJoinSummary(llvm::StringRef text) {
  if (llvm::Error error = checkJson(text))
    return error;
  json file = json::parse(text.begin(), text.end());
  JoinSummary summary;
  uint64_t attributed = 0;
  if (!toNumber(file, "total_ns", summary.total) || !toNumber(file, "attributed_ns", attributed) ||
      !toNumber(file, "synthetic_ns", summary.synthetic) || !toNumber(file, "unattributed_ns", summary.unattributed) ||
      !file.contains("by_operator") || !file["by_operator"].is_array())
    return makeError("is not what origin-dump --join PROFILE --json MODEL writes");
  if (!file.contains("source") || !file["source"].is_object() || !file["source"].contains("fingerprint") ||
      !file["source"]["fingerprint"].is_string())
    return makeError("does not say which source it is about");
  summary.fingerprint = file["source"]["fingerprint"].get<std::string>();
  for (const json &entry : file["by_operator"]) {
    uint64_t id = 0, ns = 0;
    if (!toNumber(entry, "id", id) || id > UINT32_MAX || !toNumber(entry, "ns", ns) || ns > attributed ||
        !entry.contains("name") || !entry["name"].is_string())
      return makeError("by_operator: a row has no id, name and time, or more time than all have");
    attributed -= ns;
    if (!summary.operators.try_emplace(static_cast<uint32_t>(id), entry["name"].get<std::string>(), ns).second)
      return makeError("by_operator: source operator " + llvm::Twine(id) + " is there twice");
  }
  uint64_t rest = summary.total;
  if (attributed)
    return makeError("by_operator does not add up to attributed_ns");
  for (const auto &[id, row] : summary.operators)
    if (row.second > rest)
      return makeError("the parts are more than total_ns");
    else
      rest -= row.second;
  if (summary.synthetic > rest || rest - summary.synthetic != summary.unattributed)
    return makeError("the parts do not add up to total_ns");
  return summary;
}

llvm::Error report::compareJoins(const JoinSummary &a, const JoinSummary &b, CompareFormat format, bool full,
                                 llvm::raw_ostream &os) {
  if (a.fingerprint != b.fingerprint)
    return makeError("--compare: the two are builds of different sources, " + printable(a.fingerprint, 80) + " and " +
                     printable(b.fingerprint, 80));
  struct Line {
    std::string id, name;
    uint64_t a = 0, b = 0;
  };
  std::map<uint32_t, Line> byId;
  for (const auto &[id, row] : a.operators)
    byId[id] = {std::to_string(id), row.first, row.second, 0};
  for (const auto &[id, row] : b.operators) {
    byId[id].id = std::to_string(id);
    byId[id].name = row.first;
    byId[id].b = row.second;
  }
  std::vector<Line> lines;
  for (auto &[id, line] : byId)
    lines.push_back(line);
  size_t operators = lines.size();
  lines.push_back({"", "(synthetic)", a.synthetic, b.synthetic});
  lines.push_back({"", "(unattributed)", a.unattributed, b.unattributed});
  lines.push_back({"", "(total)", a.total, b.total});

  if (format == CompareFormat::Csv) {
    os << "id,name,a_ns,b_ns\n";
    for (const Line &line : lines)
      os << line.id << ',' << csvText(line.name) << ',' << line.a << ',' << line.b << '\n';
  } else if (format == CompareFormat::Json) {
    using ordered = nlohmann::ordered_json;
    auto totals = [](const JoinSummary &summary) {
      return ordered{
          {"total_ns", summary.total}, {"synthetic_ns", summary.synthetic}, {"unattributed_ns", summary.unattributed}};
    };
    ordered rows = ordered::array();
    for (const auto &[id, line] : byId)
      rows.push_back({{"id", id}, {"name", origin::replaceInvalidUtf8(line.name)}, {"a_ns", line.a}, {"b_ns", line.b}});
    os << ordered{{"a", totals(a)}, {"b", totals(b)}, {"by_operator", rows}}.dump(1, ' ', false,
                                                                                  ordered::error_handler_t::replace)
       << '\n';
  } else {
    printColumns({"A MS", "B MS", "B-A MS", "B/A %", "SOURCE OPERATOR"}, lines.size(),
                 [&](size_t i) -> Cells {
                   const Line &line = lines[i];
                   std::string name = i < operators ? printable(line.name, full ? ~size_t{0} : 60) : line.name;
                   return {milliseconds(line.a), milliseconds(line.b),
                           line.b < line.a ? "-" + milliseconds(line.a - line.b) : milliseconds(line.b - line.a),
                           line.a ? percent(line.b, line.a) : "-", line.id + (line.id.empty() ? "" : " ") + name};
                 },
                 os, {0, 1, 2, 3});
  }
  return llvm::Error::success();
}
