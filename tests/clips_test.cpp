#include "quantize/Clips.h"
#include "quantize/Summary.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

/// Histograms on the fixed grid, and the ranges that follow from them.

using namespace origo::quantize;

namespace {

constexpr float lowestFloat = std::numeric_limits<float>::lowest(), infinity = std::numeric_limits<float>::infinity();

unsigned cellOf(float number) {
  Histogram one;
  one.add(llvm::ArrayRef(number));
  for (unsigned cell = 0; cell < Histogram::cells; ++cell)
    if (one[cell])
      return cell;
  return Histogram::cells;
}

Histogram histogramOf(const std::vector<float> &numbers) {
  Histogram histogram;
  histogram.add(numbers);
  return histogram;
}

std::vector<float> normal(size_t count, float width = 1) {
  std::mt19937 random(7);
  std::vector<float> numbers;
  std::normal_distribution<float> distribution(0, width);
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(distribution(random));
  return numbers;
}

/// What rounding does, number by number.
double brute(const std::vector<float> &numbers, double low, double high, unsigned steps) {
  low = std::min(low, 0.0), high = std::max(high, 0.0);
  double step = (high - low) / steps, sum = 0, zero = std::round(-low / step);
  low = -zero * step, high = (steps - zero) * step;
  for (float x : numbers) {
    double clipped = std::clamp<double>(x, low, high), rounded = std::round(clipped / step) * step;
    sum += (x - rounded) * (x - rounded);
  }
  return sum / static_cast<double>(numbers.size());
}

TEST(Histogram, CellsAreAGridOfTheNumberLine) {
  for (unsigned cell = 0; cell + 1 < Histogram::cells; ++cell) {
    EXPECT_LT(Histogram::low(cell), Histogram::high(cell)) << cell;
    EXPECT_EQ(Histogram::high(cell), Histogram::low(cell + 1)) << cell;
  }
  std::mt19937 random(1);
  unsigned inside = 0;
  for (int i = 0; i < 2000; ++i) {
    float x = std::ldexp(std::uniform_real_distribution<float>(-2, 2)(random), static_cast<int>(random() % 120) - 60);
    unsigned cell = cellOf(x);
    ASSERT_LT(cell, Histogram::cells);
    inside += Histogram::low(cell) <= x && x <= Histogram::high(cell);
    EXPECT_TRUE(std::abs(x) < 1e-19f || (Histogram::high(cell) - Histogram::low(cell)) <= std::abs(x) / 31) << x;
  }
  EXPECT_EQ(inside, 2000u);
  EXPECT_EQ(cellOf(0), Histogram::zero);
  EXPECT_EQ(cellOf(-0.0f), Histogram::zero - 1);
  EXPECT_EQ(cellOf(1e-30f), Histogram::zero);
  EXPECT_EQ(cellOf(1e30f), Histogram::cells - 1);
  EXPECT_EQ(cellOf(-1e30f), 0u);
  for (float nothing : {NAN, -NAN, infinity, -infinity, lowestFloat})
    EXPECT_EQ(cellOf(nothing), Histogram::cells) << nothing;
  EXPECT_EQ(histogramOf(std::vector<float>(100000, 2.0f)).total(), 100000u);
}

TEST(Histogram, CountsAddUpInAnyOrder) {
  std::vector<float> numbers = normal(10000);
  Histogram whole = histogramOf(numbers), parts;
  for (size_t part : {2, 0, 1}) {
    Histogram one;
    for (size_t i = part; i < numbers.size(); i += 3)
      one.add(llvm::ArrayRef(numbers[i]));
    parts.add(one);
  }
  for (unsigned cell = 0; cell < Histogram::cells; ++cell)
    ASSERT_EQ(whole[cell], parts[cell]);
  // Many at once are counted otherwise than one by one.
  for (size_t length : {15, 100, 5003, 10000}) {
    std::vector<float> odd(numbers.begin(), numbers.begin() + length);
    for (auto [place, number] : {std::pair(3, NAN),
                                 {4, -NAN},
                                 {5, infinity},
                                 {6, -infinity},
                                 {7, lowestFloat},
                                 {8, 0.0f},
                                 {9, -0.0f},
                                 {10, 1e30f}})
      odd[place] = number;
    Histogram together = histogramOf(odd), alone;
    for (float x : odd)
      alone.add(llvm::ArrayRef(x));
    EXPECT_EQ(together.total(), length - 5);
    for (unsigned cell = 0; cell < Histogram::cells; ++cell)
      ASSERT_EQ(together[cell], alone[cell]) << length;
  }
  parts.add(17, UINT64_MAX - 1);
  parts.add(17, 5);
  EXPECT_EQ(parts[17], UINT64_MAX);
}

TEST(Clips, ByShareLeaveOutTheTail) {
  std::vector<float> numbers;
  for (int i = 1; i <= 10000; ++i)
    numbers.push_back(static_cast<float>(i));
  Extremes range = clipByShare(histogramOf(numbers), {1, 10000}, 99);
  EXPECT_EQ(range.min, 1);
  EXPECT_NEAR(range.max, 9900, 30);
  EXPECT_EQ(clipByShare(histogramOf(numbers), {1, 10000}, 100).max, 10000);
  numbers.assign(9990, 0.0f);
  numbers.insert(numbers.end(), 10, -5.0f);
  EXPECT_EQ(clipByShare(histogramOf(numbers), {-5, 0}, 99).min, -5); // else nothing would be left
  EXPECT_NEAR(clipByShare(histogramOf(numbers), {-5, 0}, 99.95).min, -5, 0.2);
}

TEST(Clips, TheErrorOfARangeIsThatOfItsNumbers) {
  std::vector<float> numbers = normal(20000), positive = numbers;
  for (float &x : positive)
    x = std::max(x, 0.0f);
  for (const auto &list : {numbers, positive}) {
    Extremes all = extremesOf(list);
    for (float clip : {5.0f, 2.0f, 1.0f, 0.3f})
      for (unsigned steps : {255u, 15u}) {
        Extremes range{std::max(all.min, -clip), std::min(all.max, clip)};
        double want = brute(list, range.min, range.max, steps);
        EXPECT_NEAR(meanSquare(histogramOf(list), all, range, steps), want, 0.03 * want) << clip << " " << steps;
      }
  }
}

TEST(Clips, ByErrorAreNearlyTheBestThereAre) {
  std::vector<float> wild = normal(20000), lopsided = wild;
  wild[5] = 40;
  for (float &x : lopsided)
    x = std::exp(x);
  for (const auto &list : {wild, lopsided, normal(20000)})
    for (unsigned steps : {255u, 15u}) {
      Extremes all = extremesOf(list), range = clipByError(histogramOf(list), all, steps);
      double best = INFINITY, low = std::min(all.min, 0.0f);
      for (int i = 1; i <= 60; ++i)
        for (int j = low < 0 ? 1 : 60; j <= 60; ++j)
          best = std::min(best, brute(list, low * j / 60, all.max * i / 60, steps));
      EXPECT_LE(brute(list, range.min, range.max, steps), 1.05 * best) << steps;
    }
  // An end that is far away costs more than what is clipped.
  EXPECT_LT(clipByError(histogramOf(wild), extremesOf(wild), 15).max, 10);
}

TEST(Clips, ByEntropyDropAnOutlierAndKeepWhatIsEven) {
  std::vector<float> wild = normal(100000), even;
  wild[5] = 100;
  for (int i = 0; i <= 100000; ++i)
    even.push_back(static_cast<float>(i) / 1000);
  EXPECT_LT(clipByEntropy(histogramOf(wild), extremesOf(wild)).max, 10);
  EXPECT_GT(clipByEntropy(histogramOf(wild), extremesOf(wild)).max, 2);
  EXPECT_GT(clipByEntropy(histogramOf(even), extremesOf(even)).max, 90);
}

TEST(Clips, OfNothingAreNothing) {
  std::vector<float> zeros(100, 0.0f);
  for (const Calibrator &one : calibrators()) {
    Summary summary;
    summary.calibrator = &one;
    Extremes range = summarise({0, 0, "t", {{0, 0}}, histogramOf(zeros)}, summary);
    EXPECT_EQ(range.min, 0);
    EXPECT_EQ(range.max, 0);
    EXPECT_TRUE(summarise({0, 0, "t", {Extremes()}, {}}, summary).empty());
    // Rows that a file may tell without any counts.
    Extremes told = summarise({0, 0, "t", {{-1, 1}}, {}}, summary);
    EXPECT_LE(told.min, told.max);
  }
}

TEST(Summaries, MinMaxAndTheMovingAverageOfRecords) {
  Statistics::Tensor tensor{0, 0, "t", {{-1, 1}, {-3, 2}, {-2, 7}}, {}};
  Summary summary;
  summary.calibrator = findCalibrator("minmax");
  EXPECT_EQ(summarise(tensor, summary).min, -3);
  EXPECT_EQ(summarise(tensor, summary).max, 7);
  summary.calibrator = findCalibrator("ema");
  EXPECT_FLOAT_EQ(summarise(tensor, summary).max, 0.95f * (0.95f * 1 + 0.05f * 2) + 0.05f * 7);
}

} // namespace
