#include "ir/ConstantView.h"
#include "passes/Linear.h"
#include "passes/Match.h"
#include "passes/Passes.h"

#include <cstring>

namespace origo {

/// A float32 constant of one element, this number.
struct m_Number {
  float number;
  explicit m_Number(float number) : number(number) {}
  bool match(Value *value, Rewriter &) const {
    auto elements = readConstant<float>(value, 1);
    return elements && elements->size() == 1 && elements->front() == number;
  }
};

static bool isFloatKeepingShape(const Value *x, const Value &result) {
  return x->type == TensorType::FLOAT32 && x->shape == result.shape && x->shapeSignature == result.shapeSignature;
}

/// min(max(x, 0), 6), max(min(x, 6), 0), relu(min(x, 6)) and min(relu(x), 6) → relu6(x)
RewriteResult recogniseRelu6(Operator &root, Rewriter &rw) {
  Value *x = nullptr;
  Operator *inner = nullptr;
  using Op = BuiltinOperator;
  bool found = false;
  switch (root.code) {
  case Op::RELU:
    found = match(root.operand(0), rw, m_OneUse(m_Op(Op::MINIMUM, inner, m_Value(x), m_Number(6))));
    break;
  case Op::MAXIMUM:
    found = match(root, rw, m_Commutative(m_OneUse(m_Op(Op::MINIMUM, inner, m_Value(x), m_Number(6))), m_Number(0)));
    break;
  default:
    found = match(root, rw, m_Commutative(m_OneUse(m_Op(Op::MAXIMUM, inner, m_Value(x), m_Number(0))), m_Number(6))) ||
            match(root, rw, m_Commutative(m_OneUse(m_Op(Op::RELU, inner, m_Value(x))), m_Number(6)));
  }
  if (!found)
    return decline("not a value bounded by 0 and 6");
  if (!isFloatKeepingShape(x, *root.result()))
    return decline("not float, or a bound broadcasts");
  return rw.replace(rw.draft(BuiltinOperator::RELU6, {x}));
}

/// hard_swish(x) → x · (relu6(x + 3) · 1/6), for back ends without it
RewriteResult decomposeHardSwish(Operator &op, Rewriter &rw) {
  Value *x = op.operand(0);
  if (!x || x->type != TensorType::FLOAT32 || !isFloatKeepingShape(x, *op.result()))
    return decline("not float");
  auto scalar = [&](float number, llvm::StringRef name) {
    return rw.inventedConstant(Payload::owned(std::string(reinterpret_cast<char *>(&number), sizeof(number))),
                               TensorType::FLOAT32, {}, rw.label(name));
  };
  Value *shifted = rw.insertLike(rw.draft(BuiltinOperator::ADD, {x, scalar(3, "three")}), *x);
  Value *gate = rw.insertLike(rw.draft(BuiltinOperator::RELU6, {shifted}), *x);
  Value *scaled = rw.insertLike(rw.draft(BuiltinOperator::MUL, {gate, scalar(1.0f / 6, "sixth")}), *x);
  return rw.replace(rw.draft(BuiltinOperator::MUL, {x, scaled}));
}

} // namespace origo
