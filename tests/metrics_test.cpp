#include "report/viewer/Viewers.h"
#include "schema/Macs.h"

#include "passes/Pipeline.h"
#include "tests/Samples.h"

#include "gtest/gtest.h"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace origo;
using namespace origo::report;
using namespace origo::test;
using Json = nlohmann::json;
using Shapes = std::vector<std::vector<int64_t>>;

namespace {

std::optional<uint64_t> count(const char *op, Shapes inputs, Shapes outputs) {
  return macs({op, std::move(inputs), std::move(outputs)});
}

TEST(Macs, Formulas) {
  EXPECT_EQ(count("CONV_2D", {{1, 8, 8, 3}, {16, 3, 5, 3}, {16}}, {{1, 4, 4, 16}}), 4u * 4 * 16 * 3 * 5 * 3);
  // Two groups: the filter knows half of the input's channels.
  EXPECT_EQ(count("CONV_2D", {{1, 8, 8, 8}, {16, 1, 1, 4}}, {{1, 8, 8, 16}}), 8u * 8 * 16 * 4);
  EXPECT_EQ(count("DEPTHWISE_CONV_2D", {{2, 8, 8, 3}, {1, 3, 3, 6}}, {{2, 8, 8, 6}}), 2u * 8 * 8 * 6 * 9);
  EXPECT_EQ(count("TRANSPOSE_CONV", {{4}, {5, 2, 2, 3}, {1, 4, 4, 3}}, {{1, 8, 8, 5}}), 4u * 4 * 3 * 5 * 2 * 2);
  EXPECT_EQ(count("CONV_3D", {{1, 4, 4, 4, 2}, {3, 3, 3, 2, 7}}, {{1, 2, 2, 2, 7}}), 8u * 7 * 27 * 2);
  EXPECT_EQ(count("FULLY_CONNECTED", {{6, 10}, {4, 10}, {0}}, {{6, 4}}), 6u * 4 * 10);
  EXPECT_EQ(count("BATCH_MATMUL", {{2, 3, 4}, {2, 4, 5}}, {{2, 3, 5}}), 2u * 3 * 4 * 5);
  EXPECT_EQ(count("BATCH_MATMUL", {{2, 4, 3}, {2, 5, 4}}, {{2, 3, 5}}), 2u * 3 * 4 * 5); // both transposed
  EXPECT_EQ(count("BATCH_MATMUL", {{1, 4}, {7, 4, 5}}, {{7, 1, 5}}), 7u * 4 * 5);        // broadcast
  EXPECT_EQ(count("RNN", {{2, 3}, {8, 3}, {8, 8}, {8}, {2, 8}}, {{2, 8}}), 2u * (8 * 3 + 8 * 8));
  EXPECT_EQ(count("SVDF", {{2, 3}, {8, 3}, {8, 10}, {0}, {2, 80}}, {{2, 8}}), 2u * (24 + 80));
  Shapes lstm(24, {0});
  lstm[0] = {1, 20, 13};
  for (int i = 1; i <= 4; ++i)
    lstm[i] = {32, 13};
  for (int i = 5; i <= 8; ++i)
    lstm[i] = {32, 32};
  for (int i = 12; i <= 15; ++i)
    lstm[i] = {32}; // biases multiply nothing
  EXPECT_EQ(count("UNIDIRECTIONAL_SEQUENCE_LSTM", lstm, {{1, 20, 32}}), 20u * 4 * (32 * 13 + 32 * 32));
  lstm[16] = {16, 32};
  EXPECT_EQ(count("UNIDIRECTIONAL_SEQUENCE_LSTM", lstm, {{1, 20, 16}}), 20u * (4 * (32 * 13 + 32 * 32) + 16 * 32));

  EXPECT_EQ(count("ADD", {{4}, {4}}, {{4}}), 0u);
  EXPECT_EQ(count("WHILE", {{4}}, {{4}}), 0u);
}

TEST(Macs, WhatIsNotKnownIsNoNumber) {
  EXPECT_EQ(count("CUSTOM", {{4}}, {{4}}), std::nullopt);
  EXPECT_EQ(count("-77", {{4}}, {{4}}), std::nullopt);
  EXPECT_EQ(count("CONV_2D", {{1, 8, 8, 3}, {16, 3, 5, 3}}, {{1, -1, 4, 16}}), std::nullopt);
  EXPECT_EQ(count("CONV_2D", {{1, 8, 8, 3}}, {{1, 4, 4, 16}}), std::nullopt);
  EXPECT_EQ(count("CONV_2D", {{1}, {16, 3}}, {{1}}), std::nullopt);
  EXPECT_EQ(count("FULLY_CONNECTED", {}, {}), std::nullopt);
  int64_t big = int64_t(1) << 31;
  EXPECT_EQ(count("FULLY_CONNECTED", {{big, big}, {big, big}}, {{big, big}}), std::nullopt);
  EXPECT_EQ(count("BATCH_MATMUL", {{0, 0}, {0, 5}}, {{0, 5}}), 0u);
}

/// A model from text that is its own source, and what it costs.
struct Measured {
  Imported imported;
  ModelMetrics metrics;
  PayloadStore store;

  explicit Measured(llvm::StringRef text, StatisticsOptions options = {}) {
    auto model = parseText(text, ".", store);
    EXPECT_TRUE(bool(model)) << llvm::toString(model.takeError());
    imported.model = std::move(*model);
    EXPECT_FALSE(bool(restart(imported)));
    metrics = metricsOf(*imported.model, *imported.lineage.source, nullptr, options);
  }
  MetricsReport report() const { return {imported, metrics, "m.circle"}; }
  const TensorMetrics &tensor(llvm::StringRef name) const {
    for (const TensorMetrics &row : metrics.tensors)
      if (row.value->name == name)
        return row;
    ADD_FAILURE() << name.str();
    return metrics.tensors.front();
  }
};

TEST(Statistics, OfValues) {
  Measured m(R"(origo 1
model circle
subgraph @main(%x: f32[2,6]) -> (%y) {
  %plain: f32[2,6] = const [0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0]
  %special: f32[4] = const [nan, inf, -2, 4]
  %quantized: i8[4] q{scale=0.5, zero_point=3} = const [3, 3, 5, -128]
  %channels: i8[2,2] q{scale=[0.5, 2], zero_point=[0, 1]} = const [1, 2, 1, 2]
  %a: f32[2,6] = ADD(%x, %plain)
  %b: f32[4] = NEG(%special)
  %c: f32[4] = DEQUANTIZE(%quantized)
  %d: f32[2,2] = DEQUANTIZE(%channels)
  %y: f32[2,6] = RELU(%a)
}
)");
  const Statistics &plain = *m.tensor("plain").statistics;
  EXPECT_EQ(plain.elements, 12u);
  EXPECT_EQ(plain.zeros, 10u);
  EXPECT_EQ(plain.blocks, 4u); // four and two elements in each row
  EXPECT_EQ(plain.zeroBlocks, 2u);
  EXPECT_EQ(plain.max, 7);
  EXPECT_DOUBLE_EQ(plain.mean, 8.0 / 12);
  EXPECT_DOUBLE_EQ(plain.std, std::sqrt(50.0 / 12 - 64.0 / 144));
  const Statistics &special = *m.tensor("special").statistics;
  EXPECT_EQ(special.nans, 1u);
  EXPECT_EQ(special.infinities, 1u);
  EXPECT_EQ(special.finite, 2u);
  EXPECT_EQ(special.min, -2);
  EXPECT_EQ(special.mean, 1);
  EXPECT_EQ(special.std, 3);
  const Statistics &quantized = *m.tensor("quantized").statistics;
  EXPECT_EQ(quantized.zeros, 2u);
  EXPECT_EQ(quantized.max, 1);
  EXPECT_EQ(quantized.min, -65.5);
  const Statistics &channels = *m.tensor("channels").statistics;
  EXPECT_EQ(channels.zeros, 1u);
  EXPECT_EQ(channels.min, 0);
  EXPECT_EQ(channels.max, 2);
  EXPECT_EQ(channels.mean, 0.875);
  EXPECT_FALSE(m.tensor("x").statistics);
}

/// Three parts for the threads, whose ends are in the middle of a row and of a block.
TEST(Statistics, DoNotDependOnThreads) {
  const char *text = R"(origo 1
model circle
subgraph @main(%x: f32[1]) -> (%y) {
  %w: f32[3,1000001] = const seed 7 uniform -1 1
  %y: f32[3,1000001] = ADD(%x, %w)
}
)";
  Measured one(text, {.block = 7, .threads = 1});
  const Statistics &a = *one.tensor("w").statistics;
  EXPECT_EQ(a.blocks, 3u * 142858);
  EXPECT_NEAR(a.mean, 0, 0.01);
  EXPECT_NEAR(a.std, 1 / std::sqrt(3.0), 0.01);
  for (unsigned threads : {2, 5}) {
    Measured many(text, {.block = 7, .threads = threads});
    const Statistics &b = *many.tensor("w").statistics;
    EXPECT_EQ(std::memcmp(&a, &b, sizeof(a)), 0);
  }
}

TEST(Metrics, OfOperators) {
  Measured m(R"(origo 1
model circle
subgraph @main(%x: f32[1,4]) -> (%y) {
  %w: f32[2,4] = const [1, 0, 0, 2, 0, 0, 3, 0]
  %bias: f32[2] = const [0, 0]
  %a: f32[1,2] = FULLY_CONNECTED(%x, %w, %bias) {fused_activation_function=RELU}
  %b: f32[1,2] = FULLY_CONNECTED(%x, %w)
  %y: f32[1,2] = ADD(%a, %b)
}
)");
  ASSERT_EQ(m.metrics.operators.size(), 3u);
  const Figures &a = m.metrics.operators[0].figures;
  EXPECT_EQ(a.macs, 8u);
  EXPECT_EQ(a.sparseMacs, 3u);
  EXPECT_EQ(a.operations, 16u + 2 + 2); // bias and activation
  EXPECT_EQ(a.parameters, 10u);
  EXPECT_EQ(a.bytes, 40u);
  EXPECT_EQ(a.activationBytes, 16u + 8);
  EXPECT_EQ(a.liveBytes, 16u + 8);
  EXPECT_DOUBLE_EQ(*a.sparsity(), 0.7);
  EXPECT_DOUBLE_EQ(*a.intensity(), 20.0 / 64);
  EXPECT_EQ(m.metrics.operators[1].figures.operations, 16u);
  EXPECT_EQ(m.metrics.operators[1].figures.liveBytes, 16u + 8 + 8);
  EXPECT_EQ(m.metrics.operators[2].figures.operations, 2u);
  // %w counts once.
  EXPECT_EQ(m.metrics.figures.parameters, 10u);
  EXPECT_EQ(m.metrics.figures.macs, 16u);
  EXPECT_EQ(m.metrics.figures.liveBytes, 32u);
}

uint64_t sum(const ModelMetrics &metrics, uint64_t SourceMetrics::*figure) {
  uint64_t total = metrics.synthetic.*figure;
  for (const SourceMetrics &row : metrics.sources)
    total += row.*figure;
  return total;
}

void expectExactShares(const Imported &imported, const Model *source, const std::string &name) {
  ModelMetrics metrics = metricsOf(*imported.model, *imported.lineage.source, source, {});
  uint64_t macs = 0, operations = 0, bytes = 0;
  for (const OperatorMetrics &row : metrics.operators) {
    macs += row.figures.macs.value_or(0);
    operations += row.figures.operations.value_or(0);
    bytes += row.figures.bytes;
  }
  EXPECT_EQ(sum(metrics, &SourceMetrics::macs), macs) << name;
  EXPECT_EQ(metrics.figures.macs, macs) << name;
  EXPECT_EQ(sum(metrics, &SourceMetrics::operations), operations) << name;
  EXPECT_EQ(sum(metrics, &SourceMetrics::bytes), bytes) << name;
  EXPECT_EQ(metrics.operators.size(), imported.model->operatorCount()) << name;
  uint64_t ofScopes = 0, ofLines = 0;
  for (const ScopeMetrics &line : byScope(metrics, *imported.lineage.source))
    ofScopes += line.scope.level == 1 ? line.sum.macs : 0;
  EXPECT_EQ(ofScopes, macs) << name;
  for (const ScopeMetrics &line : byLine(metrics, *imported.lineage.source, false))
    ofLines += line.sum.macs;
  EXPECT_EQ(ofLines, macs) << name;
}

TEST(Scopes, EachLevelAddsUp) {
  Scopes scopes;
  for (const char *name : {"a/b/c", "a/b", "a", "a/d", "e", "f/g", "a/b/c;x/y"})
    scopes.add(name);
  auto of = [&](const char *name) {
    std::string text;
    for (const ScopeLine &line : scopes.linesOf(name))
      text += std::to_string(line.level) + line.key + " ";
    return text;
  };
  EXPECT_EQ(of("a/b/c"), "1a/ 2a/b/ ");
  EXPECT_EQ(of("a/b"), "1a/ 2a/b/ "); // nothing below a/b/ has scopes
  EXPECT_EQ(of("a"), "1a/ 2a/ (rest) ");
  EXPECT_EQ(of("a/d"), "1a/ 2a/ (rest) ");
  EXPECT_EQ(of("a/b;x/y"), "1a/ 2a/b/ ");
  EXPECT_EQ(of("e"), "1(no scope) ");
  EXPECT_EQ(of(""), "1(no scope) ");
  EXPECT_EQ(of("f/g"), "1f/ ");
}

TEST(Metrics, SharesOfTheSourceAddUp) {
  Scratch scratch;
  size_t several = 0;
  for (const Sample &sample : ownSamples(scratch)) {
    auto source = importModel(sample.path), imported = importModel(sample.path);
    ASSERT_TRUE(source && imported) << sample.name;
    PayloadStore store;
    ASSERT_FALSE(bool(runPipeline(*imported->model, Pipeline::o1(), store, {}))) << sample.name;
    imported->model->number();
    expectExactShares(*imported, nullptr, sample.name);
    expectExactShares(*imported, source->model.get(), sample.name);
    for (auto &graph : imported->model->subgraphs)
      for (const Operator &op : graph->operators)
        several += imported->model->sets.members(op.origins).size() > 1;
  }
  EXPECT_GT(several, 50u);
}

/// What is left of the operator's macs is its own; each of the others counts as one.
TEST(Metrics, SharesAreByTheMacsOfTheSource) {
  const char *text = R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,4,4,1]) -> (%y) {
  %w: f32[2,1,1,1] = const [1, 2]
  %two: f32[2] = const [3, 2]
  %a: f32[1,4,4,2] = CONV_2D(%x, %w) {stride_w=1, stride_h=1}
  %b: f32[1,4,4,2] = MUL(%a, %two)
  %y: f32[1,4,4,2] = RELU(%b)
}
)";
  PayloadStore store;
  auto source = llvm::cantFail(parseText(text, "", store)), written = llvm::cantFail(parseText(text, "", store));
  source->becomeSource(), written->becomeSource();
  ASSERT_FALSE(bool(runPipeline(*written, Pipeline::o1(), store, {})));
  written->number();
  ASSERT_EQ(written->operatorCount(), 1u);
  auto listing = llvm::cantFail(listingOf(*source, source->format));
  auto macs = [&](const Model *weighedBy) {
    std::vector<uint64_t> parts;
    for (const SourceMetrics &row : metricsOf(*written, *listing, weighedBy, {}).sources)
      parts.push_back(row.macs);
    return parts;
  };
  EXPECT_EQ(macs(source.get()), (std::vector<uint64_t>{31, 1, 0}));
  EXPECT_EQ(macs(nullptr), (std::vector<uint64_t>{32, 0, 0}));
}

TEST(Metrics, WhatIsAliveAtThePeak) {
  Measured m(R"(origo 1
model circle
subgraph @main(%x: f32[4]) -> (%y) {
  %early: f32[100] = TILE(%x, %n)
  %n: i32[1] = const [25]
  %a: f32[4] = NEG(%x)
  %b: f32[4] = NEG(%a)
  %m: i32[1] = const [50]
  %c: f32[200] = TILE(%b, %m)
  %d: f32[200] = NEG(%c)
  %k: i32[1] = const [0]
  %e: f32[] = SUM(%d, %k)
  %s: f32[] = SUM(%early, %k)
  %y: f32[] = ADD(%s, %e)
}
)");
  const SubgraphMetrics &graph = m.metrics.subgraphs.front();
  EXPECT_EQ(graph.figures.liveBytes, 4 * (100 + 200 + 200u));
  EXPECT_EQ(graph.peak, 4u); // NEG of 200 elements
  EXPECT_EQ(graph.atLeast, 4 * (200 + 200u));
  ASSERT_EQ(graph.alive.size(), 3u);
  EXPECT_EQ(graph.alive[0].value->name, "c");
  EXPECT_FALSE(graph.alive[0].waits || graph.alive[1].waits);
  const AliveTensor &early = graph.alive[2];
  EXPECT_EQ(early.value->name, "early");
  EXPECT_TRUE(early.waits);
  EXPECT_EQ(std::pair(early.from, early.to), std::pair(size_t(0), size_t(6)));
  EXPECT_EQ(early.without, 4 * (200 + 200u));
  EXPECT_EQ(early.origins, std::vector<uint32_t>{0});
  std::string text;
  llvm::raw_string_ostream os(text);
  printMetrics(m.report(), Rows::Memory, true, os);
  EXPECT_NE(text.find("0   4    400     1600     0   6  waits    early  early"), std::string::npos) << text;
}

void metricsOfModels(const ModelFolder &models) {
  std::vector<std::string> files = models.all();
  size_t measured = 0, withMacs = 0;
  for (const std::string &file : files) {
    auto imported = importModel(file);
    if (!imported) { // every_model.py looks at these
      llvm::consumeError(imported.takeError());
      continue;
    }
    ++measured;
    expectExactShares(*imported, nullptr, baseName(file));
    ModelMetrics metrics = metricsOf(*imported->model, *imported->lineage.source, nullptr, {});
    withMacs += *metrics.figures.macs > 0;
    EXPECT_LE(*metrics.figures.sparseMacs, *metrics.figures.macs) << file;
    for (const TensorMetrics &row : metrics.tensors)
      if (row.statistics) {
        EXPECT_EQ(row.statistics->elements, row.parameters) << file;
        EXPECT_EQ(row.statistics->finite + row.statistics->nans + row.statistics->infinities, row.parameters) << file;
        EXPECT_LE(row.statistics->min, row.statistics->max) << file;
      }
  }
  EXPECT_GT(measured, files.size() * 9 / 10);
  EXPECT_GT(withMacs, 100u);
}

TEST(Metrics, OfModels) { metricsOfModels(ownNetworks()); }
TEST(MetricsPublicModels, OfModels) { metricsOfModels(publicModels()); }

// Files for viewers. tests/viewers/ looks at them with the eyes of their readers.

template <class Write> Json parsed(Write write) {
  std::string text;
  llvm::raw_string_ostream os(text);
  write(os);
  return Json::parse(text);
}

constexpr const char *hostileNames = R"(origo 1
model tflite version 3
subgraph @"ma\"in"(%x: f32[1,4]) -> (%y, %again) {
  %w: f32[2,4] = const [1, 0, 0, 2, 0, 0, 3, 0]
  %1: f32[1,2] = FULLY_CONNECTED(%x, %w)
  %"a\"b\\": f32[1,2] = RELU(%1)
  %"=1+1": f32[1,2] = NEG(%"a\"b\\")
  %y: f32[1,2] = ABS(%"=1+1")
  %again: f32[1,2] = FULLY_CONNECTED(%x, %w)
}
)";

TEST(Viewers, ANumberForATensorsName) {
  Measured m(hostileNames);
  Json file = parsed([&](llvm::raw_ostream &os) { writeNodeData(m.report(), *findMetric("macs"), os); });
  ASSERT_EQ(file.size(), 1u);
  const Json &graph = file["ma\"in"];
  ASSERT_EQ(graph["results"].size(), 5u);
  ASSERT_TRUE(graph["results"].contains("a\"b\\")) << graph;
  EXPECT_EQ(graph["results"]["1"]["value"], 8);      // operator 0, which makes the tensor "1"
  EXPECT_EQ(graph["results"]["a\"b\\"]["value"], 0); // operator 1
}

TEST(Viewers, ARangeOfOneValueHasNoGradient) {
  Measured m(hostileNames);
  auto graphOf = [&](const char *metric) {
    return parsed([&](llvm::raw_ostream &os) { writeNodeData(m.report(), *findMetric(metric), os); })["ma\"in"];
  };
  EXPECT_TRUE(graphOf("macs").contains("gradient"));
  EXPECT_FALSE(graphOf("sparsity").contains("gradient")); // both have the same weights
  EXPECT_EQ(graphOf("sparsity")["thresholds"][0]["value"], 0.625);
  EXPECT_EQ(graphOf("sparsity")["hideAggregatedStats"], Json({"sum"}));
}

TEST(Viewers, VisqSlotsHoldTheirValues) {
  Measured m(hostileNames);
  for (const char *metric : {"macs", "sparsity", "activation_bytes"}) {
    Json file =
        parsed([&](llvm::raw_ostream &os) { EXPECT_TRUE(bool(writeVisq(m.report(), *findMetric(metric), os))); });
    ASSERT_GE(file["error"][0].size(), 2u);
    for (auto &[name, value] : file["error"][0].items()) {
      size_t slots = 0;
      for (auto &slot : file["meta"]["colorscheme"])
        slots += slot["b"] <= value && value < slot["e"];
      EXPECT_EQ(slots, 1u) << metric << " " << name;
    }
  }
}

TEST(Viewers, DotOfHostileNames) {
  Measured m(hostileNames);
  std::string text;
  llvm::raw_string_ostream os(text);
  ASSERT_TRUE(bool(writeMetricDot(m.report(), *findMetric("macs"), os)));
  EXPECT_NE(text.find(R"("a\"b\\" [label="1 RELU\n)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("1" -> "a\"b\\";)"), std::string::npos) << text;
}

TEST(Viewers, CsvOfHostileNames) {
  Measured m(hostileNames);
  std::string text;
  llvm::raw_string_ostream os(text);
  printMetricsCsv(m.report(), Rows::Operators, os);
  EXPECT_NE(text.find(R"("'=1+1")"), std::string::npos) << text;
}

/// What is written is what is read again: a side file has the same relation, from which the entries follow.
TEST(Viewers, EachNodeIsInOneEntry) {
  Scratch scratch;
  size_t entries = 0, joined = 0;
  for (const Sample &sample : ownSamples(scratch)) {
    auto imported = importModel(sample.path);
    ASSERT_TRUE(bool(imported)) << sample.name;
    PayloadStore store;
    ASSERT_FALSE(bool(runPipeline(*imported->model, Pipeline::o1(), store, {})));
    imported->model->number();
    ModelMetrics metrics = metricsOf(*imported->model, *imported->lineage.source, nullptr, {});
    MetricsReport report{*imported, metrics, "m.circle"};
    Json file = parsed([&](llvm::raw_ostream &os) { writeSync(report, *imported->model->subgraphs[0], 0, os); });
    EXPECT_EQ(file["disableMappingFallback"], true);
    std::map<std::string, size_t> entryOfLeft, entryOfRight;
    for (size_t i = 0; i < file["mappingEntries"].size(); ++i) {
      const Json &entry = file["mappingEntries"][i];
      joined += entry["leftNodeIds"].size() > 1;
      ++entries;
      for (const std::string node : entry["leftNodeIds"])
        EXPECT_TRUE(entryOfLeft.try_emplace(node, i).second) << sample.name << " " << node;
      for (const std::string node : entry["rightNodeIds"])
        EXPECT_TRUE(entryOfRight.try_emplace(node, i).second) << sample.name << " " << node;
    }
    uint32_t leftCount = imported->lineage.source->subgraphs[0].operators.size();
    for (const OperatorMetrics &row : metrics.operators)
      for (uint32_t id : row.origins) {
        if (row.op->subgraph()->index > 0 || id >= leftCount)
          continue;
        EXPECT_EQ(entryOfLeft.at(std::to_string(id)), entryOfRight.at(std::to_string(row.op->index))) << sample.name;
      }
  }
  EXPECT_GT(entries, 100u);
  EXPECT_GT(joined, 20u);
}

} // namespace
