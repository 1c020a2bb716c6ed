#include "ir/shapes/Rules.h"

/// Recurrent networks.

using namespace origo;
using namespace origo::inference;

namespace {

/// Dimension `dim` of an operand of rank 2; nothing if its shape is not known, an error for another rank.
llvm::Expected<std::optional<int32_t>> matrixDim(const ShapeSite &op, unsigned operand, unsigned dim) {
  auto shape = op.shape(operand);
  if (!shape)
    return std::nullopt;
  if (shape->size() != 2)
    return op.fail("operand " + llvm::Twine(operand) + " is not a matrix");
  return (*shape)[dim];
}

/// The input's dimensions but the last, which becomes the number of units, read from a weight matrix.
Answer withUnits(const ShapeSite &op, size_t rank, unsigned weights, unsigned dim) {
  auto input = op.shape(0);
  auto units = matrixDim(op, weights, dim);
  if (!units)
    return units.takeError();
  if (!input || !*units)
    return noAnswer();
  if (input->size() != rank)
    return op.fail("input of rank " + llvm::Twine(input->size()) + " instead of " + llvm::Twine(rank));
  input->back() = **units;
  return one(op.type(0), std::move(*input));
}

Answer rnn(const ShapeSite &op) { return withUnits(op, 2, 1, 0); }
Answer sequenceRnn(const ShapeSite &op) { return withUnits(op, 3, 1, 0); }

/// Operand 8 is recurrent_to_output_weights, [cells, units], or the diagonal of it.
Answer sequenceLstm(const ShapeSite &op) {
  auto input = op.shape(0), weights = op.shape(8);
  if (!op.options<circle::UnidirectionalSequenceLSTMOptions>().diagonal_recurrent_tensors() || !input || !weights)
    return withUnits(op, 3, 8, 1);
  if (input->size() != 3 || weights->size() != 1)
    return op.fail("input of rank " + llvm::Twine(input->size()) + " or weights that are no diagonal");
  input->back() = weights->front();
  return one(op.type(0), std::move(*input));
}

/// input, previous activation, weights, biases, previous state: two results that go round, and two temporaries.
Answer basicLstm(const ShapeSite &op) {
  auto input = op.shape(0), activation = op.shape(1), state = op.shape(4);
  if (!input || !activation || !state)
    return noAnswer();
  if (input->size() != 2 || activation->size() != 2)
    return op.fail("input or activation is not a matrix");
  int64_t batch = (*input)[0], inputs = (*input)[1], units = (*activation)[1];
  Shape joined, gates;
  if (llvm::Error error = checkDims(op, {batch, inputs < 0 || units < 0 ? -1 : inputs + units}, joined))
    return error;
  if (llvm::Error error = checkDims(op, {batch, units < 0 ? -1 : 4 * units}, gates))
    return error;
  TensorType type = op.type(0), wide = type == TensorType::UINT8 ? TensorType::INT16 : TensorType::FLOAT32;
  return Results{{type, std::move(*activation), true},
                 {op.type(4), std::move(*state), true},
                 {type, std::move(joined), true},
                 {wide, std::move(gates), true}};
}

Answer lstm(const ShapeSite &op) {
  if (op.numOperands() == 5)
    return basicLstm(op);
  return op.results().size() == 1 ? withUnits(op, 2, 8, 1) : Answer(noAnswer());
}

/// Forward and backward results, or one with the units of both.
Answer bidirectional(const ShapeSite &op, unsigned forward, unsigned backward, unsigned dim, bool merged) {
  auto input = op.shape(0);
  auto forwardUnits = matrixDim(op, forward, dim), backwardUnits = matrixDim(op, backward, dim);
  if (!forwardUnits || !backwardUnits)
    return firstError(forwardUnits, backwardUnits);
  if (!input || !*forwardUnits || !*backwardUnits)
    return noAnswer();
  if (input->size() != 3)
    return op.fail("input of rank " + llvm::Twine(input->size()) + " instead of 3");
  int64_t first = **forwardUnits, second = **backwardUnits;
  TensorType type = op.type(0);
  if (merged)
    return oneChecked(op, type, {(*input)[0], (*input)[1], first < 0 || second < 0 ? -1 : first + second});
  Results results(2, ResultType{type, std::move(*input), true});
  results[0].shape.back() = static_cast<int32_t>(first);
  results[1].shape.back() = static_cast<int32_t>(second);
  return results;
}

Answer bidirectionalRnn(const ShapeSite &op) {
  const auto &options = op.options<circle::BidirectionalSequenceRNNOptions>();
  return bidirectional(op, 1, 5, 0, options.merge_outputs());
}

/// Operands 8 and 25 are the two recurrent_to_output_weights.
Answer bidirectionalLstm(const ShapeSite &op) {
  const auto &options = op.options<circle::BidirectionalSequenceLSTMOptions>();
  return bidirectional(op, 8, 25, 1, options.merge_outputs());
}

Answer svdf(const ShapeSite &op) {
  const auto &options = op.options<circle::SVDFOptions>();
  auto input = op.shape(0);
  auto filters = matrixDim(op, 1, 0);
  if (!filters)
    return filters.takeError();
  if (!input || !*filters)
    return noAnswer();
  if (input->size() != 2)
    return op.fail("input of rank " + llvm::Twine(input->size()) + " instead of 2");
  if (options.rank() <= 0 || (**filters >= 0 && **filters % options.rank() != 0))
    return op.fail(llvm::Twine(**filters) + " filters of rank " + llvm::Twine(options.rank()));
  input->back() = **filters < 0 ? -1 : **filters / options.rank();
  return one(op.type(0), std::move(*input));
}

/// Circle's: the input is [steps, batch, features], the state [batch, units].
Answer gru(const ShapeSite &op) {
  const auto &options = op.options<circle::GRUOptions>();
  auto input = op.shape(0), state = op.shape(5);
  if (!input || !state)
    return noAnswer();
  if (input->size() != 3 || state->empty())
    return op.fail("input of rank " + llvm::Twine(input->size()) + " instead of 3");
  if (!options.return_sequences())
    input->front() = 1;
  input->back() = state->back();
  return one(op.type(0), std::move(*input));
}

constexpr RuleRow recurrentRows[] = {
    {BuiltinOperator::RNN, rnn},
    {BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_RNN, sequenceRnn},
    {BuiltinOperator::BIDIRECTIONAL_SEQUENCE_RNN, bidirectionalRnn},
    {BuiltinOperator::LSTM, lstm},
    {BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM, sequenceLstm},
    {BuiltinOperator::BIDIRECTIONAL_SEQUENCE_LSTM, bidirectionalLstm},
    {BuiltinOperator::SVDF, svdf},
    {BuiltinOperator::GRU, gru},
};

} // namespace

llvm::ArrayRef<RuleRow> inference::recurrentRules() { return recurrentRows; }
