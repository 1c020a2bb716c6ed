#include "quantize/MixedPrecision.h"

#include "ir/text/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <cmath>
#include <numeric>

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

TEST(MixedPrecision, TheCheapestLayersThatSuffice) {
  std::vector<double> own = {0.5, 8, 1, 8, 0.25};
  unsigned runs = 0;
  auto layersFor = [&](std::vector<uint64_t> costs, double bound) {
    return wideOf(llvm::cantFail(cheapestLayers(costs, bound, sumOf(own, runs))).wide);
  };
  EXPECT_EQ(layersFor({1, 1, 1, 1, 1}, 100), (std::vector<size_t>{}));
  EXPECT_EQ(layersFor({1, 1, 1, 1, 1}, 2), (std::vector<size_t>{1, 3}));
  EXPECT_EQ(layersFor({1, 1, 1, 1, 1}, 1), (std::vector<size_t>{1, 2, 3}));
  // Of two that do as well, the one that costs less; what an expensive one made needless is left out again.
  EXPECT_EQ(layersFor({1, 1000, 1, 1, 1}, 9.75), (std::vector<size_t>{3}));
  EXPECT_EQ(layersFor({1, 1, 1, 1000, 1}, 9.75), (std::vector<size_t>{1}));
  auto none =
      cheapestLayers(std::vector<uint64_t>(5, 1), 0.5, [](const WideLayers &) -> llvm::Expected<double> { return 1; });
  ASSERT_FALSE(none);
  EXPECT_EQ(llvm::toString(none.takeError()), "with 16 bits everywhere the error is still 1");
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
