#pragma once

#include "eval/kernels/Recurrent.h"

/// LSTM of any kind of number.
namespace origo::eval::loops::lstm {

using Activation = circle::ActivationFunctionType;

struct Sizes {
  int32_t input, cell, output;
};

/// Tells of numbers; empty: nobody wants to know.
template <class Number> using Tell = std::function<void(llvm::ArrayRef<Number>)>;
template <class Number> Tell<Number> tellOf(const KernelContext &ctx, unsigned intermediate) {
  if constexpr (std::is_same_v<Number, float>) {
    llvm::ArrayRef<Value *> all = ctx.op.intermediates();
    if (ctx.resources && ctx.resources->within && intermediate < all.size() && all[intermediate])
      return
          [&ctx, value = all[intermediate]](llvm::ArrayRef<float> numbers) { ctx.resources->within(*value, numbers); };
  }
  return {};
}

/// f(W·x + A·a + R·h + P∘c + b); with layer normalisation, f(L∘normalised(…) + b).
template <class M> struct Gate {
  using Number = typename M::Number;
  typename M::Matrix input, auxiliary, recurrent;
  typename M::Vector diagonal, peephole, norm, bias;
  Tell<Number> tellSum; ///< that is normalised

  std::vector<Number> sum(llvm::ArrayRef<Number> x, llvm::ArrayRef<Number> a, llvm::ArrayRef<Number> h,
                          llvm::ArrayRef<Number> c, const M &math) const {
    std::vector<Number> y(c.size());
    if (!norm && bias)
      addBias(y, math);
    input.addProduct(x, y, math);
    if (auxiliary)
      auxiliary.addProduct(a, y, math);
    if (recurrent)
      recurrent.addProduct(h, y, math);
    for (size_t i = 0; i < y.size() && diagonal; ++i)
      y[i] = math.add(y[i], math.multiply(diagonal[i], h[i]));
    for (size_t i = 0; i < y.size() && peephole; ++i)
      y[i] = math.add(y[i], math.multiply(peephole[i], c[i]));
    if (norm && tellSum)
      tellSum(y);
    if (norm)
      normalize(y, math);
    return y;
  }

private:
  void addBias(llvm::MutableArrayRef<Number> y, const M &math) const {
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = math.add(y[i], bias[i]);
  }
  void normalize(llvm::MutableArrayRef<Number> y, const M &math) const {
    Number mean{}, variance{}, count = math.of(static_cast<float>(y.size()));
    for (const Number &number : y)
      mean = math.add(mean, number);
    mean = math.divide(mean, count);
    for (const Number &number : y) {
      Number far = math.subtract(number, mean);
      variance = math.add(variance, math.multiply(far, far));
    }
    Number factor = math.divide(math.of(1), math.root(math.add(math.divide(variance, count), math.of(1e-8f))));
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = math.multiply(math.multiply(math.subtract(y[i], mean), factor), norm[i]);
    if (bias)
      addBias(y, math);
  }
};

/// One direction of an LSTM.
template <class M> struct Cell {
  using Number = typename M::Number;
  Sizes sizes;
  bool coupled = false; ///< no input gate: it lets in what the forget gate lets go
  Gate<M> in, forget, candidate, out;
  typename M::Matrix projection;
  typename M::Vector projectionBias;
  Tell<Number> tellHidden; ///< what is projected
  Activation activation = Activation::NONE;
  float cellClip = 0, projectionClip = 0;

  void step(llvm::ArrayRef<Number> x, llvm::ArrayRef<Number> a, llvm::MutableArrayRef<Number> h,
            llvm::MutableArrayRef<Number> c, const M &math) const {
    std::vector<Number> input, forgotten = forget.sum(x, a, h, c, math), fresh = candidate.sum(x, a, h, c, math);
    if (!coupled)
      input = in.sum(x, a, h, c, math);
    for (size_t i = 0; i < c.size(); ++i) {
      Number keep = math.sigmoid(forgotten[i]);
      Number lets = coupled ? math.subtract(math.of(1), keep) : math.sigmoid(input[i]);
      c[i] = math.add(math.multiply(keep, c[i]), math.multiply(math.activate(fresh[i], activation), lets));
      c[i] = clip(c[i], cellClip, math);
    }
    std::vector<Number> y = out.sum(x, a, h, c, math);
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = math.multiply(math.sigmoid(y[i]), math.activate(c[i], activation));
    if (!projection) {
      llvm::copy(y, h.begin());
      return;
    }
    if (tellHidden)
      tellHidden(y);
    for (size_t i = 0; i < h.size(); ++i)
      h[i] = projectionBias ? projectionBias[i] : Number();
    projection.addProduct(y, h, math);
    for (Number &number : h)
      number = clip(number, projectionClip, math);
  }

private:
  static Number clip(const Number &x, float most, const M &math) { return most > 0 ? math.clamp(x, -most, most) : x; }
};

/// Where the operands of a direction are.
struct Layout {
  unsigned weights; ///< 4 matrices for the input, 4 for the state, 3 peepholes, 4 biases, the projection and its bias
  unsigned outputState, cellState;
  int auxiliary = -1, norms = -1;
  bool diagonal = false, asymmetric = false;
};

inline llvm::Expected<Sizes> sizesOf(const KernelContext &ctx, const Layout &at, int32_t depth) {
  unsigned lastInput = at.weights + 3, lastState = at.weights + 7;
  for (unsigned operand : {lastInput, lastState})
    if (!ctx.has(operand) || ctx.input(operand).rank() != (at.diagonal && operand == lastState ? 1 : 2))
      return ctx.fail(operand, "is missing or has another rank");
  Sizes sizes{depth, ctx.input(lastInput).dim(0), ctx.input(lastState).dim(at.diagonal ? 0 : 1)};
  if (!ctx.has(at.weights + 15) && sizes.output != sizes.cell)
    return ctx.fail(lastState, "without a projection, the output has the size of the cell");
  return sizes;
}

/// Which of the four gates; the numbers are the order of operands, and of intermediates.
enum : unsigned { In, Forget, Candidate, Out, Hidden };

template <class M>
llvm::Error readGate(const KernelContext &ctx, const Layout &at, const Sizes &sizes, int32_t auxiliaryDepth,
                     unsigned which, Gate<M> &gate) {
  llvm::Error error = llvm::Error::success();
  auto read = [&](auto &to, auto from) {
    if (from)
      to = std::move(*from);
    else if (llvm::Error other = from.takeError(); error)
      llvm::consumeError(std::move(other));
    else
      error = std::move(other);
  };
  read(gate.input, M::Matrix::of(ctx, at.weights + which, sizes.cell, sizes.input, at.asymmetric));
  if (at.auxiliary >= 0)
    read(gate.auxiliary, M::Matrix::of(ctx, at.auxiliary + which, sizes.cell, auxiliaryDepth, at.asymmetric));
  if (at.diagonal)
    read(gate.diagonal, M::Vector::of(ctx, at.weights + 4 + which, sizes.cell, true));
  else
    read(gate.recurrent, M::Matrix::of(ctx, at.weights + 4 + which, sizes.cell, sizes.output, at.asymmetric));
  if (which != Candidate)
    read(gate.peephole, M::Vector::of(ctx, at.weights + (which == Out ? 10 : 8 + which), sizes.cell));
  read(gate.bias, M::Vector::of(ctx, at.weights + 11 + which, sizes.cell, true));
  if (at.norms >= 0)
    read(gate.norm, M::Vector::of(ctx, at.norms + which, sizes.cell));
  gate.tellSum = tellOf<typename M::Number>(ctx, which);
  return error;
}

template <class M>
llvm::Expected<Cell<M>> readCell(const KernelContext &ctx, const Layout &at, int32_t depth, int32_t auxiliaryDepth) {
  auto sizes = sizesOf(ctx, at, depth);
  if (!sizes)
    return sizes.takeError();
  Cell<M> cell;
  cell.sizes = *sizes;
  cell.coupled = !ctx.has(at.weights);
  if (!cell.coupled)
    if (llvm::Error error = readGate(ctx, at, *sizes, auxiliaryDepth, In, cell.in))
      return error;
  for (auto [which, gate] :
       {std::pair(Forget, &cell.forget), std::pair(Candidate, &cell.candidate), std::pair(Out, &cell.out)})
    if (llvm::Error error = readGate(ctx, at, *sizes, auxiliaryDepth, which, *gate))
      return error;
  auto projection = M::Matrix::of(ctx, at.weights + 15, sizes->output, sizes->cell, at.asymmetric, false);
  if (!projection)
    return projection.takeError();
  auto bias = M::Vector::of(ctx, at.weights + 16, sizes->output);
  if (!bias)
    return bias.takeError();
  cell.projection = *projection;
  cell.projectionBias = *bias;
  cell.tellHidden = tellOf<typename M::Number>(ctx, Hidden);
  return cell;
}

template <class Number> struct States {
  StateOf<Number> output, cell;
  static llvm::Expected<States> of(const KernelContext &ctx, const Layout &at, const Sizes &sizes, int32_t batches) {
    auto output = StateOf<Number>::of(ctx, at.outputState, TensorType::FLOAT32, int64_t(batches) * sizes.output);
    if (!output)
      return output.takeError();
    auto cell = StateOf<Number>::of(ctx, at.cellState, TensorType::FLOAT32, int64_t(batches) * sizes.cell);
    if (!cell)
      return cell.takeError();
    return States{std::move(*output), std::move(*cell)};
  }
};

/// Goes through the sequence, backward if wanted, and writes behind `offset` in each row of `out`.
template <class M, class Number = typename M::Number>
void runCell(KernelContext &ctx, const M &math, const Cell<M> &cell, States<Number> &states, const Sequence &sequence,
             llvm::ArrayRef<Number> input, llvm::ArrayRef<Number> auxiliary, int32_t auxiliaryDepth, bool backward,
             llvm::MutableArrayRef<Number> out, int64_t rowSize, int64_t offset, unsigned cellState) {
  if (out.empty())
    return;
  auto h = states.output.begin(), c = states.cell.begin();
  const Sizes &sizes = cell.sizes;
  for (int32_t b = 0; b < sequence.batches; ++b) {
    auto state = h.slice(int64_t(b) * sizes.output, sizes.output);
    auto memory = c.slice(int64_t(b) * sizes.cell, sizes.cell);
    for (int32_t t = 0; t < sequence.times && !ctx.late(1 << 12); ++t) {
      int64_t row = sequence.row(backward ? sequence.times - 1 - t : t, b);
      cell.step(input.slice(row * sizes.input, sizes.input),
                auxiliaryDepth ? auxiliary.slice(row * auxiliaryDepth, auxiliaryDepth) : llvm::ArrayRef<Number>(),
                state, memory, math);
      stateChanged(ctx, cellState);
      llvm::copy(state, out.begin() + row * rowSize + offset);
    }
  }
}

template <class M, class Options> void takeOptions(Cell<M> &cell, const Options &options) {
  cell.activation = options.fused_activation_function();
  cell.cellClip = options.cell_clip();
  cell.projectionClip = options.proj_clip();
}

template <class M, class Options>
llvm::Error runOneDirection(KernelContext &ctx, const M &math, const Options &options, Layout at, bool timeMajor) {
  at.asymmetric = options.asymmetric_quantize_inputs();
  if (ctx.numInputs() > 20)
    at.norms = 20;
  Sequence sequence = Sequence::of(ctx, 0, timeMajor);
  auto cell = readCell<M>(ctx, at, sequence.depth, 0);
  if (!cell)
    return cell.takeError();
  takeOptions(*cell, options);
  auto states = States<typename M::Number>::of(ctx, at, cell->sizes, sequence.batches);
  if (!states)
    return states.takeError();
  runCell(ctx, math, *cell, *states, sequence, numbersAt<typename M::Number>(ctx, 0), {}, 0, false,
          ctx.output().as<typename M::Number>(), cell->sizes.output, 0, at.cellState);
  return llvm::Error::success();
}

/// The four products of LSTMKernelType::BASIC stand in one matrix.
template <class M> llvm::Error runBasic(KernelContext &ctx, const M &math) {
  using Number = typename M::Number;
  enum { Input, PreviousOutput, Weights, Bias, PreviousCell };
  int32_t batches = ctx.input(Input).dim(0), depth = ctx.input(Input).dim(1);
  int32_t units = ctx.input(PreviousOutput).dim(1);
  auto weights = M::Matrix::of(ctx, Weights, 4 * units, depth + units, false);
  if (!weights)
    return weights.takeError();
  auto bias = M::Vector::of(ctx, Bias, 4 * units, true);
  if (!bias)
    return bias.takeError();
  for (unsigned operand : {PreviousOutput, PreviousCell})
    if (llvm::Error error = wantTensor(ctx, operand, {TensorType::FLOAT32}, {batches, units}))
      return error;
  // The output, the cell, the row [x, h] and the four products. The last two are scratch that files have as results.
  const int32_t columns[] = {units, units, depth + units, 4 * units};
  std::vector<Number> scratch[4];
  llvm::MutableArrayRef<Number> results[4];
  for (unsigned i = 0; i < 4; ++i) {
    scratch[i].resize(columns[i]);
    if (ctx.wants(i))
      results[i] = ctx.output(i).as<Number>();
  }
  auto &[out, cell, row, sums] = scratch;
  auto x = numbersAt<Number>(ctx, Input);
  Tensor &output = *ctx.inputs[PreviousOutput], &kept = *ctx.inputs[PreviousCell];
  auto h = output.as<Number>(), c = kept.as<Number>();
  for (int64_t b = 0; b < batches && units > 0; ++b) {
    llvm::copy(x.slice(b * depth, depth), row.begin());
    llvm::copy(h.slice(b * units, units), row.begin() + depth);
    for (int32_t i = 0; i < 4 * units; ++i)
      sums[i] = (*bias)[i];
    weights->addProduct(row, sums, math);
    for (int32_t i = 0; i < units; ++i) {
      Number in = math.sigmoid(sums[i]), fresh = math.tangent(sums[units + i]),
             forget = math.sigmoid(sums[2 * units + i]);
      cell[i] = math.add(math.multiply(in, fresh), math.multiply(forget, c[b * units + i]));
      out[i] = math.multiply(math.sigmoid(sums[3 * units + i]), math.tangent(cell[i]));
    }
    for (unsigned i = 0; i < 4; ++i)
      if (!results[i].empty())
        llvm::copy(scratch[i], results[i].begin() + b * columns[i]);
    // The next run goes on where this one ends.
    if (ctx.op.operand(PreviousOutput)->isVariable)
      llvm::copy(out, h.begin() + b * units);
    if (ctx.op.operand(PreviousCell)->isVariable)
      llvm::copy(cell, c.begin() + b * units);
  }
  return llvm::Error::success();
}

template <class M> llvm::Error runLstm(KernelContext &ctx, const M &math) {
  const auto &options = ctx.options<circle::LSTMOptions>();
  if (ctx.numInputs() == 5)
    return ctx.fail("the number of operands is that of the other kernel type");
  return runOneDirection(ctx, math, options, {1, 18, 19}, false);
}

template <class M> llvm::Error runUnidirectional(KernelContext &ctx, const M &math) {
  const auto &options = ctx.options<circle::UnidirectionalSequenceLSTMOptions>();
  Layout at{1, 18, 19};
  at.diagonal = options.diagonal_recurrent_tensors();
  return runOneDirection(ctx, math, options, at, options.time_major());
}

template <class M> llvm::Error runBidirectional(KernelContext &ctx, const M &math) {
  const auto &options = ctx.options<circle::BidirectionalSequenceLSTMOptions>();
  using Number = typename M::Number;
  constexpr unsigned auxiliary = 39;
  Layout forward{1, 35, 36}, backward{18, 37, 38};
  forward.asymmetric = backward.asymmetric = options.asymmetric_quantize_inputs();
  Sequence sequence = Sequence::of(ctx, 0, options.time_major());
  // A second input without weights of its own is what the backward direction reads instead of the first one.
  const Tensor *second = ctx.optional(auxiliary);
  int32_t secondDepth = 0;
  bool weighted = ctx.has(auxiliary + 2);
  if (second) {
    if (second->type != TensorType::FLOAT32 || second->rank() != 3 || second->dim(0) != ctx.input(0).dim(0) ||
        second->dim(1) != ctx.input(0).dim(1))
      return ctx.fail(auxiliary, "is no sequence of floats as long as the input");
    secondDepth = second->dim(2);
  }
  if (weighted && !second)
    return ctx.fail(auxiliary, "is missing");
  if (weighted) {
    forward.auxiliary = auxiliary + 1;
    backward.auxiliary = auxiliary + 5;
  }
  const Tensor &backwardInput = second && !weighted ? *second : ctx.input(0);
  auto fw = readCell<M>(ctx, forward, sequence.depth, secondDepth);
  if (!fw)
    return fw.takeError();
  auto bw = readCell<M>(ctx, backward, backwardInput.dim(2), secondDepth);
  if (!bw)
    return bw.takeError();
  takeOptions(*fw, options);
  takeOptions(*bw, options);
  auto fwStates = States<typename M::Number>::of(ctx, forward, fw->sizes, sequence.batches);
  if (!fwStates)
    return fwStates.takeError();
  auto bwStates = States<typename M::Number>::of(ctx, backward, bw->sizes, sequence.batches);
  if (!bwStates)
    return bwStates.takeError();
  bool merged = options.merge_outputs();
  int64_t fwSize = fw->sizes.output, bwSize = bw->sizes.output;
  if (!merged && !ctx.wants(1))
    return ctx.fail("an output is absent");
  llvm::MutableArrayRef<Number> out[2] = {ctx.output().as<Number>(),
                                          merged ? llvm::MutableArrayRef<Number>() : ctx.output(1).as<Number>()};
  llvm::ArrayRef<Number> weightedInput;
  if (weighted)
    weightedInput = second->as<Number>();
  int32_t weightedDepth = weighted ? secondDepth : 0;
  runCell(ctx, math, *fw, *fwStates, sequence, numbersAt<Number>(ctx, 0), weightedInput, weightedDepth, false, out[0],
          merged ? fwSize + bwSize : fwSize, 0, forward.cellState);
  runCell(ctx, math, *bw, *bwStates, sequence, llvm::ArrayRef<Number>(backwardInput.as<Number>()), weightedInput,
          weightedDepth, true, merged ? out[0] : out[1], merged ? fwSize + bwSize : bwSize, merged ? fwSize : 0,
          backward.cellState);
  return llvm::Error::success();
}

} // namespace origo::eval::loops::lstm
