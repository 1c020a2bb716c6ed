#include "schema/OnnxOperators.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace origo;

const OnnxOperator *origo::findOnnxOperator(llvm::StringRef code) {
  using enum circle::BuiltinOperator;
  static constexpr OnnxOperator rows[] = {
      {"Add", ADD, ""},
      {"ArgMax", ARG_MAX, ""},
      {"ArgMin", ARG_MIN, ""},
      {"BatchNormalization", MUL, ""}, // a scale and a shift
      {"Cast", CAST, ""},
      {"CastLike", CAST, ".t"},
      {"Clip", RELU_N1_TO_1, ""},
      {"Concat", CONCATENATION, ""},
      {"ConstantOfShape", FILL, "#"},
      {"Conv", CONV_2D, ""},
      {"CumSum", CUMSUM, ".="},
      {"DepthToSpace", DEPTH_TO_SPACE, ""},
      {"DequantizeLinear", DEQUANTIZE, ""},
      {"Div", DIV, ""},
      {"Dropout", RESHAPE, ""},
      {"Elu", ELU, ""},
      {"Exp", EXP, ""},
      {"Expand", BROADCAST_TO, ".#"},
      {"EyeLike", FILL, "#"},
      {"Flatten", RESHAPE, ""},
      {"Gather", GATHER, ""},
      {"GatherElements", GATHER_ND, ""},
      {"GatherND", GATHER_ND, ""},
      {"Gemm", FULLY_CONNECTED, ""},
      {"GlobalMaxPool", REDUCE_MAX, ""},
      {"HardSwish", HARD_SWISH, ""},
      {"Identity", RESHAPE, ""},
      {"LeakyRelu", LEAKY_RELU, ""},
      {"MatMul", BATCH_MATMUL, ""},
      {"Max", MAXIMUM, ""},
      {"MaxPool", MAX_POOL_2D, ""},
      {"Min", MINIMUM, ""},
      {"Mul", MUL, ""},
      {"OneHot", ONE_HOT, ".#"},
      {"OptionalHasElement", SHAPE, "#"}, // of a tensor it is known
      {"Pad", PADV2, ".=.="},
      {"QuantizeLinear", QUANTIZE, ""},
      {"ReduceL1", SUM, ".="},
      {"ReduceL2", SUM, ".="},
      {"ReduceMax", REDUCE_MAX, ".="},
      {"ReduceMean", MEAN, ".="},
      {"ReduceMin", REDUCE_MIN, ".="},
      {"ReduceProd", REDUCE_PROD, ".="},
      {"ReduceSum", SUM, ".="},
      {"Relu", RELU, ""},
      {"Reshape", RESHAPE, ".#"},
      {"Resize", RESIZE_BILINEAR, ".###"},
      {"ReverseSequence", REVERSE_SEQUENCE, ""},
      {"Shape", SHAPE, "#"},
      {"Sigmoid", LOGISTIC, ""},
      {"Size", SHAPE, "#"},
      {"Slice", STRIDED_SLICE, ".===="},
      {"Softmax", SOFTMAX, ""},
      {"SpaceToDepth", SPACE_TO_DEPTH, ""},
      {"Split", SPLIT_V, ".="},
      {"Squeeze", SQUEEZE, ".#"},
      {"Sub", SUB, ""},
      {"Tanh", TANH, ""},
      {"Tile", TILE, ".#"},
      {"Transpose", TRANSPOSE, ""},
      {"Unsqueeze", EXPAND_DIMS, ".#"},
      {"Upsample", RESIZE_BILINEAR, ".#"},
      {"Where", SELECT_V2, ""},
  };
  auto text = [](const llvm::StringLiteral &name) { return std::string_view(name.data(), name.size()); };
  static_assert(std::ranges::is_sorted(rows, {}, [text](const OnnxOperator &row) { return text(row.name); }));
  if (!code.consume_front("onnx."))
    return nullptr;
  const OnnxOperator *row = llvm::partition_point(rows, [&](const OnnxOperator &each) { return each.name < code; });
  return row != std::end(rows) && row->name == code ? row : nullptr;
}
