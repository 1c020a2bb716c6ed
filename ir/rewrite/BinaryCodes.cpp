#include "ir/rewrite/BinaryCodes.h"

#include "ir/ConstantView.h"

#include <cstring>

namespace origo::rewrite {

/// What output 0 begins with; it ends with the same number above zero.
constexpr int32_t mark = -1999999973;

/// The dense constant that an output is, or is a reshaped one of.
static Value *constantAt(Value *output) {
  if (output && output->producer() && output->producer()->code == BuiltinOperator::RESHAPE)
    output = output->producer()->operand(0);
  bool isDense = output && output->isConstant() && !output->sparsity() && !output->compression &&
                 !output->externalBuffer && output->payload().hasBytes() && output->elementCount() &&
                 payloadBytes(output->type, *output->elementCount()) == output->payload().size();
  return isDense ? output : nullptr;
}

static uint32_t element(const uint8_t *bytes, uint64_t i) {
  return llvm::support::endian::read32le(bytes + i * sizeof(uint32_t));
}

/// The same for a matrix and for what transposes it: what sum its elements have, each one mixed.
static uint64_t hashOf(const Value &matrix) {
  const uint8_t *bytes = matrix.payload().bytes().data();
  uint64_t count = *matrix.elementCount(), sum = count;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t mixed = (element(bytes, i) + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
    sum += (mixed ^ mixed >> 29) * 0x94d049bb133111eb;
  }
  return sum >> 1; // the greatest numbers are no keys
}

static bool isMatrix(const Value &value) { return value.type == TensorType::FLOAT32 && value.rank() == 2; }

/// Has `weights` the elements of the bundle's matrix, in its order, or transposed? One of three dimensions counts as
/// one of two: its first or its last dimension stays.
static bool isOf(const Value &weights, const BinaryCodes::Bundle &bundle) {
  const Value &matrix = *bundle.matrix;
  if (weights.elementCount() != matrix.elementCount())
    return false;
  const uint8_t *now = weights.payload().bytes().data(), *then = matrix.payload().bytes().data();
  int64_t rows = weights.shape[0], columns = weights.shape[1];
  if (bundle.rowsFirst)
    return matrix.shape == weights.shape && std::memcmp(now, then, weights.payload().size()) == 0;
  if (matrix.shape[0] != columns && matrix.shape[matrix.rank() - 1] != rows)
    return false;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      if (element(now, row * columns + column) != element(then, column * rows + row))
        return false;
  return true;
}

BinaryCodes::BinaryCodes(const Subgraph &graph) {
  llvm::ArrayRef<Value *> outputs = graph.outputs;
  auto header = outputs.empty() ? std::nullopt : readConstant<int32_t>(constantAt(outputs[0]));
  if (!header || header->size() < 5 || header->front() != mark || (*header)[1] != 1 || header->back() != -mark)
    return;
  int64_t count = (*header)[2], length = (*header)[3], behind = static_cast<int64_t>(outputs.size()) - 1 - count;
  if (count < 0 || length < 1 || behind < 0 || behind % length != 0)
    return;
  own = outputs.slice(1, count);
  enum { DoWX, Scales, Binary, Clusters, Sizes, Bits, Matrix, Needed };
  for (int64_t at = 1 + count; length >= Needed && at < static_cast<int64_t>(outputs.size()); at += length) {
    Value *parts[Needed];
    for (int kind = 0; kind < Needed; ++kind)
      parts[kind] = constantAt(outputs[at + kind]);
    if (llvm::is_contained(parts, nullptr))
      continue;
    std::optional<int64_t> clusters = readInteger(parts[Clusters]);
    auto isList = [&](const Value *value) {
      return value->type == TensorType::INT32 && value->elementCount() == clusters;
    };
    const Value &matrix = *parts[Matrix];
    if (parts[DoWX]->type != TensorType::BOOL || parts[DoWX]->elementCount() != 1 ||
        parts[Scales]->type != TensorType::FLOAT32 || parts[Binary]->type != TensorType::INT32 || !clusters ||
        !isList(parts[Sizes]) || !isList(parts[Bits]) || matrix.type != TensorType::FLOAT32)
      continue;
    bool rowsFirst = parts[DoWX]->payload().bytes()[0] != 0;
    if (matrix.rank() != 2 && (rowsFirst || matrix.rank() != 3))
      continue;
    byElements[hashOf(matrix)].push_back(static_cast<unsigned>(bundles.size()));
    bundles.push_back({rowsFirst, parts[Scales], parts[Binary], parts[Sizes], parts[Bits], &matrix});
  }
}

const BinaryCodes::Bundle *BinaryCodes::of(const Value &weights) const {
  if (bundles.empty() || !isMatrix(weights))
    return nullptr;
  auto found = byElements.find(hashOf(weights));
  if (found != byElements.end())
    for (unsigned i : found->second)
      if (bundles[i].scales->subgraph() == weights.subgraph() && isOf(weights, bundles[i]))
        return &bundles[i];
  return nullptr;
}

} // namespace origo::rewrite
