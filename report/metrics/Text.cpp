#include "report/Columns.h"
#include "report/metrics/Metrics.h"

#include "ir/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <charconv>
#include <nlohmann/json.hpp>

using namespace origo;
using namespace origo::report;
using Json = nlohmann::ordered_json;
using llvm::StringRef;

std::string report::shortest(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof(digits), value).ptr};
}

namespace {

std::string inShort(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", value);
  return text;
}

/// A cell; empty where there is nothing to say.
using Real = std::string (*)(double);
std::string cell(const Metric &metric, const Figures &figures, Real real) {
  if (metric.whole) {
    auto value = metric.whole(figures);
    return value ? std::to_string(*value) : "";
  }
  auto value = metric.fraction(figures);
  return value ? real(*value) : "";
}

} // namespace

std::string Metric::text(const Figures &figures) const { return cell(*this, figures, shortest); }

namespace {

StringRef kindOf(const TensorMetrics &row) {
  if (row.isConstant)
    return "constant";
  if (row.value->isGraphInput)
    return "input";
  if (row.value->isVariable)
    return "variable";
  return row.value->producer() ? "activation" : "absent";
}

std::string typeOf(const Value &value) {
  StringRef name = tensorTypeName(value.type);
  return name.empty() ? std::to_string(int(value.type)) : name.str();
}

std::string kindOf(StringRef op, StringRef customCode) {
  return customCode.empty() ? op.str() : (op + ":" + customCode).str();
}
std::string kindOf(const Operator &op) { return kindOf(op.opName(), op.customCode()); }

template <class Ids> std::string joined(const Ids &ids) {
  std::string text;
  for (auto id : ids)
    text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

/// A table or a file of comma-separated values: a head, and rows that are made when they are printed.
struct Rectangle {
  Cells head;
  std::vector<size_t> numbers; ///< columns
  size_t count;
  std::function<Cells(size_t)> row;

  void text(StringRef name) { head.push_back(name.str()); }
  void number(StringRef name) {
    numbers.push_back(head.size());
    head.push_back(name.str());
  }
};

class Rectangles {
public:
  Rectangles(const MetricsReport &report, Real real) : report(report), metrics(report.metrics), real(real) {}

  Rectangle of(Rows rows) const {
    switch (rows) {
    case Rows::Model:
      return model();
    case Rows::Subgraphs:
      return subgraphs();
    case Rows::Operators:
      return operators();
    case Rows::Tensors:
      return tensors();
    case Rows::Sources:
      return sources();
    case Rows::Scopes:
      return scopes(byScope(metrics, *report.imported.lineage.source), "scope");
    case Rows::Lines:
      return scopes(byLine(metrics, *report.imported.lineage.source, false), "line");
    case Rows::Files:
      return scopes(byLine(metrics, *report.imported.lineage.source, true), "file");
    case Rows::Memory:
      return memory();
    }
    llvm_unreachable("an enumerator");
  }

private:
  const MetricsReport &report;
  const ModelMetrics &metrics;
  Real real;

  static void figuresHead(Rectangle &table) {
    for (const Metric &metric : allMetrics())
      table.number(metric.name);
  }
  void figures(Cells &cells, const Figures &figures) const {
    for (const Metric &metric : allMetrics())
      cells.push_back(cell(metric, figures, real));
  }

  Rectangle model() const {
    Rectangle table{.head = {}, .numbers = {}, .count = 1, .row = nullptr};
    table.text("model");
    figuresHead(table);
    table.number("unknown_macs");
    table.row = [this](size_t) {
      Cells cells = {report.file};
      figures(cells, metrics.figures);
      cells.push_back(std::to_string(metrics.figures.unknownMacs));
      return cells;
    };
    return table;
  }
  Rectangle subgraphs() const {
    Rectangle table{.head = {}, .numbers = {}, .count = metrics.subgraphs.size(), .row = nullptr};
    table.number("subgraph");
    table.text("name");
    figuresHead(table);
    table.row = [this](size_t i) {
      const SubgraphMetrics &row = metrics.subgraphs[i];
      Cells cells = {std::to_string(row.graph->index), row.graph->name.str()};
      figures(cells, row.figures);
      return cells;
    };
    return table;
  }
  Rectangle operators() const {
    Rectangle table{.head = {}, .numbers = {}, .count = metrics.operators.size(), .row = nullptr};
    table.number("subgraph");
    table.number("index");
    table.text("operator");
    table.text("name");
    figuresHead(table);
    table.text("origins");
    table.row = [this](size_t i) {
      const OperatorMetrics &row = metrics.operators[i];
      Cells cells = {std::to_string(row.op->subgraph()->index), std::to_string(row.op->index), kindOf(*row.op),
                     nameOf(*row.op).str()};
      figures(cells, row.figures);
      cells.push_back(joined(row.origins));
      return cells;
    };
    return table;
  }
  Rectangle tensors() const {
    Rectangle table{.head = {}, .numbers = {}, .count = metrics.tensors.size(), .row = nullptr};
    table.number("subgraph");
    table.number("index");
    for (const char *name : {"name", "type", "shape", "kind"})
      table.text(name);
    for (const char *name :
         {"parameters", "bytes", "sparsity", "block_sparsity", "min", "max", "mean", "std", "zeros", "nan", "inf"})
      table.number(name);
    table.row = [this](size_t i) { return tensorRow(metrics.tensors[i]); };
    return table;
  }
  Cells tensorRow(const TensorMetrics &row) const {
    const Value &value = *row.value;
    Cells cells = {std::to_string(value.subgraph()->index),
                   std::to_string(value.index),
                   value.name.str(),
                   typeOf(value),
                   joined(value.shape),
                   kindOf(row).str(),
                   std::to_string(row.parameters),
                   std::to_string(row.bytes)};
    const Statistics *s = row.statistics ? &*row.statistics : nullptr;
    auto ratio = [&](uint64_t part, uint64_t whole) { return whole ? real(double(part) / double(whole)) : ""; };
    cells.push_back(s ? ratio(s->zeros, s->elements) : "");
    cells.push_back(s ? ratio(s->zeroBlocks, s->blocks) : "");
    for (double Statistics::*figure : {&Statistics::min, &Statistics::max, &Statistics::mean, &Statistics::std})
      cells.push_back(s && s->finite ? real(s->*figure) : "");
    for (uint64_t Statistics::*count : {&Statistics::zeros, &Statistics::nans, &Statistics::infinities})
      cells.push_back(s ? std::to_string(s->*count) : "");
    return cells;
  }
  Rectangle sources() const {
    Rectangle table{.head = {}, .numbers = {}, .count = metrics.sources.size() + 1, .row = nullptr};
    table.number("id");
    table.text("operator");
    table.text("name");
    sourceHead(table);
    table.text("lives_in");
    table.row = [this](size_t i) { return sourceRow(i); };
    return table;
  }
  static Rectangle scopes(std::vector<ScopeMetrics> lines, const char *what) {
    bool levels = llvm::any_of(lines, [](const ScopeMetrics &line) { return line.scope.level > 1; }) ||
                  llvm::StringRef(what) == "scope";
    Rectangle table{.head = {}, .numbers = {}, .count = lines.size(), .row = nullptr};
    if (levels)
      table.number("level");
    table.text(what);
    sourceHead(table);
    table.row = [lines = std::move(lines), levels](size_t i) {
      Cells cells;
      if (levels)
        cells.push_back(std::to_string(lines[i].scope.level));
      cells.push_back(lines[i].scope.key);
      sourceFigures(cells, lines[i].sum);
      return cells;
    };
    return table;
  }
  Rectangle memory() const {
    std::vector<std::pair<const SubgraphMetrics *, const AliveTensor *>> rows;
    for (const SubgraphMetrics &graph : metrics.subgraphs)
      for (const AliveTensor &alive : graph.alive)
        rows.emplace_back(&graph, &alive);
    Rectangle table{.head = {}, .numbers = {}, .count = rows.size(), .row = nullptr};
    for (const char *name : {"subgraph", "at", "bytes", "without", "from", "to"})
      table.number(name);
    for (const char *name : {"state", "name", "source"})
      table.text(name);
    table.row = [this, rows = std::move(rows)](size_t i) {
      auto [graph, alive] = rows[i];
      std::string source;
      for (uint32_t id : alive->origins)
        if (const origin::SourceOperator *op = report.imported.lineage.source->findOperator(id))
          source += (source.empty() ? "" : " ") + std::string(report.imported.lineage.source->nameOf(*op));
      return Cells{std::to_string(graph->graph->index),
                   std::to_string(graph->peak),
                   std::to_string(alive->bytes),
                   alive->without ? std::to_string(*alive->without) : "",
                   alive->value->producer() ? std::to_string(alive->from) : "",
                   std::to_string(alive->to),
                   alive->waits                                             ? "waits"
                   : alive->from == graph->peak && alive->value->producer() ? "is made"
                                                                            : "is read",
                   alive->value->name.str(),
                   source};
    };
    return table;
  }
  static void sourceHead(Rectangle &table) {
    for (const char *name : {"macs", "source_macs", "sparse_macs", "operations", "parameters", "bytes"})
      table.number(name);
  }
  static void sourceFigures(Cells &cells, const SourceMetrics &row) {
    cells.push_back(std::to_string(row.macs));
    cells.push_back(row.ownMacs ? std::to_string(*row.ownMacs) : "");
    for (uint64_t figure : {row.sparseMacs, row.operations, row.parameters, row.bytes})
      cells.push_back(std::to_string(figure));
  }
  Cells sourceRow(size_t i) const {
    Cells cells = {"", "(synthetic)", ""};
    if (i < metrics.sources.size()) {
      const origin::Listing &listing = *report.imported.lineage.source;
      const origin::SourceOperator *op = listing.findOperator(uint32_t(i));
      cells = {std::to_string(i), op ? kindOf(op->op.str(), op->customCode.str()) : "",
               op ? std::string(listing.nameOf(*op)) : ""};
    }
    const SourceMetrics &row = i < metrics.sources.size() ? metrics.sources[i] : metrics.synthetic;
    std::string places;
    for (auto [graph, index] : row.operators)
      places +=
          (places.empty() ? "" : " ") + (graph ? std::to_string(graph) + ":" : std::string()) + std::to_string(index);
    sourceFigures(cells, row);
    cells.push_back(places);
    return cells;
  }
};

// JSON.

template <class T> Json orNull(const std::optional<T> &value) { return value ? Json(*value) : Json(nullptr); }

Json textOf(StringRef text) { return text.str(); }

void putFigures(Json &object, const Figures &figures) {
  for (const Metric &metric : allMetrics())
    object[metric.name.str()] = metric.whole ? orNull(metric.whole(figures)) : orNull(metric.fraction(figures));
}

Json operatorJson(const OperatorMetrics &row) {
  Json object = {{"subgraph", row.op->subgraph()->index}, {"index", row.op->index}, {"op", row.op->opName()}};
  if (!row.op->customCode().empty())
    object["custom_code"] = textOf(row.op->customCode());
  object["outputs"] = Json::array();
  for (const Value *value : row.op->results())
    object["outputs"].push_back(value ? textOf(value->name) : Json(nullptr));
  putFigures(object, row.figures);
  object["origins"] = row.origins;
  return object;
}

Json tensorJson(const TensorMetrics &row) {
  const Value &value = *row.value;
  Json object = {{"subgraph", value.subgraph()->index},
                 {"index", value.index},
                 {"name", textOf(value.name)},
                 {"type", typeOf(value)},
                 {"shape", std::vector<int32_t>(value.shape.begin(), value.shape.end())},
                 {"kind", kindOf(row).str()},
                 {"parameters", row.parameters},
                 {"bytes", row.bytes}};
  if (!row.statistics)
    return object;
  const Statistics &s = *row.statistics;
  auto ratio = [](uint64_t part, uint64_t whole) { return whole ? Json(double(part) / double(whole)) : Json(nullptr); };
  object["sparsity"] = ratio(s.zeros, s.elements);
  object["block_sparsity"] = ratio(s.zeroBlocks, s.blocks);
  object["min"] = s.finite ? Json(s.min) : Json(nullptr);
  object["max"] = s.finite ? Json(s.max) : Json(nullptr);
  object["mean"] = s.finite ? Json(s.mean) : Json(nullptr);
  object["std"] = s.finite ? Json(s.std) : Json(nullptr);
  object["zeros"] = s.zeros;
  object["nan"] = s.nans;
  object["inf"] = s.infinities;
  return object;
}

Json sourceJson(const SourceMetrics &row) {
  return {{"macs", row.macs},
          {"source_macs", orNull(row.ownMacs)},
          {"sparse_macs", row.sparseMacs},
          {"operations", row.operations},
          {"parameters", row.parameters},
          {"bytes", row.bytes}};
}

Json withOperators(const SourceMetrics &row) {
  Json object = sourceJson(row);
  object["operators"] = Json::array();
  for (auto [graph, index] : row.operators)
    object["operators"].push_back({graph, index});
  return object;
}

/// Rows are printed one by one, so that those of a big model are never all in memory. Names need not be UTF-8.
std::string line(const Json &object) { return object.dump(-1, ' ', false, Json::error_handler_t::replace); }

void printList(StringRef name, size_t count, llvm::function_ref<Json(size_t)> row, llvm::raw_ostream &os) {
  os << ",\n\"" << name << "\":[";
  for (size_t i = 0; i < count; ++i)
    os << (i ? ",\n" : "\n") << line(row(i));
  os << ']';
}

} // namespace

void report::printMetricsJson(const MetricsReport &report, llvm::raw_ostream &os) {
  const ModelMetrics &metrics = report.metrics;
  const Model &model = *report.imported.model;
  Json object = {{"file", report.file},
                 {"format", model.format == Format::Tflite ? "tflite" : "circle"},
                 {"subgraphs", model.subgraphs.size()},
                 {"operators", metrics.operators.size()},
                 {"tensors", metrics.tensors.size()}};
  putFigures(object, metrics.figures);
  object["unknown_macs"] = metrics.figures.unknownMacs;
  object["unknown_operations"] = metrics.figures.unknownOperations;
  object["block"] = {1, report.block};
  os << "{\"model\":" << line(object);
  printList(
      "subgraphs", metrics.subgraphs.size(),
      [&](size_t i) {
        const SubgraphMetrics &row = metrics.subgraphs[i];
        Json graph = {{"index", row.graph->index}, {"name", textOf(row.graph->name)}};
        putFigures(graph, row.figures);
        graph["peak"] = {{"operator", row.peak}, {"at_least", row.atLeast}, {"tensors", Json::array()}};
        for (const AliveTensor &alive : row.alive)
          graph["peak"]["tensors"].push_back({{"index", alive.value->index},
                                              {"name", textOf(alive.value->name)},
                                              {"bytes", alive.bytes},
                                              {"from", alive.from},
                                              {"to", alive.to},
                                              {"waits", alive.waits},
                                              {"without", orNull(alive.without)},
                                              {"origins", alive.origins}});
        return graph;
      },
      os);
  printList(
      "operators", metrics.operators.size(), [&](size_t i) { return operatorJson(metrics.operators[i]); }, os);
  printList(
      "tensors", metrics.tensors.size(), [&](size_t i) { return tensorJson(metrics.tensors[i]); }, os);
  const origin::Listing &listing = *report.imported.lineage.source;
  printList(
      "source_operators", metrics.sources.size(),
      [&](size_t i) {
        Json source = {{"id", i}};
        if (const origin::SourceOperator *op = listing.findOperator(uint32_t(i))) {
          source["op"] = op->op.str();
          source["name"] = std::string(listing.nameOf(*op));
        }
        source.update(withOperators(metrics.sources[i]));
        return source;
      },
      os);
  auto scopes = byScope(metrics, listing);
  printList(
      "scopes", scopes.size(),
      [&](size_t i) {
        Json scope = {{"level", scopes[i].scope.level}, {"scope", textOf(scopes[i].scope.key)}};
        scope.update(sourceJson(scopes[i].sum));
        return scope;
      },
      os);
  os << ",\n\"synthetic\":" << line(withOperators(metrics.synthetic)) << "}\n";
}

void report::printMetricsCsv(const MetricsReport &report, Rows rows, llvm::raw_ostream &os) {
  Rectangles rectangles(report, shortest); // the table's rows come from it
  Rectangle table = rectangles.of(rows);
  os << llvm::join(table.head, ",") << '\n';
  for (size_t i = 0; i < table.count; ++i) {
    Cells cells = table.row(i);
    for (size_t column = 0; column < cells.size(); ++column)
      os << (column ? "," : "") << (llvm::is_contained(table.numbers, column) ? cells[column] : csvText(cells[column]));
    os << '\n';
  }
}

void report::printMetrics(const MetricsReport &report, Rows rows, bool full, llvm::raw_ostream &os) {
  Rectangles rectangles(report, inShort);
  Rectangle table = rectangles.of(rows);
  Cells head;
  for (StringRef name : table.head)
    head.push_back(name.upper());
  printColumns(
      head, table.count,
      [&](size_t i) {
        Cells cells = table.row(i);
        for (size_t column = 0; column < cells.size(); ++column)
          cells[column] = cells[column].empty() ? "-" : shortName(cells[column], full ? ~size_t{0} : 40);
        return cells;
      },
      os, table.numbers);
}

void report::printMetrics(const MetricsReport &report, llvm::raw_ostream &os) {
  const ModelMetrics &metrics = report.metrics;
  os << printable(report.file) << ": " << metrics.operators.size() << " operators, " << metrics.tensors.size()
     << " tensors, " << metrics.subgraphs.size() << (metrics.subgraphs.size() == 1 ? " subgraph\n" : " subgraphs\n");
  for (const Metric &metric : allMetrics()) {
    std::string value = cell(metric, metrics.figures, inShort);
    os << "  " << llvm::left_justify(metric.name, 18) << llvm::right_justify(value.empty() ? "-" : value, 16) << "  "
       << metric.meaning << '\n';
  }
  if (metrics.figures.unknownMacs)
    os << "  " << metrics.figures.unknownMacs << " operators whose macs are not known are left out\n";
}
