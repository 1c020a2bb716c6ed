#include "eval/Builder.h"

#include "eval/Kernels.h"
#include "ir/Versions.h"
#include "ir/shapes/Inference.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::eval {

Builder::Builder() : model(std::make_unique<Model>()), graph(&model->addSubgraph()) { graph->name = "main"; }

Value *Builder::value(llvm::StringRef name, TensorType type, llvm::ArrayRef<int32_t> shape,
                      const std::optional<Quantization> &quantization) {
  Value &made = model->addValue(*graph);
  made.index = static_cast<unsigned>(graph->values.size() - 1);
  made.name = model->copy(name);
  made.type = type;
  made.hasShape = made.hasRank = true;
  if (llvm::is_contained(shape, -1))
    made.setShapeSignature(model->copy(shape));
  made.shape = shape;
  made.shape.unknownToOne();
  if (quantization) {
    Quantization copied = *quantization;
    copied.scale = model->copy(quantization->scale);
    copied.zeroPoint = model->copy(quantization->zeroPoint);
    copied.min = model->copy(quantization->min);
    copied.max = model->copy(quantization->max);
    model->setQuantization(made, copied);
  }
  return &made;
}

Value *Builder::input(llvm::StringRef name, TensorType type, llvm::ArrayRef<int32_t> shape,
                      std::optional<Quantization> quantization) {
  Value *made = value(name, type, shape, quantization);
  inputs.push_back(made);
  return made;
}

llvm::Expected<Value *> Builder::constant(llvm::StringRef name, TensorType type, llvm::ArrayRef<int32_t> shape,
                                          llvm::ArrayRef<uint8_t> bytes, std::optional<Quantization> quantization) {
  uint64_t count = 1;
  bool fits = true;
  for (int32_t dim : shape)
    fits &= dim >= 0 && !__builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count);
  std::optional<uint64_t> size = fits ? payloadBytes(type, count) : std::nullopt;
  if (!size || *size != bytes.size()) {
    broken = true;
    return evalError(ErrorCode::BadGraph, EvalPhase::Build,
                     "constant \"" + printable(name) + "\": " + llvm::Twine(bytes.size()) +
                         " bytes do not fill its shape");
  }
  Value *made = value(name, type, shape, quantization);
  made->buffer = &model->addBuffer(Payload::owned(std::string(bytes.begin(), bytes.end())));
  return made;
}

llvm::Expected<Value *> Builder::op(BuiltinOperator code, llvm::ArrayRef<Value *> operands, llvm::StringRef label,
                                    const ResultAs &as) {
  auto results = ops(code, operands, label, {}, {as});
  if (!results)
    return results.takeError();
  return results->front();
}

llvm::Expected<llvm::SmallVector<Value *, 2>> Builder::ops(BuiltinOperator code, llvm::ArrayRef<Value *> operands,
                                                           llvm::StringRef label, Options options,
                                                           llvm::ArrayRef<ResultAs> as) {
  const OperatorInfo *info = operatorInfo(code);
  broken = true; // until it is known to be right
  auto refuse = [&](ErrorCode error, int operand, const llvm::Twine &message) {
    Place place{0, static_cast<int>(operatorCount), -1, label.str(), info ? info->name.str() : ""};
    std::string name;
    if (info && operand >= 0 && !info->operands.empty())
      name = info->operands[std::min<size_t>(operand, info->operands.size() - 1)].name.str();
    std::string text = operand < 0 ? "" : "operand " + std::to_string(operand) + " (" + name + "): ";
    auto made = std::make_unique<EvalError>(error, EvalPhase::Build, std::move(place), text + message.str());
    made->operand = name;
    return llvm::Error(std::move(made));
  };
  if (!info)
    return refuse(ErrorCode::Unsupported, -1, "there is no such operator");
  if (!info->accepts(static_cast<unsigned>(operands.size())))
    return refuse(ErrorCode::BadOperand, -1, llvm::Twine(operands.size()) + " operands are too many or too few");
  for (size_t i = 0; i < operands.size(); ++i) {
    const OperandInfo &row = info->operands[std::min(i, info->operands.size() - 1)];
    if (!operands[i] && !row.optional)
      return refuse(ErrorCode::BadOperand, static_cast<int>(i), "is missing");
    if (operands[i] && operands[i]->subgraph() != graph)
      return refuse(ErrorCode::BadOperand, static_cast<int>(i), "belongs to another builder");
  }
  if (options.table && info->options != static_cast<circle::BuiltinOptions>(options.member))
    return refuse(ErrorCode::BadOperand, -1, "options of another operator");

  llvm::SmallVector<Value *, 2> results;
  TensorType type = operands.empty() || !operands[0] ? TensorType::FLOAT32 : operands[0]->type;
  for (const ResultAs &result : as)
    results.push_back(value(label, result.type.value_or(type), {}, result.quantization));
  Operator &made = model->addOperator(*graph, code, operands, results);
  made.index = operatorCount;
  // A table of defaults rather than none, as other writers of models do.
  if (options.table)
    made.options = options;
  else if (info->options != circle::BuiltinOptions::NONE)
    made.options = model->editOptions({static_cast<uint8_t>(info->options), nullptr}, {});
  auto inferred = inferResults(made);
  if (!inferred)
    return refuse(ErrorCode::BadOperand, -1, llvm::toString(inferred.takeError()));
  for (size_t i = 0; i < results.size(); ++i) {
    results[i]->hasRank = results[i]->hasShape = i < inferred->size() && (*inferred)[i].rankKnown;
    if (i >= inferred->size())
      continue;
    const ResultType &said = (*inferred)[i];
    if (!as[i].type)
      results[i]->type = said.type;
    if (!said.rankKnown)
      continue;
    if (llvm::is_contained(said.shape, -1))
      results[i]->setShapeSignature(model->copy(llvm::ArrayRef<int32_t>(said.shape)));
    results[i]->shape = said.shape;
    results[i]->shape.unknownToOne();
  }
  if (!findKernel(made) && !isControlFlow(code))
    return refuse(ErrorCode::Unsupported, -1, "no kernel for " + typesOf(made));
  made.version = lowestVersion(made);
  ++operatorCount;
  broken = false;
  return results;
}

llvm::Expected<std::unique_ptr<Model>> Builder::finish(llvm::ArrayRef<Value *> outputs) {
  if (!model || broken)
    return evalError(ErrorCode::BadGraph, EvalPhase::Build,
                     model ? "an earlier call was refused" : "the builder is used up");
  for (const Value *output : outputs)
    if (!output || output->subgraph() != graph)
      return evalError(ErrorCode::BadGraph, EvalPhase::Build, "an output is missing or belongs to another builder");
  model->setInputs(*graph, inputs);
  model->setOutputs(*graph, outputs);
  model->keep(std::make_shared<std::deque<flatbuffers::FlatBufferBuilder>>(std::move(tables)));
  model->number();
  model->becomeSource();
  return std::move(model);
}

} // namespace origo::eval
