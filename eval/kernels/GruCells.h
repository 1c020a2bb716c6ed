#pragma once

#include "eval/kernels/Recurrent.h"

/// circle's GRU of any kind of number: the gates z, r and n stand in one matrix for the state and one for the input,
/// z = σ(Hz + Xz), r = σ(Hr + Xr), n = tanh(Xn + r∘Hn), h = z∘h + (1 − z)∘n; the result is the last h, or each. Nothing
/// is kept from run to run.
namespace origo::eval::loops::gru {

template <class M> llvm::Error run(KernelContext &ctx, const M &math) {
  using Number = typename M::Number;
  enum { Input, First, FirstBias, Second, SecondBias, State };
  const auto &options = ctx.options<circle::GRUOptions>();
  // Files say time_major = false whatever the order is: it is always [time, batch, depth].
  const Tensor &input = ctx.input(Input);
  int32_t times = input.dim(0), batches = input.dim(1), depth = input.dim(2);
  // Some files have the input's weights first. Only their shapes tell, where units and depth differ.
  int32_t rows = ctx.input(First).dim(0);
  bool swapped = ctx.input(First).dim(1) == depth && int64_t(ctx.input(Second).dim(1)) * 3 == rows &&
                 int64_t(ctx.input(First).dim(1)) * 3 != rows;
  unsigned stateWeights = swapped ? Second : First, stateBias = swapped ? SecondBias : FirstBias;
  unsigned inputWeights = swapped ? First : Second, inputBias = swapped ? FirstBias : SecondBias;
  int32_t units = ctx.input(stateWeights).dim(1);
  if (units > std::numeric_limits<int32_t>::max() / 3)
    return ctx.fail(stateWeights, "has an impossible shape");
  auto hidden = M::Matrix::of(ctx, stateWeights, 3 * units, units, false);
  if (!hidden)
    return hidden.takeError();
  auto weights = M::Matrix::of(ctx, inputWeights, 3 * units, depth, false);
  if (!weights)
    return weights.takeError();
  for (unsigned operand : {stateBias, inputBias})
    if (ctx.has(operand) && ctx.input(operand).count() != 3 * units)
      return ctx.fail(operand, "does not have a number for each row of the weights");
  if (ctx.input(State).count() != int64_t(batches) * units || ctx.output().shape.back() != units)
    return ctx.fail(State, "has another number of elements", std::to_string(int64_t(batches) * units),
                    std::to_string(ctx.input(State).count()));
  bool each = options.return_sequences();
  auto out = ctx.output().as<Number>();
  auto x = numbersAt<Number>(ctx, Input);
  auto state = numbersAt<Number>(ctx, State);
  std::vector<Number> h(state.begin(), state.end());
  std::vector<Number> fromState(3 * units), fromInput(3 * units);
  auto product = [&](const typename M::Matrix &matrix, unsigned bias, llvm::ArrayRef<Number> of,
                     std::vector<Number> &sums) {
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] = ctx.has(bias) ? ctx.input(bias).as<Number>()[i] : Number();
    matrix.addProduct(of, sums, math);
  };
  for (int64_t t = 0; t < times && !out.empty(); ++t)
    for (int64_t b = 0; b < batches && !ctx.late(static_cast<uint64_t>(units) * (units + depth)); ++b) {
      Number *last = h.data() + b * units;
      product(*hidden, stateBias, {last, static_cast<size_t>(units)}, fromState);
      product(*weights, inputBias, x.slice((t * batches + b) * depth, depth), fromInput);
      for (int32_t i = 0; i < units; ++i) {
        Number z = math.sigmoid(math.add(fromState[i], fromInput[i])),
               r = math.sigmoid(math.add(fromState[units + i], fromInput[units + i]));
        Number n = math.tangent(math.add(fromInput[2 * units + i], math.multiply(r, fromState[2 * units + i])));
        last[i] = math.add(math.multiply(z, last[i]), math.multiply(math.subtract(math.of(1), z), n));
      }
      if (each)
        std::copy(last, last + units, out.begin() + (t * batches + b) * units);
    }
  if (!each)
    llvm::copy(h, out.begin());
  return llvm::Error::success();
}

} // namespace origo::eval::loops::gru
