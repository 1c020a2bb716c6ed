#include "ir/ConstantView.h"
#include "ir/rewrite/Build.h"
#include "ir/rewrite/Parts.h"
#include "schema/OnnxOperators.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

/// The closed list of reasons for which what takes the place of an operator may do without one of its operands. Each is
/// checked here, whatever the rule thinks.
namespace origo::rewrite {

static bool isStatic(const Value *value) { return value && value->isStatic(); }

/// The elements beside the one dimension that is open; 0: there is no such dimension, or there are several.
static uint64_t rowOf(const Value *value) {
  llvm::ArrayRef<int32_t> stated = value ? value->shapeSignature() : llvm::ArrayRef<int32_t>();
  uint64_t row = llvm::count(stated, -1) == 1 ? 1 : 0;
  for (int32_t size : stated)
    if (size != -1 && __builtin_mul_overflow(row, static_cast<uint64_t>(std::max(size, 0)), &row))
      return 0;
  return row;
}

/// It only states a shape, which is known without it.
static bool statesShapeOnly(const Operator &op, unsigned position) {
  if (const OnnxOperator *node = findOnnxOperator(op.customCode()); node && node->isMarked(position, 't'))
    return true; // or a type
  const OperatorInfo *row = op.info();
  if (!row || !op.result() || position >= row->operands.size())
    return false;
  if (row->has(Trait::ShapeQuery) && position == 0 && (op.code == Op::RANK || isStatic(op.operand(0))))
    return true;
  const OperandInfo &operand = row->operands[position];
  // What is open in both is the same. (A constant that says so has been read.)
  const Value *sizes = op.operand(position);
  if (op.code == Op::RESHAPE && operand.statesShape && sizes && !sizes->isConstant())
    if (uint64_t size = rowOf(op.operand(0)); size && size == rowOf(op.result()))
      return true;
  if (!llvm::all_of(op.results(), isStatic))
    return false;
  if (operand.statesShape)
    return true;
  // What is worked on is the first operand that states no shape itself.
  unsigned data = 0;
  while (data + 1 < row->operands.size() && row->operands[data].statesShapeIfWhole)
    ++data;
  const Value *x = op.operand(data);
  bool whole = isStatic(x) && llvm::all_of(op.results(), [&](const Value *result) {
                 return result->elementCount() == x->elementCount();
               });
  return operand.statesShapeIfWhole && whole;
}

/// A number times zero is zero, unless it is infinite or none.
bool Build::isTimesZero(const Operator &op, unsigned position) const {
  if ((op.code != Op::MUL && op.code != Op::LOGICAL_AND) || position > 1 || !op.operand(position))
    return false;
  Tensor x(op.operand(position));
  Range known = match.range(x);
  bool finite = !x.isFloat() || (std::isfinite(known.low) && std::isfinite(known.high));
  return !x.isQuantized() && finite && match.isAll(Tensor(op.operand(1 - position)), 0);
}

/// A choice that is the same everywhere, and the other way.
bool Build::isBranchNotTaken(const Operator &op, unsigned position) const {
  if ((op.code != Op::SELECT && op.code != Op::SELECT_V2) || position < 1 || position > 2)
    return false;
  return match.isAll(Tensor(op.operand(0)), position == 1 ? 0 : 1);
}

/// It is put together with others, of which those who use it take other parts.
bool Build::isNotInSlice(const Operator &op, unsigned position) const {
  std::optional<int> axis = joinedAlong(op);
  std::optional<Positions> place = axis ? placeOf(op, position) : std::nullopt;
  if (!place)
    return false;
  bool isUsed = false;
  for (const Operator *user : consumed)
    for (auto [i, use] : llvm::enumerate(user->operands()))
      if (use.get() == op.result()) {
        std::optional<Positions> taken =
            i == (user->code == Op::SPLIT ? 1u : 0u) ? takenFrom(*user, *axis) : std::nullopt;
        if (!taken || taken->meets(*place))
          return false;
        isUsed = true;
      }
  return isUsed;
}

/// Of what is put together, what has no elements leaves no trace.
static bool isEmptyPart(const Operator &op, unsigned position) {
  const Value *value = op.operand(position);
  return op.code == Op::CONCATENATION && isStatic(value) && value->elementCount() == 0;
}

/// x + (q − x): neither the sum nor the difference needs x.
bool Build::isTakenAway(const Operator &op, unsigned position) const {
  const Value *x = op.operand(position);
  if (!x || op.numOperands() != 2 || activationOf(op) != Activation::NONE)
    return false;
  auto takesAway = [&](const Operator &difference) {
    return difference.code == Op::SUB && difference.numOperands() == 2 && difference.operand(1) == x &&
           activationOf(difference) == Activation::NONE && llvm::is_contained(consumed, &difference);
  };
  if (op.code == Op::ADD) {
    const Value *beside = op.operand(1 - position);
    return beside && beside->producer() && takesAway(*beside->producer());
  }
  return position == 1 && takesAway(op) && llvm::any_of(consumed, [&](const Operator *sum) {
           return sum->code == Op::ADD && sum->numOperands() == 2 && activationOf(*sum) == Activation::NONE &&
                  ((sum->operand(0) == x && sum->operand(1) == op.result()) ||
                   (sum->operand(1) == x && sum->operand(0) == op.result()));
         });
}

/// One size among others that are known and not zero, all of which the shape of a RESHAPE is put together of: the
/// number of elements tells it.
static bool isOneSize(const Operator &op, unsigned position, llvm::ArrayRef<Operator *> consumed) {
  auto isShape = [&](const Value *value, auto &&isShape) -> bool {
    bool found = false;
    for (const Operator *user : consumed)
      for (auto [i, use] : llvm::enumerate(user->operands()))
        if (use.get() == value) {
          if (!(user->code == Op::RESHAPE && i == 1) && !(user->code == Op::CAST && isShape(user->result(), isShape)))
            return false;
          found = true;
        }
    return found;
  };
  const Value *size = op.operand(position);
  if ((op.code != Op::PACK && op.code != Op::CONCATENATION) || !size || size->elementCount() != 1)
    return false;
  for (auto [i, use] : llvm::enumerate(op.operands()))
    if (auto others = readIntegers(use.get());
        i != position && (!others || llvm::any_of(*others, [](int64_t other) { return other < 1; })))
      return false;
  return isShape(op.result(), isShape);
}

std::optional<UnneededReason> Build::whyUnneeded(const Operator &op, unsigned position) const {
  if (statesShapeOnly(op, position) || isOneSize(op, position, consumed))
    return UnneededReason::ShapeOnly;
  if (isEmptyPart(op, position))
    return UnneededReason::Empty;
  if (isTimesZero(op, position))
    return UnneededReason::TimesZero;
  if (isBranchNotTaken(op, position))
    return UnneededReason::BranchNotTaken;
  if (isNotInSlice(op, position))
    return UnneededReason::NotInSlice;
  if (isTakenAway(op, position))
    return UnneededReason::TakenAway;
  return std::nullopt;
}

} // namespace origo::rewrite
