#include "origin/Fingerprint.h"
#include "origin/Utf8.h"
#include "report/join/Print.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/STLExtras.h"

using namespace origo;
using namespace origo::report;
using namespace origo::origin;
using llvm::StringRef;
using json = nlohmann::ordered_json;

namespace {

json text(StringRef text) { return replaceInvalidUtf8(text); }

void write(const json &object, llvm::raw_ostream &os) {
  os << object.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The rows, of which there may be a million: making a json of each takes longer than all else.
class RowWriter {
public:
  RowWriter(const Join &join, const MapNames &names, llvm::raw_ostream &os) : names(names), os(os) {
    llvm::raw_string_ostream into(head);
    into << "{\"source_tool\":";
    write(text(join.tool), into);
    into << ",\"model_sha\":\"sha256:" << hex(names.map.target.fingerprint) << '"';
  }

  void operator()(const JoinedRow &row) {
    os << head;
    number("subgraph", subgraphOf(row));
    number("op_index", indexOf(row));
    key("partition");
    if (row.operators.empty() || indexOf(row))
      os << "null";
    else
      list(row.operators, [&](uint32_t index) { os << index; });
    key("tensor");
    if (StringRef tensor = tensorOf(row, names); tensor.empty())
      os << "null";
    else
      words(tensor);
    key("backend"), words(row.row.backend);
    key("metric"), words(row.row.metric);
    key("unit"), words(row.row.unit);
    key("value") << row.row.value;
    key("count") << row.row.count;
    key("match"), words(matchName(row.match));
    key("raw_name"), words(row.row.rawName);
    key("ns") << row.ns;
    key("origins"), list(row.origins, [&](uint32_t id) { os << id; });
    key("share"), list(row.shares, [&](const auto &share) { os << '[' << share.first << ',' << share.second << ']'; });
    if (row.match == Match::Aligned)
      key("score"), write(static_cast<double>(row.score) / 100, os);
    os << '}';
  }

private:
  const MapNames &names;
  llvm::raw_ostream &os;
  std::string head; ///< what all rows begin with

  llvm::raw_ostream &key(StringRef name) { return os << ",\"" << name << "\":"; }
  void number(StringRef name, std::optional<uint32_t> number) {
    key(name);
    if (number)
      os << *number;
    else
      os << "null";
  }
  void words(StringRef said) {
    auto isPlain = [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; };
    if (llvm::all_of(said, isPlain))
      os << '"' << said << '"';
    else
      write(text(said), os);
  }
  template <class Items> void list(const Items &items, auto writeItem) {
    os << '[';
    for (const auto &item : items) {
      os << (&item == &items.front() ? "" : ",");
      writeItem(item);
    }
    os << ']';
  }
};

json linesJson(const Join &join, const MapNames &names, By by, const char *key, const Join *source) {
  json lines = json::array();
  for (const RolledUp &line : rollUp(join, names, by, source)) {
    json object;
    if (by == By::Operator)
      object["id"] = line.id;
    if (by == By::Scope)
      object["level"] = line.level;
    object[key] = text(line.key);
    object["ns"] = line.ns;
    if (const SourceFrame *frame =
            by == By::Operator ? names.map.source.frameOf(*names.sourceOperator(line.id)) : nullptr)
      object["line"] = text(names.map.source.lineOf(*frame));
    if (by == By::Pass) {
      object["operators"] = line.written;
      object["source_operators"] = line.source;
      if (line.sourceNs)
        object["source_ns"] = *line.sourceNs;
    }
    lines.push_back(std::move(object));
  }
  return lines;
}

/// Microseconds with all digits of the nanoseconds.
json microseconds(uint64_t ns) { return static_cast<double>(ns) / 1000; }

} // namespace

void report::printJoinJson(const Join &join, const MapNames &names, const Join *source, llvm::raw_ostream &os) {
  RowWriter writeRow(join, names, os);
  os << "{\"rows\": [";
  for (const JoinedRow &row : join.rows) {
    os << (&row == &join.rows.front() ? "\n  " : ",\n  ");
    writeRow(row);
  }
  os << "],\n \"total_ns\": " << join.total << ", \"attributed_ns\": " << join.attributed
     << ", \"synthetic_ns\": " << join.synthetic << ", \"unattributed_ns\": " << join.unattributed;
  if (join.overhead)
    os << ", \"delegate_overhead_ns\": " << join.overhead;
  if (join.merged)
    os << ", \"merged_ns\": " << join.merged;
  auto list = [&](const char *title, By by, const char *key) {
    os << ",\n \"" << title << "\": ";
    write(linesJson(join, names, by, key, source), os);
  };
  list("by_operator", By::Operator, "name");
  list("by_type", By::Type, "op");
  list("by_scope", By::Scope, "scope");
  list("by_pass", By::Pass, "pass");
  if (!names.map.source.stacks.empty()) {
    list("by_line", By::Line, "line");
    list("by_file", By::File, "file");
  }
  os << ",\n \"source\": ";
  write({{"file", text(names.map.source.file)}, {"fingerprint", "sha256:" + hex(names.map.source.fingerprint)}}, os);
  os << "}\n";
}

void report::printJoinTrace(const Join &join, const MapNames &names, llvm::raw_ostream &os) {
  os << "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  auto thread = [&](int tid, const char *name) {
    write({{"ph", "M"}, {"pid", 1}, {"tid", tid}, {"name", "thread_name"}, {"args", {{"name", name}}}}, os);
  };
  thread(1, "measured");
  os << ",\n";
  thread(2, "source operators");
  auto event = [&](int tid, std::string name, uint64_t begin, uint64_t length, json args) {
    os << ",\n";
    write({{"ph", "X"},
           {"pid", 1},
           {"tid", tid},
           {"name", text(name)},
           {"cat", "op"},
           {"ts", microseconds(begin)},
           {"dur", microseconds(length)},
           {"args", std::move(args)}},
          os);
  };
  uint64_t now = 0;
  for (const JoinedRow &row : join.rows) {
    if (!row.row.isSummed())
      continue;
    std::string origins;
    for (uint32_t id : row.origins) {
      const SourceOperator &op = *names.sourceOperator(id);
      StringRef name = names.nameOf(op);
      origins += (origins.empty() ? "" : "; ") + (name.empty() ? std::to_string(id) : name.str());
    }
    json args = {{"match", matchName(row.match)}};
    std::string name = row.row.rawName.str();
    if (row.match != Match::None)
      args["subgraph"] = row.subgraph;
    if (row.operators.size() == 1) {
      const OperatorRow &op = *names.writtenOperator(row.subgraph, row.operators[0]);
      name = names.kind(op.op, op.customCode) + " #" + std::to_string(row.operators[0]);
      args["op_index"] = row.operators[0];
      args["output"] = text(MapNames::nameOf(op));
    } else if (!row.operators.empty()) {
      args["partition"] = row.operators;
    }
    args["origins"] = text(origins);
    args["origin_ids"] = row.origins;
    event(1, name, now, row.ns, std::move(args));
    uint64_t at = now;
    for (auto [id, ns] : row.shares) {
      const SourceOperator &op = *names.sourceOperator(id);
      event(2, names.kind(op.op, op.customCode) + " " + std::to_string(id), at, ns,
            {{"source_operator", id}, {"name", text(names.nameOf(op))}});
      at += ns;
    }
    now += row.ns;
  }
  os << "\n]}\n";
}
