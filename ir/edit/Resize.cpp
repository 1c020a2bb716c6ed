#include "ir/ConstantView.h"
#include "ir/edit/Editor.h"
#include "ir/shapes/Inference.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

/// Other shapes for the inputs of a model.
namespace origo {

using llvm::Error;

static Place placeOf(const Operator &op) {
  return {.subgraph = static_cast<int>(op.subgraph()->index), .op = static_cast<int>(op.index), .opName = op.opName()};
}

/// The shape with −1 where it is not known, as the file says it.
static llvm::SmallVector<int32_t, 4> shapeInFile(const Value &value) {
  llvm::SmallVector<int32_t, 4> shape(value.shape.begin(), value.shape.end());
  if (value.shapeSignature().size() == shape.size())
    shape.assign(value.shapeSignature().begin(), value.shapeSignature().end());
  return shape;
}

/// It holds something else than the tensor of the source from now on.
void Editor::forget(Value &value) {
  llvm::SmallVector<uint32_t, 4> ids;
  for (const Relation &relation : value.relations)
    ids.push_back(relation.tensor);
  value.relations.clear();
  value.noRelation = NoRelation::NewIntermediate;
  Destinations *into = model.addDestinations();
  into->add(value);
  bury(true, model.sets.of(ids), Fate::UserRemoved, into);
}

/// False: it has that shape already.
bool Editor::resize(Value &value, llvm::ArrayRef<int32_t> shape) {
  if (llvm::ArrayRef<int32_t>(shapeInFile(value)) == shape)
    return false;
  forget(value);
  value.shape = shape;
  value.hasShape = true;
  value.setShapeSignature({});
  if (llvm::is_contained(shape, -1)) {
    value.setShapeSignature(model.copy(shape));
    value.shape.unknownToOne();
  }
  return true;
}

/// The sizes that a reshape states where only the first dimension, the batch, became another one: −1 and the others.
static std::optional<llvm::SmallVector<int32_t, 8>> sizesOfAnyBatch(const Operator &op) {
  const Value *from = op.operand(0), *sizes = op.operand(1);
  if (op.code != BuiltinOperator::RESHAPE || !from || from->rank() == 0 || !from->shapeSignature().empty() || !sizes ||
      !sizes->isConstant() || sizes->type != TensorType::INT32 || !sizes->hasOneUse())
    return std::nullopt;
  std::optional<llvm::SmallVector<int64_t, 8>> stated = readIntegers(sizes);
  if (!stated || stated->empty() || llvm::any_of(*stated, [](int64_t size) { return size <= 0; }))
    return std::nullopt;
  auto behindFirst = [](auto sizes) {
    uint64_t count = 1;
    for (auto size : llvm::drop_begin(sizes))
      count = llvm::SaturatingMultiply(count, static_cast<uint64_t>(size));
    return count;
  };
  if (behindFirst(llvm::ArrayRef<int64_t>(*stated)) != behindFirst(llvm::ArrayRef<int32_t>(from->shape)) ||
      stated->front() == from->shape[0])
    return std::nullopt;
  llvm::SmallVector<int32_t, 8> any{-1};
  for (int64_t size : llvm::drop_begin(*stated))
    any.push_back(static_cast<int32_t>(size));
  return any;
}

/// What a call hands over is what the called subgraph gets.
Error Editor::resizeCallees(Operator &op, llvm::DenseSet<const Value *> &resized) {
  unsigned first = op.code == BuiltinOperator::IF ? 1 : 0; // the condition stays outside
  for (Subgraph *callee : op.callees()) {
    bool any = false;
    for (auto [i, input] : llvm::enumerate(callee->inputs)) {
      const Value *operand = op.operand(first + i);
      if (!operand || !resized.contains(operand))
        continue;
      bool again = resized.contains(input);
      if (!resize(*input, shapeInFile(*operand)))
        continue;
      if (again)
        return makeError(placeOf(op), "calls a subgraph that is called with another shape elsewhere");
      resized.insert(input);
      any = true;
    }
    if (any)
      if (Error error = resizeResults(*callee, resized))
        return error;
  }
  if (op.code == BuiltinOperator::WHILE)
    if (const Value *condition = op.callees().front()->outputs.front(); condition->elementCount().value_or(1) != 1)
      return makeError(placeOf(op), "its condition would not be a single truth value any more");
  return Error::success();
}

Error Editor::resizeResults(Subgraph &graph, llvm::DenseSet<const Value *> &resized) {
  for (Operator &op : graph.operators) {
    if (llvm::none_of(op.operands(), [&](const Use &use) { return resized.contains(use.get()); }))
      continue;
    if (Error error = resizeCallees(op, resized))
      return error;
    if (auto sizes = sizesOfAnyBatch(op)) {
      Value &constant = *op.operand(1);
      forget(constant);
      constant.buffer = &model.addBuffer(
          Payload::owned(std::string(reinterpret_cast<const char *>(sizes->data()), 4 * sizes->size())));
      op.options.table = nullptr; // which may say the sizes once more
    }
    auto results = inferResults(op);
    if (!results)
      return makeError(placeOf(op), "cannot have these shapes: " + llvm::toString(results.takeError()));
    if (results->empty())
      return makeError(placeOf(op), "its results have shapes that follow from values, so that they cannot be told");
    for (auto [result, type] : llvm::zip(op.results(), *results)) {
      if (!result)
        continue;
      if (!type.rankKnown)
        return makeError(placeOf(op), "the shape of a result is not known before run time");
      if (resize(*result, type.shape))
        resized.insert(result);
    }
  }
  return Error::success();
}

Error Editor::resizeInputs(llvm::ArrayRef<llvm::SmallVector<int32_t, 4>> shapes) {
  model.number();
  Subgraph &graph = *model.subgraphs.front();
  if (shapes.size() != graph.inputs.size())
    return makeError("there are " + llvm::Twine(shapes.size()) + " shapes for " + llvm::Twine(graph.inputs.size()) +
                     " inputs");
  pass = "resize-inputs";
  ++model.rewrites;
  llvm::DenseSet<const Value *> resized;
  for (auto [input, shape] : llvm::zip(graph.inputs, shapes))
    if (resize(*input, shape))
      resized.insert(input);
  if (Error error = resizeResults(graph, resized))
    return error;
  if (resized.empty())
    --model.rewrites;
  return Error::success();
}

} // namespace origo
