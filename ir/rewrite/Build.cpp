#include "ir/rewrite/Build.h"

#include "ir/ConstantView.h"
#include "ir/rewrite/SameOptions.h"
#include "ir/shapes/Inference.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::rewrite {

static Payload payloadOf(llvm::ArrayRef<int64_t> numbers, TensorType type) {
  std::string bytes;
  for (int64_t number : numbers) {
    auto narrow = static_cast<int32_t>(number);
    bytes.append(type == TensorType::INT64 ? reinterpret_cast<const char *>(&number)
                                           : reinterpret_cast<const char *>(&narrow),
                 type == TensorType::INT64 ? 8 : 4);
  }
  return Payload::owned(std::move(bytes));
}

/// A constant that stands for nothing yet, outside of the graph's lists until the rewrite is put in.
Value *Build::literal(Payload payload, TensorType type, llvm::ArrayRef<int32_t> shape, llvm::StringRef label,
                      llvm::ArrayRef<Value *> parents) {
  Value &value = engine.newConstant(*match.root().op()->subgraph(), std::move(payload));
  value.type = type;
  value.hasShape = true;
  value.shape = shape;
  value.name = label;
  constants.push_back(&value);
  Made &from = made[&value];
  from.parents.assign(parents.begin(), parents.end());
  from.literal = parents.empty();
  return &value;
}

Value *Build::pendingResult(llvm::StringRef label) {
  Value &value = engine.newValue(*match.root().op()->subgraph());
  value.hasShape = true;
  value.hasRank = match.consumed.front()->result()->hasRank; // files say it of all tensors or of none
  value.name = label;
  value.noRelation = NoRelation::NewIntermediate;
  return &value;
}

/// An operator that is linked to nothing: its operands do not count as uses. Unless the rewrite puts it in, it is used
/// again.
Operator *Build::detached(Op code, llvm::ArrayRef<Value *> operands) {
  Operator *op = engine.newOperator(operands.size());
  scratch.push_back(op);
  op->code = code;
  op->parent = match.root().op()->parent; // what it calls is found from there
  model.makeOperands(*op, operands.size());
  for (auto [use, value] : llvm::zip_equal(op->operands(), operands))
    use.value = value;
  return op;
}

bool Build::setOptions(Operator &op, llvm::ArrayRef<Expr::Option> options) {
  const OperatorInfo *row = op.info();
  if (!op.options.member && row->options != circle::BuiltinOptions::NONE)
    op.options.member = static_cast<uint8_t>(row->options);
  if (options.empty() && (op.options.table || !op.options.member))
    return true;
  llvm::SmallVector<wire::ScalarEdit, 4> edits;
  for (const Expr::Option &option : options) {
    const wire::Field *field = row->optionsType() ? row->optionsType()->find(option.name) : nullptr;
    if (!field)
      return mistake(row->name + " has no option " + option.name) != nullptr;
    edits.push_back({.slot = field->slot, .integer = option.value, .real = option.real});
    if (!option.parent)
      continue;
    if (!Turn::isNow(option.parent.turn, "a number"))
      return fail(Turn::mistaken()) != nullptr;
    match.read.push_back(option.parent.value());
  }
  op.options = model.editOptions(op.options, edits);
  return true;
}

bool mayHaveShape(const Value &value, llvm::ArrayRef<int32_t> shape) {
  llvm::ArrayRef<int32_t> stated = statedShape(value);
  return !value.hasShape || (stated.size() == shape.size() && llvm::all_of(llvm::zip(stated, shape), [](auto sizes) {
                               auto [a, b] = sizes;
                               return a == b || a < 0 || b < 0;
                             }));
}

static void shapeAs(Value &value, const Value &like) {
  value.hasShape = like.hasShape;
  value.hasRank = like.hasRank;
  value.shape = like.shape;
  value.setShapeSignature(like.shapeSignature());
}

/// In the place of `like`, of which nobody else may know.
Value *Build::variable(Value &like, const Storage &storage) {
  bool own = like.isVariable && like.otherUses == 0;
  like.forEachUse([&](Use &use) { own &= use.user() == match.root().op(); });
  if (!own || (like.buffer && !like.buffer->payload.empty()))
    return fail("another operator has its variable, or that begins with numbers");
  Value &value = engine.newValue(*match.root().op()->subgraph());
  shapeAs(value, like);
  value.type = storage.type;
  value.quantization = storage.quantization;
  value.isVariable = true;
  value.name = like.name;
  constants.push_back(&value);
  Made &from = made[&value];
  from.parents = {&like};
  from.base = &like;
  from.steps = {Step{Step::Quantize}};
  from.exact = false;
  return &value;
}

/// What the rule says of the results. False: nothing.
bool Build::describeResults(Operator &op, const Expr::Node &node, const Operator *base) {
  bool copiesSeveral = base && op.resultCount > 1;
  if (node.stored.empty() && !node.typeOf && !copiesSeveral)
    return false;
  for (auto [i, value] : llvm::enumerate(op.results())) {
    const Value *original = base ? base->result(i) : nullptr;
    if (node.typeOf) {
      value->type = node.typeOf.type();
      value->quantization = node.typeOf.described().quantization;
      shapeAs(*value, node.shapeOf.described());
    } else {
      shapeAs(*value, original ? *original : *op.operand(0));
      value->hasRank |= !original && op.operand(0)->isConstant(); // a scalar too
      value->type = original ? original->type : TensorType::FLOAT32;
      value->quantization = original ? original->quantization : nullptr;
    }
    if (Stored stored = i < node.stored.size() ? node.stored[i] : Stored()) {
      bool isReal = op.code == Op::DEQUANTIZE; // a constant that is rounded only: folding gives it the scales
      value->type = isReal ? TensorType::FLOAT32 : stored.type();
      value->quantization = isReal ? nullptr : stored.storage->quantization;
    }
  }
  return true;
}

/// Gives it results, of the types that the rule says or that follow from the operands. A copy has as many as the
/// original.
bool Build::setResults(Operator &op, const Expr::Node &node, const Operator *base, llvm::StringRef label) {
  model.makeResults(op, base ? base->results().size() : node.resultCount);
  for (unsigned i = 0; i < op.resultCount; ++i) {
    Value *value = pendingResult(i == 0 ? label.str() : (label + "_" + llvm::Twine(i)).str());
    op.resultArray()[i] = value;
    value->definer = &op;
    value->definerResult = i;
  }
  Value *value = op.result();
  bool described = describeResults(op, node, base);
  auto types = inferResults(op);
  if (described && (op.resultCount > 1 || !node.stored.empty())) {
    llvm::consumeError(types.takeError());
    return true;
  }
  if (described) {
    // Not where inference knows better.
    bool known = types && !types->empty() && types->front().rankKnown;
    llvm::consumeError(types.takeError());
    if (!known || (types->front().type == value->type && mayHaveShape(*value, types->front().shape)))
      return true;
    return mistake("the result of what is created is said to be what it is not") != nullptr;
  }
  if (!types) {
    fail(llvm::toString(types.takeError()));
    return false;
  }
  if (types->size() < op.resultCount)
    return op.resultCount == 1 || fail("how many results it has is not known before run time");
  for (unsigned i = 0; i < op.resultCount; ++i)
    if ((*types)[i].rankKnown) // else, at the root, that of the root; elsewhere nobody can use it
      state(*op.result(i), (*types)[i]);
  return true;
}

/// The type and the shape that were inferred.
void Build::state(Value &value, const ResultType &type) {
  value.type = type.type;
  value.shape = type.shape;
  if (llvm::is_contained(value.shape, -1)) {
    value.setShapeSignature(model.copy(llvm::ArrayRef<int32_t>(value.shape)));
    value.shape.unknownToOne();
  }
  value.hasRank |= value.shape.empty(); // else a scalar is a tensor of unknown rank
}

Value *Build::build(const Expr &expression, bool folding, llvm::StringRef label) {
  const Expr::Node &node = *expression.key();
  if (auto known = match.bound.find(&node); known != match.bound.end()) {
    if (node.kind == Expr::Kind::Operation)
      asked.insert(known->second);
    return known->second;
  }
  if (auto known = built.find(&node); known != built.end())
    return known->second;
  Value *value = nullptr;
  switch (node.kind) {
  case Expr::Kind::Bound:
    value = node.bound.value();
    if (!value && node.bound)
      return fail(Turn::mistaken());
    asked.insert(value);
    return value;
  case Expr::Kind::Number: {
    auto number = static_cast<float>(node.number);
    value = literal(Payload::owned(std::string(reinterpret_cast<char *>(&number), sizeof(number))), TensorType::FLOAT32,
                    {}, engine.label(match.root(), shown(node.number)));
    break;
  }
  case Expr::Kind::Integers: {
    auto count = static_cast<int32_t>(node.integers.size());
    llvm::SmallVector<Value *, 2> parents;
    for (const Tensor &parent : node.integers.parents)
      if (Value *own = parent.value())
        parents.push_back(own);
      else
        return fail(Turn::mistaken());
    value = literal(payloadOf(node.integers.numbers, node.integerType), node.integerType, {count},
                    engine.label(match.root(), label), parents);
    break;
  }
  case Expr::Kind::Shape: {
    llvm::SmallVector<int64_t, 6> sizes(node.sizes.begin(), node.sizes.end());
    value = literal(payloadOf(sizes, TensorType::INT32), TensorType::INT32, {static_cast<int32_t>(sizes.size())},
                    engine.label(match.root(), label));
    break;
  }
  case Expr::Kind::Learned: {
    value = literal(node.learned.numbers, TensorType::FLOAT32, node.sizes, engine.label(match.root(), label),
                    node.learned.parents);
    made[value].nudges = node.learned.choosesNeighbour;
    break;
  }
  case Expr::Kind::Variable:
    if (!node.bound.value() || !node.stored.front())
      return mistake("a variable is made in the place of none");
    value = variable(*node.bound.value(), *node.stored.front().storage);
    break;
  case Expr::Kind::Fold:
    value = build(node.operands.front(), true, label);
    break;
  case Expr::Kind::Operation:
  case Expr::Kind::Clone:
    value = buildOperation(expression, folding, label);
    break;
  case Expr::Kind::Result:
    if (folding)
      return fail("a fold has one result");
    value = build(node.operands.front(), false, label);
    if (value && (!value->definer || node.result >= value->definer->results().size()))
      return mistake("what is created has no such result");
    value = value ? value->definer->result(node.result) : nullptr;
    break;
  default:
    return fail("a name of the rule stands for nothing here");
  }
  if (value)
    built[&node] = value;
  return value;
}

/// What only moves elements leaves them quantised as they are, if by one parameter for all.
void Build::keepQuantization(Operator &op) {
  const Quantization *kept = nullptr;
  for (const Use &use : op.operands())
    if (const Value *value = use.get(); value && value->type == op.result()->type && Tensor(use.get()).isQuantized()) {
      if (!Tensor(use.get()).isPerTensor() || (kept && !sameQuantization(kept, value->quantization)))
        return;
      kept = value->quantization;
    }
  for (Value *result : op.results())
    if (kept)
      result->quantization = kept;
}

/// Does such an operator no more than its reason to be there says?
static bool isBridge(SyntheticReason reason, Op code) {
  bool turns = code == Op::QUANTIZE || code == Op::DEQUANTIZE;
  switch (reason) {
  case SyntheticReason::TypeBridge:
    return code == Op::CAST;
  case SyntheticReason::LayoutBridge:
    return code == Op::TRANSPOSE || code == Op::RESHAPE;
  case SyntheticReason::ScaleBridge:
    return code == Op::MUL;
  case SyntheticReason::QuantizeBorder:
    return turns || code == Op::CAST;
  case SyntheticReason::Broadcast:
    return code == Op::BROADCAST_TO;
  case SyntheticReason::InventedConstant:
  case SyntheticReason::UserInserted:
    return false;
  }
  llvm_unreachable("all reasons are above");
}

SyntheticReason Build::bridgeOf(Op code) {
  for (auto reason : {SyntheticReason::TypeBridge, SyntheticReason::LayoutBridge, SyntheticReason::QuantizeBorder,
                      SyntheticReason::Broadcast, SyntheticReason::ScaleBridge})
    if (isBridge(reason, code))
      return reason;
  return SyntheticReason::UserInserted; // files have such of any kind
}

static void copyOptions(Operator &to, const Operator &from) {
  to.options = from.options;
  to.setOptions2(from.options2());
  to.setCustomOptions(from.customOptions());
}

/// Are those there that such an operator needs? What is a copy may lack what the original does.
bool Build::hasOperands(const OperatorInfo &row, llvm::ArrayRef<Value *> operands, const Operator *base) {
  for (auto [i, value] : llvm::enumerate(operands)) {
    bool mayLack = row.code == Op::CUSTOM || (base && i < base->numOperands() && !base->operand(i));
    for (size_t known = 0; known < row.operands.size() && known <= i; ++known)
      mayLack |= row.operands[known].optional && (known == i || row.operands[known].variadic);
    if (!value && !mayLack)
      return mistake("operand " + llvm::Twine(i) + " of " + row.name + " is absent") != nullptr;
  }
  return row.accepts(operands.size()) || (base && operands.size() == base->numOperands()) ||
         mistake(row.name + " does not take " + llvm::Twine(operands.size()) + " operands");
}

Value *Build::buildOperation(const Expr &expression, bool folding, llvm::StringRef label) {
  const Expr::Node &node = *expression.key();
  Created item{nullptr, {}};
  llvm::SmallVector<Value *, 6> operands;
  for (const Expr &original : node.originals)
    item.originals.push_back(match.operations.lookup(original.key()));
  if (node.kind == Expr::Kind::Clone && node.originals.empty())
    item.originals.push_back(match.consumed.front());
  if (llvm::is_contained(item.originals, nullptr))
    return mistake("what is copied is no part of the match");
  Operator *base = item.originals.empty() ? nullptr : item.originals.front();
  for (const Operator *other : item.originals)
    if (other->code != base->code || other->customCode() != base->customCode())
      return mistake("a copy is of operators of several kinds");
  Op code = base ? base->code : node.codes.front();
  const OperatorInfo &row = *operatorInfo(code);
  auto nameOf = [&](size_t i) { return i < row.operands.size() ? row.operands[i].name : llvm::StringRef("operand"); };
  if (base)
    for (Use &use : base->operands())
      operands.push_back(use.get());
  for (auto [i, operand] : llvm::enumerate(node.operands)) {
    // What is only stored otherwise is called after the place that it is for.
    bool isAll = folding && node.operands.size() == 1 && !label.empty();
    Value *value = build(operand, folding, isAll ? label : nameOf(i));
    if (!declined.empty())
      return nullptr;
    operands.push_back(value);
  }
  auto place = [&](unsigned position, const Expr &operand) {
    if (operands.size() <= position)
      operands.resize(position + 1);
    Value *before = operands[position];
    Value *value = operands[position] = build(operand, folding, nameOf(position));
    // What is computed from several, one of which it takes the place of, goes on under the name of that one.
    if (auto own = made.find(value);
        own != made.end() && !own->second.base && llvm::is_contained(own->second.parents, before))
      value->name = before->name;
  };
  for (const auto &[name, operand] : node.named) {
    bool isFilter = name == "filter" && code == Op::FULLY_CONNECTED; // which calls it weights
    if (!isFilter && llvm::none_of(row.operands, [&, &name = name](auto &known) { return known.name == name; }))
      return mistake(row.name + " has no operand " + name);
    place(base ? Node(base).position(name) : positionOf(row, name), operand);
  }
  for (const auto &[position, operand] : node.placed)
    place(position, operand);
  if (!declined.empty())
    return nullptr;

  if (!hasOperands(row, operands, base))
    return nullptr;
  item.op = detached(code, operands);
  if (base) {
    item.op->version = base->version;
    item.op->setCustomCode(base->customCode());
    copyOptions(*item.op, *base);
    item.op->largeCustomOptions = base->largeCustomOptions;
    item.op->customOptionsFormat = base->customOptionsFormat;
    item.op->debugMetadata = base->debugMetadata;
    item.op->setMutatingVariableInputs(base->mutatingVariableInputs());
    item.sameOptions = node.options.empty();
  }
  if ((!base || !node.options.empty()) && !setOptions(*item.op, node.options))
    return nullptr;
  // It does the work of all that it is a copy of, but for what the rule says in plain sight.
  for (const Operator *other : llvm::ArrayRef(item.originals).drop_front(std::min<size_t>(item.originals.size(), 1))) {
    Operator *twin = detached(code, {});
    copyOptions(*twin, *other);
    bool same = (node.options.empty() || setOptions(*twin, node.options)) && sameOptions(*twin, *item.op);
    scratch.pop_back();
    engine.recycle(*twin);
    if (!same)
      return mistake("a copy is of operators with other options");
  }
  item.synthetic = node.synthetic;
  if (item.synthetic && !isBridge(*item.synthetic, code))
    return mistake("what does work of its own is said to be a bridge");
  if (base && node.intermediates.empty())
    item.intermediates.append(base->intermediates().begin(), base->intermediates().end());
  for (auto [i, stored] : llvm::enumerate(node.intermediates)) {
    Value *value = literal(Payload(), stored ? stored.type() : TensorType::FLOAT32, {0},
                           engine.label(match.root(), "intermediate_" + std::to_string(i)));
    value->quantization = stored ? stored.storage->quantization : nullptr;
    item.intermediates.push_back(value);
  }
  std::string suffix = row.name.lower() + (created.empty() ? "" : "_" + std::to_string(created.size()));
  std::string called = folding ? "" : engine.label(match.root(), suffix);
  // A copy of an inner operator is called after it, however often it is copied.
  if (!folding && base && base != match.consumed.front() && base->result() && !base->result()->name.empty()) {
    std::string ending = "/" + row.name.lower();
    called = base->result()->name.str();
    if (!called.ends_with(ending))
      called = engine.label(Node(base), llvm::StringRef(ending).drop_front());
  }
  if (!setResults(*item.op, node, base, called))
    return nullptr;
  if (folding) {
    Value *value = folded(*item.op, label);
    if (value && !value->quantization && !node.stored.empty())
      value->quantization = node.stored.front().storage->quantization;
    for (Stored stored : node.stored)
      for (Value *parent : stored ? llvm::ArrayRef(stored.storage->parents) : llvm::ArrayRef<Value *>())
        if (Made *from = value ? &made[value] : nullptr; from && !llvm::is_contained(from->parents, parent))
          from->parents.push_back(parent);
    return value;
  }
  // A changed copy is quantised as the original is, by one parameter for all elements that it may have moved.
  Value *own = item.op->result();
  if (base && base->result() && !node.typeOf && node.stored.empty() && own->type == base->result()->type &&
      Tensor(base->result()).isPerTensor())
    own->quantization = base->result()->quantization;
  if (!base && !node.typeOf && node.stored.empty() && row.has(Trait::DataMovement))
    keepQuantization(*item.op);
  scratch.pop_back();
  places[item.op] = static_cast<unsigned>(created.size());
  created.push_back(std::move(item));
  return created.back().op->result();
}

/// The constant that the operator computes.
Value *Build::folded(Operator &op, llvm::StringRef label) {
  Value *result = op.result();
  const char *why = "";
  auto payloads = engine.folding.evaluate(op, engine.store, why);
  if (!payloads) {
    engine.error = llvm::joinErrors(std::move(engine.error), payloads.takeError());
    return fail("the environment failed");
  }
  if (payloads->empty())
    return fail(why);
  Made from = descent(op);
  Value *value = literal(std::move(payloads->front()), result->type, result->shape, "");
  if (from.base) {
    value->name = from.base->name;
    // What only moves elements keeps how they are quantised.
    if (result->quantization)
      value->quantization = result->quantization;
    else if (op.info()->has(Trait::DataMovement) && from.base->quantization)
      model.setQuantization(*value, *from.base->quantization);
  } else if (!from.parents.empty()) {
    bool named = op.numOperands() == 1 && made.contains(op.operand(0)); // what was made here has its name already
    value->name = named ? op.operand(0)->name : from.parents.front()->name;
  } else {
    // A number of the rule's is called by itself, in whatever way it is computed.
    bool isNumber = value->type == TensorType::FLOAT32 && value->shape.empty();
    value->name = engine.label(
        match.root(),
        isNumber ? shown(static_cast<double>(elementsOf<float>(value->payload().bytes()).front())) : label.str());
  }
  made[value] = std::move(from);
  return value;
}

bool Build::everyElement(const Expr &expression, llvm::function_ref<bool(float, float, float)> holds) {
  Value *result = build(expression, true, "looked-at");
  bool all = false;
  if (result && !scratch.empty()) {
    const Operator &op = *scratch.back();
    for (Value *operand : {op.operand(0), op.operand(1)})
      if (auto known = made.find(operand); known != made.end())
        match.read.append(known->second.parents);
      else if (operand && operand->isConstant())
        match.read.push_back(operand);
    all = engine.folding.everyElement(op, holds);
  }
  abandon();
  return all;
}

void Build::abandon() {
  for (Value *value : constants)
    engine.discard(*value);
  for (Created &item : created)
    engine.recycle(*item.op);
  for (Operator *op : scratch)
    engine.recycle(*op);
}

bool Build::everyUse(const Value &value, llvm::function_ref<bool(const Use &)> holds) {
  for (const Use *use = value.firstUse(); use; use = use->next)
    if (!holds(*use))
      return false;
  return true;
}

RewriteResult Build::replace(llvm::ArrayRef<std::pair<Tensor, Expr>> values) {
  if (match.applied)
    return RewriteResult::refused("a match is replaced once");
  for (const auto &[tensor, expression] : values) {
    Value *old = tensor.value();
    if (!old || !old->producer() || !llvm::is_contained(match.consumed, old->producer()))
      Turn::mistake("what is replaced is no result of an operator of the match");
    else if (llvm::any_of(replaced, [&](const Replaced &item) { return item.old == old; }))
      Turn::mistake("a result is replaced twice");
    // What stands for a result that nobody uses would count as needed.
    if (Turn::mistaken().empty() && old->unused())
      continue;
    Value *with = Turn::mistaken().empty() ? build(expression, false, "value") : nullptr;
    if (!with && declined.empty())
      mistake("what takes the place of a result is absent");
    if (!declined.empty()) {
      abandon();
      return Turn::mistaken().empty() ? decline(declined) : RewriteResult::refused(Turn::mistaken());
    }
    replaced.push_back({old, with});
  }
  return replaced.empty() ? decline("nothing uses it") : finish();
}

RewriteResult Build::foldRoot() {
  if (match.applied)
    return RewriteResult::refused("a match is replaced once");
  Operator &root = *match.consumed.front();
  const char *why = "";
  auto payloads = engine.folding.evaluate(root, engine.store, why);
  if (!payloads) {
    engine.error = llvm::joinErrors(std::move(engine.error), payloads.takeError());
    return decline("the environment failed");
  }
  if (payloads->empty())
    return decline(why);
  Made from = descent(root);
  for (auto [i, result] : llvm::enumerate(root.results())) {
    if (!result || result->unused())
      continue;
    Value *value = literal(std::move((*payloads)[i]), result->type, result->shape, result->name);
    value->quantization = result->quantization;
    value->setShapeSignature(result->shapeSignature());
    made[value] = from;
    made[value].base = nullptr; // it is the result, which has relations of its own
    made[value].literal = false;
    replaced.push_back({result, value});
  }
  if (replaced.empty())
    return decline("nothing uses it");
  return finish();
}

} // namespace origo::rewrite
