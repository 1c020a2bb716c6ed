#include "eval/Kernels.h"
#include "eval/kernels/Recurrent.h"

/// Plain recurrent networks: h = f(W·x + A·a + R·h + b), of floats, with weights of floats or of int8.
namespace origo::eval {

namespace {

struct Cell {
  int32_t depth = 0, units = 0;
  Matrix input, auxiliary, recurrent;
  Vector bias;
  circle::ActivationFunctionType activation = circle::ActivationFunctionType::NONE;

  void step(llvm::ArrayRef<float> x, llvm::ArrayRef<float> a, llvm::MutableArrayRef<float> h, const Dots &dots) const {
    std::vector<float> y(units);
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = bias[i];
    input.addProduct(x, y, dots);
    if (auxiliary)
      auxiliary.addProduct(a, y, dots);
    recurrent.addProduct(h, y, dots);
    for (size_t i = 0; i < y.size(); ++i)
      h[i] = activate(y[i], activation);
  }
};

/// Weights, recurrent weights and bias begin at operand `at`.
llvm::Expected<Cell> readCell(const KernelContext &ctx, unsigned at, int32_t depth, int auxiliaryAt,
                              int32_t auxiliaryDepth, bool asymmetric) {
  Cell cell;
  cell.depth = depth;
  cell.units = ctx.input(at).dim(0);
  auto input = Matrix::of(ctx, at, cell.units, depth, asymmetric);
  if (!input)
    return input.takeError();
  auto recurrent = Matrix::of(ctx, at + 1, cell.units, cell.units, asymmetric);
  if (!recurrent)
    return recurrent.takeError();
  auto bias = Vector::of(ctx, at + 2, cell.units, true);
  if (!bias)
    return bias.takeError();
  if (auxiliaryAt >= 0) {
    auto auxiliary = Matrix::of(ctx, auxiliaryAt, cell.units, auxiliaryDepth, asymmetric);
    if (!auxiliary)
      return auxiliary.takeError();
    cell.auxiliary = *auxiliary;
  }
  cell.input = *input;
  cell.recurrent = *recurrent;
  cell.bias = *bias;
  return cell;
}

void runCell(KernelContext &ctx, const Dots &dots, const Cell &cell, StateOf<float> &state, const Sequence &sequence,
             llvm::ArrayRef<float> input, llvm::ArrayRef<float> auxiliary, int32_t auxiliaryDepth, bool backward,
             llvm::MutableArrayRef<float> out, int64_t rowSize, int64_t offset) {
  if (out.empty())
    return;
  auto states = state.begin();
  for (int32_t b = 0; b < sequence.batches; ++b) {
    auto h = states.slice(int64_t(b) * cell.units, cell.units);
    for (int32_t t = 0; t < sequence.times && !ctx.late(1 << 12); ++t) {
      int64_t row = sequence.row(backward ? sequence.times - 1 - t : t, b);
      cell.step(input.slice(row * cell.depth, cell.depth),
                auxiliaryDepth ? auxiliary.slice(row * auxiliaryDepth, auxiliaryDepth) : llvm::ArrayRef<float>(), h,
                dots);
      llvm::copy(h, out.begin() + row * rowSize + offset);
    }
  }
}

llvm::Error runOneDirection(KernelContext &ctx, const Dots &dots, bool timeMajor,
                            circle::ActivationFunctionType activation, bool asymmetric) {
  Sequence sequence = Sequence::of(ctx, 0, timeMajor);
  auto cell = readCell(ctx, 1, sequence.depth, -1, 0, asymmetric);
  if (!cell)
    return cell.takeError();
  cell->activation = activation;
  auto state = StateOf<float>::of(ctx, 4, TensorType::FLOAT32, int64_t(sequence.batches) * cell->units);
  if (!state)
    return state.takeError();
  runCell(ctx, dots, *cell, *state, sequence, ctx.input(0).as<float>(), {}, 0, false, ctx.output().as<float>(),
          cell->units, 0);
  return llvm::Error::success();
}

llvm::Error runSingle(KernelContext &ctx, const Dots &dots) {
  const auto &options = ctx.options<circle::RNNOptions>();
  return runOneDirection(ctx, dots, false, options.fused_activation_function(), options.asymmetric_quantize_inputs());
}

llvm::Error runUnidirectional(KernelContext &ctx, const Dots &dots) {
  const auto &options = ctx.options<circle::SequenceRNNOptions>();
  return runOneDirection(ctx, dots, options.time_major(), options.fused_activation_function(),
                         options.asymmetric_quantize_inputs());
}

llvm::Error runBidirectional(KernelContext &ctx, const Dots &dots) {
  const auto &options = ctx.options<circle::BidirectionalSequenceRNNOptions>();
  enum {
    Input,
    Forward,
    ForwardState = 4,
    Backward,
    BackwardState = 8,
    Auxiliary,
    ForwardAuxiliary,
    BackwardAuxiliary
  };
  Sequence sequence = Sequence::of(ctx, Input, options.time_major());
  const Tensor *second = ctx.optional(Auxiliary);
  bool weighted = ctx.has(ForwardAuxiliary);
  // Runtimes disagree on whether the backward direction then reads it instead of the first one.
  if (weighted != (second != nullptr))
    return ctx.fail(Auxiliary, "a second input without weights of its own has no kernel");
  if (second && (second->type != TensorType::FLOAT32 || second->rank() != 3 ||
                 second->dim(0) != ctx.input(Input).dim(0) || second->dim(1) != ctx.input(Input).dim(1)))
    return ctx.fail(Auxiliary, "is no sequence of floats as long as the input");
  int32_t weightedDepth = weighted ? second->dim(2) : 0;
  bool asymmetric = options.asymmetric_quantize_inputs();
  auto fw = readCell(ctx, Forward, sequence.depth, weighted ? int(ForwardAuxiliary) : -1, weightedDepth, asymmetric);
  if (!fw)
    return fw.takeError();
  auto bw = readCell(ctx, Backward, sequence.depth, weighted ? int(BackwardAuxiliary) : -1, weightedDepth, asymmetric);
  if (!bw)
    return bw.takeError();
  fw->activation = bw->activation = options.fused_activation_function();
  auto fwState = StateOf<float>::of(ctx, ForwardState, TensorType::FLOAT32, int64_t(sequence.batches) * fw->units);
  if (!fwState)
    return fwState.takeError();
  auto bwState = StateOf<float>::of(ctx, BackwardState, TensorType::FLOAT32, int64_t(sequence.batches) * bw->units);
  if (!bwState)
    return bwState.takeError();
  bool merged = options.merge_outputs();
  int64_t both = int64_t(fw->units) + bw->units;
  if (!merged && !ctx.wants(1))
    return ctx.fail("an output is absent");
  llvm::MutableArrayRef<float> out[2] = {ctx.output().as<float>(),
                                         merged ? llvm::MutableArrayRef<float>() : ctx.output(1).as<float>()};
  auto weightedInput = weighted ? second->as<float>() : llvm::ArrayRef<float>();
  runCell(ctx, dots, *fw, *fwState, sequence, ctx.input(Input).as<float>(), weightedInput, weightedDepth, false, out[0],
          merged ? both : fw->units, 0);
  runCell(ctx, dots, *bw, *bwState, sequence, ctx.input(Input).as<float>(), weightedInput, weightedDepth, true,
          out[merged ? 0 : 1], merged ? both : bw->units, merged ? fw->units : 0);
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<Recurrent> rnnRecurrents() {
  static const Recurrent list[] = {recurrent<runSingle>, recurrent<runUnidirectional>, recurrent<runBidirectional>};
  return list;
}

llvm::ArrayRef<KernelRow> rnnKernels() {
  using Op = BuiltinOperator;
#define WEIGHTS "f32|i8|u8{n|t}[_,_], f32|i8|u8{n|t}, f32, f32"
  static const KernelRow rows[] = {
      {Op::RNN, "f32[_,_], " WEIGHTS " -> f32", plainly<runSingle>},
      {Op::UNIDIRECTIONAL_SEQUENCE_RNN, "f32[_,_,_], " WEIGHTS " -> f32", plainly<runUnidirectional>},
      {Op::BIDIRECTIONAL_SEQUENCE_RNN,
       "f32[_,_,_], " WEIGHTS ", " WEIGHTS ", f32?, f32|i8|u8{n|t}?, f32|i8|u8{n|t}? -> f32, f32?",
       plainly<runBidirectional>},
  };
#undef WEIGHTS
  return rows;
}

} // namespace origo::eval
