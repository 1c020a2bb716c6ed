#include "ir/rewrite/Extents.h"

#include "gtest/gtest.h"

#include <random>

/// Integers as functions of a size, beside the same arithmetic for each size.

using namespace origo;
using namespace origo::rewrite;

namespace {

constexpr int64_t mostSize = 300;

int64_t floored(int64_t a, int64_t b) { return (a - (a % b + b) % b) / b; }

int64_t computed(Op code, int64_t a, int64_t b) {
  switch (code) {
  case Op::ADD:
    return a + b;
  case Op::SUB:
    return a - b;
  case Op::MUL:
    return a * b;
  case Op::MAXIMUM:
    return std::max(a, b);
  case Op::MINIMUM:
    return std::min(a, b);
  case Op::DIV:
    return a / b;
  case Op::FLOOR_DIV:
    return floored(a, b);
  default:
    return a - floored(a, b) * b;
  }
}

TEST(Extents, SayWhatTheArithmeticSays) {
  std::mt19937 random(1);
  auto upTo = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
  const Op codes[] = {Op::ADD, Op::SUB, Op::MUL, Op::MAXIMUM, Op::MINIMUM, Op::DIV, Op::FLOOR_DIV, Op::FLOOR_MOD};
  std::map<Op, unsigned> tried;
  for (unsigned round = 0; round < 3000; ++round) {
    Extent one = Extent::ofSize(1);
    std::vector<Extent> known{one};
    for (unsigned step = 0; step < 6; ++step) {
      Op code = codes[upTo(std::size(codes) - 1)];
      Extent a = known[upTo(known.size() - 1)], b = upTo(2) ? Extent::of(upTo(12) - 4) : known[upTo(known.size() - 1)];
      if (upTo(3) == 0 && code != Op::DIV)
        std::swap(a, b);
      std::optional<Extent> made = Extent::computed(code, a, b);
      if (!made)
        continue;
      ++tried[code];
      bool same = true;
      for (int64_t size = 0; size <= mostSize; ++size) {
        ASSERT_EQ(made->at(size), computed(code, a.at(size), b.at(size))) << int(code) << " of a size of " << size;
        same &= made->at(size) == made->at(0);
      }
      EXPECT_EQ(made->number().has_value(), same) << int(code);
      known.push_back(*made);
    }
  }
  for (Op code : codes)
    EXPECT_GT(tried[code], 100u) << int(code);
}

TEST(Extents, AreNotSaidOfTwoSizes) {
  Extent high = Extent::ofSize(1), wide = Extent::ofSize(2);
  EXPECT_FALSE(Extent::computed(Op::SUB, high, wide));
  EXPECT_FALSE(Extent::computed(Op::MUL, high, high));
  EXPECT_FALSE(Extent::computed(Op::FLOOR_MOD, Extent::of(7), high));
  EXPECT_FALSE(Extent::computed(Op::FLOOR_MOD, high, Extent::of(0)));
  EXPECT_FALSE(Extent::computed(Op::FLOOR_MOD, high, Extent::of(5000)));
  EXPECT_EQ(Extent::computed(Op::SUB, high, high)->number(), 0);
}

} // namespace
