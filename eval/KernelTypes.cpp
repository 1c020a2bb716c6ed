#include "eval/KernelTypes.h"

#include "llvm/ADT/STLExtras.h"

/// What kernels refuse by themselves, besides types: said here so that a model can be held against it before it runs.
/// tests/every_target.sh runs what these limits let through.
namespace origo::eval {

using enum BuiltinOperator;

bool needsScales(const KernelRow &row) {
  static const BuiltinOperator scaled[] = {
      ABS,
      ADD,
      AVERAGE_POOL_2D,
      CONV_2D,
      DEPTHWISE_CONV_2D,
      DEQUANTIZE,
      DIV,
      ELU,
      EMBEDDING_LOOKUP,
      EXP,
      FULLY_CONNECTED,
      GELU,
      HARD_SWISH,
      L2_NORMALIZATION,
      LEAKY_RELU,
      LOG,
      LOGISTIC,
      LOG_SOFTMAX,
      MAX_POOL_2D,
      MEAN,
      MUL,
      PRELU,
      QUANTIZE,
      REDUCE_MAX,
      REDUCE_MIN,
      REDUCE_PROD,
      RELU,
      RELU6,
      RELU_0_TO_1,
      RELU_N1_TO_1,
      RSQRT,
      SOFTMAX,
      SQRT,
      SQUARED_DIFFERENCE,
      SUB,
      SUM,
      SVDF,
      TANH,
      TRANSPOSE_CONV,
  };
  // Numbers of 16 bits are compared as they are.
  static const BuiltinOperator comparisons[] = {EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL};
  if (row.code == BATCH_MATMUL)
    return !row.types.ends_with("i32"); // a product of integers
  return llvm::is_contained(scaled, row.code) ||
         (llvm::is_contained(comparisons, row.code) && !row.types.starts_with("i16"));
}

bool takesChannels(const KernelRow &row, unsigned index, bool result) {
  return row.code == QUANTIZE || row.code == DEQUANTIZE || (row.code == BATCH_MATMUL && !result) ||
         (!result && llvm::any_of(channelAxes(), [&](const ChannelAxis &axis) {
           return axis.code == row.code && axis.operand == index;
         }));
}

bool takesBlocks(const KernelRow &row, unsigned operand) {
  return row.code == FULLY_CONNECTED && operand == 1 && row.types.starts_with("f32");
}

bool keepsQuantization(const KernelRow &row) {
  return (row.code == REDUCE_MAX || row.code == REDUCE_MIN) &&
         (row.types.starts_with("i8") || row.types.starts_with("u8") || row.types.starts_with("i16"));
}

llvm::ArrayRef<OptionRange> optionRanges() {
  static const OptionRange ranges[] = {
      {CONCATENATION, "fused_activation_function", {}, {}, "NONE"},
      {FAKE_QUANT, "num_bits", 2, 16, ""},
      {GRU, "fused_activation_function", {}, {}, "NONE"},
      {LOCAL_RESPONSE_NORMALIZATION, "radius", 0, {}, ""},
  };
  return ranges;
}

llvm::ArrayRef<ChannelAxis> channelAxes() {
  static const ChannelAxis axes[] = {
      {CONV_2D, 1, 0},         {DEPTHWISE_CONV_2D, 1, 3}, {EMBEDDING_LOOKUP, 1, 0},
      {FULLY_CONNECTED, 1, 0}, {TRANSPOSE_CONV, 1, 0},
  };
  return axes;
}

llvm::ArrayRef<OperandRank> operandRanks() {
  static const OperandRank ranks[] = {
      {AVERAGE_POOL_2D, 0, 4},
      {BROADCAST_ARGS, 0, 1},
      {BROADCAST_ARGS, 1, 1},
      {CONV_2D, 0, 4},
      {CONV_2D, 1, 4},
      {CONV_3D, 0, 5},
      {CONV_3D, 1, 5},
      {CONV_3D_TRANSPOSE, 1, 5},
      {CONV_3D_TRANSPOSE, 2, 5},
      {DEPTHWISE_CONV_2D, 0, 4},
      {DEPTHWISE_CONV_2D, 1, 4},
      {DEPTH_TO_SPACE, 0, 4},
      {EMBEDDING_LOOKUP_SPARSE, 0, 1},
      {EMBEDDING_LOOKUP_SPARSE, 1, 2},
      {EMBEDDING_LOOKUP_SPARSE, 2, 1},
      {EMBEDDING_LOOKUP_SPARSE, 3, 1},
      {FULLY_CONNECTED, 1, 2},
      {GRU, 0, 3},
      {HASHTABLE_LOOKUP, 0, 1},
      {HASHTABLE_LOOKUP, 1, 1},
      {INSTANCE_NORM, 0, 4},
      {L2_POOL_2D, 0, 4},
      {MAX_POOL_2D, 0, 4},
      {MULTINOMIAL, 0, 2},
      {RESIZE_BILINEAR, 0, 4},
      {RESIZE_NEAREST_NEIGHBOR, 0, 4},
      {RNN, 0, 2},
      {SPACE_TO_DEPTH, 0, 4},
      {SVDF, 0, 2},
      {SVDF, 1, 2},
      {SVDF, 2, 2},
      {TRANSPOSE_CONV, 1, 4},
      {TRANSPOSE_CONV, 2, 4},
      {UNIDIRECTIONAL_SEQUENCE_RNN, 0, 3},
      {UNIQUE, 0, 1},
  };
  return ranks;
}

} // namespace origo::eval
