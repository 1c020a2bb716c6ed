#include "quantize/Recipe.h"

#include "quantize/Blocks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

#include <nlohmann/json.hpp>

namespace origo::quantize {

using llvm::Error;
using llvm::StringRef;
using nlohmann::json;

namespace {

/// A field of an object; null where it is absent.
const json &field(const json &object, const char *key) {
  static const json nothing;
  auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : nothing;
}
std::string text(const json &object, const char *key, const char *otherwise = "") {
  const json &value = field(object, key);
  return value.is_string() ? value.get<std::string>() : otherwise;
}
int64_t number(const json &object, const char *key, int64_t otherwise) {
  const json &value = field(object, key);
  return value.is_number_integer() ? value.get<int64_t>() : otherwise;
}

/// What an expression comes to with its counted repetitions written out, as they are when it is compiled: nested ones
/// multiply. None: it looks back at what it found, which can take for ever.
std::optional<uint64_t> writtenOut(StringRef expression) {
  static constexpr uint64_t most = 1 << 30;
  struct Level {
    uint64_t total = 0, last = 0;
    void add(uint64_t size) { total = std::min(most, total + (last = std::min(most, size))); }
  };
  std::vector<Level> open(1);
  for (size_t i = 0; i < expression.size(); ++i) {
    char c = expression[i];
    if (c == '\\' && ++i < expression.size() && expression[i] >= '1' && expression[i] <= '9')
      return std::nullopt;
    if (c == '(') {
      open.emplace_back();
    } else if (c == ')' && open.size() > 1) {
      uint64_t inner = open.back().total;
      open.pop_back();
      open.back().add(inner + 2);
    } else if (c == '{') {
      auto [low, high] = expression.slice(i + 1, expression.find('}', i)).split(',');
      uint64_t times = 0, count = 0;
      for (StringRef text : {low, high})
        if (!text.getAsInteger(10, count))
          times = std::max(times, std::min(most, count));
      open.back().add(open.back().last * times);
    } else {
      open.back().add(1);
    }
  }
  uint64_t all = 0; // of groups that nothing closes, too
  for (const Level &level : open)
    all += level.total;
  return open.size() > 200 ? most : all;
}

/// One entry, read.
struct Entry {
  llvm::Regex regex;
  std::string operation;
  Scheme::Choice choice;
};

Error readWeights(const json &config, Scheme::Choice &choice) {
  int64_t bits = number(config, "num_bits", 8);
  if (bits != 8 && bits != 4)
    return makeError("weights of " + llvm::Twine(bits) + " bits are not supported; give 8 or 4");
  choice.weights = bits == 4 ? TensorType::INT4 : TensorType::INT8;
  std::string granularity = text(config, "granularity", "TENSORWISE");
  StringRef block = granularity;
  if (block.consume_front("BLOCKWISE_") && (block.getAsInteger(10, choice.blockSize) || !isBlockSize(choice.blockSize)))
    choice.blockSize = 0;
  if (granularity != "TENSORWISE" && granularity != "CHANNELWISE" && choice.blockSize == 0)
    return makeError("the granularity \"" + printable(granularity) +
                     "\" is not supported; give TENSORWISE, CHANNELWISE or BLOCKWISE_32, _64, _128 or _256");
  choice.perChannel = choice.perChannelDense = granularity == "CHANNELWISE";
  if (const json &symmetric = field(config, "symmetric"); symmetric.is_boolean() && !symmetric.get<bool>())
    return makeError("asymmetric weights are not supported");
  return Error::success();
}

Error readActivations(const json &config, Scheme::Choice &choice) {
  int64_t bits = number(config, "num_bits", 8);
  if (bits != 8 && bits != 16)
    return makeError("activations of " + llvm::Twine(bits) + " bits are not supported; give 8 or 16");
  const json &symmetric = field(config, "symmetric");
  if (symmetric.is_boolean() && symmetric.get<bool>() != (bits == 16))
    return makeError(bits == 16 ? "activations of 16 bits are symmetric" : "activations of 8 bits are asymmetric");
  choice.activations = bits == 16 ? TensorType::INT16 : TensorType::INT8;
  choice.bias = bits == 16 ? TensorType::INT64 : TensorType::INT32;
  return Error::success();
}

Error onlyDynamic() {
  return makeError("weights by blocks have 4 bits and are for activations that are floats, with the \"compute_precision\" INTEGER and "
                   "min_max_uniform_quantize");
}

Error readChoice(const json &entry, Scheme::Choice &choice) {
  std::string algorithm = text(entry, "algorithm_key", "min_max_uniform_quantize");
  const json &config = field(entry, "op_config");
  const json &weights = field(config, "weight_tensor_config"), &activations = field(config, "activation_tensor_config");
  std::string precision = text(config, "compute_precision", "FLOAT");
  if (algorithm == "no_quantize") {
    choice.quantize = false;
    choice.whyFloat = "the recipe says no_quantize";
    return Error::success();
  }
  if (algorithm == "float_casting") {
    if (number(weights, "num_bits", 16) != 16)
      return makeError("float_casting makes halves: \"num_bits\" is 16");
    choice.mode = Scheme::Mode::Float16;
    return Error::success();
  }
  choice.choosesRounding = algorithm == "GPTQ";
  if (!choice.choosesRounding && algorithm != "min_max_uniform_quantize")
    return makeError("the algorithm \"" + printable(algorithm) +
                     "\" is not here; there are min_max_uniform_quantize, GPTQ, float_casting and no_quantize");
  if (!weights.is_object())
    return makeError("there is no \"weight_tensor_config\"");
  if (Error error = readWeights(weights, choice))
    return error;
  choice.leastElements = static_cast<uint64_t>(std::max<int64_t>(0, number(config, "min_weight_elements", 0)));
  if (activations.is_object()) {
    if (choice.blockSize > 0)
      return onlyDynamic();
    choice.mode = Scheme::Mode::Full;
    return readActivations(activations, choice);
  }
  choice.mode = precision == "INTEGER" ? Scheme::Mode::Weights : Scheme::Mode::WidenedWeights;
  if (choice.blockSize > 0 && (choice.mode != Scheme::Mode::Weights || choice.weights != TensorType::INT4 || choice.choosesRounding))
    return onlyDynamic();
  return Error::success();
}

/// The name of a kind of operators in recipes, where that is another than the schema's.
StringRef recipeName(const Operator &op) {
  return op.code == BuiltinOperator::TRANSPOSE_CONV ? StringRef("CONV_2D_TRANSPOSE") : op.info()->name;
}

/// What the entry asks of the kind of operator; null: the operator cannot take it.
bool canTake(const Operator &op, const Scheme::Choice &choice) {
  bool alone = choice.mode == Scheme::Mode::Weights || choice.mode == Scheme::Mode::WidenedWeights ||
               choice.mode == Scheme::Mode::Float16;
  if (!choice.quantize)
    return true;
  if (choice.blockSize > 0 && op.code != BuiltinOperator::FULLY_CONNECTED)
    return false;
  return alone ? weightsAlone(op).has_value() : constraintOf(op.code) && constraintOf(op.code)->tflite != Scaling::Real;
}

} // namespace

Error readRecipe(StringRef source, const Model &model, Scheme &scheme) {
  json root = json::parse(source.begin(), source.end(), nullptr, false);
  if (!root.is_array())
    return makeError("is no recipe: a list in JSON");
  std::vector<Entry> entries;
  for (const auto &[i, item] : llvm::enumerate(root)) {
    auto wrong = [&, i = i](const llvm::Twine &why) { return makeError("entry " + llvm::Twine(i) + ": " + why); };
    std::string expression = text(item, "regex"), why;
    Entry entry{{}, text(item, "operation", "*"), {}};
    if (!item.is_object() || expression.empty())
      return wrong("there is no \"regex\"");
    auto size = writtenOut(expression);
    if (!size)
      return wrong("\"" + printable(expression) + "\" looks back at what it found (\\1), which is not supported");
    if (*size > 20000)
      return wrong("\"" + printable(StringRef(expression).take_front(100)) + "\" is too long with its repetitions written out");
    entry.regex = llvm::Regex(expression);
    if (!entry.regex.isValid(why))
      return wrong("\"" + printable(expression) + "\" is no expression: " + why);
    if (Error error = readChoice(item, entry.choice))
      return wrong(llvm::toString(std::move(error)));
    entries.push_back(std::move(entry));
  }
  scheme.common.quantize = false;
  scheme.common.whyFloat = "no entry of the recipe that it can take is about it";
  for (auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      if (!op.result() || !op.info())
        continue;
      for (const Entry &entry : llvm::reverse(entries)) {
        bool isKind = entry.operation == "*" || recipeName(op) == entry.operation;
        bool isNamed = llvm::any_of(op.results(), [&](const Value *v) { return v && entry.regex.match(v->name); });
        if (!isKind || !isNamed || !canTake(op, entry.choice))
          continue;
        scheme.layers[op.result()->name] = entry.choice;
        break;
      }
    }
  auto ends = [&](StringRef name, llvm::ArrayRef<Value *> values, llvm::SmallVectorImpl<TensorType> &types) {
    types.clear();
    for (const Value *value : values) {
      if (value->type != TensorType::FLOAT32)
        continue;
      types.push_back(TensorType::FLOAT32);
      for (const Entry &entry : llvm::reverse(entries)) {
        bool isAboutIt = (entry.operation == name || entry.operation == "*") && entry.regex.match(value->name);
        if (!isAboutIt || (entry.choice.quantize && entry.choice.mode != Scheme::Mode::Full))
          continue; // weights alone are nothing that an end could have
        if (entry.choice.quantize)
          types.back() = entry.choice.activations;
        break;
      }
    }
  };
  ends("INPUT", model.subgraphs.front()->inputs, scheme.inputs);
  ends("OUTPUT", model.subgraphs.front()->outputs, scheme.outputs);
  return Error::success();
}

} // namespace origo::quantize
