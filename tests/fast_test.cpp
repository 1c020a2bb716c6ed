#include "import/Import.h"
#include "tests/Engines.h"
#include "tests/RealModels.h"

#include <map>
#include <set>
#include <thread>

using namespace origo;
using namespace origo::test;

namespace {

TEST(Fast, EveryModelOfFewOperatorsAgreesWithTheReference) {
  std::vector<std::string> files = realModels();
  if (files.empty())
    GTEST_SKIP() << "../shared/models is absent";
  size_t ran = 0, operators = 0;
  std::map<std::string, int> codes;
  for (const std::string &path : files) {
    auto imported = importModel(path, {});
    if (!imported) {
      llvm::consumeError(imported.takeError());
      continue;
    }
    size_t size = 0;
    for (const auto &graph : imported->model->subgraphs)
      size += graph->operators.size();
    if (size > 12 || multiplyAdds(*imported->model) > 4000000)
      continue;
    Difference difference = compare(*imported->model, path, 1);
    ran += difference.ran;
    EXPECT_LE(difference.floats, 1e-5) << path;
    EXPECT_LE(difference.steps, 1) << path;
    for (const Operator *op : difference.coverage.fast)
      ++codes[op->info()->name.str()];
    operators += difference.coverage.fast.size();
    if (std::getenv("ORIGO_THOROUGH"))
      std::printf("%s: %zu fast, %zu reference, %g, %g\n", baseName(path).c_str(), difference.coverage.fast.size(),
                  difference.coverage.reference.size(), difference.floats, difference.steps);
  }
  EXPECT_GE(ran, 400u);
  EXPECT_GE(operators, 300u);
  for (const char *code : {"ADD",        "AVERAGE_POOL_2D",
                           "CONV_2D",    "DEPTHWISE_CONV_2D",
                           "DIV",        "FULLY_CONNECTED",
                           "HARD_SWISH", "LEAKY_RELU",
                           "LOGISTIC",   "MAX_POOL_2D",
                           "MEAN",       "MUL",
                           "PAD",        "PRELU",
                           "QUANTIZE",   "RELU",
                           "RELU6",      "RESIZE_BILINEAR",
                           "SOFTMAX",    "SQRT",
                           "SUB",        "TANH",
                           "TRANSPOSE",  "TRANSPOSE_CONV"})
    EXPECT_GE(codes[code], 1) << code;
}

/// Quantised operators round at other places than the reference: a step of 8 bits in a few elements. Of a network, what
/// grows from it by the end.
TEST(Fast, NetworksAgreeWithTheReference) {
  std::vector<std::string> files = realModels();
  if (files.empty())
    GTEST_SKIP() << "../shared/models is absent";
  size_t ran = 0, operators = 0, all = 0;
  for (const std::string &path : files) {
    auto imported = importModel(path, {});
    if (!imported) {
      llvm::consumeError(imported.takeError());
      continue;
    }
    uint64_t work = multiplyAdds(*imported->model);
    if (imported->model->subgraphs[0]->operators.size() <= 12 || work < 100000 || work > 60000000)
      continue;
    Difference difference = compare(*imported->model, path, 1);
    ran += difference.ran;
    operators += difference.coverage.fast.size();
    all += difference.coverage.fast.size() + difference.coverage.reference.size();
    if (std::getenv("ORIGO_THOROUGH"))
      std::printf("%s: %zu fast, %zu reference, %g, %g\n", baseName(path).c_str(), difference.coverage.fast.size(),
                  difference.coverage.reference.size(), difference.floats, difference.steps);
    // What TFLite's own XNNPACK shows against its reference kernels on such networks: docs/speed.md.
    bool quantises = llvm::any_of(imported->model->subgraphs[0]->values, [](const Value *value) {
      return value->quantization && value->quantization->quantized() && value->type != TensorType::FLOAT32;
    });
    EXPECT_LE(difference.floats, quantises ? 0.25 : 1e-5) << path;
    EXPECT_LE(difference.steps, 10) << path;
  }
  EXPECT_GE(ran, 8u);
  EXPECT_GE(operators * 2, all);
}

const char *twoConvolutions = R"(origo 1
model circle version 0
subgraph @main(%x: f32[1?,3,3,1]) -> (%y) {
  %w: f32[1,2,2,1] = const [1, 2, 3, 4]
  %b: f32[1] = const [1]
  %h: f32[1?,3,3,1] = CONV_2D(input=%x, filter=%w, bias=%b) {padding=SAME, stride_w=1, stride_h=1, fused_activation_function=RELU}
  %y: f32[1?,2,2,1] = CONV_2D(input=%h, filter=%w, bias=%b) {padding=VALID, stride_w=1, stride_h=1, fused_activation_function=RELU6}
}
)";

TEST(Fast, ShapesMayChangeFromRunToRun) {
  auto model = parse(twoConvolutions);
  auto reference = compile(*model), fast = compile(*model, fastOptions());
  ASSERT_TRUE(reference && fast);
  State state;
  RunOptions options;
  options.state = &state;
  for (int32_t batch : {1, 3, 3, 2, 0, 1}) {
    auto x = ramp(static_cast<size_t>(batch) * 9);
    auto input = floats({batch, 3, 3, 1}, x);
    auto expected = runFloats(*reference, {input}), actual = runFloats(*fast, {input}, options);
    ASSERT_EQ(expected.size(), static_cast<size_t>(batch) * 4);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(expected[i], actual[i], 1e-5f);
    EXPECT_EQ(fast->coverage().fast.size(), batch ? 2u : 0u) << batch;
  }
}

TEST(Fast, ThreadsRunOneSession) {
  auto model = parse(twoConvolutions);
  CompileOptions options = fastOptions();
  options.threads = 2;
  auto session = compile(*model, options);
  ASSERT_TRUE(static_cast<bool>(session));
  std::vector<std::vector<float>> alone;
  auto x = ramp(9 * 5);
  for (int32_t batch = 1; batch <= 4; ++batch)
    alone.push_back(runFloats(*session, {floats({batch, 3, 3, 1}, llvm::ArrayRef(x).take_front(9 * batch))}));
  std::vector<std::thread> threads;
  for (int32_t batch = 1; batch <= 4; ++batch)
    threads.emplace_back([&, batch] {
      State state;
      RunOptions run;
      run.state = &state;
      for (int i = 0; i < 200; ++i)
        EXPECT_EQ(runFloats(*session, {floats({batch, 3, 3, 1}, llvm::ArrayRef(x).take_front(9 * batch))}, run),
                  alone[batch - 1]);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
