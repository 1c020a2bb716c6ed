#include "origin/Sha256.h"
#include "origin/check/Context.h"

#include "llvm/ADT/DenseMap.h"

/// Inputs of the source that are bound: they are constants of all that follows.
using namespace origo;
using namespace origo::origin;

namespace {

/// Law 2: they are inputs of the first subgraph, in order, once each.
bool isOne(const CheckContext &context, uint32_t tensor) {
  return !context.map.source.subgraphs.empty() && tensor < context.map.source.subgraphs[0].tensors.size() &&
         context.map.source.subgraphs[0].tensors[tensor].kind == TensorKind::Input;
}

/// Law 8, of a tensor that holds a bound input: it is not given, and has the bytes.
void checkHolder(CheckContext &context, uint32_t tensor, const MapRelation &relation, const BoundInput &input) {
  const FileGraph &target = context.target;
  auto add = [&](const char *what) {
    context.report.add(
        8, [&] { return context.writtenTensor(tensor) + " is " + context.sourceTensor(input.tensor) + what; });
  };
  if (target.kind[tensor] == TensorKind::Input && target.subgraphOfTensor(tensor) == 0)
    return add(", which is bound, and yet it is given");
  if (target.kind[tensor] != TensorKind::Constant || !relation.exact || !relation.steps.empty())
    return;
  ModelView::Bytes bytes = target.payload(tensor);
  if (bytes.size && !bytes.data)
    return;
  Sha256 sha;
  sha.update(llvm::ArrayRef(bytes.data, bytes.size));
  if (sha.final() != input.bytes)
    add(", which is bound to other bytes");
}

} // namespace

void origin::checkBound(CheckContext &context, FileGraph *source) {
  llvm::ArrayRef<BoundInput> bound = context.map.source.bound;
  llvm::DenseMap<uint64_t, const BoundInput *> known; // of all ids, those that are reserved as well
  for (size_t i = 0; i < bound.size(); ++i) {
    uint32_t tensor = bound[i].tensor;
    if (!isOne(context, tensor) || (i && bound[i - 1].tensor >= tensor)) {
      context.report.add(2, [&] {
        return context.sourceTensor(tensor) + " is said to be bound, but it is no input of the source, or out of order";
      });
      continue;
    }
    known[tensor] = &bound[i];
    context.sourceKind[tensor] = TensorKind::Constant;
    if (source && tensor < source->kind.size())
      source->kind[tensor] = TensorKind::Constant;
  }
  for (uint32_t tensor = 0; !known.empty() && tensor < context.tensorRow.size(); ++tensor)
    if (const TensorRow *row = context.tensorRow[tensor])
      for (const MapRelation &relation : row->relations)
        if (const BoundInput *input = known.lookup(relation.tensor))
          checkHolder(context, tensor, relation, *input);
}
