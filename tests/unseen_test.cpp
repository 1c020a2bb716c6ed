#include "tests/GoldenCases.h"

#include "eval/exact/Prove.h"

#include "gtest/gtest.h"

/// What never happened on any input proves nothing: bounds that never acted, sides that were never taken, graphs that
/// never ran (docs/proof.md).

using namespace origo;
using namespace origo::eval;
using namespace origo::test;

namespace {

enum Verdict { Equal, Undecided, Unequal };

Verdict verdictOf(const Proof &proof) {
  return !proof.different.empty() ? Unequal : proof.undecided.empty() ? Equal : Undecided;
}

/// A graph with a line of its own, and graphs that it calls.
std::string text(llvm::StringRef line, llvm::StringRef called) {
  return ("origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[1,4]) -> (%y) {\n"
          " %hundred: f32[] = const [100]\n %fifty: f32[] = const [50]\n %sixty: f32[] = const [60]\n"
          " %all: i32[2] = const [0,1]\n %t: f32[1,4] = TANH(%x)\n %n: f32[1,4] = NEG(%x)\n %p: f32[1,4] = ABS(%x)\n"
          " %six: f32[1,4] = RELU6(%x)\n %s: f32[] = SUM(%x, %all)\n %s6: f32[] = SUM(%six, %all)\n"
          " %g: bool[] = GREATER(%s, %hundred)\n %never: bool[] = GREATER(%s6, %hundred)\n " +
          line + "\n}\nsubgraph @then(%x: f32[1,4]) -> (%y) {\n %k: f32[4] = const [1,2,3,4]\n " + called +
          "\n}\nsubgraph @else(%x: f32[1,4]) -> (%y) {\n %y: f32[1,4] = TANH(%x)\n}\n")
      .str();
}

llvm::Expected<Proof> proveTexts(const std::string &before, const std::string &after) {
  PayloadStore store;
  auto load = [&](const std::string &text) {
    auto model = llvm::cantFail(parseText(text, goldenFolder(), store));
    model->becomeSource();
    model->number();
    return model;
  };
  auto was = load(before), is = load(after);
  return prove(*was, *is, {});
}

struct LineCase {
  const char *before, *after;
  Verdict verdict;
  const char *why; ///< of one that is undecided
};

void expect(const LineCase &one, llvm::Expected<Proof> proof) {
  ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
  EXPECT_EQ(verdictOf(*proof), one.verdict);
  std::string reasons;
  for (const auto &[reason, count] : proof->undecided)
    reasons += reason + '\n';
  EXPECT_NE(reasons.find(one.why), std::string::npos) << reasons;
}

TEST(Unseen, WhatWasNeverChosen) {
  const LineCase cases[] = {
      // Bounds that inputs of another size reach, and one that they cannot.
      {"MINIMUM(%x, %fifty)", "MINIMUM(%x, %fifty)", Equal, ""},
      {"MINIMUM(%x, %fifty)", "MINIMUM(%x, %sixty)", Unequal, ""},
      {"MAXIMUM(%sixty, %x)", "MAXIMUM(%x, %sixty)", Equal, ""},
      {"MINIMUM(%t, %fifty)", "MINIMUM(%t, %fifty)", Equal, ""},
      {"SUB(%t, %six) {fused_activation_function=RELU6}", "SUB(%t, %six) {fused_activation_function=RELU}", Undecided,
       "a bound of SUB \"y\" of the source never acted"},
      {"SUB(%t, %six) {fused_activation_function=RELU6}", "SUB(%t, %six) {fused_activation_function=RELU6}", Equal, ""},
      // One that cannot act, by what it is computed from.
      {"RELU(%six)", "RELU6(%six)", Equal, ""},
      {"MINIMUM(%six, %fifty)", "MINIMUM(%six, %sixty)", Equal, ""},
      // Sides.
      {"SELECT_V2(%g, %n, %t)", "SELECT_V2(%g, %n, %t)", Equal, ""},
      {"SELECT_V2(%g, %n, %t)", "SELECT_V2(%g, %p, %t)", Unequal, ""},
      {"SELECT_V2(%never, %n, %t)", "SELECT_V2(%never, %n, %t)", Equal, ""},
      {"SELECT_V2(%never, %n, %t)", "SELECT_V2(%never, %p, %t)", Undecided,
       "SELECT_V2 \"y\" never took one of its sides"},
      {"LESS(%s6, %fifty)", "GREATER(%fifty, %s6)", Equal, ""},
      {"LESS(%s6, %fifty)", "LESS(%s6, %sixty)", Undecided, "LESS \"y\" always said the same"},
  };
  for (const LineCase &one : cases) {
    SCOPED_TRACE(std::string(one.before) + " | " + one.after);
    auto line = [](llvm::StringRef op) {
      return std::string(op.starts_with("LESS") || op.starts_with("GREATER") ? "%y: bool[] = " : "%y: f32[1,4] = ") +
             op.str();
    };
    expect(one, proveTexts(text(line(one.before), "%y: f32[1,4] = MUL(%x, %k)"),
                           text(line(one.after), "%y: f32[1,4] = MUL(%x, %k)")));
  }
}

TEST(Unseen, GraphsThatNeverRan) {
  const LineCase cases[] = {
      {"%g", "%y: f32[1,4] = MUL(%x, %k)", Equal, ""},
      {"%g", "%y: f32[1,4] = ADD(%x, %k)", Unequal, ""},
      {"%never", "%y: f32[1,4] = MUL(%k, %x)", Equal, ""},
      {"%never", "%y: f32[1,4] = ADD(%x, %k)", Undecided,
       "subgraph \"then\" never ran, and is not equal to that of the source by itself"},
      {"%never", "%y: f32[1,4] = MUL(%x, %k) {fused_activation_function=RELU}", Undecided,
       "subgraph \"then\" never ran, and is not equal to that of the source by itself"},
  };
  for (const LineCase &one : cases) {
    SCOPED_TRACE(std::string(one.before) + " | " + one.after);
    std::string line =
        "%y: f32[1,4] = IF(" + std::string(one.before) + ", %x) {then_subgraph_index=@then, else_subgraph_index=@else}";
    expect(one, proveTexts(text(line, "%y: f32[1,4] = MUL(%x, %k)"), text(line, one.after)));
  }
}

} // namespace
