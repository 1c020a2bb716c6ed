#include "quantize/Statistics.h"

#include "ir/Model.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace origo::quantize {

using llvm::Error;
using nlohmann::json;

static constexpr int version = 1;

std::string Statistics::text() const {
  nlohmann::ordered_json root = {{"origo-statistics", version}, {"model", model}, {"engine", engine}, {"records", records}};
  root["tensors"] = json::array();
  for (const Tensor &tensor : tensors) {
    std::vector<json> min, max;
    for (const Extremes &row : tensor.rows) {
      // An infinity is no JSON, and no number that anything could be quantised by.
      bool told = !row.empty() && std::isfinite(row.min) && std::isfinite(row.max);
      min.push_back(told ? json(static_cast<double>(row.min)) : json());
      max.push_back(told ? json(static_cast<double>(row.max)) : json());
    }
    root["tensors"].push_back({{"subgraph", tensor.subgraph},
                               {"tensor", tensor.index},
                               {"name", tensor.name},
                               {"min", min},
                               {"max", max}});
  }
  return root.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
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
      tensor.rows.push_back(std::isfinite(low) && std::isfinite(high) && low <= high ? Extremes{low, high} : Extremes());
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
  if (engine != other.engine)
    return makeError("were made by another engine or processor (" + printable(other.engine) + ", not " +
                     printable(engine) + "): record all parts on one kind of machine");
  std::vector<uint64_t> all;
  std::merge(records.begin(), records.end(), other.records.begin(), other.records.end(), std::back_inserter(all));
  if (auto twice = std::adjacent_find(all.begin(), all.end()); twice != all.end())
    return makeError("has record " + llvm::Twine(*twice) + ", which another part has too");
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
  }
  records = std::move(all);
  return Error::success();
}

static float percentile(std::vector<float> numbers, double percent) {
  llvm::sort(numbers);
  double at = static_cast<double>(numbers.size() - 1) * percent / 100;
  size_t i = std::min(static_cast<size_t>(at), numbers.size() - 1);
  if (i + 1 == numbers.size())
    return numbers.back();
  double part = at - static_cast<double>(i);
  return static_cast<float>(numbers[i] + part * (static_cast<double>(numbers[i + 1]) - numbers[i]));
}

Extremes summarise(const Statistics::Tensor &tensor, const Summary &summary) {
  if (summary.mode == Summary::Mode::Percentile) {
    std::vector<float> min, max;
    for (const Extremes &row : tensor.rows)
      if (!row.empty()) {
        min.push_back(row.min);
        max.push_back(row.max);
      }
    return min.empty() ? Extremes() : Extremes{percentile(min, summary.low), percentile(max, summary.high)};
  }
  Extremes average;
  float c = summary.constant;
  for (size_t first = 0; first < tensor.rows.size(); first += summary.batch) {
    Extremes batch;
    for (const Extremes &row : llvm::ArrayRef(tensor.rows).slice(first, std::min(summary.batch, tensor.rows.size() - first)))
      batch.join(row);
    if (batch.empty())
      continue;
    average = average.empty()
                  ? batch
                  : Extremes{(1 - c) * average.min + c * batch.min, (1 - c) * average.max + c * batch.max};
  }
  return average;
}

Error setRanges(Model &model, const Statistics &statistics, const Summary &summary, std::vector<std::string> &silent) {
  model.number();
  for (const Statistics::Tensor &tensor : statistics.tensors) {
    Value *value = tensor.subgraph < model.subgraphs.size() &&
                           tensor.index < model.subgraphs[tensor.subgraph]->values.size()
                       ? model.subgraphs[tensor.subgraph]->values[tensor.index]
                       : nullptr;
    if (!value || value->type != TensorType::FLOAT32 || value->name != tensor.name)
      return makeError("the statistics are of another model: it has no float tensor " + llvm::Twine(tensor.index) +
                       " \"" + printable(tensor.name) + "\"");
    Extremes range = summarise(tensor, summary);
    if (range.empty()) {
      silent.push_back(tensor.name);
      continue;
    }
    Quantization quantization = value->quantization ? *value->quantization : Quantization();
    quantization.min = model.copy(llvm::ArrayRef(range.min));
    quantization.max = model.copy(llvm::ArrayRef(range.max));
    model.setQuantization(*value, quantization);
  }
  return Error::success();
}

} // namespace origo::quantize
