#include "quantize/Config.h"

#include "llvm/ADT/StringSet.h"

#include <nlohmann/json.hpp>

namespace origo::quantize {

using llvm::Error;
using nlohmann::json;

llvm::Expected<Scheme::Choice> oneChoice(llvm::StringRef type, llvm::StringRef granularity) {
  std::string wanted = type.lower(), by = granularity.lower();
  if (by != "layer" && by != "channel")
    return makeError("\"" + printable(granularity) + "\" is no granularity; give layer or channel");
  Scheme::Choice choice;
  choice.perChannel = by == "channel";
  if (wanted == "uint8") {
    choice.activations = choice.weights = TensorType::UINT8;
    choice.bias = TensorType::INT32;
  } else if (wanted == "int16") {
    if (!choice.perChannel)
      return makeError("int16 goes with the granularity channel only");
    choice.activations = choice.weights = TensorType::INT16;
    choice.bias = TensorType::INT64;
  } else if (wanted == "float32") {
    choice.quantize = false;
  } else {
    return makeError("\"" + printable(type) + "\" is no type to quantise to; give uint8 or int16");
  }
  return choice;
}

namespace {

Error readLayers(const json &layers, Parts &parts, Scheme &scheme) {
  if (!layers.is_array())
    return makeError("\"layers\" is no list");
  llvm::StringSet<> given;
  for (const json &layer : layers) {
    auto text = [&](const char *key) -> std::string {
      auto found = layer.is_object() ? layer.find(key) : layer.end();
      return layer.is_object() && found != layer.end() && found->is_string() ? found->get<std::string>() : "";
    };
    auto choice = oneChoice(text("dtype").empty() ? "?" : text("dtype"),
                            text("granularity").empty() ? "channel" : text("granularity"));
    if (!choice)
      return choice.takeError();
    choice->mode = scheme.common.mode;
    std::vector<std::string> list;
    if (!text("name").empty())
      list.push_back(text("name"));
    if (layer.contains("names"))
      for (const json &name : layer["names"])
        list.push_back(name.is_string() ? name.get<std::string>() : "");
    if (list.empty())
      return makeError("a layer has no \"name\" and no \"names\"");
    for (const std::string &name : list) {
      auto named = parts.named(name);
      if (!named)
        return makeError("layer \"" + printable(name) +
                         "\" is no result of an operator: " + llvm::toString(named.takeError()));
      if (!given.insert(name).second)
        return makeError("layer \"" + printable(name) + "\" is there twice");
      for (const Operator *op : *named) {
        if (!op->result())
          continue;
        auto known = scheme.operators.find(op);
        if (known == scheme.operators.end())
          scheme.choose(*op, *choice);
        else if (known->second.activations != choice->activations || known->second.perChannel != choice->perChannel)
          return makeError("layer \"" + printable(name) +
                           "\" and another result of its operator contradict each other");
      }
    }
  }
  return Error::success();
}

} // namespace

Error readConfig(llvm::StringRef text, const Model &model, Scheme &scheme, const SourceLayers &sources) {
  json root = json::parse(text.begin(), text.end(), nullptr, false);
  if (!root.is_object() || !root.contains("layers"))
    return makeError("is no config: an object in JSON with a list \"layers\"");
  Parts parts(model, sources);
  Scheme main = scheme;
  Error error = readLayers(root["layers"], parts, main);
  // A list may have substitutes, of which exactly one fits the graph.
  std::vector<Scheme> fitting;
  if (!error)
    fitting.push_back(std::move(main));
  if (auto alternates = root.find("alternate"); alternates != root.end() && alternates->is_object())
    for (const json &layers : *alternates) {
      Scheme other = scheme;
      if (Error wrong =
              readLayers(layers.is_object() && layers.contains("layers") ? layers["layers"] : layers, parts, other))
        llvm::consumeError(std::move(wrong));
      else
        fitting.push_back(std::move(other));
    }
  if (fitting.empty())
    return error;
  llvm::consumeError(std::move(error));
  if (fitting.size() > 1)
    return makeError("several of its lists of layers fit the model");
  scheme = std::move(fitting.front());
  return Error::success();
}

} // namespace origo::quantize
