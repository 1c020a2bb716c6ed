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
constexpr auto f32 = TensorType::FLOAT32, f16 = TensorType::FLOAT16, bf16 = TensorType::BFLOAT16,
               f64 = TensorType::FLOAT64, i8 = TensorType::INT8, u8 = TensorType::UINT8, i16 = TensorType::INT16,
               u16 = TensorType::UINT16, i32 = TensorType::INT32, u32 = TensorType::UINT32, i64 = TensorType::INT64,
               i4 = TensorType::INT4, u4 = TensorType::UINT4, boolean = TensorType::BOOL, text = TensorType::STRING,
               c64 = TensorType::COMPLEX64, i2 = TensorType(19), f8 = TensorType(21), f8e5m2 = TensorType(22);

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

/// What the rules of LiteRT's op_version.cc give by types alone, for operands of four dimensions without scales: the
/// operands, the result, the version.
TEST_F(VersionsTest, ByTheConvertersRules) {
  struct Row {
    Op code;
    std::vector<TensorType> operands;
    TensorType result;
    int32_t version;
  };
  std::vector<Row> rows = {
      {Op::CAST, {f32}, i32, 1},
      {Op::CAST, {u8}, f32, 1},
      {Op::CAST, {i64}, boolean, 1},
      {Op::CAST, {u32}, f32, 2},
      {Op::CAST, {i8}, u32, 3},
      {Op::CAST, {f32}, i8, 3},
      {Op::CAST, {i8}, u16, 4},
      {Op::CAST, {u16}, f64, 5},
      {Op::CAST, {f32}, f16, 5},
      {Op::CAST, {f16}, i8, 5},
      {Op::CAST, {i4}, f32, 6},
      {Op::CAST, {f32}, i4, 1},
      {Op::CAST, {bf16}, f16, 7},
      {Op::CAST, {i2}, bf16, 8},
      {Op::CAST, {f32}, u4, 8},
      {Op::CAST, {f8}, i2, 9},
      {Op::CAST, {f32}, f8e5m2, 9},
      {Op::QUANTIZE, {f32}, u8, 1},
      {Op::QUANTIZE, {i16}, i8, 1},
      {Op::QUANTIZE, {i8}, i16, 2},
      {Op::QUANTIZE, {f32}, i4, 4},
      {Op::QUANTIZE, {i4}, u4, 5},
      {Op::BATCH_MATMUL, {i8, i8}, i32, 2},
      {Op::BATCH_MATMUL, {i8, f32}, f32, 2},
      {Op::BATCH_MATMUL, {i16, i16}, i16, 3},
      {Op::BATCH_MATMUL, {i16, i8}, i16, 3},
      {Op::GATHER, {f32, i16}, f32, 6},
      {Op::GATHER, {i4, i16}, i4, 7},
      {Op::GATHER, {f8, i16}, f8, 8},
      {Op::GATHER_ND, {f32, i32}, f32, 1},
      {Op::GATHER_ND, {text, i32}, text, 2},
      {Op::GATHER_ND, {i16, i32}, i16, 3},
      {Op::GATHER_ND, {i16, i16}, i16, 4},
      {Op::GATHER_ND, {boolean, i16}, boolean, 5},
      {Op::GATHER_ND, {f8e5m2, i32}, f8e5m2, 6},
      {Op::EMBEDDING_LOOKUP, {i32, f32}, f32, 1},
      {Op::EMBEDDING_LOOKUP, {i32, i8}, f32, 1},
      {Op::EMBEDDING_LOOKUP, {i32, i4}, f32, 4},
      {Op::EMBEDDING_LOOKUP, {i32, i2}, f32, 5},
      {Op::FULLY_CONNECTED, {i16, i16, i64}, i16, 7},
      {Op::FULLY_CONNECTED, {i16, i4, i32}, i16, 13},
      {Op::FULLY_CONNECTED, {f32, i2, f32}, f32, 14},
      {Op::FULLY_CONNECTED, {i8, i2}, i8, 14},
      {Op::SELECT, {boolean, u32, u32}, u32, 4},
      {Op::SELECT, {boolean, i8, i8}, i8, 2},
      {Op::SELECT_V2, {boolean, u32, u32}, u32, 2},
      {Op::LSTM, {i16, i8, i8}, i16, 5},
      {Op::UNIDIRECTIONAL_SEQUENCE_LSTM, {i16, i8, i8}, i16, 5},
      {Op::DYNAMIC_UPDATE_SLICE, {f32, f32, i32}, f32, 1},
      {Op::DYNAMIC_UPDATE_SLICE, {f32, f32, i64}, f32, 2},
      {Op::DYNAMIC_UPDATE_SLICE, {f16, f16, i64}, f16, 3},
      {Op::DYNAMIC_UPDATE_SLICE, {i16, i16, i64}, i16, 4},
      {Op::DYNAMIC_UPDATE_SLICE, {i4, i4, i32}, i4, 5},
      {Op::DYNAMIC_UPDATE_SLICE, {bf16, bf16, i32}, bf16, 6},
      {Op::TOPK_V2, {i8, i32}, i8, 2},
      {Op::TOPK_V2, {i16, i32}, i16, 3},
      {Op::TOPK_V2, {f32, i16}, f32, 3},
  };
  // Those that look at the operands' type, which all of them have.
  auto add = [&](Op code, std::vector<std::pair<TensorType, int32_t>> versions, unsigned operands = 1) {
    for (auto [type, version] : versions)
      rows.push_back({code, std::vector<TensorType>(operands, type), type, version});
  };
  add(Op::ABS, {{f32, 1}, {i8, 2}, {u8, 2}, {i16, 4}, {i32, 5}});
  add(Op::SQRT, {{f32, 1}, {i8, 2}, {i16, 2}});
  add(Op::RSQRT, {{f32, 1}, {i8, 2}, {i16, 3}});
  for (Op code : {Op::EXP, Op::LOG})
    add(code, {{f32, 1}, {i8, 2}, {i16, 2}});
  for (Op code : {Op::SIN, Op::COS})
    add(code, {{f32, 1}, {f16, 2}});
  add(Op::GELU, {{f32, 1}, {i8, 2}, {u8, 2}, {f16, 3}});
  add(Op::SOFTMAX, {{f32, 1}, {i8, 2}, {i16, 3}, {f16, 4}});
  add(Op::RELU, {{f32, 1}, {i8, 2}, {u8, 2}, {i16, 3}});
  add(Op::RELU6, {{f32, 1}, {u8, 1}, {i8, 2}, {i16, 3}});
  add(Op::ADD, {{f32, 1}, {i8, 2}, {i64, 4}, {i16, 5}, {f16, 6}}, 2);
  add(Op::MUL, {{f32, 1}, {i8, 2}, {i64, 5}, {c64, 6}, {i16, 7}, {u32, 7}, {f16, 8}}, 2);
  for (Op code : {Op::MAXIMUM, Op::MINIMUM})
    add(code, {{f32, 1}, {i8, 2}, {i16, 4}}, 2);
  add(Op::EQUAL, {{f32, 1}, {i8, 2}, {text, 3}, {i16, 5}}, 2);
  add(Op::NOT_EQUAL, {{f32, 1}, {i8, 2}, {text, 3}, {i16, 4}}, 2);
  for (Op code : {Op::LESS, Op::GREATER_EQUAL})
    add(code, {{f32, 1}, {i8, 2}, {i16, 3}}, 2);
  for (Op code : {Op::GREATER, Op::LESS_EQUAL})
    add(code, {{f32, 1}, {i8, 2}, {i16, 1}}, 2);
  add(Op::CONCATENATION, {{f32, 1}, {i8, 2}, {i16, 3}, {u32, 4}, {i4, 5}, {f16, 6}, {f8, 7}}, 2);
  add(Op::PACK, {{f32, 1}, {i8, 2}, {i16, 3}, {u32, 4}, {f8, 5}}, 2);
  add(Op::UNPACK, {{f32, 1}, {i8, 2}, {u8, 2}, {boolean, 3}, {i16, 4}, {f16, 5}, {bf16, 5}, {f8e5m2, 6}});
  add(Op::SPLIT_V, {{f32, 1}, {i8, 2}, {f8, 3}});
  add(Op::TILE, {{f32, 1}, {i16, 1}, {text, 2}, {i8, 3}});
  add(Op::REVERSE_V2, {{f32, 1}, {boolean, 2}, {i8, 3}, {f8, 4}});
  add(Op::BROADCAST_TO, {{f32, 2}, {i8, 3}, {i16, 3}, {f8, 4}});
  add(Op::SLICE, {{f32, 1}, {i8, 2}, {text, 3}, {i16, 4}, {u32, 6}, {i4, 7}, {f16, 8}});
  add(Op::TRANSPOSE, {{f32, 1}, {i8, 2}, {boolean, 3}, {i16, 5}, {i4, 7}, {bf16, 8}, {f16, 9}});
  add(Op::DEQUANTIZE, {{u8, 1}, {i8, 2}, {i16, 3}, {f16, 3}, {i4, 6}, {i2, 7}, {u4, 8}, {f8, 9}});
  for (Op code : {Op::PAD, Op::PADV2})
    add(code, {{f32, 1}, {i8, 2}, {i16, 3}, {boolean, 5}, {f8, 6}});
  for (TensorType type : {f32, i8, i32, i16, f8}) // operand 0 is the axis
    rows.push_back({Op::SPLIT,
                    {i32, type},
                    type,
                    type == i8    ? 2
                    : type == i32 ? 3
                    : type == i16 ? 4
                    : type == f8  ? 5
                                  : 1});
  for (TensorType type : {f32, boolean, i8, f16, f8}) // operand 0 is the shape
    rows.push_back({Op::FILL,
                    {i32, type},
                    type,
                    type == boolean ? 2
                    : type == i8    ? 3
                    : type == f16   ? 4
                    : type == f8    ? 5
                                    : 1});
  for (const Row &row : rows) {
    llvm::SmallVector<Value *> operands;
    for (TensorType type : row.operands)
      operands.push_back(g.tensor({1, 2, 2, 2}, type));
    std::string what = operatorInfo(row.code)->name.str() + " of " + tensorTypeShortName(row.operands[0]).str();
    EXPECT_EQ(lowestVersion(op(row.code, operands, row.result)), row.version) << what;
    // The published table has no runtime for a recurrent network in 16 bits.
    bool recurrent = row.code == Op::LSTM || row.code == Op::UNIDIRECTIONAL_SEQUENCE_LSTM;
    EXPECT_EQ(runtimeOf(row.code, row.version).empty(), recurrent) << what << ", version " << row.version;
  }
  Value *rank7 = g.tensor({1, 1, 1, 1, 1, 1, 2}), *rank6 = g.tensor({1, 1, 1, 1, 1, 2}),
        *rank5 = g.tensor({1, 1, 1, 1, 2});
  Value *one = g.tensor({1}), *bits16 = g.tensor({1, 1, 1, 1, 2}, i16);
  EXPECT_EQ(lowestVersion(op(Op::TRANSPOSE, {rank7, one})), 8);
  EXPECT_EQ(lowestVersion(op(Op::TRANSPOSE, {rank6, one})), 6);
  EXPECT_EQ(lowestVersion(op(Op::MAXIMUM, {rank5, one})), 3);
  EXPECT_EQ(lowestVersion(op(Op::MAXIMUM, {rank5, rank5})), 1);
  EXPECT_EQ(lowestVersion(op(Op::MINIMUM, {bits16, g.tensor({1}, i16)}, i16)), 4);
  EXPECT_EQ(lowestVersion(op(Op::SELECT, {g.tensor({1, 1, 1, 1, 2}, boolean), one, one})), 3);
  EXPECT_EQ(lowestVersion(op(Op::SELECT, {g.tensor({1}, boolean), one, rank5})), 3);
  // Rows of a table with a scale each; one scale is what the first version has.
  EXPECT_EQ(lowestVersion(op(Op::EMBEDDING_LOOKUP, {g.tensor({1}, i32), scaled({2, 4}, i8, {1, 2})})), 4);
  EXPECT_EQ(lowestVersion(op(Op::EMBEDDING_LOOKUP, {g.tensor({1}, i32), scaled({2, 4}, i8, {1})})), 1);
}

TEST_F(VersionsTest, Runtime) {
  EXPECT_EQ(runtimeOf(Op::ARG_MAX, 3), "2.9.0");
  EXPECT_EQ(runtimeOf(Op::CAST, 4), "2.9.0");
  EXPECT_EQ(runtimeOf(Op::CAST, 9), "2.23.0");
  EXPECT_EQ(runtimeOf(Op::GATHER_ND, 2), "2.3.0");
  EXPECT_EQ(runtimeOf(Op::GATHER_ND, 3), "2.5.0");
  EXPECT_EQ(runtimeOf(Op::GATHER_ND, 4), "2.13.0");
  EXPECT_EQ(runtimeOf(Op::GATHER_ND, 5), "2.16.0");
  EXPECT_EQ(runtimeOf(Op::TRANSPOSE, 7), "2.14.4");
  EXPECT_EQ(runtimeOf(Op::DYNAMIC_UPDATE_SLICE, 3), "2.19.0");
  EXPECT_EQ(runtimeOf(Op::STABLEHLO_GATHER, 1), "2.16.0");
  EXPECT_EQ(runtimeOf(Op::STABLEHLO_SCATTER, 1), "2.15.0");
  EXPECT_EQ(runtimeOf(Op::STABLEHLO_CBRT, 1), "2.17.0");
  EXPECT_EQ(runtimeOf(Op::FULLY_CONNECTED, 14), "2.21.0");
  EXPECT_EQ(runtimeOf(Op::CONV_2D, 1), "1.5.0");
  EXPECT_EQ(runtimeOf(Op::FULLY_CONNECTED, 13), "2.18.0");
  EXPECT_EQ(runtimeOf(Op::BROADCAST_TO, 1), "");
  EXPECT_EQ(runtimeOf(Op::CONV_2D, 0), "");
  EXPECT_EQ(runtimeOf(Op::CONV_2D, -1), "");
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

void versionsAreThoseOfConverters(const ModelFolder &models, size_t leastOperators, size_t leastStated) {
  // Only networks that a converter wrote: what was made by hand or by a recipe has version 1 throughout.
  // Writers that gave lower versions than the rules: the float16 rewriter of old converters said 2 for DEQUANTIZE, and
  // meet_segm also keeps 1 for what its rules came later; the others are one operator each of older rules.
  const std::set<std::string> lower = {"DEQUANTIZE 2 3", "FULLY_CONNECTED 1 5", "RESIZE_BILINEAR 1 3",
                                       "BATCH_MATMUL 1 3", "CONV_2D 3 4"};
  size_t operators = 0, equal = 0, atMost = 0, stated = 0, sameRuntime = 0;
  std::map<std::string, size_t> outliers;
  for (const std::string &file : models.all()) {
    auto imported = importModel(file);
    if (!imported) {
      llvm::consumeError(imported.takeError());
      continue;
    }
    const Model &model = *imported->model;
    bool network = llvm::sys::path::parent_path(file) == models.path && model.format == Format::Tflite;
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
  EXPECT_GE(operators, leastOperators);
  EXPECT_GE(atMost * 100, operators * 90) << atMost << " of " << operators;
  EXPECT_GE(equal * 100, operators * 85) << equal << " of " << operators;
  // Tools that edit a file after its conversion leave the old number in it.
  EXPECT_GE(stated, leastStated);
  EXPECT_GE(sameRuntime * 100, stated * 70) << sameRuntime << " of " << stated;
}

/// Those that tests/networks/ states are of the same rules, but go through a file.
TEST(Versions, OfModels) { versionsAreThoseOfConverters(ownNetworks(), 2000, 50); }
TEST(VersionsPublicModels, OfModels) { versionsAreThoseOfConverters(publicModels(), 3500, 25); }

} // namespace
