#include "quantize/Ends.h"

#include "quantize/Storages.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"

namespace origo::quantize {

using Op = BuiltinOperator;

namespace {

bool isInteger(TensorType type) {
  return type == TensorType::INT8 || type == TensorType::UINT8 || type == TensorType::INT16;
}

/// Integers of one scale that stand for real numbers.
bool isQuantized(const Value &value) {
  const Quantization *q = value.quantization;
  return isInteger(value.type) && q && q->scale.size() == 1 && q->zeroPoint.size() == 1 &&
         q->details == Quantization::Details::None;
}

class EndPlanner {
public:
  EndPlanner(Model &model, std::vector<std::string> *told) : model(model), told(told) {}
  llvm::Expected<StoragePlan> plan(const Ends &ends);

private:
  Model &model;
  std::vector<std::string> *told;
  StoragePlan made;

  llvm::Error decide(llvm::ArrayRef<Value *> values, llvm::ArrayRef<TensorType> types, bool isInput);
  llvm::Expected<const Value *> within(const Value &end, bool isInput);
  llvm::Expected<const Storage *> storageOf(const Value &end, TensorType type, bool isInput);
};

std::string nameOf(const Value &value, bool isInput) {
  return (isInput ? "input \"" : "output \"") + printable(value.name) + "\"";
}

/// The integers that an end of floats becomes behind it, or was in front of it.
llvm::Expected<const Value *> EndPlanner::within(const Value &end, bool isInput) {
  if (!isInput) {
    const Operator *maker = end.producer();
    if (maker && maker->code == Op::DEQUANTIZE && isQuantized(*maker->operand(0)))
      return maker->operand(0);
    return makeError(nameOf(end, isInput) + " is no DEQUANTIZE of integers with one scale: " +
                     (maker ? maker->opName() + " computes it" : "nothing computes it") +
                     ", so that no scale is known for it");
  }
  const Value *found = nullptr;
  const Operator *other = nullptr;
  end.forEachUse([&](Use &use) {
    const Operator &reader = *use.user();
    if (reader.info() && reader.info()->has(Trait::ShapeQuery))
      return; // it looks at no number
    const Value *read = reader.code == Op::QUANTIZE ? reader.result() : nullptr;
    if (!read || !isQuantized(*read) ||
        (found && (found->type != read->type || !sameQuantization(found->quantization, read->quantization))))
      other = &reader;
    else
      found = read;
  });
  if (other || !found)
    return makeError(
        nameOf(end, isInput) +
        (other ? " is not only quantised to integers with one scale: " + other->opName() + " would read rounded numbers"
               : std::string(" is read by nothing, so that no scale is known for it")));
  return found;
}

llvm::Expected<const Storage *> EndPlanner::storageOf(const Value &end, TensorType type, bool isInput) {
  auto keep = [&](Storage storage) { return &made.storages.emplace_back(std::move(storage)); };
  if (type == TensorType::FLOAT32)
    return keep({type, nullptr});
  const Value *integers = &end;
  if (isReal(&end)) {
    auto found = within(end, isInput);
    if (!found)
      return found.takeError();
    integers = *found;
  }
  if (integers->type == type)
    return keep({type, integers->quantization});
  bool isSigned = type == TensorType::INT8;
  if (type == TensorType::INT16 || integers->type == TensorType::INT16)
    return makeError(nameOf(end, isInput) + " is stored as " + tensorTypeName(integers->type) + ", and " +
                     tensorTypeName(type) + " does not hold the same numbers");
  Quantization moved = *integers->quantization;
  int64_t zero = moved.zeroPoint[0] + (isSigned ? -128 : 128);
  moved.zeroPoint = model.copy(llvm::ArrayRef(zero));
  return keep({type, model.create(moved)});
}

llvm::Error EndPlanner::decide(llvm::ArrayRef<Value *> values, llvm::ArrayRef<TensorType> types, bool isInput) {
  llvm::SmallPtrSet<const Value *, 4> seen;
  size_t reals = 0;
  for (auto [i, value] : llvm::enumerate(values)) {
    if (types.empty() || (!isReal(value) && !isQuantized(*value)))
      continue;
    TensorType type = typeOfEnd(types, values.size(), i, reals++);
    if (value->type == type || !seen.insert(value).second)
      continue;
    if (isInput ? value->isGraphOutput() : value->isGraphInput)
      return makeError(nameOf(*value, isInput) + " is input and output at once");
    auto storage = storageOf(*value, type, isInput);
    if (!storage)
      return storage.takeError();
    made.interface.push_back({value, *storage});
    if (!told)
      continue;
    std::string text = nameOf(*value, isInput) + " is " + llvm::StringRef(tensorTypeName(type)).lower() + " now";
    if (const Quantization *q = (*storage)->quantization) {
      char scale[32];
      std::snprintf(scale, sizeof(scale), "%.9g", static_cast<double>(q->scale[0]));
      text += std::string(", scale ") + scale + ", zero point " + std::to_string(q->zeroPoint[0]);
    }
    told->push_back(std::move(text));
  }
  return llvm::Error::success();
}

llvm::Expected<StoragePlan> EndPlanner::plan(const Ends &ends) {
  model.number();
  for (Subgraph *graph : endGraphs(model)) {
    if (llvm::Error error = decide(graph->inputs, ends.inputs, true))
      return error;
    if (llvm::Error error = decide(graph->outputs, ends.outputs, false))
      return error;
  }
  return std::move(made);
}

} // namespace

llvm::SmallVector<Subgraph *, 2> endGraphs(Model &model) {
  llvm::SmallPtrSet<const Subgraph *, 4> without;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      for (const Subgraph *callee : op.callees())
        without.insert(callee);
  llvm::SmallVector<Subgraph *, 2> graphs = {model.subgraphs.front().get()};
  without.insert(graphs.front());
  for (const Signature &signature : model.signatures)
    if (signature.subgraph && without.insert(signature.subgraph).second)
      graphs.push_back(signature.subgraph);
  return graphs;
}

std::function<llvm::Expected<StoragePlan>(Model &)> planEnds(Ends ends, std::vector<std::string> *told) {
  return [ends = std::move(ends), told](Model &model) { return EndPlanner(model, told).plan(ends); };
}

} // namespace origo::quantize
