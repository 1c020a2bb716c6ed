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

TEST(IdSets, WhatNobodyKeepsIsGone) {
  IdSets sets;
  std::mt19937 random(1);
  std::vector<std::pair<IdSet, llvm::SmallVector<uint32_t>>> kept;
  size_t rounds = 0;
  for (uint32_t step = 0; rounds < 5; ++step) {
    IdSet set;
    for (unsigned i = 0; i < 20; ++i)
      set = sets.join(set, sets.single(random() % 100000));
    if (step % 50 == 0)
      kept.push_back({set, sets.members(set)});
    if (!sets.crowded())
      continue;
    ++rounds;
    size_t before = sets.bytes();
    sets.keepOnly([&](auto visit) {
      for (auto &[one, ids] : kept)
        visit(one);
    });
    EXPECT_FALSE(sets.crowded());
    EXPECT_LE(sets.bytes(), before);
    for (auto &[one, ids] : kept) {
      ASSERT_EQ(sets.members(one), ids);
      ASSERT_EQ(sets.of(ids), one); // still equal to what is made anew
    }
  }
}

TEST(IdSets, WhatHasBeenWalkedIsNotWalkedAgain) {
  std::mt19937 random(7);
  for (uint32_t step : {1, 2, 3, 64, 100}) { // one run, words, one id a word
    IdSets sets;
    IdSets::Walked walked;
    IdSet growing;
    std::set<uint32_t> expected, seen;
    size_t runs = 0;
    constexpr uint32_t count = 20'000;
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t id = step * (step == 64 ? random() % count : i);
      growing = sets.join(growing, sets.single(id));
      expected.insert(id);
      sets.forEachNewRun(growing, walked, [&](uint32_t begin, uint32_t end) {
        ++runs;
        if (step > 1) // else each run is the whole set
          for (uint32_t member = begin; member < end; ++member)
            seen.insert(member);
      });
      if (step > 1 && i % 1000 == 0) {
        ASSERT_EQ(seen, expected);
      }
    }
    EXPECT_LE(runs, 64 * count);
    runs = 0;
    sets.forEachNewRun(growing, walked, [&](uint32_t, uint32_t) { ++runs; });
    EXPECT_EQ(runs, 0u);
  }
}

TEST(Ledger, TheLastTombstoneCountsAndWhatLivesNever) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    constexpr uint32_t ids = 400;
    Model model;
    Subgraph &graph = model.addSubgraph();
    model.sourceOperators = ids;
    std::vector<uint32_t> expected(ids, ~0u); // the number of a tombstone
    auto set = [&](uint32_t size) {
      IdSet made;
      for (uint32_t i = 0; i < size; ++i) {
        uint32_t begin = random() % ids;
        made = model.sets.join(
            made, model.sets.range(begin, std::min(ids, begin + 1 + uint32_t(random()) % (round % 2 ? 2 : 70))));
      }
      return made;
    };
    IdSet growing;
    for (uint32_t stone = 0; stone < 40; ++stone) {
      IdSet named = stone % 3 ? growing = model.sets.join(growing, set(2)) : set(5);
      model.tombstones.push_back(Tombstone{.fate = Fate::Dead, .ids = named, .rewrite = stone});
      for (uint32_t id : model.sets.members(named))
        expected[id] = stone;
    }
    std::set<uint32_t> live;
    for (int i = 0; i < 3; ++i) {
      Operator &op = model.addOperator(graph, BuiltinOperator::ABS, {}, {});
      op.origins = set(2);
      for (uint32_t id : model.sets.members(op.origins))
        live.insert(id);
    }
    std::vector<uint32_t> got(ids, ~0u);
    llvm::SmallVector<std::pair<bool, uint32_t>> lost;
    model.ledger(lost, [&](const LedgerRow &row) { got[row.id] = row.rewrite; });
    for (uint32_t id : live)
      expected[id] = ~0u;
    ASSERT_EQ(got, expected);
    size_t unnamed = llvm::count(expected, ~0u) - live.size();
    ASSERT_EQ(lost.size(), unnamed);
  }
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
  twice.scale = Step::Term::of(2.0);
  half.scale = Step::Term::of(0.5);
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

TEST(Model, LedgerFollowsDestinationsToWhatIsLive) {
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
