#include "ir/Error.h"
#include "ir/IdSet.h"
#include "ir/Model.h"
#include "ir/Provenance.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace origo;

TEST(IdSets, AgreeWithOrdinarySets) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    IdSets sets;
    std::set<uint32_t> a, b;
    IdSet ia, ib;
    uint32_t spread = round % 2 ? 300 : 5'000'000;
    for (int i = 0; i < 60; ++i) {
      uint32_t x = random() % spread, y = random() % spread;
      a.insert(x), b.insert(y);
      ia = sets.join(ia, sets.single(x)), ib = sets.join(sets.single(y), ib);
    }
    auto expect = [&](IdSet set, const std::set<uint32_t> &members) {
      std::vector<uint32_t> expected(members.begin(), members.end());
      auto got = sets.members(set);
      ASSERT_EQ(std::vector<uint32_t>(got.begin(), got.end()), expected);
      // Equal sets have equal handles, however they were made.
      ASSERT_EQ(sets.of(expected), set);
    };
    expect(ia, a);
    std::set<uint32_t> both = a, rest = a;
    both.insert(b.begin(), b.end());
    for (uint32_t y : b)
      rest.erase(y);
    expect(sets.join(ia, ib), both);
    expect(sets.minus(ia, ib), rest);
    for (uint32_t x : b)
      ASSERT_EQ(sets.contains(ia, x), a.count(x) != 0);
  }
}

TEST(IdSets, RangesAndManyMerges) {
  IdSets sets;
  EXPECT_EQ(sets.members(sets.range(60, 200)).size(), 140u);
  EXPECT_EQ(sets.range(5, 5), IdSet{});
  EXPECT_EQ(sets.minus(sets.range(0, 1000), sets.range(0, 1000)), IdSet{});
  IdSet merged;
  for (uint32_t i = 0; i < 100'000; ++i)
    merged = sets.join(merged, sets.single(3 * i)); // no two are neighbours
  EXPECT_EQ(sets.members(merged).size(), 100'000u);
  EXPECT_LT(sets.bytes(), 100u << 20);
}

static Step permute(std::initializer_list<int64_t> p) {
  Step step{Step::Permute};
  step.first.assign(p);
  return step;
}

TEST(StepLists, NormalForm) {
  StepLists steps;
  uint32_t once = steps.append(0, permute({0, 2, 3, 1}));
  EXPECT_NE(once, 0u);
  EXPECT_EQ(steps.append(once, permute({0, 3, 1, 2})), 0u) << "a permutation and its inverse are nothing";
  EXPECT_EQ(steps.append(0, permute({0, 1, 2})), 0u) << "identities are dropped";
  uint32_t reshaped = steps.append(once, Step{Step::Reshape});
  EXPECT_EQ(steps.append(reshaped, Step{Step::Reshape}), reshaped) << "reshapes collapse";
  Step twice{Step::Affine}, half{Step::Affine};
  twice.scale = {Step::Term::Number, 2, nullptr};
  half.scale = {Step::Term::Number, 0.5, nullptr};
  EXPECT_EQ(steps.append(steps.append(0, twice), half), 0u);
  EXPECT_EQ(steps.append(0, twice), steps.append(0, twice)) << "interned";
}

TEST(Fates, NamesRoundTrip) {
  for (unsigned i = 0; i <= static_cast<unsigned>(Fate::UnusedInSource); ++i)
    EXPECT_EQ(fateFromName(fateName(static_cast<Fate>(i))), static_cast<Fate>(i));
  EXPECT_EQ(fateFromName("of a later version"), Fate::Unknown);
}

TEST(Printable, KeepsALineALine) {
  EXPECT_EQ(printable("conv1/w é"), "conv1/w é");
  EXPECT_EQ(printable("a\nb\x1b[31m\"\\"), "a\\x0ab\\x1b[31m\\\"\\\\");
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "no turning the line around";
  EXPECT_LE(printable(std::string(1000, 'x'), 20).size(), 24u);
}

TEST(Model, LedgerFollowsSuccessorsToWhatIsLive) {
  Model model;
  Subgraph &graph = model.addSubgraph();
  Value &x = model.addValue(graph), &y = model.addValue(graph), &z = model.addValue(graph);
  model.setInputs(graph, {&x});
  model.addOperator(graph, BuiltinOperator::RELU, {&x}, {&y});
  model.addOperator(graph, BuiltinOperator::RELU, {&y}, {&z});
  model.setOutputs(graph, {&z});
  model.becomeSource();
  llvm::SmallVector<std::pair<bool, uint32_t>> lost;
  model.ledger(lost, [](const LedgerRow &row) { ADD_FAILURE() << "a row for " << row.id; });
  EXPECT_TRUE(lost.empty());

  // What nothing carries and no tombstone names is lost, and is told.
  graph.operators.front().origins = {};
  y.relations.clear();
  model.ledger(lost);
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_EQ(lost[0], std::pair(false, 0u));
  EXPECT_EQ(lost[1], std::pair(true, 1u));
}
