#include "report/join/Results.h"

#include "report/Columns.h"
#include "report/Scopes.h"
#include "report/join/Print.h"
#include "report/metrics/Metrics.h"
#include "report/profile/Readers.h"

#include "import/Import.h"
#include "origin/Fingerprint.h"
#include "origin/Utf8.h"
#include "schema/WireSchema.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace origo;
using namespace origo::report;
using nlohmann::json;

/// An operator in a cell: what it computes, a fused activation, and the types that are no float32.
static std::string formOf(const Operator &op) {
  std::string form = op.opName();
  if (!op.customCode().empty())
    form += ":" + printable(op.customCode(), 30);
  const wire::TableType *options = op.info() && op.options.table ? op.info()->optionsType() : nullptr;
  if (const wire::Field *field = options ? options->find("fused_activation_function") : nullptr)
    if (auto activation = static_cast<circle::ActivationFunctionType>(wire::integer(*op.options.table, *field));
        activation != circle::ActivationFunctionType::NONE)
      form += std::string("+") + circle::EnumNameActivationFunctionType(activation);
  auto typeOf = [](const Value *value) { return value ? value->type : TensorType::FLOAT32; };
  TensorType type = typeOf(op.result());
  if (type != TensorType::FLOAT32)
    form += " " + tensorTypeShortName(type).str();
  for (const Use &use : op.operands())
    if (const Value *weights = use.get();
        weights && weights->isConstant() && weights->rank() > 1 && weights->type != type)
      return form + " (" + tensorTypeShortName(weights->type).str() + " weights)";
  return form;
}

ResultSummary report::summarize(Imported &result) {
  Model &model = *result.model;
  const origin::Listing &source = *result.lineage.source;
  ResultSummary summary;
  summary.fingerprint = "sha256:" + origin::hex(source.fingerprint);
  summary.layers.resize(source.operatorCount());
  for (uint32_t id = 0; id < summary.layers.size(); ++id) {
    const origin::SourceOperator &op = *source.findOperator(id);
    summary.layers[id].name = source.nameOf(op);
    if (const origin::SourceFrame *frame = source.frameOf(op))
      summary.layers[id].line = source.lineOf(*frame);
  }
  ModelMetrics metrics = metricsOf(model, source, nullptr, {});
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      ++summary.operators;
      summary.synthetic += op.origins.empty();
      std::string form = formOf(op);
      model.sets.forEach(op.origins, [&](uint32_t id) {
        if (std::string &became = summary.layers[id].became; became.size() < 200) // of many, the first ones
          became += (became.empty() ? "" : ", ") + form;
      });
    }
  llvm::SmallVector<std::pair<bool, uint32_t>> lost;
  model.ledger(lost, [&](const LedgerRow &row) {
    if (!row.isTensor && summary.layers[row.id].became.empty())
      summary.layers[row.id].became = ("(" + fateName(row.fate) + ")").str();
  });
  for (auto [layer, figures] : llvm::zip(summary.layers, metrics.sources))
    layer.bytes = figures.bytes;
  summary.bytes = metrics.figures.bytes;
  summary.syntheticBytes = metrics.synthetic.bytes;
  return summary;
}

llvm::Expected<ErrorSummary> report::readErrorSummary(llvm::StringRef text) {
  if (llvm::Error error = checkJson(text))
    return error;
  json file = json::parse(text.begin(), text.end());
  auto get = [](const json &object, const char *key) -> const json & {
    static const json none;
    auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() ? *found : none;
  };
  ErrorSummary summary;
  const json &metric = get(get(file, "meta"), "metric"), &rows = get(file, "errors");
  if (!metric.is_string() || !rows.is_array())
    return makeError("is not what visq --json writes");
  summary.metric = metric.get<std::string>();
  for (const json &row : rows) {
    const json &id = get(row, "operatorId"), &error = get(get(row, "metrics"), summary.metric.c_str());
    if (id.is_number_unsigned() && id.get<uint64_t>() <= UINT32_MAX && error.is_number() &&
        std::isfinite(error.get<double>()))
      summary.operators[id.get<uint32_t>()] = error.get<double>(); // of several results the last
  }
  return summary;
}

namespace {

/// A layer or a sum of them; index 0 is of A, 1 of B.
struct Line {
  std::optional<uint32_t> id;
  unsigned level = 0;
  std::string name;
  std::array<std::string, 2> became;
  std::array<uint64_t, 2> bytes{}, ns{};
  std::array<std::optional<double>, 2> error{};
  size_t changed = 0;     ///< layers that became something else
  std::string place = {}; ///< the line of a program that called it
};

template <class T> T change(const std::array<T, 2> &both) {
  return std::max(both[0], both[1]) - std::min(both[0], both[1]);
}
double errorChange(const Line &line) {
  return line.error[0] && line.error[1] ? std::fabs(*line.error[1] - *line.error[0]) : 0;
}
bool differs(const Line &line) {
  return line.changed || change(line.bytes) || change(line.ns) || line.error[0] != line.error[1];
}

std::vector<Line> addedUp(llvm::ArrayRef<Line> layers, CompareBy by) {
  Scopes scopes;
  for (const Line &layer : layers)
    scopes.add(layer.name);
  std::map<std::pair<std::string, unsigned>, size_t> places;
  std::vector<Line> lines;
  for (const Line &layer : layers)
    for (const ScopeLine &scope : sumsOf(by, scopes, layer.name, layer.place)) {
      auto [place, isNew] = places.try_emplace({scope.key, scope.level}, lines.size());
      if (isNew)
        lines.push_back({{}, scope.level, scope.key, {}});
      Line &sum = lines[place->second];
      sum.changed += layer.changed;
      for (int side : {0, 1}) {
        sum.bytes[side] += layer.bytes[side];
        sum.ns[side] += layer.ns[side];
        // The worst of its layers: errors do not add up.
        if (layer.error[side])
          sum.error[side] = std::max(sum.error[side].value_or(*layer.error[side]), *layer.error[side]);
      }
    }
  return lines;
}

std::string shown(std::optional<double> error) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", error.value_or(0));
  return error ? text : "-";
}

} // namespace

llvm::Expected<std::string> report::compareResults(const ResultSummary &a, const ResultSummary &b,
                                                   const ResultFigures &figures, CompareBy by, CompareFormat format,
                                                   const CompareTable &table, llvm::raw_ostream &os) {
  auto sameSource = [&](const std::string &fingerprint, const char *what) -> llvm::Error {
    if (fingerprint == a.fingerprint)
      return llvm::Error::success();
    return makeError(llvm::Twine("--compare: ") + what + " of different sources, " + printable(a.fingerprint, 80) +
                     " and " + printable(fingerprint, 80) + "; origin-dump --summary tells the source of a file");
  };
  if (llvm::Error error = sameSource(b.fingerprint, "the two are results"))
    return error;
  if (figures.times)
    for (const JoinSummary *times : {&figures.times->first, &figures.times->second})
      if (llvm::Error error = sameSource(times->fingerprint, "the results and the times are"))
        return error;
  if (figures.errors && figures.errors->first.metric != figures.errors->second.metric)
    return makeError("--errors: one has " + printable(figures.errors->first.metric, 40) + ", the other " +
                     printable(figures.errors->second.metric, 40) + "; visq --metric=NAME makes them alike");

  std::vector<Line> lines;
  size_t changed = 0;
  for (uint32_t id = 0; id < std::min(a.layers.size(), b.layers.size()); ++id) {
    const LayerOfResult &x = a.layers[id], &y = b.layers[id];
    Line &line = lines.emplace_back(Line{id, 0, x.name, {x.became, y.became}, {x.bytes, y.bytes}});
    changed += line.changed = x.became != y.became;
    line.place = x.line;
    auto timeIn = [&](const JoinSummary &times) {
      auto found = times.operators.find(id);
      return found == times.operators.end() ? 0 : found->second.second;
    };
    auto errorIn = [&](const ErrorSummary &errors) {
      auto found = errors.operators.find(id);
      return found == errors.operators.end() ? std::nullopt : std::optional(found->second);
    };
    if (figures.times)
      line.ns = {timeIn(figures.times->first), timeIn(figures.times->second)};
    if (figures.errors)
      line.error = {errorIn(figures.errors->first), errorIn(figures.errors->second)};
  }
  bool sums = by != CompareBy::Operator, times = figures.times.has_value(), errors = figures.errors.has_value();
  size_t layers = lines.size();
  if (sums)
    lines = addedUp(lines, by);
  if (format == CompareFormat::Table) {
    if (!table.full)
      llvm::erase_if(lines, [](const Line &line) { return !differs(line); });
    auto key = [&](const Line &line) {
      auto of = [&](int side) { return static_cast<double>(times ? line.ns[side] : line.bytes[side]); };
      return table.order == CompareOrder::A   ? of(0)
             : table.order == CompareOrder::B ? of(1)
             : times                          ? static_cast<double>(change(line.ns))
             : errors                         ? errorChange(line)
                                              : static_cast<double>(change(line.bytes));
    };
    if (table.order != CompareOrder::Id)
      llvm::stable_sort(lines, [&](const Line &x, const Line &y) { return key(x) > key(y); });
  }
  size_t all = lines.size();
  if (format == CompareFormat::Table && table.top && lines.size() > table.top)
    lines.resize(table.top);

  if (format == CompareFormat::Json) {
    using ordered = nlohmann::ordered_json;
    auto totals = [&](const ResultSummary &one, const JoinSummary *time) {
      ordered sums = {{"operators", one.operators},
                      {"synthetic", one.synthetic},
                      {"bytes", one.bytes},
                      {"synthetic_bytes", one.syntheticBytes}};
      if (time)
        sums["total_ns"] = time->total;
      return sums;
    };
    ordered rows = ordered::array();
    for (const Line &line : lines) {
      ordered row = sums ? ordered{{"level", line.level}} : ordered{{"id", *line.id}};
      row[sums ? nameOf(by).str() : "name"] = origin::replaceInvalidUtf8(line.name);
      if (sums)
        row["changed"] = line.changed;
      for (auto [side, prefix] : {std::pair(0, std::string("a_")), std::pair(1, std::string("b_"))}) {
        if (!sums)
          row[prefix + "became"] = line.became[side];
        row[prefix + "bytes"] = line.bytes[side];
        if (times)
          row[prefix + "ns"] = line.ns[side];
        if (errors)
          row[prefix + "error"] = line.error[side] ? ordered(*line.error[side]) : ordered();
      }
      rows.push_back(std::move(row));
    }
    ordered file = {{"source", {{"fingerprint", a.fingerprint}}},
                    {"a", totals(a, times ? &figures.times->first : nullptr)},
                    {"b", totals(b, times ? &figures.times->second : nullptr)},
                    {"by_" + nameOf(by).str(), rows}};
    if (errors)
      file["metric"] = origin::replaceInvalidUtf8(figures.errors->first.metric);
    os << file.dump(1, ' ', false, ordered::error_handler_t::replace) << '\n';
    return "";
  }
  if (format == CompareFormat::Csv) {
    os << (sums ? "level," + nameOf(by).str() + ",changed" : "id,name,a_became,b_became") << ",a_bytes,b_bytes"
       << (times ? ",a_ns,b_ns" : "") << (errors ? ",a_error,b_error" : "") << '\n';
    auto number = [](std::optional<double> error) { return error ? shortest(*error) : std::string(); };
    for (const Line &line : lines) {
      os << (sums ? line.level : *line.id) << ',' << csvText(line.name) << ',';
      if (sums)
        os << line.changed;
      else
        os << csvText(line.became[0]) << ',' << csvText(line.became[1]);
      os << ',' << line.bytes[0] << ',' << line.bytes[1];
      if (times)
        os << ',' << line.ns[0] << ',' << line.ns[1];
      if (errors)
        os << ',' << number(line.error[0]) << ',' << number(line.error[1]);
      os << '\n';
    }
    return "";
  }
  size_t named = lines.size();
  auto operators = [](size_t count) { return std::to_string(count) + " operators"; };
  lines.push_back(
      {{}, 0, "(synthetic)", {operators(a.synthetic), operators(b.synthetic)}, {a.syntheticBytes, b.syntheticBytes}});
  lines.push_back({{}, 0, "(total)", {operators(a.operators), operators(b.operators)}, {a.bytes, b.bytes}});
  if (times) {
    lines[named].ns = {figures.times->first.synthetic, figures.times->second.synthetic};
    lines[named + 1].ns = {figures.times->first.total, figures.times->second.total};
  }
  Cells head = {"A BYTES", "B BYTES"};
  if (times)
    head.insert(head.end(), {"A MS", "B MS"});
  if (errors)
    head.insert(head.end(), {"A ERROR", "B ERROR"});
  std::vector<size_t> right;
  for (size_t i = 0; i < head.size(); ++i)
    right.push_back(i);
  if (sums) {
    right.insert(right.end(), {head.size(), head.size() + 1});
    head.insert(head.end(), {"CHANGED", "LEVEL", nameOf(by).upper()});
  } else {
    head.insert(head.end(), {"SOURCE OPERATOR", "A", "B"});
  }
  size_t width = table.full ? ~size_t{0} : 40;
  printColumns(
      head, lines.size(),
      [&](size_t i) {
        const Line &line = lines[i];
        Cells cells = {std::to_string(line.bytes[0]), std::to_string(line.bytes[1])};
        if (times)
          cells.insert(cells.end(), {milliseconds(line.ns[0]), milliseconds(line.ns[1])});
        if (errors)
          cells.insert(cells.end(), {shown(line.error[0]), shown(line.error[1])});
        std::string name = i < named ? shortName(line.name, width) : line.name;
        if (sums) {
          cells.insert(cells.end(), {i < named ? std::to_string(line.changed) : "",
                                     i < named ? std::to_string(line.level) : "", name});
        } else {
          bool same = i < named && line.became[0] == line.became[1];
          cells.insert(cells.end(),
                       {(line.id ? std::to_string(*line.id) + " " : "") + name, shortName(line.became[0], width),
                        same ? "same" : shortName(line.became[1], width)});
        }
        return cells;
      },
      os, right);
  if (named < all)
    os << "and " << all - named << " more lines\n";
  return std::to_string(changed) + " of " + std::to_string(layers) + " source operators became something else";
}
