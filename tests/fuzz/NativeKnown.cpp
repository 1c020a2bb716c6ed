#include "tests/fuzz/NativeKnown.h"

#include "ir/rewrite/Graph.h"
#include "schema/OperatorTable.h"
#include "schema/WireSchema.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace origo;
using namespace origo::fuzz;
using Op = BuiltinOperator;
using rewrite::Activation;

namespace {

int64_t option(const Operator &op, llvm::StringRef name) {
  const wire::TableType *type = op.info() ? op.info()->optionsType() : nullptr;
  const wire::Field *field = type ? type->find(name) : nullptr;
  const flatbuffers::Table *table = op.options.table ? op.options.table : op.options2().table;
  return !field ? 0 : table ? wire::integer(*table, *field) : field->defaultInteger;
}

bool isOneOf(const Operator &op, llvm::ArrayRef<Op> codes) { return llvm::is_contained(codes, op.code); }

bool hasChannels(const Value *value) { return value && value->quantization && value->quantization->scale.size() > 1; }
bool hasEqualScales(const Value *value) { return hasChannels(value) && llvm::all_equal(value->quantization->scale); }
bool hasOffset(const Value *value) {
  return value && value->quantization && llvm::any_of(value->quantization->zeroPoint, [](int64_t z) { return z != 0; });
}
const Value *operand(const Operator &op, unsigned i) { return i < op.numOperands() ? op.operand(i) : nullptr; }
bool isOf(const Value *value, TensorType type) { return value && value->type == type; }

struct Known {
  bool (*holds)(const Operator &op);
  llvm::StringRef why;
};

const Known numbers[] = {
    {[](const Operator &op) {
       return llvm::is_contained({Activation::TANH, Activation::SIGN_BIT}, activationOf(op));
     },
     "TANH and SIGN_BIT are in the schema, but no kernel fuses them: it computes as if there were none"},
    {[](const Operator &op) {
       return isOneOf(op, {Op::AVERAGE_POOL_2D, Op::MAX_POOL_2D, Op::L2_POOL_2D}) &&
              !sameQuantization(op.operand(0)->quantization, op.result()->quantization);
     },
     "its specification wants one quantisation around what pools; the kernels trust that it is so"},
    {[](const Operator &op) { return hasChannels(op.operand(0)) && isOneOf(op, {Op::QUANTIZE}); },
     "what is quantised by channel is quantised anew as if its scale were 0"},
    {[](const Operator &op) { return op.code == Op::PRELU && hasChannels(operand(op, 1)); },
     "slopes that are quantised by channel are read as if their scale were 0"},
    {[](const Operator &op) {
       return isOneOf(op, {Op::FULLY_CONNECTED, Op::BATCH_MATMUL, Op::EMBEDDING_LOOKUP}) && hasChannels(operand(op, 1));
     },
     "scales by channel came later for these; it takes 0"},
    {[](const Operator &op) {
       return isOneOf(op, {Op::FULLY_CONNECTED, Op::BATCH_MATMUL, Op::CONV_2D, Op::DEPTHWISE_CONV_2D}) &&
              isOf(op.operand(0), TensorType::FLOAT32) && hasOffset(operand(op, 1));
     },
     "where floats meet integers, their zero point is taken to be 0, as its specification has it for weights"},
    {[](const Operator &op) {
       return isOneOf(op, {Op::CONV_2D, Op::DEPTHWISE_CONV_2D, Op::TRANSPOSE_CONV, Op::FULLY_CONNECTED}) &&
              (isOf(operand(op, 1), TensorType::INT8) || isOf(operand(op, 2), TensorType::INT8)) &&
              (hasOffset(operand(op, 1)) || (op.code == Op::TRANSPOSE_CONV && hasOffset(operand(op, 2))));
     },
     "the zero point of weights of 8 bits is taken to be 0, as its specification has it"},
    {[](const Operator &op) {
       const Value *x = op.operand(0), *filter = operand(op, 1);
       return op.code == Op::DEPTHWISE_CONV_2D && x->rank() == 4 && filter->rank() == 4 &&
              option(op, "depth_multiplier") * x->shape[3] != filter->shape[3];
     },
     "some kernels believe depth_multiplier, some the shapes, which say otherwise"},
    {[](const Operator &op) {
       return isOneOf(op, {Op::RANDOM_STANDARD_NORMAL, Op::RANDOM_UNIFORM, Op::MULTINOMIAL}) &&
              option(op, "seed") == 0 && option(op, "seed2") == 0;
     },
     "without a seed it draws one"},
    {[](const Operator &op) {
       return isOneOf(op, {Op::PAD, Op::PADV2, Op::MIRROR_PAD}) && isOf(operand(op, 1), TensorType::INT64);
     },
     "paddings of 64 bits are read as if they had 32"},
    {[](const Operator &op) { return op.code == Op::REVERSE_V2 && operand(op, 1)->elementCount() != 1; },
     "of several axes it takes the first one"},
    {[](const Operator &op) {
       bool manyPositions = op.code == Op::STRIDED_SLICE &&
                            operand(op, 1)->elementCount() > static_cast<uint64_t>(op.operand(0)->rank());
       return op.code == Op::STRIDED_SLICE &&
              ((option(op, "ellipsis_mask") && (manyPositions || option(op, "new_axis_mask"))) ||
               (option(op, "new_axis_mask") && option(op, "shrink_axis_mask")) ||
               option(op, "new_axis_mask") >> std::min<uint64_t>(operand(op, 1)->elementCount().value_or(0), 63));
     },
     "an ellipsis that stands for no dimension takes one, and masks may say something of positions that are not there"},
    {[](const Operator &op) {
       return op.code == Op::CONV_2D && isOf(op.operand(0), TensorType::FLOAT32) && hasChannels(operand(op, 1)) &&
              (option(op, "dilation_h_factor") != 1 || option(op, "dilation_w_factor") != 1);
     },
     "where floats meet weights with scales by channel there is no dilation"},
    {[](const Operator &op) {
       return op.code == Op::SPARSE_TO_DENSE &&
              (op.operand(0)->rank() == 0 || (op.operand(0)->rank() == 2 && operand(op, 2)->rank() == 0));
     },
     "of a single position it asks for the first dimension, which there is not; one value for all it takes for a list"},
    {[](const Operator &op) {
       return op.code == Op::CONV_2D && isOf(op.operand(0), TensorType::FLOAT32) && hasEqualScales(operand(op, 1));
     },
     "where floats meet weights, scales by channel that are all equal are taken for one, which is 0"},
    {[](const Operator &op) { return op.code == Op::SLICE && op.operand(1)->type != operand(op, 2)->type; },
     "sizes are read as if they had as many bits as positions"},
    {[](const Operator &op) {
       return op.code == Op::PADV2 && operand(op, 2) &&
              !(sameQuantization(op.operand(0)->quantization, operand(op, 2)->quantization) &&
                sameQuantization(op.operand(0)->quantization, op.result()->quantization));
     },
     "what is quantised otherwise than the input or the result pads as 0, or not at all"},
    {[](const Operator &op) {
       auto size = op.code == Op::TRANSPOSE_CONV ? readIntegers(op.operand(0)) : std::nullopt;
       const Value *filter = operand(op, 1), *x = operand(op, 2);
       if (!size || size->size() != 4 || filter->rank() != 4 || x->rank() != 4)
         return false;
       auto isSmaller = [&](unsigned axis, llvm::StringRef stride) {
         return (*size)[axis] < (x->shape[axis] - 1) * option(op, stride) + 1;
       };
       return isSmaller(1, "stride_h") || isSmaller(2, "stride_w");
     },
     "a result that has no room for where each element of the operand goes is computed by counting other elements"},
    {[](const Operator &op) { return op.code == Op::TRANSPOSE_CONV && option(op, "fused_activation_function") != 0; },
     "before version 4 it takes no notice of an activation"},
    {[](const Operator &op) { return op.code == Op::HASHTABLE_LOOKUP; }, "of equal keys it finds any"},
    {[](const Operator &op) { return op.code == Op::RESHAPE && operand(op, 1) && operand(op, 1)->rank() != 1; },
     "a shape that is not a vector is passed over"},
    {[](const Operator &op) {
       return isOneOf(op, {Op::SELECT, Op::SELECT_V2}) && op.result()->elementCount() == 1;
     },
     "one element has the shape that the file says, not that of the operands"},
    {[](const Operator &op) { return op.code == Op::MATRIX_DIAG && isOf(op.operand(0), TensorType::BOOL); },
     "what is beside a diagonal of BOOL is not written"},
    {[](const Operator &op) { return op.code == Op::MATRIX_SET_DIAG && isOf(op.operand(0), TensorType::BOOL); },
     "of BOOL only the diagonal is written"},
    {[](const Operator &op) { return op.code == Op::DIV && isOf(op.operand(0), TensorType::UINT8); },
     "where a quotient is small it shifts by more bits than there are"},
    {[](const Operator &op) {
       return isOneOf(op, {Op::SUM, Op::MEAN}) && op.operand(0)->rank() == 0;
     },
     "what has no dimensions is handed on without its scale"},
    {[](const Operator &op) { return op.code == Op::BATCH_MATMUL && op.operand(0)->type != op.operand(1)->type; },
     "where floats meet integers it reads what it has not written"},
    {[](const Operator &op) {
       return op.code == Op::CONV_3D && (option(op, "dilation_d_factor") != 1 || option(op, "dilation_h_factor") != 1 ||
                                         option(op, "dilation_w_factor") != 1);
     },
     "a dilation of one axis is taken for that of another one"},
    {[](const Operator &op) {
       return op.code == Op::CONCATENATION && llvm::any_of(op.operands(), [&](const Use &use) {
                return use.get() && !sameQuantization(use.get()->quantization, op.result()->quantization);
              });
     },
     "the scales of what is put together are used by some kernels, and by some not"},
    {[](const Operator &op) {
       return op.code == Op::SOFTMAX && op.operand(0)->type == TensorType::UINT8 && hasOffset(op.result());
     },
     "of numbers without a sign the result's zero point is taken to be 0"},
    {[](const Operator &op) { return op.code == Op::SUM && op.operand(0)->type != TensorType::FLOAT32; },
     "a sum that is too large for its type wraps"},
};

} // namespace

llvm::StringRef fuzz::incomparable(const Operator &op, const Run &reference) {
  if (op.code == Op::STRIDED_SLICE && option(op, "offset"))
    return "ends that are counted from where a slice begins came later";
  if (op.code == Op::DEPTHWISE_CONV_2D && isOf(op.operand(0), TensorType::FLOAT32) &&
      !isOf(operand(op, 1), TensorType::FLOAT32) && !hasChannels(operand(op, 1)))
    return "where floats meet weights it reads a scale for each channel, of which there may be one";
  if (op.code == Op::DIV && reference.isOdd)
    return "what divides by zero is clamped to the greatest float";
  for (const Known &known : numbers)
    if (known.holds(op))
      return known.why;
  return {};
}

namespace {

struct KnownRefusal {
  llvm::StringRef part; ///< of what is said
  llvm::StringRef why;
};

const KnownRefusal lacks[] = {
    {"builtin_code out of range", "it has the schema of 2022"},
    {"support", "it lacks the type"},
    {"Unknown ", "it lacks the type"},
    {"ype ", "it lacks the type"},
    {"->type ==", "it lacks the type"},
    {"->type !=", "it lacks the type"},
    {"_type ==", "it lacks the type"},
    {"NumDimensions(", "it takes lists, single numbers and images of one rank only"},
    {"DimensionsCount()", "it takes lists, single numbers and images of one rank only"},
    {"w/ rank > 0", "it takes lists, single numbers and images of one rank only"},
    {"SizeOfDimension(op_context", "it takes paddings as a matrix only"},
    {"params.scale", "it computes for one scale only"},
    {"params->scale", "it computes for one scale only"},
    {"zero_point", "it computes for one zero point only"},
    {"output_scale", "it computes for some scales only, or wants those of bias, operands and result to fit together"},
    {"input1_shift", "pot_scale_int16 wants scales that are powers of two, which here changes nothing"},
    {"input2_shift", "pot_scale_int16 wants scales that are powers of two, which here changes nothing"},
    {"params->activation", "it fuses some activations only"},
    {"HaveSameShapes(input, output)", "PRELU's slopes are broadcast to the input only"},
    {"IsConstantTensor", "it wants it constant"},
    {"sparsity != nullptr", "it wants DENSIFY's operand to be stored sparsely"},
    {"boundaries array not provided", "it wants a bucket"},
    {"state != nullptr", "it wants a variable"},
    {"was optional but was expected", "it wants the bias"},
    {"input->dims->data[3] != filter->dims->data[3]", "convolutions in groups came later"},
    {"current_segment_id", "it wants segments without a gap"},
    {"delta == 0 || delta == 1", "it wants segments without a gap"},
    {"NumOutputs(node) != op_context.params->num_splits", "it wants the option to say how many results there are"},
    {"svdf.cc", "it wants the bias and the state to be of the size that it computes"},
    {"Invalid begin and size", "it reads sizes of 32 bits as if they had 64"},
    {"block_shape->dims->data[0]", "it wants blocks of all dimensions between batches and channels"},
    {"NumElements(indices) != NumElements(values)", "one value for all positions has no dimensions"},
    {"SizeOfDimension(indices, 0) != NumElements(values)", "one value for all positions has no dimensions"},
    {"num_input_elements != num_output_elements", "a shape that is not a vector is passed over"},
    {"NumOutputs(node) != data->num", "it wants the option to say how many results there are"},
    {"Node number", "it lacks the type, and does not say so"},
};

const KnownRefusal trusts[] = {
    {"has no scale", "what is not said is taken to be 0, or not looked at"},
    {"several scales", "of several scales it takes 0, or does not look at them"},
    {"scales along another axis", "it does not look at the axis"},
    {"is out of range", "strides, windows, indices and numbers of bits are believed"},
    {" of 0 elements", "indices are believed"},
    {"index ", "indices are believed"},
    {"a window of size", "a window beside the image gives a size below 0"},
    {"filter of ", "channels that no filter is for are left out"},
    {"weights for ", "inputs that no weight is for are left out"},
    {"division by zero", "integers divide as the processor does"},
    {"impossible range", "ranges are believed"},
    {"elements are shuffled in", "sizes are believed"},
    {"the keys do not rise", "keys are believed"},
    {"shape of the diagonals", "sizes are believed"},
    {" paddings for ", "paddings are believed"},
    {"more than can be mirrored", "paddings are believed"},
    {"sizes that do not ", "sizes are believed"},
    {" is outside dimension ", "positions are believed"},
    {"in a new shape of", "a shape that is not a vector is passed over"},
    {"of another size in dimension", "of a list it takes what it needs"},
    {"a size that is not two positive numbers", "of a list it takes what it needs"},
    {"not a segment for each row", "a list may have any rank"},
    {"a scalar has no segments", "a list may have any rank"},
    {"alternatives of different rank", "one element has any rank"},
    {"of another length than the rank", "what has no dimensions has nothing to slice"},
    {"not a value for each index", "sizes are believed"},
    {"not a single number", "of a list it takes what it needs"},
    {" positions for ", "of a list it takes what it needs"},
    {"stride of ", "strides are believed"},
    {"does not fit in dimension", "of a list it takes what it needs"},
    {"not a permutation", "axes that repeat are believed"},
    {"an output shape without", "sizes are believed"},
};

llvm::StringRef whyOf(llvm::ArrayRef<KnownRefusal> list, llvm::StringRef said) {
  for (const KnownRefusal &known : list)
    if (said.contains(known.part))
      return known.why;
  return {};
}

} // namespace

llvm::StringRef fuzz::mayRefuse(llvm::StringRef refused) {
  return whyOf(lacks, refused.split("; Node number").first); // which is said behind every reason
}
llvm::StringRef fuzz::mayCompute(llvm::StringRef refused) { return whyOf(trusts, refused); }
