#include "eval/Movement.h"
#include "passes/Match.h"
#include "passes/Movement.h"
#include "passes/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

/// Each operator passes one movement at a time. Where reshapes and transposes alternate, nothing merges them, and many
/// operators behind many of them would cost their product.
static bool isLongRun(const Operator &last) {
  constexpr unsigned limit = 8;
  unsigned length = 0;
  const Operator *op = &last;
  while (op && (onlyReshapes(*op) || op->code == BuiltinOperator::TRANSPOSE) && ++length <= limit)
    op = op->operand(0) ? op->operand(0)->producer() : nullptr;
  return length > limit;
}

/// Why an operand that is `moved` cannot be `x`, as it was before.
static const char *refusal(const Value &x, const Value &moved) {
  if (x.type != moved.type || !perTensor(x) || !sameQuantization(x.quantization, moved.quantization))
    return "quantised by channel, or what moves changes the quantisation";
  if (isLongRun(*moved.producer()))
    return "many movements in a row";
  return nullptr;
}

/// Why the result of `root` cannot be moved instead of its operand `moved`.
static const char *resultRefusal(const Operator &root, const Value &moved) {
  const Value &result = *root.result();
  if (root.results().size() != 1 || root.info()->has(Trait::ShapeQuery))
    return "not a function of one element of each operand";
  if (result.type != (root.info()->has(Trait::Comparison) ? TensorType::BOOL : moved.type))
    return "changes the type";
  if (!perTensor(result))
    return "the result is quantised by channel";
  if (moved.shape != result.shape || moved.shapeSignature != result.shapeSignature)
    return "what is moved is broadcast";
  return nullptr;
}

/// f(move(x), …) → move(f(x, …)). `inner` is f on what is not moved; `shape` has its shape.
static RewriteResult forward(Operator &root, Rewriter &rw, Draft inner, const Value &shape, const Step &back,
                             llvm::ArrayRef<Operator *> movements) {
  Value *unmoved = rw.insertUnmoved(inner.standingFor({&root}).bitExact(), *root.result(), shape, back);
  return rw.replace(rw.clone(*movements.front()).operand(0, unmoved).standingFor(movements).bitExact());
}

/// unary(reshape(x)) → reshape(unary(x))
RewriteResult forwardReshape(Operator &root, Rewriter &rw) {
  Operator *reshape;
  if (!match(root.operand(0), rw, m_OneUse(m_OpIf(onlyReshapes, reshape))) || !reshape->operand(0))
    return decline("the operand is not the result of a reshape with this use only");
  Value *x = reshape->operand(0);
  if (const char *why = refusal(*x, *root.operand(0)))
    return decline(why);
  if (const char *why = resultRefusal(root, *root.operand(0)))
    return decline(why);
  return forward(root, rw, rw.clone(root).operand(0, x), *x, {Step::Reshape}, {reshape});
}

/// Moves the elements of a constant so that transposing them gives them back: its rank is filled up with ones in front.
static llvm::Expected<Value *> transposedBack(Value &constant, const Step &back, Rewriter &rw) {
  size_t rank = back.first.size();
  llvm::SmallVector<int32_t, 6> full(rank - constant.rank(), 1), shape;
  full.append(constant.shape.begin(), constant.shape.end());
  llvm::SmallVector<int32_t, 6> permutation(back.first.begin(), back.first.end());
  for (int32_t axis : permutation)
    shape.push_back(full[axis]);
  llvm::SmallVector<int32_t, 6> kept(llvm::make_filter_range(permutation, [&](int32_t a) { return full[a] != 1; }));
  if (llvm::is_sorted(kept)) // the same bytes
    return rw.movedConstant(constant.payload(), shape, constant, {{Step::Reshape}});
  llvm::Expected<Payload> payload = walkElements(constant.payload(), *bitsPerElement(constant.type) / 8, shape,
                                                 permuting(full, permutation), rw.store);
  if (!payload)
    return payload.takeError();
  llvm::SmallVector<Step, 2> steps;
  if (full.size() != constant.shape.size())
    steps.push_back({Step::Reshape});
  steps.push_back(back);
  return rw.movedConstant(std::move(*payload), shape, constant, steps);
}

/// f(transpose(x, p), transpose(y, p), constant) → transpose(f(x, y, constant transposed back), p) for the transposes
/// and constants that an elementwise operator has, in any order.
RewriteResult forwardTranspose(Operator &root, Rewriter &rw) {
  llvm::SmallVector<Transposed, 2> transposes(root.numOperands()); // without an operator where it is a constant
  llvm::SmallVector<Operator *, 2> movements;
  const Transposed *whole = nullptr; // one that is not broadcast
  for (auto [i, transposed] : llvm::enumerate(transposes)) {
    Value *operand = root.operand(i), *constant;
    if (match(operand, rw, m_OneUse(m_Transposed(transposed)))) {
      movements.push_back(transposed.op);
      if (const char *why = refusal(*transposed.x, *operand))
        return decline(why);
      if (!whole && operand->shape == root.result()->shape)
        whole = &transposed;
    } else if (!match(operand, rw, m_Constant(constant))) {
      return decline("an operand is neither constant nor the result of a transpose with this use only");
    }
  }
  if (movements.empty())
    return decline("no operand is transposed");
  if (!whole)
    return decline("what is moved is broadcast");
  if (const char *why = resultRefusal(root, *whole->op->result()))
    return decline(why);

  Step back{Step::Permute};
  back.first.resize(whole->permutation.size());
  for (auto [i, axis] : llvm::enumerate(whole->permutation))
    back.first[axis] = i;
  Draft inner = rw.clone(root);
  for (auto [i, transposed] : llvm::enumerate(transposes)) {
    Value *operand = root.operand(i);
    if (transposed.op) {
      if (transposed.permutation != whole->permutation)
        return decline("the operands are transposed in different ways");
      inner.operand(i, transposed.x);
      continue;
    }
    std::optional<unsigned> bits = bitsPerElement(operand->type);
    if (operand->rank() > root.result()->rank() || !bits || *bits % 8 || !isDense(operand, *bits / 8) ||
        !perTensor(*operand))
      return decline("the constant is of a higher rank, not dense, or quantised by channel");
    if (*operand->elementCount() == 1)
      continue;
    if (!operand->hasOneUse())
      return decline("the constant has other users, for whom it would have to stay");
    llvm::Expected<Value *> constant = transposedBack(*operand, back, rw);
    if (!constant)
      return rw.fail(constant.takeError());
    inner.operand(i, *constant);
  }
  return forward(root, rw, std::move(inner), *whole->x, back, movements);
}

} // namespace origo
