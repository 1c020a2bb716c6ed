#include "import/onnx/Onnx.h"

#include "import/onnx/Builder.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

using llvm::Error;
using llvm::Expected;
using llvm::Twine;

namespace onnx {

Value &Builder::result(llvm::StringRef name) {
  Value &value = model.addValue(*scope->graph);
  value.name = name;
  makeUndetermined(value);
  return value;
}

Error Builder::define(llvm::StringRef name, Value &value) {
  if (!scope->values.try_emplace(name, &value).second)
    return makeError("value " + inQuotes(name) + " is there twice");
  return Error::success();
}

/// Some exporters give a name to several constants. The last one counts, as in ONNX Runtime.
static bool isConstant(const NodeProto &node) { return node.op == "Constant" && node.domain.empty(); }

Error Builder::run() {
  model.keep(file);
  model.format = Format::Circle;
  if (!proto.opsets.of(""))
    return makeError("the model imports no operator set of ai.onnx");
  constexpr int64_t newest = 24;
  if (*proto.opsets.of("") > newest)
    return makeError("its operators are those of version " + Twine(*proto.opsets.of("")) + ", and " + Twine(newest) +
                     " is the newest that is known");
  for (const FunctionProto &function : proto.functions)
    functions.try_emplace(keyOf(function.domain, function.name, function.overload), &function);
  Scope main{.proto = proto.graph, .graph = &model.addSubgraph(), .outer = nullptr};
  scope = &main;
  if (Error error = build())
    return error;
  for (const auto &given : shapes)
    if (llvm::none_of(main.graph->inputs, [&](const Value *input) { return input->name == given.first(); }))
      return makeError("there is no input " + inQuotes(given.first()) + " to have a shape");
  model.number();
  return Error::success();
}

/// The graph of the scope.
Error Builder::build() {
  const GraphProto &from = scope->proto;
  Subgraph *graph = scope->graph;
  size_t number = sorted.size();
  sorted.emplace_back(&from, std::vector<size_t>());
  graph->name = model.copy(from.name);
  llvm::StringSet<> initialized;
  for (const TensorProto &tensor : from.initializers) {
    initialized.insert(tensor.name);
    auto value = constant(tensor, tensor.name);
    if (!value)
      return value.takeError();
    if (Error error = define(tensor.name, **value))
      return error;
  }
  llvm::SmallVector<Value *> inputs, outputs;
  for (const ValueInfo &info : from.inputs) {
    if (initialized.contains(info.name)) // a default, which callers may override: taken as it is
      continue;
    // What goes into a body says what it is.
    if (Error error = scope->outer ? define(info.name, result(info.name)) : input(info))
      return error;
    inputs.push_back(scope->values.lookup(info.name));
  }
  if (scope->function && !scope->outer)
    for (llvm::StringRef name : scope->function->inputs) {
      if (scope->absent.contains(name))
        continue;
      Value &value = result(name);
      if (Error error = define(name, value))
        return error;
      inputs.push_back(&value);
    }
  for (auto [i, node] : llvm::enumerate(from.nodes))
    for (llvm::StringRef name : node.outputs) {
      if (name.empty())
        continue;
      auto [maker, isFirst] = scope->makers.try_emplace(name, i);
      if (!isFirst && maker->second != i && isConstant(from.nodes[maker->second]) && isConstant(node))
        maker->second = i;
      else if (Error error = define(name, result(name)))
        return error;
    }
  model.setInputs(*graph, inputs);
  Expected<std::vector<size_t>> all = order();
  if (!all)
    return all.takeError();
  sorted[number].second = *all;
  for (size_t index : *all)
    if (Error error = node(index))
      return error;
  for (const ValueInfo &info : from.outputs) {
    Value *value = lookup(*scope, info.name);
    if (!value)
      return makeError("output " + inQuotes(info.name) + " is computed by no node");
    outputs.push_back(value);
  }
  if (outputs.empty())
    return makeError("the graph has no outputs");
  model.setOutputs(*graph, outputs);
  return Error::success();
}

void Builder::metadata(bool keepPaths) {
  for (const auto &[key, value] : proto.metadata) {
    // Entries that mean something in a circle file are not the exporter's to write.
    if (key.empty() || key.starts_with("origo.") || key.starts_with("ONE_") || key == "TFLITE_METADATA" ||
        key == "min_runtime_version")
      continue;
    std::string text = value.str();
    if (!keepPaths)
      cutPaths(text);
    model.metadata.push_back({model.copy(key), &model.addBuffer(text.empty() ? Payload() : Payload::owned(text))});
  }
}

} // namespace onnx

using namespace onnx;

static llvm::StringRef textOf(const MappedFile &file) {
  return {reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size()};
}

bool isOnnx(const MappedFile &file) { return onnx::isModel(textOf(file)); }

Expected<OnnxModel> importOnnx(std::shared_ptr<MappedFile> file, const InputShapes &shapes, SourceLines lines) {
  Expected<ModelProto> proto = parse(textOf(*file));
  if (!proto)
    return proto.takeError();
  OnnxModel made{.model = std::make_unique<Model>(), .layers = {}};
  made.model->addBuffer({}); // to runtimes, what is in the first one has no data
  Builder builder(std::move(file), *proto, shapes, *made.model);
  if (Error error = builder.run())
    return error;
  builder.metadata(lines == SourceLines::Full);
  made.layers = layersOf(builder.sorted, lines);
  return made;
}

} // namespace origo
