#include "eval/kernels/InverseRoot.h"
#include "tests/Sessions.h"

#include <cmath>

using namespace origo;
using namespace origo::test;

namespace {

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

llvm::Expected<std::vector<NamedTensor>> runText(llvm::StringRef text, llvm::ArrayRef<TensorRef> inputs) {
  auto model = parse(text);
  if (!model)
    return llvm::createStringError("no model");
  auto session = compile(*model);
  if (!session)
    return session.takeError();
  return session->run(inputs);
}

TEST(Recurrent, GruByItsFormula) {
  auto results = runText(R"(origo 1
model circle version 0
subgraph @main(%x: f32[2,1,1]) -> (%y) {
  %hh: f32[3,1] = const [0.5, -0.25, 0.75]
  %hb: f32[3] = const [0.1, 0.2, -0.3]
  %hi: f32[3,1] = const [-0.6, 0.4, 0.9]
  %h: f32[1,1] = const [0.5]
  %y: f32[1,1,1] = GRU(input=%x, hidden_hidden=%hh, hidden_hidden_bias=%hb, hidden_input=%hi, state=%h)
}
)",
                         {floats({2, 1, 1}, {0.7f, -1.1f})});
  ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
  float h = 0.5f;
  for (float x : {0.7f, -1.1f}) {
    float z = sigmoid(0.5f * h + 0.1f - 0.6f * x), r = sigmoid(-0.25f * h + 0.2f + 0.4f * x);
    float n = std::tanh(0.9f * x + r * (0.75f * h - 0.3f));
    h = z * h + (1 - z) * n;
  }
  EXPECT_NEAR(floatsOf(results->front().tensor).at(0), h, 1e-6);
}

/// One cell without an input gate, with all weights one and all biases zero, of two moments.
std::string lstm(llvm::StringRef attributes, llvm::StringRef stateShape = "[1,1]") {
  return (R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,2,1]) -> (%y) {
  %w: f32[1,1] = const [1]
  %b: f32[1] = const [0]
  %h: f32)" +
          stateShape + R"( variable
  %c: f32[1,1] variable
  %y: f32[1,2,1] = UNIDIRECTIONAL_SEQUENCE_LSTM(input=%x, input_to_forget_weights=%w, input_to_cell_weights=%w,
    input_to_output_weights=%w, recurrent_to_forget_weights=%w, recurrent_to_cell_weights=%w,
    recurrent_to_output_weights=%w, forget_gate_bias=%b, cell_gate_bias=%b, output_gate_bias=%b,
    output_state=%h, cell_state=%c, output_layer_norm_coefficients=_) {fused_activation_function=TANH)" +
          attributes + "}\n}\n")
      .str();
}

TEST(Recurrent, LstmWithoutInputGateByItsFormula) {
  for (float clip : {0.f, 0.2f}) {
    auto results = runText(lstm(clip > 0 ? ", cell_clip=0.2" : ""), {floats({1, 2, 1}, {0.8f, -0.3f})});
    ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
    float h = 0, c = 0;
    std::vector<float> y = floatsOf(results->front().tensor);
    ASSERT_EQ(y.size(), 2u);
    for (int t : {0, 1}) {
      float sum = (t ? -0.3f : 0.8f) + h, gate = sigmoid(sum);
      c = gate * c + (1 - gate) * std::tanh(sum);
      if (clip > 0)
        c = std::clamp(c, -clip, clip);
      h = gate * std::tanh(c);
      EXPECT_NEAR(y[t], h, 1e-6);
    }
  }
}

TEST(Recurrent, StatesOfAnotherSizeAreRefused) {
  auto results = runText(lstm("", "[1,3]"), {floats({1, 2, 1}, {0.8f, -0.3f})});
  auto errors = errorsOf(results.takeError());
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0]->operand, "output_state");
}

TEST(Recurrent, SvdfRemembersAndRefusesARankOfZero) {
  auto text = [](llvm::StringRef rank) {
    return ("origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[1,1]) -> (%y) {\n"
            "  %f: f32[2,1] = const [1, 10]\n  %t: f32[2,2] = const [1, 2, 3, 4]\n  %s: f32[1,4] variable\n"
            "  %y: f32[1,1] = SVDF(input=%x, weight_feature=%f, weight_time=%t, input_activation_state=%s) {rank=" +
            rank + "}\n}\n")
        .str();
  };
  auto model = parse(text("2"));
  auto session = compile(*model);
  ASSERT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
  State state;
  RunOptions options;
  options.state = &state;
  EXPECT_EQ(runFloats(*session, {floats({1, 1}, {1.f})}, options), std::vector<float>{2 + 40});
  EXPECT_EQ(runFloats(*session, {floats({1, 1}, {2.f})}, options), std::vector<float>{1 + 4 + 30 + 80});
  std::string refused = llvm::toString(runText(text("0"), {floats({1, 1}, {1.f})}).takeError());
  EXPECT_NE(refused.find("filters of rank 0"), std::string::npos) << refused;
}

TEST(Random, IsGivenByItsSeeds) {
  auto run = [](llvm::StringRef seeds) {
    auto results = runText(("origo 1\nmodel circle version 0\nsubgraph @main() -> (%y) {\n  %s: i32[2] = const [2, 3]\n"
                            "  %y: f32[2,3] = RANDOM_UNIFORM(shape=%s) {" +
                            seeds + "}\n}\n")
                               .str(),
                           {});
    EXPECT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
    return results ? floatsOf(results->front().tensor) : std::vector<float>();
  };
  auto numbers = run("seed=12345, seed2=6789");
  ASSERT_EQ(numbers.size(), 6u);
  EXPECT_EQ(numbers, run("seed=12345, seed2=6789"));
  EXPECT_NE(numbers, run("seed=12345, seed2=6788"));
  for (float number : numbers)
    EXPECT_TRUE(number >= 0 && number < 1);
}

TEST(Dilate, PutsElementsApartAndChecksItsOperands) {
  auto text = [](llvm::StringRef dilations) {
    return ("origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[2,2]) -> (%y) {\n  %p: f32[] = const [9]\n"
            "  %d: i32[2] = const [" +
            dilations + "]\n  %y: f32 = DILATE(input=%x, dilations=%d, padding_value=%p) {}\n}\n")
        .str();
  };
  const float numbers[] = {1, 2, 3, 4};
  TensorRef x = floats({2, 2}, numbers);
  auto results = runText(text("1, 2"), {x});
  ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
  EXPECT_EQ(floatsOf(results->front().tensor), (std::vector<float>{1, 9, 2, 3, 9, 4}));
  for (const char *bad : {"0, 1", "-1, 1"})
    EXPECT_NE(llvm::toString(runText(text(bad), {x}).takeError()).find("impossible dilation"), std::string::npos);
  EXPECT_EQ(errorsOf(runText(text("2147483647, 2147483647"), {x}).takeError()).at(0)->code, ErrorCode::BadOperand);
}

TEST(FixedFunctions, AreNearTheRealOnes) {
  unsigned count = 0;
  for (int32_t raw = -32768; raw < 32768; ++raw, ++count) {
    auto x = static_cast<int16_t>(raw);
    float real = static_cast<float>(raw) / 4096;
    ASSERT_NEAR(static_cast<float>(Fixed<int16_t>::tanh(x, 3)) / 32768, std::tanh(real), 5e-4) << raw;
    ASSERT_NEAR(static_cast<float>(Fixed<int16_t>::logistic(x, 3)) / 32768, sigmoid(real), 5e-4) << raw;
  }
  EXPECT_EQ(count, 65536u);
  for (int32_t x : {2, 3, 1000, 1 << 20, std::numeric_limits<int32_t>::max()}) {
    Multiplier by = inverseRoot(x);
    EXPECT_NEAR(std::ldexp(by.mantissa, by.shift - 31) * std::sqrt(x), 1, 1e-5) << x;
  }
}

} // namespace
