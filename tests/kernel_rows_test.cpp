#include "ir/shapes/Inference.h"
#include "report/target/Target.h"
#include "tests/Engines.h"
#include "tests/fuzz/RandomOperator.h"

#include <cstdlib>
#include <iostream>
#include <map>

using namespace origo;
using namespace origo::test;

/// What a kernel's row says holds in both directions: circle-check with the limits of our own interpreter lets an
/// operator through if, and only if, both engines run it.

namespace {

/// A model of these statements; inputs are written "%x: f32[2]", separated by commas.
std::unique_ptr<Model> modelOf(llvm::StringRef inputs, llvm::StringRef statements) {
  return parse(
      ("origo 1\nmodel circle version 0\nsubgraph @main(" + inputs + ") -> (%y) {\n" + statements + "\n}\n").str());
}

/// Through a file of limits, as circle-check has them.
const report::Target &ownLimits() {
  static const report::Target limits =
      llvm::cantFail(report::readTarget(report::writeTarget(report::opSupportLimits())));
  return limits;
}

/// Empty: it ran.
std::string ranWith(Model &model, Engine engine) {
  CompileOptions options;
  options.engine = engine;
  auto session = compile(model, options);
  if (!session)
    return llvm::toString(session.takeError());
  auto inputs = randomInputs(*session->inputs(), 1);
  if (!inputs)
    return "no inputs";
  std::vector<TensorRef> refs(inputs->begin(), inputs->end());
  auto results = session->run(refs);
  return results ? "" : llvm::toString(results.takeError());
}

void expectVerdict(bool supported, llvm::StringRef inputs, llvm::StringRef statements) {
  SCOPED_TRACE(statements.str());
  auto model = modelOf(inputs, statements);
  ASSERT_TRUE(model);
  auto violations = report::checkTarget(*model, ownLimits());
  EXPECT_EQ(violations.empty(), supported)
      << (violations.empty() ? "" : violations[0].rule + " of " + violations[0].operand);
  for (Engine engine : {Engine::Reference, Engine::Fast}) {
    std::string refused = ranWith(*model, engine);
    EXPECT_EQ(refused.empty(), supported) << refused;
  }
}

TEST(KernelRows, SayWhatRunsAndWhatDoesNot) {
  struct Pair {
    const char *inputs, *runs, *doesNot;
  };
  const Pair pairs[] = {
      {"%x: i8[2,16] q{scale=0.5, zero_point=3}",
       "%w: i8[4,16] q{scale=0.5, zero_point=0} = const splat 1\n"
       "%y: i8[2,4] q{scale=1, zero_point=0} = FULLY_CONNECTED(%x, %w)",
       "%w: i8[4,16] q{scale=0.5, zero_point=0} = const splat 1\n"
       "%y: i8[2,4] q{scale=1, zero_point=0} = FULLY_CONNECTED(%x, %w) {weights_format=SHUFFLED4x16INT8}"},
      {"%x: f32[1,2,2,1]", "%s: i32[2] = const [4, 4]\n%y: f32[1,4,4,1] = RESIZE_BILINEAR(%x, %s) {align_corners=true}",
       "%s: i32[2] = const [4, 4]\n"
       "%y: f32[1,4,4,1] = RESIZE_BILINEAR(%x, %s) {align_corners=true, half_pixel_centers=true}"},
      {"%x: f32[1,2,2,1]",
       "%s: i32[2] = const [4, 4]\n%y: f32[1,4,4,1] = RESIZE_BILINEAR(%x, %s) {half_pixel_centers=true}",
       "%s: i32[1] = const [4]\n%y: f32[1,4,4,1] = RESIZE_BILINEAR(%x, %s)"},
      {"%x: f32[3], %s: f32[] ranked", "%y: f32[3] = SOFTMAX(%x) {beta=1}", "%y: f32[] = SOFTMAX(%s) {beta=1}"},
      {"%x: f32[3], %s: f32[] ranked", "%a: i32[] = const [0]\n%y: i32[] = ARG_MAX(%x, %a) {output_type=INT32}",
       "%a: i32[] = const [0]\n%y: i32[] = ARG_MAX(%s, %a) {output_type=INT32}"},
      {"%x: f32[3,3], %v: f32[3]", "%y: f32[3,3] = BATCH_MATMUL(%x, %x)", "%y: f32[3] = BATCH_MATMUL(%v, %x)"},
      {"%x: bool[4], %i: bool[]",
       "%w: i64[1] = const [2]\n%o: i64[1] = const [1]\n"
       "%y: bool[3] = REDUCE_WINDOW(%x, %i, %w, %o, %o) {reduce_function=ANY}",
       "%w: i64[1] = const [2]\n%o: i64[1] = const [1]\n"
       "%y: bool[3] = REDUCE_WINDOW(%x, %i, %w, %o, %o) {reduce_function=ADD}"},
      {"%x: i8[2,4] q{scale=0.5, zero_point=3}", "%y: i8[2,4] q{scale=0.0078125, zero_point=0} = L2_NORMALIZATION(%x)",
       "%y: i8[2,4] q{scale=0.5, zero_point=0} = L2_NORMALIZATION(%x)"},
      {"%x: f32[1,2,2,1]",
       "%w: f32[3,1,1,1] = const [1, 2, 3]\n%b: f32[3] = const [1, 2, 3]\n"
       "%y: f32[1,2,2,3] = CONV_2D(%x, %w, %b) {stride_w=1, stride_h=1}",
       "%w: f32[3,1,1,1] = const [1, 2, 3]\n%b: f32[2] = const [1, 2]\n"
       "%y: f32[1,2,2,3] = CONV_2D(%x, %w, %b) {stride_w=1, stride_h=1}"},
      {"%x: f32[1,2,2,1]",
       "%w: i8[2,1,1,1] q{scale=[1, 2], zero_point=[0, 0], dim=0} = const [1, 2]\n"
       "%y: f32[1,2,2,2] = CONV_2D(%x, %w) {stride_w=1, stride_h=1}",
       "%w: i8[2,2,1,1] q{scale=[1, 2], zero_point=[0, 0], dim=1} = const [1, 2, 3, 4]\n"
       "%y: f32[1,2,2,2] = CONV_2D(%x, %w) {stride_w=1, stride_h=1}"},
      {"%x: i8[2,2] q{scale=0.5, zero_point=0}, %c: i8[2,2] q{scale=[1, 2], zero_point=[0, 0], dim=1}",
       "%y: i8[2,2] q{scale=1, zero_point=0} = BATCH_MATMUL(%x, %c)",
       "%y: i8[2,2] q{scale=1, zero_point=0} = BATCH_MATMUL(%c, %x)"},
      {"%x: i8[2,2] q{scale=0.5, zero_point=0}, %c: i8[2,2] q{scale=[1, 2], zero_point=[0, 0], dim=1}",
       "%y: i8[2,2] q{scale=1, zero_point=0} = QUANTIZE(%c)", "%y: i8[2,2] q{scale=1, zero_point=0} = ADD(%x, %c)"},
      {"%x: i16[2] q{scale=0.5, zero_point=0}, %z: i16[2] q{scale=0.25, zero_point=0}",
       "%y: i16[2] q{scale=1, zero_point=0} = ADD(%x, %z) {pot_scale_int16=true}", "%y: i16[2] = ADD(%x, %z)"},
      {"%x: f32[1,4,4,4]", "%y: f32[1,2,2,16] = SPACE_TO_DEPTH(%x) {block_size=2}",
       "%y: f32[1,4,4,4] = SPACE_TO_DEPTH(%x)"},
  };
  for (const Pair &pair : pairs) {
    expectVerdict(true, pair.inputs, pair.runs);
    expectVerdict(false, pair.inputs, pair.doesNot);
  }
}

/// Over all rows, with options and operands as they come: circle-check, compiling in both engines and running in both
/// agree, shapes are those that the rule of ir/ tells, and what it refuses does not run. ORIGO_THOROUGH=1 tries more.
TEST(KernelRows, RandomOperatorsAgree) {
  const int tries = std::getenv("ORIGO_THOROUGH") ? 2000 : 6;
  fuzz::RandomOperator generator(1);
  size_t made = 0, supported = 0, ran = 0;
  std::map<std::string, bool> rows; // whether any of its operators ran
  for (const Kernel &kernel : allKernels())
    for (int attempt = 0; attempt < tries; ++attempt) {
      auto text = generator.make(kernel);
      if (!text)
        break;
      SCOPED_TRACE(*text);
      auto model = parse(*text);
      ASSERT_TRUE(model);
      ++made;
      bool &rowRan = rows[operatorInfo(kernel.code)->name.str() + " " + kernel.types.str()];
      auto violations = report::checkTarget(*model, ownLimits());
      std::string refused[2];
      for (Engine engine : {Engine::Reference, Engine::Fast}) {
        CompileOptions options;
        options.engine = engine;
        auto session = compile(*model, options);
        if (!session)
          refused[engine == Engine::Fast] = llvm::toString(session.takeError());
      }
      EXPECT_EQ(refused[0], refused[1]);
      const Operator &op = model->subgraphs[0]->operators.front();
      EXPECT_EQ(violations.empty(), refused[0].empty())
          << (violations.empty() ? refused[0]
                                 : violations[0].operand + " " + violations[0].rule + " " + violations[0].expected);
      if (!violations.empty() || !refused[0].empty())
        continue;
      ++supported;
      auto inferred = inferResults(op);
      bool contradicts = !inferred;
      std::string why = contradicts ? llvm::toString(inferred.takeError()) : "";
      Difference difference = compare(*model, *text, 1);
      ran += difference.ran;
      rowRan |= difference.ran;
      EXPECT_FALSE(contradicts && difference.ran) << why;
      // One rule for graphs and runs.
      EXPECT_FALSE(difference.ran && kernel.shapes == ShapesFrom::Rule && !contradicts && inferred->empty());
      EXPECT_LE(difference.floats, 1e-4);
      EXPECT_LE(difference.steps, 1);
      if (::testing::Test::HasFailure())
        return;
    }
  for (auto &[row, hasRun] : rows)
    if (!hasRun)
      std::cout << "  never ran: " << row << "\n";
  std::cout << made << " operators, " << supported << " supported, " << ran << " ran\n";
  EXPECT_GT(ran, made / 4);
}

/// What a rule of shapes refuses, it refuses of a graph and of a run in the same words; and what it lets through runs.
TEST(KernelRows, ShapesAreRefusedByTheRuleAlone) {
  struct Case {
    llvm::StringRef inputs, runs, doesNot;
  };
  const Case cases[] = {
      {"%x: f32[1]", "%s: i32[2] = const [1, 1]\n%y: f32[1,1] = RESHAPE(%x, %s)",
       "%s: i32[1] = const [0]\n%y: f32[0] = RESHAPE(%x, %s)"},
      {"%x: f32[0]", "%s: i32[1] = const [0]\n%y: f32[0] = RESHAPE(%x, %s)",
       "%s: i32[1] = const [1]\n%y: f32[1] = RESHAPE(%x, %s)"},
      {"%x: f32[1]", "%y: f32[] = RESHAPE(%x) {new_shape=[0]}", "%y: f32[2] = RESHAPE(%x) {new_shape=[2]}"},
      {"%x: f32[1,2,2,1]", "%s: i32[2] = const [1, 3]\n%y: f32[1,1,3,1] = RESIZE_BILINEAR(%x, %s)",
       "%s: i32[2] = const [0, 3]\n%y: f32[1,0,3,1] = RESIZE_BILINEAR(%x, %s)"},
      {"%x: f32[1,2,2,1]", "%s: i32[2] = const [1, 3]\n%y: f32[1,1,3,1] = RESIZE_NEAREST_NEIGHBOR(%x, %s)",
       "%s: i32[2] = const [1, 0]\n%y: f32[1,1,0,1] = RESIZE_NEAREST_NEIGHBOR(%x, %s)"},
      {"%x: f32[2,3]", "%s: i32[1] = const [1]\n%y: f32[2,3] = REVERSE_V2(%x, %s)",
       "%s: i32[2] = const [1, -1]\n%y: f32[2,3] = REVERSE_V2(%x, %s)"},
      {"%x: f32[2,3]", "%s: i32[2,2] = const [1, 0, 2, 2]\n%y: f32[3,7] = MIRROR_PAD(%x, %s)",
       "%s: i32[2,2] = const [2, 0, 2, 2]\n%y: f32[4,7] = MIRROR_PAD(%x, %s)"},
  };
  for (const Case &one : cases)
    for (bool runs : {true, false}) {
      llvm::StringRef text = runs ? one.runs : one.doesNot;
      SCOPED_TRACE(text.str());
      auto model = modelOf(one.inputs, text);
      ASSERT_TRUE(model);
      std::string refused;
      if (auto results = inferResults(model->subgraphs[0]->operators.front()); !results)
        llvm::handleAllErrors(results.takeError(), [&](const ModelError &error) { refused = error.message; });
      EXPECT_EQ(refused.empty(), runs) << refused;
      for (Engine engine : {Engine::Reference, Engine::Fast}) {
        std::string why = ranWith(*model, engine);
        EXPECT_EQ(why.empty(), runs) << why;
        EXPECT_NE(why.find(refused), std::string::npos) << why << "\n" << refused;
      }
    }
}

std::vector<int> numbersOf(llvm::StringRef statements) {
  auto model = modelOf("", statements);
  auto session = compile(*model);
  if (!session) {
    ADD_FAILURE() << llvm::toString(session.takeError());
    return {};
  }
  auto results = session->run(Inputs{});
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }
  std::vector<int> numbers;
  for (uint8_t byte : results->front().tensor.bytes)
    numbers.push_back(static_cast<int8_t>(byte));
  return numbers;
}

TEST(KernelRows, SeveralScalesAreNotTheFirst) {
  const std::string x = "%x: i8[2,2] q{scale=[1, 10], zero_point=[0, 1], dim=1} = const [11, -11, 4, 3]\n";
  EXPECT_EQ(numbersOf(x + "%y: i8[2,2] q{scale=2, zero_point=5} = QUANTIZE(%x)"), (std::vector<int>{11, -55, 7, 15}));
  EXPECT_EQ(numbersOf(x + "%y: i8[2,2] q{scale=[1, 4], zero_point=[1, 0], dim=0} = QUANTIZE(%x)"),
            (std::vector<int>{12, -119, 1, 5}));
  // 1·11 + 2·4 and 1·−120 + 2·20.
  EXPECT_EQ(numbersOf("%x: i8[2,2] q{scale=[1, 10], zero_point=[0, 0], dim=1} = const [11, -12, 4, 2]\n"
                      "%a: i8[1,2] q{scale=1, zero_point=0} = const [1, 2]\n"
                      "%y: i8[1,2] q{scale=1, zero_point=0} = BATCH_MATMUL(%a, %x)"),
            (std::vector<int>{19, -80}));
}

} // namespace
