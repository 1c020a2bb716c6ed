#include "import/onnx/Builder.h"

#include "flatbuffers/flexbuffers.h"
#include "llvm/ADT/STLExtras.h"

#include <queue>

/// Nodes as operators, in the order in which they can be computed.
namespace origo::onnx {

using llvm::Error;
using llvm::Expected;
using llvm::Twine;

namespace {

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

} // namespace

/// Nodes behind those that they use; in the file's order, which is nearly always such a one, as far as possible.
Expected<std::vector<size_t>> Builder::order() const {
  const auto &nodes = scope->proto.nodes;
  std::vector<std::vector<size_t>> users(nodes.size());
  std::vector<size_t> waits(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i)
    forEachUse(nodes[i], [&](llvm::StringRef input) {
      if (auto maker = scope->makers.find(input); !input.empty() && maker != scope->makers.end()) {
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
    if (const GraphProto *body = loopedBody(node)) {
      if (node.op == "Loop" && !goesOn(*body))
        options.Int("$ends", 1);
      options.Int("$inputs", static_cast<int64_t>(node.inputs.size()));
      options.String("$op", node.op.str());
    }
    for (const AttributeProto &own : node.attributes) {
      const AttributeProto *found = resolved(own);
      if (!found)
        continue;
      const AttributeProto &attribute = *found;
      std::string name = own.name.str();
      if (error)
        return;
      if (name.empty() || own.name.starts_with("$") || own.name.contains('\0') || !names.insert(name).second) {
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

/// Of several constants of one name, the last one has it.
Value *Builder::valueToMake(llvm::StringRef name, size_t node) {
  auto maker = scope->makers.find(name);
  return maker != scope->makers.end() && maker->second == node ? scope->values.lookup(name) : &result(name);
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
    results.push_back(valueToMake(name, index)); // rules count on each result
  if (results.empty())
    return makeError(placeOf(index), "the node has no outputs");
  if (node.op == "If" && node.domain.empty())
    return choice(node, operands, results);
  bool hasLengths = isBatchedScan(node) && !node.inputs.empty() && !node.inputs[0].empty();
  if (const GraphProto *graph = hasLengths ? nullptr : loopedBody(node))
    return loop(node, *graph, operands, results);
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

} // namespace origo::onnx
