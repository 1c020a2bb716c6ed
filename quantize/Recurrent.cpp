#include "quantize/Recurrent.h"

#include <cmath>

namespace origo::quantize {

using Op = BuiltinOperator;
using As = RecurrentOperand::As;

/// Operands of an LSTM: the weights of the first of four normalisations, and of what the result is projected by.
static constexpr unsigned firstNorm = 20, projection = 16;

static bool isLstm(Op code) { return code == Op::LSTM || code == Op::UNIDIRECTIONAL_SEQUENCE_LSTM; }

llvm::ArrayRef<RecurrentOperand> recurrentOperands(Op code) {
  static const RecurrentOperand lstm[] = {{1, As::Weights},
                                          {2, As::Weights},
                                          {3, As::Weights},
                                          {4, As::Weights},
                                          {5, As::Weights},
                                          {6, As::Weights},
                                          {7, As::Weights},
                                          {8, As::Weights},
                                          {9, As::Weights16},
                                          {10, As::Weights16},
                                          {11, As::Weights16},
                                          {20, As::Weights16},
                                          {21, As::Weights16},
                                          {22, As::Weights16},
                                          {23, As::Weights16},
                                          {12, As::Bias, {0, 1}, 20},
                                          {13, As::Bias, {0, 2}, 21},
                                          {14, As::Bias, {0, 3}, 22},
                                          {15, As::Bias, {0, 4}, 23},
                                          {16, As::Weights},
                                          {17, As::Bias, {hidden, 16}},
                                          {18, As::Result},
                                          {19, As::Cell16}};
  static const RecurrentOperand svdf[] = {
      {1, As::Weights}, {2, As::Weights16}, {4, As::State16}, {3, As::Bias, {4, 2}}};
  if (isLstm(code))
    return lstm;
  return code == Op::SVDF ? llvm::ArrayRef(svdf) : std::nullopt;
}

std::string recurrentRefusal(const Operator &op) {
  auto has = [&](unsigned i) { return i < op.numOperands() && op.operand(i); };
  if (op.code == Op::SVDF) {
    const auto *options = op.options.as<circle::SVDFOptions>();
    if (!options || options->fused_activation_function() != circle::ActivationFunctionType::RELU)
      return "in integers the runtime has it with RELU only";
    return {};
  }
  auto activation = circle::ActivationFunctionType::NONE;
  if (const auto *options = op.options.as<circle::UnidirectionalSequenceLSTMOptions>())
    activation = options->fused_activation_function();
  if (const auto *options = op.options.as<circle::LSTMOptions>()) {
    activation = options->fused_activation_function();
    if (options->kernel_type() != circle::LSTMKernelType::FULL)
      return "of kernel type BASIC it has no form in integers";
  }
  if (activation != circle::ActivationFunctionType::TANH)
    return "in integers it has no activation but TANH";
  for (unsigned i = 20; i < op.numOperands(); ++i)
    if (has(i) != has(21) && !(i == 20 && !has(1)))
      return "some of its gates are normalised and some are not";
  return {};
}

bool usesIntermediate(const Operator &op, unsigned i) {
  unsigned user = i + 1 == lstmIntermediates ? projection : firstNorm + i;
  return user < op.numOperands() && op.operand(user);
}

llvm::SmallVector<const Value *, 6> valuesWithin(const Operator &op) {
  llvm::SmallVector<const Value *, 6> values;
  for (const RecurrentOperand &one : recurrentOperands(op.code))
    if ((one.as == As::State16 || one.as == As::Cell16) && one.position < op.numOperands())
      if (const Value *value = op.operand(one.position); value && value->isVariable)
        values.push_back(value);
  // Intermediates are told of where the state is.
  for (auto [i, value] : llvm::enumerate(op.intermediates()))
    if (!values.empty() && i < lstmIntermediates && value && usesIntermediate(op, i))
      values.push_back(value);
  return values;
}

std::optional<float> cellScale(Extremes range) {
  float reach = std::max(-range.min, range.max);
  int exponent = reach > 1 ? static_cast<int>(std::ceil(std::log2(reach))) : 0;
  return exponent <= 6 ? std::optional(std::ldexp(1.f, exponent - 15)) : std::nullopt;
}

} // namespace origo::quantize
