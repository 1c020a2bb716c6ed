#include "eval/Session.h"
#include "ir/text/Text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace origo;
using namespace origo::eval;

// Kernels by their published formulas, where no model and no other runtime judges them, and what they refuse.

namespace {

/// Runs the subgraph `signature { body }`; its inputs are given by position.
llvm::Expected<std::vector<OwnedTensor>> run(llvm::StringRef signature, llvm::StringRef body,
                                             llvm::ArrayRef<TensorRef> inputs, Engine engine = Engine::Reference) {
  std::string text =
      "origo 1\nmodel circle version 0\nsubgraph @main" + signature.str() + " {\n" + body.str() + "\n}\n";
  PayloadStore store;
  auto model = parseText(text, "", store);
  if (!model)
    return model.takeError();
  CompileOptions options;
  options.engine = engine;
  auto session = compile(**model, options);
  if (!session)
    return session.takeError();
  auto results = session->run(inputs);
  if (!results)
    return results.takeError();
  std::vector<OwnedTensor> tensors;
  for (NamedTensor &result : *results)
    tensors.push_back(std::move(result.tensor));
  return tensors;
}

template <class T> TensorRef tensor(TensorType type, Shape shape, const std::vector<T> &elements) {
  return {type, std::move(shape), {reinterpret_cast<const uint8_t *>(elements.data()), elements.size() * sizeof(T)}};
}

template <class T> std::vector<T> elementsOf(llvm::Expected<std::vector<OwnedTensor>> results) {
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }
  std::vector<T> elements(results->front().bytes.size() / sizeof(T));
  std::memcpy(elements.data(), results->front().bytes.data(), results->front().bytes.size());
  return elements;
}

void expectNear(const std::vector<float> &got, const std::vector<float> &want, float tolerance = 1e-6f) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance) << "element " << i;
}

/// That running is refused with an error that says `why`.
void expectRefused(llvm::Expected<std::vector<OwnedTensor>> results, llvm::StringRef why) {
  ASSERT_FALSE(static_cast<bool>(results)) << "not refused; expected: " << why.str();
  std::string message = llvm::toString(results.takeError());
  EXPECT_NE(message.find(why.str()), std::string::npos) << message;
}

const std::vector<float> four{1, 2, 3, 4};
const auto f32 = TensorType::FLOAT32;

TEST(NetworkKernels, InstanceNormUsesEachChannelsOwnMeanAndVariance) {
  // Channel 0 is 1, 3 (mean 2, variance 1), channel 1 is 2, 4 (mean 3).
  auto results = run("(%x: f32[1,2,1,2]) -> (%y)", R"(
  %gamma: f32[2] = const [2, 1]
  %beta: f32[2] = const [0, 10]
  %y: f32[1,2,1,2] = INSTANCE_NORM(input=%x, gamma=%gamma, beta=%beta) {epsilon=0})",
                     {tensor(f32, {1, 2, 1, 2}, four)});
  expectNear(elementsOf<float>(std::move(results)), {-2, 9, 2, 11});
}

TEST(NetworkKernels, RmsNormDividesByTheRootMeanSquare) {
  auto results = run("(%x: f32[2,2]) -> (%y)", R"(
  %gamma: f32[2] = const [1, 10]
  %y: f32[2,2] = RMS_NORM(input=%x, gamma=%gamma) {epsilon=0})",
                     {tensor(f32, {2, 2}, four)});
  float first = std::sqrt(2.5f), second = std::sqrt(12.5f);
  expectNear(elementsOf<float>(std::move(results)), {1 / first, 20 / first, 3 / second, 40 / second}, 1e-5f);
}

TEST(NetworkKernels, RopeRotatesHalvesOrNeighbours) {
  const char *body = R"(
  %sin: f32[1,1,1,4] = const [1, 1, 1, 1]
  %cos: f32[1,1,1,4] = const [10, 10, 10, 10]
  %y: f32[1,1,1,4] = ROPE(input=%x, sin_table=%sin, cos_table=%cos) {mode=)";
  auto halves = run("(%x: f32[1,1,1,4]) -> (%y)", std::string(body) + "GPT_NEOX}", {tensor(f32, {1, 1, 1, 4}, four)});
  EXPECT_EQ(elementsOf<float>(std::move(halves)), (std::vector<float>{10 - 3, 20 - 4, 30 + 1, 40 + 2}));
  auto pairs = run("(%x: f32[1,1,1,4]) -> (%y)", std::string(body) + "GPT_J}", {tensor(f32, {1, 1, 1, 4}, four)});
  EXPECT_EQ(elementsOf<float>(std::move(pairs)), (std::vector<float>{10 - 2, 20 + 1, 30 - 4, 40 + 3}));
}

TEST(NetworkKernels, ShuffledWeightsAreTheSameInAnotherOrder) {
  // Unit u has the weights u and 100 + u; blocks of 16 units, column after column.
  std::string weights;
  std::vector<float> want;
  for (int k = 0; k < 2; ++k)
    for (int u = 0; u < 16; ++u)
      weights += (weights.empty() ? "" : ", ") + std::to_string(k * 100 + u);
  for (int u = 0; u < 16; ++u)
    want.push_back(static_cast<float>(u + 2 * (100 + u)));
  auto results = run("(%x: f32[1,2]) -> (%y)", "%w: f32[16,2] = const [" + weights + R"(]
  %y: f32[1,16] = FULLY_CONNECTED(input=%x, weights=%w, bias=_) {weights_format=SHUFFLED16x1FLOAT32})",
                     {tensor(f32, {1, 2}, std::vector<float>{1, 2})});
  EXPECT_EQ(elementsOf<float>(std::move(results)), want);
  expectRefused(run("(%x: f32[1,2]) -> (%y)", R"(
  %w: f32[2,2] = const [1, 2, 3, 4]
  %y: f32[1,2] = FULLY_CONNECTED(input=%x, weights=%w, bias=_) {weights_format=SHUFFLED16x1FLOAT32})",
                    {tensor(f32, {1, 2}, std::vector<float>{1, 2})}),
                "blocks");
}

const std::vector<float> zeros16(16, 0.f);

/// [4, 4] in blocks of 2 × 2, of which those at (0, 1) and (1, 0) are stored.
std::string blockSparse(llvm::StringRef segments, llvm::StringRef indices) {
  return ("%w: f32[4,4] sparse{traversal_order=[0, 1, 2, 3], block_map=[0, 1], dim_metadata=["
          "{format=DENSE, dense_size=2}, {format=SPARSE_CSR, array_segments=Uint8Vector {values=hex\"" +
          segments + "\"}, array_indices=Uint8Vector {values=hex\"" + indices +
          "\"}}, {format=DENSE, dense_size=2}, {format=DENSE, dense_size=2}]} = const hex\""
          "0000803f000000400000404000008040"
          "0000a0400000c0400000e04000000041\"\n")
      .str();
}

TEST(NetworkKernels, SparseConstantsAreDense) {
  std::vector<float> want{0, 0, 1, 2, 0, 0, 3, 4, 5, 6, 0, 0, 7, 8, 0, 0};
  std::string densify = "%d: f32[4,4] = DENSIFY(input=%w)\n%y: f32[4,4] = ADD(x=%x, y=%d)";
  auto results = run("(%x: f32[4,4]) -> (%y)", blockSparse("000102", "0100") + densify, {tensor(f32, {4, 4}, zeros16)});
  EXPECT_EQ(elementsOf<float>(std::move(results)), want);
  auto direct = run("(%x: f32[4,4]) -> (%y)", blockSparse("000102", "0100") + "%y: f32[4,4] = ADD(x=%x, y=%w)",
                    {tensor(f32, {4, 4}, zeros16)});
  EXPECT_EQ(elementsOf<float>(std::move(direct)), want);
  for (auto [segments, indices, why] : {std::tuple("000102", "0200", "out of range"),
                                        {"000202", "0100", ""},
                                        {"000103", "0100", "out of range"},
                                        {"0001", "0100", "too few"},
                                        {"010002", "0100", "out of range"}}) {
    auto wrong =
        run("(%x: f32[4,4]) -> (%y)", blockSparse(segments, indices) + densify, {tensor(f32, {4, 4}, zeros16)});
    if (*why)
      expectRefused(std::move(wrong), why);
    else // other places, but possible ones
      EXPECT_EQ(elementsOf<float>(std::move(wrong))[0], 5.f);
  }
}

TEST(NetworkKernels, HybridWeightsHaveAScaleForAllOrForEachUnit) {
  // 127 · 1/127 and 0 are exact, so is their product with whole weights.
  const char *body = R"(
  %w: i8[2,2] q{scale=SCALE, zero_point=0} = const [1, 2, 3, 4]
  %y: f32[1,2] = FULLY_CONNECTED(input=%x, weights=%w, bias=_))";
  auto with = [&](llvm::StringRef scale) {
    std::string text = body;
    text.replace(text.find("SCALE"), 5, scale.str());
    return run("(%x: f32[1,2]) -> (%y)", text, {tensor(f32, {1, 2}, std::vector<float>{1, 0})});
  };
  expectNear(elementsOf<float>(with("0.5")), {0.5, 1.5});
  expectNear(elementsOf<float>(with("[0.5, 2]")), {0.5, 6});
}

TEST(NetworkKernels, FiltersMayHaveAZeroPointForEachChannel) {
  // In real numbers: x = 2, 4; channel 0 is 1, 1.5, channel 1 is -3, 0.25.
  const std::string filter = "q{scale=[0.5, 0.25], zero_point=[10, 20], dim=";
  std::vector<uint8_t> x = {7, 11}; // (q - 3) / 2
  for (Engine engine : {Engine::Reference, Engine::Fast}) {
    auto check = [&](Shape shape, llvm::StringRef signature, const std::string &body,
                     const std::vector<uint8_t> &want) {
      EXPECT_EQ(elementsOf<uint8_t>(run(signature, body, tensor(TensorType::UINT8, shape, x), engine)), want) << body;
    };
    // 2 · 1 + 4 · 1.5 = 8, 2 · -3 + 4 · 0.25 = -5; stored with a scale of 0.5 and 100.
    check({1, 1, 1, 2}, "(%x: u8[1,1,1,2] q{scale=0.5, zero_point=3}) -> (%y)",
          "%w: u8[2,1,1,2] " + filter +
              "0} = const [12, 13, 8, 21]\n"
              "%y: u8[1,1,1,2] q{scale=0.5, zero_point=100} = CONV_2D(%x, %w) {stride_w=1, stride_h=1}",
          {116, 90});
    check({1, 2}, "(%x: u8[1,2] q{scale=0.5, zero_point=3}) -> (%y)",
          "%w: u8[2,2] " + filter +
              "0} = const [12, 13, 8, 21]\n"
              "%y: u8[1,2] q{scale=0.5, zero_point=100} = FULLY_CONNECTED(%x, %w)",
          {116, 90});
    // Each channel by itself: 2 · 1, 4 · -3.
    check({1, 1, 1, 2}, "(%x: u8[1,1,1,2] q{scale=0.5, zero_point=3}) -> (%y)",
          "%w: u8[1,1,1,2] " + filter +
              "3} = const [12, 8]\n"
              "%y: u8[1,1,1,2] q{scale=0.5, zero_point=100} = DEPTHWISE_CONV_2D(%x, %w) {stride_w=1, stride_h=1, "
              "depth_multiplier=1}",
          {104, 76});
  }
}

TEST(NetworkKernels, FakeQuantMovesItsRangeToZero) {
  // Two bits over [−1, 2]: steps of 1.
  auto results = run("(%x: f32[4]) -> (%y)", "%y: f32[4] = FAKE_QUANT(inputs=%x) {min=-1, max=2, num_bits=2}",
                     {tensor(f32, {4}, std::vector<float>{-3, -0.4f, 1.6f, 9})});
  EXPECT_EQ(elementsOf<float>(std::move(results)), (std::vector<float>{-1, 0, 2, 2}));
  expectRefused(run("(%x: f32[4]) -> (%y)", "%y: f32[4] = FAKE_QUANT(inputs=%x) {min=-1, max=2, num_bits=40}",
                    {tensor(f32, {4}, four)}),
                "num_bits is out of range");
  expectRefused(run("(%x: f32[4]) -> (%y)", "%y: f32[4] = FAKE_QUANT(inputs=%x) {min=1, max=1, num_bits=8}",
                    {tensor(f32, {4}, four)}),
                "range");
}

TEST(NetworkKernels, RefuseWhatDoesNotFit) {
  TensorRef image = tensor(f32, {1, 2, 2, 1}, four);
  auto refused = [&](llvm::StringRef body, llvm::StringRef why) {
    expectRefused(run("(%x: f32[1,2,2,1]) -> (%y)", body, {image}), why);
  };
  refused("%s: i32[2] = const [0, 3]\n%y: f32[1,0,3,1] = RESIZE_BILINEAR(input=%x, size=%s)", "positive numbers");
  refused("%s: i32[1] = const [3]\n%y: f32[1,3,3,1] = RESIZE_NEAREST_NEIGHBOR(input=%x, size=%s)", "expected 2, is 1");
  refused("%s: i32[4] = const [1, -4, 4, 1]\n%w: f32[1,2,2,1] = const [1, 2, 3, 4]\n"
          "%y: f32 = TRANSPOSE_CONV(inputSizes=%s, filter=%w, outBackprop=%x) {stride_w=2, stride_h=2}",
          "negative dimension -4");
  refused("%s: i32[4] = const [1, 4, 4, 1]\n%w: f32[1,2,2,1] = const [1, 2, 3, 4]\n"
          "%y: f32[1,4,4,1] = TRANSPOSE_CONV(inputSizes=%s, filter=%w, outBackprop=%x)",
          "stride_w is out of range");
  refused("%w: f32[1,3,2] = const splat 1\n%y: f32 = BATCH_MATMUL(x=%x, y=%w)", "inner dimensions 1 and 3");
  refused("%n: i32[2] = const [2, 3]\n%y: c64 = RFFT2D(input=%x, fft_length=%n)", "power of two");
  refused(
      "%w: f32[2,1,1,1,1] = const splat 1\n%y: f32 = CONV_3D(input=%x, filter=%w) {stride_d=1, stride_w=1, stride_h=1}",
      "rank");
  refused("%y: f32[1,2,2,1] = LOCAL_RESPONSE_NORMALIZATION(input=%x) {radius=-1}", "radius");
}

TEST(NetworkKernels, QuantisedDivisionByZeroIsAnError) {
  const char *signature = "(%x: u8[2] q{scale=1, zero_point=3}, %d: u8[2] q{scale=1, zero_point=5}) -> (%y)";
  const char *body = "%y: u8[2] q{scale=1, zero_point=0} = DIV(x=%x, y=%d)";
  std::vector<uint8_t> x{13, 23}, fine{7, 10}, bad{7, 5};
  auto u8 = TensorType::UINT8;
  EXPECT_EQ(elementsOf<uint8_t>(run(signature, body, {tensor(u8, {2}, x), tensor(u8, {2}, fine)})),
            (std::vector<uint8_t>{5, 4}));
  expectRefused(run(signature, body, {tensor(u8, {2}, x), tensor(u8, {2}, bad)}), "division by zero");
}

} // namespace
