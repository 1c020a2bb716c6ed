#include "ir/Model.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace origo {


void Use::set(Value *v) {
  if (value) {
    *link = next;
    if (next)
      next->link = link;
  }
  value = v;
  if (!v)
    return;
  next = v->uses;
  link = &v->uses;
  if (next)
    next->link = &next;
  v->uses = this;
}

unsigned Use::operandIndex() const { return static_cast<unsigned>(this - owner->operands().data()); }

bool sameQuantization(const Quantization *a, const Quantization *b) {
  bool quantizedA = a && a->quantized(), quantizedB = b && b->quantized();
  if (!quantizedA || !quantizedB)
    return quantizedA == quantizedB;
  return a->scale == b->scale && a->zeroPoint == b->zeroPoint && a->details == b->details && a->custom == b->custom &&
         (a->scale.size() <= 1 || a->dimension == b->dimension) && a->axis == b->axis && a->scales == b->scales &&
         a->zeroPoints == b->zeroPoints && a->blockSize == b->blockSize && a->dimensions == b->dimensions;
}

bool Value::isConstant() const {
  if (isGraphInput || definer || isVariable)
    return false;
  if ((buffer && !buffer->payload.empty()) || externalBuffer)
    return true;
  return llvm::is_contained(shape, 0) && !llvm::is_contained(shapeSignature, -1);
}

const Payload &Value::payload() const {
  static const Payload none;
  return buffer ? buffer->payload : none;
}

bool Value::isStatic() const {
  if (llvm::any_of(shape, [](int32_t d) { return d < 0; }) || llvm::is_contained(shapeSignature, -1))
    return false;
  // A computed tensor with no dimensions is a scalar, or one whose rank the converter did not know.
  return !shape.empty() || hasRank || isConstant();
}

std::optional<uint64_t> Value::elementCount() const {
  uint64_t count = 1;
  for (int32_t d : shape)
    if (d < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(d), &count))
      return std::nullopt;
  return count;
}

unsigned Value::useCount() const {
  unsigned n = otherUses;
  forEachUse([&](Use &) { ++n; });
  return n;
}


std::string Operator::opName() const {
  const OperatorInfo *row = info();
  return row ? row->name.str() : std::to_string(static_cast<int32_t>(code));
}

llvm::SmallVector<Subgraph *, 2> Operator::callees() const {
  llvm::SmallVector<Subgraph *, 2> graphs;
  const OperatorInfo *row = info();
  if (!row || row->subgraphFields.empty())
    return graphs;
  const flatbuffers::Table *table = options.table ? options.table : options2.table;
  if (!table)
    return graphs;
  auto add = [&](int64_t index) {
    if (index >= 0 && index < static_cast<int64_t>(parent->model().subgraphs.size()))
      graphs.push_back(parent->model().subgraphs[index].get());
  };
  for (llvm::StringRef name : row->subgraphFields) {
    const wire::Field *field = row->optionsType()->find(name);
    if (field->type != wire::Type::Vector) {
      add(wire::integer(*table, *field));
    } else if (auto *items = table->GetPointer<const flatbuffers::Vector<int32_t> *>(field->vtableOffset())) {
      for (int32_t index : *items)
        add(index);
    }
  }
  return graphs;
}

uint8_t Subgraph::effects() const {
  if (knownEffects < 0) {
    knownEffects = static_cast<uint8_t>(Effect::Unknown); // what a subgraph that calls itself would see
    uint8_t effects = 0;
    for (const Operator &op : operators)
      effects |= op.effects();
    knownEffects = effects;
  }
  return static_cast<uint8_t>(knownEffects);
}

uint8_t Operator::effects() const {
  const OperatorInfo *row = info();
  if (!row)
    return static_cast<uint8_t>(Effect::Unknown);
  uint8_t effects = row->effects;
  if (row->has(Effect::Calls)) {
    effects &= ~static_cast<uint8_t>(Effect::Calls);
    for (Subgraph *callee : callees())
      effects |= callee->effects();
  }
  for (unsigned i = 0; i < operandCount; ++i)
    if (Value *v = operand(i); v && v->isVariable)
      effects |= static_cast<uint8_t>(Effect::ReadsState);
  return effects;
}


Subgraph &Model::addSubgraph() {
  subgraphs.push_back(std::make_unique<Subgraph>());
  subgraphs.back()->parent = this;
  subgraphs.back()->index = subgraphs.size() - 1;
  return *subgraphs.back();
}

Value &Model::addValue(Subgraph &graph) {
  Value *value = new (valueArena.Allocate()) Value();
  value->parent = &graph;
  value->index = graph.values.size();
  graph.values.push_back(value);
  return *value;
}

Buffer &Model::addBuffer(Payload payload) {
  bufferStore.push_back({std::move(payload)});
  buffers.push_back(&bufferStore.back());
  return bufferStore.back();
}

void Model::attach(Operator &op, llvm::ArrayRef<Value *> operands, llvm::ArrayRef<Value *> results) {
  op.operandCount = operands.size();
  op.operandUses = arena.Allocate<Use>(operands.size());
  for (auto [i, value] : llvm::enumerate(operands)) {
    Use *use = new (&op.operandUses[i]) Use();
    use->owner = &op;
    use->set(value);
  }
  op.resultCount = results.size();
  op.resultValues = copy(results).data();
  for (auto [i, value] : llvm::enumerate(results))
    if (value) {
      assert(!value->definer && "a value has one producer");
      value->definer = &op;
      value->definerResult = i;
    }
}

Operator &Model::addOperator(Subgraph &graph, BuiltinOperator code, llvm::ArrayRef<Value *> operands,
                             llvm::ArrayRef<Value *> results) {
  Operator *op = new (operatorArena.Allocate()) Operator();
  op->code = code;
  op->parent = &graph;
  attach(*op, operands, results);
  graph.operators.push_back(*op);
  return *op;
}

void Model::setInputs(Subgraph &graph, llvm::ArrayRef<Value *> values) {
  graph.inputs.assign(values.begin(), values.end());
  for (Value *v : values)
    v->isGraphInput = true;
}

void Model::setOutputs(Subgraph &graph, llvm::ArrayRef<Value *> values) {
  graph.outputs.assign(values.begin(), values.end());
  for (Value *v : values) {
    ++v->graphOutputs;
    ++v->otherUses;
  }
}

void Model::addSignature(Signature signature) {
  for (auto *entries : {&signature.inputs, &signature.outputs})
    for (Signature::Entry &entry : *entries)
      if (entry.value) {
        ++entry.value->signatureUses;
        ++entry.value->otherUses;
      }
  signatures.push_back(std::move(signature));
}

void Model::setIntermediates(Operator &op, llvm::ArrayRef<Value *> values) {
  op.intermediates = copy(values);
  for (Value *v : values)
    if (v)
      ++v->otherUses;
}

void Model::setQuantization(Value &value, const Quantization &quantization) {
  quantizationStore.push_back(quantization);
  value.quantization = &quantizationStore.back();
  for (Value *detail : {quantization.scales, quantization.zeroPoints})
    if (detail)
      ++detail->otherUses;
}

llvm::StringRef Model::copy(llvm::StringRef text) {
  char *data = arena.Allocate<char>(text.size());
  std::memcpy(data, text.data(), text.size());
  return {data, text.size()};
}

const flatbuffers::Table *Model::copyTable(const wire::TableType &type, const flatbuffers::Table *table,
                                           llvm::ArrayRef<wire::ScalarEdit> edits) {
  flatbuffers::FlatBufferBuilder builder(256);
  builder.Finish(flatbuffers::Offset<flatbuffers::Table>(wire::copyTable(builder, type, table, edits)));
  auto *bytes = static_cast<uint8_t *>(arena.Allocate(builder.GetSize(), llvm::Align(16)));
  std::memcpy(bytes, builder.GetBufferPointer(), builder.GetSize());
  return flatbuffers::GetRoot<flatbuffers::Table>(bytes);
}

Options Model::editOptions(Options base, llvm::ArrayRef<wire::ScalarEdit> edits, bool union2) {
  const wire::Enumeration *members =
      wire::Schema::circle().enumeration(union2 ? "BuiltinOptions2" : "BuiltinOptions");
  const wire::EnumValue *member = members->find(static_cast<int64_t>(base.member));
  assert(member && member->table && "an options table of the schema");
  return {base.member, copyTable(*member->table, base.table, edits)};
}


void Model::becomeSource() {
  tombstones.clear();
  sourceOperators = sourceTensors = run = rewrites = 0;
  for (auto &graph : subgraphs) {
    graph->sources = {graph->index};
    for (Operator &op : graph->operators) {
      op.origins = sets.single(sourceOperators++);
      op.passes = 0;
      op.synthetic = nullptr;
      op.wide = {};
      op.inexact = false;
    }
    for (Value *value : graph->values) {
      uint32_t id = sourceTensors++;
      value->relations = {Relation{id, 0, true}};
      value->noRelation = value->synthetic = {};
      value->sourceTensors = value->isConstant() ? sets.single(id) : IdSet{};
      value->sourceOperators = {};
    }
  }
}

namespace {

/// Marks of ids.
struct Marks {
  std::vector<bool> seen;
  bool test(uint32_t id) const { return seen[id]; }
  void set(uint32_t id) {
    if (id < seen.size())
      seen[id] = true;
  }
};

/// Follows successors to what is live. A chain of single successors is walked once.
class Follower {
public:
  void follow(const Successors &from, LedgerRow &row) {
    llvm::DenseSet<const void *> visited;
    llvm::SmallVector<Node> work;
    push(from, work);
    while (!work.empty()) {
      Node node = end(work.pop_back_val());
      if (!visited.insert(node.key()).second)
        continue;
      if (!node.erased()) {
        if (node.op)
          row.operators.push_back(node.op);
        else
          row.values.push_back(node.value);
      } else if (const Successors *next = node.successors()) {
        push(*next, work);
      }
    }
    llvm::sort(row.operators, before<Operator>);
    llvm::sort(row.values, before<Value>);
  }

private:
  struct Node {
    Operator *op = nullptr;
    Value *value = nullptr;
    const void *key() const { return op ? static_cast<void *>(op) : value; }
    bool erased() const { return op ? op->erased() : value->erased(); }
    const Successors *successors() const { return op ? op->successors : value->successors; }
  };
  llvm::DenseMap<const void *, Node> shortcuts;

  template <class T> static bool before(const T *a, const T *b) {
    return std::pair(a->subgraph()->index, a->index) < std::pair(b->subgraph()->index, b->index);
  }
  static void push(const Successors &s, llvm::SmallVectorImpl<Node> &work) {
    for (Operator *op : s.operators)
      work.push_back({op, nullptr});
    for (Value *value : s.values)
      work.push_back({nullptr, value});
  }
  Node end(Node node) {
    llvm::SmallVector<const void *> path;
    while (node.erased()) {
      if (auto it = shortcuts.find(node.key()); it != shortcuts.end()) {
        node = it->second;
        continue;
      }
      const Successors *next = node.successors();
      if (!next || next->operators.size() + next->values.size() != 1)
        break;
      path.push_back(node.key());
      node = next->operators.empty() ? Node{nullptr, next->values.front()} : Node{next->operators.front(), nullptr};
    }
    for (const void *key : path)
      shortcuts[key] = node;
    return node;
  }
};

bool leadsSomewhere(Fate fate) {
  return fate != Fate::Dead && fate != Fate::UnusedInSource && fate != Fate::UserRemoved && fate != Fate::Elsewhere;
}

} // namespace

std::vector<LedgerRow> Model::ledger(llvm::SmallVectorImpl<std::pair<bool, uint32_t>> &lost) {
  number();
  Marks operators{std::vector<bool>(sourceOperators)}, tensors{std::vector<bool>(sourceTensors)};
  llvm::DenseSet<uint32_t> seenSets;
  for (auto &graph : subgraphs) {
    for (Operator &op : graph->operators)
      if (seenSets.insert(op.origins.node).second)
        sets.forEach(op.origins, [&](uint32_t id) { operators.set(id); });
    for (Value *value : graph->values) {
      for (const Relation &relation : value->relations)
        tensors.set(relation.tensor);
      if (value->isConstant())
        sets.forEach(value->sourceTensors, [&](uint32_t id) { tensors.set(id); });
    }
  }
  std::vector<LedgerRow> rows;
  Follower follower;
  for (const Tombstone &stone : llvm::reverse(tombstones)) {
    Marks &marks = stone.ofTensors ? tensors : operators;
    std::optional<LedgerRow> prototype; // the way is followed once for all ids of a tombstone
    sets.forEach(stone.ids, [&](uint32_t id) {
      if (id >= marks.seen.size() || marks.test(id))
        return;
      marks.set(id);
      if (!prototype) {
        prototype = LedgerRow{stone.ofTensors, id, stone.fate, stone.was, stone.pass, stone.run, stone.rewrite, {}, {}};
        follower.follow(stone.into, *prototype);
        if (leadsSomewhere(stone.fate) && prototype->operators.empty() && prototype->values.empty()) {
          prototype->was = stone.fate;
          prototype->fate = Fate::Dead;
        }
      }
      prototype->id = id;
      rows.push_back(*prototype);
    });
  }
  for (auto [isTensor, marks] : {std::pair(false, &operators), std::pair(true, &tensors)})
    for (size_t id = 0; id < marks->seen.size(); ++id)
      if (!marks->seen[id])
        lost.push_back({isTensor, static_cast<uint32_t>(id)});
  llvm::sort(rows, [](const LedgerRow &a, const LedgerRow &b) {
    return std::pair(a.isTensor, a.id) < std::pair(b.isTensor, b.id);
  });
  return rows;
}

void Model::number() {
  for (auto [g, graph] : llvm::enumerate(subgraphs)) {
    graph->index = g;
    llvm::erase_if(graph->values, [](Value *v) { return v->erased(); });
    for (auto [i, value] : llvm::enumerate(graph->values))
      value->index = i;
    unsigned next = 0;
    for (Operator &op : graph->operators)
      op.index = next++;
  }
  for (auto [i, buffer] : llvm::enumerate(buffers))
    buffer->index = i;
}

size_t Model::operatorCount() const {
  size_t n = 0;
  for (auto &graph : subgraphs)
    n += graph->operators.size();
  return n;
}

} // namespace origo
