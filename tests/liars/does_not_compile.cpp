#include "passes/Rule.h"

/// Lies that no compiler takes. With LIES defined, each line that ends in `// error: TEXT` gives an error with this
/// text and no other line gives any; without, what is left is honest and compiles.
using namespace origo;
// clang-format off: a lie and its error stand in one line

#ifdef LIES
#define LIE(...) __VA_ARGS__
#else
#define LIE(...)
#endif

Rule peeking() {
  auto x = any();
  return {"peeking", "", relu(x), [=](Match &m) {
            (void)m[x].type();
            LIE((void)m[x].producer();)          // error: producer
            LIE((void)m[x].value()->producer();) // error: private
            LIE(m[x].forEachUse([](auto &) {});) // error: forEachUse
            (void)m.root().operand(0u);
            LIE((void)m.root().op()->operand(0)->producer();) // error: private
            (void)m.range(m[x]);
            LIE((void)m.consumed.front();) // error: private
            return decline("only looks");
          }};
}

Rule numbersByValue() {
  auto x = any(), c = constant();
  return {"numbers-by-value", "", x * c, [=](Match &m) {
            std::optional<Number> number = m.number(m[c]);
            LIE(double n = number->value;) // error: private
            LIE(double t = *number;)       // error: conver
            LIE(Expr own = *number;)       // error: conversion
            std::optional<Integers> integers = m.integers(m[c]);
            (void)integers->isSorted();
            LIE(int64_t i = integers->numbers.front();)  // error: private
            LIE(int64_t j = (*integers)[0];)             // error: operator\[\]|subscript
            LIE((void)list(integers->permuted({0, 1}));) // error: conver|no matching
            LIE((void)m[c].payload();)                   // error: payload
            // A test has no memory.
            double seen = 0;
            (void)seen;
            bool finite = m.every(m[c], [](double n) { return n == n; });
            LIE(finite = m.every(m[c], [&](double n) { return seen = n, true; });)                 // error: conver
            LIE(finite = m.everyOf(x * c, [&](float n, float, float) { return seen = n, true; });) // error: conver
            return finite ? m.replace(x * fold(c * 2)) : decline("not finite");
          }};
}

Rule inPlace() {
  auto x = any();
  return {"in-place", "", relu(x), [=](Match &m) {
            (void)m.root().activation();
            LIE(m.root().op()->options = {};)   // error: private
            LIE(m.root().code() = Op::ABS;)     // error: lvalue|assignable
            LIE(m.root().setOption("axis", 1);) // error: setOption
            (void)m[x].shape();
            LIE(m[x].value()->shape = {};) // error: private
            LIE(m[x].shape()[0] = 1;)      // error: read-only|assign
            LIE(m.rewriter.sweep();)       // error: private
            LIE(m.model().addOperator();)  // error: model
            return decline("only looks");
          }};
}

Rule claiming() {
  auto x = any();
  auto inner = -x, root = relu(inner);
  return {"claiming", "", root, [=](Match &m) {
            Expr made = maximum(clone(inner), 0);
            LIE(made = made.standingFor(root);)         // error: standingFor
            LIE(made = made.from(root);)                // error: from
            LIE(made = made.exact(true);)               // error: exact
            LIE(made = made.relation(root);)            // error: relation
            LIE(m.consume(m.root());)                   // error: consume
            LIE(m.consumed.clear();)                    // error: private
            LIE(m.read.clear();)                        // error: private
            LIE(m.inspected.clear();)                   // error: private
            LIE((void)m.replace(made, Fate::Identity);) // error: matching
            return m.replace(made);
          }};
}

/// The turn of a rule is over when it returns.
Rule keeping() {
  auto x = any();
  return {"keeping", "", relu(x), [=](Match &m) {
            Match &same = m;
            LIE(static Match kept = m;)                 // error: deleted
            LIE(Build build(m, SourceLine::current());) // error: Build
            return same.replace(maximum(x, 0));
          }};
}

/// Handles come from matches only.
Rule forging() {
  auto x = any();
  return {"forging", "", relu(x), [=](Match &m) {
            Tensor tensor = m[x];
            LIE(tensor = Tensor(static_cast<Value *>(nullptr));) // error: private
            LIE(Node node(static_cast<Operator *>(nullptr));)    // error: private
            LIE(Integers().numbers.push_back(1);)                // error: private
            LIE(Expr learned{Expr::Node(Expr::Kind::Learned)};)  // error: private
            LIE(Match other(*static_cast<Rewriter *>(nullptr));) // error: private
            return m.replace(maximum(tensor, 0));
          }};
}
