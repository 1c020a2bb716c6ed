#include "passes/Rule.h"

#include <cmath>

namespace origo {

/// x − c → x + (−c), so that sums are of one kind.
static Rule subtraction() {
  auto x = any(), c = constant();
  auto difference = (x - c).mayActivate();
  return {"subtraction", "not a difference to a constant", difference, [=](Match &m) {
            if (!m[x].isFloat() || !m[c].isFloat())
              return decline("not float");
            if (m[c].isShared())
              return decline("the constant has other users, for whom it would have to stay");
            // x − 0 is x bit for bit, which x + −0 would no longer be known to be.
            if (m.every(m[c], [](double number) { return number == 0; }))
              return decline("takes nothing away: for remove-identity");
            return m.replace((x + fold(-c)).activation(m.root().activation()));
          }};
}

/// Is the result of f(c, d) as big as one of the two?
static bool keepsShape(Tensor c, Tensor d) {
  auto core = [](Tensor t) { return t.shape().drop_while([](int32_t size) { return size == 1; }); };
  return c.elementCount() == 1 || d.elementCount() == 1 || core(c) == core(d);
}

static bool isSoundSum(float a, float b, float sum) {
  return std::isfinite(a) && std::isfinite(b) && std::isfinite(sum);
}

/// A product that underflows would lose what two multiplications keep.
static bool isSoundProduct(float a, float b, float product) {
  return isSoundSum(a, b, product) && (a == 0 || b == 0 || std::isnormal(product));
}

static bool isZero(float, float, float product) { return product == 0; }
static bool isFirstZero(float a, float, float) { return a == 0; }

/// Zero would make a number out of what is not one, or the other way round.
static bool isSoundRatio(float a, float b, float ratio) {
  return std::isnormal(a) && std::isnormal(b) && std::isnormal(ratio);
}

/// (x ∘ c) ∘ d → x ∘ (c ∘ d)
static Rule associate(llvm::StringLiteral name, Op code) {
  auto x = any(), c = constant(), d = constant();
  auto inner = op(code, {x, c}).once();
  auto outer = op(code, {inner, d}).mayActivate();
  auto both = op(code, {c, d});
  return {name, "not two of the same with constants, the first used once", outer, [=](Match &m) {
            if (!m[x].isFloat() || !m[c].isFloat() || !m[d].isFloat())
              return decline("not float");
            if (!keepsShape(m[c], m[d]))
              return decline("the constants broadcast in different ways");
            if ((m[c].elementCount() > m[d].elementCount() ? m[c] : m[d]).isShared())
              return decline("the constant has other users, for whom it would have to stay");
            if (!m.everyOf(both, code == Op::MUL ? isSoundProduct : isSoundSum))
              return decline("the constants, or the number that they make, are not finite or not normal");
            if (code == Op::MUL && m.everyOf(both, isZero) &&
                !m.everyOf(both, isFirstZero)) // it is not the first that loses all of x
              return decline("the second factor, or both together, make it zero");
            return m.replace(clone(outer).operand(m.positionOf(inner), x).operand(m.positionOf(d), fold(both)));
          }};
}

/// (x · a + b) · c → x · (a·c) + b·c, and likewise where one divides.
static Rule affine(llvm::StringLiteral name, bool dividesFirst, bool dividesLast) {
  auto x = any(), a = constant(), b = constant(), c = constant();
  auto inner = (dividesFirst ? x / a : x * a).once();
  auto sum = (inner + b).once();
  auto outer = (dividesLast ? sum / c : sum * c).mayActivate();
  return {name, "not a constant multiple of a product and a sum with constants, each used once", outer, [=](Match &m) {
            if (!m[x].isFloat() || !m[a].isFloat() || !m[b].isFloat() || !m[c].isFloat() || m[x].isConstant())
              return decline("not float");
            if (!keepsShape(m[a], m[c]) || !keepsShape(m[b], m[c]))
              return decline("the constants broadcast in different ways");
            if (!m[x].hasShapeOf(m[outer]))
              return decline("x is broadcast");
            Expr rate = dividesLast ? c * a : c / a;
            Expr factor = dividesFirst ? (dividesLast ? 1.0 / fold(rate) : rate) : dividesLast ? a / c : a * c;
            Expr shift = dividesLast ? b / c : b * c;
            auto isSound = dividesFirst || dividesLast ? isSoundRatio : isSoundProduct;
            if (!m.everyOf(dividesFirst ? rate : factor, isSound) ||
                !m.everyOf(shift, dividesLast ? isSoundRatio : isSoundProduct))
              return decline("the constants, or the numbers that they make, are not finite or not normal");
            unsigned at = m.op(sum).operand(0u) == m[inner] ? 0 : 1;
            Expr shifted = clone(sum).operand(at, x * fold(factor)).operand(1 - at, fold(shift));
            return m.replace(shifted.activation(m.root().activation()));
          }};
}

/// y · (1 / x) → y / x
static Rule reciprocal() {
  auto x = any(), y = any();
  auto inverse = (1.0 / x).once();
  auto product = (y * inverse).mayActivate();
  return {"reciprocal", "not a product with a reciprocal that is used once", product, [=](Match &m) {
            if (!m[x].isFloat() || m[y].isConstant() || !m[x].hasShapeOf(m[product]))
              return decline("not float, or fewer elements are divided than multiplied");
            return m.replace((y / x).activation(m.root().activation()));
          }};
}

/// x + (−y) → x − y and x − (−y) → x + y, but for a SUB that repeats single elements, which takes kernels longer than
/// NEG and ADD; −x · c → x · (−c) and −(x · c) → x · (−c)
static Rule opposite(llvm::StringLiteral name, Op code) {
  auto x = any(), y = any();
  auto opposite = (-y).once() | (y * -1.0).once();
  auto f = op(code, {x, opposite}).mayActivate();
  return {name, "no operand is the opposite of a value, used once", f, [=](Match &m) {
            if (!m[x].isFloat() || !m[y].isFloat())
              return decline("not float");
            if (code == Op::ADD && m[x].lastDimension() != m[y].lastDimension())
              return decline("a difference would repeat elements along the rows");
            return m.replace((code == Op::ADD ? x - y : x + y).activation(m.root().activation()));
          }};
}

/// −(x − y) → y − x
static Rule negatedDifference() {
  auto x = any(), y = any();
  return {"negated-difference", "not the opposite of a difference that is used once", -(x - y).once(),
          [=](Match &m) { return m[x].isFloat() && m[y].isFloat() ? m.replace(y - x) : decline("not float"); }};
}

static Rule negatedFactor() {
  auto x = any(), c = constant();
  auto product = ((-x).once() * c).mayActivate(), opposite = -(x * c).once();
  return {"negated-factor", "not a constant multiple of the opposite of a value, each used once", product | opposite,
          [=](Match &m) {
            if (!m[x].isFloat() || !m[c].isFloat())
              return decline("not float");
            if (m[c].isShared())
              return decline("the constant has other users, for whom it would have to stay");
            return m.replace((x * fold(-c)).activation(m.root().activation()));
          }};
}

/// (x · c) / d → x · (c / d), (x / c) · d → x · (d / c), and d / (x · c) → (d / c) / x
static Rule ratio(llvm::StringLiteral name, bool divides, bool mirrored) {
  auto x = any(), c = constant(), d = constant();
  auto inner = (divides ? x / c : x * c).once();
  auto outer = (mirrored ? d / inner : divides ? inner * d : inner / d).mayActivate();
  auto factor = !divides && !mirrored ? c / d : d / c;
  return {name, "not a product and a quotient with constants, the first used once", outer, [=](Match &m) {
            if (!m[x].isFloat() || !m[c].isFloat() || !m[d].isFloat())
              return decline("not float");
            if (!keepsShape(m[c], m[d]))
              return decline("the constants broadcast in different ways");
            if ((m[c].elementCount() > m[d].elementCount() ? m[c] : m[d]).isShared())
              return decline("the constant has other users, for whom it would have to stay");
            if (!m.everyOf(factor, isSoundRatio))
              return decline("the constants, or the number that they make, are not finite or not normal");
            return m.replace((mirrored ? fold(factor) / x : x * fold(factor)).activation(m.root().activation()));
          }};
}

Pass MergeConstantArithmetic() {
  return {"merge-constant-arithmetic",
          "(x + c) + d -> x + (c+d), (x * c) * d -> x * (c*d), (x * c) / d -> x * (c/d), (x * c + d) * e -> x * (c*e) "
          "+ d*e, max(max(x, c), d) -> max(x, max(c, d)), min likewise, y * (1 / x) -> y / x, x - c -> x + (-c), x + "
          "(-y) -> x - y, x - (-y) -> x + y, -(x - y) -> y - x, -x * c, -(x * c) -> x * (-c)",
          Phase::Simplify,
          true,
          {{"replace_sub_with_add", {{Op::SUB, {}}}}, {"fuse_mul_with_div", {{Op::DIV, Op::MUL}, {Op::MUL, Op::DIV}}}},
          {subtraction(), associate("sums", Op::ADD), associate("products", Op::MUL), associate("maxima", Op::MAXIMUM),
           associate("minima", Op::MINIMUM), ratio("product-divided", false, false),
           ratio("quotient-multiplied", true, false), ratio("divided-by-product", false, true),
           affine("affine", false, false), affine("affine-divided", false, true),
           affine("quotient-affine", true, false), affine("quotient-affine-divided", true, true), reciprocal(),
           opposite("added-opposite", Op::ADD), opposite("subtracted-opposite", Op::SUB), negatedDifference(),
           negatedFactor()}};
}

} // namespace origo
