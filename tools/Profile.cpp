#include "tools/Profile.h"

#include "report/Columns.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace origo::tools {

namespace json = llvm::json;

static double microseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

static std::string nameOf(const Operator &op) {
  const auto *named = llvm::find_if(op.results(), [](const Value *v) { return v && !v->name.empty(); });
  return named == op.results().end() ? std::string() : llvm::StringRef((*named)->name).str();
}

eval::Timer Profile::timer() {
  return [this](const Operator &op, Clock::time_point begin, Clock::time_point end) {
    Clock::duration own = end - begin;
    while (!finished.empty() && finished.back().first >= begin)
      own -= finished.pop_back_val().second;
    finished.push_back({begin, end - begin});
    events.push_back({&op, begin, end, own});
  };
}

/// "CONV_2D conv1", for a source operator.
std::string Profile::sourceWords(uint32_t id) const {
  for (const origin::SourceSubgraph &graph : source->subgraphs) {
    if (id < graph.firstOperator || id - graph.firstOperator >= graph.operators.size())
      continue;
    const origin::SourceOperator &op = graph.operators[id - graph.firstOperator];
    std::string words = std::string() + op.op;
    for (int32_t tensor : op.tensors)
      if (int64_t at = int64_t(tensor) - graph.firstTensor;
          at >= 0 && at < static_cast<int64_t>(graph.tensors.size()) && !graph.tensors[at].name.empty())
        return words + ' ' + graph.tensors[at].name.str();
    return words;
  }
  return {};
}

std::vector<std::pair<const Operator *, Profile::Row>> Profile::slowestFirst() const {
  llvm::MapVector<const Operator *, Row> byOperator;
  for (const Event &event : events) {
    Row &row = byOperator[event.op];
    row.time += event.own;
    ++row.calls;
  }
  auto taken = byOperator.takeVector();
  std::vector<std::pair<const Operator *, Row>> rows(taken.begin(), taken.end());
  llvm::stable_sort(rows, [](const auto &a, const auto &b) { return a.second.time > b.second.time; });
  return rows;
}

static std::string valid(std::string text) { return json::isUTF8(text) ? text : json::fixUTF8(text); }

json::Array Profile::table() const {
  json::Array table;
  for (const auto &[op, row] : slowestFirst()) {
    json::Array ids, names;
    op->subgraph()->model().sets.forEach(op->origins, [&](uint32_t id) {
      ids.push_back(id);
      names.push_back(valid(sourceWords(id)));
    });
    table.push_back(json::Object{{"subgraph", op->subgraph()->index},
                                 {"operator", op->index},
                                 {"op", valid(op->opName())},
                                 {"name", valid(nameOf(*op))},
                                 {"ms", microseconds(row.time) / 1e3},
                                 {"calls", row.calls},
                                 {"origins", std::move(ids)},
                                 {"sources", std::move(names)}});
  }
  return table;
}

void Profile::printTable(llvm::raw_ostream &os) const {
  auto rows = slowestFirst();
  Clock::duration all{};
  for (const auto &[op, row] : rows)
    all += row.time;
  os << "      MS      %   CALLS  OPERATOR                          NAME  <-  ORIGINS\n";
  for (const auto &[op, row] : rows) {
    std::string place = std::to_string(op->subgraph()->index) + ":" + std::to_string(op->index) + " " + op->opName();
    os << llvm::format("%8.3f %6.2f %7u  ", microseconds(row.time) / 1e3,
                       all.count() ? microseconds(row.time) / microseconds(all) * 100 : 0., row.calls)
       << llvm::left_justify(place, 32) << "  " << report::shortName(nameOf(*op), 60);
    const char *separator = "  <-  ";
    op->subgraph()->model().sets.forEach(op->origins, [&](uint32_t id) {
      os << separator << id << ' ' << report::shortName(sourceWords(id), 60);
      separator = ", ";
    });
    os << '\n';
  }
  os << llvm::format("%8.3f 100.00 %7u  all\n", microseconds(all) / 1e3, static_cast<unsigned>(events.size()));
}

void Profile::writeTrace(llvm::raw_ostream &os) const {
  Clock::time_point start = events.empty() ? Clock::time_point() : events.front().begin;
  for (const Event &event : events)
    start = std::min(start, event.begin);
  json::OStream out(os);
  out.object([&] {
    out.attribute("displayTimeUnit", "ms");
    out.attributeArray("traceEvents", [&] {
      for (const Event &event : events)
        out.object([&] {
          const Operator &op = *event.op;
          out.attribute("name", op.opName());
          out.attribute("cat", "operator");
          out.attribute("ph", "X");
          out.attribute("pid", 0);
          out.attribute("tid", 0);
          out.attribute("ts", microseconds(event.begin - start));
          out.attribute("dur", microseconds(event.end - event.begin));
          out.attributeObject("args", [&] {
            out.attribute("subgraph", op.subgraph()->index);
            out.attribute("operator", op.index);
            out.attribute("output", valid(nameOf(op)));
            json::Array ids, names;
            op.subgraph()->model().sets.forEach(op.origins, [&](uint32_t id) {
              ids.push_back(id);
              names.push_back(valid(sourceWords(id)));
            });
            out.attribute("origins", std::move(ids));
            out.attribute("sources", std::move(names));
          });
        });
    });
  });
  os << '\n';
}

} // namespace origo::tools
