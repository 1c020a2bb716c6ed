#include "ir/text/Parser.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace origo::text {

using llvm::StringRef;
using llvm::Twine;

/// What import demands of files, for reading and running subgraphs recurses.
constexpr unsigned maxCallDepth = 64;

bool Parser::finish() {
  if (graphs.empty())
    return fail("the model has no subgraph");
  if (!data.finish() || !addBuffers() || !checkExternals() || !checkCalls())
    return false;
  if (!hasOpcodes)
    addOpcodes();
  model->number();
  return true;
}

void Parser::addOpcodes() {
  llvm::StringMap<bool> seen;
  for (auto &graph : model->subgraphs)
    for (const Operator &op : graph->operators) {
      std::string key = (Twine(static_cast<int32_t>(op.code)) + "." + Twine(op.version) + "." + op.customCode()).str();
      if (seen.try_emplace(key, true).second)
        model->opcodes.push_back({op.code, op.version, op.customCode()});
    }
}

Buffer *Parser::labelled(uint32_t number) {
  if (number == 0)
    return model->buffers.empty() || model->buffers[0]->payload.empty() ? nullptr : model->buffers[0];
  Label &label = labels[number];
  if (!label.buffer)
    label.buffer = &model->addBuffer(label.payload);
  return label.buffer;
}

Buffer *Parser::bufferFor(const BufferRef &ref) {
  return ref.labelled ? labelled(ref.label) : &model->addBuffer(ref.payload);
}

bool Parser::bufferFor(ValueState &state) {
  Value &value = *state.value;
  bool hasBytes = !state.payload.empty();
  switch (state.bufferKind) {
  case ValueState::Labelled:
    if (hasBytes)
      return failAt(state.line, state.column, "the tensor has bytes besides those of its buffer");
    value.buffer = labelled(state.label);
    if (state.constant && value.payload().empty())
      return failAt(state.line, state.column, "the bytes of #" + Twine(state.label) + " are given nowhere");
    break;
  case ValueState::None:
    if (hasBytes)
      return failAt(state.line, state.column, "the tensor has bytes but no buffer");
    break;
  default:
    if (hasBytes || state.bufferKind == ValueState::Own || ownBuffer)
      value.buffer = &model->addBuffer(std::move(state.payload));
  }
  const Payload &payload = value.payload();
  if (payload.empty())
    return true;
  if (value.producer())
    return failAt(state.line, state.column, "the tensor is computed and has bytes");
  std::optional<uint64_t> needed =
      value.hasShape && !value.sparsity() && !value.compression ? expectedBytes(value) : std::nullopt;
  if (needed && *needed > payload.size())
    return failAt(state.line, state.column,
                  "shape and type need " + Twine(*needed) + " bytes, but there are " + Twine(payload.size()));
  return true;
}

/// Makes the buffers in the order of the values and metadata that refer to them.
bool Parser::addBuffers() {
  bool any = !noBuffers || !metadata.empty() || !spareBuffers.empty();
  if (any)
    model->addBuffer(labels[0].payload);
  for (auto &graph : graphs)
    for (ValueState *state : graph->declared)
      if (!bufferFor(*state))
        return false;
  for (auto [entry, ref] : llvm::zip_equal(model->metadata, metadata))
    entry.buffer = bufferFor(ref);
  for (const BufferRef &ref : metadataBuffers)
    model->metadataBuffers.push_back(bufferFor(ref));
  for (const BufferRef &ref : spareBuffers)
    bufferFor(ref);
  std::vector<Buffer *> &buffers = model->buffers;
  if (!bufferOrder.empty()) {
    std::vector<Buffer *> ordered(buffers.size());
    std::vector<bool> seen(buffers.size());
    if (bufferOrder.size() != buffers.size())
      return fail("buffer_order names " + Twine(bufferOrder.size()) + " of " + Twine(buffers.size()) + " buffers");
    for (auto [i, position] : llvm::enumerate(bufferOrder)) {
      if (position >= buffers.size() || seen[position])
        return fail("position " + Twine(position) + " of buffer_order is out of range or repeated");
      seen[position] = true;
      ordered[i] = buffers[position];
    }
    if (ordered[0] != buffers[0])
      return fail("buffer_order has to leave buffer 0 where it is");
    buffers = std::move(ordered);
  }
  for (auto [i, buffer] : llvm::enumerate(buffers))
    buffer->sourceIndex = i;
  return true;
}

bool Parser::checkExternals() {
  llvm::DenseSet<uint64_t> ids;
  for (const ExternalBuffer &buffer : model->externalBuffers) {
    if (!ids.insert(buffer.id).second)
      return fail("two external buffers have the id " + Twine(buffer.id));
    if (buffer.group >= model->externalGroups.size())
      return fail("there is no external group " + Twine(buffer.group));
  }
  for (auto &graph : graphs)
    for (const ValueState *state : graph->declared)
      if (uint32_t id = state->value->externalBuffer; id && !ids.contains(id))
        return failAt(state->line, state->column, "there is no external buffer " + Twine(id));
  return true;
}

/// Called subgraphs must exist, and none may call itself.
bool Parser::checkCalls() {
  std::vector<llvm::SmallVector<uint32_t, 1>> callers(graphs.size());
  std::vector<size_t> open(graphs.size());
  std::vector<unsigned> depth(graphs.size());
  for (const Caller &caller : this->callers) {
    const OperatorInfo &row = *caller.op->info();
    const flatbuffers::Table &table =
        caller.op->options.table ? *caller.op->options.table : *caller.op->options2().table;
    size_t named = 0;
    for (StringRef name : row.subgraphFields) {
      const wire::Field &field = *row.optionsType()->find(name);
      auto *items = field.type == wire::Type::Vector
                        ? table.GetPointer<const flatbuffers::Vector<int32_t> *>(field.vtableOffset())
                        : nullptr;
      named += field.type != wire::Type::Vector ? 1 : items ? items->size() : 0;
    }
    auto callees = caller.op->callees();
    if (callees.size() != named)
      return failAt(caller.line, caller.column, "the operator calls a subgraph that does not exist");
    llvm::sort(callees, [](const Subgraph *a, const Subgraph *b) { return a->index < b->index; });
    callees.erase(llvm::unique(callees), callees.end());
    uint32_t graph = caller.op->subgraph()->index;
    for (const Subgraph *callee : callees) {
      callers[callee->index].push_back(graph);
      ++open[graph];
    }
  }
  // Takes away subgraphs that call none of those that are left; what cannot be taken away calls itself.
  std::vector<uint32_t> work;
  for (size_t i = 0; i < open.size(); ++i)
    if (!open[i])
      work.push_back(i);
  size_t done = 0;
  for (; !work.empty(); ++done) {
    uint32_t callee = work.back();
    work.pop_back();
    for (uint32_t caller : callers[callee]) {
      depth[caller] = std::max(depth[caller], depth[callee] + 1);
      if (depth[caller] > maxCallDepth)
        return fail("subgraphs call each other more than " + Twine(maxCallDepth) + " deep");
      if (--open[caller] == 0)
        work.push_back(caller);
    }
  }
  return done == graphs.size() || fail("a subgraph calls itself, directly or through others");
}

} // namespace origo::text
