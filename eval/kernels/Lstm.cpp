#include "eval/Kernels.h"
#include "eval/kernels/Recurrent.h"

/// LSTM of floats, with weights of floats or of int8.
namespace origo::eval {

namespace {

using Activation = circle::ActivationFunctionType;

float sigmoid(float x) { return 1.f / (1.f + std::exp(-x)); }

struct Sizes {
  int32_t input, cell, output;
};

/// Tells of numbers; empty: nobody wants to know.
using Tell = std::function<void(llvm::ArrayRef<float>)>;
Tell tellOf(const KernelContext &ctx, unsigned intermediate) {
  llvm::ArrayRef<Value *> all = ctx.op.intermediates();
  if (!ctx.resources || !ctx.resources->within || intermediate >= all.size() || !all[intermediate])
    return {};
  return [&ctx, value = all[intermediate]](llvm::ArrayRef<float> numbers) { ctx.resources->within(*value, numbers); };
}

/// f(W·x + A·a + R·h + P∘c + b); with layer normalisation, f(L∘normalised(…) + b).
struct Gate {
  Matrix input, auxiliary, recurrent;
  Vector diagonal, peephole, norm, bias;
  Tell tellSum; ///< that is normalised

  std::vector<float> sum(llvm::ArrayRef<float> x, llvm::ArrayRef<float> a, llvm::ArrayRef<float> h,
                         llvm::ArrayRef<float> c, const Dots &dots) const {
    std::vector<float> y(c.size());
    if (!norm && bias)
      addBias(y);
    input.addProduct(x, y, dots);
    if (auxiliary)
      auxiliary.addProduct(a, y, dots);
    if (recurrent)
      recurrent.addProduct(h, y, dots);
    for (size_t i = 0; i < y.size() && diagonal; ++i)
      y[i] += diagonal[i] * h[i];
    for (size_t i = 0; i < y.size() && peephole; ++i)
      y[i] += peephole[i] * c[i];
    if (norm && tellSum)
      tellSum(y);
    if (norm)
      normalize(y);
    return y;
  }

private:
  void addBias(llvm::MutableArrayRef<float> y) const {
    for (size_t i = 0; i < y.size(); ++i)
      y[i] += bias[i];
  }
  void normalize(llvm::MutableArrayRef<float> y) const {
    float mean = 0, variance = 0, count = static_cast<float>(y.size());
    for (float number : y)
      mean += number;
    mean /= count;
    for (float number : y)
      variance += (number - mean) * (number - mean);
    float factor = 1.f / std::sqrt(variance / count + 1e-8f);
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = (y[i] - mean) * factor * norm[i];
    if (bias)
      addBias(y);
  }
};

/// One direction of an LSTM.
struct Cell {
  Sizes sizes;
  bool coupled = false; ///< no input gate: it lets in what the forget gate lets go
  Gate in, forget, candidate, out;
  Matrix projection;
  Vector projectionBias;
  Tell tellHidden; ///< what is projected
  Activation activation = Activation::NONE;
  float cellClip = 0, projectionClip = 0;

  void step(llvm::ArrayRef<float> x, llvm::ArrayRef<float> a, llvm::MutableArrayRef<float> h,
            llvm::MutableArrayRef<float> c, const Dots &dots) const {
    std::vector<float> input, forgotten = forget.sum(x, a, h, c, dots), fresh = candidate.sum(x, a, h, c, dots);
    if (!coupled)
      input = in.sum(x, a, h, c, dots);
    for (size_t i = 0; i < c.size(); ++i) {
      float keep = sigmoid(forgotten[i]);
      c[i] = keep * c[i] + activate(fresh[i], activation) * (coupled ? 1 - keep : sigmoid(input[i]));
      c[i] = clip(c[i], cellClip);
    }
    std::vector<float> y = out.sum(x, a, h, c, dots);
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = sigmoid(y[i]) * activate(c[i], activation);
    if (!projection) {
      llvm::copy(y, h.begin());
      return;
    }
    if (tellHidden)
      tellHidden(y);
    for (size_t i = 0; i < h.size(); ++i)
      h[i] = projectionBias ? projectionBias[i] : 0;
    projection.addProduct(y, h, dots);
    for (float &number : h)
      number = clip(number, projectionClip);
  }

private:
  static float clip(float x, float most) { return most > 0 ? std::clamp(x, -most, most) : x; }
};

/// Where the operands of a direction are.
struct Layout {
  unsigned weights; ///< 4 matrices for the input, 4 for the state, 3 peepholes, 4 biases, the projection and its bias
  unsigned outputState, cellState;
  int auxiliary = -1, norms = -1;
  bool diagonal = false, asymmetric = false;
};

llvm::Expected<Sizes> sizesOf(const KernelContext &ctx, const Layout &at, int32_t depth) {
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

llvm::Error readGate(const KernelContext &ctx, const Layout &at, const Sizes &sizes, int32_t auxiliaryDepth,
                     unsigned which, Gate &gate) {
  llvm::Error error = llvm::Error::success();
  auto read = [&](auto &to, auto from) {
    if (from)
      to = std::move(*from);
    else if (llvm::Error other = from.takeError(); error)
      llvm::consumeError(std::move(other));
    else
      error = std::move(other);
  };
  read(gate.input, Matrix::of(ctx, at.weights + which, sizes.cell, sizes.input, at.asymmetric));
  if (at.auxiliary >= 0)
    read(gate.auxiliary, Matrix::of(ctx, at.auxiliary + which, sizes.cell, auxiliaryDepth, at.asymmetric));
  if (at.diagonal)
    read(gate.diagonal, Vector::of(ctx, at.weights + 4 + which, sizes.cell, true));
  else
    read(gate.recurrent, Matrix::of(ctx, at.weights + 4 + which, sizes.cell, sizes.output, at.asymmetric));
  if (which != Candidate)
    read(gate.peephole, Vector::of(ctx, at.weights + (which == Out ? 10 : 8 + which), sizes.cell));
  read(gate.bias, Vector::of(ctx, at.weights + 11 + which, sizes.cell, true));
  if (at.norms >= 0)
    read(gate.norm, Vector::of(ctx, at.norms + which, sizes.cell));
  gate.tellSum = tellOf(ctx, which);
  return error;
}

llvm::Expected<Cell> readCell(const KernelContext &ctx, const Layout &at, int32_t depth, int32_t auxiliaryDepth) {
  auto sizes = sizesOf(ctx, at, depth);
  if (!sizes)
    return sizes.takeError();
  Cell cell;
  cell.sizes = *sizes;
  cell.coupled = !ctx.has(at.weights);
  if (!cell.coupled)
    if (llvm::Error error = readGate(ctx, at, *sizes, auxiliaryDepth, In, cell.in))
      return error;
  for (auto [which, gate] :
       {std::pair(Forget, &cell.forget), std::pair(Candidate, &cell.candidate), std::pair(Out, &cell.out)})
    if (llvm::Error error = readGate(ctx, at, *sizes, auxiliaryDepth, which, *gate))
      return error;
  auto projection = Matrix::of(ctx, at.weights + 15, sizes->output, sizes->cell, at.asymmetric, false);
  if (!projection)
    return projection.takeError();
  auto bias = Vector::of(ctx, at.weights + 16, sizes->output);
  if (!bias)
    return bias.takeError();
  cell.projection = *projection;
  cell.projectionBias = *bias;
  cell.tellHidden = tellOf(ctx, Hidden);
  return cell;
}

struct States {
  StateOf<float> output, cell;
  static llvm::Expected<States> of(const KernelContext &ctx, const Layout &at, const Sizes &sizes, int32_t batches) {
    auto output = StateOf<float>::of(ctx, at.outputState, TensorType::FLOAT32, int64_t(batches) * sizes.output);
    if (!output)
      return output.takeError();
    auto cell = StateOf<float>::of(ctx, at.cellState, TensorType::FLOAT32, int64_t(batches) * sizes.cell);
    if (!cell)
      return cell.takeError();
    return States{std::move(*output), std::move(*cell)};
  }
};

/// Goes through the sequence, backward if wanted, and writes behind `offset` in each row of `out`.
void runCell(KernelContext &ctx, const Dots &dots, const Cell &cell, States &states, const Sequence &sequence,
             llvm::ArrayRef<float> input, llvm::ArrayRef<float> auxiliary, int32_t auxiliaryDepth, bool backward,
             llvm::MutableArrayRef<float> out, int64_t rowSize, int64_t offset, unsigned cellState) {
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
                auxiliaryDepth ? auxiliary.slice(row * auxiliaryDepth, auxiliaryDepth) : llvm::ArrayRef<float>(), state,
                memory, dots);
      stateChanged(ctx, cellState);
      llvm::copy(state, out.begin() + row * rowSize + offset);
    }
  }
}

template <class Options> void takeOptions(Cell &cell, const Options &options) {
  cell.activation = options.fused_activation_function();
  cell.cellClip = options.cell_clip();
  cell.projectionClip = options.proj_clip();
}

template <class Options>
llvm::Error runOneDirection(KernelContext &ctx, const Dots &dots, const Options &options, Layout at, bool timeMajor) {
  at.asymmetric = options.asymmetric_quantize_inputs();
  if (ctx.numInputs() > 20)
    at.norms = 20;
  Sequence sequence = Sequence::of(ctx, 0, timeMajor);
  auto cell = readCell(ctx, at, sequence.depth, 0);
  if (!cell)
    return cell.takeError();
  takeOptions(*cell, options);
  auto states = States::of(ctx, at, cell->sizes, sequence.batches);
  if (!states)
    return states.takeError();
  runCell(ctx, dots, *cell, *states, sequence, ctx.input(0).as<float>(), {}, 0, false, ctx.output().as<float>(),
          cell->sizes.output, 0, at.cellState);
  return llvm::Error::success();
}

/// The four products of LSTMKernelType::BASIC stand in one matrix.
llvm::Error runBasic(KernelContext &ctx, const Dots &dots) {
  enum { Input, PreviousOutput, Weights, Bias, PreviousCell };
  int32_t batches = ctx.input(Input).dim(0), depth = ctx.input(Input).dim(1);
  int32_t units = ctx.input(PreviousOutput).dim(1);
  auto weights = Matrix::of(ctx, Weights, 4 * units, depth + units, false);
  if (!weights)
    return weights.takeError();
  auto bias = Vector::of(ctx, Bias, 4 * units, true);
  if (!bias)
    return bias.takeError();
  for (unsigned operand : {PreviousOutput, PreviousCell})
    if (llvm::Error error = wantTensor(ctx, operand, {TensorType::FLOAT32}, {batches, units}))
      return error;
  // The output, the cell, the row [x, h] and the four products. The last two are scratch that files have as results.
  const int32_t columns[] = {units, units, depth + units, 4 * units};
  std::vector<float> scratch[4];
  llvm::MutableArrayRef<float> results[4];
  for (unsigned i = 0; i < 4; ++i) {
    scratch[i].resize(columns[i]);
    if (ctx.wants(i))
      results[i] = ctx.output(i).as<float>();
  }
  auto &[out, cell, row, sums] = scratch;
  auto x = ctx.input(Input).as<float>();
  auto h = ctx.inputs[PreviousOutput]->as<float>(), c = ctx.inputs[PreviousCell]->as<float>();
  for (int64_t b = 0; b < batches && units > 0; ++b) {
    llvm::copy(x.slice(b * depth, depth), row.begin());
    llvm::copy(h.slice(b * units, units), row.begin() + depth);
    for (int32_t i = 0; i < 4 * units; ++i)
      sums[i] = (*bias)[i];
    weights->addProduct(row, sums, dots);
    for (int32_t i = 0; i < units; ++i) {
      float in = sigmoid(sums[i]), fresh = std::tanh(sums[units + i]), forget = sigmoid(sums[2 * units + i]);
      cell[i] = in * fresh + forget * c[b * units + i];
      out[i] = sigmoid(sums[3 * units + i]) * std::tanh(cell[i]);
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

llvm::Error runLstm(KernelContext &ctx, const Dots &dots) {
  const auto &options = ctx.options<circle::LSTMOptions>();
  if (ctx.numInputs() == 5)
    return ctx.fail("the number of operands is that of the other kernel type");
  return runOneDirection(ctx, dots, options, {1, 18, 19}, false);
}

llvm::Error runUnidirectional(KernelContext &ctx, const Dots &dots) {
  const auto &options = ctx.options<circle::UnidirectionalSequenceLSTMOptions>();
  Layout at{1, 18, 19};
  at.diagonal = options.diagonal_recurrent_tensors();
  return runOneDirection(ctx, dots, options, at, options.time_major());
}

llvm::Error runBidirectional(KernelContext &ctx, const Dots &dots) {
  const auto &options = ctx.options<circle::BidirectionalSequenceLSTMOptions>();
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
  auto fw = readCell(ctx, forward, sequence.depth, secondDepth);
  if (!fw)
    return fw.takeError();
  auto bw = readCell(ctx, backward, backwardInput.dim(2), secondDepth);
  if (!bw)
    return bw.takeError();
  takeOptions(*fw, options);
  takeOptions(*bw, options);
  auto fwStates = States::of(ctx, forward, fw->sizes, sequence.batches);
  if (!fwStates)
    return fwStates.takeError();
  auto bwStates = States::of(ctx, backward, bw->sizes, sequence.batches);
  if (!bwStates)
    return bwStates.takeError();
  bool merged = options.merge_outputs();
  int64_t fwSize = fw->sizes.output, bwSize = bw->sizes.output;
  if (!merged && !ctx.wants(1))
    return ctx.fail("an output is absent");
  llvm::MutableArrayRef<float> out[2] = {ctx.output().as<float>(),
                                         merged ? llvm::MutableArrayRef<float>() : ctx.output(1).as<float>()};
  auto weightedInput = weighted ? second->as<float>() : llvm::ArrayRef<float>();
  int32_t weightedDepth = weighted ? secondDepth : 0;
  runCell(ctx, dots, *fw, *fwStates, sequence, ctx.input(0).as<float>(), weightedInput, weightedDepth, false, out[0],
          merged ? fwSize + bwSize : fwSize, 0, forward.cellState);
  runCell(ctx, dots, *bw, *bwStates, sequence, backwardInput.as<float>(), weightedInput, weightedDepth, true,
          merged ? out[0] : out[1], merged ? fwSize + bwSize : bwSize, merged ? fwSize : 0, backward.cellState);
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<Recurrent> lstmRecurrents() {
  static const Recurrent list[] = {recurrent<runBasic>, recurrent<runLstm>, recurrent<runUnidirectional>,
                                   recurrent<runBidirectional>};
  return list;
}

// Of LSTMKernelType::BASIC, only floats: its sums of 8 bits with a state of 16 are not in any model.
llvm::ArrayRef<KernelRow> lstmKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::LSTM,
       "f32[b,_], f32[b,u], f32|i8|u8{n|t}[_,_], f32|i8|u8{n|t}, f32[b,u] -> f32...",
       plainly<runBasic>,
       {is("kernel_type", {"BASIC"})}},
      {Op::LSTM, "f32[_,_], f32|i8|u8{n|t}?... -> f32", plainly<runLstm>, {is("kernel_type", {"FULL"})}},
      {Op::UNIDIRECTIONAL_SEQUENCE_LSTM, "f32[_,_,_], f32|i8|u8{n|t}?... -> f32", plainly<runUnidirectional>},
      {Op::BIDIRECTIONAL_SEQUENCE_LSTM, "f32[_,_,_], f32|i8|u8{n|t}?... -> f32, f32?", plainly<runBidirectional>},
  };
  return rows;
}

} // namespace origo::eval
