#include "quantize/Recipe.h"

#include "quantize/Blocks.h"
#include "quantize/Expression.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

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

/// One entry, read.
struct Entry {
  std::optional<Expression> expression; ///< none: `layers` are meant
  llvm::DenseSet<const Operator *> layers;
  std::string text; ///< the expression, or the words for the layers
  std::vector<std::string> operations;
  Scheme::Choice choice;
  bool isFound = false, isFoundInKind = false; ///< in the name of a layer, of one of the operation
};

Error readWeights(const json &config, Scheme::Choice &choice) {
  int64_t bits = number(config, "num_bits", 8);
  if (bits != 8 && bits != 4)
    return makeError("weights of " + llvm::Twine(bits) + " bits are not supported; give 8 or 4");
  choice.weights = bits == 4 ? TensorType::INT4 : TensorType::INT8;
  const json &byChannel = field(config, "channel_wise"); // what older recipes have
  std::string granularity =
      text(config, "granularity", byChannel.is_boolean() && byChannel.get<bool>() ? "CHANNELWISE" : "TENSORWISE");
  StringRef block = granularity;
  if (block.consume_front("BLOCKWISE_") && (block.getAsInteger(10, choice.blockSize) || !isBlockSize(choice.blockSize)))
    choice.blockSize = 0;
  if (granularity != "TENSORWISE" && granularity != "CHANNELWISE" && choice.blockSize == 0)
    return makeError("the granularity \"" + printable(granularity) +
                     "\" is not supported; give TENSORWISE, CHANNELWISE or BLOCKWISE_32, _64, _128 or _256");
  choice.perChannel = choice.perChannelDense = granularity == "CHANNELWISE";
  const json &symmetric = field(config, "symmetric");
  choice.asymmetricWeights = symmetric.is_boolean() && !symmetric.get<bool>();
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
  return makeError("weights by blocks have 4 bits and are for activations that are floats, with the "
                   "\"compute_precision\" INTEGER and "
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
  choice.clip = algorithm == "MSE" ? WeightClip::Mse : algorithm == "OCTAV" ? WeightClip::Octav : WeightClip::None;
  if (!choice.choosesRounding && choice.clip == WeightClip::None && algorithm != "min_max_uniform_quantize")
    return makeError("the algorithm \"" + printable(algorithm) +
                     "\" is not here; there are min_max_uniform_quantize, MSE, OCTAV, GPTQ, float_casting and "
                     "no_quantize");
  if (!weights.is_object())
    return makeError("there is no \"weight_tensor_config\"");
  if (Error error = readWeights(weights, choice))
    return error;
  bool isWidened = !activations.is_object() && precision != "INTEGER";
  if (choice.asymmetricWeights && (!isWidened || choice.choosesRounding || choice.clip != WeightClip::None))
    return makeError(
        "asymmetric weights are for those that are widened in the graph, without \"activation_tensor_config\", "
        "with the \"compute_precision\" FLOAT and min_max_uniform_quantize: kernels compute with none");
  choice.leastElements = static_cast<uint64_t>(std::max<int64_t>(0, number(config, "min_weight_elements", 0)));
  if (activations.is_object()) {
    if (choice.blockSize > 0)
      return onlyDynamic();
    choice.mode = Scheme::Mode::Full;
    return readActivations(activations, choice);
  }
  choice.mode = precision == "INTEGER" ? Scheme::Mode::Weights : Scheme::Mode::WidenedWeights;
  if (choice.blockSize > 0 &&
      (choice.mode != Scheme::Mode::Weights || choice.weights != TensorType::INT4 || choice.choosesRounding))
    return onlyDynamic();
  return Error::success();
}

/// The name of a kind of operators in recipes, where that is another than the schema's.
StringRef recipeName(const Operator &op) {
  return op.code == BuiltinOperator::TRANSPOSE_CONV ? StringRef("CONV_2D_TRANSPOSE") : op.info()->name;
}

/// Whether the operator can take what the entry asks for.
bool canTake(const Operator &op, const Scheme::Choice &choice) {
  if (!choice.quantize)
    return true;
  if (choice.blockSize > 0 && op.code != BuiltinOperator::FULLY_CONNECTED)
    return false;
  return choice.mode != Scheme::Mode::Full ? weightsAlone(op).has_value()
                                           : scalingOf(op.code, Dialect::Tflite) != Scaling::Real;
}

/// What becomes of an operator that cannot take what the last entry about it asks for.
Scheme::Choice untaken(const Operator &op, Scheme::Choice choice) {
  bool perBlock = choice.blockSize > 0, halves = choice.mode == Scheme::Mode::Float16;
  if (choice.mode != Scheme::Mode::Full && !perBlock && !halves) { // the plan says whether there is anything to store
    choice.choosesRounding = false;
    return choice;
  }
  choice.quantize = false;
  choice.whyFloat = choice.mode == Scheme::Mode::Full ? "it has no form in integers"
                    : perBlock && weightsOf(op)       ? "weights by blocks are those of FULLY_CONNECTED"
                                                      : "";
  return choice;
}

/// Whether the entry is about what has these names and is of this kind. Null: an end of the model.
llvm::Expected<bool> isAbout(Entry &entry, StringRef kind, const Operator *op, llvm::ArrayRef<StringRef> names,
                             Expression::Budget &budget) {
  bool isKind = llvm::is_contained(entry.operations, "*") || llvm::is_contained(entry.operations, kind);
  bool isNamed = entry.layers.contains(op);
  const StringRef unnamed;
  for (StringRef name : names.empty() ? llvm::ArrayRef(unnamed) : names) {
    if (isNamed)
      break;
    if (!entry.expression) {
      isNamed = !op && entry.text == name;
      continue;
    }
    auto found = entry.expression->isIn(name, budget);
    if (!found)
      return found.takeError();
    isNamed = *found;
  }
  entry.isFound |= isNamed;
  entry.isFoundInKind |= isNamed && isKind;
  return isNamed && isKind;
}

/// Texts that stand in a field, alone or in a list; empty: none do.
std::vector<std::string> texts(const json &object, std::initializer_list<const char *> keys) {
  std::vector<std::string> list;
  for (const char *key : keys) {
    const json &value = field(object, key);
    if (value.is_string())
      list.push_back(value.get<std::string>());
    for (const json &one : value.is_array() ? value : json::array())
      list.push_back(one.is_string() ? one.get<std::string>() : "");
  }
  return list;
}

/// What entries ask for in vain: most likely they are not what was meant.
std::vector<std::string> vain(llvm::ArrayRef<Entry> entries, const llvm::StringSet<> &kinds) {
  std::vector<std::string> lines;
  for (const auto &[i, entry] : llvm::enumerate(entries)) {
    std::string at = ("entry " + llvm::Twine(i) + ": ").str(), text = "\"" + printable(entry.text) + "\" matches no ";
    auto isKnown = [&](StringRef kind) {
      return kinds.contains(kind) || kind == "*" || kind == "CONV_2D_TRANSPOSE" || operatorInfo(kind);
    };
    auto unknown = llvm::find_if_not(entry.operations, isKnown);
    if (unknown != entry.operations.end())
      lines.push_back(at + "there is no operation \"" + printable(*unknown) + "\"");
    else if (!entry.isFound)
      lines.push_back(at + text + "layer");
    else if (!entry.isFoundInKind && kinds.contains(entry.operations.front()))
      lines.push_back(at + text + entry.operations.front());
  }
  return lines;
}

} // namespace

llvm::Expected<std::vector<std::string>> readRecipe(StringRef source, const Model &model, Scheme &scheme,
                                                    const SourceLayers &sources) {
  json root = json::parse(source.begin(), source.end(), nullptr, false);
  if (!root.is_array())
    return makeError("is no recipe: a list in JSON");
  std::vector<Entry> entries;
  std::vector<std::string> lines;
  Parts parts(model, sources);
  for (const auto &[i, item] : llvm::enumerate(root)) {
    auto wrong = [&, i = i](const llvm::Twine &why) { return makeError("entry " + llvm::Twine(i) + ": " + why); };
    Entry entry;
    std::vector<std::string> expressions = texts(item, {"regex", "op_scope_regex"}), layers = texts(item, {"layers"});
    if (expressions.size() + !layers.empty() != 1 || (!expressions.empty() && expressions.front().empty()))
      return wrong("there is no \"regex\", and no \"layers\" instead of it");
    if (layers.empty()) {
      auto expression = Expression::compile(entry.text = expressions.front());
      if (!expression)
        return wrong(llvm::toString(expression.takeError()));
      entry.expression = std::move(*expression);
    } else {
      entry.text = llvm::join(layers, ",");
      if (auto named = parts.named(layers)) {
        entry.layers.insert(named->begin(), named->end());
      } else {
        lines.push_back(("entry " + llvm::Twine(i) + ": " + llvm::toString(named.takeError())).str());
      }
      entry.isFound = true; // that it is not is told already
    }
    entry.operations = texts(item, {"operation", "operations"});
    if (entry.operations.empty())
      entry.operations.emplace_back("*");
    if (Error error = readChoice(item, entry.choice))
      return wrong(llvm::toString(std::move(error)));
    entries.push_back(std::move(entry));
  }
  scheme.common.quantize = false;
  scheme.common.whyFloat = "no entry of the recipe is about it";
  Expression::Budget budget;
  llvm::StringSet<> kinds;
  for (auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      if (!op.result() || !op.info())
        continue;
      kinds.insert(recipeName(op));
      const Entry *last = nullptr, *taken = nullptr;
      for (Entry &entry : llvm::reverse(entries)) {
        auto about = isAbout(entry, recipeName(op), &op, parts.namesOf(op), budget);
        if (!about)
          return about.takeError();
        if (!*about)
          continue;
        last = last ? last : &entry;
        taken = taken || !canTake(op, entry.choice) ? taken : &entry;
      }
      if (last)
        scheme.choose(op, taken ? taken->choice : untaken(op, last->choice));
    }
  auto ends = [&](StringRef name, llvm::ArrayRef<Value *> values, llvm::SmallVectorImpl<TensorType> &types) -> Error {
    kinds.insert(name);
    types.clear();
    for (Value *value : values) {
      TensorType type = TensorType::FLOAT32;
      bool isDecided = value->type != TensorType::FLOAT32;
      for (Entry &entry : llvm::reverse(entries)) {
        auto about = isAbout(entry, name, nullptr, value->name.text(), budget);
        if (!about)
          return about.takeError();
        if (!*about || isDecided || (entry.choice.quantize && entry.choice.mode != Scheme::Mode::Full))
          continue; // weights alone are nothing that an end could have
        isDecided = true;
        if (entry.choice.quantize)
          type = entry.choice.activations;
      }
      if (value->type == TensorType::FLOAT32)
        types.push_back(type);
    }
    return Error::success();
  };
  if (Error error = ends("INPUT", model.subgraphs.front()->inputs, scheme.inputs))
    return error;
  if (Error error = ends("OUTPUT", model.subgraphs.front()->outputs, scheme.outputs))
    return error;
  std::vector<std::string> others = vain(entries, kinds);
  lines.insert(lines.end(), others.begin(), others.end());
  return lines;
}

} // namespace origo::quantize
