#include "passes/Linear.h"
#include "passes/Match.h"
#include "passes/Movement.h"
#include "passes/Passes.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace origo {

/// Every element of a dense constant is `number`. −0.0 counts as 0: x + 0 and x differ in the sign of a zero at most.
static bool isSplat(const Value &constant, int number) {
  llvm::ArrayRef<uint8_t> bytes = constant.payload().bytes();
  auto all = [&]<class T>(T) {
    if (bytes.size() % sizeof(T))
      return false;
    for (size_t i = 0; i < bytes.size(); i += sizeof(T)) {
      T item;
      std::memcpy(&item, bytes.data() + i, sizeof(T));
      if (item != static_cast<T>(number))
        return false;
    }
    return !bytes.empty();
  };
  switch (constant.type) {
  case TensorType::FLOAT32:
    return all(float());
  case TensorType::FLOAT64:
    return all(double());
  case TensorType::INT32:
    return all(int32_t());
  case TensorType::INT64:
    return all(int64_t());
  default:
    return false;
  }
}

/// Whether to add these zeros (or to subtract them) keeps even the sign of −0.0: −0 + 0 and −0 − −0 are 0.
static bool keepsNegativeZero(const Value &zeros, bool subtracted) {
  size_t width = zeros.type == TensorType::FLOAT32 ? 4 : zeros.type == TensorType::FLOAT64 ? 8 : 0;
  llvm::ArrayRef<uint8_t> bytes = zeros.payload().bytes();
  for (size_t i = width; width && i <= bytes.size(); i += width)
    if ((bytes[i - 1] >> 7) == subtracted)
      return false;
  return true;
}

static bool keepsShape(const Operator &op) {
  const Value *in = op.operand(0), *out = op.result();
  return in && out && in->isStatic() && out->isStatic() && in->shape == out->shape && in->type == out->type;
}

/// x + 0 → x, x − 0 → x, x · 1 → x, x / 1 → x
RewriteResult removeNeutralArithmetic(Operator &op, Rewriter &rw) {
  Value *x, *constant;
  bool additive = op.code == BuiltinOperator::ADD || op.code == BuiltinOperator::SUB;
  if (!match(op, rw, m_Commutative(m_Value(x), m_Constant(constant))))
    return decline("no constant operand");
  if (!isSplat(*constant, additive ? 0 : 1))
    return decline("the constant is not the neutral element");
  if (fusedActivation(op) != ActivationFunctionType::NONE)
    return decline("has a fused activation");
  if (constant->quantization && constant->quantization->quantized())
    return decline("quantised");
  bool one = constant->elementCount() == 1 && constant->rank() <= x->rank(); // whatever the dimensions of x
  if (!one && (!x->isStatic() || !op.result()->isStatic()))
    return decline("the broadcast is not known before run time");
  bool exact = !additive || keepsNegativeZero(*constant, op.code == BuiltinOperator::SUB);
  return rw.replaceWithValue(x, Fate::Identity, exact);
}

/// reshape, slice, transpose, pad, … that keep a static shape and the order of the elements keep the value.
RewriteResult removeShapeIdentity(Operator &op, Rewriter &rw) {
  if (op.results().size() != 1 || !keepsShape(op))
    return decline("changes the shape, or it is not known before run time");
  if (!keepsOrder(op))
    return decline("moves elements, or what tells is not constant");
  if (op.code == BuiltinOperator::CONCATENATION && op.numOperands() != 1)
    return decline("joins several tensors");
  if (fusedActivation(op) != ActivationFunctionType::NONE)
    return decline("has a fused activation");
  return rw.replaceWithValue(op.operand(0), Fate::Identity);
}

/// cast(x) → x where the types are equal.
RewriteResult removeCast(Operator &op, Rewriter &rw) {
  Value *x = op.operand(0);
  if (!x || x->type != op.result()->type)
    return decline("changes the type");
  return rw.replaceWithValue(x, Fate::Identity);
}

/// split into one part → its operand.
RewriteResult removeSplit(Operator &op, Rewriter &rw) {
  Value *x = op.operand(op.code == BuiltinOperator::SPLIT ? 1 : 0);
  if (op.results().size() != 1 || !x)
    return decline("has several parts");
  return rw.replaceWithValue(x, Fate::Identity);
}

} // namespace origo
