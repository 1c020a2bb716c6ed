#include "import/Import.h"
#include "tests/Engines.h"
#include "tests/RealModels.h"

#include <map>
#include <set>
#include <thread>

using namespace origo;
using namespace origo::test;

namespace {

void modelsOfFewOperatorsAgreeWithTheReference(const std::vector<std::string> &files) {
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
                           "SUB",        "SVDF",
                           "TANH",       "TRANSPOSE",
                           "GRU",        "TRANSPOSE_CONV",
                           "LSTM",       "UNIDIRECTIONAL_SEQUENCE_LSTM"})
    EXPECT_GE(codes[code], 1) << code;
}

/// The patterns of tests/golden are left out: some have numbers that round to the next integer twice, or are denormal.
TEST(Fast, EveryModelOfFewOperatorsAgreesWithTheReference) {
  std::vector<std::string> files = ownNetworks().networks();
  llvm::append_range(files, ownNetworks().in("mini"));
  modelsOfFewOperatorsAgreeWithTheReference(files);
}
TEST(FastPublicModels, OfFewOperatorsAgreeWithTheReference) {
  modelsOfFewOperatorsAgreeWithTheReference(publicModels().all());
}

/// Operator by operator, for small differences grow on their way through a network; docs/records/speed.md says how
/// much.
void operatorsOfNetworksAgreeWithTheReference(const std::vector<std::string> &files, uint64_t leastWork) {
  size_t ran = 0, operators = 0, all = 0;
  for (const std::string &path : files) {
    auto imported = importModel(path, {});
    if (!imported) {
      llvm::consumeError(imported.takeError());
      continue;
    }
    uint64_t work = multiplyAdds(*imported->model);
    if (imported->model->subgraphs[0]->operators.size() <= 12 || work < leastWork || work > 60000000)
      continue;
    Difference difference = compareOperators(*imported->model, path, 1);
    ran += difference.ran;
    operators += difference.coverage.fast.size();
    all += difference.coverage.fast.size() + difference.coverage.reference.size();
    if (std::getenv("ORIGO_THOROUGH"))
      std::printf("%s: %zu fast, %zu reference, %g, %g\n", baseName(path).c_str(), difference.coverage.fast.size(),
                  difference.coverage.reference.size(), difference.floats, difference.steps);
    EXPECT_LE(difference.floats, 1e-5) << path << ": " << difference.worst;
    EXPECT_LE(difference.steps, 1) << path << ": " << difference.worst;
  }
  EXPECT_GE(ran, 8u);
  EXPECT_GE(operators * 2, all);
}

TEST(Fast, OperatorsOfNetworksAgreeWithTheReference) {
  operatorsOfNetworksAgreeWithTheReference(ownNetworks().networks(), 10000);
}
TEST(FastPublicModels, OperatorsAgreeWithTheReference) {
  operatorsOfNetworksAgreeWithTheReference(publicModels().all(), 100000);
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

/// The result of a RESHAPE lies where its operand does, which has to live as long.
TEST(Fast, ReshapedTensorsShareMemory) {
  auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,6]) -> (%r, %z) {
  %axis: i32[] = const [0]
  %two: i32[2] = const [3, 2]
  %r: f32[3,2] = RESHAPE(tensor=%x, shape=%two)
  %a: f32[1,6] = RELU(features=%x)
  %b: f32[1,1,6] = EXPAND_DIMS(input=%a, axis=%axis)
  %c: f32[1,6] = ADD(x=%a, y=%x) {fused_activation_function=NONE}
  %d: f32[1,6] = MUL(x=%c, y=%c) {fused_activation_function=NONE}
  %e: f32[1,1,6] = ADD(x=%b, y=%d) {fused_activation_function=NONE}
  %z: f32[6] = SQUEEZE(input=%e) {squeeze_dims=[0, 1]}
}
)");
  ASSERT_TRUE(model);
  Difference difference = compare(*model, "reshapes", 1);
  EXPECT_TRUE(difference.ran);
  EXPECT_EQ(difference.floats, 0);
  EXPECT_TRUE(difference.coverage.reference.empty());
}

TEST(Fast, WhatAnObserverWritesIsReadBehindItOnly) {
  auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,2]) -> (%z) {
  %two: i32[1] = const [2]
  %a: f32[1,2] = RELU(features=%x)
  %b: f32[2] = RESHAPE(tensor=%a, shape=%two)
  %z: f32[1,2] = ADD(x=%a, y=%b) {fused_activation_function=NONE}
}
)");
  ASSERT_TRUE(model);
  auto session = compile(*model, fastOptions());
  ASSERT_TRUE(static_cast<bool>(session));
  RunOptions run;
  run.observer = [](const Operator &op, const Value &, Tensor &tensor) {
    if (op.code == BuiltinOperator::RESHAPE)
      tensor.as<float>()[0] = 10;
  };
  EXPECT_EQ(runFloats(*session, {floats({1, 2}, {1.f, 2.f})}, run), (std::vector<float>{11, 4}));
}

TEST(Fast, ElementsMayDecideOnTheShape) {
  auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[6], %shape: i32[2]) -> (%z) {
  %r: f32[1?,1?] = RESHAPE(tensor=%x, shape=%shape)
  %z: f32[1?,1?] = RELU(features=%r)
}
)");
  ASSERT_TRUE(model);
  auto session = compile(*model, fastOptions());
  ASSERT_TRUE(static_cast<bool>(session));
  State state;
  RunOptions run;
  run.state = &state;
  std::vector<float> x = ramp(6);
  for (auto [rows, columns] : {std::pair(2, 3), std::pair(6, 1), std::pair(3, 2)}) {
    int32_t sizes[] = {rows, columns};
    TensorRef inputs[] = {floats({6}, x), tensor<int32_t>(TensorType::INT32, {2}, sizes)};
    auto results = session->run(llvm::ArrayRef(inputs), run);
    ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
    EXPECT_EQ(results->front().tensor.shape, (Shape{rows, columns}));
  }
}

/// XNNPACK would want a table of 2^40 entries.
TEST(Fast, BigStridesTakeNoMemory) {
  auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,1,1,1]) -> (%y) {
  %size: i32[4] = const [1, 2, 2, 1]
  %w: f32[1,1,1,1] = const [3]
  %y: f32[1,2,2,1] = TRANSPOSE_CONV(inputSizes=%size, filter=%w, outBackprop=%x) {padding=SAME, stride_w=1048576, stride_h=1048576}
}
)");
  ASSERT_TRUE(model);
  Difference difference = compare(*model, "strides", 1);
  EXPECT_TRUE(difference.ran);
  EXPECT_EQ(difference.floats, 0);
  EXPECT_TRUE(difference.coverage.fast.empty());
}

/// Weights and bias of each convolution are 5 floats; half of the limit is for them.
TEST(Fast, PackedWeightsCountAgainstTheMemoryLimit) {
  auto model = parse(twoConvolutions);
  const std::pair<uint64_t, size_t> limits[] = {{1 << 20, 2}, {300, 2}, {70, 1}, {30, 0}};
  for (auto [limit, fast] : limits) {
    CompileOptions options = fastOptions();
    options.memoryLimit = limit;
    auto session = compile(*model, options);
    ASSERT_TRUE(static_cast<bool>(session));
    EXPECT_EQ(session->coverage().fast.size(), fast) << limit;
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
