#include "ir/text/Text.h"
#include "passes/Pipeline.h"
#include "quantize/OnnxFake.h"
#include "quantize/Plan.h"

#include <gtest/gtest.h>
#include <map>

using namespace origo;
using namespace origo::quantize;

namespace {

using enum TensorType;

/// Pairs of ONNX in 16 and 8 bits, weights of 4 and 8 bits, and operators between that have none. One pair reads its
/// scale from two constants, and an operator is dead.
constexpr llvm::StringLiteral text = R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,6]) -> (%y, %m, %u) {
  %s0: f32[] = const [0.001]
  %sx: f32[] = const [0.001]
  %z0: i16[] = const [0]
  %s1: f32[1] = const [0.05]
  %z1: u8[1] = const [10]
  %s2: f32[] = const [0.0005]
  %ws: f32[4] = const [0.01, 0.02, 0.03, 0.01]
  %wz: u8[4] = const [8, 8, 8, 8]
  %wq: u8[4,6] = const [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]
  %vs: f32[] = const [0.004]
  %vz: u8[] = const [100]
  %vq: u8[3,4] = const [0, 255, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
  %xq: i16[1,6] = CUSTOM "ONNXQuantizeLinear"(%x, %s0, %z0)
  %xd: f32[1,6] = CUSTOM "ONNXDequantizeLinear"(%xq, %sx, %z0)
  %unused: f32[1,6] = RELU(%xd)
  %w: f32[4,6] = CUSTOM "ONNXDequantizeLinear"(%wq, %ws, %wz)
  %c: f32[1,4] = FULLY_CONNECTED(%xd, %w, _)
  %cq: i16[1,4] = CUSTOM "ONNXQuantizeLinear"(%c, %s2, %z0)
  %cd: f32[1,4] = CUSTOM "ONNXDequantizeLinear"(%cq, %s2, %z0)
  %m: f32[1,4] = MUL(%cd, %cd)
  %v: f32[3,4] = CUSTOM "ONNXDequantizeLinear"(%vq, %vs, %vz)
  %e: f32[1,3] = FULLY_CONNECTED(%cd, %v, _)
  %eq: u8[1,3] = CUSTOM "ONNXQuantizeLinear"(%e, %s1, %z1)
  %ed: f32[1,3] = CUSTOM "ONNXDequantizeLinear"(%eq, %s1, %z1)
  %n: i32[2] = const [3, 1]
  %y: f32[3,1] = RESHAPE(%ed, %n)
  %u: f32[1,3] = SIN(%ed)
}
)";

/// Scales, zero points and integers are those of the pairs and of the weights, and what is neither follows from them.
TEST(OnnxFakes, AreWhatTheirPairsSay) {
  PayloadStore store;
  auto parsed = parseText(text, "", store);
  ASSERT_TRUE(static_cast<bool>(parsed)) << llvm::toString(parsed.takeError());
  Model &model = **parsed;
  model.becomeSource();
  Scheme scheme;
  scheme.dialect = Dialect::One;
  auto run = [&](Pipeline pipeline) {
    llvm::Error error = runPipeline(model, pipeline, store, {});
    EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  };
  auto alone = [](llvm::StringRef pass) {
    Pipeline pipeline;
    pipeline.add(*findPass(pass));
    return pipeline;
  };
  run(alone("merge-duplicate-constants"));
  auto read = readOnnxFakes(model, scheme);
  ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
  run(alone("resolve-onnx-quantization"));
  keepScales(model, *read);
  ASSERT_EQ(scheme.inputs.size(), 1u);
  EXPECT_EQ(scheme.inputs[0], INT16);
  ASSERT_EQ(scheme.outputs.size(), 3u);
  EXPECT_EQ(scheme.outputs[2], FLOAT32);
  run(Pipeline::quantization(planBy(scheme)));
  std::map<std::string, const Value *> tensors;
  for (const Value *value : model.subgraphs[0]->values)
    if (!value->erased())
      tensors[value->name.str()] = value;
  struct Expected {
    const char *name;
    TensorType type;
    float scale;
    int64_t zeroPoint;
  };
  for (const Expected &one : {Expected{"x", INT16, 0.001f, 0},
                              {"w", INT4, 0.01f, 0},
                              {"c", INT16, 0.0005f, 0},
                              {"m", INT16, 0.0005f * 0.0005f * 32767, 0},
                              {"v", UINT8, 0.004f, 100},
                              {"e", UINT8, 0.05f, 10},
                              {"y", UINT8, 0.05f, 10}}) {
    auto found = tensors.find(one.name);
    ASSERT_NE(found, tensors.end()) << one.name;
    EXPECT_EQ(found->second->type, one.type) << one.name;
    ASSERT_TRUE(found->second->quantization) << one.name;
    EXPECT_EQ(found->second->quantization->scale[0], one.scale) << one.name;
    EXPECT_EQ(found->second->quantization->zeroPoint[0], one.zeroPoint) << one.name;
  }
  EXPECT_EQ(tensors["u"]->type, FLOAT32);
  EXPECT_EQ(tensors["v"]->payload().bytes().vec(), std::vector<uint8_t>({0, 255, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  for (const Operator &op : model.subgraphs[0]->operators)
    EXPECT_NE(op.code, BuiltinOperator::CUSTOM);
  auto plain = parseText(
      "origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[1]) -> (%y) {\n  %y: f32[1] = RELU(%x)\n}\n", "", store);
  ASSERT_TRUE(static_cast<bool>(plain));
  auto none = readOnnxFakes(**plain, scheme);
  EXPECT_FALSE(static_cast<bool>(none));
  EXPECT_NE(llvm::toString(none.takeError()).find("--quantize_with_minmax"), std::string::npos);
}

} // namespace
