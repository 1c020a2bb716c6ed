#include "commands/QuantizeModel.h"
#include "eval/RealNumbers.h"
#include "ir/text/Text.h"
#include "passes/Pipeline.h"
#include "quantize/Blocks.h"
#include "quantize/Calibrate.h"
#include "quantize/Constraints.h"
#include "quantize/Plan.h"
#include "quantize/Recipe.h"

#include <cmath>
#include <gtest/gtest.h>

/// What the quantiser writes computes the source's numbers, within some steps, by kernels of every runtime.

using namespace origo;
using namespace origo::quantize;
using eval::OwnedTensor;
using SchemeName = commands::TfliteScheme::Name;

namespace {

using enum TensorType;

const std::string head = "origo 1\nmodel tflite version 3\n";

/// The same numbers as every record.
class Same : public Records {
public:
  Same(llvm::ArrayRef<eval::Port> inputs, std::vector<std::vector<float>> numbers)
      : ports(inputs.begin(), inputs.end()), numbers(std::move(numbers)) {}
  uint64_t count() const override { return 1; }
  llvm::Expected<std::vector<OwnedTensor>> read(uint64_t) override {
    std::vector<OwnedTensor> record;
    for (size_t i = 0; i < ports.size(); ++i) {
      auto *first = reinterpret_cast<const uint8_t *>(numbers[i].data());
      record.push_back({FLOAT32, ports[i].shape, {first, first + 4 * eval::product(ports[i].shape)}});
    }
    return record;
  }

private:
  std::vector<eval::Port> ports;
  std::vector<std::vector<float>> numbers;
};

struct Quantised {
  PayloadStore store;
  std::unique_ptr<Model> model;
  std::vector<Unquantized> left;

  const Operator *find(BuiltinOperator code, size_t graph = 0) const {
    for (const Operator &op : model->subgraphs[graph]->operators)
      if (op.code == code)
        return &op;
    return nullptr;
  }
  /// What the first output is for these inputs.
  std::vector<float> run(std::vector<std::vector<float>> inputs) const {
    auto session = eval::compile(*model);
    if (!session) {
      ADD_FAILURE() << llvm::toString(session.takeError());
      return {};
    }
    Same records(llvm::cantFail(session->inputs()), std::move(inputs));
    auto record = llvm::cantFail(records.read(0));
    eval::State state;
    eval::RunOptions options;
    options.state = &state;
    auto results = session->run(std::vector<eval::TensorRef>(record.begin(), record.end()), options);
    if (!results) {
      ADD_FAILURE() << llvm::toString(results.takeError());
      return {};
    }
    const OwnedTensor &tensor = results->front().tensor;
    std::vector<float> numbers(tensor.bytes.size() / 4);
    std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
    return numbers;
  }
};

/// Ranges come from `record`; without one, from the text.
std::unique_ptr<Quantised> quantised(const std::string &text, const commands::TfliteScheme &asked,
                                     std::vector<std::vector<float>> record = {}) {
  auto result = std::make_unique<Quantised>();
  auto model = parseText(head + text, "", result->store);
  if (!model) {
    ADD_FAILURE() << llvm::toString(model.takeError());
    return nullptr;
  }
  result->model = std::move(*model);
  result->model->becomeSource();
  if (!record.empty()) {
    auto open = [&](llvm::ArrayRef<eval::Port> inputs, llvm::StringRef) -> llvm::Expected<std::unique_ptr<Records>> {
      return std::make_unique<Same>(inputs, record);
    };
    auto statistics = commands::calibrate(*result->model, open);
    std::vector<std::string> silent;
    llvm::Error error = statistics ? quantize::setRanges(*result->model, *statistics, {commands::wholeRange}, silent)
                                   : statistics.takeError();
    EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
    EXPECT_TRUE(silent.empty());
  }
  PipelineOptions options;
  options.verifyEach = true;
  auto left = commands::quantizeModel(*result->model, commands::schemeOf(asked), result->store, options);
  EXPECT_TRUE(static_cast<bool>(left)) << llvm::toString(left.takeError());
  if (left)
    result->left = std::move(*left);
  return result;
}

void expectNear(const std::vector<float> &have, const std::vector<float> &want, double bound) {
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(have[i], want[i], bound) << i;
}

float scaleOf(const Value *value) { return value->quantization->scale[0]; }

const std::vector<float> four{-1, -0.5, 0.5, 1};

/// One scale for all weights gives way to a bias as those of channels do.
TEST(QuantizerNumbers, BiasesFitBesideOneScaleOfWeights) {
  std::string dense = "subgraph @main(%x: f32[1,4]) -> (%y) {\n"
                      "  %w: f32[2,4] = const [0.0001, 0, 0, 0, 0, 0, 0, 0.0001]\n"
                      "  %b: f32[2] = const [30, -0.5]\n"
                      "  %y: f32[1,2] = FULLY_CONNECTED(%x, %w, %b)\n}\n";
  auto net = quantised(dense, {}, {four});
  EXPECT_TRUE(net->left.empty());
  expectNear(net->run({four}), {30, -0.5f}, 0.13);
  std::string zeros = "subgraph @main(%x: f32[1,4]) -> (%y) {\n"
                      "  %w: f32[2,4] = const splat 0\n"
                      "  %b: f32[2] = const [1, -0.5]\n"
                      "  %y: f32[1,2] = FULLY_CONNECTED(%x, %w, %b)\n}\n";
  net = quantised(zeros, {}, {four});
  EXPECT_TRUE(net->left.empty());
  expectNear(net->run({four}), {1, -0.5f}, 0.006);
  commands::TfliteScheme perTensor;
  perTensor.perChannel = false;
  net = quantised("subgraph @main(%x: f32[1,2,2,1]) -> (%y) {\n"
                  "  %w: f32[2,1,1,1] = const [1e-08, 1e-08]\n"
                  "  %b: f32[2] = const [1, -0.5]\n"
                  "  %y: f32[1,2,2,2] = CONV_2D(%x, %w, %b) {padding=VALID, stride_w=1, stride_h=1}\n}\n",
                  perTensor, {four});
  EXPECT_TRUE(net->left.empty());
  expectNear(net->run({four}), {1, -0.5f, 1, -0.5f, 1, -0.5f, 1, -0.5f}, 0.006);
}

/// Runtimes add 16 times 8 bits up in 32 where there is no bias of 64.
TEST(QuantizerNumbers, LongSumsOf16BitsHaveABias) {
  commands::TfliteScheme wide;
  wide.name = SchemeName::Int16x8;
  for (int depth : {516, 517}) {
    std::string size = std::to_string(depth);
    auto net = quantised("subgraph @main(%x: f32[1," + size + "]) -> (%y) {\n  %w: f32[2," + size +
                             "] = const splat 0.01\n  %y: f32[1,2] = FULLY_CONNECTED(%x, %w, _)\n}\n",
                         wide, {std::vector<float>(static_cast<size_t>(depth), 1.f)});
    const Operator *op = net->find(BuiltinOperator::FULLY_CONNECTED);
    ASSERT_TRUE(op && net->left.empty());
    const Value *bias = op->operand(2);
    ASSERT_EQ(bias != nullptr, depth == 517);
    if (!bias)
      continue;
    EXPECT_EQ(bias->type, INT64);
    EXPECT_EQ(llvm::ArrayRef<int32_t>(bias->shape), llvm::ArrayRef<int32_t>({2}));
    EXPECT_TRUE(llvm::all_of(bias->payload().bytes(), [](uint8_t byte) { return byte == 0; }));
  }
}

/// What a tensor without a tenth of a step in it is added to has a scale that kernels take.
TEST(QuantizerNumbers, ScalesAreNotTooFarApart) {
  struct Case {
    const char *op;
    std::vector<float> record, want;
    double bound;
  };
  for (
      const Case &one :
      {Case{"%c: f32[1] = const [1e-06]\n%r: f32[1,4] = RELU(%x)\n%y: f32[1,4] = ADD(%r, %c)",
            {-1, -1, -1, -1},
            {1e-6f, 1e-6f, 1e-6f, 1e-6f},
            1e-8},
       Case{
           "%c: f32[1] = const [1e-07]\n%z: f32[1] = const [0]\n%t: f32[1,4] = MUL(%x, %c)\n%y: f32[1,4] = ADD(%t, %z)",
           four,
           {-1e-7f, -0.5e-7f, 0.5e-7f, 1e-7f},
           1e-9},
       Case{
           "%c: f32[1] = const [1e-07]\n%z: f32[1] = const [0]\n%t: f32[1,4] = MUL(%x, %c)\n%y: f32[1,4] = SUB(%z, %t)",
           four,
           {1e-7f, 0.5e-7f, -0.5e-7f, -1e-7f},
           1e-9},
       Case{"%c: f32[1] = const [1e9]\n%t: f32[1,4] = MUL(%x, %c)\n%y: f32[1,4] = SUB(%t, %t)", four, {0, 0, 0, 0}, 0},
       Case{"%c: f32[1] = const [1e6]\n%t: f32[1,4] = MUL(%x, %c)\n%y: f32[1,4] = SQUARED_DIFFERENCE(%t, %t)",
            four,
            {0, 0, 0, 0},
            0}})
    for (SchemeName scheme : {SchemeName::Int8, SchemeName::Int16x8}) {
      SCOPED_TRACE(one.op);
      commands::TfliteScheme asked;
      asked.name = scheme;
      auto net =
          quantised(std::string("subgraph @main(%x: f32[1,4]) -> (%y) {\n") + one.op + "\n}\n", asked, {one.record});
      bool wide = scheme == SchemeName::Int16x8;
      EXPECT_TRUE(net->left.empty() || wide) << net->left.front().why;
      expectNear(net->run({one.record}), one.want, one.bound);
      for (const Operator &op : net->model->subgraphs[0]->operators) {
        if (op.result()->type != INT8 && op.result()->type != INT16)
          continue;
        double twice = op.numOperands() > 1 ? 2 * std::max(scaleOf(op.operand(0)), scaleOf(op.operand(1))) : 0;
        if (op.code == BuiltinOperator::ADD || op.code == BuiltinOperator::SUB) {
          EXPECT_LT(twice, (wide ? 0x1p15 : 0x1p20) * scaleOf(op.result()));
        }
        if (op.code == BuiltinOperator::SQUARED_DIFFERENCE && !wide) {
          EXPECT_LT(twice * twice, 0x1p14 * scaleOf(op.result()));
        }
      }
    }
}

/// Bounds that are no integers of 32 bits, quotients of scales that are no floats.
TEST(QuantizerNumbers, WhatNoKernelTakesStaysFloat) {
  for (auto [text, why] : std::initializer_list<std::pair<const char *, const char *>>{
           {"%y: f32[1,4] q{min=0, max=1e-9} = MUL(%x, %x) {fused_activation_function=RELU6}",
            "bound of its activation"},
           {"%y: f32[1,4] q{min=0, max=1e-9} = ADD(%x, %x) {fused_activation_function=RELU_N1_TO_1}",
            "bound of its activation"},
           {"%y: f32[1,4] q{min=0, max=1e-9} = RELU6(%x)", "bound of its activation"},
           {"%c: f32[1] = const [3e38]\n%y: f32[1,4] q{min=0, max=3e38} = ADD(%x, %c)", "too big"},
           {"%c: f32[4] = const splat 1e30\n%y: f32[1,4] q{min=0, max=1e-36} = PRELU(%x, %c)", "too far apart"}}) {
    auto net = quantised(
        std::string("subgraph @main(%x: f32[1,4] q{min=-1e-10, max=1e-10}) -> (%y) {\n") + text + "\n}\n", {});
    ASSERT_EQ(net->left.size(), 1u) << text;
    EXPECT_NE(net->left[0].why.find(why), std::string::npos) << net->left[0].why;
  }
  // Below it, they go on to be integers.
  auto net = quantised("subgraph @main(%x: f32[1,4] q{min=-1, max=1}) -> (%y) {\n"
                       "%y: f32[1,4] q{min=0, max=1e-5} = MUL(%x, %x) {fused_activation_function=RELU6}\n}\n",
                       {});
  EXPECT_TRUE(net->left.empty());
}

/// Multiplied, what lies beyond the bounds of an activation has to be an integer of 32 bits before it is clamped.
TEST(QuantizerNumbers, WhatIsClampedDoesNotWrapBefore) {
  struct Case {
    const char *reach, *op, *constants = "";
    SchemeName scheme = SchemeName::Int8;
  };
  const char *dense = "FULLY_CONNECTED(%x, %w) {fused_activation_function=RELU6}";
  const char *product = "MUL(%x, %x) {fused_activation_function=RELU6}";
  for (const Case &one :
       {Case{"1e30", "RELU6(%x)"}, Case{"1e30", "RELU_N1_TO_1(%x)"}, Case{"1e5", product},
        Case{"1e5", product, "", SchemeName::Int16x8}, Case{"1e5", dense, "%w: f32[4,4] = const splat 1e5\n"},
        Case{"1", dense, "%w: f32[4,4] = const splat 1e30\n", SchemeName::Int16x8}}) {
    commands::TfliteScheme asked;
    asked.name = one.scheme;
    auto net = quantised(std::string("subgraph @main(%x: f32[1,4] q{min=-") + one.reach + ", max=" + one.reach +
                             "}) -> (%y) {\n" + one.constants + "%y: f32[1,4] q{min=0, max=6} = " + one.op + "\n}\n",
                         asked);
    ASSERT_EQ(net->left.size(), 1u) << one.op;
    EXPECT_EQ(net->left[0].why, "its scales would be too far apart") << one.op;
  }
}

/// Kernels whose steps are their own look at operands more coarsely, or more finely, than these are.
TEST(QuantizerNumbers, KernelsSeeTheStepsOfTheirOperands) {
  struct Case {
    const char *reach, *op, *why = "";
    SchemeName scheme = SchemeName::Int8;
  };
  const char *steps = "a comparison of integers looks at steps of 1/256, and its operands have finer ones";
  const char *table = "kernels of 16 bits have a table for it that its operand's scale does not fit";
  const char *greater = "bool[1,4] = GREATER(%x, %x)", *equal = "bool[1,4] = EQUAL(%x, %x)";
  const char *tanh = "f32[1,4] = TANH(%x)", *norm = "f32[1,4] = L2_NORMALIZATION(%x)";
  for (const Case &one :
       {Case{"0.6", greater}, Case{"0.4", greater, steps}, Case{"1e-4", equal, steps},
        Case{"1e4", tanh, "", SchemeName::Int16x8}, Case{"1e5", tanh, table, SchemeName::Int16x8},
        Case{"1e-10", "f32[1,4] = LOGISTIC(%x)", table, SchemeName::Int16x8}, Case{"1", norm},
        Case{"1e-5", norm, "kernels of integers do not see that it divides by 1e-6 at least"},
        Case{"1e10", "f32[1,4] q{min=0, max=1e10} = HARD_SWISH(%x)", "its operand's scale would be too big"}}) {
    commands::TfliteScheme asked;
    asked.name = one.scheme;
    auto net = quantised(std::string("subgraph @main(%x: f32[1,4] q{min=-") + one.reach + ", max=" + one.reach +
                             "}) -> (%y) {\n%y: " + one.op + "\n}\n",
                         asked);
    ASSERT_EQ(net->left.size(), *one.why ? 1u : 0u) << one.op << one.reach;
    EXPECT_EQ(net->left.empty() ? "" : net->left[0].why, one.why) << one.op << one.reach;
  }
  // A pool has the scale of what it pools.
  const char *coarse =
      "the bounds of its activation are less than 16 steps apart, for its result has the scale of its operand";
  for (auto [reach, why] : {std::pair("40", ""), std::pair("1000", coarse)}) {
    auto net = quantised(std::string("subgraph @main(%x: f32[1,2,2,1] q{min=0, max=") + reach +
                             "}) -> (%y) {\n%y: f32[1,1,1,1] q{min=0, max=6} = MAX_POOL_2D(%x) {padding=VALID, "
                             "stride_w=1, stride_h=1, filter_width=2, filter_height=2, "
                             "fused_activation_function=RELU6}\n}\n",
                         {});
    ASSERT_EQ(net->left.size(), *why ? 1u : 0u) << reach;
    EXPECT_EQ(net->left.empty() ? "" : net->left[0].why, why);
  }
}

/// The converter's floor is for channels that are next to nothing beside others.
TEST(QuantizerNumbers, WeightsThatAreAllTinyAreNotNothing) {
  auto net = quantised("subgraph @main(%x: f32[1,4]) -> (%y) {\n"
                       "  %s: f32[] = const [1e9]\n  %w: f32[2,4] = const [1e-9, 0, 0, 0, 0, 0, 0, 2e-9]\n"
                       "  %h: f32[1,4] = MUL(%x, %s)\n  %y: f32[1,2] = FULLY_CONNECTED(%h, %w)\n}\n",
                       {}, {four});
  EXPECT_TRUE(net->left.empty());
  expectNear(net->run({four}), {-1, 2}, 0.03);
  // A channel that has next to no weights has its bias in 16 bits, too.
  commands::TfliteScheme wide;
  wide.name = SchemeName::Int16x8;
  net = quantised("subgraph @main(%x: f32[1,2,2,1]) -> (%y) {\n"
                  "  %w: f32[2,1,1,1] = const [1e-30, 30]\n  %b: f32[2] = const [1, 0]\n"
                  "  %y: f32[1,2,2,2] = CONV_2D(%x, %w, %b) {padding=VALID, stride_w=1, stride_h=1}\n}\n",
                  wide, {four});
  EXPECT_TRUE(net->left.empty());
  expectNear(net->run({four}), {1, -30, 1, -15, 1, 15, 1, 30}, 0.2);
}

/// Places that nothing is written to are 0, and what is written twice adds up.
TEST(QuantizerNumbers, ScatterNdLeavesZeros) {
  std::string scatter = "subgraph @main(%x: f32[3]) -> (%y) {\n"
                        "  %i: i32[3,1] = const [0, 2, 2]\n  %s: i32[1] = const [4]\n"
                        "  %y: f32[4] = SCATTER_ND(%i, %x, %s)\n}\n";
  for (SchemeName scheme : {SchemeName::Int8, SchemeName::Int16x8}) {
    commands::TfliteScheme asked;
    asked.name = scheme;
    auto net = quantised(scatter, asked, {{2, 3, 4}});
    EXPECT_TRUE(net->left.empty() || scheme == SchemeName::Int16x8);
    expectNear(net->run({{2, 3, 4}}), {2, 0, 7, 0}, 0.06);
    EXPECT_EQ(net->run({{2, 3, 4}})[1], 0);
  }
  // Halves of a step add up as well.
  expectNear(quantised(scatter, {}, {{0, 3.25f, 3.25f}})->run({{0, 3.25f, 3.25f}}), {0, 0, 6.5f, 0}, 0.06);
  // Nor does who reads it ask for another zero point.
  auto net = quantised("subgraph @main(%x: f32[3], %z: f32[4]) -> (%y) {\n"
                       "  %i: i32[3,1] = const [0, 2, 2]\n  %s: i32[1] = const [4]\n"
                       "  %t: f32[4] = SCATTER_ND(%i, %x, %s)\n"
                       "  %y: f32[8] = CONCATENATION(%t, %z) {axis=0}\n}\n",
                       {}, {{2, 3, 4}, {1, 2, 3, 9}});
  expectNear(net->run({{2, 3, 4}, {1, 2, 3, 9}}), {2, 0, 7, 0, 1, 2, 3, 9}, 0.06);
}

/// Runtimes differ in what they make of another zero point of what an LSTM remembers.
TEST(QuantizerNumbers, AnLstmRemembersAroundZero) {
  std::string text = "subgraph @main(%x: f32[1,3,2], %z: f32[1,3,2]) -> (%y) {\n";
  for (const char *gate : {"i", "f", "c", "o"}) {
    text += std::string("  %w") + gate + ": f32[2,2] = const [0.5, -0.25, 0.75, 0.1]\n";
    text += std::string("  %r") + gate + ": f32[2,2] = const [0.2, 0.3, -0.4, 0.6]\n";
    text += std::string("  %b") + gate + ": f32[2] = const [0.1, -0.1]\n";
  }
  text +=
      "  %h0: f32[1,2] variable\n  %c0: f32[1,2] variable\n"
      "  %h: f32[1,3,2] = UNIDIRECTIONAL_SEQUENCE_LSTM(%x, %wi, %wf, %wc, %wo, %ri, %rf, %rc, %ro, _, _, _, %bi, %bf, "
      "%bc, %bo, _, _, %h0, %c0) {fused_activation_function=TANH}\n"
      "  %y: f32[1,3,4] = CONCATENATION(%h, %z) {axis=2}\n}\n";
  std::vector<std::vector<float>> record{{0.5f, 1, -0.3f, 0.8f, 0.9f, 0.7f}, {0, 1, 2, 3, 1, 2}};
  auto net = quantised(text, {}, record);
  EXPECT_TRUE(net->left.empty());
  const Operator *lstm = net->find(BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM);
  ASSERT_TRUE(lstm);
  EXPECT_EQ(lstm->result()->quantization->zeroPoint[0], 0);
  EXPECT_EQ(lstm->operand(18)->quantization->zeroPoint[0], 0);
  EXPECT_EQ(scaleOf(lstm->operand(18)), scaleOf(lstm->result())); // whatever who reads it asks for
  PayloadStore store;
  auto source = parseText(head + text, "", store);
  ASSERT_TRUE(static_cast<bool>(source));
  Quantised plain;
  plain.model = std::move(*source);
  expectNear(net->run(record), plain.run(record), 0.01);
}

const std::string shared = "subgraph @one(%x: f32[1,32]) -> (%y) {\n"
                           "  %w: f32[64,32] = const #5 seed 1 normal 0 1\n"
                           "  %y: f32[1,64] = FULLY_CONNECTED(%x, %w, _)\n}\n"
                           "subgraph @many(%x: f32[8,32]) -> (%y) {\n"
                           "  %w: f32[64,32] = const #5\n"
                           "  %y: f32[8,64] = FULLY_CONNECTED(%x, %w, _)\n}\n"
                           "signature \"one\" @one inputs(\"x\"=%x) outputs(\"y\"=%y)\n"
                           "signature \"many\" @many inputs(\"x\"=%x) outputs(\"y\"=%y)\n";

const Value *weightsIn(const Model &model, size_t graph) {
  for (const Value *value : model.subgraphs[graph]->values)
    if (!value->erased() && value->isConstant() && value->payload().size() >= 64 * 32 / 2)
      return value;
  return nullptr;
}

/// A weight of several signatures is stored once, and is each one's own in the map.
TEST(QuantizerNumbers, SharedWeightsStayOneBuffer) {
  for (SchemeName scheme :
       {SchemeName::Int8, SchemeName::Int16x8, SchemeName::Dynamic, SchemeName::Weights, SchemeName::Float16})
    for (int32_t block : {0, 32}) {
      commands::TfliteScheme asked;
      asked.name = scheme;
      if (block && scheme != SchemeName::Dynamic)
        continue;
      asked.blockSize = block;
      asked.fourBits = block > 0;
      auto net = quantised(shared, asked, {std::vector<float>(8 * 32, 0.5f)});
      const Value *a = weightsIn(*net->model, 0), *b = weightsIn(*net->model, 1);
      ASSERT_TRUE(a && b);
      EXPECT_NE(a->type, FLOAT32);
      EXPECT_EQ(a->buffer, b->buffer);
      ASSERT_TRUE(a->relations.size() == 1 && b->relations.size() == 1);
      EXPECT_NE(a->relations.front().tensor, b->relations.front().tensor);
      if (block) {
        EXPECT_EQ(a->quantization->more->scales->buffer, b->quantization->more->scales->buffer);
      }
      // Nor does what folds it again make two of it.
      ASSERT_FALSE(runPipeline(*net->model, Pipeline::o1(), net->store));
      a = weightsIn(*net->model, 0), b = weightsIn(*net->model, 1);
      ASSERT_TRUE(a && b);
      EXPECT_EQ(a->buffer, b->buffer);
    }
}

/// Weights alone: a table of rows and a constant matrix count, and what stays float is told.
TEST(QuantizerNumbers, WeightsAloneAreAllTold) {
  std::string embedding =
      "subgraph @main(%x: f32[1,1,64], %i: i32[3]) -> (%y, %z) {\n"
      "  %w: f32[64,64] = const seed 1 normal 0 1\n  %v: f32[1,64,32] = const seed 2 normal 0 1\n"
      "  %y: f32[3,64] = EMBEDDING_LOOKUP(%i, %w)\n  %z: f32[1,1,32] = BATCH_MATMUL(%x, %v) {}\n}\n";
  for (SchemeName scheme : {SchemeName::Dynamic, SchemeName::Weights}) {
    commands::TfliteScheme asked;
    asked.name = scheme;
    auto net = quantised(embedding, asked);
    EXPECT_TRUE(net->left.empty());
    for (const Value *value : net->model->subgraphs[0]->values)
      if (value->isConstant()) {
        EXPECT_EQ(value->type, INT8) << value->name.str();
      }
    EXPECT_EQ(net->find(BuiltinOperator::DEQUANTIZE) != nullptr, scheme == SchemeName::Weights);
    asked.leastElements = 4000;
    net = quantised(embedding, asked);
    ASSERT_EQ(net->left.size(), 1u);
    EXPECT_EQ(net->left[0].why, "its weights have fewer than 4000 elements (--min-elements)");
    net = quantised("subgraph @main(%i: i32[3]) -> (%y) {\n  %w: f32[64,64] = const seed 1 normal 0 1\n"
                    "  %y: f32[3,64] = GATHER(%w, %i) {axis=0}\n}\n",
                    asked);
    ASSERT_EQ(net->left.size(), 1u);
  }
}

/// LiteRT leaves an activation out that is fused beside weights by blocks.
TEST(QuantizerNumbers, NothingIsFusedBesideBlocks) {
  commands::TfliteScheme asked;
  asked.name = SchemeName::Dynamic;
  asked.fourBits = true;
  asked.blockSize = 32;
  for (auto [activation, code] :
       {std::pair("RELU", BuiltinOperator::RELU), std::pair("RELU6", BuiltinOperator::RELU6)}) {
    auto net = quantised("subgraph @main(%x: f32[1,32]) -> (%y) {\n  %w: f32[32,32] = const seed 1 normal 0 1\n"
                         "  %y: f32[1,32] = FULLY_CONNECTED(%x, %w, _) {fused_activation_function=" +
                             std::string(activation) + "}\n}\n",
                         asked);
    EXPECT_TRUE(net->left.empty());
    const Operator *dense = net->find(BuiltinOperator::FULLY_CONNECTED), *behind = net->find(code);
    ASSERT_TRUE(dense && behind);
    EXPECT_EQ(activationOf(*dense), circle::ActivationFunctionType::NONE);
    EXPECT_EQ(behind->operand(0), dense->result());
    EXPECT_EQ(behind->result()->name.text(), "y");
    EXPECT_EQ(dense->operand(1)->type, INT4);
  }
}

/// TensorFlow Lite's kernel reads no transposed convolution's weights of 4 bits.
TEST(QuantizerNumbers, FourBitsAreForKernelsThatRuntimesHave) {
  commands::TfliteScheme asked;
  asked.name = SchemeName::Int8;
  asked.fourBits = true;
  auto net = quantised("subgraph @main(%x: f32[1,4,4,8]) -> (%y) {\n  %o: i32[4] = const [1, 8, 8, 2]\n"
                       "  %w: f32[2,3,3,8] = const seed 1 uniform -1 1\n"
                       "  %y: f32[1,8,8,2] = TRANSPOSE_CONV(%o, %w, %x) {stride_w=2, stride_h=2, padding=SAME}\n}\n",
                       asked, {std::vector<float>(128, 1)});
  ASSERT_EQ(net->left.size(), 1u);
  EXPECT_EQ(net->left[0].why, "there is no kernel for i32, i4, i8 -> i8");
}

/// Constants are finite though no record shows what follows from them.
TEST(QuantizerNumbers, ConstantsAreNoFaultOfRecords) {
  auto net = quantised("subgraph @main(%x: f32[1,4]) -> (%y) {\n"
                       "  %w: i8[4] q{scale=0.1, zero_point=0} = const [1, 2, 3, 4]\n  %d: f32[4] = DEQUANTIZE(%w)\n"
                       "  %y: f32[1,4] = ADD(%x, %d)\n}\n",
                       {}, {four}); // which expects that none is told of
  ASSERT_EQ(net->left.size(), 1u);
  EXPECT_NE(net->left[0].why.find("\"d\" follows from constants"), std::string::npos) << net->left[0].why;
}

TEST(QuantizerNumbers, ARecipeIsNotSaidToAskForWhatItDoesNot) {
  PayloadStore store;
  auto model = parseText(head + "subgraph @main(%x: f32[1,4]) -> (%y, %z) {\n  %y: f32[1,4] = SIN(%x)\n"
                                "  %z: f32[1,4] = TANH(%x)\n}\n",
                         "", store);
  ASSERT_TRUE(static_cast<bool>(model));
  Scheme scheme;
  auto vain = readRecipe(R"([{"regex": "z", "operation": "*", "algorithm_key": "no_quantize"}])", **model, scheme);
  ASSERT_TRUE(static_cast<bool>(vain)) << llvm::toString(vain.takeError());
  std::vector<Unquantized> left;
  ASSERT_FALSE(runPipeline(**model, Pipeline::quantization(planBy(scheme, &left)), store));
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].why, "no entry of the recipe is about it");
  EXPECT_EQ(left[1].why, "the recipe says no_quantize");
}

/// Inputs have one order, whatever that of a signature.
TEST(QuantizerNumbers, RecordsAreInTheOrderOfTheSubgraph) {
  std::string text = "subgraph @main(%big: f32[1,4], %small: f32[1,4]) -> (%y) {\n"
                     "  %y: f32[1,4] = ADD(%big, %small)\n}\n"
                     "signature \"s\" @main inputs(\"a\"=%small, \"b\"=%big) outputs(\"y\"=%y)\n";
  auto net = quantised(text, {}, {{-100, 0, 50, 100}, four});
  const Operator *add = net->find(BuiltinOperator::ADD);
  ASSERT_TRUE(add);
  EXPECT_NEAR(scaleOf(add->operand(0)), 200. / 255, 1e-5);
  EXPECT_NEAR(scaleOf(add->operand(1)), 2. / 255, 1e-5);
}

} // namespace
