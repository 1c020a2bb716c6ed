#include "report/join/Print.h"

#include "report/Columns.h"

#include "ir/Error.h"
#include "origin/Fingerprint.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace origo;
using namespace origo::report;
using namespace origo::origin;
using llvm::StringRef;

/// 1234 with two places is 12.34.
static std::string decimal(uint64_t number, size_t places) {
  std::string text = std::to_string(number);
  if (text.size() <= places)
    text.insert(0, places + 1 - text.size(), '0');
  return text.insert(text.size() - places, 1, '.');
}

std::string report::milliseconds(uint64_t ns) {
  uint64_t micro = ns / 1000 + (ns % 1000 >= 500);
  return decimal(micro, 3);
}

std::string report::percent(uint64_t ns, uint64_t total) {
  uint64_t tenths = total ? static_cast<uint64_t>(static_cast<unsigned __int128>(ns) * 1000 / total) : 0;
  return decimal(tenths, 1);
}

std::optional<uint32_t> report::subgraphOf(const JoinedRow &row) {
  return row.match == Match::None ? row.row.subgraph : row.subgraph;
}
std::optional<uint32_t> report::indexOf(const JoinedRow &row) {
  return row.operators.size() == 1 && row.match != Match::Partition ? std::optional(row.operators[0]) : std::nullopt;
}
StringRef report::tensorOf(const JoinedRow &row, const MapNames &names) {
  const OperatorRow *op = row.operators.size() == 1 ? names.writtenOperator(row.subgraph, row.operators[0]) : nullptr;
  return op ? MapNames::nameOf(*op) : StringRef(row.row.tensor);
}

namespace {

std::string label(StringRef name, bool full) { return shortName(name, full ? ~size_t{0} : 40); }

std::string operatorsCell(const JoinedRow &row, bool full) {
  std::vector<std::string> parts;
  for (uint32_t index : row.operators)
    parts.push_back((row.subgraph ? std::to_string(row.subgraph) + ":" : "") + std::to_string(index));
  return parts.empty() ? "-" : shortened(parts, full);
}

/// Of a million rows, most are about the same operators.
class OriginsCell {
public:
  OriginsCell(const MapNames &names, bool full) : names(names), full(full) {}

  std::string operator()(const JoinedRow &row) {
    std::vector<std::string> parts;
    for (auto [id, ns] : row.shares)
      parts.push_back(labelOf(id) + (row.shares.size() > 1 ? " " + percent(ns, row.ns) + "%" : ""));
    if (row.shares.empty())
      for (uint32_t id : row.origins)
        parts.push_back(labelOf(id));
    if (row.synthetic)
      parts.push_back("(synthetic)");
    return shortened(parts, full);
  }

private:
  const MapNames &names;
  bool full;
  std::map<uint32_t, std::string> labels;

  const std::string &labelOf(uint32_t id) {
    auto [found, isNew] = labels.try_emplace(id);
    if (isNew) {
      const SourceOperator &op = *names.sourceOperator(id);
      std::string name = label(names.nameOf(op), full);
      found->second = std::to_string(id) + " " + (name.empty() ? names.kind(op.op, op.customCode) : name);
    }
    return found->second;
  }
};

/// 0.97 of 97
std::string scoreText(unsigned score) { return decimal(score, 2); }

std::string measureCell(const JoinedRow &row) {
  return row.row.isSummed()     ? milliseconds(row.ns)
         : row.row.unit == "ns" ? "(" + milliseconds(row.row.value) + ")"
                                : "(" + std::to_string(row.row.value) + " " + printable(row.row.unit, 10) + ")";
}

void printTotals(const Join &join, llvm::raw_ostream &os) {
  auto line = [&](const char *what, uint64_t ns) {
    os << llvm::formatv("{0,-13} {1,12} ms {2,6} %\n", what, milliseconds(ns), percent(ns, join.total));
  };
  line("total", join.total);
  line("attributed", join.attributed);
  line("synthetic", join.synthetic);
  line("unattributed", join.unattributed);
  if (join.overhead)
    os << "of it delegate overhead, " << milliseconds(join.overhead) << " ms, " << percent(join.overhead, join.total)
       << " %\n";
  if (join.merged)
    os << "of it merged over several partitions, " << milliseconds(join.merged) << " ms, "
       << percent(join.merged, join.total) << " %\n";
  std::map<std::pair<std::string, std::string>, uint64_t> others;
  for (const JoinedRow &row : join.rows)
    if (!row.row.isSummed())
      others[{row.row.metric.str(), row.row.unit.str()}] += row.row.value;
  for (const auto &[what, sum] : others)
    os << "not in it: " << printable(what.first, 40) << ", "
       << (what.second == "ns" ? milliseconds(sum) + " ms" : std::to_string(sum) + " " + printable(what.second, 20))
       << '\n';
}

constexpr const char *byNames[] = {"ROW", "SOURCE OPERATOR", "TYPE", "SCOPE", "PASS", "LINE", "FILE"};

} // namespace

void report::printJoin(const Join &join, const MapNames &names, By by, const Join *source, const TableOptions &options,
                       llvm::raw_ostream &os) {
  bool full = options.full;
  size_t all = 0;
  auto shorten = [&](auto &lines) {
    all = lines.size();
    if (options.top && lines.size() > options.top)
      lines.resize(options.top);
  };
  auto sayRest = [&](size_t count) {
    if (count < all)
      os << "and " << all - count << " more lines\n";
  };
  if (by == By::Row) {
    constexpr size_t foreignShown = 1000; // more of them tell a person nothing
    std::vector<const JoinedRow *> rows, foreign;
    uint64_t leftOut = 0;
    for (const JoinedRow &row : join.rows)
      (row.match == Match::None && !full && !options.top ? foreign : rows).push_back(&row);
    if (foreign.size() > foreignShown) {
      std::nth_element(foreign.begin(), foreign.begin() + foreignShown, foreign.end(),
                       [](auto *a, auto *b) { return a->ns != b->ns ? a->ns > b->ns : a < b; });
      for (const JoinedRow *row : llvm::ArrayRef(foreign).drop_front(foreignShown))
        leftOut += row->ns;
    }
    rows.insert(rows.end(), foreign.begin(), foreign.begin() + std::min(foreign.size(), foreignShown));
    llvm::sort(rows); // as the profile lists them
    if (options.top)
      llvm::stable_sort(rows, [](const JoinedRow *a, const JoinedRow *b) { return a->ns > b->ns; });
    shorten(rows);
    OriginsCell origins(names, full);
    printColumns({"MS", "%", "MATCH", "OPERATOR", "ROW", "ORIGINS"}, rows.size(),
                 [&](size_t i) -> Cells {
                   const JoinedRow &row = *rows[i];
                   return {measureCell(row),
                           row.row.isSummed() ? percent(row.ns, join.total) : "",
                           matchName(row.match) +
                               (row.match == Match::Aligned ? " " + scoreText(row.score) : std::string()),
                           operatorsCell(row, full),
                           label(row.row.rawName, full),
                           origins(row)};
                 },
                 os, {0, 1});
    sayRest(rows.size());
    if (foreign.size() > foreignShown)
      os << "and " << foreign.size() - foreignShown << " more rows that are about no operator, "
         << milliseconds(leftOut) << " ms\n";
  } else {
    std::vector<RolledUp> lines = rollUp(join, names, by, source);
    if (!options.byId)
      llvm::stable_sort(lines, [](const RolledUp &a, const RolledUp &b) { return a.ns > b.ns; });
    shorten(lines);
    bool passes = by == By::Pass, saved = passes && source;
    Cells head{"MS", "%"};
    if (by == By::Scope)
      head.push_back("LEVEL");
    head.push_back(byNames[static_cast<int>(by)]);
    if (passes)
      head.insert(head.end(), {"OPERATORS", "FROM"});
    if (saved)
      head.insert(head.end(), {"SOURCE MS", "SAVED MS"});
    printColumns(
        head, lines.size(),
        [&](size_t i) -> Cells {
          const RolledUp &line = lines[i];
          std::string key = label(line.key, full);
          if (by == By::Operator)
            key = std::to_string(line.id) + " " + (key.empty() ? "" : key + " ") +
                  printable(names.sourceOperator(line.id)->op);
          Cells cells{milliseconds(line.ns), percent(line.ns, join.total)};
          if (by == By::Scope)
            cells.push_back(std::to_string(line.level));
          cells.push_back(key);
          if (passes)
            cells.insert(cells.end(), {std::to_string(line.written), std::to_string(line.source)});
          if (saved)
            cells.insert(cells.end(), {milliseconds(*line.sourceNs), *line.sourceNs < line.ns
                                                                         ? "-" + milliseconds(line.ns - *line.sourceNs)
                                                                         : milliseconds(*line.sourceNs - line.ns)});
          return cells;
        },
        os, by == By::Scope ? llvm::ArrayRef<size_t>{0, 1, 2} : llvm::ArrayRef<size_t>{0, 1, 3, 4, 5, 6});
    sayRest(lines.size());
  }
  os << '\n';
  printTotals(join, os);
}

void report::printJoinCsv(const Join &join, const MapNames &names, By by, const Join *source, llvm::raw_ostream &os) {
  if (by != By::Row) {
    os << (by == By::Operator ? "id,name,ns\n"
           : by == By::Type   ? "type,ns\n"
           : by == By::Scope  ? "level,scope,ns\n"
           : by == By::Line   ? "line,ns\n"
           : by == By::File   ? "file,ns\n"
                              : "pass,ns,operators,source_operators,source_ns\n");
    for (const RolledUp &line : rollUp(join, names, by, source)) {
      if (by == By::Operator)
        os << line.id << ',';
      if (by == By::Scope)
        os << line.level << ',';
      os << csvText(line.key) << ',' << line.ns;
      if (by == By::Pass)
        os << ',' << line.written << ',' << line.source << ',' << (line.sourceNs ? std::to_string(*line.sourceNs) : "");
      os << '\n';
    }
    return;
  }
  os << "source_tool,model_sha,subgraph,op_index,partition,tensor,backend,metric,unit,value,count,match,raw_name,ns,"
        "origins,share,synthetic_ns,unattributed_ns,score\n";
  auto list = [](auto &&items, auto text) { return llvm::join(llvm::map_range(items, text), " "); };
  for (const JoinedRow &row : join.rows) {
    auto number = [](std::optional<uint32_t> index) { return index ? std::to_string(*index) : std::string(); };
    os << csvText(join.tool) << ",sha256:" << hex(names.map.target.fingerprint) << ',' << number(subgraphOf(row)) << ','
       << number(indexOf(row)) << ','
       << (indexOf(row) ? "" : list(row.operators, [](uint32_t index) { return std::to_string(index); })) << ','
       << csvText(tensorOf(row, names)) << ',' << csvText(row.row.backend) << ',' << csvText(row.row.metric) << ','
       << csvText(row.row.unit) << ',' << row.row.value << ',' << row.row.count << ',' << matchName(row.match) << ','
       << csvText(row.row.rawName) << ',' << row.ns << ','
       << list(row.origins, [](uint32_t id) { return std::to_string(id); }) << ','
       << list(row.shares,
               [](std::pair<uint32_t, uint64_t> share) {
                 return std::to_string(share.first) + ":" + std::to_string(share.second);
               })
       << ',' << row.synthetic << ',' << row.unattributed << ','
       << (row.match == Match::Aligned ? scoreText(row.score) : std::string()) << '\n';
  }
}
