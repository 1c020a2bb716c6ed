#include "passes/Spelling.h"

namespace origo {

/// 1 / (1 + exp(−x)) → logistic(x), and y / (1 + exp(−x)) → y · logistic(x)
static Rule quotient() {
  auto x = any(), y = any();
  auto divisor = (1 + (expOf(negated(x)) | 1.0 / expOf(x))).once();
  auto whole = 1.0 / divisor, part = (y / divisor).mayActivate();
  return {"quotient", "not a quotient by 1 + exp(−x) that is used once", whole | part, [=](Match &m) {
            if (!m[x].isFloat())
              return decline("not float");
            Expr gate = op(Op::LOGISTIC, {x});
            return m.replace(m.has(whole) ? gate : (y * gate).activation(m.root().activation()));
          }};
}

/// 1 / (1 + exp(x)) → logistic(−x), where a factor takes the sign
static Rule ofOpposite() {
  auto x = any();
  return {"reciprocal", "not the reciprocal of 1 + exp(x) that is used once", 1.0 / (1 + expOf(x)).once(),
          [=](Match &m) { return m[x].isFloat() ? m.replace(op(Op::LOGISTIC, {-x})) : decline("not float"); }};
}

/// y / (1 + exp(c · x)) → y · logistic(−c · x)
static Rule ofMultiple() {
  auto x = any(), y = any(), c = constant();
  auto part = (y / (1 + expOf(x * c)).once()).mayActivate();
  return {"multiple", "not a quotient by 1 + exp(c · x) that is used once", part, [=](Match &m) {
            if (!m[x].isFloat() || m[y].isConstant() || m[c].isShared())
              return decline("not float, nothing but a constant is divided, or others use the factor");
            return m.replace((y * op(Op::LOGISTIC, {x * fold(-c)})).activation(m.root().activation()));
          }};
}

/// 1 − logistic(−x) → logistic(x)
static Rule complement() {
  auto x = any();
  return {"complement", "not what is left of one by logistic(−x)", 1.0 - op(Op::LOGISTIC, {negated(x)}),
          [=](Match &m) { return m[x].isFloat() ? m.replace(op(Op::LOGISTIC, {x})) : decline("not float"); }};
}

/// exp(x) / (1 + exp(x)) → logistic(x)
static Rule ofExponentials() {
  auto x = any();
  auto power = expOf(x).inside();
  return Rule{"exponentials", "not exp(x) over 1 + exp(x)", power / (1 + power),
              [=](Match &m) { return m[x].isFloat() ? m.replace(op(Op::LOGISTIC, {x})) : decline("not float"); }}
      .assumes("no exponential overflows");
}

/// (1 + tanh(x/2)) / 2 → logistic(x), and x times that likewise.
static Rule ofTangent(llvm::StringLiteral name, bool gated) {
  auto x = any();
  auto tangent = tanh(halfOf(x));
  auto gate = halfOf(1 + tangent) | (halfOf(tangent) + 0.5), gates = halfOfGated(x, tangent);
  return {name, "not half of 1 + tanh(x/2), or x times that", gated ? gates : gate, [=](Match &m) {
            Expr logistic = op(Op::LOGISTIC, {x});
            return m[x].isFloat() ? m.replace(gated ? x * logistic : logistic) : decline("not float");
          }};
}

Pass RecogniseLogistic() {
  return Pass{"recognise-logistic",
              "1 / (1 + exp(-x)), exp(x) / (1 + exp(x)), (1 + tanh(x/2)) / 2 -> logistic(x), y / (1 + exp(-x)) -> y * "
              "logistic(x), 1 / (1 + exp(x)) -> logistic(-x), y / (1 + exp(c * x)) -> y * logistic(-c * x), 1 - "
              "logistic(-x) -> logistic(x)",
              Phase::Recognise,
              true,
              {},
              {ofExponentials(), quotient(), ofOpposite(), ofMultiple(), complement(), ofTangent("tangent", false),
               ofTangent("gated-tangent", true)}}
      .about("exp(x) over 1 + exp(x) is NaN above 88, where LOGISTIC is not.");
}

} // namespace origo
