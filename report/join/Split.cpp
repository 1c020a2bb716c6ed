#include "report/join/Split.h"

#include "schema/Macs.h"
#include "schema/TensorTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace origo;
using namespace origo::report;
using namespace origo::origin;

std::vector<uint64_t> report::divide(uint64_t total, llvm::ArrayRef<uint64_t> weights) {
  // 2^64 weights of 64 bits fit in 128, and so does a total times a weight.
  unsigned __int128 sum = 0;
  for (uint64_t weight : weights)
    sum += weight;
  std::vector<uint64_t> parts;
  uint64_t given = 0;
  for (uint64_t weight : weights) {
    parts.push_back(static_cast<uint64_t>(static_cast<unsigned __int128>(total) * weight / sum));
    given += parts.back();
  }
  for (size_t i = 0; given < total; ++i, ++given)
    ++parts[i];
  return parts;
}

namespace {

uint64_t saturatingSum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

std::vector<int64_t> shapeOf(const FileGraph &graph, int32_t tensor) {
  if (tensor < 0)
    return {0};
  const auto *shape = graph.tensors[tensor]->shape();
  return shape ? std::vector<int64_t>(shape->begin(), shape->end()) : std::vector<int64_t>();
}

OperatorShapes shapesOf(const FileGraph &graph, uint32_t op) {
  OperatorShapes shapes{graph.operatorName(op), {}, {}};
  graph.forEachInput(op, [&](int32_t tensor) { shapes.inputs.push_back(shapeOf(graph, tensor)); });
  graph.forEachOutput(op, [&](int32_t tensor) { shapes.outputs.push_back(shapeOf(graph, tensor)); });
  return shapes;
}

} // namespace

std::optional<uint64_t> report::macsOf(const FileGraph &graph, uint32_t op) { return macs(shapesOf(graph, op)); }

namespace {

uint64_t bytesOf(const FileGraph &graph, int32_t tensor) {
  if (tensor < 0)
    return 0;
  uint64_t bits = bitsPerElement(static_cast<circle::TensorType>(graph.tensors[tensor]->type())).value_or(8);
  for (int64_t dim : shapeOf(graph, tensor))
    if (dim < 0 || __builtin_mul_overflow(bits, static_cast<uint64_t>(dim), &bits))
      return 0;
  return bits / 8 + (bits % 8 != 0);
}

/// What an operator reads and writes.
uint64_t trafficOf(const FileGraph &graph, uint32_t op) {
  uint64_t bytes = 0;
  auto add = [&](int32_t tensor) { bytes = saturatingSum(bytes, bytesOf(graph, tensor)); };
  graph.forEachInput(op, add);
  graph.forEachOutput(op, add);
  return bytes;
}

} // namespace

uint64_t SplitWeights::of(uint32_t id, uint32_t subgraph, llvm::ArrayRef<uint32_t> operators) {
  switch (rule) {
  case SplitRule::Equal:
    return 1;
  case SplitRule::Measured: {
    auto time = measured.find(id);
    if (time == measured.end())
      guessed.insert(id);
    return time == measured.end() ? 1 : std::max<uint64_t>(1, time->second);
  }
  case SplitRule::Macs:
    return std::max<uint64_t>(1, macsOf(id, subgraph, operators));
  case SplitRule::Bytes:
    return std::max<uint64_t>(1, bytesOf(id, subgraph, operators));
  }
  return 1;
}

uint64_t SplitWeights::macsOf(uint32_t id, uint32_t subgraph, llvm::ArrayRef<uint32_t> operators) {
  if (source && id < source->operators.size()) {
    auto known = macs(shapesOf(*source, id));
    if (!known)
      guessed.insert(id);
    return known.value_or(1);
  }
  const SourceOperator *op = map.source.findOperator(id);
  if (!op || !multiplies(op->op.str()))
    return 0;
  // What fusing puts around a matrix product leaves its shapes alone: the written operator multiplies as often as each
  // origin that multiplies at all. There are several where duplicates became one; that they are, the map does not say.
  uint64_t sum = 0;
  for (uint32_t index : operators) {
    const OperatorRow *row = map.target.findOperator(subgraph, index);
    if (!row || !llvm::is_contained(row->origins, id))
      continue;
    size_t sharers = llvm::count_if(row->origins, [&](uint32_t other) {
      const SourceOperator *from = map.source.findOperator(other);
      return from && multiplies(from->op.str());
    });
    std::optional<uint64_t> known;
    if (target && subgraph < target->subgraphs.size() && index < target->subgraphs[subgraph].operatorCount)
      known = macs(shapesOf(*target, target->subgraphs[subgraph].firstOperator + index));
    if (!known || sharers > 1)
      guessed.insert(id);
    sum = saturatingSum(sum, known.value_or(0));
  }
  return sum;
}

uint64_t SplitWeights::bytesOf(uint32_t id, uint32_t subgraph, llvm::ArrayRef<uint32_t> operators) {
  if (source && id < source->operators.size())
    return trafficOf(*source, id);
  // Each origin is taken for an equal part of what the written operators read and write.
  guessed.insert(id);
  uint64_t sum = 0;
  for (uint32_t index : operators) {
    const OperatorRow *row = map.target.findOperator(subgraph, index);
    if (row && llvm::is_contained(row->origins, id) && target && subgraph < target->subgraphs.size() &&
        index < target->subgraphs[subgraph].operatorCount)
      sum = saturatingSum(sum,
                          trafficOf(*target, target->subgraphs[subgraph].firstOperator + index) / row->origins.size());
  }
  return sum;
}
