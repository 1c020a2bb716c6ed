#include "import/Import.h"
#include "quantize/Calibrate.h"
#include "tests/Sessions.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace origo;
using namespace origo::quantize;
using namespace origo::test;

namespace {

const char *const network = R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,2]) -> (%z) {
  %y: f32[1,2] = NEG(x=%x)
  %z: f32[1,2] = EXP(x=%y)
}
)";

/// Records that a test has at hand: floats for the one input.
class Given : public Records {
public:
  explicit Given(std::vector<std::vector<float>> rows) : rows(std::move(rows)) {}
  uint64_t count() const override { return rows.size(); }
  llvm::Expected<std::vector<OwnedTensor>> read(uint64_t record) override {
    OwnedTensor tensor{TensorType::FLOAT32, {1, static_cast<int32_t>(rows[record].size())}, {}};
    auto *bytes = reinterpret_cast<const uint8_t *>(rows[record].data());
    tensor.bytes.assign(bytes, bytes + 4 * rows[record].size());
    return std::vector<OwnedTensor>{tensor};
  }

private:
  std::vector<std::vector<float>> rows;
};

Statistics statisticsOf(Model &model, std::vector<std::vector<float>> rows, Shard shard = {}, bool histograms = false,
                        eval::Engine engine = eval::Engine::Reference) {
  CalibrateOptions options;
  options.compile.engine = engine;
  options.histograms = histograms;
  options.shard = shard;
  auto open = [&](llvm::ArrayRef<Port>, llvm::StringRef) -> llvm::Expected<std::unique_ptr<Records>> {
    return std::make_unique<Given>(rows);
  };
  auto statistics = calibrate(model, open, options);
  EXPECT_TRUE(static_cast<bool>(statistics)) << llvm::toString(statistics.takeError());
  return statistics ? std::move(*statistics) : Statistics();
}

Statistics::Tensor rowsOf(llvm::ArrayRef<Extremes> rows) { return {0, 0, "t", {rows.begin(), rows.end()}, {}}; }

TEST(Calibration, SeesInputsAndResultsAndSkipsWhatIsNoNumber) {
  auto model = parse(network);
  constexpr float lowest = std::numeric_limits<float>::lowest();
  Statistics s = statisticsOf(*model, {{-1, 2}, {NAN, 3}, {lowest, 5}});
  ASSERT_EQ(s.tensors.size(), 3u);
  EXPECT_EQ(s.tensors[0].name, "x");
  EXPECT_EQ(s.tensors[0].rows[0].min, -1);
  EXPECT_EQ(s.tensors[0].rows[0].max, 2);
  EXPECT_EQ(s.tensors[0].rows[1].min, 3);
  EXPECT_EQ(s.tensors[0].rows[2].min, 5);
  EXPECT_EQ(s.tensors[1].rows[0].min, -2);
  EXPECT_EQ(s.tensors[1].rows[0].max, 1);
}

TEST(Calibration, ExtremesOfManyAreThoseOfAll) {
  std::vector<float> numbers(100, 1);
  numbers[37] = -4;
  numbers[99] = 9;
  numbers[3] = NAN;
  EXPECT_EQ(quantize::extremesOf(numbers).min, -4);
  EXPECT_EQ(quantize::extremesOf(numbers).max, 9);
  numbers[50] = std::numeric_limits<float>::lowest();
  EXPECT_EQ(quantize::extremesOf(numbers).min, -4);
  EXPECT_EQ(quantize::extremesOf(std::vector<float>(70, std::numeric_limits<float>::lowest())).empty(), true);
  EXPECT_TRUE(quantize::extremesOf({}).empty());
  EXPECT_TRUE(quantize::extremesOf(std::vector<float>(40, NAN)).empty());
}

TEST(Calibration, PercentilesAreOfRecordsAndLinear) {
  std::vector<Extremes> rows;
  for (int i = 0; i <= 10; ++i)
    rows.push_back({static_cast<float>(-i), static_cast<float>(2 * i)});
  Extremes range = summarise(rowsOf(rows), {Summary::Mode::Percentile, 1, 99});
  EXPECT_FLOAT_EQ(range.min, -9.9f);
  EXPECT_FLOAT_EQ(range.max, 19.8f);
  range = summarise(rowsOf(rows), {Summary::Mode::Percentile, 0, 100});
  EXPECT_EQ(range.min, -10);
  EXPECT_EQ(range.max, 20);
  EXPECT_EQ(summarise(rowsOf({{3, 4}}), {}).max, 4);
  EXPECT_TRUE(summarise(rowsOf({Extremes()}), {}).empty());
}

TEST(Calibration, MovingAverageIsOfTheExtremesOfBatches) {
  Summary summary{Summary::Mode::MovingAverage, 0, 0, 2, 0.25f};
  Extremes range = summarise(rowsOf({{-1, 1}, {-3, 2}, {-5, 6}}), summary);
  EXPECT_FLOAT_EQ(range.min, 0.75f * -3 + 0.25f * -5);
  EXPECT_FLOAT_EQ(range.max, 0.75f * 2 + 0.25f * 6);
}

/// c ← c ± 1, by the sign of the input: 1, 2, 1, 0, −1. Each of these counts, not only what is left in the end, and a
/// record begins with nothing. What is no state of an LSTM has no row.
TEST(Calibration, SeesTheCellsOfAnLstmAtEachStep) {
  for (eval::Engine engine : {eval::Engine::Reference, eval::Engine::Fast}) {
    auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,5]) -> (%y) {
  %shape: i32[3] = const [1, 5, 1]
  %zero: f32[1,1] = const [0]
  %w: f32[1,1] = const [50]
  %open: f32[1] = const [50]
  %none: f32[1] = const [0]
  %h: f32[1,1] variable
  %c: f32[1,1] variable
  %s: f32[1,5,1] = RESHAPE(tensor=%x, shape=%shape)
  %y: f32[1,5,1] = UNIDIRECTIONAL_SEQUENCE_LSTM(input=%s, input_to_input_weights=%zero, input_to_forget_weights=%zero, input_to_cell_weights=%w, input_to_output_weights=%zero, recurrent_to_input_weights=%zero, recurrent_to_forget_weights=%zero, recurrent_to_cell_weights=%zero, recurrent_to_output_weights=%zero, input_gate_bias=%open, forget_gate_bias=%open, cell_gate_bias=%none, output_gate_bias=%none, output_state=%h, cell_state=%c) {fused_activation_function=TANH}
}
)");
    Statistics s = statisticsOf(*model, {{1, 1, -1, -1, -1}, {1, 1, 1, 1, 1}}, {}, false, engine);
    ASSERT_EQ(s.tensors.size(), 4u);
    auto cells = llvm::find_if(s.tensors, [](const Statistics::Tensor &tensor) { return tensor.name == "c"; });
    ASSERT_NE(cells, s.tensors.end());
    EXPECT_FLOAT_EQ(cells->rows[0].min, -1);
    EXPECT_FLOAT_EQ(cells->rows[0].max, 2);
    EXPECT_FLOAT_EQ(cells->rows[1].min, 1);
    EXPECT_FLOAT_EQ(cells->rows[1].max, 5);
  }
}

/// Sums before they are normalised, and what is projected: of the inputs 1 and 3 the candidates sum to 1, -2 and 3, -6;
/// cells grow by tanh 0.5, as the weights of all normalisations are 0. An intermediate that nothing uses has no row.
TEST(Calibration, SeesWhatAnLstmNormalisesAndProjects) {
  for (eval::Engine engine : {eval::Engine::Reference, eval::Engine::Fast}) {
    auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,2]) -> (%y) {
  %shape: i32[3] = const [1, 2, 1]
  %zero: f32[2,1] = const [0, 0]
  %w: f32[2,1] = const [1, -2]
  %open: f32[2] = const [50, 50]
  %fresh: f32[2] = const [0.5, -0.5]
  %none: f32[2] = const [0, 0]
  %p: f32[1,2] = const [1, 1]
  %h: f32[1,1] variable
  %c: f32[1,2] variable
  %s0: f32[0] = const []
  %s1: f32[0] = const []
  %s2: f32[0] = const []
  %s3: f32[0] = const []
  %s4: f32[0] = const []
  %s: f32[1,2,1] = RESHAPE(tensor=%x, shape=%shape)
  %y: f32[1,2,1] = UNIDIRECTIONAL_SEQUENCE_LSTM(input=%s, input_to_input_weights=%zero, input_to_forget_weights=%zero, input_to_cell_weights=%w, input_to_output_weights=%zero, recurrent_to_input_weights=%zero, recurrent_to_forget_weights=%zero, recurrent_to_cell_weights=%zero, recurrent_to_output_weights=%zero, input_gate_bias=%open, forget_gate_bias=%open, cell_gate_bias=%fresh, output_gate_bias=%open, projection_weights=%p, output_state=%h, cell_state=%c, input_layer_norm_coefficients=%none, forget_layer_norm_coefficients=%none, cell_layer_norm_coefficients=%none, output_layer_norm_coefficients=%none) {fused_activation_function=TANH} intermediates (%s0, %s1, %s2, %s3, %s4)
}
)");
    Statistics s = statisticsOf(*model, {{1, 3}}, {}, false, engine);
    std::map<std::string, Extremes> rows;
    for (const Statistics::Tensor &tensor : s.tensors)
      rows[tensor.name] = tensor.rows[0];
    ASSERT_EQ(rows.size(), 9u);
    EXPECT_FLOAT_EQ(rows["s2"].min, -6);
    EXPECT_FLOAT_EQ(rows["s2"].max, 3);
    EXPECT_FLOAT_EQ(rows["s3"].min, 0);
    EXPECT_FLOAT_EQ(rows["s3"].max, 0);
    EXPECT_FLOAT_EQ(rows["s4"].max, std::tanh(2 * std::tanh(0.5f)));
    EXPECT_FLOAT_EQ(rows["s4"].min, -rows["s4"].max);
  }
}

/// A body sees what goes in and what it hands on; what is moved only has the range of what it was.
TEST(Calibration, LoopsAndWhatIsMoved) {
  auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,2]) -> (%z) {
  %n: i32[] = const [0]
  %last: i32[], %y: f32[1,2] = WHILE(%n, %x) {cond_subgraph_index=@cond, body_subgraph_index=@body}
  %s: i32[1] = const [2]
  %z: f32[2] = RESHAPE(tensor=%y, shape=%s) {new_shape=[2]}
}
subgraph @cond(%i: i32[], %v: f32[1,2]) -> (%more) {
  %most: i32[] = const [3]
  %more: bool[] = LESS(x=%i, y=%most)
}
subgraph @body(%j: i32[], %w: f32[1,2]) -> (%next, %twice) {
  %one: i32[] = const [1]
  %next: i32[] = ADD(x=%j, y=%one)
  %twice: f32[1,2] = ADD(x=%w, y=%w)
}
)");
  Statistics s = statisticsOf(*model, {{-1, 2}, {0.5f, 3}}, {}, true);
  std::map<std::string, Statistics::Tensor> tensors;
  for (const Statistics::Tensor &tensor : s.tensors)
    tensors[tensor.name] = tensor;
  ASSERT_EQ(tensors.size(), 6u);
  auto expect = [&](const char *name, float min, float max, uint64_t elements) {
    const Statistics::Tensor &tensor = tensors.at(name);
    ASSERT_EQ(tensor.rows.size(), 2u) << name;
    EXPECT_EQ(tensor.rows[0].min, min) << name;
    EXPECT_EQ(tensor.rows[1].max, max) << name;
    EXPECT_EQ(tensor.histogram.total(), elements) << name;
  };
  expect("x", -1, 3, 4);
  expect("twice", -8, 24, 12); // three rounds
  expect("w", -8, 24, 16);     // what went in, and what each round handed on
  expect("v", -8, 24, 16);
  expect("y", -8, 24, 4);
  expect("z", -8, 24, 4);
}

TEST(Calibration, PartsAddUpToTheBytesOfTheWhole) {
  auto model = parse(network);
  std::vector<std::vector<float>> rows = {{1, 2}, {3, 4}, {-5, 6}, {7, 0.1f}, {9, 1e-30f}};
  std::vector<Statistics> parts;
  for (bool histograms : {false, true}) {
    parts.clear();
    std::string whole = statisticsOf(*model, rows, {}, histograms).text();
    EXPECT_EQ(whole.find("\"cells\":[") != std::string::npos, histograms);
    for (uint64_t i = 1; i <= 3; ++i) {
      auto part = Statistics::parse(statisticsOf(*model, rows, {i, 3}, histograms).text());
      ASSERT_TRUE(static_cast<bool>(part)) << llvm::toString(part.takeError());
      parts.push_back(std::move(*part));
    }
    for (auto order : {std::array{2, 0, 1}, std::array{0, 1, 2}}) {
      Statistics all = parts[order[0]];
      ASSERT_FALSE(all.merge(parts[order[1]]));
      ASSERT_FALSE(all.merge(parts[order[2]]));
      EXPECT_EQ(all.text(), whole);
      EXPECT_NE(llvm::toString(all.merge(parts[0])), ""); // they are there already
    }
  }
  Statistics without = statisticsOf(*model, rows, {2, 3});
  EXPECT_EQ(llvm::toString(parts[0].merge(without)), "are statistics without histograms, the others are with them");
  Statistics other = parts[0];
  other.engine = "another";
  EXPECT_NE(llvm::toString(parts[1].merge(other)).find("another engine"), std::string::npos);
}

TEST(Calibration, DamagedStatisticsAreRefused) {
  auto model = parse(network);
  std::string text = statisticsOf(*model, {{1, 2}, {3, 4}}).text();
  ASSERT_TRUE(static_cast<bool>(Statistics::parse(text)));
  auto refuses = [&](llvm::StringRef from, llvm::StringRef to) {
    std::string bad = text;
    size_t at = bad.find(from.str());
    ASSERT_NE(at, std::string::npos) << from.str();
    bad.replace(at, from.size(), to.str());
    auto parsed = Statistics::parse(bad);
    EXPECT_FALSE(static_cast<bool>(parsed)) << bad;
    llvm::consumeError(parsed.takeError());
  };
  refuses("\"records\":[0,1]", "\"records\":[1,0]");
  refuses("\"records\":[0,1]", "\"records\":[0]");
  refuses("\"records\":[0,1]", "\"records\":[-1,1]");
  refuses("\"tensor\":1", "\"tensor\":0");
  refuses("\"tensor\":1", "\"tensor\":1.5");
  refuses("\"min\":[", "\"min\":[[1],");
  refuses("origo-statistics\":2", "origo-statistics\":1");
  refuses("\"histograms\":false", "\"histograms\":0");
  text = statisticsOf(*model, {{1, 2}, {1, 2}}, {}, true).text();
  auto parsed = Statistics::parse(text);
  ASSERT_TRUE(static_cast<bool>(parsed));
  EXPECT_EQ(parsed->text(), text);
  EXPECT_EQ(parsed->tensors[0].histogram.total(), 4u);
  refuses("\"cells\":[", "\"cells\":[1,");
  refuses("\"cells\":[", "\"cells\":[9000,1,");
  refuses("\"cells\":[", "\"cells\":[8000,1,");
  refuses("\"cells\":[", "\"cells\":[1,0,");
  refuses("\"cells\":[", "\"cells\":[1,-1,");
}

TEST(Calibration, RandomRecordsAreTheSameEverywhere) {
  auto model = parse(network);
  auto session = compile(*model);
  ASSERT_TRUE(static_cast<bool>(session));
  auto records = randomRecords(*session->inputs());
  ASSERT_TRUE(static_cast<bool>(records));
  EXPECT_EQ((*records)->count(), 3u);
  auto first = (*records)->read(0), again = (*records)->read(0), third = (*records)->read(2);
  ASSERT_TRUE(first && again && third);
  EXPECT_EQ(first->front().bytes, again->front().bytes);
  EXPECT_NE(first->front().bytes, third->front().bytes);
  // The first numbers of mt19937 seeded with 5489 are 3499211612 and 581869302.
  EXPECT_NEAR(floatsOf(first->front())[0], 3499211612 / 4294967296. * 10 - 5, 1e-5);
  EXPECT_NEAR(floatsOf(first->front())[1], 581869302 / 4294967296. * 10 - 5, 1e-5);
}

} // namespace
