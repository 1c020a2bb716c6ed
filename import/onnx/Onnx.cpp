#include "import/onnx/Onnx.h"

#include "import/onnx/Reader.h"
#include "ir/Undetermined.h"
#include "schema/OnnxTypes.h"

#include "flatbuffers/flexbuffers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <queue>

namespace origo {

using llvm::Error;
using llvm::Expected;
using llvm::Twine;
using namespace onnx;

namespace {

std::string inQuotes(llvm::StringRef name) { return "\"" + printable(name) + "\""; }

class Builder {
public:
  Builder(std::shared_ptr<MappedFile> file, const ModelProto &proto, const InputShapes &shapes, Model &model)
      : file(std::move(file)), proto(proto), shapes(shapes), model(model) {}
  Error run();
  void metadata(bool keepPaths);
  /// By subgraph: its nodes, as operators stand in it.
  std::vector<std::pair<const GraphProto *, std::vector<size_t>>> sorted;

private:
  std::shared_ptr<MappedFile> file;
  const ModelProto &proto;
  const InputShapes &shapes;
  Model &model;
  llvm::StringMap<std::shared_ptr<MappedFile>> beside;
  /// A graph that is being built. Bodies see the names of those around them.
  struct Scope {
    const GraphProto &proto;
    Subgraph *graph;
    Scope *outer;
    const FunctionProto *function = nullptr;            ///< that it is of, or of a body in which it is
    llvm::StringMap<const AttributeProto *> given = {}; ///< what a call of that says of attributes
    llvm::StringSet<> absent = {};                      ///< inputs of the function that the call does not give
    llvm::StringMap<Value *> values = {};
    std::vector<std::string> taken = {}; ///< names of values around it that it uses, in the order of their first use
  };
  Scope *scope = nullptr;

  Place placeOf(size_t node) const {
    const NodeProto &of = scope->proto.nodes[node];
    return {.subgraph = static_cast<int>(scope->graph->index),
            .op = static_cast<int>(node),
            .name = of.name.str(),
            .opName = of.op.str()};
  }
  Value *lookup(Scope &from, llvm::StringRef name);
  Error body(Scope &inner);
  Error build();
  Error choice(const NodeProto &node, llvm::ArrayRef<Value *> operands, llvm::ArrayRef<Value *> results);
  llvm::DenseMap<const FunctionProto *, Subgraph *> called; ///< functions without attributes
  size_t depth = 0, built = 0;                              ///< functions that call each other; nodes of functions
  const FunctionProto *findFunction(const NodeProto &node) const;
  Error call(const FunctionProto &function, const NodeProto &node, llvm::ArrayRef<Value *> operands,
             llvm::ArrayRef<Value *> results);
  const AttributeProto *resolved(const AttributeProto &attribute) const;
  std::optional<int64_t> opset(llvm::StringRef domain) const {
    return scope->function ? scope->function->opsets.of(domain) : proto.opsets.of(domain);
  }
  Value &result(llvm::StringRef name);
  Error define(llvm::StringRef name, Value &value);
  Expected<std::shared_ptr<MappedFile>> openBeside(llvm::StringRef location);
  Expected<Payload> payload(const TensorProto &tensor, uint64_t size);
  Expected<Value *> constant(const TensorProto &tensor, llvm::StringRef name);
  Error input(const ValueInfo &info);
  Expected<std::vector<size_t>> order() const;
  Error node(size_t index);
  Expected<std::string> attributes(const NodeProto &node, llvm::SmallVectorImpl<Value *> &operands);
};

Value &Builder::result(llvm::StringRef name) {
  Value &value = model.addValue(*scope->graph);
  value.name = name;
  makeUndetermined(value);
  return value;
}

/// A value that a graph sees. What is around a body becomes an input of it, and constants of its own.
Value *Builder::lookup(Scope &from, llvm::StringRef name) {
  if (Value *own = from.values.lookup(name))
    return own;
  Value *around = from.outer ? lookup(*from.outer, name) : nullptr;
  if (!around)
    return nullptr;
  Value &value = model.addValue(*from.graph);
  value.name = name;
  from.values[name] = &value;
  if (around->isConstant()) {
    value.type = around->type;
    value.hasShape = around->hasShape;
    value.hasRank = around->hasRank;
    value.shape = around->shape;
    value.buffer = around->buffer;
    return &value;
  }
  makeUndetermined(value);
  from.taken.push_back(name.str());
  return &value;
}

Error Builder::body(Scope &inner) {
  Scope *around = std::exchange(scope, &inner);
  Error error = build();
  scope = around;
  return error;
}

/// If: its bodies take nothing and see all that is around them. Those of circle take the same operands, which are what
/// either sees.
Error Builder::choice(const NodeProto &node, llvm::ArrayRef<Value *> operands, llvm::ArrayRef<Value *> results) {
  const GraphProto *branches[2] = {};
  for (const AttributeProto &attribute : node.attributes)
    if (attribute.graphs.size() == 1 && (attribute.name == "then_branch" || attribute.name == "else_branch"))
      branches[attribute.name == "else_branch"] = attribute.graphs.front().get();
  if (!branches[0] || !branches[1] || operands.size() != 1 || !operands[0])
    return makeError("an If without a condition or a branch");
  std::vector<Scope> inner;
  inner.reserve(2);
  for (const GraphProto *branch : branches) {
    inner.push_back({.proto = *branch,
                     .graph = &model.addSubgraph(),
                     .outer = scope,
                     .function = scope->function,
                     .given = scope->given,
                     .absent = scope->absent});
    if (Error error = body(inner.back()))
      return error;
    if (!inner.back().graph->inputs.empty())
      return makeError("a branch of an If has inputs, which nothing gives it");
    if (inner.back().graph->outputs.size() != results.size())
      return makeError("a branch of an If has " + Twine(inner.back().graph->outputs.size()) + " outputs, and the If " +
                       Twine(results.size()));
  }
  llvm::SmallVector<std::string> names;
  for (const Scope &one : inner)
    for (const std::string &name : one.taken)
      if (!llvm::is_contained(names, name))
        names.push_back(name);
  llvm::SmallVector<Value *> all(operands);
  for (const std::string &name : names)
    all.push_back(lookup(*scope, name));
  for (Scope &one : inner) {
    llvm::SmallVector<Value *> inputs;
    for (const std::string &name : names)
      if (Value *value = lookup(one, name))
        inputs.push_back(value);
    model.setInputs(*one.graph, inputs);
  }
  Operator &op = model.addOperator(*scope->graph, BuiltinOperator::IF, all, results);
  const OperatorInfo &row = *op.info();
  llvm::SmallVector<wire::ScalarEdit> edits;
  for (size_t i = 0; i < 2; ++i)
    edits.push_back({.slot = row.optionsType()->find(row.subgraphFields[i])->slot, .integer = inner[i].graph->index});
  op.options.member = static_cast<uint8_t>(row.options);
  op.options = model.editOptions(op.options, edits);
  return Error::success();
}

const FunctionProto *Builder::findFunction(const NodeProto &node) const {
  for (const FunctionProto &function : proto.functions)
    if (function.name == node.op && function.domain == node.domain && function.overload == node.overload)
      return &function;
  return nullptr;
}

/// An attribute of a node in a function may be one of the call's. Null: the call does not give it.
const AttributeProto *Builder::resolved(const AttributeProto &attribute) const {
  return attribute.reference.empty() ? &attribute : scope->given.lookup(attribute.reference);
}

/// A node that is a function of the model's own: a CALL of a subgraph, which is one for all calls without attributes.
Error Builder::call(const FunctionProto &function, const NodeProto &node, llvm::ArrayRef<Value *> operands,
                    llvm::ArrayRef<Value *> results) {
  constexpr size_t deepest = 64, most = 1000000;
  if (operands.size() > function.inputs.size() || results.size() > function.graph.outputs.size())
    return makeError("function " + inQuotes(function.name) + " is called with more than it has");
  if (depth >= deepest || built + function.graph.nodes.size() > most)
    return makeError("functions call each other more than " + Twine(deepest) + " deep, or have more than " +
                     Twine(most) + " nodes in all");
  auto isGiven = [&](size_t input) { return input < operands.size() && operands[input]; };
  bool plain = node.attributes.empty() && function.defaults.empty();
  for (size_t i = 0; i < function.inputs.size(); ++i)
    plain &= isGiven(i);
  Subgraph *graph = plain ? called.lookup(&function) : nullptr;
  if (!graph) {
    Scope inner{.proto = function.graph, .graph = &model.addSubgraph(), .outer = nullptr, .function = &function};
    graph = inner.graph;
    for (const AttributeProto &attribute : function.defaults)
      inner.given[attribute.name] = &attribute;
    for (const AttributeProto &attribute : node.attributes)
      if (const AttributeProto *value = resolved(attribute))
        inner.given[attribute.name] = value;
    for (auto [i, name] : llvm::enumerate(function.inputs))
      if (!isGiven(i))
        inner.absent.insert(name);
    built += function.graph.nodes.size();
    ++depth;
    Error error = body(inner);
    --depth;
    if (error)
      return error;
    if (plain)
      called[&function] = graph;
  }
  llvm::SmallVector<Value *> given, made(results);
  llvm::copy_if(operands, std::back_inserter(given), [](const Value *operand) { return operand != nullptr; });
  while (made.size() < graph->outputs.size())
    made.push_back(&result(""));
  Operator &op = model.addOperator(*scope->graph, BuiltinOperator::CALL, given, made);
  const OperatorInfo &row = *op.info();
  wire::ScalarEdit edit{.slot = row.optionsType()->find(row.subgraphFields[0])->slot, .integer = graph->index};
  op.options.member = static_cast<uint8_t>(row.options);
  op.options = model.editOptions(op.options, edit);
  return Error::success();
}

Error Builder::define(llvm::StringRef name, Value &value) {
  if (!scope->values.try_emplace(name, &value).second)
    return makeError("value " + inQuotes(name) + " is there twice");
  return Error::success();
}

/// Of the model's folder only, whatever links say.
Expected<std::shared_ptr<MappedFile>> Builder::openBeside(llvm::StringRef location) {
  auto &known = beside[location];
  if (known)
    return known;
  auto refuse = [&](const Twine &why) { return makeError("external data in " + inQuotes(location) + ": " + why); };
  if (location.empty() || location.contains('\0') || llvm::sys::path::is_absolute(location))
    return refuse("not a path within the model's folder");
  llvm::SmallString<128> folder(llvm::sys::path::parent_path(file->path())), realFolder, real;
  if (folder.empty())
    folder = ".";
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, location);
  if (std::error_code error = llvm::sys::fs::real_path(folder, realFolder))
    return refuse(error.message());
  if (std::error_code error = llvm::sys::fs::real_path(path, real))
    return refuse(error.message());
  if (realFolder.back() != '/')
    realFolder += '/';
  if (!real.starts_with(realFolder))
    return refuse("not a path within the model's folder");
  auto opened = MappedFile::open(real);
  if (!opened)
    return opened.takeError();
  known = std::move(*opened);
  model.keep(known);
  return known;
}

Expected<Payload> Builder::payload(const TensorProto &tensor, uint64_t size) {
  auto wrong = [&](uint64_t has) {
    return makeError("tensor " + inQuotes(tensor.name) + " has " + Twine(has) + " bytes, and its shape " + Twine(size));
  };
  if (tensor.external) {
    auto data = openBeside(tensor.location);
    if (!data)
      return data.takeError();
    uint64_t has = (*data)->bytes().size();
    if (tensor.offset > has || size > has - tensor.offset || (tensor.length && *tensor.length != size))
      return makeError("tensor " + inQuotes(tensor.name) + " lies beyond " + inQuotes(tensor.location));
    return size ? Payload(*data, tensor.offset, size) : Payload();
  }
  if (tensor.hasRaw) {
    if (tensor.raw.size() != size)
      return wrong(tensor.raw.size());
    auto *start = reinterpret_cast<const uint8_t *>(tensor.raw.data());
    return size ? Payload(file, static_cast<uint64_t>(start - file->bytes().data()), size) : Payload();
  }
  if (tensor.typed.size() != size)
    return wrong(tensor.typed.size());
  return size ? Payload::owned(tensor.typed) : Payload();
}

Expected<Value *> Builder::constant(const TensorProto &tensor, llvm::StringRef name) {
  std::optional<TensorType> type = tensorTypeOfOnnx(static_cast<int64_t>(tensor.type));
  if (!type)
    return makeError("tensor " + inQuotes(name) + " has the type " + Twine(static_cast<int>(tensor.type)) +
                     " of ONNX, which is not taken");
  llvm::SmallVector<int32_t, 4> shape;
  for (int64_t dim : tensor.dims) {
    if (dim < 0 || dim > INT32_MAX)
      return makeError("tensor " + inQuotes(name) + " has a dimension of " + Twine(dim));
    shape.push_back(static_cast<int32_t>(dim));
  }
  Value &value = model.addValue(*scope->graph);
  value.type = *type;
  value.hasShape = true;
  value.hasRank = shape.empty();
  value.shape = shape;
  value.name = name;
  std::optional<uint64_t> count = value.elementCount(), size = count ? payloadBytes(*type, *count) : std::nullopt;
  if (!size)
    return makeError("tensor " + inQuotes(name) + " is too big");
  Expected<Payload> bytes = payload(tensor, *size);
  if (!bytes)
    return bytes.takeError();
  value.buffer = &model.addBuffer(std::move(*bytes));
  return &value;
}

Error Builder::input(const ValueInfo &info) {
  std::optional<TensorType> type = info.isTensor ? tensorTypeOfOnnx(static_cast<int64_t>(info.type)) : std::nullopt;
  if (!type)
    return makeError("input " + inQuotes(info.name) +
                     (info.isTensor ? " has a type that is not taken: " + std::to_string(int(info.type)) + " of ONNX"
                                    : " is no tensor, and sequences, maps and optionals are not taken"));
  auto given = shapes.find(info.name);
  if (!info.hasShape && given == shapes.end())
    return makeError("input " + inQuotes(info.name) + " has no shape; --shape NAME=1,3,… gives one");
  Value &value = model.addValue(*scope->graph);
  llvm::SmallVector<int32_t, 4> shape;
  for (const Dimension &dim : info.dims) {
    if (dim.size && *dim.size > INT32_MAX)
      return makeError("input " + inQuotes(info.name) + " has a dimension of " + Twine(*dim.size));
    shape.push_back(dim.size ? static_cast<int32_t>(*dim.size) : -1);
  }
  if (given != shapes.end()) {
    auto agrees = [](auto sizes) { return std::get<0>(sizes) == -1 || std::get<0>(sizes) == std::get<1>(sizes); };
    bool fits = !info.hasShape ||
                (shape.size() == given->second.size() && llvm::all_of(llvm::zip(shape, given->second), agrees));
    if (!fits)
      return makeError("input " + inQuotes(info.name) + " cannot have the shape that is asked for");
    shape = given->second;
  }
  value.type = *type;
  value.hasShape = true;
  value.hasRank = shape.empty();
  value.shape = shape;
  value.name = info.name;
  if (llvm::is_contained(shape, -1)) {
    value.setShapeSignature(model.copy(llvm::ArrayRef<int32_t>(shape)));
    value.shape.unknownToOne();
  }
  return define(info.name, value);
}

/// The names around a node that it uses, in its bodies as well, which may have the same names of their own.
void forEachUse(const NodeProto &node, llvm::function_ref<void(llvm::StringRef)> visit) {
  for (llvm::StringRef input : node.inputs)
    visit(input);
  for (const AttributeProto &attribute : node.attributes)
    for (const auto &graph : attribute.graphs) {
      llvm::StringSet<> own;
      for (const ValueInfo &input : graph->inputs)
        own.insert(input.name);
      for (const TensorProto &tensor : graph->initializers)
        own.insert(tensor.name);
      for (const NodeProto &inner : graph->nodes)
        own.insert(inner.outputs.begin(), inner.outputs.end());
      auto around = [&](llvm::StringRef name) {
        if (!own.contains(name))
          visit(name);
      };
      for (const NodeProto &inner : graph->nodes)
        forEachUse(inner, around);
      for (const ValueInfo &output : graph->outputs)
        around(output.name);
    }
}

/// Nodes behind those that they use; in the file's order, which is nearly always such a one, as far as possible.
Expected<std::vector<size_t>> Builder::order() const {
  const auto &nodes = scope->proto.nodes;
  llvm::StringMap<size_t> makers;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (llvm::StringRef output : nodes[i].outputs)
      if (!output.empty())
        makers.try_emplace(output, i);
  std::vector<std::vector<size_t>> users(nodes.size());
  std::vector<size_t> waits(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i)
    forEachUse(nodes[i], [&](llvm::StringRef input) {
      if (auto maker = makers.find(input); !input.empty() && maker != makers.end()) {
        users[maker->second].push_back(i);
        ++waits[i];
      }
    });
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waits[i] == 0)
      ready.push(i);
  std::vector<size_t> sorted;
  while (!ready.empty()) {
    size_t next = ready.top();
    ready.pop();
    sorted.push_back(next);
    for (size_t user : users[next])
      if (--waits[user] == 0)
        ready.push(user);
  }
  if (sorted.size() != nodes.size())
    return makeError("the nodes use each other in a circle");
  return sorted;
}

Expected<std::string> Builder::attributes(const NodeProto &node, llvm::SmallVectorImpl<Value *> &operands) {
  flexbuffers::Builder options;
  llvm::StringSet<> names;
  Error error = Error::success();
  auto version = opset(node.domain);
  options.Map([&] {
    options.Int("$opset", version.value_or(0));
    for (const AttributeProto &own : node.attributes) {
      const AttributeProto *found = resolved(own);
      if (!found)
        continue;
      const AttributeProto &attribute = *found;
      std::string name = own.name.str();
      if (error)
        return;
      if (name.empty() || name == "$opset" || own.name.contains('\0') || !names.insert(name).second) {
        error = makeError("attribute " + inQuotes(name) + " is there twice, or has no name that can be");
        return;
      }
      switch (attribute.kind) {
      case AttributeProto::Float:
        options.Float(name.c_str(), attribute.real);
        break;
      case AttributeProto::Int:
        options.Int(name.c_str(), attribute.integer);
        break;
      case AttributeProto::String:
        options.Key(name);
        options.String(attribute.text.str()); // the builder reads the NUL behind it
        break;
      case AttributeProto::Floats:
        options.TypedVector(name.c_str(), [&] {
          for (float number : attribute.reals)
            options.Float(number);
        });
        break;
      case AttributeProto::Ints:
        options.TypedVector(name.c_str(), [&] {
          for (int64_t number : attribute.integers)
            options.Int(number);
        });
        break;
      case AttributeProto::Strings:
        options.Vector(name.c_str(), [&] {
          for (llvm::StringRef text : attribute.texts)
            options.String(text.str());
        });
        break;
      case AttributeProto::Tensor: {
        if (attribute.tensors.empty()) {
          error = makeError("attribute " + inQuotes(name) + " has no tensor");
          return;
        }
        const TensorProto &tensor = attribute.tensors.back();
        std::string label = tensor.name.empty() ? (node.outputs.empty() ? name : node.outputs[0].str() + "/" + name)
                                                : tensor.name.str();
        auto value = constant(tensor, label);
        if (!value) {
          error = value.takeError();
          return;
        }
        options.Int(name.c_str(), static_cast<int64_t>(operands.size()));
        operands.push_back(*value);
        break;
      }
      default:
        options.String(name.c_str(), "not taken");
        break;
      }
    }
  });
  if (error)
    return error;
  options.Finish();
  const std::vector<uint8_t> &bytes = options.GetBuffer();
  return std::string(bytes.begin(), bytes.end());
}

Error Builder::node(size_t index) {
  const NodeProto &node = scope->proto.nodes[index];
  if (node.op.empty())
    return makeError(placeOf(index), "the node has no operator");
  llvm::SmallVector<Value *> operands, results;
  for (llvm::StringRef name : node.inputs) {
    Value *value = name.empty() ? nullptr : lookup(*scope, name);
    if (!name.empty() && !value && !scope->absent.contains(name))
      return makeError(placeOf(index),
                       "its input " + inQuotes(name) + " is computed by no node, and neither an input nor a constant");
    operands.push_back(value);
  }
  for (llvm::StringRef name : node.outputs)
    results.push_back(name.empty() ? &result("") : scope->values.lookup(name)); // rules count on each result
  if (results.empty())
    return makeError(placeOf(index), "the node has no outputs");
  if (node.op == "If" && node.domain.empty())
    return choice(node, operands, results);
  if (const FunctionProto *function = findFunction(node))
    return call(*function, node, operands, results);
  Expected<std::string> options = attributes(node, operands);
  if (!options)
    return makeError(placeOf(index), llvm::toString(options.takeError()));
  Operator &op = model.addOperator(*scope->graph, BuiltinOperator::CUSTOM, operands, results);
  op.setCustomCode(model.copy(
      llvm::StringRef((onnxPrefix + (node.domain.empty() ? Twine() : node.domain + Twine(".")) + node.op).str())));
  op.setCustomOptions(Payload::owned(std::move(*options)));
  return Error::success();
}

Error Builder::run() {
  model.keep(file);
  model.format = Format::Circle;
  if (!proto.opsets.of(""))
    return makeError("the model imports no operator set of ai.onnx");
  constexpr int64_t newest = 24;
  if (*proto.opsets.of("") > newest)
    return makeError("its operators are those of version " + Twine(*proto.opsets.of("")) + ", and " + Twine(newest) +
                     " is the newest that is known");
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
  if (from.hasSparse)
    return makeError("sparse initializers are not taken");
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
    if (Error error = input(info))
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
  for (const NodeProto &node : from.nodes)
    for (llvm::StringRef name : node.outputs)
      if (!name.empty())
        if (Error error = define(name, result(name)))
          return error;
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

llvm::StringRef textOf(const MappedFile &file) {
  return {reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size()};
}

} // namespace

bool isOnnx(const MappedFile &file) { return onnx::isModel(textOf(file)); }

Expected<OnnxModel> importOnnx(std::shared_ptr<MappedFile> file, const InputShapes &shapes, SourceLines lines) {
  Expected<ModelProto> proto = parse(textOf(*file));
  if (!proto)
    return proto.takeError();
  OnnxModel made{.model = std::make_unique<Model>(), .layers = {}};
  Builder builder(std::move(file), *proto, shapes, *made.model);
  if (Error error = builder.run())
    return error;
  builder.metadata(lines == SourceLines::Full);
  made.layers = layersOf(builder.sorted, lines);
  return made;
}

} // namespace origo
