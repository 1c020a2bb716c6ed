#include "commands/RunsInTurn.h"
#include "tests/Sessions.h"

#include "gtest/gtest.h"

#include <random>

/// What is told of measured times, of times that are made up: those of a busy machine are nearly always a little
/// longer, and once in a while several times as long.
using namespace origo;
using namespace origo::commands;
using namespace origo::test;

namespace {

class BusyMachine {
public:
  explicit BusyMachine(unsigned seed) : random(seed) {}
  double measured(double milliseconds) {
    double factor = 1 + std::exponential_distribution<>(12)(random);
    return milliseconds * (random() % 20 ? factor : factor * std::uniform_real_distribution<>(1.5, 5)(random));
  }

private:
  std::mt19937 random;
};

std::unique_ptr<Model> threeOperators() {
  return parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[4]) -> (%c) {
  %a: f32[4] = SIN(%x)
  %b: f32[4] = COS(%a)
  %c: f32[4] = EXP(%b)
}
)");
}

/// Runs of operators that take so long; all of a run may be slowed down by what else runs.
RunProfile profileOf(const Model &model, llvm::ArrayRef<double> milliseconds, BusyMachine &machine, unsigned runs) {
  RunProfile profile(nullptr, RunProfile::Traces::Nothing);
  using std::chrono::duration_cast, std::chrono::nanoseconds;
  RunProfile::Clock::time_point now{};
  for (unsigned run = 0; run < runs; ++run) {
    double slowed = machine.measured(1);
    auto begin = now;
    for (const auto &[op, time] : llvm::zip(model.subgraphs[0]->operators, milliseconds)) {
      auto took = nanoseconds(static_cast<int64_t>(1e6 * slowed * machine.measured(time)));
      profile.timer()({.op = op, .begin = now, .end = now + took});
      now += took + nanoseconds(1);
    }
    profile.endRun(now - begin);
  }
  return profile;
}

std::string verdictOf(const RunProfile &profile) {
  std::string text;
  llvm::raw_string_ostream os(text);
  profile.printTable(os, std::nullopt);
  return llvm::StringRef(text).rtrim('\n').rsplit('\n').second.str();
}

TEST(RunProfile, TheSlowestIsTheSameEachTimeOrNoiseDoesNotTell) {
  auto parsed = threeOperators();
  ASSERT_TRUE(parsed);
  const Model &model = *parsed;
  size_t untold = 0, goOn = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    BusyMachine machine(seed);
    // Where one takes 1.3 times as long as the next, it is always told.
    RunProfile settled = profileOf(model, {0.1, 0.13, 0.02}, machine, 60);
    EXPECT_FALSE(settled.mayTellSlowest());
    std::string clear = verdictOf(settled);
    EXPECT_NE(clear.find("the slowest is COS b"), std::string::npos) << clear;
    // Of two that take as long, neither is ever said to be the slowest.
    RunProfile alike = profileOf(model, {0.1, 0.1, 0.02}, machine, 60);
    EXPECT_FALSE(alike.mayTellSlowest());
    std::string tied = verdictOf(alike);
    EXPECT_NE(tied.find("noise does not tell which is the slowest: "), std::string::npos) << tied;
    EXPECT_EQ(tied.find("EXP"), std::string::npos) << tied;
    // In between, what is told is right.
    std::string near = verdictOf(profileOf(model, {0.12, 0.1, 0.02}, machine, 60));
    bool told = near.find("the slowest is SIN a") != std::string::npos;
    EXPECT_NE(told, near.find("noise does not tell") != std::string::npos) << near;
    untold += !told;
    // What takes 1.3 times as long is worth more runs where there were few.
    goOn += profileOf(model, {0.1, 0.13, 0.02}, machine, 4).mayTellSlowest();
  }
  EXPECT_LE(untold, 10u);
  EXPECT_GE(goOn, 30u);
  BusyMachine machine(1);
  EXPECT_NE(verdictOf(profileOf(model, {0.1, 1, 0.02}, machine, 4)).find("too few runs"), std::string::npos);
}

TEST(RunsInTurn, TenPercentAreSeenAndNothingIsNoise) {
  const size_t blocks[] = {0, 50, 100, 150};
  size_t slower = 0, faster = 0, different = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    BusyMachine machine(seed);
    std::vector<double> before, same, slow, fast;
    for (unsigned run = 0; run < 200; ++run) {
      before.push_back(machine.measured(1));
      same.push_back(machine.measured(1));
      slow.push_back(machine.measured(1.1));
      fast.push_back(machine.measured(0.9));
    }
    using Change = RunsInTurn::Change;
    slower += Change::of(before, slow, blocks, 10).isSlower();
    faster += Change::of(before, fast, blocks, 10).isFaster();
    Change none = Change::of(before, same, blocks, 10);
    different += none.isSlower() || none.isFaster();
  }
  EXPECT_GE(slower, 45u);
  EXPECT_GE(faster, 45u);
  EXPECT_EQ(different, 0u);
}

} // namespace
