#include "quantize/Assignment.h"
#include "quantize/MixedPrecision.h"

#include "ir/text/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace origo;
using namespace origo::quantize;

namespace {

std::unique_ptr<Model> modelOf(const std::string &body) {
  PayloadStore store;
  return llvm::cantFail(parseText(
      "origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[2,4]) -> (%y) {\n" + body + "}\n", ".", store));
}

std::vector<size_t> wideOf(const WideLayers &layers) {
  std::vector<size_t> wide;
  for (size_t i = 0; i < layers.size(); ++i)
    if (layers[i])
      wide.push_back(i);
  return wide;
}

/// Each layer of 8 bits adds its own error.
auto sumOf(const std::vector<double> &own, unsigned &runs) {
  return [&own, &runs](const WideLayers &wide) -> llvm::Expected<double> {
    ++runs;
    double sum = 0;
    for (size_t i = 0; i < own.size(); ++i)
      sum += wide[i] ? 0 : own[i];
    return sum;
  };
}

TEST(MixedPrecision, DepthIsTheLongestWay) {
  auto model = modelOf(R"(
  %a: f32[2,4] = RELU(%x)
  %b: f32[2,4] = NEG(%a)
  %c: f32[2,4] = ADD(%x, %b)
  %y: f32[2,4] = MUL(%c, %a)
)");
  EXPECT_EQ(depthsOf(*model->subgraphs[0]), (std::vector<unsigned>{1, 2, 3, 4}));
}

TEST(MixedPrecision, TheCutIsTheLeastThatSuffices) {
  std::vector<unsigned> depths(16);
  std::iota(depths.begin(), depths.end(), 1);
  for (bool front : {true, false})
    for (size_t bad = 0; bad < 15; ++bad) { // one layer has all of the error
      std::vector<double> own(16, 0);
      own[front ? bad : 15 - bad] = 1;
      unsigned runs = 0;
      auto found = llvm::cantFail(bisectDepth(depths, front, 0.5, sumOf(own, runs)));
      EXPECT_EQ(found.narrowError, 1);
      EXPECT_EQ(found.error, 0);
      // The last layer that is left over is never tried apart: a cut lies between the two ends.
      EXPECT_EQ(llvm::count(found.wide, true), static_cast<long>(front ? bad + 1 : std::max<size_t>(bad + 1, 2)));
      EXPECT_LE(runs, 8u);
    }
}

TEST(MixedPrecision, WithoutACutAllLayersAreWide) {
  std::vector<unsigned> depths = {1, 2, 3, 4};
  unsigned runs = 0;
  std::vector<double> own = {1, 1, 1, 1};
  auto found = llvm::cantFail(bisectDepth(depths, true, 0, sumOf(own, runs)));
  EXPECT_EQ(wideOf(found.wide), (std::vector<size_t>{0, 1, 2, 3}));
  auto worse = bisectDepth(depths, true, 0.5, [](const WideLayers &wide) -> llvm::Expected<double> { return wide[0]; });
  ASSERT_FALSE(worse);
  EXPECT_EQ(llvm::toString(worse.takeError()), "16 bits are worse than 8: the error is 1 and not 0");
}

/// An error of each layer by itself: all of it in 8 bits, a tenth in 16, none in float.
auto errorsOf(const std::vector<double> &own, unsigned &runs) {
  return [&own, &runs](const Levels &levels) -> llvm::Expected<double> {
    ++runs;
    double sum = 0;
    for (size_t i = 0; i < own.size(); ++i)
      sum += levels[i] == Level::Int8 ? own[i] : levels[i] == Level::Int16 ? own[i] / 10 : 0;
    return sum;
  };
}

std::string lettersOf(const Levels &levels) {
  std::string letters;
  for (Level level : levels)
    letters += "86f"[static_cast<size_t>(level)];
  return letters;
}

LevelCosts bytesOf(const std::vector<double> &elements) {
  LevelCosts costs;
  for (double count : elements)
    costs.push_back({count, 2 * count, 4 * count});
  return costs;
}

/// Of all assignments the best, for `better`.
template <class Fits, class Better> Levels bestOf(const LevelCosts &costs, Fits fits, Better better) {
  Levels levels(costs.size(), Level::Int8), best;
  for (size_t number = 0, all = static_cast<size_t>(std::pow(3, costs.size())); number < all; ++number) {
    for (size_t i = 0, rest = number; i < levels.size(); ++i, rest /= 3)
      levels[i] = static_cast<Level>(rest % 3);
    if (fits(levels) && (best.empty() || better(levels, best)))
      best = levels;
  }
  return best;
}

TEST(Assignment, TheCheapestLevelsForAnError) {
  std::vector<double> own = {0.5, 8, 1, 8, 0.25};
  unsigned runs = 0;
  auto levelsFor = [&](const LevelCosts &costs, double bound) {
    return lettersOf(llvm::cantFail(cheapestWithin(costs, bound, errorsOf(own, runs))).levels);
  };
  EXPECT_EQ(levelsFor(bytesOf({1, 1, 1, 1, 1}), 100), "88888");
  EXPECT_EQ(levelsFor(bytesOf({1, 1, 1, 1, 1}), 4), "86868");
  EXPECT_EQ(levelsFor(bytesOf({1, 1, 1, 1, 1}), 1.8), "8f668");
  EXPECT_EQ(levelsFor(bytesOf({1, 1, 1, 1, 1}), 0), "fffff");
  // Of two that do as well, the one that costs less.
  EXPECT_EQ(levelsFor(bytesOf({1, 1000, 1, 1, 1}), 10.6), "88868");
  EXPECT_EQ(levelsFor(bytesOf({1, 1, 1, 1000, 1}), 10.6), "86888");
  // A level that a layer cannot have is not taken.
  LevelCosts costs = bytesOf({1, 1, 1, 1, 1});
  costs[1][1].reset();
  EXPECT_EQ(levelsFor(costs, 4), "8f868");
  costs[3][2].reset();
  auto none = llvm::cantFail(cheapestWithin(costs, 0, errorsOf(own, runs)));
  EXPECT_FALSE(none.suffices);
  EXPECT_EQ(lettersOf(none.levels), "fff6f");
  EXPECT_DOUBLE_EQ(none.error, llvm::cantFail(errorsOf(own, runs)(none.levels)));
  EXPECT_FALSE(llvm::cantFail(cheapestWithin(costs, NAN, errorsOf(own, runs))).suffices);
  // What is cheapest need not be in 8 bits.
  costs = bytesOf({1, 1, 1, 1, 1});
  costs[0] = {3, 2, 1};
  EXPECT_EQ(levelsFor(costs, 100), "f8888");
}

TEST(Assignment, TheLeastErrorForACost) {
  std::vector<double> own = {0.5, 8, 1, 6, 0.25};
  unsigned runs = 0;
  auto solve = [&](const LevelCosts &costs, double budget) {
    auto found = llvm::cantFail(bestWithin(costs, budget, errorsOf(own, runs)));
    EXPECT_LE(found.cost, budget);
    EXPECT_EQ(found.error, llvm::cantFail(errorsOf(own, runs)(found.levels)));
    return lettersOf(found.levels);
  };
  EXPECT_EQ(solve(bytesOf({1, 1, 1, 1, 1}), 5), "88888");
  EXPECT_EQ(solve(bytesOf({1, 1, 1, 1, 1}), 6), "86888");
  EXPECT_EQ(solve(bytesOf({1, 1, 1, 1, 1}), 7), "86868");
  EXPECT_EQ(solve(bytesOf({1, 1, 1, 1, 1}), 20), "fffff");
  EXPECT_EQ(solve(bytesOf({1, 9, 1, 1, 1}), 16), "68668"); // the worst one does not fit in
  EXPECT_LE(runs, 5 * (2 + 2 * 5 + 2u));
  auto none = llvm::cantFail(bestWithin(bytesOf({1, 1, 1, 1, 1}), 4, errorsOf(own, runs)));
  EXPECT_FALSE(none.suffices);
  EXPECT_EQ(none.cost, 5);
  // What gains by itself and nothing together is not taken.
  auto found = llvm::cantFail(bestWithin(bytesOf({1, 1}), 8, [](const Levels &levels) -> llvm::Expected<double> {
    return llvm::count(levels, Level::Int8) == 1 ? 1 : 2;
  }));
  EXPECT_EQ(lettersOf(found.levels), "88");
}

/// Beside the best of all assignments: never over the bound, and on the average near it.
TEST(Assignment, IsNearTheBestThereIs) {
  std::mt19937 random(7);
  double mine = 0, best = 0, myErrors = 0, bestErrors = 0;
  for (unsigned round = 0; round < 60; ++round) {
    std::vector<double> own, elements;
    for (unsigned i = 0; i < 6; ++i) {
      own.push_back(std::pow(2., random() % 10));
      elements.push_back(1 + random() % 50);
    }
    unsigned runs = 0;
    LevelCosts costs = bytesOf(elements);
    auto error = errorsOf(own, runs);
    auto errorOf = [&](const Levels &levels) { return llvm::cantFail(error(levels)); };
    auto costOf = [&](const Levels &levels) {
      double sum = 0;
      for (size_t i = 0; i < levels.size(); ++i)
        sum += *costs[i][static_cast<size_t>(levels[i])];
      return sum;
    };
    double bound = errorOf(Levels(6, Level::Int8)) * (0.05 + 0.1 * (round % 8));
    auto found = llvm::cantFail(cheapestWithin(costs, bound, error));
    EXPECT_LE(errorOf(found.levels), bound);
    EXPECT_EQ(found.cost, costOf(found.levels));
    mine += found.cost;
    best += costOf(bestOf(
        costs, [&](const Levels &levels) { return errorOf(levels) <= bound; },
        [&](const Levels &a, const Levels &b) { return costOf(a) < costOf(b); }));
    double budget = costOf(Levels(6, Level::Int8)) * (1.1 + 0.3 * (round % 8));
    auto within = llvm::cantFail(bestWithin(costs, budget, error));
    EXPECT_LE(costOf(within.levels), budget);
    myErrors += within.error;
    bestErrors += errorOf(bestOf(
        costs, [&](const Levels &levels) { return costOf(levels) <= budget; },
        [&](const Levels &a, const Levels &b) { return errorOf(a) < errorOf(b); }));
  }
  llvm::outs() << "greedy costs " << mine / best << " of the best, and errs " << myErrors / bestErrors
               << " of the least\n";
  EXPECT_LE(mine, 1.05 * best);
  EXPECT_LE(myErrors, 1.05 * bestErrors);
}

TEST(Assignment, CostsAreReadAsTheyAreWritten) {
  auto model = modelOf("  %a: f32[2,4] = RELU(%x)\n  %y: f32[2,4] = NEG(%a)\n");
  const Subgraph &graph = *model->subgraphs[0];
  LevelCosts costs = {{1, std::nullopt, 4.5}, {0, 0, 0}};
  auto again = llvm::cantFail(readCosts(costsText(costs, graph, "ms"), graph));
  EXPECT_EQ(again, costs);
  EXPECT_EQ(llvm::cantFail(readCosts("{\"layers\": []}", graph)), (LevelCosts{{0, 0, 0}, {0, 0, 0}}));
  auto refused = [&](llvm::StringRef text, llvm::StringRef why) {
    auto read = readCosts(text, graph);
    ASSERT_FALSE(read);
    EXPECT_EQ(llvm::toString(read.takeError()), why);
  };
  refused("[]", "is no file of costs: an object in JSON with a list \"layers\"");
  refused(R"({"layers": [{"uint8": 1}]})", "a layer has no \"name\"");
  refused(R"({"layers": [{"name": "z"}]})", "layer \"z\" is no first result of an operator");
  refused(R"({"layers": [{"name": "a"}, {"name": "a"}]})", "layer \"a\" is there twice");
  refused(R"({"layers": [{"name": "a", "int16": -1}]})", "layer \"a\": int16 is no cost; give a number, from 0");
}

TEST(MixedPrecision, PatternsAreFoundAndNothingElse) {
  auto model = modelOf(R"(
  %axis: i32[1] = const [1]
  %eps: f32[] = const [0.001]
  %m: f32[2,1] = MEAN(%x, %axis) {keep_dims=true}
  %d: f32[2,4] = SUB(%x, %m)
  %s: f32[2,4] = MUL(%d, %d)
  %v: f32[2,1] = MEAN(%s, %axis) {keep_dims=true}
  %e: f32[2,1] = ADD(%v, %eps)
  %r: f32[2,1] = RSQRT(%e)
  %n: f32[2,4] = MUL(%d, %r)
  %h: f32[2,1] = REDUCE_MAX(%n, %axis) {keep_dims=true}
  %u: f32[2,4] = SUB(%n, %h)
  %p: f32[2,4] = EXP(%u)
  %t: f32[2,1] = SUM(%p, %axis) {keep_dims=true}
  %q: f32[2,4] = DIV(%p, %t)
  %o: f32[2,4] = RSQRT(%q)
  %y: f32[2,4] = DIV(%o, %q)
)");
  EXPECT_EQ(wideOf(layerNormVariances(*model->subgraphs[0])), (std::vector<size_t>{2, 3, 4, 5}));
  EXPECT_EQ(wideOf(softmaxExponents(*model->subgraphs[0])), (std::vector<size_t>{8, 9}));
}

} // namespace
