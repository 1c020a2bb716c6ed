#include "quantize/Statistics.h"

#include "eval/Parts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace origo::quantize {

using llvm::Error;
using nlohmann::json;

static constexpr int version = 2;

/// Written as it goes: a tree of all numbers would take several times the memory of the numbers.
class Writer {
public:
  std::string out;
  template <class T> void list(const char *name, size_t count, llvm::function_ref<std::optional<T>(size_t)> element) {
    out += std::string("\"") + name + "\":[";
    for (size_t i = 0; i < count; ++i) {
      std::optional<T> one = element(i);
      char digits[32];
      out += i == 0 ? "" : ",";
      if (one)
        out.append(digits, std::to_chars(digits, std::end(digits), *one).ptr);
      else
        out += "null";
    }
    out += "]";
  }
  void text(const char *name, const std::string &text) {
    out += json(name).dump() + ":" + json(text).dump(-1, ' ', true, json::error_handler_t::replace);
  }
};

std::string Statistics::text() const {
  Writer write;
  write.out = "{\"origo-statistics\":" + std::to_string(version) + ",";
  write.text("model", model);
  write.out += ",";
  write.text("engine", engine);
  write.out += std::string(",\"histograms\":") + (histograms ? "true" : "false") + ",";
  write.list<uint64_t>("records", records.size(), [&](size_t i) { return records[i]; });
  write.out += ",\"tensors\":[";
  for (const Tensor &tensor : tensors) {
    write.out += (&tensor == &tensors.front() ? "\n{\"subgraph\":" : ",\n{\"subgraph\":") +
                 std::to_string(tensor.subgraph) + ",\"tensor\":" + std::to_string(tensor.index) + ",";
    write.text("name", tensor.name);
    auto told = [&](size_t i, float Extremes::*end) -> std::optional<double> {
      const Extremes &row = tensor.rows[i];
      if (row.empty())
        return std::nullopt;
      return row.*end;
    };
    write.out += ",";
    write.list<double>("min", tensor.rows.size(), [&](size_t i) { return told(i, &Extremes::min); });
    write.out += ",";
    write.list<double>("max", tensor.rows.size(), [&](size_t i) { return told(i, &Extremes::max); });
    if (histograms) {
      // Cells that have something, each before its count.
      std::vector<uint64_t> filled;
      for (unsigned cell = 0; cell < Histogram::cells; ++cell)
        if (uint64_t count = tensor.histogram[cell])
          filled.insert(filled.end(), {cell, count});
      write.out += ",";
      write.list<uint64_t>("cells", filled.size(), [&](size_t i) { return filled[i]; });
    }
    write.out += "}";
  }
  return write.out + "\n]}\n";
}

namespace {

/// Reads what may hold anything. The first thing that is not as it should be is remembered, and the rest reads as zero.
struct Reader {
  const char *wrong = nullptr;

  const json &field(const json &object, const char *name) {
    static const json none;
    auto found = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && found != object.end() ? *found : none;
  }
  template <class T> T number(const json &value, const char *what) {
    if (value.is_number_unsigned() && value.get<uint64_t>() <= std::numeric_limits<T>::max())
      return static_cast<T>(value.get<uint64_t>());
    wrong = what;
    return 0;
  }
  std::string text(const json &value, const char *what) {
    if (value.is_string())
      return value.get<std::string>();
    wrong = what;
    return {};
  }
  std::vector<float> floats(const json &value, size_t count, const char *what) {
    std::vector<float> list;
    for (const json &one : value)
      list.push_back(one.is_number() ? static_cast<float>(one.get<double>()) : NAN);
    if (!value.is_array() || list.size() != count)
      wrong = what;
    list.resize(count);
    return list;
  }
};

void readCells(Reader &read, const json &cells, Histogram &histogram) {
  uint64_t last = 0;
  bool even = cells.is_array() && cells.size() % 2 == 0;
  for (size_t i = 0; even && i < cells.size(); i += 2) {
    auto cell = read.number<uint64_t>(cells[i], "a cell has no number");
    auto count = read.number<uint64_t>(cells[i + 1], "a cell has no count");
    if (cell >= Histogram::cells || (i > 0 && cell <= last) || count == 0)
      even = false;
    else
      histogram.add(static_cast<unsigned>(cell), count);
    last = cell;
  }
  if (!even)
    read.wrong = "a tensor's cells are not pairs of cell and count";
}

bool before(const Statistics::Tensor &a, const Statistics::Tensor &b) {
  return std::pair(a.subgraph, a.index) < std::pair(b.subgraph, b.index);
}

} // namespace

llvm::Expected<Statistics> Statistics::parse(llvm::StringRef text) {
  auto root = json::parse(text.begin(), text.end(), nullptr, false);
  Reader read;
  if (root.is_discarded() || read.field(root, "origo-statistics") != version)
    return makeError("is no file of statistics that record-minmax --stats of this version writes");
  Statistics statistics;
  statistics.model = read.text(read.field(root, "model"), "model is no text");
  statistics.engine = read.text(read.field(root, "engine"), "engine is no text");
  const json &histograms = read.field(root, "histograms");
  statistics.histograms = histograms.is_boolean() && histograms.get<bool>();
  if (!histograms.is_boolean())
    read.wrong = "histograms is neither true nor false";
  for (const json &record : read.field(root, "records"))
    statistics.records.push_back(read.number<uint64_t>(record, "a record has no number"));
  const auto &records = statistics.records;
  if (std::adjacent_find(records.begin(), records.end(), std::greater_equal<>()) != records.end())
    read.wrong = "its records do not ascend";
  for (const json &row : read.field(root, "tensors")) {
    Tensor &tensor = statistics.tensors.emplace_back();
    tensor.subgraph = read.number<uint32_t>(read.field(row, "subgraph"), "a tensor has no subgraph");
    tensor.index = read.number<uint32_t>(read.field(row, "tensor"), "a tensor has no index");
    tensor.name = read.text(read.field(row, "name"), "a tensor has no name");
    auto min = read.floats(read.field(row, "min"), records.size(), "a tensor has not one minimum a record");
    auto max = read.floats(read.field(row, "max"), records.size(), "a tensor has not one maximum a record");
    for (auto [low, high] : llvm::zip_equal(min, max))
      tensor.rows.push_back(std::isfinite(low) && std::isfinite(high) && low <= high ? Extremes{low, high}
                                                                                     : Extremes());
    if (statistics.histograms)
      readCells(read, read.field(row, "cells"), tensor.histogram);
    if (statistics.tensors.size() > 1 && !before(statistics.tensors[statistics.tensors.size() - 2], tensor))
      read.wrong = "its tensors do not ascend";
    if (read.wrong)
      break;
  }
  if (read.wrong)
    return makeError(llvm::Twine("is a damaged file of statistics: ") + read.wrong);
  return statistics;
}

Error Statistics::merge(const Statistics &other) {
  if (model != other.model)
    return makeError("are statistics of another model");
  if (Error error = eval::checkSameEngine(engine, other.engine))
    return error;
  if (histograms != other.histograms)
    return makeError("are statistics " + llvm::Twine(histograms ? "without" : "with") + " histograms, the others are " +
                     (histograms ? "with" : "without") + " them");
  std::vector<uint64_t> all = records;
  if (Error error = eval::addRecords(all, other.records))
    return error;
  bool same = llvm::equal(tensors, other.tensors, [](const Tensor &a, const Tensor &b) {
    return a.subgraph == b.subgraph && a.index == b.index && a.name == b.name;
  });
  if (!same)
    return makeError("has other tensors");
  for (auto [mine, its] : llvm::zip_equal(tensors, other.tensors)) {
    std::vector<Extremes> rows;
    for (size_t i = 0, j = 0; i < records.size() || j < other.records.size();)
      rows.push_back(j == other.records.size() || (i < records.size() && records[i] < other.records[j])
                         ? mine.rows[i++]
                         : its.rows[j++]);
    mine.rows = std::move(rows);
    mine.histogram.add(its.histogram);
  }
  records = std::move(all);
  return Error::success();
}

} // namespace origo::quantize
