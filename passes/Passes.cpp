#include "passes/Passes.h"

#include "eval/Evaluate.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

using Op = BuiltinOperator;

/// All that may be computed once instead of twice, by their rows.
static std::vector<Op> pureOperators() {
  std::vector<Op> codes;
  for (const OperatorInfo &row : allOperators())
    if (row.effects == 0)
      codes.push_back(row.code);
  return codes;
}

/// Some custom operators are pure too.
static std::vector<Op> foldableOperators() {
  std::vector<Op> codes = pureOperators();
  codes.push_back(Op::CUSTOM);
  return codes;
}

static std::vector<Op> withTraits(llvm::ArrayRef<Trait> any) {
  std::vector<Op> codes;
  for (const OperatorInfo &row : allOperators())
    if (llvm::any_of(any, [&](Trait trait) { return row.has(trait); }))
      codes.push_back(row.code);
  return codes;
}

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
          Op::BROADCAST_TO, Op::CONCATENATION, Op::STRIDED_SLICE, Op::TRANSPOSE}},
        {"cast", removeCast, {Op::CAST}},
        {"split", removeSplit, {Op::SPLIT, Op::SPLIT_V}}}},
      {"merge-duplicate-constants",
       "equal constants -> one",
       false,
       {{"remove_duplicate_const", {}}},
       {},
       mergeDuplicateConstants},
      {"common-subexpressions",
       "f(x), f(x) -> f(x): the same operator with the same options and operands",
       true,
       {{"common_subexpression_elimination", {}}},
       {{"merge", mergeDuplicates, pureOperators()}}},
      {"fold-constants",
       "an operator whose operands are constant, or a shape that is known -> its value",
       true,
       {{"fold_add_v2", {{Op::CUSTOM, {}}}},
        {"fold_cast", {{Op::CAST, {}}}},
        {"fold_densify", {{Op::DENSIFY, {}}}},
        {"fold_dequantize", {{Op::DEQUANTIZE, {}}}},
        {"fold_dwconv", {{Op::DEPTHWISE_CONV_2D, {}}}},
        {"fold_fully_connected", {{Op::FULLY_CONNECTED, {}}}},
        {"fold_gather", {{Op::GATHER, {}}}},
        {"fold_mul", {{Op::MUL, {}}}},
        {"fold_reshape", {{Op::RESHAPE, {}}}},
        {"fold_shape", {{Op::SHAPE, {}}}},
        {"fold_sparse_to_dense", {{Op::SPARSE_TO_DENSE, {}}}},
        {"fold_squeeze", {{Op::SQUEEZE, {}}}}},
       {{"evaluate", foldConstants, foldableOperators()}}},
      {"substitute-to-reshape",
       "an expand_dims, squeeze, pack of one, transpose or strided_slice that moves no element -> reshape",
       true,
       {{"substitute_expand_dims_to_reshape", {{Op::EXPAND_DIMS, {}}}},
        {"substitute_pack_to_reshape", {{Op::PACK, {}}}},
        {"substitute_squeeze_to_reshape", {{Op::SQUEEZE, {}}}},
        {"substitute_strided_slice_to_reshape", {{Op::STRIDED_SLICE, {}}}},
        {"substitute_transpose_to_reshape", {{Op::TRANSPOSE, {}}}}},
       {{"reshape", substituteToReshape, {Op::EXPAND_DIMS, Op::SQUEEZE, Op::PACK, Op::STRIDED_SLICE, Op::TRANSPOSE}}}},
      {"merge-reshapes",
       "reshape(reshape(x)) -> reshape(x), or x where the two undo each other",
       true,
       {{"remove_redundant_reshape", {}}},
       {{"cancel", cancelReshapes, {Op::RESHAPE, Op::SQUEEZE, Op::EXPAND_DIMS}},
        {"merge", mergeReshapes, {Op::RESHAPE}}}},
      {"merge-transposes",
       "transpose(transpose(x, p), q) -> transpose(x, p after q), or x where that is the identity",
       true,
       {{"remove_redundant_transpose", {}}},
       {{"merge", mergeTransposes, {Op::TRANSPOSE}}}},
      {"forward-reshapes",
       "unary(reshape(x)) -> reshape(unary(x))",
       true,
       {{"forward_reshape_to_unaryop", {}}},
       {{"forward", forwardReshape, withTraits({Trait::Unary})}}},
      {"forward-transposes",
       "f(transpose(x, p), transpose(y, p) or a constant) -> transpose(f(x, y), p) for elementwise f",
       true,
       {{"forward_transpose_op", {}}},
       {{"forward", forwardTranspose, withTraits({Trait::Unary, Trait::Binary})}}},
      {"expand-broadcast-constants",
       "f(x, c) -> f(x, c repeated to the shape of the result), for back ends that do not broadcast",
       false,
       {{"expand_broadcast_const", {}}},
       {{"expand", expandBroadcastConstant, withTraits({Trait::Binary})}}},
      {"merge-constant-arithmetic",
       "(x + c) + d -> x + (d+c), (x * c) * d -> x * (d*c); x - c too",
       true,
       {},
       {{"merge", mergeConstantArithmetic, {Op::ADD, Op::SUB, Op::MUL}}}},
      {"recognise-relu6",
       "min(max(x, 0), 6), relu(min(x, 6)) -> relu6(x)",
       true,
       {{"transform_min_max_to_relu6", {{Op::MINIMUM, Op::MAXIMUM}, {Op::MAXIMUM, Op::MINIMUM}}},
        {"transform_min_relu_to_relu6", {{Op::RELU, Op::MINIMUM}, {Op::MINIMUM, Op::RELU}}}},
       {{"relu6", recogniseRelu6, {Op::MINIMUM, Op::MAXIMUM, Op::RELU}}}},
      {"decompose-hard-swish",
       "hard_swish(x) -> x * (relu6(x + 3) * 1/6), for back ends without it",
       false,
       {{"decompose_hardswish", {}}},
       {{"decompose", decomposeHardSwish, {Op::HARD_SWISH}}}},
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
