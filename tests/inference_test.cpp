#include "RealModels.h"
#include "SmallGraph.h"

#include "import/Import.h"
#include "ir/Verifier.h"
#include "ir/shapes/Inference.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <limits>
#include <random>

using namespace origo;
using namespace origo::test;
using circle::Padding;
using Op = BuiltinOperator;
using flatbuffers::FlatBufferBuilder;

namespace {

constexpr auto none = circle::ActivationFunctionType::NONE;
constexpr int32_t big = std::numeric_limits<int32_t>::max(), small = std::numeric_limits<int32_t>::min();

/// What the rule says, for example "f32[1,?,3] i32[2]"; "none", or "error" for a contradiction.
std::string infer(const Operator &op) {
  auto results = inferResults(op);
  if (!results) {
    EXPECT_FALSE(llvm::toString(results.takeError()).empty());
    return "error";
  }
  if (results->empty())
    return "none";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::ListSeparator space(" ");
  for (const ResultType &result : *results) {
    os << space << tensorTypeShortName(result.type);
    if (!result.rankKnown) {
      os << "*";
      continue;
    }
    os << '[';
    llvm::ListSeparator comma(",");
    for (int32_t dim : result.shape)
      os << comma << (dim < 0 ? "?" : std::to_string(dim));
    os << ']';
  }
  return text;
}

struct InferenceTest : testing::Test {
  SmallGraph g;

  Operator &conv(llvm::ArrayRef<int32_t> input, llvm::ArrayRef<int32_t> filter, Padding padding, int32_t stride,
                 int32_t dilation = 1) {
    return g.with(g.op(Op::CONV_2D, {g.dynamic(input), g.tensor(filter), nullptr}), [&](FlatBufferBuilder &b) {
      return circle::CreateConv2DOptions(b, padding, stride, stride, none, dilation, dilation);
    });
  }
  Operator &pool(Padding padding, int32_t size, int32_t stride) {
    return g.with(g.op(Op::MAX_POOL_2D, {g.tensor({1, 7, 8, 3})}), [&](FlatBufferBuilder &b) {
      return circle::CreatePool2DOptions(b, padding, stride, stride, size, size);
    });
  }
  Operator &reshape(llvm::ArrayRef<int32_t> from, llvm::ArrayRef<int32_t> to) {
    return g.op(Op::RESHAPE, {g.dynamic(from), g.ints(to)});
  }
  struct Slicing {
    llvm::SmallVector<int32_t> begin, end, strides;
    int32_t beginMask = 0, endMask = 0, ellipsis = 0, newAxis = 0, shrink = 0;
    bool offset = false;
  };
  Operator &stridedSlice(llvm::ArrayRef<int32_t> input, const Slicing &s) {
    return g.with(g.op(Op::STRIDED_SLICE, {g.dynamic(input), g.ints(s.begin), g.ints(s.end), g.ints(s.strides)}),
                  [&](FlatBufferBuilder &b) {
                    return circle::CreateStridedSliceOptions(b, s.beginMask, s.endMask, s.ellipsis, s.newAxis, s.shrink,
                                                             s.offset);
                  });
  }
  Operator &gather(llvm::ArrayRef<int32_t> input, llvm::ArrayRef<int32_t> indices, int32_t axis, int32_t batch = 0) {
    return g.with(g.op(Op::GATHER, {g.tensor(input), g.tensor(indices, TensorType::INT32)}),
                  [&](FlatBufferBuilder &b) { return circle::CreateGatherOptions(b, axis, batch); });
  }
  Operator &reduce(Op code, llvm::ArrayRef<int32_t> input, Value *axes, bool keepDims) {
    return g.with(g.op(code, {g.tensor(input), axes}),
                  [&](FlatBufferBuilder &b) { return circle::CreateReducerOptions(b, keepDims); });
  }
  Operator &fullyConnected(llvm::ArrayRef<int32_t> input, llvm::ArrayRef<int32_t> weights, bool keepNumDims) {
    return g.with(g.op(Op::FULLY_CONNECTED, {g.dynamic(input), g.tensor(weights), nullptr}), [&](FlatBufferBuilder &b) {
      return circle::CreateFullyConnectedOptions(b, none, circle::FullyConnectedOptionsWeightsFormat::DEFAULT,
                                                 keepNumDims);
    });
  }
};

TEST_F(InferenceTest, Elementwise) {
  EXPECT_EQ(infer(g.op(Op::ADD, {g.tensor({2, 1, 3}), g.tensor({4, 1})})), "f32[2,4,3]");
  EXPECT_EQ(infer(g.op(Op::ADD, {g.dynamic({-1, 3}), g.tensor({1, 3})})), "f32[?,3]");
  EXPECT_EQ(infer(g.op(Op::ADD, {g.dynamic({-1, 3}), g.tensor({5, 1})})), "f32[5,3]");
  EXPECT_EQ(infer(g.op(Op::ADD, {g.tensor({2}), g.tensor({3})})), "error");
  EXPECT_EQ(infer(g.op(Op::ADD, {g.tensor({2}), g.tensor({2}, TensorType::INT32)})), "error");
  EXPECT_EQ(infer(g.op(Op::LESS, {g.tensor({2}), g.tensor({})})), "bool[2]");
  EXPECT_EQ(infer(g.op(Op::RELU, {g.tensor({0, 2}, TensorType::INT8)})), "i8[0,2]");
  EXPECT_EQ(infer(g.op(Op::DEQUANTIZE, {g.tensor({2}, TensorType::INT8)})), "f32[2]");
  EXPECT_EQ(infer(g.op(Op::QUANTIZE, {g.tensor({2})}, 1, TensorType::UINT8)), "u8[2]");
  EXPECT_EQ(infer(g.op(Op::CAST, {g.tensor({2})}, 1, TensorType::INT64)), "i64[2]");
  EXPECT_EQ(infer(g.op(Op::SELECT_V2, {g.tensor({3, 1}, TensorType::BOOL), g.tensor({}), g.tensor({4})})), "f32[3,4]");
  EXPECT_EQ(infer(g.op(Op::SELECT, {g.tensor({3}, TensorType::BOOL), g.tensor({3, 2}), g.tensor({3, 2})})), "f32[3,2]");
  EXPECT_EQ(infer(g.op(Op::ADD_N, {g.tensor({3}), g.dynamic({-1}), g.tensor({3})})), "f32[3]");
  EXPECT_EQ(infer(g.op(Op::ADD_N, {g.tensor({3}), g.tensor({1})})), "error");
}

TEST_F(InferenceTest, UnknownShapes) {
  Value *absent = g.tensor({});
  absent->hasShape = absent->hasRank = false;
  EXPECT_EQ(infer(g.op(Op::RELU, {absent})), "none");
  Value *scalarOrUnknown = g.tensor({});
  scalarOrUnknown->hasRank = false;
  EXPECT_EQ(infer(g.op(Op::RELU, {scalarOrUnknown})), "none");
  EXPECT_EQ(infer(g.op(Op::RELU, {g.tensor({})})), "f32[]");
  EXPECT_EQ(infer(g.op(Op::RELU, {nullptr})), "none");
  EXPECT_EQ(infer(g.op(Op::RELU, {})), "none");
  EXPECT_EQ(infer(g.op(Op::RELU, {g.tensor({-7, 2})})), "f32[?,2]");
  EXPECT_EQ(infer(g.op(Op::RELU, {g.tensor(llvm::SmallVector<int32_t>(100000, 1))})), "none");
  EXPECT_EQ(infer(g.op(Op::CUSTOM, {g.tensor({2})})), "none");
  EXPECT_EQ(infer(g.op(static_cast<Op>(5000), {g.tensor({2})})), "none");
  EXPECT_EQ(infer(g.op(static_cast<Op>(small), {g.tensor({2})})), "none");
}

TEST_F(InferenceTest, Convolution) {
  EXPECT_EQ(infer(conv({1, 7, 8, 3}, {16, 3, 3, 3}, Padding::SAME, 2)), "f32[1,4,4,16]");
  EXPECT_EQ(infer(conv({1, 7, 8, 3}, {16, 3, 3, 3}, Padding::VALID, 2)), "f32[1,3,3,16]");
  EXPECT_EQ(infer(conv({1, 7, 8, 3}, {16, 3, 3, 3}, Padding::VALID, 1, 3)), "f32[1,1,2,16]");
  EXPECT_EQ(infer(conv({-1, -1, 8, 6}, {16, 3, 3, 3}, Padding::SAME, 1)), "f32[?,?,8,16]");
  for (int32_t hostile : {0, -1, small})
    EXPECT_EQ(infer(conv({1, 7, 8, 3}, {16, 3, 3, 3}, Padding::SAME, hostile)), "error");
  for (int32_t hostile : {0, -1, small, big})
    EXPECT_EQ(infer(conv({1, 7, 8, 3}, {16, 3, 3, 3}, Padding::VALID, 1, hostile)), "error");
  EXPECT_EQ(infer(conv({1, 7, 8, 3}, {16, 9, 3, 3}, Padding::VALID, 1)), "error") << "the filter is larger";
  EXPECT_EQ(infer(conv({1, 7, 8, 3}, {16, 3, 3, 2}, Padding::SAME, 1)), "error") << "channels";
  EXPECT_EQ(infer(conv({1, 7, 8, 3}, {16, 3, 3, 0}, Padding::SAME, 1)), "error");
  EXPECT_EQ(infer(conv({1, 7, 8}, {16, 3, 3, 3}, Padding::SAME, 1)), "error");
  EXPECT_EQ(infer(conv({big, big, big, 3}, {big, big, big, 3}, Padding::SAME, big)), "f32[2147483647,1,1,2147483647]");
  EXPECT_EQ(infer(conv({1, 7, 8, 3}, {16, 3, 3, 3}, static_cast<Padding>(7), 1)), "error");
  EXPECT_EQ(infer(g.op(Op::CONV_2D, {g.tensor({1, 7, 8, 3}), g.tensor({16, 3, 3, 3})})), "error") << "a stride of 0";

  auto &depthwise =
      g.with(g.op(Op::DEPTHWISE_CONV_2D, {g.tensor({1, 7, 8, 3}), g.tensor({1, 3, 3, 6})}),
             [](FlatBufferBuilder &b) { return circle::CreateDepthwiseConv2DOptions(b, Padding::SAME, 2, 1, 2); });
  EXPECT_EQ(infer(depthwise), "f32[1,7,4,6]");
  auto &conv3D = g.with(g.op(Op::CONV_3D, {g.tensor({1, 4, 7, 8, 3}), g.tensor({2, 3, 3, 3, 5})}),
                        [](FlatBufferBuilder &b) { return circle::CreateConv3DOptions(b, Padding::VALID, 2, 1, 1); });
  EXPECT_EQ(infer(conv3D), "f32[1,2,5,6,5]");
}

TEST_F(InferenceTest, TransposedConvolution) {
  Value *filter = g.tensor({5, 3, 3, 2}), *input = g.tensor({1, 4, 4, 2});
  auto transposed = [&](Value *sizes, int32_t stride = 2) {
    return infer(g.with(g.op(Op::TRANSPOSE_CONV, {sizes, filter, input}), [=](FlatBufferBuilder &b) {
      return circle::CreateTransposeConvOptions(b, Padding::SAME, stride, stride);
    }));
  };
  EXPECT_EQ(transposed(g.ints({1, 8, 8, 5})), "f32[1,8,8,5]");
  EXPECT_EQ(transposed(g.tensor({4}, TensorType::INT32)), "f32[1,?,?,5]");
  EXPECT_EQ(transposed(g.ints({1, 8, 5})), "error");
  EXPECT_EQ(transposed(g.ints({1, -1, 8, 5})), "error");
  EXPECT_EQ(transposed(g.ints({1, 8, 8, 6})), "error") << "has the filter's channels";
  EXPECT_EQ(transposed(g.ints({2, 8, 8, 5})), "error") << "has the input's batches";
  EXPECT_EQ(transposed(g.ints({1, 8, 8, 5}), 0), "error");
}

TEST_F(InferenceTest, PoolingAndResizing) {
  EXPECT_EQ(infer(pool(Padding::SAME, 2, 2)), "f32[1,4,4,3]");
  EXPECT_EQ(infer(pool(Padding::VALID, 2, 2)), "f32[1,3,4,3]");
  for (int32_t hostile : {0, -1, small}) {
    EXPECT_EQ(infer(pool(Padding::SAME, 2, hostile)), "error");
    EXPECT_EQ(infer(pool(Padding::SAME, hostile, 2)), "error");
  }
  EXPECT_EQ(infer(g.op(Op::RESIZE_BILINEAR, {g.tensor({1, 2, 3, 4}), g.ints({6, 7})})), "f32[1,6,7,4]");
  EXPECT_EQ(infer(g.op(Op::RESIZE_BILINEAR, {g.tensor({1, 2, 3, 4}), g.tensor({2}, TensorType::INT32)})),
            "f32[1,?,?,4]");
  EXPECT_EQ(infer(g.op(Op::RESIZE_NEAREST_NEIGHBOR, {g.tensor({1, 2, 3, 4}), g.ints({6, -7})})), "error");
  EXPECT_EQ(infer(g.op(Op::RESIZE_BILINEAR, {g.tensor({1, 2, 3, 4}), g.ints({0, 7})})), "error");
}

TEST_F(InferenceTest, Reshape) {
  EXPECT_EQ(infer(reshape({2, 6}, {3, -1})), "f32[3,4]");
  EXPECT_EQ(infer(reshape({-1, 6}, {-1, 3})), "f32[?,3]");
  EXPECT_EQ(infer(reshape({1, 1}, {})), "f32[]");
  EXPECT_EQ(infer(reshape({1}, {0})), "error") << "means a scalar only as an option";
  EXPECT_EQ(infer(reshape({0, 6}, {0, -1})), "f32[0,6]") << "beside a 0, what the sizes above it leave";
  EXPECT_EQ(infer(reshape({2, 0}, {0, -1})), "f32[0,2]");
  EXPECT_EQ(infer(reshape({0, 4}, {-1, 0})), "f32[4,0]");
  EXPECT_EQ(infer(reshape({0}, {5, 0, -1})), "f32[5,0,0]");
  EXPECT_EQ(infer(reshape({2, 0}, {3, -1})), "f32[3,0]");
  EXPECT_EQ(infer(reshape({-1, 6}, {0, -1})), "f32[0,?]");
  EXPECT_EQ(infer(reshape({0, big, big, big}, {0, -1})), "error");
  EXPECT_EQ(infer(reshape({2, 6}, {5, -1})), "error");
  EXPECT_EQ(infer(reshape({2, 6}, {-1, -1})), "error");
  EXPECT_EQ(infer(reshape({2, 6}, {-2, -6})), "error");
  EXPECT_EQ(infer(reshape({2, 6}, {13})), "error");
  EXPECT_EQ(infer(reshape({big, big, big}, {-1})), "error");
  EXPECT_EQ(infer(reshape({2, 6}, {big, big, big})), "error");
  EXPECT_EQ(infer(reshape({big, 4}, {-1})), "error") << "does not fit a dimension";
  EXPECT_EQ(infer(g.op(Op::RESHAPE, {g.tensor({2, 6}), g.tensor({3}, TensorType::INT32)})), "f32[?,?,?]");
  auto &byOption = g.with(g.op(Op::RESHAPE, {g.tensor({2, 6})}), [](FlatBufferBuilder &b) {
    std::vector<int32_t> shape{-1, 2};
    return circle::CreateReshapeOptionsDirect(b, &shape);
  });
  EXPECT_EQ(infer(byOption), "f32[6,2]");
  EXPECT_EQ(infer(g.op(Op::RESHAPE, {g.tensor({2, 6})})), "none");
}

TEST_F(InferenceTest, AxesComeAndGo) {
  auto squeeze = [&](Value *input, std::vector<int32_t> axes) {
    return infer(g.with(g.op(Op::SQUEEZE, {input}),
                        [&](FlatBufferBuilder &b) { return circle::CreateSqueezeOptionsDirect(b, &axes); }));
  };
  EXPECT_EQ(squeeze(g.tensor({1, 2, 1}), {}), "f32[2]");
  EXPECT_EQ(squeeze(g.tensor({1, 2, 1}), {-1}), "f32[1,2]");
  EXPECT_EQ(squeeze(g.tensor({1, 2, 1}), {1}), "error");
  EXPECT_EQ(squeeze(g.tensor({1, 2, 1}), {3}), "error");
  EXPECT_EQ(squeeze(g.dynamic({1, -1}), {}), "f32*");
  EXPECT_EQ(infer(g.op(Op::EXPAND_DIMS, {g.tensor({2, 3}), g.scalar(-1)})), "f32[2,3,1]");
  EXPECT_EQ(infer(g.op(Op::EXPAND_DIMS, {g.tensor({2, 3}), g.longScalar(int64_t(1) << 40)})), "error");
  EXPECT_EQ(infer(g.op(Op::TRANSPOSE, {g.tensor({2, 3, 4}), g.ints({2, 0, 1})})), "f32[4,2,3]");
  EXPECT_EQ(infer(g.op(Op::TRANSPOSE, {g.tensor({2, 3, 4}), g.ints({2, 0, 0})})), "error");
  EXPECT_EQ(infer(g.op(Op::TRANSPOSE, {g.tensor({2, 3, 4}), g.ints({0, 1})})), "error");
}

TEST_F(InferenceTest, JoinsAndParts) {
  auto concatenation = [&](llvm::ArrayRef<Value *> parts, int32_t axis) {
    return infer(g.with(g.op(Op::CONCATENATION, parts),
                        [&](FlatBufferBuilder &b) { return circle::CreateConcatenationOptions(b, axis); }));
  };
  EXPECT_EQ(concatenation({g.tensor({2, 3}), g.tensor({2, 4})}, -1), "f32[2,7]");
  EXPECT_EQ(concatenation({g.dynamic({2, -1}), g.dynamic({-1, 4})}, 1), "f32[2,?]");
  EXPECT_EQ(concatenation({g.tensor({2, 3}), g.tensor({3, 4})}, 1), "error");
  EXPECT_EQ(concatenation({g.tensor({2, 3}), g.tensor({2, 4})}, 2), "error");
  EXPECT_EQ(concatenation({g.tensor({big}), g.tensor({big})}, 0), "error");
  EXPECT_EQ(concatenation({}, 0), "none");

  auto split = [&](llvm::ArrayRef<int32_t> input, Value *axis, int32_t count, unsigned results) {
    return infer(g.with(g.op(Op::SPLIT, {axis, g.dynamic(input)}, results),
                        [&](FlatBufferBuilder &b) { return circle::CreateSplitOptions(b, count); }));
  };
  EXPECT_EQ(split({2, 6}, g.scalar(1), 2, 2), "f32[2,3] f32[2,3]");
  EXPECT_EQ(split({2, 5}, g.scalar(1), 2, 2), "error");
  EXPECT_EQ(split({2, 6}, g.scalar(2), 2, 2), "error");
  EXPECT_EQ(split({2, 6}, g.scalar(1), 3, 2), "error");
  EXPECT_EQ(split({2, 6}, g.tensor({}, TensorType::INT32), 2, 2), "f32[?,?] f32[?,?]");

  auto splitV = [&](llvm::ArrayRef<int32_t> sizes) {
    return infer(g.op(Op::SPLIT_V, {g.tensor({7, 2}), g.ints(sizes), g.scalar(0)}, sizes.size()));
  };
  EXPECT_EQ(splitV({3, -1}), "f32[3,2] f32[4,2]");
  EXPECT_EQ(splitV({3, 4}), "f32[3,2] f32[4,2]");
  EXPECT_EQ(splitV({3, 3}), "error");
  EXPECT_EQ(splitV({9, -1}), "error");
  EXPECT_EQ(splitV({-1, -1}), "error");

  auto pack = [&](llvm::ArrayRef<Value *> parts, int32_t count, int32_t axis) {
    return infer(
        g.with(g.op(Op::PACK, parts), [&](FlatBufferBuilder &b) { return circle::CreatePackOptions(b, count, axis); }));
  };
  EXPECT_EQ(pack({g.tensor({2, 3}), g.tensor({2, 3})}, 2, -1), "f32[2,3,2]");
  EXPECT_EQ(pack({g.tensor({2, 3}), g.tensor({2, 4})}, 2, 0), "error");
  EXPECT_EQ(pack({g.tensor({2, 3})}, 1, 5), "error");
  auto &unpack = g.with(g.op(Op::UNPACK, {g.tensor({2, 3})}, 3),
                        [&](FlatBufferBuilder &b) { return circle::CreateUnpackOptions(b, 3, 1); });
  EXPECT_EQ(infer(unpack), "f32[2] f32[2] f32[2]");
}

TEST_F(InferenceTest, PaddingAndRepeating) {
  EXPECT_EQ(infer(g.op(Op::PAD, {g.tensor({2, 3}), g.matrix(2, 2, {0, 1, 2, 3})})), "f32[3,8]");
  EXPECT_EQ(infer(g.op(Op::PAD, {g.dynamic({-1, 3}), g.matrix(2, 2, {0, 1, 2, 3})})), "f32[?,8]");
  EXPECT_EQ(infer(g.op(Op::PAD, {g.tensor({2, 3}), g.matrix(2, 2, {0, -1, 2, 3})})), "error");
  EXPECT_EQ(infer(g.op(Op::PAD, {g.tensor({2, 3}), g.matrix(2, 2, {0, 1, 2, big})})), "error");
  EXPECT_EQ(infer(g.op(Op::PAD, {g.tensor({2, 3}), g.matrix(1, 2, {0, 1})})), "error");
  EXPECT_EQ(infer(g.op(Op::TILE, {g.tensor({2, 3}), g.ints({2, 1})})), "f32[4,3]");
  EXPECT_EQ(infer(g.op(Op::TILE, {g.tensor({2, 3}), g.ints({big, 1})})), "error");
  EXPECT_EQ(infer(g.op(Op::BROADCAST_TO, {g.tensor({3}), g.ints({2, 3})})), "f32[2,3]");
  EXPECT_EQ(infer(g.op(Op::BROADCAST_TO, {g.tensor({4}), g.ints({2, 3})})), "error");
  EXPECT_EQ(infer(g.op(Op::DILATE, {g.tensor({3, 1}), g.ints({2, 5}), g.floatScalar(0)})), "f32[5,1]");
  EXPECT_EQ(infer(g.op(Op::DILATE, {g.tensor({3, 1}), g.ints({0, 5}), g.floatScalar(0)})), "error");
}

TEST_F(InferenceTest, SpaceAndDepth) {
  auto depthToSpace = [&](llvm::ArrayRef<int32_t> input, int32_t block) {
    return infer(g.with(g.op(Op::DEPTH_TO_SPACE, {g.tensor(input)}),
                        [&](FlatBufferBuilder &b) { return circle::CreateDepthToSpaceOptions(b, block); }));
  };
  EXPECT_EQ(depthToSpace({1, 2, 3, 8}, 2), "f32[1,4,6,2]");
  for (int32_t hostile : {0, -2, 3, big, small})
    EXPECT_EQ(depthToSpace({1, 2, 3, 8}, hostile), "error");
  auto spaceToDepth = [&](llvm::ArrayRef<int32_t> input, int32_t block) {
    return infer(g.with(g.op(Op::SPACE_TO_DEPTH, {g.tensor(input)}),
                        [&](FlatBufferBuilder &b) { return circle::CreateSpaceToDepthOptions(b, block); }));
  };
  EXPECT_EQ(spaceToDepth({1, 4, 6, 2}, 2), "f32[1,2,3,8]");
  EXPECT_EQ(spaceToDepth({1, 0, 0, big}, big), "error");
  for (int32_t hostile : {0, -2, 4, small})
    EXPECT_EQ(spaceToDepth({1, 4, 6, 2}, hostile), "error");

  Value *blocks = g.ints({2, 2}), *margins = g.matrix(2, 2, {0, 1, 0, 0});
  EXPECT_EQ(infer(g.op(Op::SPACE_TO_BATCH_ND, {g.tensor({1, 3, 4, 5}), blocks, margins})), "f32[4,2,2,5]");
  EXPECT_EQ(infer(g.op(Op::BATCH_TO_SPACE_ND, {g.tensor({4, 2, 2, 5}), blocks, margins})), "f32[1,3,4,5]");
  EXPECT_EQ(infer(g.op(Op::BATCH_TO_SPACE_ND, {g.tensor({3, 2, 2, 5}), blocks, margins})), "error");
  EXPECT_EQ(infer(g.op(Op::SPACE_TO_BATCH_ND, {g.tensor({1, 4, 4, 5}), blocks, margins})), "error");
  EXPECT_EQ(infer(g.op(Op::SPACE_TO_BATCH_ND, {g.tensor({1, 4, 4, 5}), g.ints({0, 2}), margins})), "error");
  EXPECT_EQ(infer(g.op(Op::SPACE_TO_BATCH_ND, {g.tensor({big, 4, 4, 5}), g.ints({big, big}), margins})), "error");
}

TEST_F(InferenceTest, Slice) {
  auto slice = [&](llvm::ArrayRef<int32_t> input, llvm::ArrayRef<int32_t> begin, llvm::ArrayRef<int32_t> size) {
    return infer(g.op(Op::SLICE, {g.dynamic(input), g.ints(begin), g.ints(size)}));
  };
  EXPECT_EQ(slice({4, 5}, {1, 2}, {2, -1}), "f32[2,3]");
  EXPECT_EQ(slice({-1, 5}, {1, 2}, {-1, 3}), "f32[?,3]");
  EXPECT_EQ(slice({4, 5}, {1, 2}, {4, 1}), "error");
  EXPECT_EQ(slice({4, 5}, {5, 2}, {-1, 1}), "error");
  EXPECT_EQ(slice({4, 5}, {1, 2}, {small, 1}), "error");
  EXPECT_EQ(slice({4, 5}, {big, 2}, {big, 1}), "error");
  EXPECT_EQ(slice({4, 5}, {1}, {1}), "error");
  EXPECT_EQ(infer(g.op(Op::SLICE, {g.tensor({4, 5}), g.tensor({2}, TensorType::INT32), g.ints({2, -1})})), "f32[2,?]");
}

TEST_F(InferenceTest, StridedSlice) {
  EXPECT_EQ(infer(stridedSlice({5, 6, 7}, {.begin = {0, 1, 2}, .end = {5, 6, 7}, .strides = {1, 2, 2}})), "f32[5,3,3]");
  EXPECT_EQ(infer(stridedSlice({5, 6, 7}, {.begin = {-1, 0, 0}, .end = {-4, 9, 3}, .strides = {-1, 1, 1}})),
            "f32[3,6,3]");
  EXPECT_EQ(
      infer(stridedSlice({5, 6, 7}, {.begin = {1, 0}, .end = {2, 0}, .strides = {1, 1}, .endMask = 2, .shrink = 1})),
      "f32[6,7]");
  EXPECT_EQ(infer(stridedSlice({5, 6, 7}, {.begin = {0, 3}, .end = {0, 5}, .strides = {1, 1}, .ellipsis = 1})),
            "f32[5,6,2]");
  EXPECT_EQ(infer(stridedSlice({5, 6}, {.begin = {0, 0}, .end = {0, 3}, .strides = {1, 1}, .newAxis = 1})),
            "f32[1,3,6]");
  EXPECT_EQ(
      infer(stridedSlice(
          {5, 6},
          {.begin = {0, 0, 0}, .end = {0, 0, 0}, .strides = {1, 1, 1}, .ellipsis = 1, .newAxis = 2, .shrink = 4})),
      "f32[5,1]");
  EXPECT_EQ(infer(stridedSlice({5, 6}, {.begin = {1, 2}, .end = {2, 3}, .strides = {1, 1}, .offset = true})),
            "f32[2,3]");
  EXPECT_EQ(infer(stridedSlice({5, 6}, {.begin = {3, 2}, .end = {1, 1}, .strides = {1, 1}})), "f32[0,0]");
  EXPECT_EQ(infer(stridedSlice({0, 6}, {.begin = {0, 2}, .end = {1, 3}, .strides = {1, 1}})), "f32[0,1]");
  EXPECT_EQ(infer(stridedSlice({-1, 6}, {.begin = {0, 2}, .end = {0, 3}, .strides = {1, 1}, .endMask = 1})),
            "f32[?,1]");
  EXPECT_EQ(infer(stridedSlice({5, 6}, {.begin = {small, small}, .end = {big, big}, .strides = {big, 1}})), "f32[1,6]");
  EXPECT_EQ(infer(stridedSlice({5, 6}, {.begin = {big, 0}, .end = {small, 6}, .strides = {small, 1}})), "f32[1,6]");
  EXPECT_EQ(infer(stridedSlice({5, 6}, {.begin = {0, 0}, .end = {5, 6}, .strides = {0, 1}})), "error") << "stride 0";
  EXPECT_EQ(infer(stridedSlice({5}, {.begin = {0, 0}, .end = {5, 6}, .strides = {1, 1}})), "error")
      << "too many positions";
  EXPECT_EQ(infer(stridedSlice({5, 6}, {.begin = {0, 0}, .end = {5, 6}, .strides = {1}})), "error");
  EXPECT_EQ(infer(stridedSlice({5, 6}, {.begin = {9, 0}, .end = {5, 6}, .strides = {1, 1}, .shrink = 1})), "error");
  EXPECT_EQ(infer(stridedSlice({5, 6}, {.begin = {0, 0}, .end = {0, 0}, .strides = {1, 1}, .ellipsis = 3})), "error")
      << "two ellipses";
  Value *unknown = g.tensor({2}, TensorType::INT32);
  auto &op = g.with(g.op(Op::STRIDED_SLICE, {g.tensor({5, 6, 7}), unknown, unknown, g.ints({1, 1})}),
                    [](FlatBufferBuilder &b) { return circle::CreateStridedSliceOptions(b, 0, 0, 0, 0, 1); });
  EXPECT_EQ(infer(op), "f32[?,7]");
}

TEST_F(InferenceTest, GatherAndScatter) {
  EXPECT_EQ(infer(gather({4, 5, 6}, {2, 3}, 1)), "f32[4,2,3,6]");
  EXPECT_EQ(infer(gather({4, 5, 6}, {4, 3}, 2, 1)), "f32[4,5,3]");
  EXPECT_EQ(infer(gather({4, 5, 6}, {}, -1)), "f32[4,5]");
  EXPECT_EQ(infer(gather({4, 5, 6}, {3, 3}, 2, 1)), "error");
  EXPECT_EQ(infer(gather({4, 5, 6}, {4, 3}, 0, 1)), "error");
  EXPECT_EQ(infer(gather({4, 5, 6}, {4, 3}, 3)), "error");
  EXPECT_EQ(infer(gather({4, 5, 6}, {4, 3}, 1, small)), "error");
  Value *indices = g.tensor({7, 2}, TensorType::INT32);
  EXPECT_EQ(infer(g.op(Op::GATHER_ND, {g.tensor({4, 5, 6}), indices})), "f32[7,6]");
  EXPECT_EQ(infer(g.op(Op::GATHER_ND, {g.tensor({4}), indices})), "error");
  EXPECT_EQ(infer(g.op(Op::SCATTER_ND, {indices, g.tensor({7}), g.ints({4, 5})})), "f32[4,5]");
  EXPECT_EQ(infer(g.op(Op::SCATTER_ND, {indices, g.tensor({7}), g.ints({4, -5})})), "error");
  EXPECT_EQ(infer(g.op(Op::SCATTER_ND, {indices, g.tensor({7}), g.tensor({2}, TensorType::INT32)})), "f32[?,?]");
  EXPECT_EQ(infer(g.op(Op::EMBEDDING_LOOKUP, {g.tensor({3}, TensorType::INT32), g.tensor({9, 8})})), "f32[3,8]");
  Value *seven = g.scalar(7);
  auto &oneHot = g.with(g.op(Op::ONE_HOT, {indices, seven, g.floatScalar(1), g.floatScalar(0)}),
                        [](FlatBufferBuilder &b) { return circle::CreateOneHotOptions(b, 0); });
  EXPECT_EQ(infer(oneHot), "f32[7,7,2]");
  EXPECT_EQ(infer(g.op(Op::TOPK_V2, {g.tensor({3, 9}), g.scalar(4)}, 2)), "f32[3,4] i32[3,4]");
  EXPECT_EQ(infer(g.op(Op::TOPK_V2, {g.tensor({3, 9}), g.scalar(10)}, 2)), "error");
  EXPECT_EQ(infer(g.op(Op::TOPK_V2, {g.tensor({3, 9}), g.scalar(-2)}, 2)), "f32[3,0] i32[3,0]");
  EXPECT_EQ(infer(g.op(Op::TOPK_V2, {g.tensor({}), g.scalar(1)}, 2)), "error");
}

TEST_F(InferenceTest, FromNumbers) {
  auto &shape = g.with(g.op(Op::SHAPE, {g.dynamic({-1, 2, 3})}),
                       [](FlatBufferBuilder &b) { return circle::CreateShapeOptions(b, TensorType::INT64); });
  EXPECT_EQ(infer(shape), "i64[3]");
  EXPECT_EQ(infer(g.op(Op::RANK, {g.tensor({2})})), "i32[]");
  EXPECT_EQ(infer(g.op(Op::FILL, {g.ints({2, 3}), g.floatScalar(1)})), "f32[2,3]");
  EXPECT_EQ(infer(g.op(Op::FILL, {g.ints({}), g.floatScalar(1)})), "f32[]");
  auto range = [&](auto start, auto limit, auto delta) {
    using T = decltype(start);
    TensorType type = std::is_same_v<T, float>     ? TensorType::FLOAT32
                      : std::is_same_v<T, int64_t> ? TensorType::INT64
                                                   : TensorType::INT32;
    auto scalar = [&](T number) { return g.constant<T>(type, {}, number); };
    return infer(g.op(Op::RANGE, {scalar(start), scalar(limit), scalar(delta)}));
  };
  EXPECT_EQ(range(0, 10, 3), "i32[4]");
  EXPECT_EQ(range(10, 0, -3), "i32[4]");
  EXPECT_EQ(range(0, 0, 1), "i32[0]");
  EXPECT_EQ(range(0, 10, 0), "error");
  EXPECT_EQ(range(0, 10, -1), "error");
  EXPECT_EQ(range(small, big, 1), "error") << "too many";
  EXPECT_EQ(range(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), int64_t(1)), "error");
  EXPECT_EQ(range(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), int64_t(1) << 62),
            "i64[4]");
  EXPECT_EQ(range(0.0f, 1.0f, 0.25f), "f32[4]");
  EXPECT_EQ(range(0.0f, 1e30f, 1.0f), "error");
  EXPECT_EQ(range(0.0f, std::numeric_limits<float>::quiet_NaN(), 1.0f), "error");
  EXPECT_EQ(range(0.0f, 2147483648.0f, 1.0f), "error");
  EXPECT_EQ(infer(g.op(Op::RANGE, {g.tensor({}), g.tensor({}), g.tensor({})})), "f32[?]");
  Value *broken = g.constant<int32_t>(TensorType::INT32, {3}, {1, 2});
  EXPECT_EQ(infer(g.op(Op::FILL, {broken, g.floatScalar(1)})), "f32[?,?,?]") << "payload smaller than its shape";
  EXPECT_EQ(infer(g.op(Op::WHERE, {g.tensor({2, 3}, TensorType::BOOL)})), "i64[?,2]");
  EXPECT_EQ(infer(g.op(Op::NON_MAX_SUPPRESSION_V4,
                       {g.tensor({9, 4}), g.tensor({9}), g.scalar(5), g.floatScalar(0), g.floatScalar(0)}, 2)),
            "i32[5] i32[]");
}

TEST_F(InferenceTest, Reductions) {
  EXPECT_EQ(infer(reduce(Op::MEAN, {2, 3, 4, 5}, g.ints({1, -2}), true)), "f32[2,1,1,5]");
  EXPECT_EQ(infer(reduce(Op::SUM, {2, 3, 4}, g.ints({0, 0}), false)), "f32[3,4]");
  EXPECT_EQ(infer(reduce(Op::SUM, {2, 3, 4}, g.scalar(-1), false)), "f32[2,3]");
  EXPECT_EQ(infer(reduce(Op::REDUCE_ANY, {2, 3}, g.ints({0}), false)), "bool[3]");
  EXPECT_EQ(infer(reduce(Op::SUM, {2, 3}, g.ints({2}), false)), "error");
  EXPECT_EQ(infer(reduce(Op::SUM, {2, 3}, g.ints({small}), false)), "error");
  EXPECT_EQ(infer(reduce(Op::SUM, {2, 3}, g.tensor({1}, TensorType::INT32), true)), "f32[?,?]");
  EXPECT_EQ(infer(reduce(Op::SUM, {2, 3}, g.tensor({1}, TensorType::INT32), false)), "f32*");
  auto &argMax = g.with(g.op(Op::ARG_MAX, {g.tensor({2, 3}), g.scalar(1)}),
                        [](FlatBufferBuilder &b) { return circle::CreateArgMaxOptions(b, TensorType::INT32); });
  EXPECT_EQ(infer(argMax), "i32[2]");
  EXPECT_EQ(infer(g.op(Op::ARG_MIN, {g.tensor({2, 3}), g.scalar(2)})), "error");
  EXPECT_EQ(infer(g.op(Op::SEGMENT_SUM, {g.tensor({4, 2}), g.ints({0, 0, 1, 2})})), "f32[3,2]");
  EXPECT_EQ(infer(g.op(Op::SEGMENT_SUM, {g.tensor({4, 2}), g.ints({0, 0, 1, big})})), "error");
  EXPECT_EQ(infer(g.op(Op::UNSORTED_SEGMENT_SUM, {g.tensor({4, 2}), g.ints({0, 0, 1, 2}), g.scalar(9)})), "f32[9,2]");
}

TEST_F(InferenceTest, MatrixProducts) {
  EXPECT_EQ(infer(fullyConnected({2, 3, 4}, {5, 4}, true)), "f32[2,3,5]");
  EXPECT_EQ(infer(fullyConnected({2, 3, 4}, {5, 4}, false)), "f32[6,5]");
  EXPECT_EQ(infer(fullyConnected({2, 6}, {5, 4}, false)), "f32[3,5]");
  EXPECT_EQ(infer(fullyConnected({-1, 4}, {5, 4}, false)), "f32[?,5]");
  EXPECT_EQ(infer(fullyConnected({2, 3}, {5, 4}, false)), "error");
  EXPECT_EQ(infer(fullyConnected({2, 3}, {5, 4}, true)), "error");
  EXPECT_EQ(infer(fullyConnected({2, 3}, {5, 0}, false)), "error");
  EXPECT_EQ(infer(fullyConnected({big, big, big}, {5, 1}, false)), "error");
  EXPECT_EQ(infer(fullyConnected({2, 3}, {5, 4, 1}, false)), "error");
  auto matMul = [&](llvm::ArrayRef<int32_t> a, llvm::ArrayRef<int32_t> b, bool adjointA, bool adjointB) {
    return infer(g.with(g.op(Op::BATCH_MATMUL, {g.tensor(a), g.tensor(b)}), [&](FlatBufferBuilder &builder) {
      return circle::CreateBatchMatMulOptions(builder, adjointA, adjointB);
    }));
  };
  EXPECT_EQ(matMul({7, 1, 2, 3}, {4, 3, 5}, false, false), "f32[7,4,2,5]");
  EXPECT_EQ(matMul({3, 2}, {5, 3}, true, true), "f32[2,5]");
  EXPECT_EQ(matMul({2, 3}, {4, 5}, false, false), "error");
  EXPECT_EQ(matMul({3}, {3, 5}, false, false), "error");
  Value *clusters = g.matrix(2, 2, {1, 10, 2, 22});
  EXPECT_EQ(infer(g.op(Op::BCQ_FULLY_CONNECTED,
                       {g.tensor({8, 4}), g.tensor({54}), g.tensor({54, 1}, TensorType::INT32), nullptr, clusters})),
            "f32[32,4]");
}

TEST_F(InferenceTest, Recurrent) {
  auto &svdf =
      g.with(g.op(Op::SVDF, {g.tensor({2, 16}), g.tensor({64, 16}), g.tensor({64, 8}), nullptr, g.tensor({2, 512})}),
             [](FlatBufferBuilder &b) { return circle::CreateSVDFOptions(b, 2); });
  EXPECT_EQ(infer(svdf), "f32[2,32]");
  for (int32_t hostile : {0, -1, 3}) {
    auto &op =
        g.with(g.op(Op::SVDF, {g.tensor({2, 16}), g.tensor({64, 16}), g.tensor({64, 8}), nullptr, g.tensor({2, 512})}),
               [&](FlatBufferBuilder &b) { return circle::CreateSVDFOptions(b, hostile); });
    EXPECT_EQ(infer(op), "error");
  }
  llvm::SmallVector<Value *> operands(24, nullptr);
  operands[0] = g.tensor({3, 5, 7});
  operands[8] = g.tensor({20, 11});
  EXPECT_EQ(infer(g.op(Op::UNIDIRECTIONAL_SEQUENCE_LSTM, operands)), "f32[3,5,11]");
  operands[0] = g.tensor({3, 7});
  EXPECT_EQ(infer(g.op(Op::LSTM, operands)), "f32[3,11]");
  EXPECT_EQ(infer(g.op(Op::UNIDIRECTIONAL_SEQUENCE_LSTM, operands)), "error");
  EXPECT_EQ(infer(g.op(Op::LSTM,
                       {g.tensor({3, 7}), g.tensor({3, 4}), g.tensor({16, 11}), g.tensor({16}), g.tensor({3, 4})}, 4)),
            "f32[3,4] f32[3,4] f32[3,11] f32[3,16]");
  llvm::SmallVector<Value *> both(48, nullptr);
  both[0] = g.tensor({3, 5, 7});
  both[8] = g.tensor({20, 11});
  both[25] = g.tensor({20, 12});
  EXPECT_EQ(infer(g.op(Op::BIDIRECTIONAL_SEQUENCE_LSTM, both, 2)), "f32[3,5,11] f32[3,5,12]");
  auto &merged = g.with(g.op(Op::BIDIRECTIONAL_SEQUENCE_LSTM, both), [](FlatBufferBuilder &b) {
    return circle::CreateBidirectionalSequenceLSTMOptions(b, none, 0, 0, true);
  });
  EXPECT_EQ(infer(merged), "f32[3,5,23]");
}

TEST_F(InferenceTest, ControlFlow) {
  Subgraph &then = g.model.addSubgraph(), &other = g.model.addSubgraph();
  auto result = [&](Subgraph &graph, llvm::ArrayRef<int32_t> shape, TensorType type = TensorType::FLOAT32) {
    Value &value = g.model.addValue(graph);
    value.shape = shape;
    value.hasShape = value.hasRank = true;
    value.type = type;
    return &value;
  };
  g.model.setOutputs(then, {result(then, {2, 3}), result(then, {4})});
  g.model.setOutputs(other, {result(other, {2, 5}), result(other, {4, 1})});
  auto &ifOp = g.with(g.op(Op::IF, {g.tensor({}, TensorType::BOOL)}, 2),
                      [](FlatBufferBuilder &b) { return circle::CreateIfOptions(b, 1, 2); });
  EXPECT_EQ(infer(ifOp), "f32[2,?] f32*");
  auto whileOp = [&](llvm::ArrayRef<Value *> operands, int32_t body) {
    return infer(g.with(g.op(Op::WHILE, operands, operands.size()),
                        [&](FlatBufferBuilder &b) { return circle::CreateWhileOptions(b, 1, body); }));
  };
  EXPECT_EQ(whileOp({g.tensor({2, 3}), g.tensor({4, 1})}, 2), "f32[2,?] f32[4,1]");
  EXPECT_EQ(whileOp({g.tensor({2, 3}), g.tensor({4, 1}, TensorType::INT8)}, 2), "error");
  EXPECT_EQ(whileOp({g.tensor({2, 3})}, 2), "error");
  EXPECT_EQ(whileOp({g.tensor({2, 3})}, 77), "none") << "no such subgraph";
  EXPECT_EQ(whileOp({g.tensor({2, 3})}, small), "none");
}

/// Every rule on operands, constants and options of random and hostile numbers: no crash, no undefined behaviour (the
/// sanitizers see that), and no impossible answer.
TEST(Inference, HostileNumbers) {
  std::mt19937 random(1);
  const int32_t numbers[] = {0, 1, 2, 3, 4, 8, -1, -2, 31, 65536, big - 1, big, small};
  auto number = [&] { return numbers[random() % std::size(numbers)]; };
  size_t answers = 0, errors = 0;
  for (const OperatorInfo &info : allOperators()) {
    for (int round = 0; round < 200; ++round) {
      SmallGraph g;
      llvm::SmallVector<Value *> operands;
      unsigned count = info.operands.size() + random() % 2;
      size_t rank = random() % 6;
      for (unsigned i = 0; i < count; ++i) {
        llvm::SmallVector<int32_t> shape(random() % 3 ? rank : random() % 6);
        for (int32_t &dim : shape)
          dim = random() % 3 ? static_cast<int32_t>(random() % 5) : number();
        llvm::SmallVector<int32_t> elements(random() % 2 ? rank : random() % 12);
        for (int32_t &element : elements)
          element = number();
        switch (random() % 5) {
        case 0:
          operands.push_back(nullptr);
          break;
        case 1:
          operands.push_back(elements.size() == 1 ? g.scalar(elements[0]) : g.ints(elements));
          break;
        case 2:
          operands.push_back(g.ints(elements));
          break;
        default:
          operands.push_back(g.tensor(shape, random() % 4 ? TensorType::FLOAT32 : TensorType::INT32));
        }
      }
      Operator &op = g.op(info.code, operands, random() % 4);
      if (const wire::TableType *table = info.optionsType()) {
        llvm::SmallVector<wire::ScalarEdit> edits;
        for (const wire::Field &field : table->fields)
          if (wire::isScalar(field.type) && !field.deprecated)
            edits.push_back({field.slot, field.enumeration ? static_cast<int64_t>(random() % 3) : number(), 1.5});
        bool second = info.options == circle::BuiltinOptions::NONE;
        Options empty{second ? static_cast<uint8_t>(info.options2) : static_cast<uint8_t>(info.options), nullptr};
        (second ? op.makeOptions2() : op.options) = g.model.editOptions(empty, edits, second);
      }
      auto results = inferResults(op);
      if (!results) {
        llvm::consumeError(results.takeError());
        ++errors;
        continue;
      }
      answers += !results->empty();
      for (const ResultType &result : *results)
        for (int32_t dim : result.shape)
          EXPECT_GE(dim, -1) << info.name.str();
    }
  }
  EXPECT_GT(answers, 1000u);
  EXPECT_GT(errors, 1000u);
}

void modelsKeepTheRules(const ModelFolder &folder, size_t leastModels, size_t leastOperators,
                        size_t mostContradictions) {
  // Files that contradict the rules without being made for that (those have Neg in their name).
  const llvm::StringSet<> contradicting = {
      "add_quantized.tflite",             // an addition of UINT8 is stated as FLOAT32
      "svdf_quantized.tflite",            // six filters of rank 1 give a stated 4 units
      "om_equal_IntEqualKernel_4.circle", // comparisons of different types
      "om_less_FloatLessKernel_4.circle",
      "om_less_IntLessKernel_2.circle",
      "om_less_IntLessKernel_4.circle",
      "om_less_equal_FloatLessEqualKernel_2.circle",
  };
  size_t models = 0, operators = 0, answered = 0, contradictions = 0;
  llvm::StringMap<size_t> unanswered;
  for (const std::string &file : folder.all()) {
    auto imported = importModel(file);
    if (!imported) {
      llvm::consumeError(imported.takeError());
      continue;
    }
    ++models;
    Model &model = *imported->model;
    for (auto &graph : model.subgraphs)
      for (const Operator &op : graph->operators) {
        if (op.results().empty() || op.code == Op::CUSTOM)
          continue;
        ++operators;
        auto results = inferResults(op);
        if (!results)
          llvm::consumeError(results.takeError()), ++answered;
        else if (!results->empty())
          ++answered;
        else
          ++unanswered[op.opName()];
      }
    std::vector<std::string> violations = verify(model, /*strict=*/true);
    std::string name = baseName(file);
    if (violations.empty())
      continue;
    ++contradictions;
    bool expected = contradicting.contains(name) || llvm::StringRef(name).contains("_Neg");
    EXPECT_TRUE(expected) << name << ": " << violations.front();
  }
  EXPECT_GE(models, leastModels);
  EXPECT_GE(operators, leastOperators);
  EXPECT_GE(answered * 100, operators * 97) << answered << " of " << operators;
  EXPECT_LE(contradictions, mostContradictions);
  for (auto &entry : unanswered)
    EXPECT_LT(entry.second, 40u) << entry.first().str();
}

TEST(Inference, Models) { modelsKeepTheRules(ownNetworks(), 900, 13000, 170); }
TEST(InferencePublicModels, KeepTheRules) { modelsKeepTheRules(publicModels(), 650, 5700, 60); }

} // namespace
