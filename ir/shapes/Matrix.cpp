#include "ir/shapes/Rules.h"

/// Matrix products, among them circle's binary-coded ones.

using namespace origo;
using namespace origo::inference;

namespace {

TensorType fullyConnectedType(const Operator &op, const circle::FullyConnectedOptions &options) {
  TensorType type = typeOf(op, 0);
  if (type == TensorType::UINT8 || type == TensorType::INT8) {
    if (options.weights_format() == circle::FullyConnectedOptionsWeightsFormat::SHUFFLED4x16INT8)
      return TensorType::INT16;
    return statedType(op, type, {TensorType::INT16}); // the runtime can widen
  }
  return type;
}

Answer fullyConnected(const Operator &op) {
  const auto *options = optionsOf<circle::FullyConnectedOptions>(op);
  auto input = shapeOf(op, 0), weights = shapeOf(op, 1);
  if (!options || !input || !weights)
    return noAnswer();
  if (weights->size() != 2)
    return fail(op, "weights of rank " + llvm::Twine(weights->size()) + " instead of 2");
  int32_t units = (*weights)[0], depth = (*weights)[1];
  Shape shape;
  if (options->keep_num_dims()) {
    if (input->empty() || !mergeDim(input->back(), depth))
      return fail(op, "weights for " + llvm::Twine(depth) + " inputs");
    shape = *input;
    shape.back() = units;
  } else {
    auto count = elementCount(*input);
    if (!count || depth == 0 || (*count >= 0 && depth > 0 && *count % depth != 0))
      return fail(op, "weights for " + llvm::Twine(depth) + " inputs");
    int64_t batch = *count >= 0 && depth > 0 ? *count / depth : -1;
    if (llvm::Error error = checkDims(op, {batch, int64_t(units)}, shape))
      return error;
  }
  Results results = one(fullyConnectedType(op, *options), std::move(shape));
  if (op.results().size() == 2)
    results.push_back({TensorType::UINT8, std::move(*input), true}); // the workspace of shuffled weights
  return results;
}

Answer batchMatMul(const Operator &op) {
  const auto *options = optionsOf<circle::BatchMatMulOptions>(op);
  auto a = shapeOf(op, 0), b = shapeOf(op, 1);
  if (!a || !b)
    return noAnswer();
  if (a->size() < 2 || b->size() < 2)
    return fail(op, "an operand of rank below 2");
  bool adjointA = options && options->adjoint_lhs(), adjointB = options && options->adjoint_rhs();
  int32_t columnsA = a->pop_back_val(), rowsA = a->pop_back_val();
  int32_t columnsB = b->pop_back_val(), rowsB = b->pop_back_val();
  if (adjointA)
    std::swap(rowsA, columnsA);
  if (adjointB)
    std::swap(rowsB, columnsB);
  if (!mergeDim(columnsA, rowsB))
    return fail(op, "matrices with inner dimensions " + llvm::Twine(columnsA) + " and " + llvm::Twine(rowsB));
  auto shape = broadcast(*a, *b);
  if (!shape)
    return fail(op, "batch dimensions that do not broadcast");
  shape->append({rowsA, columnsB});
  TensorType type = typeOf(op, 0);
  if (type == TensorType::INT8)
    type = statedType(op, type, {TensorType::INT32}); // the sums themselves
  return one(type, std::move(*shape));
}

/// The clusters of binary-coded weights are pairs; the second numbers add up to the rows.
std::optional<int64_t> clusterRows(const Value *clusters) {
  auto numbers = readIntegers(clusters);
  if (!numbers || numbers->size() % 2 != 0)
    return std::nullopt;
  int64_t rows = 0;
  for (size_t i = 1; i < numbers->size(); i += 2)
    if ((*numbers)[i] < 0 || llvm::AddOverflow(rows, (*numbers)[i], rows))
      return std::nullopt;
  return rows;
}

Answer bcqFullyConnected(const Operator &op) {
  auto input = shapeOf(op, 0);
  auto rows = clusterRows(op.operand(4));
  if (!input || !rows)
    return noAnswer();
  if (input->size() != 2)
    return fail(op, "input of rank " + llvm::Twine(input->size()) + " instead of 2");
  return oneChecked(op, typeOf(op, 0), {*rows, (*input)[1]});
}

Answer bcqGather(const Operator &op) {
  const auto *options = optionsOf<circle::BCQGatherOptions>(op);
  auto indices = shapeOf(op, 2);
  auto rows = clusterRows(op.operand(3));
  if (!options || !indices || !rows)
    return noAnswer();
  auto axis = axisIn(options->axis(), 2);
  if (!axis || options->input_hidden_size() < 0)
    return fail(op, "axis or hidden size out of range");
  // As a gather from a matrix of `rows` by the hidden size.
  llvm::SmallVector<int64_t> dims;
  if (*axis == 1)
    dims.push_back(*rows);
  dims.append(indices->begin(), indices->end());
  if (*axis == 0)
    dims.push_back(options->input_hidden_size());
  return oneChecked(op, typeOf(op, 0), dims);
}

constexpr RuleRow rules[] = {
    {BuiltinOperator::FULLY_CONNECTED, fullyConnected},
    {BuiltinOperator::BATCH_MATMUL, batchMatMul},
    {BuiltinOperator::BCQ_FULLY_CONNECTED, bcqFullyConnected},
    {BuiltinOperator::BCQ_GATHER, bcqGather},
};

} // namespace

llvm::ArrayRef<RuleRow> inference::matrixRules() { return rules; }
