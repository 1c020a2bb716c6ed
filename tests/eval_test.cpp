#include "eval/Builder.h"
#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/Numbers.h"
#include "eval/Session.h"
#include "eval/Shapes.h"
#include "tests/Sessions.h"

#include <gtest/gtest.h>

using namespace origo;
using namespace origo::eval;
using namespace origo::test;
using Op = BuiltinOperator;

namespace {

/// y = relu(x + 1), z = −y
const char *small = R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,3]) -> (%y, %z) {
  %one: f32[1] = const [1]
  %y: f32[1,3] = ADD(x=%x, y=%one) {fused_activation_function=RELU}
  %z: f32[1,3] = NEG(x=%y)
}
)";

const float input[] = {-2, 0, 2};

TEST(Session, RunsByName) {
  auto model = parse(small);
  ASSERT_TRUE(model);
  auto session = compile(*model);
  ASSERT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
  auto results = session->run({{"x", floats({1, 3}, input)}});
  ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
  ASSERT_EQ(results->size(), 2u);
  EXPECT_EQ((*results)[0].name, "y");
  EXPECT_EQ(floatsOf((*results)[0].tensor), (std::vector<float>{0, 1, 3}));
  EXPECT_EQ(floatsOf((*results)[1].tensor), (std::vector<float>{-0.f, -1, -3}));
}

TEST(Session, ComputesOnlyWhatChosenOutputsNeed) {
  auto model = parse(small);
  auto session = compile(*model, {.outputs = {"y"}});
  ASSERT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
  std::vector<std::string> seen;
  RunOptions options;
  options.observer = [&](const Operator &op, const Value &, const Tensor &) { seen.push_back(op.opName()); };
  auto results = session->run({{"x", floats({1, 3}, input)}}, options);
  ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
  EXPECT_EQ(results->size(), 1u);
  EXPECT_EQ(seen, std::vector<std::string>{"ADD"});
  EXPECT_EQ(errorsOf(compile(*model, {.outputs = {"nothing"}}).takeError()).at(0)->code, ErrorCode::UnknownName);
}

TEST(Session, FillsTheCallersMemoryOrSaysItsSize) {
  auto model = parse(small);
  auto session = compile(*model);
  ASSERT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
  std::vector<uint8_t> y(12), wrong(8);
  EXPECT_FALSE(session->run({{"x", floats({1, 3}, input)}}, {{"y", y}}, {}));
  EXPECT_EQ(floatsOf({TensorType::FLOAT32, {}, y}), (std::vector<float>{0, 1, 3}));
  auto errors = errorsOf(session->run({{"x", floats({1, 3}, input)}}, {{"y", wrong}}, {}));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0]->code, ErrorCode::BadOutput);
  EXPECT_EQ(errors[0]->expected, "12");
}

TEST(Session, RefusesInputsThatDoNotFit) {
  auto model = parse(small);
  auto session = compile(*model);
  ASSERT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
  auto codeOf = [&](const Inputs &inputs) {
    auto results = session->run(inputs);
    auto errors = errorsOf(results.takeError());
    return errors.size() == 1 ? errors[0]->code : ErrorCode::Timeout;
  };
  EXPECT_EQ(codeOf({}), ErrorCode::MissingInput);
  EXPECT_EQ(codeOf({{"x", floats({3}, input)}}), ErrorCode::BadInput);
  EXPECT_EQ(codeOf({{"x", floats({1, 3}, {1.f})}}), ErrorCode::BadInput);
  EXPECT_EQ(codeOf({{"x", {TensorType::INT32, {1, 3}, floats({}, input).bytes}}}), ErrorCode::BadInput);
  EXPECT_EQ(codeOf({{"x", floats({1, 3}, input)}, {"w", floats({1, 3}, input)}}), ErrorCode::UnknownName);
}

TEST(Session, NamesAllThatIsUnsupported) {
  auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,3]) -> (%z) {
  %a: f64[1,3] = NEG(x=%x)
  %b: f32[1,3] = ABS(x=%x)
  %z: f64[1,3] = ADD(x=%a, y=%a)
}
)");
  ASSERT_TRUE(model);
  model->becomeSource();
  auto session = compile(*model);
  auto errors = errorsOf(session.takeError());
  ASSERT_EQ(errors.size(), 2u); // not the ABS, which nothing needs
  EXPECT_EQ(errors[0]->code, ErrorCode::Unsupported);
  EXPECT_EQ(errors[0]->phase, EvalPhase::Compile);
  EXPECT_EQ(errors[0]->place.opName, "NEG");
  EXPECT_EQ(errors[1]->place.opName, "ADD");
  EXPECT_EQ(errors[1]->origins, std::vector<uint32_t>{2});
}

TEST(Session, TellsShapesWithoutRunning) {
  auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,4] sig[-1,4]) -> (%y) {
  %shape: i32[2] = const [2, -1]
  %y: f32[2,2] sig[2,-1] = RESHAPE(tensor=%x, shape=%shape)
}
)");
  ASSERT_TRUE(model);
  auto session = compile(*model);
  ASSERT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
  auto shapes = session->inferShapes({{"x", {TensorType::FLOAT32, {6, 4}, {}}}});
  ASSERT_TRUE(static_cast<bool>(shapes)) << llvm::toString(shapes.takeError());
  EXPECT_TRUE(shapes->front().rankKnown);
  EXPECT_EQ(shapes->front().shape, (Shape{2, 12}));
  std::vector<float> numbers(24, 1.f);
  auto results = session->run({{"x", floats({6, 4}, numbers)}});
  ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
  EXPECT_EQ(results->front().tensor.shape, (Shape{2, 12}));
}

TEST(Session, ShapesBehindComputedConstantsAreKnown) {
  auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,2]) -> (%y) {
  %half: f16[2] = const [1, 2]
  %c: f32[2] = DEQUANTIZE(input=%half)
  %y: f32[1,2] sig[-1,-1] = ADD(x=%x, y=%c) {fused_activation_function=NONE}
}
)");
  ASSERT_TRUE(model);
  auto session = compile(*model);
  ASSERT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
  auto shapes = session->inferShapes({{"x", {TensorType::FLOAT32, {1, 2}, {}}}});
  ASSERT_TRUE(static_cast<bool>(shapes)) << llvm::toString(shapes.takeError());
  EXPECT_TRUE(shapes->front().rankKnown);
}

TEST(Session, AShapeThatDependsOnDataIsNotKnown) {
  auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,4], %shape: i32[2]) -> (%y) {
  %y: f32[2,2] sig[-1,-1] = RESHAPE(tensor=%x, shape=%shape)
}
)");
  ASSERT_TRUE(model);
  auto session = compile(*model);
  ASSERT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
  auto shapes =
      session->inferShapes({{"x", {TensorType::FLOAT32, {1, 4}, {}}}, {"shape", {TensorType::INT32, {2}, {}}}});
  ASSERT_TRUE(static_cast<bool>(shapes)) << llvm::toString(shapes.takeError());
  EXPECT_FALSE(shapes->front().rankKnown);
  const int32_t to[] = {4, 1};
  shapes = session->inferShapes({{"x", {TensorType::FLOAT32, {1, 4}, {}}},
                                 {"shape", {TensorType::INT32, {2}, {reinterpret_cast<const uint8_t *>(to), 8}}}});
  ASSERT_TRUE(static_cast<bool>(shapes)) << llvm::toString(shapes.takeError());
  EXPECT_EQ(shapes->front().shape, (Shape{4, 1}));
}

/// Counts x up to five.
const char *counting = R"(origo 1
model circle version 0
subgraph @main(%x: f32[1]) -> (%y) {
  %y: f32[1] = WHILE(%x) {cond_subgraph_index=@cond, body_subgraph_index=@body}
}
subgraph @cond(%a: f32[1]) -> (%b) {
  %limit: f32[1] = const [5]
  %b: bool[1] = LESS(x=%a, y=%limit)
}
subgraph @body(%c: f32[1]) -> (%d) {
  %step: f32[1] = const [1]
  %d: f32[1] = ADD(x=%c, y=%step) {fused_activation_function=NONE}
}
)";

TEST(Session, WhileEndsByConditionOrLimit) {
  auto model = parse(counting);
  ASSERT_TRUE(model);
  auto session = compile(*model, {.iterationLimit = 10});
  ASSERT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
  auto results = session->run({{"x", floats({1}, {0.5f})}});
  ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
  EXPECT_EQ(floatsOf(results->front().tensor), std::vector<float>{5.5f});
  auto tooFar = session->run({{"x", floats({1}, {-20.f})}});
  EXPECT_EQ(errorsOf(tooFar.takeError()).at(0)->code, ErrorCode::IterationLimit);
}

TEST(Session, MemoryIsRefusedBeforeItIsTaken) {
  auto model = parse(small);
  auto session = compile(*model, {.memoryLimit = 8});
  ASSERT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
  auto results = session->run({{"x", floats({1, 3}, input)}});
  EXPECT_EQ(errorsOf(results.takeError()).at(0)->code, ErrorCode::MemoryLimit);
}

/// The shape is known at run time only, so that the tensors are not in the arena.
TEST(Session, MemoryIsCountedFromRunToRun) {
  auto model = parse(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1?,4]) -> (%z) {
  %y: f32[1?,4] = NEG(x=%x)
  %z: f32[1?,4] = ABS(x=%y)
}
)");
  ASSERT_TRUE(model);
  auto session = compile(*model, {.memoryLimit = 128});
  ASSERT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
  State state;
  RunOptions options;
  options.state = &state;
  for (int32_t rows : {4, 1, 4, 4}) {
    std::vector<float> numbers(rows * 4, -1.f);
    auto results = session->run({{"x", floats({rows, 4}, numbers)}}, options);
    ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
    EXPECT_EQ(floatsOf(results->front().tensor), std::vector<float>(rows * 4, 1.f));
  }
  std::vector<float> numbers(5 * 4, -1.f);
  auto results = session->run({{"x", floats({5, 4}, numbers)}}, options);
  EXPECT_EQ(errorsOf(results.takeError()).at(0)->code, ErrorCode::MemoryLimit);
  state.reset();
  EXPECT_TRUE(static_cast<bool>(session->run({{"x", floats({1, 4}, {1, 2, 3, 4})}}, options)));
}

TEST(Builder, MakesAGraphThatRuns) {
  Builder b;
  Value *x = b.input("x", TensorType::FLOAT32, {1, 2});
  const float weights[] = {1, 2, 3, 4};
  auto w = b.constant<float>("w", {2, 2}, weights);
  ASSERT_TRUE(static_cast<bool>(w));
  auto dense = b.op(Op::FULLY_CONNECTED, {x, *w, nullptr}, "dense", [](auto &f) {
    return circle::CreateFullyConnectedOptions(f, circle::ActivationFunctionType::RELU);
  });
  ASSERT_TRUE(static_cast<bool>(dense)) << llvm::toString(dense.takeError());
  EXPECT_EQ((*dense)->shape, (llvm::SmallVector<int32_t, 4>{1, 2}));
  auto model = b.finish({*dense});
  ASSERT_TRUE(static_cast<bool>(model)) << llvm::toString(model.takeError());
  auto session = compile(**model);
  ASSERT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
  auto results = session->run({{"x", floats({1, 2}, {1, -1})}});
  ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
  EXPECT_EQ(results->front().name, "dense");
  EXPECT_EQ(floatsOf(results->front().tensor), (std::vector<float>{0, 0}));
}

TEST(Builder, ErrorsNameOperatorAndOperand) {
  Builder b, other;
  Value *x = b.input("x", TensorType::FLOAT32, {1, 2}), *far = other.input("far", TensorType::FLOAT32, {1, 2});
  auto errors = errorsOf(b.op(Op::ADD, {x, far}, "sum").takeError());
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0]->phase, EvalPhase::Build);
  EXPECT_EQ(errors[0]->operand, "y");
  EXPECT_EQ(errors[0]->place.opName, "ADD");
  EXPECT_EQ(errors[0]->place.name, "sum");
  EXPECT_EQ(errorsOf(b.finish({x}).takeError()).at(0)->code, ErrorCode::BadGraph);
  EXPECT_EQ(errorsOf(other.op(Op::ADD, {far}, "sum").takeError()).at(0)->code, ErrorCode::BadOperand);
}

/// A kernel that takes any type must say which one its results have: it moves bytes.
TEST(Kernels, NoResultIsOfAnyType) {
  size_t moving = 0;
  for (const KernelRow &row : allKernels()) {
    auto [operands, results] = row.types.split("->");
    if (!operands.contains("any"))
      continue;
    ++moving;
    EXPECT_TRUE(row.code == BuiltinOperator::BITCAST || !results.contains("any")) << row.types.str();
  }
  EXPECT_GT(moving, 30u);
}

TEST(FixedPoint, RoundsTwiceOrOnce) {
  Multiplier half = quantizeMultiplier(0.5);
  EXPECT_EQ(half.mantissa, 1 << 30);
  EXPECT_EQ(half.shift, 0);
  EXPECT_EQ(multiply(int32_t(3), half), 2);
  EXPECT_EQ(multiply(int32_t(-3), half), -1);
  Multiplier eighth = quantizeMultiplier(0.125);
  EXPECT_EQ(multiply(int32_t(-12), eighth), -2); // ties away from zero
  EXPECT_EQ(multiplyRoundingOnce(-12, eighth), -1);
  EXPECT_EQ(multiply(int64_t(12), eighth), 2);
  EXPECT_EQ(quantizeMultiplier(0).mantissa, 0);
}

TEST(Numbers, HalvesGoBothWays) {
  unsigned count = 0;
  for (uint32_t half = 0; half < 0x10000; ++half) {
    float wide = halfToFloat(static_cast<uint16_t>(half));
    if (wide != wide)
      continue;
    ++count;
    ASSERT_EQ(floatToHalf(wide), half);
  }
  EXPECT_EQ(count, 65536u - 2 * 1023);
  EXPECT_EQ(floatToHalf(65520.f), 0x7c00);
  EXPECT_EQ(floatToHalf(1.f + 1.f / 2048), 0x3c00); // a tie goes to the even one
}

TEST(Shapes, Broadcast) {
  std::vector<int64_t> left, right;
  for (Broadcast at({2, 3}, {{2, 1}, {3}}); !at.done(); at.next()) {
    left.push_back(at.index(0));
    right.push_back(at.index(1));
  }
  EXPECT_EQ(left, (std::vector<int64_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(right, (std::vector<int64_t>{0, 1, 2, 0, 1, 2}));
}

} // namespace
