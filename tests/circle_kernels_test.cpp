#include "eval/FixedPoint.h"
#include "tests/Sessions.h"

#include <cmath>

/// Operators and types that no runtime of TFLite has, by their formulas; and what no model of the shared folder shows.

using namespace origo;
using namespace origo::test;

namespace {

/// The graph's text without its first lines. The model need not outlive the run.
llvm::Expected<OwnedTensor> runText(const std::string &graph, llvm::ArrayRef<TensorRef> inputs,
                                    const CompileOptions &options = {}) {
  auto model = parse("origo 1\nmodel circle version 0\n" + graph);
  if (!model)
    return llvm::createStringError("no model");
  auto session = compile(*model, options);
  if (!session)
    return session.takeError();
  auto results = session->run(inputs);
  if (!results)
    return results.takeError();
  return std::move(results->front().tensor);
}

std::vector<float> floatsFrom(const std::string &graph, llvm::ArrayRef<TensorRef> inputs) {
  auto result = runText(graph, inputs);
  if (result)
    return floatsOf(*result);
  ADD_FAILURE() << llvm::toString(result.takeError());
  return {};
}

std::unique_ptr<EvalError> errorFrom(const std::string &graph, llvm::ArrayRef<TensorRef> inputs,
                                     const CompileOptions &options = {}) {
  auto result = runText(graph, inputs, options);
  if (!result)
    return std::move(errorsOf(result.takeError()).at(0));
  ADD_FAILURE() << "runs";
  return std::make_unique<EvalError>(ErrorCode::BadGraph, EvalPhase::Build, Place(), "");
}

/// Two clusters of weights with three columns: one row of two bits, two rows of one bit.
///   row 0: 4·(+1 −1 +1) + 1·(−1 −1 +1) = 3 −5 5,  row 1: 2·(+1 +1 −1),  row 2: 0.5·(−1 +1 −1)
const char *codes = R"(  %scales: f32[4] = const [4, 1, 2, 0.5]
  %binary: i32[4,1] = const [5, 4, 3, 2]
  %clusters: i32[2,2] = const [2, 1, 1, 2]
)";

std::string bcqFullyConnected(const std::string &constants) {
  return "subgraph @main(%x: f32[3,2]) -> (%y) {\n" + constants + R"(  %bias: f32[3] = const [10, 20, 30]
  %y: f32[3,2] = BCQ_FULLY_CONNECTED(input=%x, weights_scales=%scales, weights_binary=%binary, bias=%bias, weights_clusters=%clusters) {weights_hidden_size=3}
}
)";
}

/// Sums are multiplied by 0.3 and rounded once, as the runtime does it: rounding in two steps would make 1 of 0.3. Of
/// 16 bits, by a factor of 31 bits: with 15 of them it would be 30001.
TEST(FullyConnected, RoundsSumsOnce) {
  for (Engine engine : {Engine::Reference, Engine::Fast}) {
    CompileOptions options;
    options.engine = engine;
    auto graph = [](const char *type, const char *biasType, const char *bias) {
      return (llvm::Twine("subgraph @main(%x: ") + type + "[1,1] q{scale=1, zero_point=0}) -> (%y) {\n" +
              "  %w: i8[1,1] q{scale=0.3, zero_point=0} = const [1]\n  %b: " + biasType +
              "[1] q{scale=0.3, zero_point=0} = const [" + bias + "]\n  %y: " + type +
              "[1,1] q{scale=1, zero_point=0} = FULLY_CONNECTED(%x, %w, %b)\n}\n")
          .str();
    };
    auto narrow = runText(graph("i8", "i32", "1"), {tensor<int8_t>(TensorType::INT8, {1, 1}, {0})}, options);
    auto wide = runText(graph("i16", "i64", "100001"), {tensor<int16_t>(TensorType::INT16, {1, 1}, {0})}, options);
    ASSERT_TRUE(narrow && wide);
    EXPECT_EQ(narrow->bytes, std::vector<uint8_t>{0});
    EXPECT_EQ(wide->bytes, (std::vector<uint8_t>{30000 & 255, 30000 >> 8}));
  }
}

TEST(Bcq, FullyConnectedByItsFormula) {
  EXPECT_EQ(floatsFrom(bcqFullyConnected(codes), {floats({3, 2}, {1.f, 0.f, 1.f, 1.f, 0.f, 2.f})}),
            (std::vector<float>{10 + 3 - 5, 10 - 5 + 10, 20 + 2 + 2, 20 + 2 - 4, 30 - 0.5f + 0.5f, 30 + 0.5f - 1}));
}

TEST(Bcq, GatherTakesRowsOrColumns) {
  auto gather = [](int axis, const char *shape) {
    return std::string("subgraph @main(%i: i32[2]) -> (%y) {\n") + codes + "  %y: f32" + shape +
           " = BCQ_GATHER(input_scales=%scales, input_binary=%binary, indices=%i, input_clusters=%clusters) "
           "{input_hidden_size=3, axis=" +
           std::to_string(axis) + "}\n}\n";
  };
  const int32_t numbers[] = {2, 0};
  TensorRef indices = tensor<int32_t>(TensorType::INT32, {2}, numbers);
  EXPECT_EQ(floatsFrom(gather(0, "[2,3]"), {indices}), (std::vector<float>{-0.5f, 0.5f, -0.5f, 3, -5, 5}));
  EXPECT_EQ(floatsFrom(gather(1, "[3,2]"), {indices}), (std::vector<float>{5, 3, -2, 2, -0.5f, -0.5f}));
  EXPECT_EQ(errorFrom(gather(0, "[2,3]"), {tensor<int32_t>(TensorType::INT32, {2}, {3, 0})})->operand, "indices");
}

TEST(Bcq, RefusesCodesThatDoNotFit) {
  std::string all = codes;
  for (auto [right, wrong] : {std::pair("[2, 1, 1, 2]", "[2, 1, 1, 3]"),
                              {"[2, 1, 1, 2]", "[0, 1, 1, 2]"},
                              {"[2, 1, 1, 2]", "[2147483647, 2147483647, 1, 2]"},
                              {"[2, 1, 1, 2]", "[2, -1, 1, 6]"}}) {
    std::string broken = all;
    broken.replace(broken.find(right), std::strlen(right), wrong);
    auto error = errorFrom(bcqFullyConnected(broken), {floats({3, 2}, {0.f, 0.f, 0.f, 0.f, 0.f, 0.f})});
    EXPECT_EQ(error->code, ErrorCode::BadOperand) << wrong;
    EXPECT_NE(error->message.find("cluster"), std::string::npos) << wrong;
  }
}

TEST(Gru, GivesEachStateAndTakesWeightsInEitherOrder) {
  // Two units, inputs of one number.
  auto gru = [](bool swapped, const char *shape, const char *options) {
    std::string state = "f32[6,2] = const [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, -0.1, -0.2]";
    std::string input = "f32[6,1] = const [0.6, -0.4, 0.9, 0.1, -0.7, 0.2]";
    return "subgraph @main(%x: f32[2,1,1]) -> (%y) {\n  %a: " + (swapped ? input : state) +
           "\n  %b: " + (swapped ? state : input) + "\n  %h: f32[1,2] = const [0.5, -0.5]\n  %y: f32" + shape +
           " = GRU(input=%x, hidden_hidden=%a, hidden_input=%b, state=%h)" + options + "\n}\n";
  };
  const float numbers[] = {0.7f, -1.1f};
  TensorRef x = floats({2, 1, 1}, numbers);
  std::vector<float> last = floatsFrom(gru(false, "[1,1,2]", ""), {x});
  std::vector<float> each = floatsFrom(gru(false, "[2,1,2]", " {return_sequences=true}"), {x});
  ASSERT_EQ(last.size(), 2u);
  ASSERT_EQ(each.size(), 4u);
  EXPECT_EQ(std::vector<float>(each.begin() + 2, each.end()), last);
  EXPECT_EQ(floatsFrom(gru(true, "[1,1,2]", ""), {x}), last);
  // The first state of the first unit by the formula.
  auto sigmoid = [](float v) { return 1 / (1 + std::exp(-v)); };
  float z = sigmoid(0.05f - 0.1f + 0.42f), r = sigmoid(0.25f - 0.3f + 0.63f);
  float n = std::tanh(-0.49f + r * (0.45f - 0.5f));
  EXPECT_NEAR(each[0], z * 0.5f + (1 - z) * n, 1e-6);
}

TEST(Uint4, MatrixProductsMeanWhatTheirScalesSay) {
  // 0.5 · (0 … 3 − 1) times a matrix of −2, −1, 0, 1.
  const char *graph = R"(subgraph @main(%x: u4[1,2] q{scale=0.5, zero_point=1}) -> (%y) {
  %w: u4[2,2] q{scale=1, zero_point=8} = const [6, 7, 8, 9]
  %b: u4[2] q{scale=1, zero_point=0} = const [3, 0]
  %y: u4[1,2] q{scale=0.5, zero_point=8} = FULLY_CONNECTED(input=%x, weights=%w, bias=%b)
}
)";
  // x = 3 and 2: real 1 and 0.5; y = −2.5 + 3 and 0.5
  const uint8_t packed[] = {0x23};
  auto result = runText(graph, {tensor<uint8_t>(TensorType::UINT4, {1, 2}, packed)});
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->bytes, std::vector<uint8_t>{0x99});
}

TEST(ElementwiseKernels, AddManyAndAngles) {
  EXPECT_EQ(floatsFrom("subgraph @main(%a: f32[2], %b: f32[2], %c: f32[2]) -> (%y) {\n"
                       "  %y: f32[2] = ADD_N(%a, %b, %c)\n}\n",
                       {floats({2}, {1.f, 2.f}), floats({2}, {10.f, 20.f}), floats({2}, {100.f, 200.f})}),
            (std::vector<float>{111, 222}));
  EXPECT_EQ(floatsFrom("subgraph @main(%a: f32[2], %b: f32[2]) -> (%y) {\n  %y: f32[2] = ATAN2(y=%a, x=%b)\n}\n",
                       {floats({2}, {1.f, -0.f}), floats({2}, {-1.f, -1.f})}),
            (std::vector<float>{std::atan2(1.f, -1.f), std::atan2(-0.f, -1.f)}));
}

/// Each of these would go on for minutes.
TEST(Deadline, AlsoEndsKernels) {
  CompileOptions options;
  options.timeout = std::chrono::milliseconds(1);
  std::vector<float> row(1 << 14, 1.f), picture(512 * 512, 1.f);
  auto code = [&](const std::string &graph, const TensorRef &x) { return errorFrom(graph, {x}, options)->code; };
  EXPECT_EQ(code("subgraph @main(%x: f32[1,16384]) -> (%y) {\n"
                 "  %y: f32[16384,16384] = BATCH_MATMUL(x=%x, y=%x) {adjoint_lhs=true}\n}\n",
                 floats({1, 1 << 14}, row)),
            ErrorCode::Timeout);
  EXPECT_EQ(code("subgraph @main(%x: f32[1,512,512,1]) -> (%y) {\n"
                 "  %y: f32[1,512,512,1] = AVERAGE_POOL_2D(value=%x) {padding=SAME, stride_w=1, stride_h=1, "
                 "filter_width=512, filter_height=512}\n}\n",
                 floats({1, 512, 512, 1}, picture)),
            ErrorCode::Timeout);
  EXPECT_EQ(code("subgraph @main(%x: f32[1,512,512,1]) -> (%y) {\n"
                 "  %w: f32[1,512,512,1] = const splat 1\n"
                 "  %y: f32[1,512,512,1] = CONV_2D(input=%x, filter=%w) {padding=SAME, stride_w=1, stride_h=1}\n}\n",
                 floats({1, 512, 512, 1}, picture)),
            ErrorCode::Timeout);
}

TEST(Shapes, ProductsDoNotOverflow) {
  int32_t most = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(product({most, most, most, 0}), 0);
  EXPECT_EQ(product({0, most, most, most}, 1, 4), std::numeric_limits<int64_t>::max());
}

TEST(FixedPoint, FactorsOutOfRangeAreNotUndefined) {
  EXPECT_NE(multiply(int64_t(3), Multiplier{1 << 30, 30}), 0);
  EXPECT_EQ(multiply(int32_t(3), Multiplier{1 << 30, -42}), 0);
  multiply(int32_t(3), Multiplier{1 << 30, 42});
}

/// A box is dropped from the limit of overlap on, and takes part if its score is more than the other limit.
TEST(NonMaxSuppression, LimitsAreSharp) {
  auto selected = [](const char *overlap, const char *score) {
    auto model = parse(std::string(R"(origo 1
model circle version 0
subgraph @main(%boxes: f32[3,4], %scores: f32[3]) -> (%count) {
  %most: i32[] = const [3]
  %overlap: f32[] = const [)") +
                       overlap + "]\n  %least: f32[] = const [" + score + R"(]
  %i: i32[3], %count: i32[] = NON_MAX_SUPPRESSION_V4(%boxes, %scores, %most, %overlap, %least)
}
)");
    auto session = compile(*model);
    if (!session) {
      ADD_FAILURE() << llvm::toString(session.takeError());
      return -1;
    }
    // The first two share half of what they cover; the third is elsewhere.
    float boxes[] = {0, 0, 1, 2, 0, 0, 1, 1, 5, 5, 6, 6}, scores[] = {0.75f, 0.5f, 0.25f};
    TensorRef inputs[] = {floats({3, 4}, boxes), floats({3}, scores)};
    auto results = session->run(llvm::ArrayRef(inputs));
    if (!results) {
      ADD_FAILURE() << llvm::toString(results.takeError());
      return -1;
    }
    int32_t count;
    std::memcpy(&count, results->front().tensor.bytes.data(), sizeof count);
    return count;
  };
  EXPECT_EQ(selected("0.5", "0"), 2);
  EXPECT_EQ(selected("0.51", "0"), 3);
  EXPECT_EQ(selected("0.51", "0.25"), 2);
  EXPECT_EQ(selected("0.51", "0.24"), 3);
}

} // namespace
