#include "import/onnx/Builder.h"

#include "llvm/ADT/STLExtras.h"

/// What bodies of nodes see, and functions.
namespace origo::onnx {

using llvm::Error;
using llvm::Expected;
using llvm::Twine;

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

/// Of a Loop: does its body go on whatever it computes?
bool Builder::goesOn(const GraphProto &body) const {
  if (body.inputs.size() < 2 || body.outputs.empty())
    return false;
  auto isTrue = [](const TensorProto &tensor) {
    llvm::StringRef bytes = tensor.hasRaw ? tensor.raw : llvm::StringRef(tensor.typed);
    return tensor.type == Type::Bool && bytes.size() == 1 && bytes[0];
  };
  llvm::StringRef name = body.outputs[0].name;
  const GraphProto *graph = &body;
  const Scope *around = scope;
  for (size_t steps = 0; steps <= body.nodes.size() || graph != &body; ++steps) {
    if (graph == &body && name == body.inputs[1].name)
      return true;
    for (const TensorProto &tensor : graph->initializers)
      if (tensor.name == name)
        return isTrue(tensor);
    auto maker =
        llvm::find_if(graph->nodes, [&](const NodeProto &node) { return llvm::is_contained(node.outputs, name); });
    bool isInput = llvm::any_of(graph->inputs, [&](const ValueInfo &input) { return input.name == name; });
    if (maker == graph->nodes.end() && !isInput && around) { // a body sees what is around it
      graph = &around->proto;
      around = around->outer;
      continue;
    }
    if (maker == graph->nodes.end() || !maker->domain.empty())
      return false;
    if (maker->op == "Constant")
      return maker->attributes.size() == 1 && maker->attributes[0].tensors.size() == 1 &&
             isTrue(maker->attributes[0].tensors[0]);
    if (graph != &body || maker->op != "Identity" || maker->inputs.size() != 1)
      return false;
    name = maker->inputs[0];
  }
  return false;
}

const GraphProto *Builder::loopedBody(const NodeProto &node) {
  if (!node.domain.empty() || (node.op != "Loop" && node.op != "Scan"))
    return nullptr;
  for (const AttributeProto &attribute : node.attributes)
    if (attribute.name == "body" && attribute.graphs.size() == 1)
      return attribute.graphs[0].get();
  return nullptr;
}

/// A Loop or a Scan is a WHILE of its body, which stands for the condition as well. What the body sees around it are
/// operands behind its own. Its attributes are custom options; how many operands are its own is one of them.
Error Builder::loop(const NodeProto &node, const GraphProto &graph, llvm::SmallVectorImpl<Value *> &operands,
                    llvm::ArrayRef<Value *> results) {
  size_t own = operands.size(), made = results.size() + (node.op == "Loop" ? 1 : 0);
  Scope inner{.proto = graph,
              .graph = &model.addSubgraph(),
              .outer = scope,
              .function = scope->function,
              .given = scope->given,
              .absent = scope->absent};
  if (Error error = body(inner))
    return error;
  llvm::SmallVector<Value *> inputs(inner.graph->inputs);
  if (inputs.size() + isBatchedScan(node) != own || inner.graph->outputs.size() != made)
    return makeError("the body of a " + node.op + " has " + Twine(inputs.size()) + " inputs and " +
                     Twine(inner.graph->outputs.size()) + " outputs, which are not those of the node");
  Expected<std::string> options = attributes(node, operands);
  if (!options)
    return options.takeError();
  for (const std::string &name : inner.taken) {
    operands.push_back(lookup(*scope, name));
    inputs.push_back(inner.values.lookup(name));
  }
  model.setInputs(*inner.graph, inputs);
  Operator &op = model.addOperator(*scope->graph, BuiltinOperator::WHILE, operands, results);
  const OperatorInfo &row = *op.info();
  llvm::SmallVector<wire::ScalarEdit> edits;
  for (llvm::StringRef field : row.subgraphFields)
    edits.push_back({.slot = row.optionsType()->find(field)->slot, .integer = inner.graph->index});
  op.options.member = static_cast<uint8_t>(row.options);
  op.options = model.editOptions(op.options, edits);
  op.setCustomOptions(Payload::owned(std::move(*options)));
  return Error::success();
}

const FunctionProto *Builder::findFunction(const NodeProto &node) const {
  return functions.empty() ? nullptr : functions.lookup(keyOf(node.domain, node.op, node.overload));
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

} // namespace origo::onnx
