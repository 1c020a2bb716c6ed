#include "report/errors/Print.h"

#include "report/Columns.h"
#include "report/metrics/Metrics.h"
#include "report/viewer/Viewers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace origo::report {

using Json = nlohmann::ordered_json;

namespace {

std::string shortText(std::optional<double> number) {
  if (!number)
    return "-";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", *number);
  return text;
}

std::optional<double> valueOf(const ErrorSums &sums, std::optional<double> scale, const ErrorMetric &metric) {
  if (sums.empty())
    return std::nullopt;
  auto value = metric.of(sums.figures(scale));
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// Is more of it better?
bool isLikeness(const ErrorMetric &metric) { return metric.name == "PSNR" || metric.name == "cosine"; }

std::string tensorName(const Value &value) {
  return value.name.empty() ? "#" + std::to_string(value.index) : shortName(value.name, 60);
}

std::string operatorName(const Value &value) {
  return value.producer() ? printable(value.producer()->opName(), 40) : "input";
}

Json numberOrNull(std::optional<double> number) { return number && std::isfinite(*number) ? Json(*number) : Json(); }

std::string text(const Json &value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Numbers of operators and tensors over all subgraphs start here.
struct Firsts {
  std::vector<size_t> tensors, operators;
  explicit Firsts(const Model &model) {
    size_t tensor = 0, op = 0;
    for (const auto &graph : model.subgraphs) {
      tensors.push_back(tensor);
      operators.push_back(op);
      tensor += graph->values.size();
      op += graph->operators.size();
    }
  }
};

ColorSlots slotsFor(const ErrorReport &report, const ErrorMetric &metric) {
  std::optional<double> low, high;
  for (const ErrorRow &row : report.rows)
    if (auto value = valueOf(row.total, row.scale, metric); value && row.value->subgraph()->index == 0) {
      low = std::min(low.value_or(*value), *value);
      high = std::max(high.value_or(*value), *value);
    }
  if (metric.name == "MPEIR")
    return ColorSlots::between(0, 1);
  return ColorSlots::between(metric.name == "SRMSE" ? 0 : low.value_or(0), high.value_or(1));
}

} // namespace

llvm::StringRef layerNameOf(const ErrorReport &report, const Value &value) {
  llvm::StringRef name;
  if (const Operator *maker = value.producer(); maker && report.listing)
    report.source.sets.forEach(maker->origins, [&](uint32_t id) {
      const origin::SourceOperator *op = report.listing->findOperator(id);
      if (op && op->layer && name.empty())
        name = report.listing->nameOf(*op);
    });
  return name.empty() ? value.name.text() : name;
}

std::string lineOf(const ErrorReport &report, const Value &value, bool fileOnly) {
  std::string line;
  if (const Operator *maker = value.producer(); maker && report.listing)
    report.source.sets.forEach(maker->origins, [&](uint32_t id) {
      const origin::SourceOperator *op = report.listing->findOperator(id);
      if (const origin::SourceFrame *frame = op && line.empty() ? report.listing->frameOf(*op) : nullptr)
        line = printable(fileOnly ? report.listing->files[frame->file] : report.listing->lineOf(*frame));
    });
  return line;
}

std::optional<double> ownSteps(const ErrorRow &row) {
  return row.own.empty() ? std::nullopt : row.own.figures(row.scale).srmse;
}

double blameOf(const ErrorRow &row, const ErrorMetric &metric) {
  if (row.effect)
    return *row.effect * std::max(1., ownSteps(row).value_or(0) * std::sqrt(12.));
  auto value = valueOf(row.own.empty() ? row.total : row.own, row.scale, metric);
  if (!value)
    return -INFINITY;
  return isLikeness(metric) ? -*value : *value;
}

void printErrors(const ErrorReport &report, const ErrorMetric &metric, ErrorOrder order, llvm::raw_ostream &os) {
  std::vector<const ErrorRow *> rows;
  std::map<std::string, unsigned> unmeasured;
  for (const ErrorRow &row : report.rows)
    if (row.unmeasured.empty())
      rows.push_back(&row);
    else
      ++unmeasured[row.unmeasured];
  if (order == ErrorOrder::Blame)
    llvm::stable_sort(rows, [&](const ErrorRow *a, const ErrorRow *b) {
      // What is recovered has no error of its own to be blamed for.
      double x = a->recovered ? -INFINITY : blameOf(*a, metric), y = b->recovered ? -INFINITY : blameOf(*b, metric);
      return x > y;
    });
  bool lines = report.listing && !report.listing->stacks.empty();
  Cells head{"TENSOR", "OPERATOR", metric.name.str(), "INHERITED", "OWN", "STEPS", "EFFECT"};
  if (lines)
    head.push_back("LINE");
  head.push_back("");
  printColumns(head, rows.size(),
               [&](size_t i) {
                 const ErrorRow &row = *rows[i];
                 Cells cells{tensorName(*row.value),
                             operatorName(*row.value),
                             shortText(valueOf(row.total, row.scale, metric)),
                             shortText(valueOf(row.inherited, row.scale, metric)),
                             shortText(valueOf(row.own, row.scale, metric)),
                             shortText(ownSteps(row)),
                             shortText(row.effect)};
                 if (lines)
                   cells.push_back(lineOf(report, *row.value));
                 cells.push_back(row.recovered ? "recovered" : "");
                 return cells;
               },
               os, {2, 3, 4, 5, 6});
  for (const auto &[why, count] : unmeasured)
    os << count << " without figures: " << why << '\n';
}

void printErrorsBy(const ErrorReport &report, ErrorsBy by, const ErrorMetric &metric, llvm::raw_ostream &os) {
  Scopes scopes;
  for (const ErrorRow &row : report.rows)
    scopes.add(layerNameOf(report, *row.value));
  struct Line {
    ScopeLine scope;
    const ErrorRow *worst;
    unsigned layers = 0;
    std::optional<double> effect = {};
  };
  std::vector<Line> lines;
  std::map<std::string, size_t> known;
  for (const ErrorRow &row : report.rows) {
    if (!row.unmeasured.empty())
      continue;
    auto keys = by == ErrorsBy::Scope ? scopes.linesOf(layerNameOf(report, *row.value))
                                      : std::vector<ScopeLine>{{1, lineOf(report, *row.value, by == ErrorsBy::File)}};
    for (ScopeLine &scope : keys) {
      if (scope.key.empty())
        scope.key = "(no line)";
      auto [at, isNew] = known.try_emplace(scope.key, lines.size());
      if (isNew)
        lines.push_back({scope, &row});
      Line &line = lines[at->second];
      ++line.layers;
      if (blameOf(row, metric) > blameOf(*line.worst, metric))
        line.worst = &row;
      if (row.effect)
        line.effect = line.effect.value_or(0) + *row.effect;
    }
  }
  printColumns({by == ErrorsBy::Scope  ? "SCOPE"
                : by == ErrorsBy::Line ? "LINE"
                                       : "FILE",
                "TENSORS", "EFFECT", "WORST", metric.name.str(), "OWN"},
               lines.size(),
               [&](size_t i) {
                 const Line &line = lines[i];
                 return Cells{std::string(2 * (line.scope.level - 1), ' ') + shortName(line.scope.key, 60),
                              std::to_string(line.layers),
                              shortText(line.effect),
                              tensorName(*line.worst->value),
                              shortText(valueOf(line.worst->total, line.worst->scale, metric)),
                              shortText(valueOf(line.worst->own, line.worst->scale, metric))};
               },
               os, {1, 2, 4, 5});
}

void writeErrors(const ErrorReport &report, const ErrorMetric &metric, llvm::raw_ostream &os) {
  Json scheme = Json::array();
  for (const ColorSlots::Slot &slot : slotsFor(report, metric).slots)
    scheme.push_back({{"b", slot.begin}, {"e", slot.end}, {"c", slot.color}});
  Json meta = {{"model", report.sourceFile},
               {"metric", metric.name.str()},
               {"colorscheme", std::move(scheme)},
               {"result", report.resultFile},
               {"records", report.records},
               {"pairs", report.by == Pairs::By::Relations ? "relations"
                         : report.by == Pairs::By::Order   ? "order"
                                                           : "names"}};
  os << "{\"meta\": " << text(meta) << ",\n\"error\": [";
  // ONE's viewer finds an operator by the name of its result.
  for (const auto &graph : report.source.subgraphs) {
    llvm::StringSet<> taken;
    os << (graph->index ? ", {" : "{");
    const char *separator = "\n";
    for (const ErrorRow &row : report.rows) {
      auto value = valueOf(row.total, row.scale, metric);
      if (row.value->subgraph() != graph.get() || !row.value->producer() || !value || row.value->name.empty() ||
          !isUtf8(row.value->name) || !taken.insert(row.value->name).second)
        continue;
      os << separator << text(row.value->name.str()) << ": " << text(*value);
      separator = ",\n";
    }
    os << '}';
  }
  os << "],\n\"errors\": [";
  Firsts firsts(report.source);
  const char *separator = "\n";
  for (const ErrorRow &row : report.rows) {
    const Operator *op = row.value->producer();
    unsigned graph = row.value->subgraph()->index;
    Json line = {{"subgraph", graph},
                 {"tensor", row.value->index},
                 {"tensorId", firsts.tensors[graph] + row.value->index},
                 {"name", row.value->name.str()},
                 {"operator", op ? Json(op->index) : Json()},
                 {"operatorId", op ? Json(firsts.operators[graph] + op->index) : Json()}};
    if (!row.unmeasured.empty()) {
      line["unmeasured"] = row.unmeasured;
    } else {
      line["recovered"] = row.recovered;
      Json metrics;
      ErrorFigures figures = row.total.figures(row.scale);
      for (const ErrorMetric &any : errorMetrics())
        metrics[any.name.str()] = numberOrNull(any.of(figures));
      if (figures.odd)
        metrics["not_finite"] = figures.odd;
      line["metrics"] = std::move(metrics);
      line["own"] = numberOrNull(valueOf(row.own, row.scale, metric));
      line["inherited"] = numberOrNull(valueOf(row.inherited, row.scale, metric));
      line["ownSteps"] = numberOrNull(ownSteps(row));
      line["effect"] = numberOrNull(row.effect);
    }
    os << separator << text(line);
    separator = ",\n";
  }
  os << "]}\n";
}

void writeErrorDot(const ErrorReport &report, const ErrorMetric &metric, llvm::raw_ostream &os) {
  ColorSlots slots = slotsFor(report, metric);
  const Subgraph &graph = *report.source.subgraphs[0];
  llvm::DenseMap<const Value *, const ErrorRow *> rowOf;
  for (const ErrorRow &row : report.rows)
    rowOf[row.value] = &row;
  auto id = [](const Value &value) { return "\"#" + std::to_string(value.index) + '"'; };
  auto opId = [](const Operator &op) { return "\"operator " + std::to_string(op.index) + '"'; };
  os << "digraph \"" << printable(report.sourceFile) << "\" {\n  node [shape=box];\n";
  os << "  color_table [shape=none label=<<table>";
  for (const ColorSlots::Slot &slot : slots.slots)
    os << "<tr><td bgcolor=\"" << slot.color << "\">" << metric.name << ": " << llvm::format("%.4g", slot.begin)
       << " ~ " << llvm::format("%.4g", slot.end) << "</td></tr>";
  os << "</table>>];\n";
  for (const Value *value : graph.inputs)
    os << "  " << id(*value) << " [label=\"" << tensorName(*value) << "\" shape=ellipse];\n";
  for (const Operator &op : graph.operators) {
    const Value *result = op.result();
    os << "  " << opId(op) << " [label=\"" << (result ? tensorName(*result) : "") << "\\n"
       << printable(op.opName()) << "\" style=filled ";
    const ErrorRow *row = result ? rowOf.lookup(result) : nullptr;
    auto value = row ? valueOf(row->total, row->scale, metric) : std::nullopt;
    if (value)
      os << "fillcolor=\"" << slots.of(*value).color << "\" xlabel=\"" << metric.name << ": "
         << llvm::format("%.4g", *value) << '"';
    else
      os << "fillcolor=gray";
    os << "];\n";
  }
  for (const Operator &op : graph.operators)
    for (const Use &use : op.operands())
      if (const Value *value = use.get(); value && (value->producer() || value->isGraphInput))
        os << "  " << (value->producer() ? opId(*value->producer()) : id(*value)) << " -> " << opId(op) << ";\n";
  os << "}\n";
}

} // namespace origo::report
