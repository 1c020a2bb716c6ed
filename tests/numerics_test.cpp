#include "tests/GoldenCases.h"
#include "tests/Intervention.h"
#include "tests/Numerics.h"

#include "passes/Match.h"
#include "passes/VerifyNumerics.h"

#include "ir/ConstantView.h"

#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <cstring>

/// Execution of models before and after passes, and of relations.

using namespace origo;
using namespace origo::eval;
using namespace origo::test;

namespace {

std::unique_ptr<Model> sourceOf(llvm::StringRef text) {
  PayloadStore store;
  llvm::Expected<std::unique_ptr<Model>> model = parseText(text, goldenFolder(), store);
  if (!model) {
    llvm::consumeError(model.takeError());
    return nullptr;
  }
  (*model)->becomeSource();
  return std::move(*model);
}

/// A tensor with bytes of its own.
struct Numbers {
  template <class T> Numbers(Shape shape, std::vector<T> elements, const Quantization *quantization = nullptr) {
    bytes.resize(elements.size() * sizeof(T));
    std::memcpy(bytes.data(), elements.data(), bytes.size());
    tensor.type = tensorTypeOf<T>;
    tensor.shape = std::move(shape);
    tensor.quantization = quantization;
    tensor.storage = bytes;
  }
  std::vector<uint8_t> bytes;
  Tensor tensor;
};

Verdict::Kind check(const Numbers &source, std::vector<Step> steps, const Numbers &result, bool exact = true) {
  return checkRelation(source.tensor, steps, exact, result.tensor).kind;
}

Step stepOf(Step::Kind kind, llvm::ArrayRef<int64_t> first = {}, llvm::ArrayRef<int64_t> second = {}) {
  Step step;
  step.kind = kind;
  step.first.assign(first.begin(), first.end());
  step.second.assign(second.begin(), second.end());
  return step;
}

Step affine(double scale, double shift, int axis = -1) {
  Step step;
  step.kind = Step::Affine;
  step.axis = axis;
  step.scale = {Step::Term::Number, scale, nullptr};
  step.shift = {Step::Term::Number, shift, nullptr};
  return step;
}

const auto equal = Verdict::Equal, within = Verdict::Within, deviates = Verdict::Deviates,
           unchecked = Verdict::Unchecked;

TEST(Relations, Movement) {
  Numbers x({2, 3}, std::vector<float>{0, 1, 2, 3, 4, 5});
  Numbers turned({3, 2}, std::vector<float>{0, 3, 1, 4, 2, 5}), flat({3, 2}, std::vector<float>{0, 1, 2, 3, 4, 5});
  Step turn = stepOf(Step::Permute, {1, 0}), reshape = stepOf(Step::Reshape);
  EXPECT_EQ(check(x, {turn}, turned), equal);
  EXPECT_EQ(check(x, {turn}, flat), deviates);
  EXPECT_EQ(check(x, {reshape}, flat), equal);
  EXPECT_EQ(check(x, {reshape}, turned), deviates);
  EXPECT_EQ(check(x, {}, flat), deviates) << "another shape";
  EXPECT_EQ(check(x, {stepOf(Step::Permute, {0, 0})}, turned), deviates) << "not a permutation";
  // What stands before the last permutation follows from the result's shape; between two reshapes nothing does.
  EXPECT_EQ(check(x, {reshape, turn}, Numbers({2, 3}, std::vector<float>{0, 2, 4, 1, 3, 5})), equal);
  EXPECT_EQ(check(x, {turn, reshape}, Numbers({6}, std::vector<float>{0, 3, 1, 4, 2, 5})), equal);
  EXPECT_EQ(check(x, {reshape, turn, reshape}, flat), unchecked);
}

TEST(Relations, Parts) {
  Numbers x({2, 3}, std::vector<int32_t>{0, 1, 2, 3, 4, 5});
  EXPECT_EQ(check(x, {stepOf(Step::Slice, {0, 1}, {2, 2})}, Numbers({2, 2}, std::vector<int32_t>{1, 2, 4, 5})), equal);
  EXPECT_EQ(check(x, {stepOf(Step::Slice, {0, 0}, {2, 2})}, Numbers({2, 2}, std::vector<int32_t>{1, 2, 4, 5})),
            deviates);
  EXPECT_EQ(check(x, {stepOf(Step::Slice, {0, 2}, {2, 2})}, Numbers({2, 2}, std::vector<int32_t>{1, 2, 4, 5})),
            deviates)
      << "out of range";
  // Beside what was placed anything may stand.
  Step placed = stepOf(Step::Placed, {1, 0}, {2, 3});
  EXPECT_EQ(check(x, {placed}, Numbers({3, 3}, std::vector<int32_t>{9, 9, 9, 0, 1, 2, 3, 4, 5})), equal);
  EXPECT_EQ(check(x, {placed}, Numbers({3, 3}, std::vector<int32_t>{9, 9, 9, 0, 1, 2, 3, 4, 6})), deviates);
  EXPECT_EQ(check(x, {placed}, Numbers({2, 3}, std::vector<int32_t>{0, 1, 2, 3, 4, 5})), deviates);
}

TEST(Relations, Arithmetic) {
  Numbers x({2, 2}, std::vector<float>{0, 1, 2, 3});
  EXPECT_EQ(check(x, {affine(2, 1)}, Numbers({2, 2}, std::vector<float>{1, 3, 5, 7})), equal);
  EXPECT_EQ(check(x, {affine(2, 1)}, Numbers({2, 2}, std::vector<float>{1, 3, 5, 8}), false), deviates);
  EXPECT_EQ(check(x, {affine(2, 1, 7)}, Numbers({2, 2}, std::vector<float>{1, 3, 5, 7})), deviates) << "no such axis";
  std::unique_ptr<Model> model = sourceOf("origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[2]) -> (%y) {\n"
                                          "  %c: f32[2] = const [10, 100]\n"
                                          "  %y: f32[2] = ADD(%x, %c)\n}\n");
  ASSERT_TRUE(model);
  Step scale;
  scale.kind = Step::Affine;
  scale.scale = {Step::Term::Constant, 0, model->subgraphs[0]->operators.front().operand(1)};
  for (int axis : {0, 1}) {
    scale.axis = axis;
    EXPECT_EQ(check(x, {scale}, Numbers({2, 2}, std::vector<float>{0, 10, 200, 300})), axis == 0 ? equal : deviates);
    EXPECT_EQ(check(x, {scale}, Numbers({2, 2}, std::vector<float>{0, 100, 20, 300})), axis == 1 ? equal : deviates);
  }
}

TEST(Relations, Types) {
  Numbers x({3}, std::vector<float>{-1.25f, 0.5f, 300});
  Quantization eighth, quarters;
  float scales[] = {0.25f}, finer[] = {0.125f};
  int64_t zeros[] = {-10};
  quarters.scale = scales;
  eighth.scale = finer;
  quarters.zeroPoint = eighth.zeroPoint = zeros;
  Step cast = stepOf(Step::Cast), quantize = stepOf(Step::Quantize);
  EXPECT_EQ(check(x, {cast}, Numbers({3}, std::vector<int32_t>{-1, 0, 300})), equal);
  EXPECT_EQ(check(x, {cast}, Numbers({3}, std::vector<int32_t>{-1, 1, 300}), false), deviates);
  EXPECT_EQ(check(x, {}, Numbers({3}, std::vector<int32_t>{-1, 0, 300})), deviates) << "no step says so";
  EXPECT_EQ(check(x, {cast, cast}, x), unchecked);
  EXPECT_EQ(check(x, {quantize}, Numbers({3}, std::vector<int8_t>{-15, -8, 127}, &quarters)), equal);
  EXPECT_EQ(check(x, {quantize}, Numbers({3}, std::vector<int8_t>{-15, -7, 127}, &quarters)), deviates);
  EXPECT_EQ(check(x, {quantize}, x), deviates) << "not quantised";
  // The same real numbers at another scale.
  EXPECT_EQ(check(Numbers({2}, std::vector<int8_t>{-8, -6}, &quarters), {},
                  Numbers({2}, std::vector<int8_t>{-6, -2}, &eighth)),
            equal);
  EXPECT_EQ(check(Numbers({2}, std::vector<int8_t>{-8, -6}, &quarters), {},
                  Numbers({2}, std::vector<int8_t>{-8, -6}, &eighth)),
            deviates);
}

TEST(Relations, ExactIsTakenAtItsWord) {
  Numbers x({2}, std::vector<float>{0, 1});
  Numbers close({2}, std::vector<float>{0, 1.000001f}), minus({2}, std::vector<float>{-0.f, 1});
  EXPECT_EQ(check(x, {}, close), deviates);
  EXPECT_EQ(check(x, {}, close, false), within);
  EXPECT_EQ(check(x, {}, Numbers({2}, std::vector<float>{0, 1.0001f}), false), deviates);
  EXPECT_EQ(check(x, {}, minus), deviates) << "equal, but not the same bits";
  EXPECT_EQ(check(x, {}, minus, false), equal);
  EXPECT_EQ(check(Numbers({1}, std::vector<int64_t>{(int64_t(1) << 53) + 1}), {},
                  Numbers({1}, std::vector<int64_t>{int64_t(1) << 53}), false),
            deviates);
  Numbers nan({2}, std::vector<float>{NAN, 1}), infinite({2}, std::vector<float>{INFINITY, INFINITY});
  EXPECT_EQ(check(nan, {affine(1, 1)}, Numbers({2}, std::vector<float>{NAN, 2}), false), equal);
  EXPECT_EQ(check(nan, {}, x, false), deviates);
  EXPECT_EQ(check(infinite, {}, x, false), deviates);
}

void forEachGoldenCase(llvm::function_ref<void(Model &before, Model &after)> visit) {
  for (const std::string &name : goldenFiles()) {
    auto buffer = llvm::MemoryBuffer::getFile(goldenFolder() + "/" + name + ".txt");
    ASSERT_TRUE(bool(buffer)) << name;
    for (const Case &item : readCases((*buffer)->getBuffer())) {
      SCOPED_TRACE(name + ": " + item.run + "\n" + item.input);
      if (llvm::StringRef(item.expected).starts_with("error: "))
        continue;
      llvm::Expected<Pipeline> pipeline = pipelineOf(item);
      ASSERT_TRUE(bool(pipeline));
      std::unique_ptr<Model> before = sourceOf(item.input), after = sourceOf(item.input);
      ASSERT_TRUE(before && after);
      PayloadStore store;
      ASSERT_FALSE(bool(runPipeline(*after, *pipeline, store)));
      visit(*before, *after);
    }
  }
}

/// What cannot be executed must not become more unseen.
TEST(Numerics, GoldenCases) {
  NumericTally tally;
  forEachGoldenCase([&](Model &before, Model &after) { expectSameNumbers(before, after, tally); });
  tally.print("golden cases");
  EXPECT_GE(tally.executed, 76u);
  EXPECT_LE(tally.models - tally.executed, 18u) << "more cases cannot be executed: add kernels, or raise the bound";
  EXPECT_LE(tally.sum(tally.unchecked), 43u);
  EXPECT_GE(tally.within, 1u);
}

TEST(Intervention, GoldenCases) {
  InterventionTally tally;
  forEachGoldenCase([&](Model &before, Model &after) { expectSameEffects(before, after, tally); });
  tally.print("golden cases");
  EXPECT_GE(tally.models, 76u);
  EXPECT_GE(tally.tried, 200u);
}

/// x · c → x + c, which is wrong but for c = 2, x = 2.
RewriteResult addInsteadOfMultiply(Operator &op, Rewriter &rw) {
  Value *x, *constant;
  if (!match(op, rw, m_Commutative(m_Value(x), m_Constant(constant))))
    return decline("no constant");
  return rw.replace(rw.draft(BuiltinOperator::ADD, {x, constant}));
}

const char *const twoProducts = R"(origo 1
model circle version 0
subgraph @main(%x: f32[4]) -> (%y) {
  %zero: f32[1] = const [0]
  %two: f32[1] = const [2]
  %a: f32[4] = ADD(%x, %zero)
  %b: f32[4] = ABS(%a)
  %c: f32[4] = MUL(%b, %two)
  %d: f32[4] = ADD(%c, %c)
  %e: f32[4] = RELU(%d)
  %y: f32[4] = NEG(%e)
}
)";

TEST(VerifyNumerics, NamesTheWrongRewrite) {
  Pass wrongPass{"wrong", "x * c -> x + c", false, {}, {{"add", addInsteadOfMultiply, {BuiltinOperator::MUL}}}};
  auto load = [] { return llvm::Expected<std::unique_ptr<Model>>(sourceOf(twoProducts)); };
  PayloadStore store;
  auto find = [&](const Pipeline &pipeline) {
    auto wrong = findWrongRewrite(load, pipeline, store);
    EXPECT_TRUE(static_cast<bool>(wrong)) << llvm::toString(wrong.takeError());
    return wrong ? *wrong : std::nullopt;
  };
  EXPECT_FALSE(find(Pipeline::o1()));
  Pipeline pipeline = Pipeline::o1();
  pipeline.add(wrongPass);
  std::optional<WrongRewrite> wrong = find(pipeline);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->number, 2u) << "the sum with zero is removed before, the activation fused behind";
  EXPECT_TRUE(llvm::StringRef(wrong->text).starts_with("rewrite 2 (wrong / add, numerics_test.cpp:")) << wrong->text;
  EXPECT_NE(wrong->text.find("MUL \"c\": tensor \"c\", which is source tensor 5: 4 of 4 elements deviate"),
            std::string::npos)
      << wrong->text;
}

TEST(VerifyNumerics, SaysWhatCannotBeExecuted) {
  auto load = [] {
    return llvm::Expected<std::unique_ptr<Model>>(
        sourceOf("origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[2]) -> (%y) {\n"
                 "  %y: f32[2] = CUSTOM \"what\"(%x)\n}\n"));
  };
  PayloadStore store;
  ASSERT_TRUE(*load());
  auto wrong = findWrongRewrite(load, Pipeline::o1(), store);
  ASSERT_FALSE(static_cast<bool>(wrong));
  EXPECT_NE(llvm::toString(wrong.takeError()).find("CUSTOM"), std::string::npos);
}

} // namespace
