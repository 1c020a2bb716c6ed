#include "passes/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

using Op = BuiltinOperator;

llvm::ArrayRef<Pass> allPasses() {
  // Identities go first: they stand between what the fusions look for. Scales and shifts go before activations, which
  // would stand between a linear operator and them.
  static const std::vector<Pass> passes = {
      {"remove-identity",
       "an operator whose result is its operand: x+0, x*1, cast to the same type, reshape to the same shape, …",
       true,
       {{"remove_unnecessary_add", {{Op::ADD, {}}}},
        {"remove_unnecessary_cast", {{Op::CAST, {}}}},
        {"remove_unnecessary_div", {{Op::DIV, {}}}},
        {"remove_unnecessary_mul", {{Op::MUL, {}}}},
        {"remove_unnecessary_reshape", {{Op::RESHAPE, {}}}},
        {"remove_unnecessary_slice", {{Op::SLICE, {}}}},
        {"remove_unnecessary_split", {{Op::SPLIT, {}}, {Op::SPLIT_V, {}}}},
        {"remove_unnecessary_strided_slice", {{Op::STRIDED_SLICE, {}}}},
        {"remove_unnecessary_transpose", {{Op::TRANSPOSE, {}}}}},
       {{"neutral-arithmetic", removeNeutralArithmetic, {Op::ADD, Op::SUB, Op::MUL, Op::DIV}},
        {"same-shape",
         removeShapeIdentity,
         {Op::RESHAPE, Op::SQUEEZE, Op::EXPAND_DIMS, Op::SLICE, Op::PAD, Op::PADV2, Op::MIRROR_PAD, Op::TILE,
          Op::BROADCAST_TO, Op::CONCATENATION}},
        {"strided-slice", removeStridedSlice, {Op::STRIDED_SLICE}},
        {"transpose", removeTranspose, {Op::TRANSPOSE}},
        {"cast", removeCast, {Op::CAST}},
        {"split", removeSplit, {Op::SPLIT, Op::SPLIT_V}}}},
      {"fuse-scale-into-linear",
       "linear(x, W, b) * s -> linear(x, s*W, s*b), s constant along the output channels",
       true,
       {{"fuse_mul_with_conv", {{Op::MUL, Op::CONV_2D}, {Op::MUL, Op::DEPTHWISE_CONV_2D}}},
        {"fuse_mul_with_fullyconnected", {{Op::MUL, Op::FULLY_CONNECTED}}},
        {"fuse_batchnorm_with_conv", {{Op::MUL, Op::CONV_2D}}},
        {"fuse_batchnorm_with_dwconv", {{Op::MUL, Op::DEPTHWISE_CONV_2D}}},
        {"fuse_batchnorm_with_tconv", {{Op::MUL, Op::TRANSPOSE_CONV}}}},
       {{"scale", fuseScaleIntoLinear, {Op::MUL, Op::DIV}}}},
      {"fuse-shift-into-linear",
       "linear(x, W, b) + c -> linear(x, W, b+c), c constant along the output channels",
       true,
       {{"fuse_add_with_conv", {{Op::ADD, Op::CONV_2D}, {Op::ADD, Op::DEPTHWISE_CONV_2D}}},
        {"fuse_add_with_fully_connected", {{Op::ADD, Op::FULLY_CONNECTED}}},
        {"fuse_add_with_tconv", {{Op::ADD, Op::TRANSPOSE_CONV}}},
        {"fuse_batchnorm_with_conv", {{Op::ADD, Op::CONV_2D}}},
        {"fuse_batchnorm_with_dwconv", {{Op::ADD, Op::DEPTHWISE_CONV_2D}}},
        {"fuse_batchnorm_with_tconv", {{Op::ADD, Op::TRANSPOSE_CONV}}}},
       {{"shift", fuseShiftIntoLinear, {Op::ADD, Op::SUB}}}},
      {"fuse-activation",
       "relu(f(x)) -> f(x) with a fused activation, f used once",
       true,
       {{"fuse_activation_function", {}}},
       {{"activation", fuseActivation, {Op::RELU, Op::RELU6, Op::RELU_N1_TO_1}}}},
  };
  return passes;
}

const Pass *findPass(llvm::StringRef name) {
  auto passes = allPasses();
  const Pass *found = llvm::find_if(passes, [&](const Pass &p) { return p.name == name; });
  return found == passes.end() ? nullptr : found;
}

} // namespace origo
