#include "tests/liars/Liars.h"

#include <memory>

/// Numbers that come from elsewhere: of an earlier match, or of an operator that stays.
namespace origo::test {

static const char *const scaled = R"(%c: f32[1] = const [2]
  %a: f32[2,2] = MUL(%x, %c)
  %b: f32[2,2] = ABS(%a)
  %y: f32[2,2] = EXP(%b))";
static const char *const turned = R"(%p: i32[2] = const [1, 0]
  %a: f32[2,2] = TRANSPOSE(%x, %p)
  %y: f32[2,2] = ABS(%a))";
static const char *const leaky = R"(%c: f32[1] = const [0.5]
  %b: f32[2,2] = MUL(%x, %c)
  %a: f32[2,2] = MAXIMUM(%x, %b)
  %y: f32[2,2] = ABS(%a))";

/// The constant of another operator, as it is.
static Liar foreignConstant() {
  auto x = any(), c = constant();
  auto kept = std::make_shared<Tensor>();
  return {"foreign-constant",
          scaled,
          {keeping(x * c, [=](Match &m) { *kept = m[c]; }),
           lying(op(Op::ABS, {x}), [=](Match &m) { return m.replace(maximum(x, x * Expr(*kept))); })},
          {honestly(x * c, [=](Match &m) { return m.replace(x / fold(1 / c)); })},
          "a tensor was kept from an earlier match"};
}

/// … and computed with. The leaf of a fold is an operand, too.
static Liar foreignFold() {
  auto x = any(), c = constant();
  auto kept = std::make_shared<Tensor>();
  return {"foreign-fold",
          scaled,
          {keeping(x * c, [=](Match &m) { *kept = m[c]; }),
           lying(op(Op::ABS, {x}), [=](Match &m) { return m.replace(maximum(x, x * fold(Expr(*kept) * 2))); })},
          {honestly(x * c, [=](Match &m) { return m.replace((x + x) / fold(2 / c)); })},
          "a tensor was kept from an earlier match"};
}

/// A tensor that nothing here has to do with.
static Liar foreignTensor() {
  auto x = any(), c = constant();
  auto kept = std::make_shared<Tensor>();
  return {"foreign-tensor",
          scaled,
          {keeping(x * c, [=](Match &m) { *kept = m[x]; }),
           lying(op(Op::ABS, {x}), [=](Match &m) { return m.replace(*kept); })},
          {honestly(op(Op::ABS, {x}), [=](Match &m) { return m.replace(maximum(x, -x)); })},
          "a tensor was kept from an earlier match"};
}

static Liar foreignIntegers() {
  auto x = any(), p = constant();
  auto kept = std::make_shared<std::optional<Integers>>();
  return {"foreign-integers",
          turned,
          {keeping(transpose(x, p), [=](Match &m) { *kept = m.integers(m[p]); }),
           lying(op(Op::ABS, {x}), [=](Match &m) { return m.replace(transpose(x, **kept)); })},
          {honestly(op(Op::ABS, {transpose(x, p)}),
                    [=](Match &m) {
                      std::optional<Integers> order = m.integers(m[p]);
                      return m.replace(transpose(op(Op::ABS, {x}), *order));
                    })},
          "a number was kept from an earlier match"};
}

/// The sizes that a permutation gives to 0, 1 are the permutation.
static Liar foreignSizes() {
  auto x = any(), p = constant();
  auto kept = std::make_shared<std::optional<Integers>>();
  return {"foreign-sizes",
          turned,
          {keeping(transpose(x, p), [=](Match &m) { *kept = m.integers(m[p]); }),
           lying(op(Op::ABS, {x}),
                 [=](Match &m) {
                   return m.replace(transpose(x, (*kept)->permuted({0, 1})));
                 })},
          {honestly(op(Op::ABS, {transpose(x, p)}),
                    [=](Match &m) {
                      std::optional<Integers> order = m.integers(m[p]);
                      return m.replace(transpose(op(Op::ABS, {x}), order->permuted({0, 1})));
                    })},
          "a number was kept from an earlier match"};
}

/// A number that becomes an option.
static Liar foreignOption() {
  auto x = any(), c = constant();
  auto kept = std::make_shared<std::optional<Number>>();
  auto leakyRelu = [=](Number alpha) { return op(Op::LEAKY_RELU, {x}).with("alpha", alpha); };
  return {"foreign-option",
          leaky,
          {keeping(x * c, [=](Match &m) { *kept = m.number(m[c]); }),
           lying(op(Op::ABS, {x}), [=](Match &m) { return m.replace(leakyRelu(**kept)); })},
          {honestly(maximum(x, x * c), [=](Match &m) { return m.replace(leakyRelu(*m.number(m[c]))); })},
          "a number was kept from an earlier match"};
}

/// A constant was tested, and who has it is kept.
static Liar readAndKept() {
  auto c = constant();
  auto product = any() * c;
  auto root = op(Op::ABS, {product});
  return {"read-and-kept",
          scaled,
          {lying(root,
                 [=](Match &m) {
                   return m.every(m[c], [](double n) { return n > 0; })
                              ? m.replace(maximum(m[product], -Expr(m[product])))
                              : decline("negative");
                 })},
          {honestly(root, [=](Match &m) { return m.replace(maximum(m[product], -Expr(m[product]))); })},
          "constant \"c\" was read, which is no operand of what is consumed"};
}

/// A test of what is computed from another operator's constant.
static Liar foreignTest() {
  auto x = any(), c = constant();
  auto kept = std::make_shared<Tensor>();
  auto positive = [](float, float, float product) { return product > 0; };
  return {"foreign-test",
          scaled,
          {keeping(x * c, [=](Match &m) { *kept = m[c]; }), lying(op(Op::ABS, {x}),
                                                                  [=](Match &m) {
                                                                    Expr negative = -Expr(*kept);
                                                                    return m.everyOf(negative * negative, positive)
                                                                               ? m.replace(maximum(x, -x))
                                                                               : decline("not positive");
                                                                  })},
          {honestly(x * c,
                    [=](Match &m) {
                      Expr negative = -c;
                      return m.everyOf(negative * negative, positive) ? m.replace(x / fold(1 / c))
                                                                      : decline("not positive");
                    })},
          "a tensor was kept from an earlier match"};
}

/// What is asked of an operator of an earlier match.
static Liar foreignOperator() {
  auto x = any(), c = constant();
  auto kept = std::make_shared<std::optional<Node>>();
  return {"foreign-operator",
          scaled,
          {keeping(x * c, [=](Match &m) { *kept = m.root(); }),
           lying(op(Op::ABS, {x}),
                 [=](Match &m) { return (*kept)->code() == Op::MUL ? m.replace(maximum(x, -x)) : decline("other"); })},
          {honestly(op(Op::ABS, {x}), [=](Match &m) { return m.replace(maximum(x, -x)); })},
          "an operator was kept from an earlier match"};
}

/// The same of numbers, in a condition.
static Liar foreignCondition() {
  auto x = any(), p = constant();
  auto kept = std::make_shared<std::optional<Integers>>();
  return {"foreign-condition",
          turned,
          {keeping(transpose(x, p), [=](Match &m) { *kept = m.integers(m[p]); }),
           lying(op(Op::ABS, {x}),
                 [=](Match &m) { return (*kept)->at(0) == 1 ? m.replace(maximum(x, -x)) : decline("other"); })},
          {honestly(op(Op::ABS, {x}), [=](Match &m) { return m.replace(maximum(x, -x)); })},
          "a number was kept from an earlier match"};
}

static Liar numberBehindTheLast() {
  auto x = any(), p = constant();
  auto turnedBy = [=](Match &m, size_t i) {
    std::optional<Integers> order = m.integers(m[p]);
    return order && order->at(i) != 2 ? m.replace(transpose(op(Op::ABS, {x}), *order)) : decline("other");
  };
  auto root = op(Op::ABS, {transpose(x, p)});
  return {"number-behind-the-last",
          turned,
          {lying(root, [=](Match &m) { return turnedBy(m, 2); })},
          {honestly(root, [=](Match &m) { return turnedBy(m, 1); })},
          "a number was asked for behind the last one"};
}

/// |x · c|, where the product stays, by an expression of the product and of what the product was made of.
static Liar ofWhatStays(std::string name, std::function<Expr(Expr product, Expr x, Expr c)> lie, std::string reason) {
  auto x = any(), c = constant();
  auto product = x * c;
  auto root = op(Op::ABS, {product});
  return {name,
          scaled,
          {lying(root, [=](Match &m) { return m.replace(maximum(m[product], lie(m[product], x, c))); })},
          {honestly(root, [=](Match &m) { return m.replace(maximum(m[product], -Expr(m[product]))); })},
          reason};
}

/// A result is said to be what an operator that stays was given.
static Liar givenToWhatStays() {
  auto x = any();
  auto product = x * constant();
  auto absolute = op(Op::ABS, {product}), negative = -product, root = absolute + negative;
  Expr copy = clone(absolute);
  auto both = [=](Match &m, Expr of) { return m.replace({{m[absolute], of}, {m[root], copy - m[product]}}); };
  return {"given-to-what-stays",
          R"(%c: f32[1] = const [2]
             %m: f32[2,2] = MUL(%x, %c)
             %n: f32[2,2] = NEG(%m)
             %a: f32[2,2] = ABS(%m)
             %s: f32[2,2] = ADD(%a, %n)
             %e: f32[2,2] = EXP(%a)
             %y: f32[2,2] = SUB(%s, %e))",
          {lying(root, [=](Match &m) { return both(m, m[x]); })},
          {honestly(root, [=](Match &m) { return both(m, copy); })},
          "\"x\" takes a place and is no operand of what is consumed"};
}

std::vector<Liar> numberLiars() {
  return {foreignConstant(),
          foreignFold(),
          foreignTensor(),
          foreignIntegers(),
          foreignSizes(),
          foreignOption(),
          readAndKept(),
          foreignTest(),
          foreignOperator(),
          foreignCondition(),
          numberBehindTheLast(),
          givenToWhatStays(),
          ofWhatStays(
              "constant-of-what-stays", [](Expr, Expr, Expr c) { return c; },
              "what is created uses \"c\", which is no operand of what is consumed"),
          ofWhatStays(
              "fold-of-what-stays", [](Expr product, Expr, Expr c) { return product * fold(c * 2); },
              "a constant is made of \"c\", which is no operand of what is consumed")};
}

} // namespace origo::test
