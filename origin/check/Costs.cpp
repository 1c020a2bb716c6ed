#include "origin/check/Context.h"
#include "schema/Macs.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/SmallSet.h"

/// Law 4 on what operators of the source take and cost.
using namespace origo;
using namespace origo::origin;

namespace {

/// Dimensions, negative where they are not known.
std::vector<int64_t> shapeOf(const FileGraph &file, int32_t tensor) {
  if (tensor < 0)
    return {0};
  const circle::Tensor &table = *file.tensors[tensor];
  auto *shape = table.shape(), *signature = table.shape_signature();
  std::vector<int64_t> result;
  for (uint32_t i = 0; shape && i < shape->size(); ++i)
    result.push_back(signature && i < signature->size() && signature->Get(i) < 0 ? -1 : shape->Get(i));
  if (result.empty() && !table.has_rank() && file.kind[tensor] != TensorKind::Constant)
    return {-1};
  return result;
}

uint64_t bytesOf(const FileGraph &file, int32_t tensor) {
  if (file.kind[tensor] == TensorKind::Constant)
    return file.payload(tensor).size;
  uint64_t count = 1;
  for (int64_t size : shapeOf(file, tensor))
    if (size < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(size), &count))
      return SourceCost::unknown;
  auto number = static_cast<int8_t>(file.tensors[tensor]->type());
  auto type = file.tflite() ? fromTflite(tflite::TensorType(number)) : circle::TensorType(number);
  return type ? payloadBytes(*type, count).value_or(SourceCost::unknown) : SourceCost::unknown;
}

SourceCost costOf(const FileGraph &file, uint32_t op) {
  OperatorShapes shapes{file.operatorName(op), {}, {}};
  SourceCost cost{0, 0};
  llvm::SmallSet<int32_t, 8> seen;
  auto add = [&](std::vector<std::vector<int64_t>> &list) {
    return [&](int32_t tensor) {
      list.push_back(shapeOf(file, tensor));
      if (tensor < 0 || !seen.insert(tensor).second || cost.bytes == SourceCost::unknown)
        return;
      uint64_t bytes = bytesOf(file, tensor);
      if (bytes == SourceCost::unknown || __builtin_add_overflow(cost.bytes, bytes, &cost.bytes))
        cost.bytes = SourceCost::unknown;
    };
  };
  file.forEachInput(op, add(shapes.inputs));
  file.forEachOutput(op, add(shapes.outputs));
  cost.macs = macs(shapes).value_or(SourceCost::unknown);
  for (uint64_t *number : {&cost.macs, &cost.bytes})
    if (*number > uint64_t(INT64_MAX)) // no reader of JSON would take it for a number
      *number = SourceCost::unknown;
  return cost;
}

std::string words(uint64_t number) { return number == SourceCost::unknown ? "unknown" : std::to_string(number); }

} // namespace

void origin::checkCosts(CheckContext &context) {
  const FileGraph &file = *context.source;
  uint32_t op = 0;
  for (const SourceSubgraph &rows : context.map.source.subgraphs)
    for (size_t i = 0; i < rows.operators.size(); ++i, ++op) {
      if (i < rows.operandEnds.size()) {
        auto stated = rows.operandsOf(i);
        size_t next = 0;
        bool same = true;
        file.forEachInput(op, [&](int32_t tensor) { same &= next < stated.size() && stated[next] == tensor, ++next; });
        if (!same || next != stated.size())
          context.report.add(
              4, [&] { return context.sourceOperator(op) + " has other operands in the file than in the map"; });
      }
      if (i >= rows.costs.size())
        continue;
      SourceCost actual = costOf(file, op), stated = rows.costs[i];
      for (auto [what, is, says] :
           {std::tuple("macs", actual.macs, stated.macs), {"bytes", actual.bytes, stated.bytes}})
        if (is != says)
          context.report.add(4, [&, what = what, is = is, says = says] {
            return context.sourceOperator(op) + " costs " + words(is) + " " + what + " by the file, but " +
                   words(says) + " by the map";
          });
    }
}
