#include "passes/Rule.h"

namespace origo {

/// quantize(x) → x where x is stored like that.
static Rule stored() {
  auto x = any();
  return {"stored", "", op(Op::QUANTIZE, {x}), [=](Match &m) {
            return m[x].isLike(m.root().result()) ? m.replace(x) : decline("is stored otherwise before");
          }};
}

/// quantize(dequantize(q)) → q: (q − z) · s / s is nearer to q − z than half a step, as long as the products are
/// floats.
static Rule back() {
  auto x = any();
  return {"back", "not quantised before", op(Op::QUANTIZE, {op(Op::DEQUANTIZE, {x})}), [=](Match &m) {
            bool same = m[x].isLike(m.root().result()) && m.root().result().holdsAllOf(m[x]);
            return same ? m.replace(x) : decline("is not stored as it was before");
          }};
}

/// f(quantize(q)) → f(q) where q, of the same scale, loses nothing in between.
static Rule between() {
  auto x = any();
  auto widened = op(Op::QUANTIZE, {x});
  return {"between", "not quantised before", anyOf({Op::QUANTIZE, Op::DEQUANTIZE}, {widened}), [=](Match &m) {
            if (!m[widened].holdsAllOf(m[x]))
              return decline("is rounded in between");
            return m.replace(cloneRoot().operand(0, x).as(m.root().result()));
          }};
}

/// quantize(concat(y, dequantize(quantize(x)))) → quantize(concat(y, x)) where both are of one scale.
static Rule joined() {
  auto x = any();
  auto rounded = op(Op::QUANTIZE, {x});
  auto widened = op(Op::DEQUANTIZE, {rounded});
  auto parts = op(Op::CONCATENATION, {}).once().each(widened | any());
  return {"joined", "not quantised of what is joined and used once", op(Op::QUANTIZE, {parts}), [=](Match &m) {
            Tensor result = m.root().result();
            Expr joined = clone(parts);
            bool found = false;
            for (unsigned i = 0; i < m.op(parts).operandCount(); ++i)
              if (m.at(i, rounded) && m.at(i, x).isFloat() && m.at(i, rounded).hasTypeOf(result) &&
                  m.at(i, rounded).isPerTensor() && m.at(i, rounded).hasQuantizationOf(result)) {
                joined = joined.operand(i, m.at(i, x));
                found = true;
              }
            return found ? m.replace(cloneRoot().operand(0, joined).as(result))
                         : decline("no part is stored before as all of them are");
          }};
}

/// quantize(dequantize(q)) → quantize(q) between integers of 8 bits with and without a sign, for the same numbers.
static Rule sign() {
  auto x = any();
  auto isByte = [](Tensor t) { return t.type() == TensorType::INT8 || t.type() == TensorType::UINT8; };
  return {"sign", "not quantised before", op(Op::QUANTIZE, {op(Op::DEQUANTIZE, {x})}), [=](Match &m) {
            Tensor result = m.root().result();
            if (!isByte(m[x]) || !isByte(result) || !result.holdsAllOf(m[x]))
              return decline("stands for other numbers");
            return m.replace(op(Op::QUANTIZE, {x}).as(result));
          }};
}

Pass RemoveLosslessQuantize() {
  return {
      "remove-lossless-quantize",
      "quantize(x) -> x where x is stored like that, quantize(dequantize(q)) -> q or, with another sign, quantize(q), "
      "f(quantize(q)) -> f(q) where nothing is rounded, quantize(concat(y, dequantize(quantize(x)))) -> "
      "quantize(concat(y, x)) of one scale",
      Phase::Simplify,
      true,
      {{"remove_redundant_quantize", {}}},
      {stored(), back(), sign(), between(), joined()}};
}

} // namespace origo
