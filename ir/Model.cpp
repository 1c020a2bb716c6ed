#include "ir/Model.h"

#include "ir/ConstantExpressions.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

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

Use *Use::make(void *room, Operator &user, size_t count) {
  *new (room) Operator * = &user;
  auto *uses = reinterpret_cast<Use *>(static_cast<char *>(room) + sizeof(Operator *));
  for (size_t i = 0; i < count; ++i)
    (new (uses + i) Use())->position = static_cast<uint32_t>(i);
  return uses;
}

bool Quantization::More::operator==(const More &other) const {
  return custom == other.custom && axis == other.axis && scales == other.scales && zeroPoints == other.zeroPoints &&
         blockSize == other.blockSize && dimensions == other.dimensions;
}

bool sameQuantization(const Quantization *a, const Quantization *b) {
  bool quantizedA = a && a->quantized(), quantizedB = b && b->quantized();
  if (!quantizedA || !quantizedB)
    return quantizedA == quantizedB;
  return a->scale == b->scale && a->zeroPoint == b->zeroPoint && a->details == b->details &&
         (a->scale.size() <= 1 || a->dimension == b->dimension) && *a->more == *b->more;
}

// There are as many of them as the model has tensors and operators.
static_assert(sizeof(Value) <= 120 && sizeof(Operator) <= 128 && sizeof(Use) <= 32 && sizeof(Tombstone) <= 24);

bool Value::isConstant() const {
  if (isGraphInput || definer || isVariable)
    return false;
  if ((buffer && !buffer->payload.empty()) || externalBuffer)
    return true;
  return llvm::is_contained(shape, 0) && !llvm::is_contained(shapeSignature(), -1);
}

const Payload &Value::payload() const {
  static const Payload none{};
  return buffer ? buffer->payload : none;
}

bool Value::isStatic() const {
  if (llvm::any_of(shape, [](int32_t d) { return d < 0; }) || llvm::is_contained(shapeSignature(), -1))
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
  const flatbuffers::Table *table = options.table ? options.table : options2().table;
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

BuiltinOperator Operator::builtinMeant() const {
  return code == BuiltinOperator::CUSTOM && customCode() == "AddV2" ? BuiltinOperator::ADD : code;
}

/// Operators of TensorFlow and ONNX that converters leave as they are, and that have no effect but their results; so
/// have the nodes of a graph of ONNX (import/onnx).
static bool isPureCustom(llvm::StringRef code) {
  return code.starts_with("onnx.") ||
         llvm::is_contained({"AddV2", "All", "BatchMatMulV2", "BroadcastTo", "Erf", "MatMul", "MatrixBandPart",
                             "MaxPoolWithArgmax", "ONNXDequantizeLinear", "ONNXQuantizeLinear", "SplitV"},
                            code);
}

uint8_t Operator::effects() const {
  const OperatorInfo *row = builtinMeant() == code ? info() : operatorInfo(builtinMeant());
  if (!row)
    return static_cast<uint8_t>(Effect::Unknown);
  uint8_t effects = code == BuiltinOperator::CUSTOM && isPureCustom(customCode()) ? 0 : row->effects;
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

void Model::makeOperands(Operator &op, size_t count) {
  op.operandCount = count;
  void *room = op.operandUses ? reinterpret_cast<Operator **>(op.operandUses) - 1 : nullptr;
  if (count > op.operandRoom) {
    room = arena.Allocate(Use::roomFor(count), llvm::Align(alignof(Use)));
    op.operandRoom = std::min<size_t>(count, UINT16_MAX);
  }
  if (room)
    op.operandUses = Use::make(room, op, count);
}

void Model::makeResults(Operator &op, size_t count) {
  op.resultCount = count;
  if (count <= std::max<size_t>(op.resultRoom, 1))
    return;
  op.resultValues = arena.Allocate<Value *>(count);
  op.resultRoom = std::min<size_t>(count, UINT8_MAX);
}

void Model::attach(Operator &op, llvm::ArrayRef<Value *> operands, llvm::ArrayRef<Value *> results) {
  makeOperands(op, operands.size());
  for (auto [use, value] : llvm::zip_equal(op.operands(), operands))
    use.set(value);
  makeResults(op, results.size());
  llvm::copy(results, op.resultArray());
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
  op.rare.set(&Operator::Rarities::intermediates, copy(values));
  for (Value *v : values)
    if (v)
      ++v->otherUses;
}

void Model::setQuantization(Value &value, const Quantization &quantization) {
  quantizationStore.push_back(quantization);
  value.quantization = &quantizationStore.back();
  for (Value *detail : {quantization.more->scales, quantization.more->zeroPoints})
    if (detail)
      ++detail->otherUses;
}

llvm::StringRef Model::copy(llvm::StringRef text) {
  char *data = arena.Allocate<char>(text.size());
  std::copy(text.begin(), text.end(), data);
  return {data, text.size()};
}

const flatbuffers::Table *Model::copyTable(const wire::TableType &type, const flatbuffers::Table *table,
                                           llvm::ArrayRef<wire::ScalarEdit> edits) {
  flatbuffers::FlatBufferBuilder builder(256);
  builder.Finish(flatbuffers::Offset<flatbuffers::Table>(wire::copyTable(builder, type, table, edits)));
  llvm::StringRef built(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
  auto known = tables.find(built);
  if (known == tables.end()) {
    auto *bytes = static_cast<char *>(arena.Allocate(built.size(), llvm::Align(16)));
    std::memcpy(bytes, built.data(), built.size());
    known = tables.insert(llvm::StringRef(bytes, built.size())).first;
  }
  return flatbuffers::GetRoot<flatbuffers::Table>(known->data());
}

Options Model::editOptions(Options base, llvm::ArrayRef<wire::ScalarEdit> edits, bool union2) {
  const wire::Enumeration *members = wire::Schema::circle().enumeration(union2 ? "BuiltinOptions2" : "BuiltinOptions");
  const wire::EnumValue *member = members->find(static_cast<int64_t>(base.member));
  assert(member && member->table && "an options table of the schema");
  return {base.member, copyTable(*member->table, base.table, edits)};
}

void Model::forgetUnusedSets() {
  sets.keepOnly([&](llvm::function_ref<void(IdSet)> visit) {
    auto lineages = [&](llvm::ArrayRef<Lineage> list) {
      for (const Lineage &one : list)
        visit(one.operators), visit(one.tensors);
    };
    for (const Tombstone &stone : tombstones)
      visit(stone.ids);
    for (const auto &[stone, with] : cancelledWith)
      visit(with);
    for (auto &graph : subgraphs) {
      for (const Value *value : graph->values)
        if (!value->erased()) {
          visit(value->sourceTensors), visit(value->sourceOperators);
          lineages(value->lineages());
        }
      for (const Operator &op : graph->operators) {
        visit(op.origins), visit(op.calls), visit(op.movedPast());
        if (op.synthetic)
          visit(op.synthetic->serves);
        lineages(op.lineages());
      }
    }
  });
}

ConstantExpressions &Model::makeExpressions() {
  if (!expressions)
    expressions = std::make_shared<ConstantExpressions>(steps);
  return *expressions;
}

void Model::forgetLineages() {
  for (auto &graph : subgraphs) {
    for (Operator &op : graph->operators) {
      op.clearLineages();
      for (Use &use : op.operands())
        use.lineage = 0;
    }
    for (Value *value : graph->values) {
      value->clearLineages();
      for (Relation &relation : value->relations)
        relation.lineage = 0;
    }
  }
}

void Model::becomeSource() {
  tombstones.clear();
  cancelledWith.clear();
  unneeded.clear();
  sourceGraph.clear();
  sourceOperators = sourceTensors = run = rewrites = 0;
  forgetLineages();
  for (auto &graph : subgraphs) {
    graph->sources = {graph->index};
    for (Operator &op : graph->operators) {
      op.origins = sets.single(sourceOperators++);
      op.passes = 0;
      op.synthetic = nullptr;
      op.setWide({});
      op.inexact = op.made = false;
      op.destinations = nullptr;
    }
    for (Value *value : graph->values) {
      uint32_t id = sourceTensors++;
      value->relations = {Relation{id, 0, true}};
      value->noRelation = NoRelation::None;
      value->setSynthetic({});
      value->inexact = false;
      value->sourceTensors = value->isConstant() ? sets.single(id) : IdSet{};
      value->sourceOperators = {};
    }
  }
  llvm::SmallVector<int32_t> operands, results;
  auto id = [](const Value *value) { return value ? static_cast<int32_t>(value->relations[0].tensor) : -1; };
  for (auto &graph : subgraphs)
    for (Operator &op : graph->operators) {
      operands.clear();
      results.clear();
      for (const Use &use : op.operands())
        operands.push_back(id(use.get()));
      for (const Value *value : op.results())
        results.push_back(id(value));
      sourceGraph.addOperator(operands, results);
    }
}

void Model::noteUnneeded(const Operator &user, unsigned operand, UnneededReason reason) {
  const Value *value = user.operand(operand);
  if (!value || user.origins.empty())
    return;
  auto note = [&](uint32_t tensor, uint32_t id, uint32_t position) {
    int32_t producer = sourceGraph.producer(tensor);
    unneeded.push_back({producer < 0, reason, producer < 0 ? tensor : static_cast<uint32_t>(producer), id, position});
  };
  // An operator that no rewrite has touched has its operands where the source has them, however many tensors the value
  // stands for by now.
  if (user.passes == 0 && sourceGraph.known() && !value->relations.empty()) {
    uint32_t ids = 0, id = 0;
    sets.forEach(user.origins, [&](uint32_t one) { ids++, id = one; });
    llvm::ArrayRef<int32_t> operands = sourceGraph.operands(id);
    if (ids == 1 && operand < operands.size() && operands[operand] >= 0) {
      note(operands[operand], id, operand);
      return;
    }
  }
  // Another part of the same work takes it still: that work has not been done without it.
  constexpr unsigned mostUses = 16;
  const Use *use = value->firstUse();
  for (unsigned i = 0; use && i < mostUses; ++i, use = use->next)
    if (use->user() != &user && use->user()->origins == user.origins)
      return;
  auto take = [&](uint32_t tensor) {
    bool isOperand = false;
    sourceGraph.takeUses(tensor, user.origins, sets, [&](uint32_t id, uint32_t position) {
      note(tensor, id, position);
      isOperand = true;
    });
    if (isOperand)
      return;
    // What was in between works behind `user` now; it is its result that `user` has in the source.
    constexpr unsigned longest = 8; // nearly always one of one
    std::optional<uint32_t> id = sets.next(user.origins, 0);
    for (unsigned i = 0; id && i < longest; ++i, id = sets.next(user.origins, *id + 1))
      for (auto [position, direct] : llvm::enumerate(sourceGraph.operands(*id))) {
        int32_t from = direct;
        for (unsigned length = 0; from >= 0 && length < longest; ++length) {
          int32_t maker = sourceGraph.producer(static_cast<uint32_t>(from));
          if (maker < 0 || sourceGraph.operands(maker).empty())
            break;
          from = sourceGraph.operands(maker).front();
          if (from == static_cast<int32_t>(tensor))
            note(direct, *id, position);
        }
      }
  };
  constexpr size_t most = 16;
  llvm::SmallVector<const Value *, 4> values{value};
  for (size_t i = 0; i < values.size() && i < most; ++i) {
    const Value &one = *values[i];
    for (const Relation &relation : one.relations)
      take(relation.tensor);
    if (one.isConstant())
      sets.forEach(one.sourceTensors, take);
    const Operator *producer = one.relations.empty() ? one.producer() : nullptr;
    if (!producer)
      continue;
    // What a tensor without a relation stands for is among the results of what computes it; where a part of the same
    // work only moves it, among what that is given.
    bool isMoved = false, isTold = false;
    const OperatorInfo *info = producer->info();
    const bool moves = reason == UnneededReason::NotInSlice && info && info->has(Trait::DataMovement);
    sets.forEach(user.origins, [&](uint32_t id) {
      isMoved |= moves && sets.contains(producer->origins, id);
      for (auto [position, tensor] : llvm::enumerate(sourceGraph.operands(id)))
        if (int32_t made = tensor < 0 ? -1 : sourceGraph.producer(tensor);
            made >= 0 && sets.contains(producer->origins, made)) {
          note(tensor, id, position);
          isTold = true;
        }
    });
    for (const Use &use : isMoved && !isTold ? producer->operands() : llvm::ArrayRef<Use>())
      if (use.get() && !use.get()->isConstant() && !llvm::is_contained(values, use.get()))
        values.push_back(use.get());
  }
}

void Model::sortUnneeded() {
  auto key = [](const Unneeded &item) { return std::tuple(item.ofTensor, item.id, item.user, item.position); };
  llvm::stable_sort(unneeded, [&](const Unneeded &a, const Unneeded &b) { return key(a) < key(b); });
  unneeded.erase(std::unique(unneeded.begin(), unneeded.end(),
                             [&](const Unneeded &a, const Unneeded &b) { return key(a) == key(b); }),
                 unneeded.end());
}

namespace {

/// Follows destinations to what is live. A chain of single destinations is walked once: its lists lead to the last of
/// them from then on.
class Follower {
public:
  void follow(Destinations *from, LedgerRow &row) {
    llvm::DenseSet<const Destinations *> visited;
    llvm::SmallVector<Destinations *> work;
    auto push = [&](Destinations *list) {
      if (list && visited.insert(list = last(list)).second)
        work.push_back(list);
    };
    push(from);
    while (!work.empty())
      for (auto entry : work.pop_back_val()->entries) {
        if (auto *op = llvm::dyn_cast<Operator *>(entry); op && !op->erased())
          row.operators.push_back(op);
        else if (auto *value = llvm::dyn_cast<Value *>(entry); value && !value->erased())
          row.values.push_back(value);
        else
          push(way(entry));
      }
    sortUnique(row.operators);
    sortUnique(row.values);
  }

  template <class T> static void sortUnique(llvm::SmallVectorImpl<const T *> &items) {
    llvm::sort(items, [](const T *a, const T *b) {
      return std::pair(a->subgraph()->index, a->index) < std::pair(b->subgraph()->index, b->index);
    });
    items.erase(std::unique(items.begin(), items.end()), items.end());
  }

private:
  using Entry = llvm::PointerUnion<Operator *, Value *, Destinations *>;

  /// Where what is erased leads to.
  static Destinations *way(Entry entry) {
    if (auto *list = llvm::dyn_cast<Destinations *>(entry))
      return list;
    auto *op = llvm::dyn_cast<Operator *>(entry);
    auto *value = llvm::dyn_cast<Value *>(entry);
    return op ? op->erased() ? op->destinations : nullptr : value->destinations();
  }
  static Destinations *next(const Destinations *list) {
    return list->entries.size() == 1 ? way(list->entries.front()) : nullptr;
  }
  static Destinations *last(Destinations *list) {
    Destinations *end = list;
    while (Destinations *after = next(end))
      end = after;
    while (Destinations *after = next(list)) {
      *list->entries.begin() = end;
      list = after;
    }
    return end;
  }
};

/// Who has each source id: something live, or a tombstone. The first claim counts. Tombstones name ever larger sets, so
/// neither what has been claimed nor subtrees of sets that have been walked are looked at again.
struct Claims {
  static constexpr uint32_t live = ~0u, unknown = ~0u - 1; ///< else the number of a tombstone
  std::vector<uint32_t> owner;

  explicit Claims(uint32_t ids) : owner(ids, unknown), next(ids + 1) {
    for (uint32_t id = 0; id <= ids; ++id)
      next[id] = id;
  }
  void claim(uint32_t begin, uint32_t end, uint32_t by) {
    end = std::min<size_t>(end, owner.size());
    for (uint32_t id = begin < end ? unclaimed(begin) : end; id < end; id = unclaimed(id)) {
      owner[id] = by;
      next[id] = id + 1;
    }
  }
  void claim(const IdSets &sets, IdSet ids, uint32_t by) {
    sets.forEachNewRun(ids, walked, [&](uint32_t begin, uint32_t end) { claim(begin, end, by); });
  }

private:
  std::vector<uint32_t> next; ///< the id itself, or one that is at most the next unclaimed one
  IdSets::Walked walked;

  uint32_t unclaimed(uint32_t id) {
    while (next[id] != id)
      id = next[id] = next[next[id]];
    return id;
  }
};

bool leadsSomewhere(Fate fate) {
  return fate != Fate::Dead && fate != Fate::UnusedInSource && fate != Fate::UserRemoved && fate != Fate::Elsewhere;
}

/// A tensor that equal ones shared, or that was only moved where it went, may have gone with what has nothing of it.
/// Then it is where its users and its maker are, or, of those that are gone, where they went.
class Neighbours {
public:
  explicit Neighbours(Model &model) : model(model), source(model.sourceGraph) {}

  /// What became of an operator.
  void note(const LedgerRow &row) {
    gone[row.id] = {row.operators, row.values, row.fate, row.pass, row.run, row.rewrite};
  }
  /// What changed nothing is where its operand is made, not where its result is only moved.
  void placeUnchanged(LedgerRow &row) {
    auto moves = [](const Operator *op) { return op->info() && op->info()->has(Trait::DataMovement); };
    if (row.operators.empty())
      return;
    if (!llvm::all_of(row.operators, moves)) {
      llvm::erase_if(row.operators, moves);
      return;
    }
    for (int32_t operand : source.known() ? source.operands(row.id) : llvm::ArrayRef<int32_t>())
      if (int32_t maker = operand < 0 ? -1 : source.producer(static_cast<uint32_t>(operand)); maker >= 0) {
        llvm::ArrayRef<const Operator *> makers = carriers(static_cast<uint32_t>(maker));
        if (!makers.empty() && llvm::none_of(makers, moves))
          row.operators.assign(makers.begin(), makers.end());
        return;
      }
  }
  void place(LedgerRow &row) {
    if (!source.known())
      return;
    if (row.fate == Fate::Dead)
      goWithUser(row);
    if (row.operators.empty())
      return;
    llvm::ArrayRef<uint32_t> around = near(row.id);
    auto isGood = [&](const Operator *op) {
      return llvm::any_of(around, [&](uint32_t id) {
        if (auto known = gone.find(id); known != gone.end())
          return llvm::is_contained(known->second.operators, op);
        return model.sets.contains(op->origins, id) || model.sets.contains(op->calls, id) ||
               (op->synthetic && model.sets.contains(op->synthetic->serves, id));
      });
    };
    if (around.empty() || llvm::all_of(row.operators, isGood))
      return;
    Places found;
    for (uint32_t id : around)
      if (auto known = gone.find(id); known != gone.end()) {
        llvm::append_range(found.operators, known->second.operators);
        llvm::append_range(found.values, known->second.values);
      } else {
        llvm::append_range(found.operators, carriers(id));
      }
    llvm::erase_if(row.operators, [&](const Operator *op) { return !isGood(op); });
    if (!row.operators.empty() || !row.values.empty())
      return;
    if (found.operators.empty() && found.values.empty())
      return dieWithUsers(row);
    row.operators = found.operators;
    row.values = found.values;
    Follower::sortUnique(row.operators);
    Follower::sortUnique(row.values);
  }

private:
  struct Places {
    llvm::SmallVector<const Operator *, 1> operators;
    llvm::SmallVector<const Value *, 1> values;
    Fate fate = Fate::Dead;
    llvm::StringRef pass = {};
    uint32_t run = 0, rewrite = 0;
  };
  Model &model;
  const SourceGraph &source;
  llvm::DenseMap<uint64_t, Places> gone;
  std::set<std::pair<uint32_t, uint32_t>> noted;               ///< users and positions; made when it is first needed
  std::vector<llvm::SmallVector<uint32_t, 2>> around;          ///< by source tensor; made when it is first needed
  std::vector<llvm::SmallVector<const Operator *, 1>> carried; ///< by source operator; likewise

  /// Of equal constants that are one, each goes with what used it, whatever becomes of the others; and one that several
  /// used is in what one of them has become, though another did without it last.
  void goWithUser(LedgerRow &row) {
    if (source.producer(row.id) >= 0)
      return;
    const Fate was = std::exchange(row.was, Fate::Unknown);
    bool apart = was == Fate::DuplicateOf || was == Fate::FusedAway, isDoneWithout = false;
    for (uint32_t user : near(row.id)) {
      auto known = gone.find(user);
      if (isNoted(row.id, user) || (known != gone.end() && !leadsSomewhere(known->second.fate))) {
        isDoneWithout = true;
        continue;
      }
      if (known == gone.end())
        continue;
      return goAs(known->second, row);
    }
    if (!apart && !isDoneWithout)
      return; // then nobody did without it, and the law on the living has to see that
    for (uint32_t user : near(row.id))
      if (!gone.contains(user) && !isNoted(row.id, user))
        llvm::append_range(row.operators, carriers(user));
    Follower::sortUnique(row.operators);
    if (!row.operators.empty())
      row.fate = Fate::FusedAway;
  }
  /// What an equal constant went into does the work of others; all that used this one is dead.
  void dieWithUsers(LedgerRow &row) {
    llvm::ArrayRef<uint32_t> users = near(row.id);
    if (source.producer(row.id) >= 0 || !llvm::all_of(users, [&](uint32_t user) {
          auto known = gone.find(user);
          return known != gone.end() && known->second.fate == Fate::Dead;
        }))
      return;
    goAs(gone[users.front()], row);
  }
  static void goAs(const Places &with, LedgerRow &row) {
    row.fate = with.fate;
    row.pass = with.pass;
    row.run = with.run;
    row.rewrite = with.rewrite;
    row.operators = with.operators;
    row.values = with.values;
  }
  /// Does the map say why the user does without it?
  bool isNoted(uint32_t tensor, uint32_t user) {
    if (noted.empty())
      for (const Unneeded &one : model.unneeded)
        noted.insert({one.user, one.position});
    for (auto [position, operand] : llvm::enumerate(source.operands(user)))
      if (operand == static_cast<int32_t>(tensor) && noted.count({user, static_cast<uint32_t>(position)}))
        return true;
    return false;
  }

  llvm::ArrayRef<uint32_t> near(uint32_t tensor) {
    if (around.empty()) {
      around.resize(model.sourceTensors);
      for (uint32_t id = 0; id < model.sourceOperators; ++id)
        for (int32_t operand : source.operands(id))
          if (operand >= 0 && (around[operand].empty() || around[operand].back() != id))
            around[operand].push_back(id);
      for (uint32_t id = 0; id < model.sourceTensors; ++id)
        if (int32_t maker = source.producer(id); maker >= 0)
          around[id].push_back(static_cast<uint32_t>(maker));
    }
    return around[tensor];
  }
  llvm::ArrayRef<const Operator *> carriers(uint32_t id) {
    if (carried.empty()) {
      carried.resize(model.sourceOperators);
      for (auto &graph : model.subgraphs)
        for (const Operator &op : graph->operators)
          model.sets.forEach(op.origins, [&](uint32_t origin) { carried[origin].push_back(&op); });
    }
    return carried[id];
  }
};

} // namespace

void Model::ledger(llvm::SmallVectorImpl<std::pair<bool, uint32_t>> &lost,
                   llvm::function_ref<void(const LedgerRow &)> visit) {
  number();
  constexpr uint32_t live = Claims::live, unknown = Claims::unknown;
  Claims operators(sourceOperators), tensors(sourceTensors);
  for (auto &graph : subgraphs) {
    for (Operator &op : graph->operators)
      operators.claim(sets, op.origins, live);
    for (Value *value : graph->values) {
      for (const Relation &relation : value->relations)
        tensors.claim(relation.tensor, relation.tensor + 1, live);
      if (value->isConstant())
        tensors.claim(sets, value->sourceTensors, live);
    }
  }
  for (size_t stone = tombstones.size(); stone--;) // the last one that names an id counts
    (tombstones[stone].ofTensors ? tensors : operators).claim(sets, tombstones[stone].ids, stone);

  // What cancelled out at several places, or at one while it was still at work elsewhere, left its result at each,
  // moved or rounded perhaps.
  std::vector<std::pair<uint32_t, const Value *>> results;
  auto cancelled = [&](uint32_t id) {
    uint32_t stone = id < operators.owner.size() ? operators.owner[id] : unknown;
    return stone < tombstones.size() &&
           llvm::is_contained({Fate::LayoutCancelled, Fate::QuantizationCancelled, Fate::Cancelled, Fate::Identity},
                              tombstones[stone].fate);
  };
  for (auto &graph : subgraphs)
    for (const Value *value : visit ? llvm::ArrayRef<Value *>(graph->values) : llvm::ArrayRef<Value *>())
      for (const Relation &relation : value->relations) {
        auto list = steps.get(relation.steps);
        bool isWhole = llvm::all_of(list, [](const Step &step) { // a quantised tensor stands for real numbers
          return llvm::is_contained({Step::Cast, Step::Permute, Step::Reshape, Step::Quantize}, step.kind);
        });
        int32_t producer = isWhole ? sourceGraph.producer(relation.tensor) : -1;
        if (producer >= 0 && cancelled(static_cast<uint32_t>(producer)))
          results.emplace_back(producer, value);
      }
  llvm::stable_sort(results, llvm::less_first());
  auto result = results.begin();

  Follower follower;
  LedgerRow row;
  IdSet together; ///< that cancelled out
  Neighbours neighbours(*this);
  uint32_t rowOf = unknown; // the way is followed once for neighbours of one tombstone
  for (auto *ids : {&operators, &tensors})
    for (auto [id, stone] : llvm::enumerate(ids->owner)) {
      if (stone == unknown)
        lost.push_back({ids == &tensors, static_cast<uint32_t>(id)});
      if (stone == live || stone == unknown || !visit)
        continue;
      if (stone != rowOf) {
        const Tombstone &from = tombstones[stone];
        llvm::StringRef pass = from.pass ? passLists.get(from.pass).front() : "";
        row = {from.ofTensors,
               0,
               from.fate,
               from.was,
               pass,
               from.run,
               from.rewrite,
               {},
               {},
               llvm::dyn_cast_if_present<const Part *>(from.into),
               {}};
        follower.follow(llvm::dyn_cast_if_present<Destinations *>(from.into), row);
        if (auto with = llvm::lower_bound(cancelledWith, std::pair(stone, IdSet()), llvm::less_first());
            with != cancelledWith.end() && with->first == stone)
          together = with->second;
        else
          together = {};
        if (leadsSomewhere(row.fate) && row.operators.empty() && row.values.empty())
          row.was = std::exchange(row.fate, Fate::Dead);
        rowOf = stone;
      }
      row.id = id;
      row.with = together.empty() ? together : sets.minus(together, sets.single(static_cast<uint32_t>(id)));
      if (ids == &operators && result != results.end() && result->first == id) {
        LedgerRow more = row;
        more.led = &row;
        more.fate = tombstones[stone].fate;
        more.was = tombstones[stone].was;
        for (; result != results.end() && result->first == id; ++result)
          more.values.push_back(result->second);
        Follower::sortUnique(more.values);
        // Nor has what moves its result anything of it.
        llvm::erase_if(more.operators,
                       [](const Operator *op) { return op->info() && op->info()->has(Trait::DataMovement); });
        neighbours.note(more);
        visit(more);
      } else if (ids == &tensors) {
        LedgerRow placed = row;
        neighbours.place(placed);
        // Of what went with a user of its own, the ledger does not tell any more that it was another one's equal.
        bool isApart = placed.fate != row.fate && (placed.fate == Fate::Dead || row.was == Fate::DuplicateOf);
        placed.led = isApart ? nullptr : &row;
        visit(placed);
      } else {
        LedgerRow placed = row;
        placed.led = &row;
        if (row.fate == Fate::Identity || row.fate == Fate::Cancelled)
          neighbours.placeUnchanged(placed);
        neighbours.note(placed);
        visit(placed);
      }
    }
}

void Model::number() {
  for (auto [g, graph] : llvm::enumerate(subgraphs)) {
    graph->index = g;
    llvm::erase_if(graph->values, [](Value *v) {
      if (v->erased() && v->index != Value::unlisted)
        v->index = Value::unlisted;
      return v->erased();
    });
    for (auto [i, value] : llvm::enumerate(graph->values))
      value->index = i;
    unsigned next = 0;
    for (Operator &op : graph->operators)
      op.index = next++;
  }
  for (auto [i, buffer] : llvm::enumerate(buffers))
    buffer->index = i;
}

void Model::sortByUse() {
  constexpr unsigned unseen = ~0u >> 1;
  number();
  std::vector<Buffer *> sorted;
  auto addBuffer = [&](Buffer *buffer) {
    if (!buffer || buffer->index == unseen)
      return;
    buffer->index = unseen;
    sorted.push_back(buffer);
  };
  if (!buffers.empty())
    addBuffer(buffers.front());
  for (auto &graph : subgraphs) {
    for (Value *value : graph->values)
      value->index = unseen;
    std::vector<Value *> values;
    std::function<void(Value *)> add = [&](Value *value) {
      if (!value || value->index != unseen)
        return;
      value->index = values.size();
      values.push_back(value);
      addBuffer(value->buffer);
      if (const Quantization *q = value->quantization) {
        add(q->more->scales);
        add(q->more->zeroPoints);
      }
    };
    for (Value *value : graph->inputs)
      add(value);
    for (Operator &op : graph->operators) {
      for (Use &use : op.operands())
        add(use.get());
      for (Value *value : op.results())
        add(value);
      for (Value *value : op.intermediates())
        add(value);
    }
    for (Value *value : graph->values) // what no operator uses
      add(value);
    graph->values = std::move(values);
  }
  for (Buffer *buffer : buffers) // of metadata
    addBuffer(buffer);
  buffers = std::move(sorted);
  opcodes.clear();
  number();
}

size_t Model::operatorCount() const {
  size_t n = 0;
  for (auto &graph : subgraphs)
    n += graph->operators.size();
  return n;
}

} // namespace origo
