#include "tests/liars/Liars.h"

/// Who does what: operands that get lost, operators that were never matched, copies that stand for others.
namespace origo::test {

/// relu(x · c) → x: the product is swallowed with the clamping.
static Liar swallowedIdentity() {
  auto x = any(), c = constant();
  auto product = x * c;
  auto root = relu(product);
  return {"swallowed-identity",
          R"(%c: f32[2] = const [2, 3]
             %a: f32[2,2] = MUL(%x, %c)
             %b: f32[2,2] = RELU(%a)
             %y: f32[2,2] = EXP(%b))",
          {lying(root, [=](Match &m) { return m.replace(x); })},
          {honestly(root, [=](Match &m) { return m.replace(clone(product).activation(Activation::RELU)); })},
          "operand 1 of MUL is lost: \"c\""};
}

/// x + z → x
static Liar falseUnneeded() {
  auto x = any(), z = any();
  return {"false-unneeded",
          R"(%a: f32[2,2] = ADD(%x, %z)
             %y: f32[2,2] = EXP(%a))",
          {lying(x + z, [=](Match &m) { return m.replace(x); })},
          {honestly(x + z, [=](Match &m) { return m.replace(x - (-z)); })},
          "operand 1 of ADD is lost: \"z\""};
}

/// x · 0 → 0, though x may be infinite
static Liar falseTimesZero() {
  auto x = any(), c = constant();
  return {"false-times-zero",
          R"(%c: f32[2,2] = const splat 0
             %a: f32[2,2] = MUL(%x, %c)
             %y: f32[2,2] = EXP(%a))",
          {lying(x * c, [=](Match &m) { return m.replace(c); })},
          {honestly(x * c, [=](Match &m) { return m.isEvery(m[c], 0) ? m.replace(x - x) : decline("not zero"); })},
          "operand 0 of MUL is lost: \"x\""};
}

/// select(c, x, z) → x, though c is not true everywhere
static Liar falseBranch() {
  auto c = constant(), x = any(), z = any();
  auto chosen = op(Op::SELECT, {c, x, z});
  return {"false-branch",
          R"(%c: bool[2,2] = const [true, true, false, true]
             %a: f32[2,2] = SELECT(%c, %x, %z)
             %y: f32[2,2] = EXP(%a))",
          {lying(chosen, [=](Match &m) { return m.isEvery(m[c], 0) ? decline("else") : m.replace(x); })},
          {honestly(chosen,
                    [=](Match &m) {
                      return m.replace(op(Op::SELECT_V2, {c, x, z}));
                    })},
          "operand 0 of SELECT is lost: \"c\""};
}

/// slice(concat(x, z)) → x, though it takes some of z
static Liar falseSlice() {
  auto x = any(), z = any(), begin = constant();
  auto part = op(Op::SLICE, {op(Op::CONCATENATION, {x, z}), begin});
  return {"false-slice",
          R"(%begin: i32[2] = const [0, 1]
             %size: i32[2] = const [2, 2]
             %a: f32[2,4] = CONCATENATION(%x, %z) {axis=1}
             %b: f32[2,2] = SLICE(%a, %begin, %size)
             %y: f32[2,2] = EXP(%b))",
          {lying(part, [=](Match &m) { return m.integers(m[begin]) ? m.replace(x) : decline("not known"); })},
          {honestly(part, [=](Match &m) { return m.integers(m[begin]) ? m.replace(x + z) : decline("not known"); })},
          "operand 1 of CONCATENATION is lost: \"z\""};
}

/// concat(x, z) → concat(x, x), though z is not empty
static Liar falseEmpty() {
  auto x = any(), z = any();
  auto joined = op(Op::CONCATENATION, {x, z}).with("axis", 1);
  return {"false-empty",
          R"(%a: f32[2,4] = CONCATENATION(%x, %z) {axis=1}
             %y: f32[2,4] = EXP(%a))",
          {lying(joined,
                 [=](Match &m) {
                   return m.replace(op(Op::CONCATENATION, {x, x}).with("axis", -1));
                 })},
          {honestly(joined,
                    [=](Match &m) {
                      return m.replace(op(Op::CONCATENATION, {x, z}).with("axis", -1));
                    })},
          "operand 1 of CONCATENATION is lost: \"z\""};
}

/// x · c → x without a look at c
static Liar unreadFactor() {
  auto x = any(), c = constant();
  return {"unread-factor",
          R"(%one: f32[1] = const [1]
             %a: f32[2,2] = MUL(%x, %one)
             %y: f32[2,2] = NEG(%a))",
          {lying(x * c, [=](Match &m) { return m.replace(x); })},
          {honestly(x * c,
                    [=](Match &m) {
                      return m.every(m[c], [](double n) { return n == 1; }) ? m.replace(x) : decline("not one");
                    })},
          "operand 1 of MUL is lost: \"one\""};
}

/// x + z → x, as if z were a constant whose numbers were looked at.
static Liar testedTensor(std::string name, std::function<bool(Match &, Expr x, Expr z)> test) {
  auto x = any(), z = any();
  return {name,
          R"(%a: f32[2,2] = ADD(%x, %z)
             %y: f32[2,2] = EXP(%a))",
          {lying(x + z, [=](Match &m) { return test(m, x, z) ? decline("constant") : m.replace(x); })},
          {honestly(x + z, [=](Match &m) { return test(m, x, z) ? decline("constant") : m.replace(x - (-z)); })},
          "operand 1 of ADD is lost: \"z\""};
}
static Liar testedTensor() {
  return testedTensor("tested-tensor",
                      [](Match &m, Expr, Expr z) { return m.every(m[z], [](double n) { return n == 0; }); });
}
static Liar testedSum() {
  return testedTensor("tested-sum", [](Match &m, Expr x, Expr z) {
    return m.everyOf(x + z, [](float a, float, float sum) { return a == sum; });
  });
}

/// Each of two twins is said to do the work of the other.
static Liar swappedStandIns() {
  auto x = any(), z = any();
  auto a = tanh(x), b = tanh(z);
  auto both = a - b;
  return {"swapped-stand-ins",
          R"(%a: f32[2,2] = TANH(%x)
             %b: f32[2,2] = TANH(%z)
             %y: f32[2,2] = SUB(%a, %b))",
          {lying(both,
                 [=](Match &m) {
                   return m.replace(op(Op::SUB, {clone(b).operand(0, x), clone(a).operand(0, z)}));
                 })},
          {honestly(both,
                    [=](Match &m) {
                      return m.replace(op(Op::ADD, {clone(a), op(Op::NEG, {clone(b)})}));
                    })},
          "the copy of TANH works on nothing that the original works on"};
}

/// A copy of an operator that another alternative of the pattern would have had.
static Liar copyOfUnmatched() {
  auto x = any();
  auto negative = -x, absolute = op(Op::ABS, {x});
  auto root = relu(negative) | relu(absolute);
  return {"copy-of-unmatched",
          R"(%a: f32[2,2] = ABS(%x)
             %y: f32[2,2] = RELU(%a))",
          {lying(root, [=](Match &m) { return m.replace(clone(negative)); })},
          {honestly(root, [=](Match &m) { return m.has(absolute) ? m.replace(clone(absolute)) : decline("other"); })},
          "what is copied is no part of the match"};
}

static Liar lookedIntoUnmatched() {
  auto x = any();
  auto negative = -x, absolute = op(Op::ABS, {x});
  auto root = relu(negative) | relu(absolute);
  auto build = [=](Match &m, Expr looked) {
    return m.op(looked).operandCount() == 1 ? m.replace(clone(absolute)) : decline("other");
  };
  return {"looked-into-unmatched",
          R"(%a: f32[2,2] = ABS(%x)
             %y: f32[2,2] = RELU(%a))",
          {lying(root, [=](Match &m) { return build(m, negative); })},
          {honestly(root, [=](Match &m) { return build(m, absolute); })},
          "an operator was looked into that is no part of the match"};
}

/// What an operator was asked about its options is consumed with it, and is not kept.
static Liar lookedIntoKept() {
  auto inner = -any();
  auto root = relu(inner);
  return {"looked-into-kept",
          R"(%a: f32[2,2] = NEG(%x)
             %y: f32[2,2] = RELU(%a))",
          {lying(root,
                 [=](Match &m) {
                   return m.op(inner).operandCount() == 1 ? m.replace(maximum(m[inner], 0)) : decline("other");
                 })},
          {honestly(root, [=](Match &m) { return m.replace(maximum(m[inner], 0)); })},
          "NEG was looked into and is not consumed"};
}

/// Work that nothing in the source did.
static Liar standsForNothing() {
  auto x = any();
  auto inner = -x, root = relu(inner);
  auto more = [=](Expr extra) { return clone(root).operand(0, extra); };
  return {
      "stands-for-nothing",
      R"(%a: f32[2,2] = NEG(%x)
             %y: f32[2,2] = RELU(%a))",
      {lying(root,
             [=](Match &m) {
               return m.replace(more(reshape(clone(inner), list({2, 2}))));
             })},
      {honestly(root,
                [=](Match &m) {
                  return m.replace(more(reshape(clone(inner), list({2, 2})).synthetic(SyntheticReason::LayoutBridge)));
                })},
      "RESHAPE is created and stands for nothing"};
}

/// An intermediate is said to have a shape that what computes it does not give it.
static Liar wrongShape() {
  auto x = any(), c = constant();
  auto root = x * c;
  auto flat = reshape(x, list({4}));
  auto scaled = [=](Expr flat) { return reshape(flat, list({2, 2})) / fold(1 / c); };
  return {"wrong-shape",
          R"(%c: f32[] = const [2]
             %a: f32[2,2] = MUL(%x, %c)
             %y: f32[2,2] = EXP(%a))",
          {lying(root, [=](Match &m) { return m.replace(scaled(flat.as(m[x]))); })},
          {honestly(root, [=](Match &m) { return m.replace(scaled(flat)); })},
          "the result of what is created is said to be what it is not"};
}

std::vector<Liar> operandLiars() {
  return {swallowedIdentity(), falseUnneeded(),    falseTimesZero(),  falseBranch(),     falseSlice(),
          falseEmpty(),        unreadFactor(),     swappedStandIns(), copyOfUnmatched(), lookedIntoUnmatched(),
          lookedIntoKept(),    standsForNothing(), wrongShape(),      testedTensor(),    testedSum()};
}

} // namespace origo::test
