#include "view/Files.h"

#include "ir/Error.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace origo::view {

using Json = nlohmann::ordered_json;
using llvm::StringRef;

namespace {

bool isNumber(const Json &value, uint64_t below) { return value.is_number_unsigned() && value.get<uint64_t>() < below; }
bool areNumbers(const Json &list, uint64_t below) {
  return list.is_array() && llvm::all_of(list, [&](const Json &item) { return isNumber(item, below); });
}
constexpr uint64_t anyNumber = uint64_t(1) << 31;

/// [number, pass, rule, subgraph, [removed…], [[kind, [operands…], [results…], [from…]?]…], [replaced, by, …]?]
bool isRow(const Json &row, size_t names, uint64_t &operators) {
  if (!row.is_array() || row.size() < 6 || row.size() > 7 || !isNumber(row[0], anyNumber) || !isNumber(row[1], names) ||
      !isNumber(row[2], names) || !isNumber(row[3], anyNumber) || !areNumbers(row[4], operators) || !row[5].is_array())
    return false;
  for (const Json &made : row[5])
    if (!made.is_array() || made.size() < 3 || made.size() > 4 || !isNumber(made[0], names) ||
        !areNumbers(made[1], anyNumber) || !areNumbers(made[2], anyNumber) ||
        (made.size() > 3 && !areNumbers(made[3], row[4].size())))
      return false;
  operators += row[5].size();
  return row.size() < 7 || (areNumbers(row[6], anyNumber) && row[6].size() % 2 == 0);
}

/// [[first, count, …], [attempts…]]; `stayed`: how many operators the file may still say this of.
bool isStayed(const Json &row, uint64_t operators, uint64_t attempts, uint64_t &stayed) {
  if (!row.is_array() || row.size() != 2 || !areNumbers(row[0], operators + 1) || row[0].size() % 2 ||
      !areNumbers(row[1], attempts))
    return false;
  for (size_t at = 0; at < row[0].size(); at += 2) {
    uint64_t first = row[0][at].get<uint64_t>(), count = row[0][at + 1].get<uint64_t>();
    if (first + count > operators || count > stayed)
      return false;
    stayed -= count;
  }
  return true;
}

bool isFinal(const Json &lists, llvm::ArrayRef<size_t> resultOperators, uint64_t operators) {
  if (!lists.is_array() || lists.size() != resultOperators.size())
    return false;
  for (size_t i = 0; i < lists.size(); ++i) {
    if (!areNumbers(lists[i], operators + 1) || lists[i].size() % 2)
      return false;
    uint64_t count = 0;
    for (size_t at = 0; at < lists[i].size(); at += 2) {
      if (lists[i][at].get<uint64_t>() + lists[i][at + 1].get<uint64_t>() > operators)
        return false;
      count += lists[i][at + 1].get<uint64_t>();
    }
    if (count != resultOperators[i])
      return false;
  }
  return true;
}

} // namespace

llvm::Expected<std::string> readHistory(StringRef text, size_t sourceOperators, size_t sourceTensors,
                                        llvm::ArrayRef<size_t> resultOperators) {
  std::string names, rows, attempts, stayed, last;
  size_t nameCount = 0, attemptCount = 0, line = 0;
  uint64_t operators = sourceOperators, mayStay = sourceOperators;
  auto wrong = [&](const char *what) { return makeError("line " + llvm::Twine(line) + " " + what); };
  while (!text.empty()) {
    auto [first, rest] = text.split('\n');
    text = rest;
    ++line;
    Json value = Json::parse(first.begin(), first.end(), nullptr, false);
    auto dump = [&](const Json &json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
    auto add = [&](std::string &to, const Json &json) { to += (to.empty() ? "" : ",\n") + dump(json); };
    if (line == 1) {
      if (!value.is_object() || value.value("format", Json()) != "origo.history" || value.value("version", Json()) != 1)
        return makeError("is no history: circle2circle --history writes them");
      if (value.value("operators", Json()) != sourceOperators || value.value("tensors", Json()) != sourceTensors)
        return makeError("is the history of another model: the source has " + llvm::Twine(sourceOperators) +
                         " operators and " + llvm::Twine(sourceTensors) + " tensors");
    } else if (!last.empty()) {
      return wrong("is behind the end");
    } else if (value.is_string()) {
      add(names, value);
      ++nameCount;
    } else if (value.is_array()) {
      if (!isRow(value, nameCount, operators))
        return wrong("is no rewrite");
      add(rows, value);
      if (stayed.empty())
        mayStay = operators;
    } else if (value.is_object() && value.contains("attempt")) {
      if (!areNumbers(value["attempt"], nameCount) || value["attempt"].size() != 3)
        return wrong("is no attempt");
      add(attempts, value["attempt"]);
      ++attemptCount;
    } else if (value.is_object() && value.contains("stayed")) {
      if (!isStayed(value["stayed"], operators, attemptCount, mayStay))
        return wrong("is not about operators that stayed");
      add(stayed, value["stayed"]);
    } else if (value.is_object() && value.contains("final")) {
      if (!isFinal(value["final"], resultOperators, operators))
        return makeError("is the history of another model: it does not end with the operators of this one");
      last = dump(value["final"]);
    } else {
      return wrong("is neither a name nor a rewrite, nor why something stayed");
    }
  }
  if (last.empty())
    return makeError("is cut off: the last line is missing");
  return "{\"names\":[" + names + "],\n\"rows\":[" + rows + "],\n\"attempts\":[" + attempts + "],\n\"stayed\":[" +
         stayed + "],\n\"final\":" + last + "}";
}

namespace {

/// Which tensors of a source errors are of: of ONNX, visq numbers what nodes were read as, so that names tell.
class TensorNames {
public:
  explicit TensorNames(const origin::Listing &listing) : listing(listing) {
    if (listing.format == "onnx")
      for (const origin::SourceSubgraph &graph : listing.subgraphs)
        for (size_t i = 0; i < graph.tensors.size(); ++i)
          if (auto [at, isNew] = ids.try_emplace(graph.tensors[i].name, graph.firstTensor + uint32_t(i)); !isNew)
            at->second = std::nullopt;
  }
  std::optional<uint32_t> find(int64_t graph, int64_t tensor, StringRef name) const {
    if (listing.format == "onnx")
      return ids.lookup(name);
    if (tensor < 0 || graph >= int64_t(listing.subgraphs.size()) ||
        tensor >= int64_t(listing.subgraphs[graph].tensors.size()))
      return std::nullopt;
    return listing.subgraphs[graph].firstTensor + uint32_t(tensor);
  }

private:
  const origin::Listing &listing;
  llvm::StringMap<std::optional<uint32_t>> ids;
};

} // namespace

llvm::Expected<std::vector<TensorError>> readErrors(StringRef text, const origin::Listing &listing) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object() || !json.contains("errors") || !json["errors"].is_array())
    return makeError("has no list \"errors\": visq --json writes one");
  std::vector<TensorError> result;
  std::string metric = "of --metric";
  if (json.contains("meta") && json["meta"].is_object() && json["meta"].contains("metric") &&
      json["meta"]["metric"].is_string())
    metric = json["meta"]["metric"].get<std::string>();
  TensorNames names(listing);
  for (const Json &row : json["errors"]) {
    if (!row.is_object())
      continue;
    auto number = [&](const char *key) {
      return row.contains(key) && isNumber(row[key], anyNumber) ? int64_t(row[key].get<uint64_t>()) : -1;
    };
    bool isNamed = row.contains("name") && row["name"].is_string();
    auto id = names.find(std::max<int64_t>(number("subgraph"), 0), number("tensor"),
                         isNamed ? row["name"].get<std::string>() : std::string());
    if (!id)
      continue;
    TensorError error{*id, {}};
    auto add = [&](const std::string &name, const Json &value) {
      if (value.is_number() && std::isfinite(value.get<double>()))
        error.figures.emplace_back(name, value.get<double>());
    };
    if (row.contains("metrics") && row["metrics"].is_object())
      for (auto &[name, value] : row["metrics"].items())
        add(name, value);
    for (const char *key : {"own", "inherited"})
      if (row.contains(key))
        add(std::string(key) + " " + metric, row[key]);
    if (row.contains("effect"))
      add("effect on outputs", row["effect"]);
    if (!error.figures.empty())
      result.push_back(std::move(error));
  }
  return result;
}

} // namespace origo::view
