#include "eval/fast/Fast.h"
#include "eval/fast/MatMul.h"
#include "eval/fast/VectorMath.h"

/// UNIDIRECTIONAL_SEQUENCE_LSTM of floats without peepholes, projection and normalisation.
namespace origo::eval {

namespace {

/// Operands, in the order of the operator.
enum : unsigned {
  InputWeights = 1,
  StateWeights = 5,
  Peepholes = 9,
  Biases = 12,
  Projection = 16,
  Output = 18,
  Cell = 19
};

class Lstm {
public:
  Lstm(const FastSite &site, const circle::UnidirectionalSequenceLSTMOptions &options)
      : timeMajor(options.time_major()), clip(options.cell_clip() > 0 ? options.cell_clip() : infinity),
        depth(site.input(InputWeights).dim(1)), units(site.input(InputWeights).dim(0)) {
    // One product for all: a row [x, h] with the four gates' weights side by side.
    std::vector<float> columns;
    for (unsigned gate = 0; gate < 4; ++gate) {
      const float *bias = dataOf<float>(site.input(Biases + gate));
      biases.insert(biases.end(), bias, bias + units);
      for (int64_t unit = 0; unit < units; ++unit)
        for (auto [operand, length] : {std::pair(InputWeights, depth), std::pair(StateWeights, units)}) {
          const float *row = dataOf<float>(site.input(operand + gate)) + unit * length;
          columns.insert(columns.end(), row, row + length);
        }
    }
    weights.pack({columns.data(), 1, depth + units}, depth + units, 4 * units);
  }

  bool run(Operands in, Operands out, pthreadpool_t threads) {
    const Tensor &x = *in[0];
    int64_t batches = x.dim(timeMajor ? 1 : 0), times = x.dim(timeMajor ? 0 : 1), length = depth + units;
    Tensor &h = *in[Output], &c = *in[Cell];
    if (x.dim(2) != depth || h.count() != batches * units || c.count() != batches * units)
      return false;
    rows.resize(static_cast<size_t>(batches * length));
    gates.resize(static_cast<size_t>(batches * 4 * units));
    cells.assign(dataOf<float>(c), dataOf<float>(c) + batches * units);
    for (int64_t b = 0; b < batches; ++b)
      std::copy_n(dataOf<float>(h) + b * units, units, rows.data() + b * length + depth);
    for (int64_t t = 0; t < times; ++t) {
      for (int64_t b = 0; b < batches; ++b)
        std::copy_n(dataOf<float>(x) + rowOf(t, b, times, batches) * depth, depth, rows.data() + b * length);
      weights.multiply({rows.data(), length, 1}, batches, biases.data(), gates.data(), threads);
      for (int64_t b = 0; b < batches; ++b) {
        float *state = rows.data() + b * length + depth;
        step(gates.data() + b * 4 * units, cells.data() + b * units, state);
        std::copy_n(state, units, dataOf<float>(*out[0]) + rowOf(t, b, times, batches) * units);
      }
    }
    // A state that is no variable only says where a run begins.
    if (c.value->isVariable)
      std::copy(cells.begin(), cells.end(), dataOf<float>(c));
    for (int64_t b = 0; b < batches && h.value->isVariable; ++b)
      std::copy_n(rows.data() + b * length + depth, units, dataOf<float>(h) + b * units);
    return true;
  }

private:
  static constexpr float infinity = std::numeric_limits<float>::infinity();
  bool timeMajor;
  float clip;
  int64_t depth, units;
  PackedFloats weights;
  std::vector<float> biases, rows, gates, cells;

  int64_t rowOf(int64_t time, int64_t batch, int64_t times, int64_t batches) const {
    return timeMajor ? time * batches + batch : batch * times + time;
  }
  static float sigmoid(float x) { return 1 / (1 + expf(-x)); }
  void step(const float *sums, float *cell, float *state) const {
    const float *in = sums, *forget = in + units, *fresh = forget + units, *open = fresh + units;
    for (int64_t i = 0; i < units; ++i) {
      float sum = sigmoid(forget[i]) * cell[i] + sigmoid(in[i]) * tanhf(fresh[i]);
      cell[i] = std::min(std::max(sum, -clip), clip);
    }
    for (int64_t i = 0; i < units; ++i)
      state[i] = sigmoid(open[i]) * tanhf(cell[i]);
  }
};

std::unique_ptr<FastKernel> lstm(const FastSite &site) {
  const auto &options = site.options<circle::UnidirectionalSequenceLSTMOptions>();
  if (options.fused_activation_function() != circle::ActivationFunctionType::TANH ||
      options.diagonal_recurrent_tensors() || site.numInputs() < 20 || !site.has(Output) || !site.has(Cell))
    return nullptr;
  for (unsigned i = 0; i < site.numInputs(); ++i) {
    bool unusual = (i >= Peepholes && i < Biases) || i == Projection || i == Projection + 1 || i > Cell;
    bool weight = i >= InputWeights && i < Output && !unusual;
    if ((unusual && site.has(i)) || (weight && !site.constant(i)) ||
        (site.has(i) && site.type(i) != TensorType::FLOAT32))
      return nullptr;
  }
  const Tensor &input = site.input(InputWeights);
  if (input.rank() != 2 || input.count() == 0)
    return nullptr;
  for (unsigned gate = 0; gate < 4; ++gate) {
    const Tensor &recurrent = site.input(StateWeights + gate), &bias = site.input(Biases + gate);
    if (site.input(InputWeights + gate).shape != input.shape || recurrent.shape != Shape{input.dim(0), input.dim(0)} ||
        bias.shape != Shape{input.dim(0)})
      return nullptr;
  }
  return fastKernel([lstm = Lstm(site, options)](Operands in, Operands out, pthreadpool_t threads) mutable {
    return lstm.run(in, out, threads);
  });
}

} // namespace

llvm::ArrayRef<FastRow> fastLstm() {
  static const FastRow rows[] = {{BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM, lstm}};
  return rows;
}

} // namespace origo::eval
