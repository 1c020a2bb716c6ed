#include "passes/Rule.h"

namespace origo {

/// −(−x) → x, ¬(¬x) → x
static Rule twice(llvm::StringLiteral name, Op code) {
  auto x = any();
  return {name, "not the opposite of an opposite", op(code, {op(code, {x})}),
          [=](Match &m) { return m[x].isQuantized() ? decline("quantised") : m.replace(x); }};
}

/// f(−x) → f(x) where the sign does not count
static Rule signless() {
  auto x = any();
  auto f = anyOf({Op::ABS, Op::SQUARE, Op::COS}, {-x});
  return {"signless", "not an even function of an opposite", f,
          [=](Match &m) { return m[x].isFloat() ? m.replace(cloneRoot().operand(0, x)) : decline("not float"); }};
}

static Op contraryOf(Op code) {
  constexpr std::pair<Op, Op> pairs[] = {
      {Op::EQUAL, Op::NOT_EQUAL}, {Op::LESS, Op::GREATER_EQUAL}, {Op::GREATER, Op::LESS_EQUAL}};
  for (auto [one, other] : pairs)
    if (code == one || code == other)
      return code == one ? other : one;
  return code;
}

/// ¬(a = b) → a ≠ b, ¬(a ≠ b) → a = b, and of integers ¬(a < b) → a ≥ b and so on.
static Rule comparison() {
  auto a = any(), b = any();
  auto compared =
      anyOf({Op::EQUAL, Op::NOT_EQUAL, Op::LESS, Op::GREATER_EQUAL, Op::GREATER, Op::LESS_EQUAL}, {a, b}).once();
  return {"comparison", "not the contrary of a comparison, used once", op(Op::LOGICAL_NOT, {compared}), [=](Match &m) {
            Op code = m.op(compared).code();
            bool ordered = code != Op::EQUAL && code != Op::NOT_EQUAL;
            if (ordered && m[a].type() != TensorType::INT32 && m[a].type() != TensorType::INT64)
              return decline("neither holds of NaN");
            return m.replace(op(contraryOf(code), {a, b}));
          }};
}

Pass RemoveOpposites() {
  return {"remove-opposites",
          "-(-x) -> x, not(not(x)) -> x, |-x| -> |x|, (-x)^2 -> x^2, cos(-x) -> cos(x), not(a == b) -> a != b, not(a "
          "< b) -> a >= b for integers",
          Phase::Simplify,
          true,
          {},
          {twice("opposite", Op::NEG), twice("contrary", Op::LOGICAL_NOT), signless(), comparison()}};
}

} // namespace origo
