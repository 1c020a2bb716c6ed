#include "ir/Versions.h"

#include "schema/OperatorFacts.h"
#include "schema/TensorTypes.h"

#include <algorithm>

/// The version that LiteRT's converter gives to an operator (the rules of its op_version.cc): a column of the
/// operator's row where a rule only looks at the type of one operand, else a function. A few of its rules look at the
/// wrong operand or take a default for a setting; the version here is then the one whose kernel is meant: 16x8 CONV_2D
/// and FULLY_CONNECTED without quantized_bias_type are 4 and 7, DEPTHWISE_CONV_2D of int16 is 5, TRANSPOSE_CONV with
/// quantized_bias_type is 5, SELECT and SELECT_V2 go by what is selected, int8 FULLY_CONNECTED with int4 weights is 10
/// with or without a bias. tests/versions_test.cpp compares it with the rules and with the versions in real files.

using namespace origo;

namespace {

TensorType in(const Operator &op, unsigned i) {
  const Value *value = op.operand(i);
  return value ? value->type : TensorType(127);
}
TensorType out(const Operator &op) { return op.result() ? op.result()->type : TensorType(127); }
int rankOf(const Operator &op, unsigned i) { return op.operand(i) ? op.operand(i)->rank() : 0; }

bool isScaled(const Value *value) { return value && value->quantization && !value->quantization->scale.empty(); }
bool isPerChannel(const Value *value) { return isScaled(value) && value->quantization->scale.size() > 1; }

/// Float operands with int8 weights.
bool isHybrid(const Operator &op, unsigned weights) {
  return in(op, 0) == TensorType::FLOAT32 && in(op, weights) == TensorType::INT8 && out(op) == TensorType::FLOAT32;
}

/// Do the two operands differ in shape, and has one of them more than four dimensions?
bool broadcastsBeyondRank4(const Operator &op) {
  const Value *a = op.operand(0), *b = op.operand(1);
  return a && b && a->shape != b->shape && std::max(a->rank(), b->rank()) > 4;
}

template <class T> const T *optionsOf(const Operator &op) {
  bool same = op.options.member == static_cast<uint8_t>(circle::BuiltinOptionsTraits<T>::enum_value);
  return same ? op.options.as<T>() : nullptr;
}

constexpr auto i8 = TensorType::INT8, u8 = TensorType::UINT8, i16 = TensorType::INT16, i32 = TensorType::INT32,
               i64 = TensorType::INT64, u32 = TensorType::UINT32, boolean = TensorType::BOOL, text = TensorType::STRING,
               f32 = TensorType::FLOAT32, f16 = TensorType::FLOAT16, bf16 = TensorType::BFLOAT16,
               f64 = TensorType::FLOAT64, u16 = TensorType::UINT16, i4 = TensorType::INT4, u4 = TensorType::UINT4;
// Numbers of tflite.fbs that circle.fbs has no names for.
constexpr auto i2 = TensorType(19), f8e4m3 = TensorType(21), f8e5m2 = TensorType(22);

bool isFloat8(TensorType type) { return type == f8e4m3 || type == f8e5m2; }

int32_t conv2D(const Operator &op) {
  const auto *options = optionsOf<circle::Conv2DOptions>(op);
  const Value *input = op.operand(0), *filter = op.operand(1);
  if (in(op, 0) == i16 && out(op) == i16)
    return options && options->quantized_bias_type() != f32 ? 8 : 4;
  if (input && filter && input->rank() == 4 && filter->rank() == 4 && filter->shape[3] != input->shape[3])
    return 6;
  if (in(op, 0) == i8 && in(op, 1) == i4 && out(op) == i8)
    return 7;
  if (in(op, 0) == i8 && in(op, 1) == i8 && out(op) == i8)
    return 3;
  if (isHybrid(op, 1))
    return isPerChannel(filter) ? 5 : 2;
  return 1;
}

int32_t depthwiseConv2D(const Operator &op) {
  const auto *options = optionsOf<circle::DepthwiseConv2DOptions>(op);
  if (in(op, 0) == i16 && out(op) == i16)
    return 5;
  if (isHybrid(op, 1))
    return isPerChannel(op.operand(1)) ? 6 : 4;
  if (in(op, 0) == i8 && in(op, 1) == i4 && out(op) == i8)
    return 7;
  if (in(op, 0) == i8 && in(op, 1) == i8 && out(op) == i8)
    return 3;
  return options && (options->dilation_h_factor() != 1 || options->dilation_w_factor() != 1) ? 2 : 1;
}

int32_t fullyConnected(const Operator &op) {
  const auto *options = optionsOf<circle::FullyConnectedOptions>(op);
  const Value *weights = op.operand(1);
  if (in(op, 1) == i2)
    return 14;
  if (in(op, 0) == i16 && out(op) == i16) {
    if (in(op, 1) == i4)
      return 13;
    return in(op, 1) == i8 && options && options->quantized_bias_type() != f32 ? 11 : 7;
  }
  if (in(op, 0) == i8 && in(op, 1) == i4 && out(op) == i8)
    return 10;
  bool hybrid = isHybrid(op, 1);
  if (hybrid && isPerChannel(weights))
    return 12;
  if (weights && weights->sparsity())
    return 8;
  if (hybrid && options && options->asymmetric_quantize_inputs())
    return 9;
  if (op.numOperands() == 2)
    return 6;
  if (options && options->keep_num_dims())
    return 5;
  if (in(op, 0) == i8 && in(op, 1) == i8 && out(op) == i8)
    return 4;
  if (hybrid)
    return 3;
  return options && options->weights_format() == circle::FullyConnectedOptionsWeightsFormat::SHUFFLED4x16INT8 ? 2 : 1;
}

int32_t transposeConv(const Operator &op) {
  const auto *options = optionsOf<circle::TransposeConvOptions>(op);
  if (options && options->quantized_bias_type() != f32)
    return 5;
  if (options && options->fused_activation_function() != circle::ActivationFunctionType::NONE)
    return 4;
  if (op.operand(3))
    return 3;
  return in(op, 1) == i8 ? 2 : 1;
}

int32_t add(const Operator &op) {
  const auto *options = optionsOf<circle::AddOptions>(op);
  if (in(op, 0) == f16)
    return 6;
  if (in(op, 0) == i16 && !isScaled(op.operand(0)))
    return 5;
  if (in(op, 0) == i64)
    return 4;
  if (in(op, 0) == i16 && out(op) == i16)
    return options && !options->pot_scale_int16() ? 3 : 1;
  return in(op, 0) == i8 ? 2 : 1;
}

int32_t sub(const Operator &op) {
  const auto *options = optionsOf<circle::SubOptions>(op);
  if (in(op, 0) == i16 && out(op) == i16 && options && !options->pot_scale_int16())
    return 5;
  if (in(op, 0) == i64)
    return 4;
  if (broadcastsBeyondRank4(op))
    return 3;
  return in(op, 0) == i8 ? 2 : 1;
}

int32_t mul(const Operator &op) {
  const Value *a = op.operand(0), *b = op.operand(1), *result = op.result();
  if (in(op, 0) == f16)
    return 8;
  if ((in(op, 0) == i16 && !isScaled(a)) || in(op, 0) == u32)
    return 7;
  if (in(op, 0) == TensorType::COMPLEX64)
    return 6;
  if (in(op, 0) == i64)
    return 5;
  if (in(op, 0) == i16)
    return 4;
  if (isScaled(a) && isScaled(b) && isScaled(result) &&
      a->quantization->scale[0] * b->quantization->scale[0] >= result->quantization->scale[0])
    return 3;
  return in(op, 0) == i8 ? 2 : 1;
}

int32_t div(const Operator &op) { return broadcastsBeyondRank4(op) ? 2 : 1; }

int32_t maximumMinimum(const Operator &op) {
  if (in(op, 0) == i16)
    return 4;
  if (broadcastsBeyondRank4(op))
    return 3;
  return in(op, 0) == i8 ? 2 : 1;
}

int32_t pad(const Operator &op) {
  if (isFloat8(in(op, 0)))
    return 6;
  if (in(op, 0) == boolean)
    return 5;
  if (rankOf(op, 0) > 4)
    return 4;
  return in(op, 0) == i16 ? 3 : in(op, 0) == i8 ? 2 : 1;
}

int32_t transpose(const Operator &op) {
  if (in(op, 0) == f16)
    return 9;
  if (rankOf(op, 0) > 6 || in(op, 0) == bf16)
    return 8;
  if (in(op, 0) == i4)
    return 7;
  if (rankOf(op, 0) > 5)
    return 6;
  if (in(op, 0) == i16)
    return 5;
  if (rankOf(op, 0) > 4)
    return 4;
  return in(op, 0) == boolean ? 3 : in(op, 0) == i8 ? 2 : 1;
}

int32_t slice(const Operator &op) {
  if (in(op, 0) == f16)
    return 8;
  if (in(op, 0) == i4)
    return 7;
  if (in(op, 0) == u32)
    return 6;
  if (rankOf(op, 0) > 4)
    return 5;
  if (in(op, 0) == i16)
    return 4;
  return in(op, 0) == text ? 3 : in(op, 0) == i8 ? 2 : 1;
}

int32_t stridedSlice(const Operator &op) {
  const auto *options = optionsOf<circle::StridedSliceOptions>(op);
  if (options && options->offset())
    return 8;
  if (in(op, 0) == u32)
    return 7;
  if (options && (options->ellipsis_mask() || options->new_axis_mask()))
    return 6;
  if (in(op, 0) == text)
    return 5;
  if (rankOf(op, 0) > 4)
    return 4;
  return in(op, 0) == boolean ? 3 : in(op, 0) == i8 ? 2 : 1;
}

int32_t gather(const Operator &op) {
  const auto *options = optionsOf<circle::GatherOptions>(op);
  if (isFloat8(in(op, 0)))
    return 8;
  if (in(op, 0) == i4)
    return 7;
  if (in(op, 1) == i16)
    return 6;
  if (options && options->batch_dims() != 0)
    return 5;
  return in(op, 0) == i16 ? 4 : in(op, 0) == boolean ? 3 : in(op, 0) == i8 ? 2 : 1;
}

int32_t gatherNd(const Operator &op) {
  if (isFloat8(in(op, 0)))
    return 6;
  if (in(op, 0) == boolean)
    return 5;
  if (in(op, 1) == i16)
    return 4;
  return in(op, 0) == i16 ? 3 : in(op, 0) == text ? 2 : 1;
}

int32_t batchMatMul(const Operator &op) {
  const auto *options = optionsOf<circle::BatchMatMulOptions>(op);
  if (in(op, 0) == i16)
    return 3;
  if (in(op, 0) == i8)
    return 2;
  return isHybrid(op, 1) && options && options->asymmetric_quantize_inputs() ? 4 : 1;
}

int32_t spaceBatch(const Operator &op) {
  if (in(op, 0) == i16)
    return 4;
  if (rankOf(op, 0) != 4)
    return 3;
  return in(op, 0) == i8 ? 2 : 1;
}

int32_t resizeBilinear(const Operator &op) {
  const auto *options = optionsOf<circle::ResizeBilinearOptions>(op);
  if (in(op, 0) == i16)
    return 4;
  if (options && options->half_pixel_centers())
    return 3;
  return in(op, 0) == i8 ? 2 : 1;
}

int32_t resizeNearest(const Operator &op) {
  const auto *options = optionsOf<circle::ResizeNearestNeighborOptions>(op);
  if (in(op, 0) == i16)
    return 4;
  if (options && (options->half_pixel_centers() || options->align_corners()))
    return 3;
  return in(op, 0) == i8 ? 2 : 1;
}

int32_t dequantize(const Operator &op) {
  if (isFloat8(in(op, 0)))
    return 9;
  if (in(op, 0) == u4)
    return 8;
  if (in(op, 0) == i2)
    return 7;
  if (in(op, 0) == i4)
    return 6;
  if (in(op, 0) == i16 || in(op, 0) == f16)
    return 3;
  if (in(op, 0) == i8)
    return isPerChannel(op.operand(0)) ? 5 : 2;
  return 1;
}

int32_t quantize(const Operator &op) {
  if (in(op, 0) == u4 || out(op) == u4)
    return 5;
  if (in(op, 0) == i4 || out(op) == i4)
    return 4;
  if (isPerChannel(op.result()))
    return 3;
  return out(op) == i16 ? 2 : 1;
}

int32_t cast(const Operator &op) {
  auto either = [&](TensorType type) { return in(op, 0) == type || out(op) == type; };
  if (either(f8e4m3) || either(f8e5m2))
    return 9;
  if (either(i2) || either(u4))
    return 8;
  if (either(bf16))
    return 7;
  if (in(op, 0) == i4 && out(op) == f32)
    return 6;
  if (either(f64) || either(f16))
    return 5;
  if (either(u16))
    return 4;
  if (either(i8))
    return 3;
  return either(u32) ? 2 : 1;
}

int32_t absolute(const Operator &op) {
  if (in(op, 0) == i32)
    return 5;
  if (in(op, 0) == i16)
    return isScaled(op.operand(0)) ? 3 : 4;
  return in(op, 0) == i8 || in(op, 0) == u8 ? 2 : 1;
}

int32_t topK(const Operator &op) {
  const Value *indices = op.result(1);
  if (in(op, 0) == i16 || in(op, 1) == i16 || (indices && indices->type == i16))
    return 3;
  return in(op, 0) == i8 ? 2 : 1;
}

int32_t select(const Operator &op) {
  if (in(op, 1) == u32)
    return 4;
  if (rankOf(op, 0) == 5 || rankOf(op, 1) == 5 || rankOf(op, 2) == 5)
    return 3;
  return in(op, 1) == i8 ? 2 : 1;
}

int32_t fakeQuant(const Operator &op) {
  const auto *options = optionsOf<circle::FakeQuantOptions>(op);
  return options && options->narrow_range() ? 2 : 1;
}

int32_t embeddingLookup(const Operator &op) {
  if (in(op, 1) == i4 || isPerChannel(op.operand(1)))
    return 4;
  return in(op, 1) == i2 ? 5 : 1;
}

int32_t dynamicUpdateSlice(const Operator &op) {
  if (in(op, 0) == bf16)
    return 6;
  if (in(op, 0) == i4)
    return 5;
  if (in(op, 0) == i16)
    return 4;
  if (in(op, 0) == f16)
    return 3;
  return in(op, 2) == i64 ? 2 : 1;
}

/// Hybrid kernels: one version for weights in int8, one more for inputs that are quantised asymmetrically.
template <class T> int32_t hybrid(const Operator &op, unsigned weights, int32_t symmetric, int32_t asymmetric) {
  if (!isHybrid(op, weights))
    return 1;
  const auto *options = optionsOf<T>(op);
  return options && options->asymmetric_quantize_inputs() ? asymmetric : symmetric;
}

int32_t svdf(const Operator &op) { return in(op, 0) == i8 ? 3 : hybrid<circle::SVDFOptions>(op, 1, 2, 4); }
int32_t rnn(const Operator &op) { return hybrid<circle::RNNOptions>(op, 1, 2, 3); }
int32_t sequenceRnn(const Operator &op) { return hybrid<circle::SequenceRNNOptions>(op, 1, 2, 3); }
int32_t bidirectionalRnn(const Operator &op) { return hybrid<circle::BidirectionalSequenceRNNOptions>(op, 1, 2, 3); }
int32_t bidirectionalLstm(const Operator &op) { return hybrid<circle::BidirectionalSequenceLSTMOptions>(op, 2, 2, 3); }

bool is16x8Lstm(const Operator &op) { return in(op, 0) == i16 && in(op, 2) == i8 && out(op) == i16; }

int32_t lstm(const Operator &op) {
  const auto *options = optionsOf<circle::LSTMOptions>(op);
  if (options && options->kernel_type() == circle::LSTMKernelType::BASIC)
    return 2;
  if (is16x8Lstm(op))
    return 5;
  return hybrid<circle::LSTMOptions>(op, 2, 3, 4);
}

int32_t sequenceLstm(const Operator &op) {
  const auto *options = optionsOf<circle::UnidirectionalSequenceLSTMOptions>(op);
  if (is16x8Lstm(op))
    return 5;
  if (options && options->diagonal_recurrent_tensors())
    return 4;
  return hybrid<circle::UnidirectionalSequenceLSTMOptions>(op, 2, 2, 3);
}

struct OwnRule {
  BuiltinOperator code;
  int32_t (*rule)(const Operator &);
};

constexpr OwnRule ownRules[] = {
    {BuiltinOperator::CONV_2D, conv2D},
    {BuiltinOperator::DEPTHWISE_CONV_2D, depthwiseConv2D},
    {BuiltinOperator::FULLY_CONNECTED, fullyConnected},
    {BuiltinOperator::TRANSPOSE_CONV, transposeConv},
    {BuiltinOperator::ADD, add},
    {BuiltinOperator::SUB, sub},
    {BuiltinOperator::MUL, mul},
    {BuiltinOperator::DIV, div},
    {BuiltinOperator::MAXIMUM, maximumMinimum},
    {BuiltinOperator::MINIMUM, maximumMinimum},
    {BuiltinOperator::PAD, pad},
    {BuiltinOperator::PADV2, pad},
    {BuiltinOperator::TRANSPOSE, transpose},
    {BuiltinOperator::SLICE, slice},
    {BuiltinOperator::STRIDED_SLICE, stridedSlice},
    {BuiltinOperator::GATHER, gather},
    {BuiltinOperator::GATHER_ND, gatherNd},
    {BuiltinOperator::BATCH_MATMUL, batchMatMul},
    {BuiltinOperator::SPACE_TO_BATCH_ND, spaceBatch},
    {BuiltinOperator::BATCH_TO_SPACE_ND, spaceBatch},
    {BuiltinOperator::RESIZE_BILINEAR, resizeBilinear},
    {BuiltinOperator::RESIZE_NEAREST_NEIGHBOR, resizeNearest},
    {BuiltinOperator::DEQUANTIZE, dequantize},
    {BuiltinOperator::QUANTIZE, quantize},
    {BuiltinOperator::CAST, cast},
    {BuiltinOperator::ABS, absolute},
    {BuiltinOperator::TOPK_V2, topK},
    {BuiltinOperator::SELECT, select},
    {BuiltinOperator::FAKE_QUANT, fakeQuant},
    {BuiltinOperator::EMBEDDING_LOOKUP, embeddingLookup},
    {BuiltinOperator::DYNAMIC_UPDATE_SLICE, dynamicUpdateSlice},
    {BuiltinOperator::SVDF, svdf},
    {BuiltinOperator::RNN, rnn},
    {BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_RNN, sequenceRnn},
    {BuiltinOperator::BIDIRECTIONAL_SEQUENCE_RNN, bidirectionalRnn},
    {BuiltinOperator::LSTM, lstm},
    {BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM, sequenceLstm},
    {BuiltinOperator::BIDIRECTIONAL_SEQUENCE_LSTM, bidirectionalLstm},
};

} // namespace

int32_t origo::lowestVersion(const Operator &op) {
  for (const OwnRule &row : ownRules)
    if (row.code == op.code)
      return row.rule(op);
  const OperatorFacts &facts = factsOf(op.code);
  llvm::StringRef type = tensorTypeShortName(in(op, facts.versionOperand)), word, rest = facts.versions;
  while (!rest.empty()) {
    int version = 1;
    std::tie(word, rest) = rest.split(' ');
    auto [digits, others] = rest.split(' ');
    if (word == type && !digits.getAsInteger(10, version))
      return version;
    rest = others;
  }
  return facts.otherVersion;
}

llvm::StringRef origo::runtimeOf(BuiltinOperator code, int32_t version) {
  llvm::StringRef releases = factsOf(code).since;
  for (; version > 1 && !releases.empty(); --version)
    releases = releases.split(' ').second;
  llvm::StringRef release = releases.split(' ').first;
  return version < 1 || release == "-" ? llvm::StringRef() : release;
}
