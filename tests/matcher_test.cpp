#include "eval/Evaluate.h"
#include "ir/Verifier.h"
#include "ir/rewrite/Rewriter.h"
#include "ir/text/Text.h"
#include "passes/Pipeline.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>

/// Patterns, each against graphs that it is in and graphs that it is not in.

using namespace origo;
using namespace origo::rewrite;

namespace {

const char *const noMatch = "not the pattern";

std::unique_ptr<Model> modelOf(const std::string &text) {
  PayloadStore store;
  llvm::Expected<std::unique_ptr<Model>> model = parseText(text, ".", store);
  if (!model) {
    ADD_FAILURE() << llvm::toString(model.takeError()) << "\n" << text;
    return nullptr;
  }
  (*model)->becomeSource();
  return std::move(*model);
}

/// Why the pattern is not at the operator that computes %y; empty: it is there.
std::string search(const Expr &pattern, const std::string &body, llvm::function_ref<void(Match &)> look = nullptr,
                   const std::string &outputs = "%y") {
  std::unique_ptr<Model> model =
      modelOf("origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[4], %z: f32[4]) -> (" + outputs + ") {\n" +
              body + "}\n");
  if (!model)
    return "no model";
  PayloadStore store;
  Rewriter rewriter(*model, store, {evaluate, everyElement});
  Operator &root = *llvm::find_if(model->subgraphs.front()->operators,
                                  [](const Operator &op) { return op.result() && op.result()->name == "y"; });
  RewriteResult result = rewriter.apply(
      "test", "test", noMatch, pattern,
      [&](Match &m) {
        if (look)
          look(m);
        return decline("found");
      },
      {}, root);
  EXPECT_FALSE(result.isApplied());
  return result.declined() == "found" ? "" : result.declined().str();
}

bool matches(const Expr &pattern, const std::string &body, const std::string &outputs = "%y") {
  return search(pattern, body, nullptr, outputs).empty();
}

std::string number(double value) { return "%c: f32[] = const [" + std::to_string(value) + "]\n"; }

TEST(Pattern, NearIsOneRoundingToFloat16AndANumberAloneIsExact) {
  auto with = [](const std::string &value) { return "%c: f32[] = const [" + value + "]\n%y: f32[4] = MUL(%x, %c)\n"; };
  auto x = any();
  EXPECT_TRUE(matches(x * near(0.7978845608), with("0.7978846")));
  EXPECT_TRUE(matches(x * near(0.7978845608), with("0.79785156"))) << "its float16";
  EXPECT_TRUE(matches(x * near(0.044715), with("0.044708252"))) << "its float16";
  EXPECT_TRUE(matches(x * near(1), with("1.00048"))) << "2^-11 is 0.000488";
  EXPECT_FALSE(matches(x * near(1), with("1.0005")));
  EXPECT_TRUE(matches(x * near(-1), with("-0.99952")));
  EXPECT_FALSE(matches(x * near(-1), with("-0.9995")));
  EXPECT_FALSE(matches(x * near(-1), with("1")));
  EXPECT_FALSE(matches(x * near(1), with("nan")));
  EXPECT_TRUE(matches(x * Expr(0.5), with("0.5")));
  EXPECT_FALSE(matches(x * Expr(0.5), with("0.50000006"))) << "the next float";
  EXPECT_TRUE(matches(x * Expr(0.1), with("0.1"))) << "the float of the number";
}

TEST(Pattern, ANumberIsAConstantOfThatNumberAlone) {
  auto pattern = any() * Expr(2);
  EXPECT_TRUE(matches(pattern, "%c: f32[1] = const [2]\n%y: f32[4] = MUL(%c, %x)\n"));
  EXPECT_TRUE(matches(pattern, "%c: f32[4] = const [2, 2, 2, 2]\n%y: f32[4] = MUL(%x, %c)\n"));
  EXPECT_FALSE(matches(pattern, "%c: f32[4] = const [2, 2, 2, 3]\n%y: f32[4] = MUL(%x, %c)\n"));
  EXPECT_FALSE(matches(pattern, "%y: f32[4] = MUL(%x, %z)\n"));
  EXPECT_FALSE(matches(any() * Expr(2), "%c: i32[] = const [2]\n%y: i32[] = MUL(%c, %c)\n"));
}

TEST(Pattern, ANameIsOneValue) {
  auto x = any();
  EXPECT_TRUE(matches(x * tanh(x), "%t: f32[4] = TANH(%x)\n%y: f32[4] = MUL(%x, %t)\n"));
  EXPECT_TRUE(matches(x * tanh(x), "%t: f32[4] = TANH(%x)\n%y: f32[4] = MUL(%t, %x)\n"));
  EXPECT_FALSE(matches(x * tanh(x), "%t: f32[4] = TANH(%z)\n%y: f32[4] = MUL(%x, %t)\n"));
  EXPECT_TRUE(matches(x * x, "%y: f32[4] = MUL(%z, %z)\n"));
  EXPECT_FALSE(matches(x * x, "%y: f32[4] = MUL(%x, %z)\n"));
  // Of an operator too: two that do the same are two values.
  auto t = tanh(x);
  EXPECT_TRUE(matches(maximum(t, t), "%t: f32[4] = TANH(%x)\n%y: f32[4] = MAXIMUM(%t, %t)\n"));
  EXPECT_FALSE(matches(maximum(t, t), "%t: f32[4] = TANH(%x)\n%u: f32[4] = TANH(%x)\n%y: f32[4] = MAXIMUM(%t, %u)\n"));
}

TEST(Pattern, OrdersAreTriedUntilAllFits) {
  auto a = any(), b = any();
  auto pattern = op(Op::SUB, {a * b, tanh(b)});
  for (const char *factors : {"%x, %z", "%z, %x"})
    for (const char *inner : {"%x", "%z"}) {
      std::string body = std::string("%p: f32[4] = MUL(") + factors + ")\n%t: f32[4] = TANH(" + inner +
                         ")\n%y: f32[4] = SUB(%p, %t)\n";
      EXPECT_TRUE(matches(pattern, body)) << body;
    }
  EXPECT_FALSE(matches(
      pattern, "%n: f32[4] = NEG(%x)\n%p: f32[4] = MUL(%x, %z)\n%t: f32[4] = TANH(%n)\n%y: f32[4] = SUB(%p, %t)\n"));
  // What is not commutative has one order.
  EXPECT_TRUE(matches(tanh(a) - b, "%t: f32[4] = TANH(%x)\n%y: f32[4] = SUB(%t, %z)\n"));
  EXPECT_FALSE(matches(tanh(a) - b, "%t: f32[4] = TANH(%x)\n%y: f32[4] = SUB(%z, %t)\n"));
  EXPECT_TRUE(matches(maximum(tanh(a), b), "%t: f32[4] = TANH(%x)\n%y: f32[4] = MAXIMUM(%z, %t)\n"));
}

TEST(Pattern, SumsHaveAnyAssociation) {
  auto a = any();
  auto sum = tanh(a) + op(Op::NEG, {a}) + op(Op::ABS, {a}) + a;
  std::string terms = "%t: f32[4] = TANH(%x)\n%n: f32[4] = NEG(%x)\n%b: f32[4] = ABS(%x)\n";
  EXPECT_TRUE(matches(sum, terms + "%p: f32[4] = ADD(%n, %x)\n%q: f32[4] = ADD(%t, %b)\n%y: f32[4] = ADD(%p, %q)\n"));
  EXPECT_TRUE(matches(sum, terms + "%p: f32[4] = ADD(%b, %x)\n%q: f32[4] = ADD(%p, %n)\n%y: f32[4] = ADD(%t, %q)\n"));
  EXPECT_FALSE(matches(sum, terms + "%p: f32[4] = ADD(%n, %n)\n%q: f32[4] = ADD(%t, %b)\n%y: f32[4] = ADD(%p, %q)\n"));
  EXPECT_FALSE(matches(sum, terms + "%p: f32[4] = MUL(%n, %x)\n%q: f32[4] = ADD(%t, %b)\n%y: f32[4] = ADD(%p, %q)\n"));
  EXPECT_FALSE(matches(sum, terms + "%p: f32[4] = ADD(%n, %x) {fused_activation_function=RELU}\n"
                                    "%q: f32[4] = ADD(%t, %b)\n%y: f32[4] = ADD(%p, %q)\n"))
      << "a sum that is clamped is none to go on with";
}

TEST(Pattern, OnceIsOneUse) {
  auto t = tanh(any()).once();
  EXPECT_TRUE(matches(relu(t), "%t: f32[4] = TANH(%x)\n%y: f32[4] = RELU(%t)\n"));
  EXPECT_FALSE(matches(relu(t), "%t: f32[4] = TANH(%x)\n%y: f32[4] = RELU(%t)\n%n: f32[4] = NEG(%t)\n", "%y, %n"));
  EXPECT_FALSE(matches(relu(t), "%t: f32[4] = TANH(%x)\n%y: f32[4] = RELU(%t)\n", "%y, %t"));
  EXPECT_FALSE(matches(maximum(t, t), "%t: f32[4] = TANH(%x)\n%y: f32[4] = MAXIMUM(%t, %t)\n")) << "two uses";
}

TEST(Pattern, InsideIsNoUserOutside) {
  auto t = tanh(any()).inside();
  EXPECT_TRUE(matches(relu(t), "%t: f32[4] = TANH(%x)\n%y: f32[4] = RELU(%t)\n"));
  EXPECT_TRUE(matches(t * t, "%t: f32[4] = TANH(%x)\n%y: f32[4] = MUL(%t, %t)\n")) << "two uses by one operator";
  EXPECT_TRUE(matches(t - op(Op::NEG, {t}), "%t: f32[4] = TANH(%x)\n%n: f32[4] = NEG(%t)\n%y: f32[4] = SUB(%t, %n)\n"))
      << "by two operators, both of the match";
  EXPECT_FALSE(matches(t * t, "%t: f32[4] = TANH(%x)\n%y: f32[4] = MUL(%t, %t)\n%n: f32[4] = NEG(%t)\n", "%y, %n"));
  EXPECT_FALSE(matches(t * t, "%t: f32[4] = TANH(%x)\n%y: f32[4] = MUL(%t, %t)\n", "%y, %t"));
  // Which operators are of the match is known at the end only.
  auto u = any();
  auto both = op(Op::SUB, {tanh(u).inside(), relu(u)});
  EXPECT_TRUE(matches(both, "%t: f32[4] = TANH(%x)\n%r: f32[4] = RELU(%x)\n%y: f32[4] = SUB(%t, %r)\n"));
}

TEST(Pattern, AlternativesAreTriedInTurn) {
  auto x = any();
  auto power = square(x) | pow(x, 2) | maximum(x, 2);
  EXPECT_TRUE(matches(relu(power), "%s: f32[4] = SQUARE(%x)\n%y: f32[4] = RELU(%s)\n"));
  EXPECT_TRUE(matches(relu(power), number(2) + "%s: f32[4] = POW(%x, %c)\n%y: f32[4] = RELU(%s)\n"));
  EXPECT_TRUE(matches(relu(power), number(2) + "%s: f32[4] = MAXIMUM(%c, %x)\n%y: f32[4] = RELU(%s)\n"));
  EXPECT_FALSE(matches(relu(power), number(3) + "%s: f32[4] = POW(%x, %c)\n%y: f32[4] = RELU(%s)\n"));
  EXPECT_FALSE(matches(relu(power), "%s: f32[4] = TANH(%x)\n%y: f32[4] = RELU(%s)\n"));
  // The first that fits may be wrong for what comes after it.
  EXPECT_TRUE(matches(op(Op::SUB, {x | tanh(x), x}), "%t: f32[4] = TANH(%x)\n%y: f32[4] = SUB(%t, %x)\n"));
  EXPECT_FALSE(matches(op(Op::SUB, {x | tanh(x), x}), "%t: f32[4] = TANH(%x)\n%y: f32[4] = SUB(%t, %z)\n"));
  // Which one it was can be asked.
  auto negated = op(Op::NEG, {x}), absolute = op(Op::ABS, {x});
  search(relu(negated | absolute), "%s: f32[4] = ABS(%x)\n%y: f32[4] = RELU(%s)\n", [&](Match &m) {
    EXPECT_FALSE(m.has(negated));
    EXPECT_TRUE(m.has(absolute));
  });
}

TEST(Pattern, MayHaveAnOperatorInBetween) {
  auto pattern = relu(maybe({Op::CAST, Op::RESHAPE}, tanh(any())));
  std::string before = "%t: f32[4] = TANH(%x)\n%s: i32[1] = const [4]\n";
  EXPECT_TRUE(matches(pattern, before + "%y: f32[4] = RELU(%t)\n"));
  EXPECT_TRUE(matches(pattern, before + "%c: f32[4] = CAST(%t)\n%y: f32[4] = RELU(%c)\n"));
  EXPECT_TRUE(matches(pattern, before + "%c: f32[4] = RESHAPE(%t, %s)\n%y: f32[4] = RELU(%c)\n"));
  EXPECT_FALSE(matches(pattern, before + "%c: f32[4] = NEG(%t)\n%y: f32[4] = RELU(%c)\n"));
  EXPECT_FALSE(matches(pattern, before + "%c: f32[4] = CAST(%t)\n%d: f32[4] = CAST(%c)\n%y: f32[4] = RELU(%d)\n"));
  // The same operator may stand in between for two uses.
  auto x = any();
  EXPECT_TRUE(matches(op(Op::SUB, {maybe({Op::CAST}, tanh(x)), maybe({Op::CAST}, tanh(x))}),
                      "%t: f32[4] = TANH(%x)\n%c: f32[4] = CAST(%t)\n%y: f32[4] = SUB(%c, %c)\n"));
}

TEST(Pattern, OptionsActivationsAndOperandsThatAreLeftOut) {
  auto x = any();
  std::string conv = "%w: f32[4,4] = const splat 1\n%b: f32[4] = const splat 1\n";
  auto linear = op(Op::FULLY_CONNECTED, {x, constant(), optionalConstant()});
  EXPECT_TRUE(matches(linear, conv + "%y: f32[1,4] = FULLY_CONNECTED.v6(%x, %w)\n"));
  EXPECT_TRUE(matches(linear, conv + "%y: f32[1,4] = FULLY_CONNECTED(%x, %w, %b)\n"));
  EXPECT_FALSE(matches(linear, conv + "%y: f32[1,4] = FULLY_CONNECTED(%x, %w, %z)\n")) << "no constant";
  std::string clamped = conv + "%y: f32[1,4] = FULLY_CONNECTED(%x, %w, %b) {fused_activation_function=RELU}\n";
  EXPECT_FALSE(matches(linear, clamped));
  EXPECT_TRUE(matches(linear.mayActivate(), clamped));
  EXPECT_FALSE(matches(op(Op::FULLY_CONNECTED, {x, constant(), constant()}),
                       conv + "%y: f32[1,4] = FULLY_CONNECTED.v6(%x, %w)\n"));
  auto kept = mean(x, constant()).with("keep_dims", 1);
  std::string axes = "%a: i32[1] = const [0]\n";
  EXPECT_TRUE(matches(kept, axes + "%y: f32[1] = MEAN(%x, %a) {keep_dims=true}\n"));
  EXPECT_FALSE(matches(kept, axes + "%y: f32[] = MEAN(%x, %a)\n"));
  EXPECT_TRUE(matches(custom("Erf", {x}), "%y: f32[4] = CUSTOM \"Erf\"(%x)\n"));
  EXPECT_FALSE(matches(custom("Erf", {x}), "%y: f32[4] = CUSTOM \"Erfc\"(%x)\n"));
}

/// A product of `leaves` names as a balanced tree.
std::string product(unsigned leaves, const std::string &name, std::string &body) {
  if (leaves == 1) {
    body += "%" + name + ": f32[4] = ABS(%x)\n";
    return name;
  }
  std::string left = product(leaves / 2, name + "l", body), right = product(leaves - leaves / 2, name + "r", body);
  body += "%" + name + ": f32[4] = MUL(%" + left + ", %" + right + ")\n";
  return name;
}

TEST(Pattern, LookingInVainHasABound) {
  std::string body;
  product(32, "y", body);
  // Six that fit anywhere, and one that is nowhere.
  Expr hard = any() * any() * any() * any() * any() * any() * op(Op::NEG, {any()});
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(search(hard, body), "there are too many ways to look for the pattern here");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  // One that does not fit at the root is no search at all.
  EXPECT_EQ(search(any() - op(Op::NEG, {any()}), body), noMatch);
  EXPECT_EQ(search(any() * any() * op(Op::NEG, {any()}), body), noMatch);
  EXPECT_EQ(search(any() * any() * op(Op::ABS, {any()}), body), noMatch) << "all are two levels further down";
}

// GELU in every order and form: a formula in prefix notation, of + * t(anh) p(ower of three) s(quare) and the names of
// its operands.

std::set<std::string> allTrees(char code, const std::vector<std::string> &items) {
  if (items.size() == 1)
    return {items.front()};
  std::set<std::string> trees;
  for (unsigned left = 1; left + 1 < 1u << items.size(); ++left) {
    std::vector<std::string> sides[2];
    for (auto [i, item] : llvm::enumerate(items))
      sides[left >> i & 1].push_back(item);
    for (const std::string &a : allTrees(code, sides[1]))
      for (const std::string &b : allTrees(code, sides[0]))
        trees.insert(code + a + b);
  }
  return trees;
}

std::vector<std::string> allGelus() {
  std::vector<std::string> all;
  for (const auto &cubic : {std::vector<std::string>{"k", "px"}, {"k", "x", "sx"}, {"k", "x", "x", "x"}})
    for (const std::string &term : allTrees('*', cubic))
      for (const std::string &sum : allTrees('+', {"x", term}))
        for (const std::string &argument : allTrees('*', {"c", sum}))
          for (const std::string &gate : allTrees('+', {"1", "t" + argument}))
            llvm::append_range(all, allTrees('*', {"h", "x", gate}));
  return all;
}

struct Constants {
  const char *half = "0.5", *one = "1", *cubic = "0.044715", *scale = "0.7978846", *three = "3";
};

/// Appends the operators of the formula that begins at `at`; gives the name of its result.
std::string emit(llvm::StringRef formula, size_t &at, std::string &body, unsigned &count) {
  char code = formula[at++];
  static const std::map<char, std::string> leaves = {{'x', "x"}, {'h', "half"},  {'1', "one"},
                                                     {'k', "k"}, {'c', "scale"}, {'o', "z"}};
  if (auto leaf = leaves.find(code); leaf != leaves.end())
    return "%" + leaf->second;
  static const std::map<char, std::string> operators = {
      {'+', "ADD"}, {'*', "MUL"}, {'t', "TANH"}, {'p', "POW"}, {'s', "SQUARE"}};
  std::string operands = emit(formula, at, body, count);
  if (code == '+' || code == '*')
    operands += ", " + emit(formula, at, body, count);
  else if (code == 'p')
    operands += ", %three";
  std::string name = "%v" + std::to_string(count++);
  body += "  " + name + ": f32[4] = " + operators.at(code) + "(" + operands + ")\n";
  return name;
}

/// The operators that are left of a formula after the pass, the last one first; `outputs`: of its steps, besides the
/// last.
std::vector<std::string> recognised(const std::string &formula, const Constants &constants = {},
                                    llvm::ArrayRef<unsigned> outputs = {}) {
  std::string body;
  size_t at = 0;
  unsigned count = 0;
  std::string results = emit(formula, at, body, count);
  for (unsigned step : outputs)
    results += ", %v" + std::to_string(step);
  auto constant = [](const char *name, const char *value) {
    return std::string("  %") + name + ": f32[] = const [" + value + "]\n";
  };
  std::unique_ptr<Model> model =
      modelOf("origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[4], %z: f32[4]) -> (" + results + ") {\n" +
              constant("half", constants.half) + constant("one", constants.one) + constant("k", constants.cubic) +
              constant("scale", constants.scale) + constant("three", constants.three) + body + "}\n");
  Pipeline pipeline;
  pipeline.add(*findPass("recognise-gelu"));
  PayloadStore store;
  PipelineOptions options;
  options.verifyEach = true;
  EXPECT_FALSE(llvm::errorToBool(runPipeline(*model, pipeline, store, options))) << formula;
  std::vector<std::string> left;
  for (const Operator &op : model->subgraphs.front()->operators) {
    left.insert(left.begin(), op.opName());
    unsigned origins = 0;
    model->sets.forEach(op.origins, [&](uint32_t) { ++origins; });
    EXPECT_TRUE(op.code != BuiltinOperator::GELU || origins == count) << formula << ": all of it is in the operator";
  }
  return left;
}

const std::vector<std::string> gelu = {"GELU"};

TEST(Gelu, IsRecognisedInEveryOrderAndForm) {
  std::vector<std::string> all = allGelus();
  EXPECT_EQ(all.size(), 34u * 2 * 2 * 2 * 12);
  for (const std::string &formula : all)
    ASSERT_EQ(recognised(formula), gelu) << formula;
}

TEST(Gelu, IsNotWhatIsNearlyIt) {
  std::vector<std::string> all = allGelus();
  for (size_t i = 0; i < all.size(); i += 37) {
    const std::string &formula = all[i];
    size_t operators = llvm::count_if(formula, [](char c) { return llvm::StringRef("+*tps").contains(c); });
    auto stays = [&](const std::string &other, const Constants &constants = {}) {
      EXPECT_EQ(recognised(other, constants).size(), operators) << other;
    };
    stays(formula, {.half = "0.51"});
    stays(formula, {.one = "1.5"});
    stays(formula, {.cubic = "0.05"});
    stays(formula, {.scale = "0.8"});
    if (formula.find('p') != std::string::npos)
      stays(formula, {.three = "2"});
    EXPECT_EQ(recognised(formula, {.cubic = "0.044708252", .scale = "0.79785156"}), gelu) << "rounded to float16";
    for (size_t at = 0; at < formula.size(); ++at)
      if (formula[at] == 'x') { // another tensor in one of its places
        std::string other = formula;
        other[at] = 'o';
        stays(other);
      }
  }
}

TEST(Gelu, LeavesWhatOthersUse) {
  const std::string formula = "**hx+1t*c+x*k*xsx"; // the square is step 1, the gate step 7
  EXPECT_EQ(recognised(formula), gelu);
  std::vector<std::string> square = recognised(formula, {}, {1});
  EXPECT_EQ(square.size(), 2u);
  EXPECT_TRUE(llvm::is_contained(square, "GELU"));
  EXPECT_TRUE(llvm::is_contained(square, "SQUARE"));
  std::vector<std::string> whole = recognised(formula, {}, {7});
  EXPECT_EQ(whole.size(), 8u) << "the gate, and all that it needs, besides the new operator";
  EXPECT_TRUE(llvm::is_contained(whole, "GELU"));
}

} // namespace
