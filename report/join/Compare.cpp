#include "report/join/Compare.h"

#include "report/Columns.h"
#include "report/join/Print.h"
#include "report/profile/Readers.h"

#include "ir/Error.h"
#include "origin/Utf8.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/STLExtras.h"

#include <set>

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
    const auto line = entry.is_object() ? entry.find("line") : entry.end();
    if (!toNumber(entry, "id", id) || id > UINT32_MAX || !toNumber(entry, "ns", ns) || ns > attributed ||
        !entry.contains("name") || !entry["name"].is_string())
      return makeError("by_operator: a row has no id, name and time, or more time than all have");
    attributed -= ns;
    if (!summary.operators.try_emplace(static_cast<uint32_t>(id), entry["name"].get<std::string>(), ns).second)
      return makeError("by_operator: source operator " + llvm::Twine(id) + " is there twice");
    if (line != entry.end() && line->is_string())
      summary.lines[static_cast<uint32_t>(id)] = line->get<std::string>();
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

namespace {

/// A source operator, or a sum of them. Where only one of the sources has the operator, the other id is left out.
struct Line {
  std::optional<uint32_t> aId, bId;
  std::string name;
  uint64_t a = 0, b = 0;
  unsigned level = 0;     ///< of a scope
  std::string place = {}; ///< the line of a program that called it
};

/// By what both take together, falling.
std::vector<Line> addedUp(llvm::ArrayRef<Line> operators, CompareBy by) {
  Scopes scopes;
  for (const Line &op : operators)
    scopes.add(op.name);
  std::map<std::pair<std::string, unsigned>, Line> sums;
  for (const Line &op : operators)
    for (const ScopeLine &scope : sumsOf(by, scopes, op.name, op.place)) {
      Line &sum = sums[{scope.key, scope.level}];
      sum.name = scope.key, sum.level = scope.level;
      sum.a += op.a, sum.b += op.b;
    }
  std::vector<Line> lines;
  for (auto &[key, sum] : sums)
    lines.push_back(std::move(sum));
  llvm::stable_sort(lines, [](const Line &x, const Line &y) { return x.a + x.b > y.a + y.b; });
  return lines;
}

/// Operators by name, as far as it is the name of one only.
std::map<std::string, uint32_t> byName(const JoinSummary &summary) {
  std::map<std::string, uint32_t> ids;
  std::set<std::string> repeated;
  for (const auto &[id, row] : summary.operators)
    if (!row.first.empty() && !ids.try_emplace(row.first, id).second)
      repeated.insert(row.first);
  for (const std::string &name : repeated)
    ids.erase(name);
  return ids;
}

/// The operator of `b` that each one of `a` is.
llvm::Expected<std::map<uint32_t, uint32_t>> matchOperators(const JoinSummary &a, const JoinSummary &b) {
  std::map<uint32_t, uint32_t> matched;
  if (a.fingerprint == b.fingerprint) {
    for (const auto &[id, row] : a.operators)
      matched[id] = id;
    return matched;
  }
  auto names = byName(b);
  for (const auto &[name, id] : byName(a))
    if (auto found = names.find(name); found != names.end())
      matched[id] = found->second;
  // The same network, quantised elsewhere, keeps most of its names; some names any two networks have in common.
  size_t fewer = std::min(a.operators.size(), b.operators.size());
  if (matched.empty() || matched.size() < fewer - fewer / 2)
    return makeError("--compare: the two are builds of different sources, " + printable(a.fingerprint, 80) + " and " +
                     printable(b.fingerprint, 80) + ", and only " + llvm::Twine(matched.size()) + " of " +
                     llvm::Twine(fewer) + " operators have the same name");
  return matched;
}

std::string number(std::optional<uint32_t> id) { return id ? std::to_string(*id) : ""; }
std::string level(const Line &line) { return line.level ? std::to_string(line.level) : ""; } ///< the total has none

} // namespace

llvm::StringRef report::nameOf(CompareBy by) {
  return by == CompareBy::Scope  ? "scope"
         : by == CompareBy::Line ? "line"
         : by == CompareBy::File ? "file"
                                 : "operator";
}

std::vector<ScopeLine> report::sumsOf(CompareBy by, const Scopes &scopes, llvm::StringRef name, llvm::StringRef line) {
  if (by == CompareBy::Scope)
    return scopes.linesOf(name);
  if (line.empty())
    return {{1, "(no line)"}};
  return {{1, (by == CompareBy::File ? line.rsplit(':').first : line).str()}};
}

llvm::Expected<std::string> report::compareJoins(const JoinSummary &a, const JoinSummary &b, CompareBy by,
                                                 CompareFormat format, const CompareTable &table,
                                                 llvm::raw_ostream &os) {
  auto matched = matchOperators(a, b);
  if (!matched)
    return matched.takeError();
  bool sameSource = a.fingerprint == b.fingerprint;
  std::vector<Line> lines;
  auto left = b.operators;
  for (const auto &[id, row] : a.operators) {
    Line &line = lines.emplace_back(Line{id, std::nullopt, row.first, row.second, 0});
    if (auto found = matched->find(id); found != matched->end())
      if (auto other = left.extract(found->second)) {
        line.bId = other.key();
        line.b = other.mapped().second;
        if (line.name.empty())
          line.name = other.mapped().first;
      }
  }
  for (const auto &[id, row] : left)
    lines.push_back({sameSource ? std::optional(id) : std::nullopt, id, row.first, 0, row.second});
  if (sameSource)
    llvm::sort(lines, [](const Line &x, const Line &y) { return x.aId < y.aId; });
  size_t operators = lines.size();
  for (Line &line : lines) {
    auto place = line.aId ? a.lines.find(*line.aId) : a.lines.end();
    auto other = line.bId ? b.lines.find(*line.bId) : b.lines.end();
    line.place = place != a.lines.end() ? place->second : other != b.lines.end() ? other->second : "";
  }
  bool sums = by != CompareBy::Operator;
  if (sums)
    lines = addedUp(lines, by);
  size_t all = lines.size();
  if (format == CompareFormat::Table) {
    auto key = [&](const Line &line) {
      return table.order == CompareOrder::A   ? line.a
             : table.order == CompareOrder::B ? line.b
                                              : std::max(line.a, line.b) - std::min(line.a, line.b);
    };
    if (table.order != CompareOrder::Id)
      llvm::stable_sort(lines, [&](const Line &x, const Line &y) { return key(x) > key(y); });
    if (table.top && lines.size() > table.top)
      lines.resize(table.top);
  }
  size_t named = lines.size();
  lines.push_back({{}, {}, "(synthetic)", a.synthetic, b.synthetic, 1});
  lines.push_back({{}, {}, "(unattributed)", a.unattributed, b.unattributed, 1});
  lines.push_back({{}, {}, "(total)", a.total, b.total});
  bool bothIds = !sameSource && !sums;

  if (format == CompareFormat::Csv) {
    os << (sums ? "level," + nameOf(by).str() : bothIds ? std::string("id,b_id,name") : "id,name") << ",a_ns,b_ns\n";
    for (const Line &line : lines)
      os << (sums ? level(line) : number(line.aId)) << ',' << (bothIds ? number(line.bId) + "," : "")
         << csvText(line.name) << ',' << line.a << ',' << line.b << '\n';
  } else if (format == CompareFormat::Json) {
    using ordered = nlohmann::ordered_json;
    auto totals = [](const JoinSummary &summary) {
      return ordered{
          {"total_ns", summary.total}, {"synthetic_ns", summary.synthetic}, {"unattributed_ns", summary.unattributed}};
    };
    auto orNull = [](std::optional<uint32_t> id) { return id ? ordered(*id) : ordered(); };
    ordered rows = ordered::array();
    for (const Line &line : llvm::ArrayRef(lines).take_front(named)) {
      ordered row = sums ? ordered{{"level", line.level}} : ordered{{"id", orNull(line.aId)}};
      if (bothIds)
        row["b_id"] = orNull(line.bId);
      row[sums ? nameOf(by).str() : "name"] = origin::replaceInvalidUtf8(line.name);
      row.update({{"a_ns", line.a}, {"b_ns", line.b}});
      rows.push_back(std::move(row));
    }
    ordered all = {{"a", totals(a)}, {"b", totals(b)}, {"by_" + nameOf(by).str(), rows}};
    os << all.dump(1, ' ', false, ordered::error_handler_t::replace) << '\n';
  } else {
    printColumns(
        {"A MS", "B MS", "B-A MS", "B/A %", sums ? "LEVEL " + nameOf(by).upper() : "SOURCE OPERATOR"}, lines.size(),
        [&](size_t i) -> Cells {
          const Line &line = lines[i];
          std::string name = i < named ? shortName(line.name, table.full ? ~size_t{0} : 60) : line.name;
          std::string id = sums ? level(line) : line.aId || !line.bId ? number(line.aId) : "B:" + number(line.bId);
          return {milliseconds(line.a), milliseconds(line.b),
                  line.b < line.a ? "-" + milliseconds(line.a - line.b) : milliseconds(line.b - line.a),
                  line.a ? percent(line.b, line.a) : "-", id + (id.empty() ? "" : " ") + name};
        },
        os, {0, 1, 2, 3});
    if (named < all)
      os << "and " << all - named << " more lines\n";
  }
  if (sameSource)
    return "";
  return "the two are builds of different sources: " + std::to_string(matched->size()) + " operators are the same by " +
         "name, " + std::to_string(operators - matched->size()) + " are in one only";
}
