#include "tests/liars/Liars.h"

#include "origin/check/Check.h"
#include "origin/codec/OriginFile.h"
#include "passes/Pipeline.h"
#include "passes/VerifyNumerics.h"
#include "tests/GoldenCases.h"
#include "tests/Samples.h"

#include <gtest/gtest.h>

/// Each liar is refused for its own reason and leaves the model as it was, and the honest rule beside it applies.
using namespace origo;
using namespace origo::test;

namespace {

struct Outcome {
  std::string error;                ///< of a run that verifies each rewrite
  std::vector<std::string> notes;   ///< refusals
  std::vector<std::string> reasons; ///< of rules that did not apply
  uint32_t rewrites = 0;
  size_t operators = 0;
  std::string text; ///< the model with its origins
  std::string ledger;
  std::string violations; ///< what the outside checker says
};

std::string modelOf(llvm::StringRef graph) {
  return ("origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[2,2], %z: f32[2,2]) -> (%y) {\n" + graph + "\n}\n")
      .str();
}

/// Optimises the model with these rules, writes it to a file, and lets the checker judge the file.
Outcome run(llvm::StringRef graph, const std::vector<Rule> &rules, bool verifyEach) {
  Outcome outcome;
  Scratch scratch;
  std::string source = scratch.at("source.circle"), target = scratch.at("target.circle");
  if (!writeAsFile(modelOf(graph), ".", source)) {
    ADD_FAILURE() << "no model: " << graph.str();
    return outcome;
  }
  Imported imported = llvm::cantFail(importModel(source, {}));
  Model &model = *imported.model;
  Pass pass{"liar", "", Phase::Simplify, false, {}, rules};
  Pipeline pipeline;
  if (!rules.empty())
    pipeline.add(pass);
  PipelineOptions options;
  options.verifyEach = verifyEach;
  options.onRefusal = [&](llvm::StringRef text) { outcome.notes.push_back(text.str()); };
  options.onAttempt = [&](const Operator &, IdSet, const Pass &, const Rule &, llvm::StringRef reason) {
    if (!reason.empty())
      outcome.reasons.push_back(reason.str());
  };
  PayloadStore store;
  if (llvm::Error error = runPipeline(model, pipeline, store, options)) {
    outcome.error = llvm::toString(std::move(error));
    return outcome;
  }
  outcome.rewrites = model.rewrites;
  outcome.operators = model.operatorCount();
  outcome.text = printed(model);
  llvm::raw_string_ostream ledger(outcome.ledger);
  printLedger(model, ledger);
  if (llvm::Error error = exportModel(model, imported.lineage, target, {})) {
    outcome.violations = llvm::toString(std::move(error));
    return outcome;
  }
  auto file = llvm::cantFail(origin::openOriginFile(target, "", false));
  auto from = llvm::cantFail(origin::ModelFile::open(source));
  std::vector<std::string> skipped;
  for (const origin::Violation &violation : origin::check(*file.map, file.model->view(), &from->view(), skipped))
    outcome.violations += violation.text + "\n";
  return outcome;
}

class Liars : public testing::TestWithParam<Liar> {};

TEST_P(Liars, AreRefused) {
  const Liar &liar = GetParam();
  std::string expected = "liar / lie breaks a law of rewrites: " + liar.reason;
  EXPECT_EQ(run(liar.graph, liar.lie, true).error, expected);
}

TEST_P(Liars, ChangeNothingUnlessTheyLieAboutTheChange) {
  const Liar &liar = GetParam();
  Outcome outcome = run(liar.graph, liar.lie, false);
  EXPECT_EQ(outcome.error, "");
  ASSERT_FALSE(outcome.notes.empty());
  EXPECT_EQ(outcome.notes.front(), "liar / lie breaks a law of rewrites: " + liar.reason);
  EXPECT_EQ(outcome.violations, "");
  if (outcome.rewrites == 0) {
    EXPECT_EQ(outcome.text, run(liar.graph, {}, false).text);
  }
}

TEST_P(Liars, HaveAnHonestTwin) {
  const Liar &liar = GetParam();
  Outcome outcome = run(liar.graph, liar.honest, true);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.rewrites, 1u);
  EXPECT_EQ(outcome.violations, "");
}

std::vector<Liar> allLiars() {
  std::vector<Liar> all;
  for (auto *list : {operandLiars, numberLiars, rootLiars, answerLiars})
    for (Liar &liar : list())
      all.push_back(std::move(liar));
  return all;
}

INSTANTIATE_TEST_SUITE_P(Rules, Liars, testing::ValuesIn(allLiars()), [](const auto &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

const char *const clamped = "%a: f32[2,2] = RELU(%x)\n%y: f32[2,2] = NEG(%a)";

/// Neither of two that undo each other is an identity.
TEST(Lies, WhatIsUndoneCancelledOut) {
  auto x = any();
  auto rule = honestly(-(-x), [=](Match &m) { return m.replace(x); });
  Outcome outcome = run("%a: f32[2,2] = NEG(%x)\n%b: f32[2,2] = NEG(%a)\n%y: f32[2,2] = ABS(%b)", {rule}, true);
  EXPECT_NE(outcome.ledger.find("operator 0 cancelled with {1} by liar into %x"), std::string::npos) << outcome.ledger;
  EXPECT_NE(outcome.ledger.find("operator 1 cancelled with {0} by liar into %x"), std::string::npos) << outcome.ledger;
  EXPECT_EQ(outcome.violations, "");
}

/// What is exact nobody can say; it follows from the operators.
TEST(Lies, AnotherComputationIsNotExact) {
  auto x = any();
  // Moves data, but what it stands for did not.
  Outcome moved = run("%a: f32[2,2] = RELU(%x)\n%y: f32[2,2] = NEG(%a)",
                      {honestly(relu(x),
                                [=](Match &m) {
                                  return m.replace(reshape(x, list({2, 2})));
                                })},
                      true);
  EXPECT_NE(moved.text.find("RESHAPE(tensor=%x, shape=%a/shape)  ; from {0} by liar inexact; near 2"),
            std::string::npos)
      << moved.text;
  // A copy on what was moved, which nobody moves back.
  auto p = constant();
  auto turned = transpose(x, p), root = relu(turned);
  Outcome kept = run(
      "%p: i32[2] = const [1, 0]\n%t: f32[2,2] = TRANSPOSE(%x, %p)\n%a: f32[2,2] = RELU(%t)\n"
      "%y: f32[2,2] = NEG(%a)",
      {honestly(root,
                [=](Match &m) { return m.integers(m[p]) ? m.replace(clone(root).operand(0, x)) : decline("other"); })},
      true);
  EXPECT_NE(kept.text.find("RELU(features=%x)  ; from {0, 1} by liar inexact; near 4"), std::string::npos) << kept.text;
  // … and one that is.
  Outcome back = run(
      "%p: i32[2] = const [1, 0]\n%t: f32[2,2] = TRANSPOSE(%x, %p)\n%a: f32[2,2] = RELU(%t)\n%y: f32[2,2] = NEG(%a)",
      {honestly(root, [=](Match &m) { return m.replace(clone(turned).operand(0, clone(root).operand(0, x))); })}, true);
  EXPECT_EQ(back.text.find("near"), std::string::npos) << back.text;
  // A constant that is moved, and one that is repeated.
  auto c = constant();
  auto sum = any() + c;
  for (bool moves : {true, false}) {
    Outcome added = run("%c: f32[2,1] = const [1, 2]\n%a: f32[2,2] = ADD(%x, %c)\n%y: f32[2,2] = NEG(%a)",
                        {honestly(sum,
                                  [=](Match &m) {
                                    if (m[c].elementCount() == 4 || m[c].shape()[0] == 1)
                                      return decline("done");
                                    Expr turned = fold(moves ? reshape(c, list({1, 2})) : broadcastTo(c, list({2, 2})));
                                    return m.replace(clone(sum).operand(1, turned));
                                  })},
                        true);
    EXPECT_EQ(added.rewrites, 1u);
    EXPECT_EQ(added.text.find("near") != std::string::npos, moves) << added.text;
  }
  EXPECT_EQ(back.rewrites, 1u);
}

/// The rewrite that changes what the model computes; empty: none does.
std::string wrongRewrite(llvm::StringRef graph, Rule rule) {
  PayloadStore store;
  Pass pass{"liar", "", Phase::Simplify, false, {}, {std::move(rule)}};
  Pipeline pipeline;
  pipeline.add(pass);
  auto load = [&]() -> llvm::Expected<std::unique_ptr<Model>> {
    llvm::Expected<std::unique_ptr<Model>> model = parseText(modelOf(graph), ".", store);
    if (model)
      (*model)->becomeSource();
    return model;
  };
  std::optional<WrongRewrite> wrong = llvm::cantFail(findWrongRewrite(load, pipeline, store));
  return wrong ? wrong->text : "";
}

/// Whether a rule drew the right conclusion from a constant that it looked at only numbers can tell, and they do.
TEST(Lies, NumbersTell) {
  auto x = any(), c = constant();
  const char *scaled = "%c: f32[1] = const [2]\n%a: f32[2,2] = MUL(%x, %c)\n%y: f32[2,2] = EXP(%a)";
  auto always = [](double) { return true; };
  std::string wrong = wrongRewrite(
      scaled, lying(x * c, [=](Match &m) { return m.every(m[c], always) ? m.replace(x) : decline("other"); }));
  EXPECT_NE(wrong.find("rewrite 1 (liar / lie"), std::string::npos) << wrong;
  EXPECT_EQ(wrongRewrite(scaled, honestly(x * c, [=](Match &m) { return m.replace(x / fold(1 / c)); })), "");
  auto z = any();
  const char *difference = "%a: f32[2,2] = SUB(%x, %z)\n%y: f32[2,2] = EXP(%a)";
  std::string other = wrongRewrite(difference, lying(x - z, [=](Match &m) { return m.replace(x + z); }));
  EXPECT_NE(other.find("rewrite 1 (liar / lie"), std::string::npos) << other;
  EXPECT_EQ(wrongRewrite(difference, honestly(x - z, [=](Match &m) { return m.replace(x + (-z)); })), "");
}

/// What is not constant is not folded.
TEST(Lies, ALeafOfAFoldIsConstant) {
  auto x = any();
  Outcome outcome = run(clamped, {lying(relu(x), [=](Match &m) { return m.replace(maximum(x, fold(x * 0))); })}, true);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.rewrites, 0u);
  EXPECT_NE(llvm::find(outcome.reasons, "not a dense constant"), outcome.reasons.end()) << outcome.reasons.front();
}

/// An operator with effects is no part of a rewrite, however honest.
TEST(Lies, EffectsStay) {
  auto shape = constant();
  auto random = op(Op::RANDOM_UNIFORM, {shape});
  Outcome outcome = run("%s: i32[2] = const [2, 2]\n%a: f32[2,2] = RANDOM_UNIFORM(%s)\n%y: f32[2,2] = ADD(%a, %x)",
                        {lying(random, [=](Match &m) { return m.replace(op(Op::RANDOM_UNIFORM, {shape})); })}, true);
  EXPECT_EQ(outcome.rewrites, 0u);
  EXPECT_NE(llvm::find(outcome.reasons, "an operator with effects is neither moved nor replaced"),
            outcome.reasons.end());
}

/// Two rules that undo each other come to an end, and the reason names both.
TEST(Lies, RulesThatUndoEachOtherEnd) {
  auto x = any();
  std::vector<Rule> rules{{"there", "", relu(x), maximum(x, 0)}, {"back", "", maximum(x, 0), relu(x)}};
  Outcome outcome = run(clamped, rules, true);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.rewrites, 64u);
  EXPECT_NE(llvm::find(outcome.reasons, "it was made anew 64 times in this phase, last by back, and would be by there"),
            outcome.reasons.end());
}

/// A rule that makes two operators of one would need 2^64 rewrites to reach the limit of generations.
TEST(Lies, RewritesAreCapped) {
  auto x = any();
  Outcome outcome = run(clamped, {{"grow", "", relu(x), relu(relu(x))}}, false);
  EXPECT_EQ(outcome.rewrites, 64u * 2 + 10000);
  EXPECT_EQ(outcome.operators, outcome.rewrites + 2);
  EXPECT_NE(llvm::find(outcome.reasons, "this run has made more rewrites than 64 an operator"), outcome.reasons.end());
}

} // namespace
