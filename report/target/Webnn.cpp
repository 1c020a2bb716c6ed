#include "report/target/Json.h"

#include "llvm/ADT/STLExtras.h"

#include <nlohmann/json.hpp>

/// Limits that a browser tells with MLContext.opSupportLimits(), as a target description.
namespace origo::report {

using Json = nlohmann::ordered_json;
using llvm::Expected;
using llvm::StringRef;

namespace {

/// An operator of WebNN, one that does the same in circle, and its operands by WebNN's names in the order of circle's
/// row ("-": WebNN has an attribute in its place, so that it has to be constant; "?": it may be anything), then
/// results.
struct Row {
  StringRef webnn, circle, operands, results = "output";
  bool boolOperands = false, boolResults = false; ///< WebNN's uint8 is circle's bool
};

constexpr Row rows[] = {
    {"abs", "ABS", "input"},
    {"add", "ADD", "a b"},
    {"argMax", "ARG_MAX", "input -"},
    {"argMin", "ARG_MIN", "input -"},
    {"averagePool2d", "AVERAGE_POOL_2D", "input"},
    {"cast", "CAST", "input"},
    {"ceil", "CEIL", "input"},
    {"clamp", "RELU6", "input"},
    {"clamp", "RELU_0_TO_1", "input"},
    {"clamp", "RELU_N1_TO_1", "input"},
    {"concat", "CONCATENATION", "inputs"},
    {"conv2d", "CONV_2D", "input filter bias"},
    {"conv2d", "DEPTHWISE_CONV_2D", "input filter bias"},
    {"convTranspose2d", "TRANSPOSE_CONV", "- filter input bias"},
    {"cos", "COS", "input"},
    {"cumulativeSum", "CUMSUM", "input -"},
    {"dequantizeLinear", "DEQUANTIZE", "input"},
    {"div", "DIV", "a b"},
    {"elu", "ELU", "input"},
    {"equal", "EQUAL", "a b", "output", false, true},
    {"exp", "EXP", "input"},
    {"expand", "BROADCAST_TO", "input -"},
    {"floor", "FLOOR", "input"},
    {"gather", "GATHER", "input indices"},
    {"gatherND", "GATHER_ND", "input indices"},
    {"gelu", "GELU", "input"},
    {"gemm", "FULLY_CONNECTED", "a b c"},
    {"greater", "GREATER", "a b", "output", false, true},
    {"greaterOrEqual", "GREATER_EQUAL", "a b", "output", false, true},
    {"hardSwish", "HARD_SWISH", "input"},
    {"instanceNormalization", "INSTANCE_NORM", "input scale bias"},
    {"l2Pool2d", "L2_POOL_2D", "input"},
    {"leakyRelu", "LEAKY_RELU", "input"},
    {"lesser", "LESS", "a b", "output", false, true},
    {"lesserOrEqual", "LESS_EQUAL", "a b", "output", false, true},
    {"log", "LOG", "input"},
    {"logicalAnd", "LOGICAL_AND", "a b", "output", true, true},
    {"logicalNot", "LOGICAL_NOT", "a", "output", true, true},
    {"logicalOr", "LOGICAL_OR", "a b", "output", true, true},
    {"matmul", "BATCH_MATMUL", "a b"},
    {"max", "MAXIMUM", "a b"},
    {"maxPool2d", "MAX_POOL_2D", "input"},
    {"min", "MINIMUM", "a b"},
    {"mul", "MUL", "a b"},
    {"neg", "NEG", "input"},
    {"notEqual", "NOT_EQUAL", "a b", "output", false, true},
    {"pad", "MIRROR_PAD", "input -"},
    {"pad", "PAD", "input -"},
    {"pad", "PADV2", "input - -"},
    {"pow", "POW", "a b"},
    {"prelu", "PRELU", "input slope"},
    {"quantizeLinear", "QUANTIZE", "input"},
    {"reduceMax", "REDUCE_MAX", "input -"},
    {"reduceMean", "MEAN", "input -"},
    {"reduceMin", "REDUCE_MIN", "input -"},
    {"reduceProduct", "REDUCE_PROD", "input -"},
    {"reduceSum", "SUM", "input -"},
    {"relu", "RELU", "input"},
    {"resample2d", "RESIZE_BILINEAR", "input -"},
    {"resample2d", "RESIZE_NEAREST_NEIGHBOR", "input -"},
    {"reshape", "EXPAND_DIMS", "input -"},
    {"reshape", "RESHAPE", "input -"},
    {"reshape", "SQUEEZE", "input"},
    {"reverse", "REVERSE_V2", "input -"},
    {"roundEven", "ROUND", "input"},
    {"scatterND", "SCATTER_ND", "indices updates -"},
    {"sigmoid", "LOGISTIC", "input"},
    {"sign", "SIGN", "input"},
    {"sin", "SIN", "input"},
    {"slice", "SLICE", "input - -"},
    {"slice", "STRIDED_SLICE", "input - - -"},
    {"softmax", "SOFTMAX", "input"},
    {"split", "SPLIT", "- input", "outputs"},
    {"split", "SPLIT_V", "input - -", "outputs"},
    {"sqrt", "SQRT", "input"},
    {"sub", "SUB", "a b"},
    {"tanh", "TANH", "input"},
    {"tile", "TILE", "input -"},
    {"transpose", "TRANSPOSE", "input -"},
    {"where", "SELECT", "condition trueValue falseValue", "output", true, false},
    {"where", "SELECT_V2", "condition trueValue falseValue", "output", true, false},
};

const char *const reserved[] = {"input", "constant", "output", "preferredInputLayout", "maxTensorByteLength"};

std::optional<unsigned> position(StringRef names, StringRef name) {
  for (unsigned i = 0; !names.empty(); ++i) {
    auto [first, rest] = names.split(' ');
    if (first == name)
      return i;
    names = rest;
  }
  return std::nullopt;
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
  const OperatorInfo &info = *operatorInfo(row.circle);
  Json json = Json::object();
  StringRef names = row.operands;
  for (unsigned i = 0; !names.empty(); ++i) {
    auto [name, rest] = names.split(' ');
    names = rest;
    Json &slot = json[slotName(&info, {false, i}).str()];
    if (name == "-")
      slot = {{"constant", true}};
    else if (limits.contains(name.str()))
      slot = row.boolOperands && i == 0 ? withBool(limits[name.str()]) : limits[name.str()];
    if (slot.is_null())
      json.erase(slotName(&info, {false, i}).str());
    else if (i < info.operands.size() && info.operands[i].optional && slot.is_object())
      slot["optional"] = true;
  }
  if (std::string name = row.results.str(); limits.contains(name))
    json[slotName(&info, {true, 0}).str()] = row.boolResults ? withBool(limits[name]) : limits[name];
  if (info.has(Trait::FusedActivation))
    json["attributes"]["fused_activation_function"] = activations(dump);
  return json;
}

} // namespace

std::optional<Slot> webnnSlot(const OperatorInfo &info, StringRef name) {
  for (const Row &row : rows)
    if (row.circle == info.name && name != "-") {
      if (auto operand = position(row.operands, name))
        return Slot{false, *operand};
      if (auto result = position(row.results, name))
        return Slot{true, *result};
    }
  return std::nullopt;
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
        ops[row.circle.str()] = convert(row, limits, dump);
        known = &row;
      }
    if (!known)
      notes.push_back("WebNN's " + printable(key) + " has no counterpart among the operators of circle");
    else
      for (auto &[name, limit] : limits.items())
        if (!position(known->operands, name) && !position(known->results, name))
          notes.push_back("WebNN's " + printable(key) + " has no " + printable(name) + " in circle");
  }
  target["ops"] = std::move(ops);
  return readTarget(target.dump(-1, ' ', false, Json::error_handler_t::replace));
}

} // namespace origo::report
