#include "tests/liars/Liars.h"

/// Results that are replaced: by themselves, twice, in a circle, without the others, or without having been matched.
namespace origo::test {

static const char *const chain = R"(%a: f32[2,2] = NEG(%x)
  %b: f32[2,2] = RELU(%a)
  %y: f32[2,2] = ABS(%b))";

static Liar ownResult() {
  auto x = any();
  auto root = relu(x);
  return {"own-result",
          chain,
          {lying(root, [=](Match &m) { return m.replace(maximum(m[root], 0)); })},
          {honestly(root, [=](Match &m) { return m.replace(maximum(x, 0)); })},
          "what is created uses \"b\", which is replaced"};
}

/// What takes the place of the inner operator uses its result, by way of an operand of the outer one.
static Liar innerResult() {
  auto x = any();
  auto inner = -x, root = relu(inner);
  return {"inner-result",
          chain,
          {lying(root,
                 [=](Match &m) {
                   return m.replace({{m[inner], op(Op::NEG, {m[inner]})}, {m[root], maximum(x, 0)}});
                 })},
          {honestly(root, [=](Match &m) { return m.replace(maximum(clone(inner), 0)); })},
          "what is created uses \"a\", which is replaced"};
}

/// Takes what no pattern matched.
static Liar unmatchedRoot() {
  auto x = any();
  auto root = relu(x);
  return {"unmatched-root",
          chain,
          {lying(root,
                 [=](Match &m) {
                   return m.replace({{m[x], maximum(x, 0)}});
                 })},
          {honestly(root,
                    [=](Match &m) {
                      return m.replace({{m[root], maximum(x, 0)}});
                    })},
          "what is replaced is no result of an operator of the match"};
}

static Liar resultTwice() {
  auto x = any();
  auto root = relu(x);
  return {"result-twice",
          chain,
          {lying(root,
                 [=](Match &m) {
                   return m.replace({{m[root], maximum(x, 0)}, {m[root], x}});
                 })},
          {honestly(root,
                    [=](Match &m) {
                      return m.replace({{m[root], maximum(x, 0)}});
                    })},
          "a result is replaced twice"};
}

/// Two at once, between which stands what is computed from the first and needed by the second.
static Liar circle() {
  auto x = any(), between = any();
  auto first = tanh(x), second = between - first;
  auto both = [=](Match &m) {
    return m.replace({{m[first], -tanh(-x)}, {m[second], between + op(Op::NEG, {tanh(x)})}});
  };
  return {"circle",
          R"(%t: f32[2,2] = TANH(%x)
             %n: f32[2,2] = NEG(%t)
             %y: f32[2,2] = SUB(%n, %t))",
          {lying(second, both)},
          {honestly(second, [=](Match &m) { return m.replace(between + (-clone(first))); })},
          "\"n\" may be computed from a root, by order"};
}

/// One of two results.
static Liar forgottenResult() {
  auto axis = constant(), x = any();
  auto root = op(Op::SPLIT, {axis, x});
  auto part = [=](int32_t row) { return op(Op::SLICE, {x, list({row, 0}), list({1, 2})}); };
  return {"forgotten-result",
          R"(%axis: i32[] = const [0]
             %a: f32[1,2], %b: f32[1,2] = SPLIT(%axis, %x) {num_splits=2}
             %y: f32[1,2] = SUB(%a, %b))",
          {lying(root,
                 [=](Match &m) {
                   return m.replace({{m.root().result(0), part(0)}});
                 })},
          {honestly(root,
                    [=](Match &m) {
                      return m.integers(m[axis])->isLastAxisOf(1)
                                 ? m.replace({{m.root().result(0), part(0)}, {m.root().result(1), part(1)}})
                                 : decline("other");
                    })},
          "\"b\" is used and nothing takes its place"};
}

std::vector<Liar> rootLiars() {
  return {ownResult(), innerResult(), unmatchedRoot(), resultTwice(), circle(), forgottenResult()};
}

} // namespace origo::test
