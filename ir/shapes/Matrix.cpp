#include "ir/shapes/Rules.h"

/// Matrix products, among them circle's binary-coded ones.

using namespace origo;
using namespace origo::inference;

namespace {

TensorType fullyConnectedType(const ShapeSite &op, const circle::FullyConnectedOptions &options) {
  TensorType type = op.type(0);
  if (type == TensorType::UINT8 || type == TensorType::INT8) {
    if (options.weights_format() == circle::FullyConnectedOptionsWeightsFormat::SHUFFLED4x16INT8)
      return TensorType::INT16;
    return statedType(op, type, {TensorType::INT16}); // the runtime can widen
  }
  return type;
}

Answer fullyConnected(const ShapeSite &op) {
  const auto &options = op.options<circle::FullyConnectedOptions>();
  auto input = op.shape(0), weights = op.shape(1);
  if (!input || !weights)
    return noAnswer();
  if (weights->size() != 2)
    return op.fail("weights of rank " + llvm::Twine(weights->size()) + " instead of 2");
  int32_t units = (*weights)[0], depth = (*weights)[1];
  if (depth == 0)
    return op.fail("weights for no inputs");
  Shape shape;
  if (options.keep_num_dims()) {
    if (input->empty() || !mergeDim(input->back(), depth))
      return op.fail("weights for " + llvm::Twine(depth) + " inputs");
    shape = *input;
    shape.back() = units;
  } else {
    auto count = elementCount(*input);
    if (!count || (*count >= 0 && depth > 0 && *count % depth != 0))
      return op.fail("weights for " + llvm::Twine(depth) + " inputs");
    int64_t batch = *count >= 0 && depth > 0 ? *count / depth : -1;
    if (llvm::Error error = checkDims(op, {batch, int64_t(units)}, shape))
      return error;
  }
  Results results = one(fullyConnectedType(op, options), std::move(shape));
  if (op.results().size() == 2)
    results.push_back({TensorType::UINT8, std::move(*input), true}); // the workspace of shuffled weights
  return results;
}

Answer batchMatMul(const ShapeSite &op) {
  const auto &options = op.options<circle::BatchMatMulOptions>();
  auto a = op.shape(0), b = op.shape(1);
  if (!a || !b)
    return noAnswer();
  if (a->size() < 2 || b->size() < 2)
    return op.fail("an operand of rank below 2");
  bool adjointA = options.adjoint_lhs(), adjointB = options.adjoint_rhs();
  int32_t columnsA = a->pop_back_val(), rowsA = a->pop_back_val();
  int32_t columnsB = b->pop_back_val(), rowsB = b->pop_back_val();
  if (adjointA)
    std::swap(rowsA, columnsA);
  if (adjointB)
    std::swap(rowsB, columnsB);
  if (!mergeDim(columnsA, rowsB))
    return op.fail("matrices with inner dimensions " + llvm::Twine(columnsA) + " and " + llvm::Twine(rowsB));
  auto shape = broadcast(*a, *b);
  if (!shape)
    return op.fail("batch dimensions that do not broadcast");
  shape->append({rowsA, columnsB});
  TensorType type = op.type(0);
  if (type == TensorType::INT8)
    type = statedType(op, type, {TensorType::INT32}); // the sums themselves
  return one(type, std::move(*shape));
}

/// The clusters of binary-coded weights are pairs, [bits, rows]; a row has a scale for each of its bits. How many rows
/// there are, or nothing if that is not known.
llvm::Expected<std::optional<int64_t>> clusterRows(const ShapeSite &op, unsigned clusters, unsigned scales) {
  auto numbers = op.values(clusters);
  if (!numbers || numbers->size() % 2 != 0)
    return std::nullopt;
  int64_t rows = 0, codes = 0;
  for (size_t i = 0; i < numbers->size(); i += 2) {
    int64_t bits = (*numbers)[i], size = (*numbers)[i + 1];
    if (bits < 1 || bits > 32 || size < 0 || size > std::numeric_limits<int32_t>::max())
      return op.fail("impossible cluster of " + llvm::Twine(size) + " rows of " + llvm::Twine(bits) + " bits");
    rows += size;
    codes += bits * size;
  }
  auto shape = op.shape(scales);
  if (auto count = shape ? elementCount(*shape) : -1; count && *count >= 0 && *count != codes)
    return op.fail("clusters of " + llvm::Twine(codes) + " codes for " + llvm::Twine(*count) + " scales");
  return rows;
}

Answer bcqFullyConnected(const ShapeSite &op) {
  auto input = op.shape(0);
  auto rows = clusterRows(op, 4, 1);
  if (!rows)
    return rows.takeError();
  if (!input || !*rows)
    return noAnswer();
  if (input->size() != 2)
    return op.fail("input of rank " + llvm::Twine(input->size()) + " instead of 2");
  return oneChecked(op, op.type(0), {**rows, (*input)[1]});
}

Answer bcqGather(const ShapeSite &op) {
  const auto &options = op.options<circle::BCQGatherOptions>();
  auto indices = op.shape(2);
  auto rows = clusterRows(op, 3, 0);
  if (!rows)
    return rows.takeError();
  if (!indices || !*rows)
    return noAnswer();
  auto axis = axisIn(options.axis(), 2);
  if (!axis || options.input_hidden_size() < 0)
    return op.fail("axis or hidden size out of range");
  // As a gather from a matrix of `rows` by the hidden size.
  llvm::SmallVector<int64_t> dims;
  if (*axis == 1)
    dims.push_back(**rows);
  dims.append(indices->begin(), indices->end());
  if (*axis == 0)
    dims.push_back(options.input_hidden_size());
  return oneChecked(op, op.type(0), dims);
}

constexpr RuleRow matrixRows[] = {
    {BuiltinOperator::FULLY_CONNECTED, fullyConnected},
    {BuiltinOperator::BATCH_MATMUL, batchMatMul},
    {BuiltinOperator::BCQ_FULLY_CONNECTED, bcqFullyConnected},
    {BuiltinOperator::BCQ_GATHER, bcqGather},
};

} // namespace

llvm::ArrayRef<RuleRow> inference::matrixRules() { return matrixRows; }
