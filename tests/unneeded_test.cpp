#include "ir/edit/Editor.h"
#include "origin/check/Check.h"
#include "origin/codec/OriginFile.h"
#include "passes/Pipeline.h"
#include "report/metrics/Metrics.h"
#include "tests/Samples.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

/// What rewrites could do without, and what source operators take and cost, on the way through files and runs.
using namespace origo;
using namespace origo::test;

namespace {

std::unique_ptr<Model> sourceOf(llvm::StringRef body) {
  PayloadStore store;
  auto model = parseText(("origo 1\nmodel circle version 0\n" + body).str(), ".", store);
  if (!model) {
    ADD_FAILURE() << llvm::toString(model.takeError());
    return nullptr;
  }
  (*model)->number();
  (*model)->becomeSource();
  return std::move(*model);
}

std::string words(Model &model) {
  model.sortUnneeded();
  std::string text;
  for (const Unneeded &item : model.unneeded)
    text += (text.empty() ? "" : ", ") + std::string(item.ofTensor ? "tensor " : "operator ") +
            std::to_string(item.id) + " of " + std::to_string(item.user) + "." + std::to_string(item.position) + " " +
            unneededName(item.reason).str();
  return text;
}

Operator &operatorAt(Model &model, unsigned index) { return *std::next(model.subgraphs[0]->operators.begin(), index); }

const char *const twoReshapes = R"(subgraph @main(%x: f32[2,3]) -> (%y) {
  %s: i32[1] = const [6]
  %t: i32[2] = const [3, 2]
  %n: f32[2,3] = SOFTMAX(%x)
  %a: f32[6] = RESHAPE(%n, %s)
  %b: f32[3,2] = RESHAPE(%a, %t)
  %y: f32[3,2] = SOFTMAX(%b)
}
)"; // x, s, t, n, a, b, y are source tensors 0 to 6

void optimise(Imported &imported) {
  PayloadStore store;
  auto error = runPipeline(*imported.model, Pipeline::o1(), store, {});
  EXPECT_FALSE(bool(error));
}

} // namespace

TEST(Unneeded, NamesReadBack) {
  for (auto reason : {UnneededReason::ShapeOnly, UnneededReason::TimesZero, UnneededReason::BranchNotTaken,
                      UnneededReason::NotInSlice, UnneededReason::Empty, UnneededReason::TakenAway})
    EXPECT_EQ(unneededFromName(unneededName(reason)), reason);
  EXPECT_EQ(unneededFromName("boredom"), UnneededReason::Unknown);
  EXPECT_EQ(unneededName(UnneededReason::ShapeOnly), "shape-only");
}

TEST(Unneeded, IsNotedOfSourceOperators) {
  auto model = sourceOf(twoReshapes);
  model->noteUnneeded(operatorAt(*model, 1), 1, UnneededReason::ShapeOnly);
  EXPECT_EQ(words(*model), "tensor 1 of 1.1 shape-only");
  model->noteUnneeded(operatorAt(*model, 1), 1, UnneededReason::ShapeOnly); // is known
  model->noteUnneeded(operatorAt(*model, 2), 0, UnneededReason::TimesZero);
  model->noteUnneeded(operatorAt(*model, 2), 7, UnneededReason::TimesZero); // there is none
  EXPECT_EQ(words(*model), "operator 1 of 2.0 times-zero, tensor 1 of 1.1 shape-only");

  // Of an operator that stands for several, the one whose operand it was.
  model = sourceOf(twoReshapes);
  operatorAt(*model, 2).origins = model->sets.of({1, 2});
  model->noteUnneeded(operatorAt(*model, 2), 1, UnneededReason::ShapeOnly);
  EXPECT_EQ(words(*model), "tensor 2 of 2.1 shape-only");
  // A tensor that stands for none is told by who made it.
  operatorAt(*model, 2).operand(0)->relations.clear();
  model->noteUnneeded(operatorAt(*model, 2), 0, UnneededReason::Empty);
  EXPECT_EQ(words(*model), "operator 1 of 2.0 empty, tensor 2 of 2.1 shape-only");
}

/// One constant that all share, and operators that stand for ever more: only what is new may take time.
TEST(Unneeded, SharedOperandsTakeLinearTime) {
  constexpr uint32_t count = 200'000;
  SourceGraph graph;
  for (uint32_t id = 0; id < count; ++id)
    graph.addOperator({0}, {static_cast<int32_t>(id) + 1});
  IdSets sets;
  uint32_t next = 0;
  for (uint32_t id = 0; id < count; ++id)
    graph.takeUses(0, sets.range(0, id + 1), sets, [&](uint32_t user, uint32_t position) {
      EXPECT_EQ(user, next++);
      EXPECT_EQ(position, 0u);
    });
  EXPECT_EQ(next, count);
  graph.takeUses(0, sets.range(0, count), sets, [](uint32_t, uint32_t) { FAIL(); });
}

TEST(Unneeded, TakesEachUseOnce) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    SourceGraph graph;
    std::vector<std::vector<int32_t>> operands(40);
    for (auto &list : operands) {
      for (uint32_t i = random() % 4; i--;)
        list.push_back(static_cast<int32_t>(random() % 4) - 1);
      graph.addOperator(list, {});
    }
    IdSets sets;
    std::set<std::tuple<uint32_t, uint32_t, uint32_t>> taken, expected;
    for (int step = 0; step < 20; ++step) {
      std::vector<uint32_t> users;
      for (uint32_t id = 0; id < 300; ++id) // also such as there are not
        if (random() % 4 == 0)
          users.push_back(id);
      uint32_t tensor = random() % 5;
      graph.takeUses(tensor, sets.of(users), sets, [&](uint32_t user, uint32_t position) {
        EXPECT_TRUE(taken.insert({tensor, user, position}).second);
      });
      for (uint32_t user : users)
        for (uint32_t position = 0; user < operands.size() && position < operands[user].size(); ++position)
          if (operands[user][position] == static_cast<int32_t>(tensor))
            expected.insert({tensor, user, position});
      ASSERT_EQ(taken, expected);
    }
  }
}

TEST(IdSets, NextMember) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    std::set<uint32_t> ids;
    for (uint32_t i = random() % 30; i--;)
      for (uint32_t from = random() % 100'000, length = random() % 3 ? 1 : random() % 300; length--;)
        ids.insert(from + length);
    IdSets sets;
    IdSet set = sets.of(std::vector<uint32_t>(ids.begin(), ids.end()));
    for (int i = 0; i < 300; ++i) {
      uint32_t from =
          i % 2 || ids.empty() ? random() % 110'000 : *ids.lower_bound(random() % (*ids.rbegin() + 1)) + i % 3;
      auto expected = ids.lower_bound(from);
      EXPECT_EQ(sets.next(set, from), expected == ids.end() ? std::nullopt : std::optional(*expected));
    }
  }
}

/// Through a file, a second run on its result, and a division; told by the text form, the side file and the checker.
TEST(Unneeded, SurvivesRunsAndFiles) {
  Scratch scratch;
  std::string source = scratch.at("source.circle"), first = scratch.at("first.circle"),
              second = scratch.at("second.circle");
  ASSERT_TRUE(writeAsFile(std::string("origo 1\nmodel circle version 0\n") + twoReshapes, ".", source));
  auto open = [](const std::string &path) { return llvm::cantFail(importModel(path, {})); };
  auto save = [](Imported &imported, const std::string &path) {
    ExportOptions options;
    options.originJson = path + ".origin.json";
    EXPECT_FALSE(bool(exportModel(*imported.model, imported.lineage, path, options)));
  };
  auto violations = [&](const std::string &path) {
    auto file = llvm::cantFail(origin::openOriginFile(path, "", false));
    auto from = llvm::cantFail(origin::ModelFile::open(source));
    std::vector<std::string> skipped;
    std::string text;
    for (const origin::Violation &violation : origin::check(*file.map, file.model->view(), &from->view(), skipped))
      text += violation.text + "\n";
    return text;
  };

  Imported imported = open(source);
  imported.model->noteUnneeded(operatorAt(*imported.model, 1), 1, UnneededReason::ShapeOnly);
  optimise(imported);
  ASSERT_EQ(imported.model->operatorCount(), 3u);
  std::string ledger;
  llvm::raw_string_ostream os(ledger);
  printLedger(*imported.model, os);
  EXPECT_NE(ledger.find(", not needed as operand 1 of operator 1: shape-only\n"), std::string::npos) << ledger;
  save(imported, first);
  EXPECT_EQ(violations(first), "");

  // The reshape that is left stands for two; what it takes was the first one's.
  Imported again = open(first);
  EXPECT_EQ(words(*again.model), "tensor 1 of 1.1 shape-only");
  EXPECT_EQ(again.lineage.chain.back().laws, 13u);
  again.model->noteUnneeded(operatorAt(*again.model, 1), 0, UnneededReason::NotInSlice);
  const std::string both = "operator 0 of 1.0 not-in-slice, tensor 1 of 1.1 shape-only";
  EXPECT_EQ(words(*again.model), both);
  save(again, second);
  EXPECT_EQ(violations(second), "");
  auto map = *llvm::cantFail(origin::openOriginFile(second, "", false)).map;
  auto side = *llvm::cantFail(origin::openOriginFile(second + ".origin.json", "", false)).map;
  EXPECT_EQ(map.unneeded, side.unneeded);
  EXPECT_EQ(map.target.laws, 13u) << "this run has rewritten nothing, and keeps them too";
  EXPECT_EQ(map.unneededOf(false, 0).size(), 1u) << "of an operator that still lives";
  EXPECT_EQ(map.source.operandsOf(2)[1], 2);
  EXPECT_EQ(map.source.costOf(2).bytes, 6u * 4 * 2 + 8);
  EXPECT_EQ(map.source.costOf(2).macs, 0u);

  // A part of the model.
  Imported part = open(second);
  PayloadStore store;
  std::vector<int32_t> producers = {-1, -1, -1, 0, 1, 2, 3};
  auto elsewhere = [&](const Operator *, const Subgraph &) {
    return part.model->create(Part{"other.circle", "sha256:0"});
  };
  ASSERT_FALSE(
      bool(Editor(*part.model)
               .keepOnly("divide", {&operatorAt(*part.model, 1), &operatorAt(*part.model, 2)}, elsewhere, producers)));
  EXPECT_EQ(words(*part.model), both);
  save(part, scratch.at("part.circle"));
  EXPECT_EQ(violations(scratch.at("part.circle")), "");
  EXPECT_EQ(words(*open(scratch.at("part.circle")).model), both);
}

/// What the map says of the cost of source operators is what the metrics say, where they do not guess.
TEST(Unneeded, CostsAreThoseOfTheMetrics) {
  Scratch scratch;
  size_t known = 0;
  for (const Sample &sample : ownSamples(scratch)) {
    Imported imported = llvm::cantFail(importModel(sample.path, {}));
    auto metrics = report::metricsOf(*imported.model, *imported.lineage.source, nullptr, {});
    for (uint32_t id = 0; id < metrics.operators.size(); ++id) {
      const report::OperatorMetrics &row = metrics.operators[id];
      auto isStatic = [](const Value *value) { return !value || value->isStatic(); };
      auto operands = llvm::map_range(row.op->operands(), [](const Use &use) { return use.get(); });
      bool fixed = llvm::all_of(operands, isStatic) && llvm::all_of(row.op->results(), isStatic);
      origin::SourceCost cost = imported.lineage.source->costOf(id);
      EXPECT_TRUE(fixed || cost.macs == origin::SourceCost::unknown || cost.macs == 0) << sample.name << " " << id;
      if (!fixed)
        continue;
      EXPECT_EQ(cost.macs, row.figures.macs.value_or(origin::SourceCost::unknown)) << sample.name << " " << id;
      if (cost.bytes == origin::SourceCost::unknown) // where the metrics count no bytes for a type without a size
        continue;
      EXPECT_EQ(cost.bytes, row.figures.bytes + row.figures.activationBytes) << sample.name << " " << id;
      ++known;
    }
  }
  EXPECT_GT(known, 300u);
}
