#include "ir/ConstantView.h"
#include "passes/Match.h"
#include "passes/Movement.h"
#include "passes/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

static bool onlyReshapes(BuiltinOperator code) {
  return code == BuiltinOperator::RESHAPE || code == BuiltinOperator::SQUEEZE || code == BuiltinOperator::EXPAND_DIMS;
}

/// One parameter for all elements, so that moving them changes nothing.
static bool perTensor(const Value &value) {
  return !value.quantization ||
         (value.quantization->scale.size() <= 1 && value.quantization->details == Quantization::Details::None);
}

static std::string bytesOf(llvm::ArrayRef<int32_t> numbers) {
  return std::string(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(int32_t));
}

/// reshape(reshape(x)) → reshape(x): the order of the elements is all that the inner one hands on.
RewriteResult mergeReshapes(Operator &outer, Rewriter &rw) {
  Value *middle = outer.operand(0);
  Operator *inner = middle ? middle->producer() : nullptr;
  if (!inner || !onlyReshapes(inner->code))
    return decline("the operand is not the result of a reshape");
  Value *x = inner->operand(0);
  if (!x || !perTensor(*x) || !sameQuantization(x->quantization, middle->quantization))
    return decline("the inner reshape changes the quantisation");
  rw.consume(*inner);
  return rw.replace(rw.clone(outer).operand(0, x).bitExact());
}

/// reshape(x) → x where an inner reshape is undone: reshape(reshape(x)) with the shape of x.
RewriteResult cancelReshapes(Operator &outer, Rewriter &rw) {
  Value *middle = outer.operand(0);
  Operator *inner = middle ? middle->producer() : nullptr;
  if (!inner || !onlyReshapes(inner->code))
    return decline("the operand is not the result of a reshape");
  Value *x = inner->operand(0);
  if (!x || !x->isStatic() || !outer.result()->isStatic() || x->shape != outer.result()->shape)
    return decline("the two do not undo each other");
  rw.consume(*inner);
  return rw.replaceWithValue(x, Fate::LayoutCancelled);
}

/// transpose(transpose(x, p), q) → transpose(x, p∘q), or x where that is the identity.
RewriteResult mergeTransposes(Operator &outer, Rewriter &rw) {
  Value *middle = outer.operand(0);
  Operator *inner = middle ? middle->producer() : nullptr;
  if (!inner || inner->code != BuiltinOperator::TRANSPOSE)
    return decline("the operand is not the result of a transpose");
  Value *x = inner->operand(0);
  auto p = readConstant<int32_t>(inner->operand(1)), q = readConstant<int32_t>(outer.operand(1));
  if (!x || !p || !q || p->size() != q->size() || p->size() != x->shape.size())
    return decline("a permutation is not constant");
  if (!perTensor(*x) || !sameQuantization(x->quantization, middle->quantization))
    return decline("the inner transpose changes the quantisation");
  llvm::SmallVector<int32_t, 6> composed;
  for (int32_t axis : *q) {
    if (axis < 0 || axis >= static_cast<int32_t>(p->size()))
      return decline("a permutation does not fit the shape");
    composed.push_back((*p)[axis]);
  }
  rw.consume(*inner);
  bool identity =
      llvm::all_of(llvm::enumerate(composed), [](auto e) { return e.value() == static_cast<int32_t>(e.index()); });
  if (identity)
    return rw.replaceWithValue(x, Fate::LayoutCancelled);
  Value *permutation = rw.constant(Payload::owned(bytesOf(composed)), TensorType::INT32, outer.operand(1)->shape,
                                   {outer.operand(1), inner->operand(1)}, &outer, std::nullopt);
  return rw.replace(rw.clone(outer).operand(0, x).operand(1, permutation).bitExact());
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
