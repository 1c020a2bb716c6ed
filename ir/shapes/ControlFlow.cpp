#include "ir/shapes/Rules.h"

/// Operators that call subgraphs, and resources.

using namespace origo;
using namespace origo::inference;

namespace {

ResultType typeOfValue(const Value *value) {
  auto shape = shapeOf(value);
  if (!shape)
    return {value->type, {}, false};
  return {value->type, std::move(*shape), true};
}

/// What holds of a value that is either of two.
void weaken(ResultType &result, const ResultType &other) {
  if (!result.rankKnown || !other.rankKnown || result.shape.size() != other.shape.size()) {
    result.rankKnown = false;
    result.shape.clear();
    return;
  }
  for (size_t i = 0; i < result.shape.size(); ++i)
    if (result.shape[i] != other.shape[i])
      result.shape[i] = -1;
}

/// The outputs of a called subgraph; an error if there are not as many as results.
llvm::Expected<Results> outputsOf(const ShapeSite &op, const Subgraph &graph) {
  if (graph.outputs.size() != op.results().size())
    return op.fail(llvm::Twine(op.results().size()) + " results of a subgraph with " +
                   llvm::Twine(graph.outputs.size()) + " outputs");
  Results results;
  for (const Value *value : graph.outputs) {
    if (!value)
      return noAnswer();
    results.push_back(typeOfValue(value));
  }
  return results;
}

Answer call(const ShapeSite &op) {
  auto callees = op.op.callees();
  return callees.size() == 1 ? outputsOf(op, *callees[0]) : Answer(noAnswer());
}

Answer branches(const ShapeSite &op) {
  auto callees = op.op.callees();
  if (callees.empty())
    return noAnswer();
  Answer results = outputsOf(op, *callees[0]);
  if (!results || results->empty())
    return results;
  for (Subgraph *callee : llvm::ArrayRef(callees).drop_front()) {
    Answer others = outputsOf(op, *callee);
    if (!others || others->empty())
      return others;
    for (size_t i = 0; i < results->size(); ++i) {
      if ((*results)[i].type != (*others)[i].type)
        return op.fail("subgraphs with outputs of different types");
      weaken((*results)[i], (*others)[i]);
    }
  }
  return results;
}

Answer ifRule(const ShapeSite &op) {
  auto callees = op.op.callees();
  return callees.size() == 2 ? branches(op) : Answer(noAnswer());
}

/// The condition may be false at once, so a result is either an operand or an output of the body.
Answer whileRule(const ShapeSite &op) {
  auto callees = op.op.callees();
  if (callees.size() != 2)
    return noAnswer();
  Answer results = outputsOf(op, *callees[1]);
  if (!results || results->empty())
    return results;
  if (op.numOperands() != results->size())
    return op.fail(llvm::Twine(op.numOperands()) + " operands and " + llvm::Twine(results->size()) + " results");
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (const Value *operand = op.operand(i)) {
      if (operand->type != (*results)[i].type)
        return op.fail("operand and result " + llvm::Twine(i) + " of different types");
      weaken((*results)[i], typeOfValue(operand));
    }
  return results;
}

Answer varHandle(const ShapeSite &op) { return unranked(TensorType::RESOURCE); }
Answer hashtable(const ShapeSite &op) { return unranked(TensorType::RESOURCE); }

/// The resource does not say what is in it.
Answer readVariable(const ShapeSite &op) {
  if (!op.result())
    return noAnswer();
  return unranked(op.result()->type);
}

Answer hashtableFind(const ShapeSite &op) {
  auto keys = op.shape(1);
  if (!keys)
    return noAnswer();
  return one(op.type(2), std::move(*keys));
}

Answer hashtableSize(const ShapeSite &op) { return one(TensorType::INT64, {1}); }

constexpr RuleRow controlFlowRows[] = {
    {BuiltinOperator::CALL, call},
    {BuiltinOperator::IF, ifRule},
    {BuiltinOperator::STABLEHLO_CASE, branches},
    {BuiltinOperator::WHILE, whileRule},
    {BuiltinOperator::STABLEHLO_WHILE, whileRule},
    {BuiltinOperator::STABLEHLO_COMPOSITE, call},
    {BuiltinOperator::VAR_HANDLE, varHandle},
    {BuiltinOperator::HASHTABLE, hashtable},
    {BuiltinOperator::READ_VARIABLE, readVariable},
    {BuiltinOperator::HASHTABLE_FIND, hashtableFind},
    {BuiltinOperator::HASHTABLE_SIZE, hashtableSize},
};

} // namespace

llvm::ArrayRef<RuleRow> inference::controlFlowRules() { return controlFlowRows; }
