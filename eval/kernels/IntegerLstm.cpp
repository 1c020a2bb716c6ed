#include "eval/Kernels.h"
#include "eval/RunOperator.h"
#include "eval/kernels/InverseRoot.h"
#include "eval/kernels/Recurrent.h"

/// LSTM of integers: input and output of 8 bits, cell and gates of 16.
namespace origo::eval {

namespace {

/// Operands of one gate.
struct Places {
  unsigned input, recurrent, peephole, bias, norm;
};
constexpr unsigned none = ~0u, outputState = 18, cellState = 19, projectionAt = 16, projectionBiasAt = 17;
constexpr Places places[] = {{1, 5, 9, 12, 20}, {2, 6, 10, 13, 21}, {3, 7, none, 14, 22}, {4, 8, 11, 15, 23}};
enum : unsigned { In, Forget, Candidate, Out };

int16_t saturate16(int64_t x) { return static_cast<int16_t>(std::clamp<int64_t>(x, -32768, 32767)); }

/// Weights of int8 for an operand with a zero point, what is added to each sum, and the factor of the sums.
struct Product {
  llvm::ArrayRef<int8_t> weights;
  std::vector<int32_t> offsets;
  Multiplier factor;
  int64_t columns = 0;
  int32_t zero = 0; ///< what is taken off the operand; the rest of its zero point is in the offsets

  void set(llvm::ArrayRef<int8_t> matrix, size_t rows, int32_t zeroPoint, llvm::ArrayRef<int32_t> bias) {
    weights = matrix;
    columns = rows ? static_cast<int64_t>(matrix.size() / rows) : 0;
    zero = std::clamp(zeroPoint, -128, 128);
    offsets.assign(rows, 0);
    for (size_t r = 0; r < rows; ++r) {
      int32_t sum = 0;
      for (int64_t c = 0; c < columns && zero != zeroPoint; ++c)
        sum = wrappingAdd<int32_t>(sum, matrix[r * columns + c]);
      offsets[r] = wrappingSub(bias.empty() ? 0 : bias[r], wrappingMul(wrappingSub(zeroPoint, zero), sum));
    }
  }
  std::vector<int16_t> operand(llvm::ArrayRef<int8_t> x) const {
    std::vector<int16_t> made(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      made[i] = static_cast<int16_t>(x[i] - zero);
    return made;
  }
  int32_t at(size_t row, llvm::ArrayRef<int16_t> operand, const Dots &dots) const {
    int32_t sum = dots.integers(weights.data() + static_cast<int64_t>(row) * columns, operand.data(), columns);
    return multiply(wrappingAdd(offsets[row], sum), factor);
  }
};

struct Gate {
  Product input, recurrent;
  llvm::ArrayRef<int16_t> peephole, norm;
  llvm::ArrayRef<int32_t> bias; ///< where it is not in the offsets of `input`
  Multiplier peepholeFactor, normFactor;
  int32_t leastVariance = 1;

  /// `first` counts the cells before c, `peepholes` those that look at their cell: the runtime takes the number of
  /// outputs for that of cells there, which makes a difference behind a projection.
  std::vector<int16_t> sum(llvm::ArrayRef<int8_t> x, llvm::ArrayRef<int8_t> h, llvm::ArrayRef<int16_t> c, int64_t first,
                           int64_t peepholes, const Dots &dots) const {
    std::vector<int16_t> y(c.size()), fromInput = input.operand(x), fromState = recurrent.operand(h);
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] = saturate16(input.at(i, fromInput, dots));
      y[i] = saturate16(int64_t(recurrent.at(i, fromState, dots)) + y[i]);
      if (int64_t at = first + static_cast<int64_t>(i); !peephole.empty() && at < peepholes) {
        int32_t product = int32_t(peephole[at % static_cast<int64_t>(h.size())]) * c[i];
        y[i] = saturate16(int64_t(multiply(product, peepholeFactor)) + y[i]);
      }
    }
    if (!norm.empty())
      normalize(y);
    return y;
  }

private:
  void normalize(llvm::MutableArrayRef<int16_t> y) const {
    int64_t sum = 0, squares = 0, count = static_cast<int64_t>(y.size());
    for (int16_t number : y) {
      sum += number;
      squares += int64_t(number) * number;
    }
    // With ten bits more than the numbers have.
    int32_t mean = static_cast<int32_t>(sum * 1024 / count);
    int64_t variance = squares * ((1 << 20) / count) - int64_t(mean) * mean;
    int32_t bounded = saturate32(variance / (1 << 20));
    Multiplier inverse = inverseRoot(bounded < 1 ? leastVariance : bounded);
    for (size_t i = 0; i < y.size(); ++i) {
      int32_t scaled = multiply(1024 * y[i] - mean, inverse);
      int64_t weighted = wrappingAdd(wrappingMul(scaled, int32_t(norm[i])), bias[i]);
      int32_t rounded = static_cast<int32_t>((weighted > 0 ? weighted + 512 : weighted - 512) / 1024);
      y[i] = saturate16(multiply(rounded, {normFactor.mantissa, normFactor.shift + 12}));
    }
  }
};

using Fixed16 = Fixed<int16_t>;
int16_t logistic(int16_t x) { return Fixed16::logistic(x, 3); }
int16_t productOf(int32_t a, int32_t b, int shift) { return static_cast<int16_t>(roundingDivideByPOT(a * b, shift)); }

struct Cell {
  bool coupled = false, projected = false;
  Gate gates[4];
  Product projection;
  Multiplier hiddenFactor;
  int32_t hiddenZero = 0, outputZero = 0;
  int cellShift = 0; ///< the cell's scale is 2 to this power
  int16_t cellClip = 0;
  int8_t projectionClip = 0;

  void step(llvm::ArrayRef<int8_t> x, llvm::MutableArrayRef<int8_t> h, llvm::MutableArrayRef<int16_t> c, int64_t first,
            int64_t peepholes, const Dots &dots) const {
    auto sum = [&](unsigned which) { return gates[which].sum(x, h, c, first, peepholes, dots); };
    std::vector<int16_t> in, forget = sum(Forget), fresh = sum(Candidate);
    if (!coupled)
      in = sum(In);
    for (size_t i = 0; i < c.size(); ++i) {
      int16_t keep = logistic(forget[i]), take = static_cast<int16_t>(coupled ? 32767 - keep : logistic(in[i]));
      int32_t kept = productOf(keep, c[i], 15), taken = productOf(take, Fixed16::tanh(fresh[i], 3), 30 + cellShift);
      c[i] = saturate16(kept + taken);
      if (cellClip > 0)
        c[i] = std::clamp<int16_t>(c[i], -cellClip, cellClip);
    }
    std::vector<int16_t> out = sum(Out);
    std::vector<int8_t> hidden(c.size());
    for (size_t i = 0; i < c.size(); ++i) {
      int32_t product = logistic(out[i]) * Fixed16::tanh(c[i], 15 + cellShift);
      hidden[i] =
          static_cast<int8_t>(std::clamp<int64_t>(int64_t(multiply(product, hiddenFactor)) + hiddenZero, -128, 127));
    }
    if (!projected) {
      llvm::copy(hidden, h.begin());
      return;
    }
    std::vector<int16_t> operand = projection.operand(hidden);
    for (size_t i = 0; i < h.size(); ++i) {
      h[i] = static_cast<int8_t>(std::clamp<int64_t>(int64_t(projection.at(i, operand, dots)) + outputZero, -128, 127));
      if (projectionClip > 0)
        h[i] = std::clamp<int8_t>(h[i], -projectionClip, projectionClip);
    }
  }
};

struct Sizes {
  int32_t input, cell, output;
};

/// The scale of an absent operand is 1.
float scaleOf(const KernelContext &ctx, unsigned operand) { return ctx.has(operand) ? ctx.input(operand).scale() : 1; }

llvm::Error readGate(const KernelContext &ctx, unsigned which, const Sizes &sizes, const Cell &cell, float scale,
                     Gate &gate) {
  const Places &at = places[which];
  auto want = [&](unsigned operand, TensorType type, llvm::ArrayRef<int32_t> shape) {
    return wantTensor(ctx, operand, {type}, shape);
  };
  if (llvm::Error error = want(at.input, TensorType::INT8, {sizes.cell, sizes.input}))
    return error;
  if (llvm::Error error = want(at.recurrent, TensorType::INT8, {sizes.cell, sizes.output}))
    return error;
  if (llvm::Error error = want(at.bias, TensorType::INT32, {sizes.cell}))
    return error;
  const Tensor &input = ctx.input(0), &state = ctx.input(outputState);
  bool normalized = ctx.has(at.norm);
  gate.bias = ctx.input(at.bias).as<int32_t>();
  gate.input.set(ctx.input(at.input).as<int8_t>(), sizes.cell, input.zeroPoint(),
                 normalized ? llvm::ArrayRef<int32_t>() : gate.bias);
  gate.input.factor = quantizeMultiplier(scaleOf(ctx, at.input) * input.scale() / scale);
  gate.recurrent.set(ctx.input(at.recurrent).as<int8_t>(), sizes.cell, state.zeroPoint(), {});
  gate.recurrent.factor = quantizeMultiplier(scaleOf(ctx, at.recurrent) * state.scale() / scale);
  if (at.peephole != none && ctx.has(at.peephole)) {
    if (llvm::Error error = want(at.peephole, TensorType::INT16, {sizes.cell}))
      return error;
    if (sizes.output > sizes.cell)
      return ctx.fail(at.peephole, "peepholes before a projection to more outputs than cells have no kernel");
    gate.peephole = ctx.input(at.peephole).as<int16_t>();
    gate.peepholeFactor = quantizeMultiplier(std::ldexp(1.f, cell.cellShift) * scaleOf(ctx, at.peephole) / scale);
  }
  if (normalized) {
    if (llvm::Error error = want(at.norm, TensorType::INT16, {sizes.cell}))
      return error;
    gate.norm = ctx.input(at.norm).as<int16_t>();
    gate.normFactor = quantizeMultiplier(scaleOf(ctx, at.norm));
    gate.leastVariance = std::max(1, saturate32(static_cast<int64_t>(std::min(10000.f * scaleOf(ctx, at.norm), 2e9f))));
  }
  return llvm::Error::success();
}

/// Five intermediates carry the scales of the gates' sums and of the output before the projection.
llvm::Expected<Cell> readCell(const KernelContext &ctx, const Sizes &sizes, float cellClip, float projectionClip) {
  llvm::ArrayRef<Value *> between = ctx.op.intermediates();
  if (between.size() != 5)
    return ctx.fail("only integer LSTMs with 5 intermediates have a kernel, not with " + llvm::Twine(between.size()));
  Tensor views[5];
  for (unsigned i = 0; i < 5; ++i)
    if (between[i]) {
      if (llvm::Error error = checkQuantization(*between[i]))
        return error;
      views[i].quantization = between[i]->quantization;
    }
  const Tensor &state = ctx.input(outputState), &cells = ctx.input(cellState);
  Cell cell;
  int exponent;
  if (std::frexp(cells.scale(), &exponent) != 0.5f || exponent - 1 > -9 || exponent - 1 < -15)
    return ctx.fail(cellState, "its scale is not a power of two from 2^-15 to 2^-9");
  cell.cellShift = exponent - 1;
  cell.coupled = !ctx.has(places[In].input);
  cell.projected = ctx.has(projectionAt);
  if (cellClip > 0)
    cell.cellClip = saturate16(static_cast<int64_t>(std::min(cellClip / cells.scale(), 32767.f)));
  if (projectionClip > 0)
    cell.projectionClip = static_cast<int8_t>(std::min(projectionClip / state.scale(), 127.f));
  for (unsigned which : {In, Forget, Candidate, Out}) {
    if (which == In && cell.coupled)
      continue;
    bool normalized = ctx.has(places[Forget].norm);
    if (normalized != ctx.has(places[which].norm))
      return ctx.fail("some gates are normalised and some are not");
    float scale = normalized ? views[which].scale() : std::ldexp(1.f, -12);
    if (llvm::Error error = readGate(ctx, which, sizes, cell, scale, cell.gates[which]))
      return error;
  }
  cell.hiddenFactor = quantizeMultiplier(std::ldexp(1.f, -15) / views[4].scale() * std::ldexp(1.f, -15));
  cell.hiddenZero = views[4].zeroPoint();
  cell.outputZero = state.zeroPoint();
  if (cell.projected) {
    if (llvm::Error error = wantTensor(ctx, projectionAt, {TensorType::INT8}, {sizes.output, sizes.cell}))
      return error;
    llvm::ArrayRef<int32_t> bias;
    if (ctx.has(projectionBiasAt)) {
      if (llvm::Error error = wantTensor(ctx, projectionBiasAt, {TensorType::INT32}, {sizes.output}))
        return error;
      bias = ctx.input(projectionBiasAt).as<int32_t>();
    }
    cell.projection.set(ctx.input(projectionAt).as<int8_t>(), sizes.output, cell.hiddenZero, bias);
    cell.projection.factor = quantizeMultiplier(scaleOf(ctx, projectionAt) * views[4].scale() / state.scale());
  } else if (sizes.cell != sizes.output) {
    return ctx.fail(outputState, "without a projection, the output has the size of the cell");
  }
  return cell;
}

llvm::Error run(KernelContext &ctx, const Dots &dots, bool timeMajor, float cellClip, float projectionClip) {
  Sequence sequence = Sequence::of(ctx, 0, timeMajor);
  if (unsigned operand = places[Out].input; !ctx.has(operand) || ctx.input(operand).rank() != 2)
    return ctx.fail(operand, "is no matrix");
  if (!ctx.has(outputState) || !ctx.has(cellState))
    return ctx.fail("has no state");
  Sizes sizes{sequence.depth, ctx.input(places[Out].input).dim(0), ctx.input(places[Out].recurrent).dim(1)};
  auto outputs = StateOf<int8_t>::of(ctx, outputState, TensorType::INT8, int64_t(sequence.batches) * sizes.output);
  if (!outputs)
    return outputs.takeError();
  auto cells = StateOf<int16_t>::of(ctx, cellState, TensorType::INT16, int64_t(sequence.batches) * sizes.cell);
  if (!cells)
    return cells.takeError();
  auto cell = readCell(ctx, sizes, cellClip, projectionClip);
  if (!cell)
    return cell.takeError();
  auto in = ctx.input(0).as<int8_t>();
  auto out = ctx.output().as<int8_t>();
  if (out.empty())
    return llvm::Error::success();
  auto states = outputs->begin();
  auto memories = cells->begin();
  // All batches of a moment at once, or one sequence behind the other.
  bool together = sequence.timeMajor || ctx.input(0).rank() == 2;
  for (int32_t b = 0; b < sequence.batches; ++b)
    for (int32_t t = 0; t < sequence.times && !ctx.late(1 << 12); ++t) {
      int64_t row = sequence.row(t, b), first = together ? int64_t(b) * sizes.cell : 0;
      auto h = states.slice(int64_t(b) * sizes.output, sizes.output);
      cell->step(in.slice(row * sizes.input, sizes.input), h, memories.slice(int64_t(b) * sizes.cell, sizes.cell),
                 first, int64_t(together ? sequence.batches : 1) * sizes.output, dots);
      llvm::copy(h, out.begin() + row * sizes.output);
    }
  return llvm::Error::success();
}

llvm::Error runLstm(KernelContext &ctx, const Dots &dots) {
  const auto &options = ctx.options<circle::LSTMOptions>();
  return run(ctx, dots, false, options.cell_clip(), options.proj_clip());
}

llvm::Error runUnidirectional(KernelContext &ctx, const Dots &dots) {
  const auto &options = ctx.options<circle::UnidirectionalSequenceLSTMOptions>();
  return run(ctx, dots, options.time_major(), options.cell_clip(), options.proj_clip());
}

} // namespace

llvm::ArrayRef<Recurrent> lstmIntegerRecurrents() {
  static const Recurrent list[] = {recurrent<runLstm>, recurrent<runUnidirectional>};
  return list;
}

llvm::ArrayRef<KernelRow> integerLstmKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::LSTM, "i8{n|t}[_,_], i8|i16|i32{n|t}?... -> i8{n|t}", plainly<runLstm>, {is("kernel_type", {"FULL"})}},
      {Op::UNIDIRECTIONAL_SEQUENCE_LSTM,
       "i8{n|t}[_,_,_], i8|i16|i32{n|t}?... -> i8{n|t}",
       plainly<runUnidirectional>,
       {is("diagonal_recurrent_tensors", {"false"})}},
  };
  return rows;
}

} // namespace origo::eval
