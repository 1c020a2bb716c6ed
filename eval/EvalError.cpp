#include "eval/EvalError.h"

namespace origo::eval {

char EvalError::ID;

llvm::StringRef errorCodeName(ErrorCode code) {
  switch (code) {
  case ErrorCode::UnknownName:
    return "unknown-name";
  case ErrorCode::MissingInput:
    return "missing-input";
  case ErrorCode::BadInput:
    return "bad-input";
  case ErrorCode::BadOutput:
    return "bad-output";
  case ErrorCode::BadOperand:
    return "bad-operand";
  case ErrorCode::BadGraph:
    return "bad-graph";
  case ErrorCode::Unsupported:
    return "unsupported";
  case ErrorCode::MemoryLimit:
    return "memory-limit";
  case ErrorCode::IterationLimit:
    return "iteration-limit";
  case ErrorCode::Timeout:
    return "timeout";
  }
  return "";
}

llvm::StringRef phaseName(EvalPhase phase) {
  return phase == EvalPhase::Build ? "build" : phase == EvalPhase::Compile ? "compile" : "run";
}

llvm::Error evalError(ErrorCode code, EvalPhase phase, const llvm::Twine &message) {
  return llvm::make_error<EvalError>(code, phase, Place{}, message.str());
}

llvm::Error evalError(ErrorCode code, EvalPhase phase, const Operator &op, int operand, const llvm::Twine &message,
                      std::string expected, std::string actual) {
  Place place;
  if (op.subgraph())
    place.subgraph = static_cast<int>(op.subgraph()->index);
  place.op = static_cast<int>(op.index);
  place.opName = op.opName();
  place.name = op.customCode().str();
  std::string operandName, text;
  if (operand >= 0) {
    if (const OperatorInfo *info = op.info(); info && !info->operands.empty()) {
      size_t last = info->operands.size() - 1;
      operandName = info->operands[std::min<size_t>(operand, last)].name.str();
    }
    text = "operand " + std::to_string(operand) + (operandName.empty() ? "" : " (" + operandName + ")") + ": ";
    if (const Value *value = op.operand(operand)) {
      place.tensor = static_cast<int>(value->index);
      place.name = value->name.str();
    }
  }
  text += message.str();
  if (!expected.empty())
    text += "; expected " + expected + (actual.empty() ? "" : ", is " + actual);
  auto error = std::make_unique<EvalError>(code, phase, std::move(place), std::move(text));
  error->operand = std::move(operandName);
  error->expected = std::move(expected);
  error->actual = std::move(actual);
  if (op.subgraph())
    op.subgraph()->model().sets.forEach(op.origins, [&](uint32_t id) { error->origins.push_back(id); });
  return llvm::Error(std::move(error));
}

std::string shapeText(llvm::ArrayRef<int32_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "," : "") + (shape[i] < 0 ? std::string("?") : std::to_string(shape[i]));
  return text + "]";
}

} // namespace origo::eval
