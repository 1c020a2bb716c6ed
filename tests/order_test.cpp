#include "eval/Order.h"
#include "eval/Plan.h"
#include "eval/fast/Fast.h"
#include "tests/Engines.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <random>

using namespace origo;
using namespace origo::eval;
using namespace origo::test;

/// Orders of steps that need little memory.

namespace {

/// Steps that each read some earlier tensors and make one or two; a few are outputs, one or two have no reader.
Ordering randomOrdering(unsigned seed, int steps) {
  std::mt19937 random(seed);
  auto draw = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  Ordering made;
  std::vector<int> producers;
  for (int s = 0; s < steps; ++s) {
    Ordering::Step &step = made.steps.emplace_back();
    for (int i = 0, reads = producers.empty() ? 0 : draw(2); i < reads; ++i) {
      int tensor = draw(static_cast<int>(producers.size()) - 1);
      if (llvm::is_contained(step.reads, tensor))
        continue;
      step.reads.push_back(tensor);
      step.after.push_back(producers[static_cast<size_t>(tensor)]);
    }
    if (s > 0 && draw(7) == 0)
      step.after.push_back(draw(s - 1)); // an effect
    for (int i = draw(5) == 0 ? 2 : 1; i > 0; --i) {
      step.makes.push_back(static_cast<int>(producers.size()));
      producers.push_back(s);
      made.bytes.push_back(static_cast<uint64_t>(draw(9)) * 64);
      made.kept.push_back(draw(9) == 0);
    }
  }
  return made;
}

bool isOrder(const Ordering &problem, llvm::ArrayRef<int> order) {
  std::vector<int> place(problem.steps.size(), -1);
  for (size_t at = 0; at < order.size(); ++at)
    place[static_cast<size_t>(order[at])] = static_cast<int>(at);
  for (size_t s = 0; s < place.size(); ++s)
    for (int before : problem.steps[s].after)
      if (place[static_cast<size_t>(before)] < 0 || place[static_cast<size_t>(before)] >= place[s])
        return false;
  return order.size() == place.size() && !llvm::is_contained(place, -1);
}

/// Every order, without any of the tricks of the search: what lives is counted from the definition.
uint64_t leastPeak(const Ordering &problem, std::vector<int> &order, uint64_t peak, uint64_t least) {
  if (peak >= least)
    return least;
  if (order.size() == problem.steps.size())
    return peak;
  for (int next = 0; next < static_cast<int>(problem.steps.size()); ++next) {
    const Ordering::Step &step = problem.steps[static_cast<size_t>(next)];
    if (llvm::is_contained(order, next) ||
        !llvm::all_of(step.after, [&](int s) { return llvm::is_contained(order, s); }))
      continue;
    // Made by now, and read now or later, or an output, or made right now.
    uint64_t live = 0;
    for (int tensor = 0; tensor < static_cast<int>(problem.bytes.size()); ++tensor) {
      bool made = false, read = problem.kept[static_cast<size_t>(tensor)];
      for (int s = 0; s < static_cast<int>(problem.steps.size()); ++s) {
        const Ordering::Step &other = problem.steps[static_cast<size_t>(s)];
        if (llvm::is_contained(other.makes, tensor))
          made = s == next || llvm::is_contained(order, s), read |= s == next;
        if (llvm::is_contained(other.reads, tensor))
          read |= !llvm::is_contained(order, s);
      }
      live += made && read ? problem.bytes[static_cast<size_t>(tensor)] : 0;
    }
    order.push_back(next);
    least = leastPeak(problem, order, std::max(peak, live), least);
    order.pop_back();
  }
  return least;
}

TEST(Order, IsTheBestOneOfSmallGraphs) {
  unsigned better = 0, aboveBound = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Ordering problem = randomOrdering(seed, 1 + static_cast<int>(seed % 8));
    Ordering::Found found = problem.search();
    std::vector<int> order, filed(problem.steps.size());
    std::iota(filed.begin(), filed.end(), 0);
    uint64_t least = leastPeak(problem, order, 0, ~uint64_t(0));
    ASSERT_TRUE(isOrder(problem, found.order)) << seed;
    EXPECT_EQ(found.peak, least) << seed;
    EXPECT_EQ(problem.peak(found.order), found.peak) << seed;
    EXPECT_TRUE(found.least) << seed;
    EXPECT_LE(problem.lowerBound(), least) << seed;
    better += found.peak < problem.peak(filed);
    aboveBound += found.peak > problem.lowerBound();
  }
  EXPECT_GT(better, 20u);
  EXPECT_GT(aboveBound, 20u);
}

/// Whatever little work is allowed, there is an order, and none that is worse than the file's.
TEST(Order, IsNeverWorseThanTheFiles) {
  unsigned better = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Ordering problem = randomOrdering(seed, 20 + static_cast<int>(seed) * 5);
    std::vector<int> filed(problem.steps.size());
    std::iota(filed.begin(), filed.end(), 0);
    for (uint64_t work : {uint64_t(0), uint64_t(1000), Ordering::defaultWork}) {
      Ordering::Found found = problem.search(work);
      ASSERT_TRUE(isOrder(problem, found.order)) << seed;
      EXPECT_EQ(problem.peak(found.order), found.peak);
      EXPECT_LE(found.peak, problem.peak(filed)) << seed;
      EXPECT_GE(found.peak, problem.lowerBound()) << seed;
      better += found.peak < problem.peak(filed);
    }
  }
  EXPECT_GT(better, 40u);
}

/// Two wide tensors that each become narrow: the file makes both before it reads either.
const char *const twoBranches = "origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[1,8]) -> (%y) {\n"
                                "  %n: i32[2] = const [64, 1]\n  %axis: i32[1] = const [0]\n"
                                "  %a: f32[64,8] = TILE(%x, %n)\n  %b: f32[64,8] = TILE(%x, %n)\n"
                                "  %d: f32[1,8] = SUM(%a, %axis) {keep_dims=true}\n"
                                "  %f: f32[1,8] = MEAN(%b, %axis) {keep_dims=true}\n"
                                "  %y: f32[1,8] = SUB(%d, %f)\n}\n";

TEST(Order, OfARunThatNobodyObserves) {
  auto model = parse(twoBranches);
  ASSERT_TRUE(model);
  model->number();
  for (Engine engine : {Engine::Reference, Engine::Fast}) {
    CompileOptions options;
    options.engine = engine;
    Planner planner(options);
    const Plan *plan = planner.plan(*model->subgraphs[0]);
    ASSERT_FALSE(llvm::errorToBool(planner.takeErrors()));
    if (engine == Engine::Fast)
      FastKernels::choose(planner.plans, options.memoryLimit);
    ASSERT_EQ(static_cast<bool>(plan->packed), engine == Engine::Fast);
    if (!plan->packed)
      continue;
    EXPECT_LT(plan->packed->arena.bytes, plan->filed.arena.bytes);
    EXPECT_EQ(&plan->arranged(true), &plan->filed);
    EXPECT_EQ(&plan->arranged(false), &*plan->packed);
  }
  // Both orders in turn, with the memory of one state, and the numbers of the reference.
  auto reference = compile(*model), fast = compile(*model, fastOptions());
  ASSERT_TRUE(reference && fast);
  auto x = ramp(8);
  auto expected = runFloats(*reference, {floats({1, 8}, x)}, {});
  State state;
  for (bool observed : {false, true, false, true}) {
    RunOptions run;
    run.state = &state;
    std::vector<unsigned> seen;
    if (observed)
      run.observer = [&](const Operator &op, const Value &, const Tensor &) { seen.push_back(op.index); };
    auto actual = runFloats(*fast, {floats({1, 8}, x)}, run);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 1e-4);
    EXPECT_EQ(seen, observed ? std::vector<unsigned>({0, 1, 2, 3, 4}) : std::vector<unsigned>());
  }
}

/// What has effects stays in the file's order, though others would need less memory.
TEST(Order, KeepsEffects) {
  auto model = parse("origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[1,8]) -> (%y) {\n"
                     "  %n: i32[2] = const [64, 1]\n  %axis: i32[1] = const [0]\n"
                     "  %r: resource[1] = VAR_HANDLE() {shared_name=\"s\"}\n"
                     "  %a: f32[64,8] = TILE(%x, %n)\n  %b: f32[64,8] = TILE(%x, %n)\n"
                     "  %d: f32[1,8] = SUM(%a, %axis) {keep_dims=true}\n"
                     "  ASSIGN_VARIABLE(%r, %d)\n"
                     "  %v: f32[1,8] = READ_VARIABLE(%r)\n"
                     "  %f: f32[1,8] = MEAN(%b, %axis) {keep_dims=true}\n"
                     "  ASSIGN_VARIABLE(%r, %f)\n"
                     "  %w: f32[1,8] = READ_VARIABLE(%r)\n"
                     "  %y: f32[1,8] = SUB(%v, %w)\n}\n");
  ASSERT_TRUE(model);
  EXPECT_LE(compare(*model, "effects", 1).floats, 1e-5);
  model->number();
  CompileOptions options = fastOptions();
  Planner planner(options);
  const Plan *plan = planner.plan(*model->subgraphs[0]);
  ASSERT_FALSE(llvm::errorToBool(planner.takeErrors()));
  Ordering ordering = plan->ordering(plan->filed.arena.places);
  int last = -1, effects = 0;
  for (size_t s = 0; s < plan->steps.size(); ++s)
    if (plan->steps[s].op->effects()) {
      EXPECT_TRUE(last < 0 || llvm::is_contained(ordering.steps[s].after, last)) << s;
      last = static_cast<int>(s);
      ++effects;
    }
  EXPECT_GE(effects, 4);
}

} // namespace
