#include "report/target/Json.h"

#include "schema/OperatorFacts.h"

#include "llvm/ADT/STLExtras.h"

#include <nlohmann/json.hpp>

/// Limits that a browser tells with MLContext.opSupportLimits(), as a target description.
namespace origo::report {

using Json = nlohmann::ordered_json;
using llvm::Expected;
using llvm::StringRef;

namespace {

/// The column of an operator's row (schema/OperatorFacts.h), taken apart.
struct Row {
  explicit Row(const OperatorInfo &info) : info(&info) {
    auto [left, right] = StringRef(factsOf(info.code).webnn).split(" -> ");
    std::tie(webnn, left) = left.split(' ');
    left.split(operands, ' ', -1, false);
    results = right.empty() ? "output" : right;
  }
  const OperatorInfo *info;
  StringRef webnn, results;
  llvm::SmallVector<StringRef, 4> operands;
};

/// By WebNN's names.
std::vector<Row> allRows() {
  std::vector<Row> rows;
  for (const OperatorInfo &info : allOperators())
    if (*factsOf(info.code).webnn)
      rows.emplace_back(info);
  llvm::sort(rows, [](const Row &a, const Row &b) {
    return std::tie(a.webnn, a.info->name) < std::tie(b.webnn, b.info->name);
  });
  return rows;
}

const char *const reserved[] = {"input", "constant", "output", "preferredInputLayout", "maxTensorByteLength"};

std::optional<Slot> slotOf(const Row &row, StringRef name) {
  for (auto [i, operand] : llvm::enumerate(row.operands))
    if (operand != "-" && operand.rtrim('!') == name)
      return Slot{false, static_cast<unsigned>(i)};
  return row.results.rtrim('!') == name ? std::optional(Slot{true, 0}) : std::nullopt;
}

/// WebNN has bool as uint8. Both are taken where the operator's meaning is logical.
Json withBool(Json limits) {
  if (!limits.is_object() || !limits.contains("dataTypes") || !limits["dataTypes"].is_array())
    return limits;
  Json &types = limits["dataTypes"]; // whose contains() is about keys
  if (std::find(types.begin(), types.end(), "uint8") != types.end())
    types.push_back("bool");
  return limits;
}

/// WebNN has no fused activations: one can be taken where its own operator can.
Json activations(const Json &dump) {
  Json names = Json::array({"NONE"});
  for (auto [webnn, activation] : {std::pair("relu", "RELU"), std::pair("clamp", "RELU6"),
                                   std::pair("clamp", "RELU_N1_TO_1"), std::pair("tanh", "TANH")})
    if (dump.contains(webnn))
      names.push_back(activation);
  return {{"in", names}};
}

Json convert(const Row &row, const Json &limits, const Json &dump) {
  const OperatorInfo &info = *row.info;
  Json json = Json::object();
  auto limitOf = [&](StringRef name) {
    Json limit = limits.value(name.rtrim('!').str(), Json());
    return name.ends_with("!") ? withBool(limit) : limit;
  };
  for (auto [i, name] : llvm::enumerate(row.operands)) {
    std::string slot = slotName(&info, {false, static_cast<unsigned>(i)}).str();
    Json limit = name == "-" ? Json{{"constant", true}} : limitOf(name);
    if (limit.is_object() && i < info.operands.size() && info.operands[i].optional)
      limit["optional"] = true;
    if (!limit.is_null())
      json[slot] = limit;
  }
  if (limits.contains(row.results.rtrim('!').str()))
    json[slotName(&info, {true, 0}).str()] = limitOf(row.results);
  if (info.has(Trait::FusedActivation))
    json["attributes"]["fused_activation_function"] = activations(dump);
  return json;
}

} // namespace

std::optional<Slot> webnnSlot(const OperatorInfo &info, StringRef name) {
  return *factsOf(info.code).webnn ? slotOf(Row(info), name) : std::nullopt;
}

Expected<Target> readWebnn(StringRef text, std::vector<std::string> &notes) {
  Json dump = Json::parse(text.begin(), text.end(), nullptr, false);
  if (dump.is_discarded())
    return makeError("is not JSON");
  if (!dump.is_object())
    return makeError("is no dump of opSupportLimits(): it is not an object");
  if (dump.contains("ops"))
    return makeError("is no dump of opSupportLimits(), whose operators are members of the whole: it has \"ops\"; "
                     "is it a target description already?");
  Json target = {{"target", "webnn"}, {"schema_version", 1}};
  Json ops = Json::object();
  const std::vector<Row> rows = allRows();
  for (auto &[key, limits] : dump.items()) {
    if (llvm::is_contained(reserved, key)) {
      target[key] = limits;
      continue;
    }
    if (!limits.is_object())
      return makeError(printable(key) + ": is not an object");
    const Row *known = nullptr;
    for (const Row &row : rows)
      if (row.webnn == key) {
        ops[row.info->name.str()] = convert(row, limits, dump);
        known = &row;
      }
    if (!known)
      notes.push_back("WebNN's " + printable(key) + " has no counterpart among the operators of circle");
    else
      for (auto &[name, limit] : limits.items())
        if (!slotOf(*known, name))
          notes.push_back("WebNN's " + printable(key) + " has no " + printable(name) + " in circle");
  }
  target["ops"] = std::move(ops);
  return readTarget(target.dump(-1, ' ', false, Json::error_handler_t::replace));
}

} // namespace origo::report
