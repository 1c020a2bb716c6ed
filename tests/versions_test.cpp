#include "RealModels.h"
#include "SmallGraph.h"

#include "import/Import.h"
#include "ir/Versions.h"

#include "llvm/ADT/StringExtras.h"

#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace origo;
using namespace origo::test;
using Op = BuiltinOperator;
using flatbuffers::FlatBufferBuilder;

namespace {

constexpr auto none = circle::ActivationFunctionType::NONE;
constexpr auto f32 = TensorType::FLOAT32, i8 = TensorType::INT8, i16 = TensorType::INT16;

struct VersionsTest : testing::Test {
  SmallGraph g;

  Value *scaled(llvm::ArrayRef<int32_t> shape, TensorType type, llvm::ArrayRef<float> scales) {
    Value *value = g.tensor(shape, type);
    Quantization q;
    q.scale = g.model.copy(scales);
    g.model.setQuantization(*value, q);
    return value;
  }
  Operator &op(Op code, llvm::ArrayRef<Value *> operands, TensorType type = f32) {
    return g.op(code, operands, 1, type);
  }
  int32_t conv(TensorType input, TensorType filter, int32_t filterChannels = 8, bool perChannel = false) {
    Value *weights = g.tensor({2, 3, 3, filterChannels}, filter);
    if (perChannel)
      weights = scaled({2, 3, 3, filterChannels}, filter, {1, 2});
    return lowestVersion(op(Op::CONV_2D, {g.tensor({1, 4, 4, 8}, input), weights, nullptr}, input));
  }
  int32_t fullyConnected(TensorType input, TensorType weights, bool bias, bool keepNumDims, bool asymmetric = false) {
    llvm::SmallVector<Value *> operands{g.tensor({1, 4}, input), g.tensor({2, 4}, weights)};
    if (bias)
      operands.push_back(g.tensor({2}));
    auto options = [&](FlatBufferBuilder &b) {
      return circle::CreateFullyConnectedOptions(b, none, circle::FullyConnectedOptionsWeightsFormat::DEFAULT,
                                                 keepNumDims, asymmetric);
    };
    return lowestVersion(g.with(op(Op::FULLY_CONNECTED, operands, input), options));
  }
};

TEST_F(VersionsTest, Convolution) {
  EXPECT_EQ(conv(f32, f32), 1);
  EXPECT_EQ(conv(f32, i8), 2);
  EXPECT_EQ(conv(i8, i8), 3);
  EXPECT_EQ(conv(i16, i8), 4);
  EXPECT_EQ(conv(f32, i8, 8, true), 5);
  EXPECT_EQ(conv(f32, f32, 4), 6);
  auto dilated = [](FlatBufferBuilder &b) {
    return circle::CreateDepthwiseConv2DOptions(b, circle::Padding::SAME, 1, 1, 1, none, 2, 2);
  };
  Value *filter = g.tensor({1, 3, 3, 8});
  EXPECT_EQ(lowestVersion(op(Op::DEPTHWISE_CONV_2D, {g.tensor({1, 4, 4, 8}), filter})), 1);
  EXPECT_EQ(lowestVersion(g.with(op(Op::DEPTHWISE_CONV_2D, {g.tensor({1, 4, 4, 8}), filter}), dilated)), 2);
}

TEST_F(VersionsTest, FullyConnected) {
  EXPECT_EQ(fullyConnected(f32, f32, true, false), 1);
  EXPECT_EQ(fullyConnected(f32, i8, true, false), 3);
  EXPECT_EQ(fullyConnected(i8, i8, true, false), 4);
  EXPECT_EQ(fullyConnected(f32, f32, true, true), 5);
  EXPECT_EQ(fullyConnected(f32, f32, false, true), 6);
  EXPECT_EQ(fullyConnected(i16, i8, true, false), 7);
  EXPECT_EQ(fullyConnected(f32, i8, true, false, true), 9);
}

TEST_F(VersionsTest, ByTypeAndShape) {
  EXPECT_EQ(lowestVersion(op(Op::ADD, {g.tensor({2}), g.tensor({2})})), 1);
  EXPECT_EQ(lowestVersion(op(Op::ADD, {g.tensor({2}, i8), g.tensor({2}, i8)}, i8)), 2);
  EXPECT_EQ(lowestVersion(op(Op::SUB, {g.tensor({1, 2, 3, 4, 5}), g.tensor({5})})), 3);
  EXPECT_EQ(lowestVersion(op(Op::SUB, {g.tensor({1, 2, 3, 4, 5}), g.tensor({1, 2, 3, 4, 5})})), 1);
  Value *half = scaled({2}, TensorType::UINT8, {0.5f}), *two = scaled({2}, TensorType::UINT8, {2});
  Operator &mul = op(Op::MUL, {two, two}, TensorType::UINT8);
  Quantization q = *half->quantization;
  g.model.setQuantization(*mul.result(), q);
  EXPECT_EQ(lowestVersion(mul), 3) << "the product of the scales is larger than the result's";
  EXPECT_EQ(lowestVersion(op(Op::MUL, {half, half}, TensorType::UINT8)), 1);
  EXPECT_EQ(lowestVersion(op(Op::SOFTMAX, {g.tensor({2}, i16)}, i16)), 3);
  EXPECT_EQ(lowestVersion(op(Op::TRANSPOSE, {g.tensor({1, 2, 3, 4, 5}), g.ints({4, 3, 2, 1, 0})})), 4);
  EXPECT_EQ(lowestVersion(op(Op::BROADCAST_TO, {g.tensor({1}), g.ints({2})})), 2);
  EXPECT_EQ(lowestVersion(op(Op::NEG, {g.tensor({1})})), 1);
  EXPECT_EQ(lowestVersion(op(Op::INSTANCE_NORM, {g.tensor({1})})), 1);
  EXPECT_EQ(lowestVersion(op(static_cast<Op>(9999), {})), 1);
  for (const OperatorInfo &info : allOperators()) // nothing but codes known, no operands
    EXPECT_GE(lowestVersion(g.op(info.code, {}, 0)), 1) << info.name.str();
}

TEST_F(VersionsTest, Runtime) {
  EXPECT_EQ(runtimeOf(Op::CONV_2D, 1), "1.5.0");
  EXPECT_EQ(runtimeOf(Op::FULLY_CONNECTED, 13), "2.18.0");
  EXPECT_EQ(runtimeOf(Op::BROADCAST_TO, 1), "");
  EXPECT_EQ(runtimeOf(Op::CONV_2D, 0), "");
  EXPECT_EQ(runtimeOf(Op::CONV_2D, -1), "");
  EXPECT_EQ(runtimeOf(Op::CONV_2D, 14), "");
  EXPECT_EQ(runtimeOf(Op::CONV_2D, 15), "");
  EXPECT_EQ(runtimeOf(Op::INSTANCE_NORM, 1), "");
}

/// "1.14.0" as a number to compare.
std::array<int, 3> numbers(llvm::StringRef version) {
  std::array<int, 3> parts{};
  for (int &part : parts) {
    auto [head, tail] = version.split('.');
    head.getAsInteger(10, part);
    version = tail;
  }
  return parts;
}

std::string minRuntime(const Model &model) {
  for (const MetadataEntry &entry : model.metadata)
    if (entry.name == "min_runtime_version" && entry.buffer) {
      auto bytes = entry.buffer->payload.bytes();
      llvm::StringRef text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
      return text.take_until([](char c) { return c == '\0'; }).str();
    }
  return {};
}

TEST(Versions, RealModels) {
  std::vector<std::string> files = realModels();
  if (files.empty())
    GTEST_SKIP() << "no shared models";
  // Only networks that a converter wrote: what was made by hand or by a recipe has version 1 throughout.
  // Writers that gave lower versions than the rules: the float16 rewriter of old converters said 2 for DEQUANTIZE, and
  // meet_segm also keeps 1 for what its rules came later; the others are one operator each of older rules.
  const std::set<std::string> lower = {"DEQUANTIZE 2 3", "FULLY_CONNECTED 1 5", "RESIZE_BILINEAR 1 3", "CAST 1 2",
                                       "CONV_2D 3 4"};
  size_t operators = 0, equal = 0, atMost = 0, stated = 0, sameRuntime = 0;
  std::map<std::string, size_t> outliers;
  for (const std::string &file : files) {
    auto imported = importModel(file);
    if (!imported) {
      llvm::consumeError(imported.takeError());
      continue;
    }
    const Model &model = *imported->model;
    bool network =
        llvm::sys::path::filename(llvm::sys::path::parent_path(file)) == "models" && model.format == Format::Tflite;
    std::array<int, 3> runtime{};
    for (auto &graph : model.subgraphs)
      for (const Operator &op : graph->operators) {
        runtime = std::max(runtime, numbers(runtimeOf(op.code, op.version)));
        if (!network || op.code == Op::CUSTOM)
          continue;
        int32_t lowest = lowestVersion(op);
        ++operators;
        equal += lowest == op.version;
        atMost += lowest <= op.version;
        if (lowest > op.version)
          ++outliers[op.opName() + " " + std::to_string(op.version) + " " + std::to_string(lowest)];
      }
    if (std::string text = minRuntime(model); network && !text.empty()) {
      ++stated;
      sameRuntime += runtime == numbers(text);
    }
  }
  for (const auto &[what, count] : outliers)
    EXPECT_TRUE(lower.count(what)) << what << " (" << count << " times)";
  EXPECT_GE(operators, 3500u);
  EXPECT_GE(atMost * 100, operators * 90) << atMost << " of " << operators;
  EXPECT_GE(equal * 100, operators * 85) << equal << " of " << operators;
  // Tools that edit a file after its conversion leave the old number in it.
  EXPECT_GE(stated, 25u);
  EXPECT_GE(sameRuntime * 100, stated * 70) << sameRuntime << " of " << stated;
}

} // namespace
