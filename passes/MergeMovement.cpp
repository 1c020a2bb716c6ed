#include "ir/ConstantView.h"
#include "passes/Match.h"
#include "passes/Movement.h"
#include "passes/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>

namespace origo {

bool onlyReshapes(const Operator &op) {
  return op.code == BuiltinOperator::RESHAPE || op.code == BuiltinOperator::SQUEEZE ||
         op.code == BuiltinOperator::EXPAND_DIMS;
}

bool perTensor(const Value &value) {
  return !value.quantization ||
         (value.quantization->scale.size() <= 1 && value.quantization->details == Quantization::Details::None);
}

std::string bytesOf(llvm::ArrayRef<int32_t> numbers) {
  return std::string(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(int32_t));
}

bool m_Transposed::match(Value *value, Rewriter &rw) const {
  Operator *op = value ? value->producer() : nullptr;
  if (!op || op->code != BuiltinOperator::TRANSPOSE || !op->operand(0))
    return false;
  auto permutation = readConstant<int32_t>(op->operand(1));
  size_t rank = op->operand(0)->shape.size();
  if (!permutation || permutation->size() != rank || value->shape.size() != rank ||
      !std::is_permutation(permutation->begin(), permutation->end(), llvm::seq<int32_t>(0, rank).begin()))
    return false;
  bind = {op, op->operand(0), *permutation};
  rw.consume(*op);
  return true;
}

/// reshape(reshape(x)) → reshape(x): the order of the elements is all that the inner one hands on.
RewriteResult mergeReshapes(Operator &outer, Rewriter &rw) {
  Operator *inner;
  if (!match(outer.operand(0), rw, m_OpIf(onlyReshapes, inner)))
    return decline("the operand is not the result of a reshape");
  Value *x = inner->operand(0);
  if (!x || !perTensor(*x) || !sameQuantization(x->quantization, inner->result()->quantization))
    return decline("the inner reshape changes the quantisation");
  return rw.replace(rw.clone(outer).operand(0, x).bitExact());
}

/// reshape(x) → x where an inner reshape is undone: reshape(reshape(x)) with the shape of x.
RewriteResult cancelReshapes(Operator &outer, Rewriter &rw) {
  Operator *inner;
  if (!match(outer.operand(0), rw, m_OpIf(onlyReshapes, inner)))
    return decline("the operand is not the result of a reshape");
  Value *x = inner->operand(0);
  if (!x || !x->isStatic() || !outer.result()->isStatic() || x->shape != outer.result()->shape)
    return decline("the two do not undo each other");
  return rw.replaceWithValue(x, Fate::LayoutCancelled);
}

/// transpose(transpose(x, p), q) → transpose(x, p∘q), or x where that is the identity.
RewriteResult mergeTransposes(Operator &outer, Rewriter &rw) {
  Transposed inner, both;
  if (!match(outer.operand(0), rw, m_Transposed(inner)) || !match(outer.result(), rw, m_Transposed(both)))
    return decline("not two transposes in a row with constant permutations");
  if (!perTensor(*inner.x) || !sameQuantization(inner.x->quantization, both.x->quantization))
    return decline("the inner transpose changes the quantisation");
  llvm::SmallVector<int32_t, 6> composed;
  for (int32_t axis : both.permutation)
    composed.push_back(inner.permutation[axis]);
  if (llvm::is_sorted(composed))
    return rw.replaceWithValue(inner.x, Fate::LayoutCancelled);
  Value *permutation = rw.constant(Payload::owned(bytesOf(composed)), TensorType::INT32, outer.operand(1)->shape,
                                   {outer.operand(1), inner.op->operand(1)}, &outer, std::nullopt);
  return rw.replace(rw.clone(outer).operand(0, inner.x).operand(1, permutation).bitExact());
}

bool keepsOrder(const Operator &op) {
  if (op.code == BuiltinOperator::TRANSPOSE) {
    auto permutation = readConstant<int32_t>(op.operand(1));
    if (!permutation || permutation->size() != op.operand(0)->shape.size())
      return false;
    int32_t last = -1;
    for (int32_t axis : *permutation) {
      if (axis < 0 || axis >= op.operand(0)->rank())
        return false;
      if (op.operand(0)->shape[axis] == 1)
        continue;
      if (axis <= last)
        return false;
      last = axis;
    }
    return true;
  }
  if (op.code == BuiltinOperator::STRIDED_SLICE) {
    auto strides = readIntegers(op.operand(3));
    return strides && llvm::all_of(*strides, [](int64_t stride) { return stride > 0; });
  }
  return op.code != BuiltinOperator::PACK || op.numOperands() == 1;
}

/// expand_dims, squeeze, pack of one, transpose or strided_slice that moves no element → reshape.
RewriteResult substituteToReshape(Operator &op, Rewriter &rw) {
  Value *x = op.operand(0), *result = op.result();
  if (!x || !x->isStatic() || !result->isStatic() || x->type != result->type ||
      x->elementCount() != result->elementCount())
    return decline("leaves out elements, or the shape is not known before run time");
  if (!keepsOrder(op))
    return decline("moves elements");
  if (!perTensor(*x) || !sameQuantization(x->quantization, result->quantization))
    return decline("changes the quantisation");
  if (x->shape == result->shape)
    return decline("does nothing at all: for remove-identity");
  Value *shape = rw.inventedConstant(Payload::owned(bytesOf(result->shape)), TensorType::INT32,
                                     {static_cast<int32_t>(result->shape.size())}, rw.label("shape"));
  return rw.replace(rw.draft(BuiltinOperator::RESHAPE, {x, shape}).bitExact());
}

} // namespace origo
