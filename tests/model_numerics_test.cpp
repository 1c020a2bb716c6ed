#include "ir/text/Text.h"
#include "passes/Pipeline.h"
#include "tests/Intervention.h"
#include "tests/Numerics.h"
#include "tests/RealModels.h"
#include "tests/Work.h"

#include <cstdlib>

/// Executes models before and after -O1. With ORIGO_THOROUGH=1 in the environment all of them, and for several
/// inputs; otherwise what takes about a minute.

using namespace origo;
using namespace origo::eval;
using namespace origo::test;

namespace {

std::unique_ptr<Model> modelOf(const std::string &file) {
  std::unique_ptr<Imported> imported = importAsSource(file);
  return imported ? std::move(imported->model) : nullptr;
}

bool isThorough() { return std::getenv("ORIGO_THOROUGH") != nullptr; }

/// Calls `visit` with each model and what -O1 makes of it.
void forEachModel(const ModelFolder &models, double mostWork, unsigned &tooBig,
                  llvm::function_ref<void(Model &before, Model &after)> visit) {
  for (const std::string &file : models.all()) {
    SCOPED_TRACE(file);
    std::unique_ptr<Model> before = modelOf(file), after = modelOf(file);
    if (!before)
      continue; // docs/refused-models.md
    if (workOf(*before) > mostWork && !isThorough()) {
      ++tooBig;
      continue;
    }
    PayloadStore store;
    if (llvm::Error error = runPipeline(*after, Pipeline::o1(), store)) {
      ADD_FAILURE() << llvm::toString(std::move(error));
      continue;
    }
    visit(*before, *after);
  }
}

void sameNumbersAfterO1(const ModelFolder &models) {
  NumericTally tally;
  unsigned tooBig = 0;
  std::vector<uint32_t> seeds{1};
  if (isThorough())
    seeds = {1, 2, 3};
  forEachModel(models, 1e8, tooBig,
               [&](Model &before, Model &after) { expectSameNumbers(before, after, tally, seeds); });
  tally.print("models");
  llvm::outs() << "models: " << tooBig << " left out because they take long; ORIGO_THOROUGH=1 runs them\n";
  EXPECT_GE(tally.executed, 250u);
}

TEST(Numerics, Models) { sameNumbersAfterO1(ownNetworks()); }
TEST(NumericsPublicModels, AfterO1) { sameNumbersAfterO1(publicModels()); }

void sameEffectsAfterO1(const ModelFolder &models) {
  InterventionTally tally;
  unsigned tooBig = 0;
  forEachModel(models, 1e7, tooBig,
               [&](Model &before, Model &after) { expectSameEffects(before, after, tally, isThorough() ? ~0u : 8); });
  tally.print("models");
  llvm::outs() << "models: " << tooBig << " left out because they take long; ORIGO_THOROUGH=1 runs them\n";
  EXPECT_GE(tally.models, 250u);
  EXPECT_GE(tally.tried, 400u);
}

TEST(Intervention, Models) { sameEffectsAfterO1(ownNetworks()); }
TEST(InterventionPublicModels, AfterO1) { sameEffectsAfterO1(publicModels()); }

/// Every flag of circle2circle that stands for passes, by itself, wherever it applies.
void sameNumbersAfterEachFlag(const ModelFolder &models, unsigned mostIdle) {
  std::map<std::string, Pipeline> flags;
  for (const Pass &pass : allPasses())
    for (const PassFlag &flag : pass.flags)
      flags[flag.name.str()].add(pass, flag.scopes);
  struct Counts {
    unsigned models = 0, executed = 0;
  };
  std::map<std::string, Counts> counts;
  const double mostWork = isThorough() ? 1e9 : 1e6;
  for (const std::string &file : models.all()) {
    SCOPED_TRACE(file);
    std::unique_ptr<Model> before = modelOf(file);
    if (!before || workOf(*before) > mostWork)
      continue;
    std::optional<Baseline> baseline; // made when the first flag applies
    bool runs = true;
    for (const auto &[flag, pipeline] : flags) {
      SCOPED_TRACE(flag);
      PayloadStore store;
      std::unique_ptr<Model> after = modelOf(file);
      origo::PipelineOptions options;
      options.format = Format::Circle; // which has more operators
      unsigned applied = 0;            // that dead code goes is no sign of the flag
      options.onRewrite = [&](const RewriteEvent &event) { applied += event.rule != "unused"; };
      if (llvm::Error error = runPipeline(*after, pipeline, store, options)) {
        ADD_FAILURE() << llvm::toString(std::move(error));
        continue;
      }
      if (applied == 0)
        continue;
      Counts &count = counts[flag];
      ++count.models;
      if (runs && !baseline) {
        auto made = Baseline::of(*before, {1});
        if (made)
          baseline.emplace(std::move(*made));
        else
          llvm::consumeError(made.takeError());
        runs = baseline.has_value();
      }
      bool changes = llvm::any_of(pipeline.entries, [](const auto &entry) { return entry.pass->changesResults; });
      if (!runs || changes)
        continue;
      auto comparison = baseline->compare(*after);
      if (!comparison) {
        ADD_FAILURE() << "can be run before the passes only: " << reasonOf(comparison.takeError());
        continue;
      }
      ++count.executed;
      for (const Deviation &deviation : comparison->deviations)
        ADD_FAILURE() << describe(deviation);
    }
  }
  unsigned executed = 0, idle = 0;
  for (const auto &[flag, pipeline] : flags) {
    const Counts &count = counts[flag];
    idle += count.models == 0;
    llvm::outs() << "models: --" << flag << " applies to " << count.models << ", executed " << count.executed << '\n';
    executed += count.executed;
  }
  EXPECT_GE(executed, 150u);
  EXPECT_LE(idle, mostIdle) << "flags that apply to no model; tests/golden shows each at work";
}

TEST(Numerics, EachFlagAlone) { sameNumbersAfterEachFlag(ownNetworks(), 0); }
TEST(NumericsPublicModels, EachFlagAlone) { sameNumbersAfterEachFlag(publicModels(), 38); }

/// Two tensors that always hold the same, and are used in different ways.
const char *const twins = R"(origo 1
model circle version 0
subgraph @main(%x: f32[4]) -> (%y, %z) {
  %one: f32[] = const [1]
  %a: f32[4] = ABS(%x)
  %b: f32[4] = ABS(%x)
  %c: f32[4] = MUL(%a, %one)
  %y: f32[4] = NEG(%c)
  %z: f32[4] = EXP(%b)
}
)";

TEST(Intervention, FindsTwoSimilarTensorsThatWereMistaken) {
  auto parse = [] {
    PayloadStore store;
    auto model = llvm::cantFail(parseText(twins, "", store));
    model->becomeSource();
    return model;
  };
  for (bool mistaken : {false, true}) {
    std::unique_ptr<Model> before = parse(), after = parse();
    PayloadStore store;
    Pipeline pipeline;
    pipeline.add(*findPass("remove-identity"));
    ASSERT_FALSE(bool(runPipeline(*after, pipeline, store)));
    Value *a = nullptr, *b = nullptr;
    for (Operator &op : after->subgraphs.front()->operators)
      if (op.code == BuiltinOperator::ABS)
        (a ? b : a) = op.result();
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->relations.size(), 2u) << "what was multiplied by one";
    if (mistaken)
      std::swap(a->relations, b->relations);
    NumericTally tally;
    expectSameNumbers(*before, *after, tally); // which does not see it
    auto result = Intervention::run(*before, *after);
    ASSERT_TRUE(static_cast<bool>(result)) << llvm::toString(result.takeError());
    EXPECT_EQ(result->tried, 4u);
    EXPECT_EQ(result->wrong.size(), mistaken ? 2u : 0u);
  }
}

} // namespace
