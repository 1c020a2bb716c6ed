#include "ir/ConstantView.h"
#include "ir/Verifier.h"
#include "ir/text/Text.h"
#include "passes/Pipeline.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

#include <set>

using namespace origo;

static std::unique_ptr<Model> parse(llvm::StringRef text) {
  PayloadStore store;
  llvm::Expected<std::unique_ptr<Model>> model = parseText(text, ".", store);
  if (!model) {
    ADD_FAILURE() << llvm::toString(model.takeError());
    return nullptr;
  }
  (*model)->becomeSource();
  return std::move(*model);
}

static const char *const chain = R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,4]) -> (%y) {
  %one: f32[1] = const [1]
  %a: f32[1,4] = ADD(%x, %x)
  %b: f32[1,4] = RELU(%a)
  %c: f32[1,4] = MUL(%b, %one)
  %d: f32[1,4] = COS(%c)
  %e: f32[1,4] = NEG(%d)
  %y: f32[1,4] = EXP(%e)
}
signature "s" @main inputs("x"=%x) outputs("y"=%y)
)";

TEST(Pipeline, FuelStopsAfterSoManyRewrites) {
  PayloadStore store;
  uint32_t all = 0;
  for (uint32_t fuel : {100u, 0u, 1u, 2u}) {
    std::unique_ptr<Model> model = parse(chain);
    PipelineOptions options;
    options.fuel = fuel;
    options.verifyEach = true;
    uint32_t seen = 0;
    options.onRewrite = [&](const RewriteEvent &event) { EXPECT_EQ(event.number, ++seen); };
    ASSERT_FALSE(bool(runPipeline(*model, Pipeline::o1(), store, options)));
    EXPECT_EQ(seen, model->rewrites);
    if (fuel == 100)
      all = seen;
    EXPECT_EQ(seen, std::min(fuel, all));
  }
  EXPECT_EQ(all, 2u) << "the activation is fused, the multiplication by one removed";
}

TEST(Pipeline, StatisticsCountEveryAttempt) {
  std::unique_ptr<Model> model = parse(chain);
  PayloadStore store;
  std::vector<RuleStatistics> statistics;
  PipelineOptions options;
  options.statistics = &statistics;
  unsigned attempts = 0;
  options.onAttempt = [&](const Operator &, IdSet, const Pass &, const Rule &, llvm::StringRef) { ++attempts; };
  ASSERT_FALSE(bool(runPipeline(*model, Pipeline::o1(), store, options)));
  uint64_t tried = 0, applied = 0, declined = 0;
  for (const RuleStatistics &s : statistics) {
    tried += s.tried;
    applied += s.applied;
    for (const auto &[reason, times] : s.declined)
      declined += times;
  }
  EXPECT_EQ(tried, attempts);
  EXPECT_EQ(tried, applied + declined);
  EXPECT_EQ(applied, 2u);
}

TEST(Pipeline, LongChainBecomesOneOperator) {
  constexpr unsigned length = 3000;
  std::string text = "origo 1\nmodel circle version 0\nsubgraph @main(%t0: f32[2]) -> (%t" + std::to_string(length) +
                     ") {\n  %one: f32[] = const [1]\n";
  for (unsigned i = 1; i <= length; ++i)
    text += "  %t" + std::to_string(i) + ": f32[2] = ADD(%t" + std::to_string(i - 1) + ", %one)\n";
  std::unique_ptr<Model> model = parse(text + "}\n");
  PayloadStore store;
  ASSERT_FALSE(bool(runPipeline(*model, Pipeline::o1(), store)));
  EXPECT_TRUE(verify(*model).empty());
  ASSERT_EQ(model->operatorCount(), 1u);
  const Operator &sum = model->subgraphs.front()->operators.front();
  EXPECT_EQ(sum.result()->name, "t" + std::to_string(length));
  unsigned origins = 0;
  model->sets.forEach(sum.origins, [&](uint32_t) { ++origins; });
  EXPECT_EQ(origins, length);
  EXPECT_EQ(readConstant<float>(sum.operand(1), 1)->front(), static_cast<float>(length));
}

TEST(Pipeline, WorkOfWhatIsMovedIsFoundInOnePlace) {
  std::unique_ptr<Model> model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[4]) -> (%y) {
  %s: i32[2] = const [2, 2]
  %a: f32[2,2] = RESHAPE(%x, %s)
  %b: f32[2,2] = NEG(%a)
  %c: f32[2,2] = EXP(%b)
  %y: f32[2,2] = ABS(%c)
}
)");
  PayloadStore store;
  ASSERT_FALSE(bool(runPipeline(*model, Pipeline::o1(), store)));
  llvm::SmallVector<std::pair<bool, uint32_t>> lost;
  std::vector<LedgerRow> rows;
  model->ledger(lost, [&](const LedgerRow &row) { rows.push_back(row); });
  ASSERT_EQ(rows.size(), 1u) << "what the reshape made; the others are live before it";
  ASSERT_EQ(rows[0].operators.size(), 1u);
  EXPECT_EQ(rows[0].operators[0]->code, BuiltinOperator::RESHAPE);
}

/// Whatever their shapes are, and however they came to be; what only begins and ends like another is not it.
TEST(Pipeline, EqualBytesAreOneBuffer) {
  std::string other = "%other: f32[5,1000] = const [7";
  for (unsigned i = 1; i < 5000; ++i)
    other += i == 2500 ? ", 8" : ", 7";
  std::unique_ptr<Model> model =
      parse("origo 1\nmodel circle version 0\n"
            "subgraph @main(%x: f32[5000], %z: f32[1,5000], %u: f32[5,1000]) -> (%a, %b, %c) {\n"
            "  %flat: f32[5000] = const splat 7\n  %row: f32[1,5000] = const splat 7\n  " +
            other +
            "]\n  %a: f32[5000] = MAXIMUM(%x, %flat)\n"
            "  %b: f32[1,5000] = MAXIMUM(%z, %row)\n"
            "  %c: f32[5,1000] = MAXIMUM(%u, %other)\n}\n");
  auto bufferOf = [&](llvm::StringRef name) {
    for (Value *value : model->subgraphs.front()->values)
      if (value->name == name)
        return value->buffer;
    return static_cast<Buffer *>(nullptr);
  };
  ASSERT_NE(bufferOf("flat"), bufferOf("row"));
  PayloadStore store;
  ASSERT_FALSE(bool(runPipeline(*model, Pipeline::o1(), store)));
  ASSERT_TRUE(bufferOf("flat") && bufferOf("other"));
  EXPECT_EQ(bufferOf("flat"), bufferOf("row"));
  EXPECT_NE(bufferOf("flat"), bufferOf("other"));
}

TEST(ChangeOutputs, DropsWhatIsNotNeededAndLeavesTheRestToThePasses) {
  std::unique_ptr<Model> model = parse(chain);
  PayloadStore store;
  Subgraph &graph = *model->subgraphs.front();
  auto *d = llvm::find_if(graph.values, [](Value *v) { return v->name == "d"; }).base();
  Editor(*model).changeOutputs({*d});
  EXPECT_TRUE(verify(*model).empty());
  ASSERT_EQ(graph.operators.size(), 4u);
  EXPECT_EQ(model->signatures.front().outputs.front().name, "d");
  llvm::SmallVector<std::pair<bool, uint32_t>> lost;
  unsigned removed = 0;
  model->ledger(lost, [&](const LedgerRow &row) { removed += row.fate == Fate::UserRemoved; });
  EXPECT_EQ(removed, 4u) << "two operators and their results";
  EXPECT_TRUE(lost.empty());

  // What one rewriter left on its worklist, the next one sees.
  ASSERT_FALSE(bool(runPipeline(*model, Pipeline::o1(), store)));
  EXPECT_TRUE(verify(*model).empty());
  EXPECT_EQ(graph.operators.size(), 2u);
}

namespace {

/// What an observer is told of a rule, and what statistics count, on the last line of a model.
struct Told {
  std::set<std::string> reasons, counted;
};

Told toldOf(llvm::StringRef pass, llvm::StringRef rule, llvm::StringRef lines) {
  std::unique_ptr<Model> model =
      parse(("origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[4]) -> (%y) {\n" + lines + "}\n").str());
  PayloadStore store;
  Pipeline pipeline;
  pipeline.add(*findPass(pass));
  Told told;
  PipelineOptions options;
  std::vector<RuleStatistics> statistics;
  options.statistics = &statistics;
  options.onAttempt = [&](const Operator &, IdSet, const Pass &, const Rule &tried, llvm::StringRef reason) {
    if (tried.name == rule)
      told.reasons.insert(reason.str());
  };
  EXPECT_FALSE(bool(runPipeline(*model, pipeline, store, options)));
  for (const RuleStatistics &s : statistics)
    if (s.rule == rule)
      for (const auto &[reason, times] : s.declined)
        told.counted.insert(reason);
  return told;
}

/// Half of x times 1 + tanh(0.798·(x + 0.0447·x³)).
std::string geluBy(llvm::StringRef scale) {
  return ("  %half: f32[] = const [0.5]\n  %one: f32[] = const [1]\n  %three: f32[] = const [3]\n"
          "  %s: f32[] = const [" +
          scale +
          "]\n  %c: f32[] = const [0.044715]\n"
          "  %cube: f32[4] = POW(%x, %three)\n  %a: f32[4] = MUL(%c, %cube)\n  %b: f32[4] = ADD(%x, %a)\n"
          "  %d: f32[4] = MUL(%s, %b)\n  %t: f32[4] = TANH(%d)\n  %g: f32[4] = ADD(%one, %t)\n"
          "  %h: f32[4] = MUL(%half, %x)\n  %y: f32[4] = MUL(%h, %g)\n")
      .str();
}

} // namespace

TEST(Explain, NamesTheFurthestFailureToObserversOnly) {
  Told told = toldOf("recognise-gelu", "tanh", geluBy("0.7"));
  std::string plain = "not x/2 · (1 + tanh(0.798·(x + 0.0447·x³)))";
  EXPECT_EQ(told.counted, std::set<std::string>{plain}) << "which aggregates";
  bool named = llvm::any_of(told.reasons, [](const std::string &reason) {
    return llvm::StringRef(reason).contains("expected 0.797885, found 0.7)");
  });
  EXPECT_TRUE(named) << llvm::join(told.reasons, "\n");
  for (const std::string &reason : told.reasons)
    EXPECT_TRUE(llvm::StringRef(reason).starts_with(plain + " (")) << reason;
}

TEST(Explain, SaysNothingOfHowFarWhereThePatternIsThere) {
  Told found = toldOf("recognise-gelu", "tanh", geluBy("0.7978845608"));
  EXPECT_TRUE(found.reasons.count("")) << "applied";
  // Found, and declined by a condition.
  Told declined =
      toldOf("remove-identity", "neutral-arithmetic", "  %two: f32[] = const [2]\n  %y: f32[4] = MUL(%x, %two)\n");
  EXPECT_EQ(declined.reasons, std::set<std::string>{"the constant is not the neutral element"});
  EXPECT_EQ(declined.counted, declined.reasons);
}

/// What has effects is replaced by what has the same ones, and by nothing else.
TEST(Rules, EffectsStayTheSame) {
  using namespace rewrite;
  auto run = [](Rule rule, llvm::StringRef op) {
    std::unique_ptr<Model> model = parse(("origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[1,2]) -> (%y) {\n"
                                          "  %w: f32[3,2] = const [1, 2, 3, 4, 5, 6]\n"
                                          "  %r: f32[3,3] = const splat 1\n"
                                          "  %b: f32[3] = const [1, 2, 3]\n"
                                          "  %s: f32[1,3] variable\n"
                                          "  %t: f32[1,3] variable\n"
                                          "  %y: f32[1,3] = " +
                                          op + "\n}\n")
                                             .str());
    Pass pass{"test", "", Phase::Simplify, false, {}, {std::move(rule)}};
    Pipeline pipeline;
    pipeline.add(pass);
    std::string said;
    PipelineOptions options;
    options.verifyEach = true;
    options.onAttempt = [&](const Operator &, IdSet, const Pass &, const Rule &, llvm::StringRef reason) {
      said += (reason.empty() ? "applied" : reason.str()) + ";";
    };
    PayloadStore store;
    if (llvm::Error error = runPipeline(*model, pipeline, store, options))
      said += llvm::toString(std::move(error));
    return said;
  };
  const char *const refused = "an operator with effects is neither moved nor replaced;";
  auto x = any(), w = constant(), r = constant(), b = constant(), s = any();
  auto rnn = op(Op::RNN, {x, w, r, b, s}).with("fused_activation_function", int64_t(Activation::NONE));
  const char *const graph = "RNN(%x, %w, %r, %b, %s)";
  EXPECT_EQ(run({"copy", "", rnn, [=](Match &m) { return m.replace(clone(rnn).activation(Activation::RELU)); }}, graph),
            "applied;an operand is absent, or an activation is fused (0 parts found; expected no fused activation);")
      << "a changed copy works on the same state";
  EXPECT_EQ(run({"stateless", "", rnn,
                 [=](Match &m) {
                   return m.replace(op(Op::FULLY_CONNECTED, {x, w, b}) + op(Op::FULLY_CONNECTED, {s, r}));
                 }},
                graph),
            refused);
  auto custom = rewrite::custom("Mine", {x});
  EXPECT_EQ(run({"other", "", custom, [=](Match &m) { return m.replace(rewrite::custom("Other", {x})); }},
                "CUSTOM \"Mine\"(%x)"),
            refused)
      << "nobody knows what either does";
}
