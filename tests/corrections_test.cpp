#include "eval/RunOperator.h"
#include "ir/text/Text.h"
#include "passes/Pipeline.h"
#include "quantize/Calibrate.h"
#include "quantize/Corrections.h"
#include "quantize/Plan.h"

#include <cmath>
#include <gtest/gtest.h>

/// What records tell to add to constants before they are rounded: weights by GPTQ, and biases.

using namespace origo;
using namespace origo::quantize;
using eval::OwnedTensor;

namespace {

/// Inputs that hang together: each element is a mixture of three numbers, and none has a mean of 0.
class Mixtures : public Records {
public:
  explicit Mixtures(llvm::ArrayRef<eval::Port> inputs) : shape(inputs.front().shape) {
    for (int32_t &size : shape)
      size = size < 0 ? 7 : size;
  }
  uint64_t count() const override { return 40; }
  llvm::Expected<std::vector<OwnedTensor>> read(uint64_t record) override {
    std::vector<float> numbers;
    auto size = static_cast<size_t>(eval::product(shape));
    for (size_t i = 0; i < size; ++i) {
      double sum = 0.6;
      for (size_t k = 1; k <= 3; ++k)
        sum += std::sin(static_cast<double>(record * 7 * k + k)) * std::cos(static_cast<double>(i % 24 * k * k));
      numbers.push_back(static_cast<float>(sum));
    }
    auto *first = reinterpret_cast<const uint8_t *>(numbers.data());
    return std::vector<OwnedTensor>{{TensorType::FLOAT32, shape, {first, first + 4 * size}}};
  }

private:
  eval::Shape shape;
};

llvm::Expected<std::unique_ptr<Records>> mixtures(llvm::ArrayRef<eval::Port> inputs, llvm::StringRef) {
  return std::make_unique<Mixtures>(inputs);
}

constexpr llvm::StringLiteral head = "origo 1\nmodel tflite version 3\n";
const std::string dense = (head + R"(subgraph @main(%x: f32[1,24]) -> (%y) {
  %w: f32[5,24] = const seed 3 normal 0 1
  %b: f32[5] = const [1, 2, 3, 4, 5]
  %y: f32[1,5] = FULLY_CONNECTED(%x, %w, %b)
}
)")
                              .str();
const std::string convolution = (head + R"(subgraph @main(%x: f32[1,5,6,4]) -> (%y) {
  %w: f32[3,2,3,4] = const seed 4 normal 0 1
  %b: f32[3] = const [1, 2, 3]
  %y: f32[1,3,3,3] = CONV_2D(%x, %w, %b) {padding=SAME, stride_w=2, stride_h=2}
}
)")
                                    .str();
/// The model states other sizes than those that it is run with.
const std::string dynamic = (head + R"(subgraph @main(%x: f32[1,1?,1?,4]) -> (%y) {
  %w: f32[3,2,3,4] = const seed 4 normal 0 1
  %b: f32[3] = const [1, 2, 3]
  %y: f32[1,1?,1?,3] = CONV_2D(%x, %w, %b) {padding=SAME, stride_w=2, stride_h=2}
}
)")
                                .str();
const std::string depthwise = (head + R"(subgraph @main(%x: f32[1,6,6,4]) -> (%y) {
  %w: f32[1,3,3,8] = const seed 5 normal 0 1
  %b: f32[8] = const splat 0.5
  %y: f32[1,4,4,8] = DEPTHWISE_CONV_2D(%x, %w, %b) {padding=VALID, stride_w=1, stride_h=1, depth_multiplier=2}
}
)")
                                  .str();
const std::string grouped = (head + R"(subgraph @main(%x: f32[1,5,6,4]) -> (%y) {
  %w: f32[6,2,3,2] = const seed 6 normal 0 1
  %b: f32[6] = const splat 0.5
  %y: f32[1,3,3,6] = CONV_2D(%x, %w, %b) {padding=SAME, stride_w=2, stride_h=2}
}
)")
                                .str();
/// Elements of the input are put two apart, so that results differ in how many weights they see.
const std::string transposed = (head + R"(subgraph @main(%x: f32[1,4,5,12]) -> (%y) {
  %o: i32[4] = const [1, 7, 10, 3]
  %w: f32[3,3,2,12] = const seed 4 normal 0 1
  %b: f32[3] = const [1, 2, 3]
  %y: f32[1,7,10,3] = TRANSPOSE_CONV(%o, %w, %x, %b) {padding=SAME, stride_w=2, stride_h=2}
}
)")
                                   .str();
const std::string transposedValid = (head + R"(subgraph @main(%x: f32[1,4,5,4]) -> (%y) {
  %o: i32[4] = const [1, 9, 17, 3]
  %w: f32[3,3,5,4] = const seed 4 normal 0 1
  %b: f32[3] = const [1, 2, 3]
  %y: f32[1,9,17,3] = TRANSPOSE_CONV(%o, %w, %x, %b) {padding=VALID, stride_w=3, stride_h=2}
}
)")
                                        .str();
/// One is added.
const std::string unbiased = (head + R"(subgraph @main(%x: f32[1,24]) -> (%y) {
  %w: f32[5,24] = const seed 3 normal 0 1
  %y: f32[1,5] = FULLY_CONNECTED(%x, %w, _)
}
)")
                                 .str();
const std::string twoOperands = (head + R"(subgraph @main(%x: f32[1,5,6,4]) -> (%y) {
  %w: f32[3,2,3,4] = const seed 4 normal 0 1
  %y: f32[1,3,3,3] = CONV_2D(%x, %w) {padding=SAME, stride_w=2, stride_h=2}
}
)")
                                    .str();

struct Quantised {
  std::unique_ptr<Model> model;
  const Value *weights = nullptr, *bias = nullptr; ///< as they are stored
};

/// In weights of 4 bits, widened in the graph.
Quantised quantised(const std::string &text, bool gptq, bool correct, PayloadStore &store, bool adapts = false) {
  auto model = parseText(text, "", store);
  if (!model) {
    ADD_FAILURE() << llvm::toString(model.takeError());
    return {};
  }
  (*model)->becomeSource();
  Scheme scheme;
  scheme.common.mode = Scheme::Mode::WidenedWeights;
  scheme.common.weights = TensorType::INT4;
  scheme.common.choosesRounding = gptq;
  scheme.common.correctsBias = correct;
  scheme.common.adapts = adapts;
  if (adapts) {
    auto adapted = adaptRoundings(**model, mixtures, scheme, {});
    EXPECT_TRUE(static_cast<bool>(adapted));
    scheme.adapted = std::make_shared<const Adaptations>(std::move(*adapted));
  }
  auto moments = collectMoments(**model, mixtures, {}, gptq);
  EXPECT_TRUE(static_cast<bool>(moments));
  scheme.moments = std::make_shared<const Moments>(std::move(*moments));
  PipelineOptions options;
  options.verifyEach = true;
  llvm::Error error = runPipeline(**model, Pipeline::quantization(planBy(scheme)), store, options);
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  Quantised result{std::move(*model)};
  for (const Operator &op : result.model->subgraphs[0]->operators)
    if (op.code == BuiltinOperator::DEQUANTIZE)
      result.weights = op.operand(0);
    else
      result.bias = op.operand(op.code == BuiltinOperator::TRANSPOSE_CONV ? 3 : 2);
  return result;
}

/// All outputs, a list for each channel.
std::vector<std::vector<double>> outputs(Model &model) {
  auto session = eval::compile(model);
  EXPECT_TRUE(static_cast<bool>(session));
  std::vector<std::vector<double>> channels;
  Mixtures records(llvm::cantFail(session->inputs()));
  for (uint64_t i = 0; i < records.count(); ++i) {
    auto inputs = records.read(i);
    auto results = session->run(std::vector<eval::TensorRef>(inputs->begin(), inputs->end()));
    if (!results) {
      ADD_FAILURE() << llvm::toString(results.takeError());
      return {};
    }
    const OwnedTensor &y = results->front().tensor;
    channels.resize(static_cast<size_t>(y.shape.back()));
    auto *numbers = reinterpret_cast<const float *>(y.bytes.data());
    for (size_t k = 0; k < y.bytes.size() / 4; ++k)
      channels[k % channels.size()].push_back(numbers[k]);
  }
  return channels;
}

struct Off {
  double square = 0, shift = 0; ///< mean of the squares; the greatest mean of a channel
};
Off off(const std::vector<std::vector<double>> &want, const std::vector<std::vector<double>> &have) {
  Off all;
  for (size_t c = 0; c < want.size(); ++c) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < want[c].size(); ++i) {
      sum += have[c][i] - want[c][i];
      squares += std::pow(have[c][i] - want[c][i], 2);
    }
    auto count = static_cast<double>(want[c].size());
    all.square += squares / count / static_cast<double>(want.size());
    all.shift = std::max(all.shift, std::fabs(sum) / count);
  }
  return all;
}

class Corrections : public testing::TestWithParam<std::string> {};

TEST_P(Corrections, MakeResultsNearer) {
  PayloadStore store;
  auto source = parseText(GetParam(), "", store);
  ASSERT_TRUE(static_cast<bool>(source));
  auto want = outputs(**source);
  Quantised nearest = quantised(GetParam(), false, false, store), chosen = quantised(GetParam(), true, false, store),
            corrected = quantised(GetParam(), false, true, store), both = quantised(GetParam(), true, true, store);
  Off plain = off(want, outputs(*nearest.model)), gptq = off(want, outputs(*chosen.model)),
      bias = off(want, outputs(*corrected.model)), all = off(want, outputs(*both.model));
  EXPECT_GT(plain.shift, 1e-3);
  EXPECT_LT(gptq.square, 0.85 * plain.square);
  EXPECT_LT(bias.shift, 1e-4 * plain.shift + 1e-5);
  EXPECT_LT(bias.square, plain.square);
  EXPECT_LT(all.shift, 1e-4 * plain.shift + 1e-5);
  EXPECT_LE(all.square, gptq.square);
}

/// Behind each other, so that the second one makes up for what the first one is off.
const std::string two = (head + R"(subgraph @main(%x: f32[1,24]) -> (%y) {
  %w: f32[12,24] = const seed 3 normal 0 1
  %v: f32[5,12] = const seed 7 normal 0 1
  %h: f32[1,12] = FULLY_CONNECTED(%x, %w, _)
  %r: f32[1,12] = LEAKY_RELU(%h) {alpha=0.3}
  %y: f32[1,5] = FULLY_CONNECTED(%r, %v, _)
}
)")
                            .str();

TEST_P(Corrections, AdaptedAreNearest) {
  PayloadStore store;
  auto source = parseText(GetParam(), "", store);
  ASSERT_TRUE(static_cast<bool>(source));
  auto want = outputs(**source);
  Quantised both = quantised(GetParam(), true, true, store), adapted = quantised(GetParam(), true, true, store, true);
  EXPECT_LT(off(want, outputs(*adapted.model)).square, 1.01 * off(want, outputs(*both.model)).square);
}

TEST(Adapting, MakesUpForWhatIsBefore) {
  PayloadStore store;
  auto source = parseText(two, "", store);
  ASSERT_TRUE(static_cast<bool>(source));
  auto want = outputs(**source);
  Quantised both = quantised(two, true, true, store), adapted = quantised(two, true, true, store, true);
  EXPECT_LT(off(want, outputs(*adapted.model)).square, 0.5 * off(want, outputs(*both.model)).square);
  Quantised again = quantised(two, true, true, store, true);
  EXPECT_TRUE(again.weights->payload().sameBytes(adapted.weights->payload()));
}

/// What cannot be adapted is rounded as ever: weights or records whose squares are no floats.
TEST(Adapting, LeavesWhatIsNotFinite) {
  for (const char *number : {"nan", "inf", "0"}) {
    PayloadStore store;
    std::string row = std::string(number) + ", " + number + ", " + number + ", " + number;
    std::string text = (head + R"(subgraph @main(%x: f32[1,4]) -> (%y) {
  %w: f32[2,4] = const [1, 2, 3, 4, )" +
                        row + R"(]
  %y: f32[1,2] = FULLY_CONNECTED(%x, %w, _)
}
)")
                           .str();
    auto model = parseText(text, "", store);
    ASSERT_TRUE(static_cast<bool>(model));
    Scheme scheme;
    scheme.common.mode = Scheme::Mode::Weights;
    scheme.common.adapts = true;
    auto adapted = adaptRoundings(**model, mixtures, scheme, {});
    ASSERT_TRUE(static_cast<bool>(adapted));
    EXPECT_EQ(adapted->size(), std::string("0") == number ? 1u : 0u) << number;
  }
}

/// Weights keep their relation to the source's; they are no more than one integer off the nearest, and less than a step
/// off.
void areWhatTheMapSays(const std::string &text, bool adapts) {
  PayloadStore store;
  auto source = parseText(text, "", store);
  ASSERT_TRUE(static_cast<bool>(source));
  const Value &w = *(*source)->subgraphs[0]->operators.front().operand(1);
  Quantised made = quantised(text, true, true, store, adapts);
  ASSERT_TRUE(made.weights && made.bias);
  ASSERT_EQ(made.weights->relations.size(), 1u);
  auto steps = made.model->steps.get(made.weights->relations.front().steps);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps.front().kind, Step::Quantize);
  EXPECT_FALSE(made.weights->relations.front().exact);
  EXPECT_TRUE(made.bias->relations.empty());
  EXPECT_EQ(made.bias->noRelation, NoRelation::Approximated);

  std::vector<float> real(w.payload().size() / 4);
  w.payload().read(0, {reinterpret_cast<uint8_t *>(real.data()), real.size() * 4});
  std::vector<uint8_t> stored(made.weights->payload().size());
  made.weights->payload().read(0, stored);
  llvm::ArrayRef<float> scales = made.weights->quantization->scale;
  size_t inner = 1, other = 0;
  for (size_t d = static_cast<size_t>(made.weights->quantization->dimension) + 1; d < w.shape.size(); ++d)
    inner *= static_cast<size_t>(w.shape[d]);
  for (size_t i = 0; i < real.size(); ++i) {
    int code = stored[i / 2] >> (i % 2 * 4) & 15;
    code -= code > 7 ? 16 : 0;
    double steps = static_cast<double>(real[i]) / scales[i / inner % scales.size()];
    steps = std::clamp(steps, -7., 7.); // what is cut off
    EXPECT_LT(std::fabs(code - steps), 1.0001) << i;
    other += code != static_cast<int>(std::lround(steps));
  }
  EXPECT_GT(other, real.size() / 20);
}

TEST_P(Corrections, AreWhatTheMapSays) { areWhatTheMapSays(GetParam(), false); }
TEST_P(Corrections, AdaptedAreWhatTheMapSays) { areWhatTheMapSays(GetParam(), true); }

std::string nameOf(const testing::TestParamInfo<std::string> &info) {
  static const char *const names[] = {"Dense",    "Convolution", "UnknownSizes", "Depthwise",      "Groups",
                                      "Unbiased", "TwoOperands", "Transposed",   "TransposedValid"};
  return names[info.index];
}
INSTANTIATE_TEST_SUITE_P(Linear, Corrections,
                         testing::Values(dense, convolution, dynamic, depthwise, grouped, unbiased, twoOperands,
                                         transposed, transposedValid),
                         nameOf);

/// What a norm ends in makes a few channels go far, which three filters read that hardly look at these.
std::string attention() {
  constexpr int width = 24;
  auto goesFar = [](int channel) { return channel % 8 == 3; };
  auto numbers = [](size_t count, llvm::function_ref<double(int)> number) {
    std::string list;
    for (int i = 0; i < static_cast<int>(count); ++i)
      list += (i ? ", " : "") + std::to_string(number(i));
    return "const [" + list + "]\n";
  };
  std::string text = (head + "subgraph @main(%x: f32[8,24]) -> (%y) {\n").str();
  text += "  %gamma: f32[24] = " + numbers(width, [&](int i) { return goesFar(i) ? 50 : 1 + 0.1 * std::sin(i); });
  text += "  %beta: f32[24] = " + numbers(width, [&](int i) { return (goesFar(i) ? 10 : 0.2) * std::cos(i); });
  for (int filter = 1; filter <= 3; ++filter)
    text += "  %w" + std::to_string(filter) + ": f32[24,24] = " + numbers(size_t{width} * width, [&](int i) {
              return std::sin(filter * 1.7 * i + 0.3 * i * i) * (goesFar(i % width) ? 0.005 : 0.2);
            });
  return text + R"(
  %last: i32[1] = const [-1]
  %epsilon: f32[] = const [1e-5]
  %positions: f32[8,24] = const seed 9 normal 0 1
  %embedded: f32[8,24] = ADD(%x, %positions)
  %mean: f32[8,1] = MEAN(%embedded, %last) {keep_dims=true}
  %centred: f32[8,24] = SUB(%embedded, %mean)
  %squares: f32[8,24] = SQUARE(%centred)
  %variance: f32[8,1] = MEAN(%squares, %last) {keep_dims=true}
  %positive: f32[8,1] = ADD(%variance, %epsilon)
  %inverse: f32[8,1] = RSQRT(%positive)
  %normal: f32[8,24] = MUL(%centred, %inverse)
  %scaled: f32[8,24] = MUL(%normal, %gamma)
  %shifted: f32[8,24] = ADD(%scaled, %beta)
  %q: f32[8,24] = FULLY_CONNECTED(%shifted, %w1, _)
  %k: f32[8,24] = FULLY_CONNECTED(%shifted, %w2, _)
  %v: f32[8,24] = FULLY_CONNECTED(%shifted, %w3, _)
  %likeness: f32[8,8] = BATCH_MATMUL(%q, %k) {adjoint_rhs=true}
  %weights: f32[8,8] = SOFTMAX(%likeness) {beta=0.2}
  %y: f32[8,24] = BATCH_MATMUL(%weights, %v)
}
)";
}

TEST(Smoothing, OfWhatANormEndsIn) {
  PayloadStore store;
  std::vector<std::vector<double>> results[3];
  for (int i = 0; i < 3; ++i) { // the source, in integers, smoothed before
    auto model = parseText(attention(), "", store);
    ASSERT_TRUE(static_cast<bool>(model)) << llvm::toString(model.takeError());
    (*model)->becomeSource();
    PipelineOptions options;
    options.verifyEach = true;
    if (i == 2) {
      auto moments = collectMoments(**model, mixtures, {}, false);
      ASSERT_TRUE(static_cast<bool>(moments));
      Pipeline pipeline;
      pipeline.add(*findPass("smooth-channels"));
      pipeline.plan = [&](Model &model) -> llvm::Expected<StoragePlan> { return reachesOf(model, *moments, 0.5); };
      ASSERT_FALSE(static_cast<bool>(runPipeline(**model, pipeline, store, options)));
    }
    if (i > 0) {
      auto statistics = calibrate(**model, mixtures, {});
      ASSERT_TRUE(static_cast<bool>(statistics));
      std::vector<std::string> silent;
      ASSERT_FALSE(static_cast<bool>(setRanges(**model, *statistics, {{Summary::Mode::Percentile, 0, 100}}, silent)));
      ASSERT_FALSE(static_cast<bool>(runPipeline(**model, Pipeline::quantization(planBy({})), store, options)));
    }
    results[i] = outputs(**model);
  }
  double plain = off(results[0], results[1]).square, smoothed = off(results[0], results[2]).square;
  EXPECT_LT(smoothed, 0.1 * plain) << smoothed << " instead of " << plain;
}

} // namespace
