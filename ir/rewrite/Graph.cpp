#include "ir/rewrite/Graph.h"

#include "ir/StoredRange.h"
#include "ir/Undetermined.h"
#include "ir/rewrite/SameOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>
#include <cmath>

namespace origo::rewrite {

struct Turn::State {
  uint64_t number = 0;
  std::string mistake;
};
Turn::State &Turn::state() {
  thread_local State state;
  return state;
}
void Turn::begin() {
  ++state().number;
  state().mistake.clear();
}
uint64_t Turn::now() { return state().number; }
void Turn::mistake(const llvm::Twine &text) {
  if (state().mistake.empty())
    state().mistake = text.str();
}
const std::string &Turn::mistaken() { return state().mistake; }
bool Turn::isNow(uint64_t turn, const char *what) {
  if (turn == now())
    return true;
  mistake(llvm::Twine(what) + " was kept from an earlier match");
  return false;
}

const Value &Tensor::described() const {
  static const Value *absent = [] {
    auto *made = new Value;
    made->type = TensorType(127);
    return made;
  }();
  const Value *own = value();
  return own ? *own : *absent;
}

bool Tensor::holdsAllOf(Tensor other) const {
  auto mine = storedRange(described()), its = storedRange(other.described());
  return mine && its && described().quantization->scale[0] == other.described().quantization->scale[0] &&
         mine->first <= its->first && mine->second >= its->second;
}

bool Tensor::isStaticButOne() const {
  llvm::ArrayRef<int32_t> stated = statedShape();
  return isStatic() || (llvm::count(stated, -1) == 1 && !llvm::is_contained(stated, 0));
}

bool Tensor::isStaticButBatch() const { return isStatic() || (isStaticButOne() && statedShape().front() == -1); }

bool Tensor::isPerTensor() const {
  const Quantization *q = described().quantization;
  return !q || (q->scale.size() <= 1 && q->details == Quantization::Details::None);
}

std::optional<int32_t> Tensor::channelDimension() const {
  const Quantization *q = described().quantization;
  if (isPerTensor() || q->details != Quantization::Details::None || q->dimension < 0 || q->dimension >= rank())
    return std::nullopt;
  return q->dimension;
}

TensorType Stored::type() const {
  if (storage && Turn::isNow(turn, "a way to be stored"))
    return storage->type;
  Turn::mistake("what is stored as it is was asked for another type");
  return TensorType(127);
}

bool Stored::isOf(Tensor tensor) const {
  return tensor.type() == type() && storage && sameQuantization(tensor.described().quantization, storage->quantization);
}

bool Tensor::isDenseConstant() const {
  const Value &own = described();
  if (!own.isConstant() || own.sparsity() || own.compression || own.externalBuffer || !own.payload().hasBytes() ||
      !own.elementCount())
    return false;
  std::optional<uint64_t> size = payloadBytes(own.type, *own.elementCount());
  return !size || own.payload().size() == *size;
}

bool Tensor::isPackedConstant() const {
  const Operator *maker = described().producer();
  return maker && (maker->code == Op::DEQUANTIZE || maker->code == Op::DENSIFY) && maker->operand(0) &&
         maker->operand(0)->isConstant();
}

llvm::ArrayRef<int32_t> statedShape(const Value &value) {
  return value.shapeSignature().empty() ? llvm::ArrayRef<int32_t>(value.shape) : value.shapeSignature();
}
llvm::ArrayRef<int32_t> Tensor::statedShape() const { return rewrite::statedShape(described()); }

bool Tensor::hasShapeOf(Tensor other) const {
  const Value &mine = described(), &its = other.described();
  return mine.shape == its.shape && mine.shapeSignature() == its.shapeSignature();
}

unsigned positionOf(const OperatorInfo &row, llvm::StringRef name) {
  const OperandInfo *found =
      llvm::find_if(row.operands, [&](const OperandInfo &operand) { return operand.name == name; });
  return found == row.operands.end() ? ~0u : static_cast<unsigned>(found - row.operands.begin());
}

Operator *Node::op() const {
  static Operator *absent = new Operator;
  return Turn::isNow(turn, "an operator") ? handle : absent;
}

unsigned Node::position(llvm::StringRef name) const {
  const Operator &own = *op();
  if (name == "filter" && own.code == Op::FULLY_CONNECTED)
    name = "weights";
  unsigned found = own.info() ? positionOf(*own.info(), name) : ~0u;
  if (found == ~0u)
    Turn::mistake(own.opName() + " has no operand " + name);
  return found;
}

bool Node::hasOptionsOf(Node other) const {
  const Operator &own = *op(), &its = *other.op();
  return own.code == its.code && sameOptions(own, its);
}

const wire::Field *Node::field(llvm::StringRef option) const {
  const Operator &own = *op();
  const wire::TableType *type = own.info() ? own.info()->optionsType() : nullptr;
  const wire::Field *found = type ? type->find(option) : nullptr;
  if (!found)
    Turn::mistake(own.opName() + " has no option " + option);
  return found;
}

static bool isDetermined(const Subgraph &graph) {
  auto isOpen = [](const Value *value) { return isUndetermined(*value); };
  return llvm::none_of(graph.outputs, isOpen) && llvm::all_of(graph.operators, [](const Operator &op) {
           auto callees = op.callees();
           return callees.empty() || (op.code == BuiltinOperator::IF &&
                                      llvm::all_of(callees, [](Subgraph *callee) { return isDetermined(*callee); }));
         });
}

bool Node::callsDetermined() const {
  return llvm::all_of(op()->callees(), [](Subgraph *callee) { return isDetermined(*callee); });
}

size_t Node::calledOperators() const {
  auto callees = op()->callees();
  return callees.empty() ? 0 : callees.back()->operators.size();
}

int64_t Node::option(llvm::StringRef name) const {
  const wire::Field *known = field(name);
  const flatbuffers::Table *table = op()->options.table ? op()->options.table : op()->options2().table;
  return !known ? 0 : table ? wire::integer(*table, *known) : known->defaultInteger;
}

double Node::realOption(llvm::StringRef name) const {
  const wire::Field *known = field(name);
  const flatbuffers::Table *table = op()->options.table;
  return !known ? 0 : table ? wire::real(*table, *known) : known->defaultReal;
}

llvm::ArrayRef<int64_t> Integers::known() const {
  for (const Tensor &parent : parents)
    if (!Turn::isNow(parent.turn, "a number"))
      break;
  return numbers;
}

int64_t Integers::at(size_t i) const {
  llvm::ArrayRef<int64_t> own = known();
  if (i < own.size())
    return own[i];
  Turn::mistake("a number was asked for behind the last one");
  return 0;
}

std::vector<int32_t> Integers::list() const {
  std::vector<int32_t> list;
  for (int64_t number : known())
    list.push_back(static_cast<int32_t>(std::clamp<int64_t>(number, INT32_MIN, INT32_MAX)));
  return list;
}

bool Integers::isPermutation(size_t rank) const {
  return known().size() == rank &&
         std::is_permutation(known().begin(), known().end(), llvm::seq<int64_t>(0, rank).begin());
}

bool Integers::countUp() const {
  for (auto [i, number] : llvm::enumerate(known()))
    if (number != numbers.front() + static_cast<int64_t>(i))
      return false;
  return true;
}

bool Integers::isSorted() const { return llvm::is_sorted(known()); }

bool Integers::allPositive() const {
  return llvm::all_of(known(), [](int64_t n) { return n > 0; });
}

bool Integers::keepsOrderOf(llvm::ArrayRef<int32_t> shape) const {
  if (!isPermutation(shape.size()))
    return false;
  llvm::SmallVector<int64_t, 8> kept;
  llvm::copy_if(numbers, std::back_inserter(kept), [&](int64_t axis) { return shape[axis] != 1; });
  return llvm::is_sorted(kept);
}

Integers Integers::inverse() const {
  Integers result = *this;
  for (auto [i, axis] : llvm::enumerate(numbers))
    result.numbers[axis] = static_cast<int64_t>(i);
  return result;
}

Integers Integers::permuted(llvm::ArrayRef<int32_t> shape) const {
  Integers result = *this;
  for (int64_t &number : result.numbers)
    number = shape[number];
  return result;
}

bool Integers::isLastAxisOf(int rank) const {
  return known().size() == 1 && (numbers.front() == -1 || numbers.front() == rank - 1);
}

Integers Integers::through(const Integers &permutation) const {
  Integers result = *this;
  auto rank = static_cast<int64_t>(permutation.size());
  for (int64_t &axis : result.numbers)
    axis = permutation.numbers[axis < 0 ? axis + rank : axis];
  return result;
}

Integers Integers::without(llvm::ArrayRef<int32_t> axes) const {
  Integers result = *this;
  result.numbers.clear();
  llvm::SmallVector<int64_t, 8> gone;
  for (auto [i, axis] : llvm::enumerate(numbers))
    (llvm::is_contained(axes, static_cast<int32_t>(i)) ? gone : result.numbers).push_back(axis);
  for (int64_t &axis : result.numbers)
    axis -= llvm::count_if(gone, [&](int64_t other) { return other < axis; });
  return result;
}

Integers Integers::with(llvm::ArrayRef<int32_t> others) const {
  Integers result = *this;
  result.numbers.assign(others.begin(), others.end());
  return result;
}

Integers Integers::boundTo(const Integers &other) const {
  Integers result = *this;
  result.parents.append(other.parents);
  return result;
}

std::optional<llvm::SmallVector<int32_t, 6>> Integers::axesOf(int rank) const {
  llvm::SmallVector<int32_t, 6> axes;
  for (int64_t number : known()) {
    if (number < -rank || number >= rank)
      return std::nullopt;
    axes.push_back(static_cast<int32_t>(number < 0 ? number + rank : number));
  }
  llvm::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

} // namespace origo::rewrite
