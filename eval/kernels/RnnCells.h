#pragma once

#include "eval/kernels/Recurrent.h"

/// Plain recurrent networks of any kind of number: h = f(W·x + A·a + R·h + b).
namespace origo::eval::loops::rnn {

template <class M> struct Cell {
  using Number = typename M::Number;
  int32_t depth = 0, units = 0;
  typename M::Matrix input, auxiliary, recurrent;
  typename M::Vector bias;
  circle::ActivationFunctionType activation = circle::ActivationFunctionType::NONE;

  void step(llvm::ArrayRef<Number> x, llvm::ArrayRef<Number> a, llvm::MutableArrayRef<Number> h, const M &math) const {
    std::vector<Number> y(units);
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = bias[i];
    input.addProduct(x, y, math);
    if (auxiliary)
      auxiliary.addProduct(a, y, math);
    recurrent.addProduct(h, y, math);
    for (size_t i = 0; i < y.size(); ++i)
      h[i] = math.activate(y[i], activation);
  }
};

/// Weights, recurrent weights and bias begin at operand `at`.
template <class M>
llvm::Expected<Cell<M>> readCell(const KernelContext &ctx, unsigned at, int32_t depth, int auxiliaryAt,
                                 int32_t auxiliaryDepth, bool asymmetric) {
  Cell<M> cell;
  cell.depth = depth;
  cell.units = ctx.input(at).dim(0);
  auto input = M::Matrix::of(ctx, at, cell.units, depth, asymmetric);
  if (!input)
    return input.takeError();
  auto recurrent = M::Matrix::of(ctx, at + 1, cell.units, cell.units, asymmetric);
  if (!recurrent)
    return recurrent.takeError();
  auto bias = M::Vector::of(ctx, at + 2, cell.units, true);
  if (!bias)
    return bias.takeError();
  if (auxiliaryAt >= 0) {
    auto auxiliary = M::Matrix::of(ctx, auxiliaryAt, cell.units, auxiliaryDepth, asymmetric);
    if (!auxiliary)
      return auxiliary.takeError();
    cell.auxiliary = *auxiliary;
  }
  cell.input = *input;
  cell.recurrent = *recurrent;
  cell.bias = *bias;
  return cell;
}

template <class M, class Number = typename M::Number>
void runCell(KernelContext &ctx, const M &math, const Cell<M> &cell, StateOf<Number> &state, const Sequence &sequence,
             llvm::ArrayRef<Number> input, llvm::ArrayRef<Number> auxiliary, int32_t auxiliaryDepth, bool backward,
             llvm::MutableArrayRef<Number> out, int64_t rowSize, int64_t offset) {
  if (out.empty())
    return;
  auto states = state.begin();
  for (int32_t b = 0; b < sequence.batches; ++b) {
    auto h = states.slice(int64_t(b) * cell.units, cell.units);
    for (int32_t t = 0; t < sequence.times && !ctx.late(1 << 12); ++t) {
      int64_t row = sequence.row(backward ? sequence.times - 1 - t : t, b);
      cell.step(input.slice(row * cell.depth, cell.depth),
                auxiliaryDepth ? auxiliary.slice(row * auxiliaryDepth, auxiliaryDepth) : llvm::ArrayRef<Number>(), h,
                math);
      llvm::copy(h, out.begin() + row * rowSize + offset);
    }
  }
}

template <class M>
llvm::Error runOneDirection(KernelContext &ctx, const M &math, bool timeMajor,
                            circle::ActivationFunctionType activation, bool asymmetric) {
  using Number = typename M::Number;
  Sequence sequence = Sequence::of(ctx, 0, timeMajor);
  auto cell = readCell<M>(ctx, 1, sequence.depth, -1, 0, asymmetric);
  if (!cell)
    return cell.takeError();
  cell->activation = activation;
  auto state = StateOf<Number>::of(ctx, 4, TensorType::FLOAT32, int64_t(sequence.batches) * cell->units);
  if (!state)
    return state.takeError();
  runCell(ctx, math, *cell, *state, sequence, numbersAt<Number>(ctx, 0), {}, 0, false, ctx.output().as<Number>(),
          cell->units, 0);
  return llvm::Error::success();
}

template <class M> llvm::Error runSingle(KernelContext &ctx, const M &math) {
  const auto &options = ctx.options<circle::RNNOptions>();
  return runOneDirection(ctx, math, false, options.fused_activation_function(), options.asymmetric_quantize_inputs());
}

template <class M> llvm::Error runUnidirectional(KernelContext &ctx, const M &math) {
  const auto &options = ctx.options<circle::SequenceRNNOptions>();
  return runOneDirection(ctx, math, options.time_major(), options.fused_activation_function(),
                         options.asymmetric_quantize_inputs());
}

template <class M> llvm::Error runBidirectional(KernelContext &ctx, const M &math) {
  using Number = typename M::Number;
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
  auto fw = readCell<M>(ctx, Forward, sequence.depth, weighted ? int(ForwardAuxiliary) : -1, weightedDepth, asymmetric);
  if (!fw)
    return fw.takeError();
  auto bw =
      readCell<M>(ctx, Backward, sequence.depth, weighted ? int(BackwardAuxiliary) : -1, weightedDepth, asymmetric);
  if (!bw)
    return bw.takeError();
  fw->activation = bw->activation = options.fused_activation_function();
  auto fwState = StateOf<Number>::of(ctx, ForwardState, TensorType::FLOAT32, int64_t(sequence.batches) * fw->units);
  if (!fwState)
    return fwState.takeError();
  auto bwState = StateOf<Number>::of(ctx, BackwardState, TensorType::FLOAT32, int64_t(sequence.batches) * bw->units);
  if (!bwState)
    return bwState.takeError();
  bool merged = options.merge_outputs();
  int64_t both = int64_t(fw->units) + bw->units;
  if (!merged && !ctx.wants(1))
    return ctx.fail("an output is absent");
  llvm::MutableArrayRef<Number> out[2] = {ctx.output().as<Number>(),
                                          merged ? llvm::MutableArrayRef<Number>() : ctx.output(1).as<Number>()};
  llvm::ArrayRef<Number> weightedInput;
  if (weighted)
    weightedInput = second->as<Number>();
  runCell(ctx, math, *fw, *fwState, sequence, numbersAt<Number>(ctx, Input), weightedInput, weightedDepth, false,
          out[0], merged ? both : fw->units, 0);
  runCell(ctx, math, *bw, *bwState, sequence, numbersAt<Number>(ctx, Input), weightedInput, weightedDepth, true,
          out[merged ? 0 : 1], merged ? both : bw->units, merged ? fw->units : 0);
  return llvm::Error::success();
}

} // namespace origo::eval::loops::rnn
