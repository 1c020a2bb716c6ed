#include "passes/Rule.h"

#include <cmath>

namespace origo {

namespace {

/// Numbers lie between −most and most; everywhere, if that is zero.
struct Bounds {
  double most;
  Expr low = -most, high = most;
  Expr operator()(Expr x) const { return most > 0 ? minimum(maximum(x, low), high) : x; }
};

/// svdf(x, I, 1) with a memory of one moment: x, which a variable keeps.
struct Memory {
  Expr ones, identity;
  explicit Memory(int32_t units)
      : ones(broadcastTo(reshape(1.0, list({1})), list({units}))), identity(fold(op(Op::MATRIX_DIAG, {ones}))) {
    ones = fold(reshape(ones, list({units, 1})));
  }
  Expr operator()(Expr x, Tensor variable) const {
    return op(Op::SVDF, {x, identity, ones, Tensor(), variable}).with("rank", 1);
  }
};

/// What the steps of an LSTM have in common. Gates are in the order of what is split: forget, candidate, out, and in,
/// if it is there.
struct Cell {
  Expr recurrent, axis = list({1}), one = 1.0, epsilon = 1e-8;
  bool coupled; ///< no input gate: it lets in what the forget gate lets go
  Activation activation;
  Tensor peepholes[4], norms[4], biases[4], projection, projectionBias;
  Bounds cellBounds, outputBounds;

  static Expr logistic(Expr x) { return op(Op::LOGISTIC, {x}); }
  Expr activated(Expr x) const {
    return activation == Activation::TANH    ? tanh(x)
           : activation == Activation::RELU  ? relu(x)
           : activation == Activation::RELU6 ? relu6(x)
                                             : x;
  }
  /// W·x + R·h + P∘c + b; where layers are normalised, L∘normalised(W·x + R·h + P∘c) + b.
  Expr sum(const Expr &gates, const Expr &c, unsigned gate) const {
    Expr sum = result(gates, gate);
    if (peepholes[gate])
      sum = sum + c * Expr(peepholes[gate]);
    if (!norms[gate])
      return sum;
    Expr away = sum - mean(sum, axis).with("keep_dims", 1);
    Expr variance = mean(square(away), axis).with("keep_dims", 1);
    return away * rsqrt(variance + epsilon) * Expr(norms[gate]) + Expr(biases[gate]);
  }

  /// c' = f·c + i·tanh(g), y = o·tanh(c') and h' = P·y + b, of W·x + b of this moment. What is remembered goes through
  /// `keep`.
  void step(const Expr &input, Expr &h, Expr &c, llvm::function_ref<Expr(Expr, bool)> keep) const {
    unsigned count = coupled ? 3 : 4;
    Expr gates = op(Op::SPLIT, {axis, input + op(Op::FULLY_CONNECTED, {h, recurrent, Tensor()})});
    gates = gates.with("num_splits", count).results(count);
    Expr forget = logistic(sum(gates, c, 0));
    Expr in = coupled ? one - forget : logistic(sum(gates, c, 3));
    Expr next = cellBounds(forget * c + in * activated(sum(gates, c, 1)));
    c = keep(next, true);
    h = logistic(sum(gates, c, 2)) * activated(c);
    if (projection)
      h = outputBounds(op(Op::FULLY_CONNECTED, {h, projection, projectionBias}));
    h = keep(h, false);
  }
};

} // namespace

/// unidirectional_sequence_lstm(x) → the operators of each of its moments, one after the other. States that are
/// variables are read by the first one and written by the last one.
static Rule unroll() {
  auto lstm = op(Op::UNIDIRECTIONAL_SEQUENCE_LSTM, {}).mayActivate();
  return {
      "unroll", "", lstm, [=](Match &m) {
        Node at = m.op(lstm);
        Tensor x = at.operand("input"), h0 = at.operand("output_state"), c0 = at.operand("cell_state");
        for (unsigned i = 0; i < at.operandCount(); ++i)
          if (at.operand(i) && (!at.operand(i).isFloat() || !at.operand(i).isStatic()))
            return decline("not float, or of no known size");
        auto isFinite = [](double n) { return std::isfinite(n); };
        for (unsigned i = 1; i < at.operandCount(); ++i)
          if (at.operand(i) && i != at.position("output_state") && i != at.position("cell_state") &&
              (!at.operand(i).isDenseConstant() || at.operand(i).isShared() || !m.every(at.operand(i), isFinite)))
            return decline(
                "weights are not constant and finite, or have other users, for whom they would have to stay");
        if (at.option("diagonal_recurrent_tensors"))
          return decline("its weights are diagonals");
        bool coupled = !at.operand("input_to_input_weights"), projects = bool(at.operand("projection_weights"));
        bool normalises = bool(at.operand("forget_layer_norm_coefficients"));
        auto has = [&](llvm::StringRef name) { return bool(at.operand(name)); };
        if (coupled == has("recurrent_to_input_weights") || coupled == has("input_gate_bias") ||
            (coupled && has("cell_to_input_weights")) || (!projects && has("projection_bias")) ||
            has("cell_layer_norm_coefficients") != normalises || has("output_layer_norm_coefficients") != normalises ||
            has("input_layer_norm_coefficients") != (normalises && !coupled))
          return decline("it has a part of a gate or of a projection");
        Activation activation = at.activation();
        if (activation == Activation::RELU_N1_TO_1 || activation == Activation::SIGN_BIT)
          return decline("the activation is no operator of floats");
        int time = at.option("time_major") ? 0 : 1;
        if (!h0 || !c0 || x.rank() != 3 || x.elementCount() == 0 || x.shape()[time] > 1024)
          return decline("not between 1 and 1024 moments, or without a state");

        auto joined = [&](llvm::ArrayRef<llvm::StringRef> names) {
          std::vector<Expr> parts;
          for (llvm::StringRef name : names.drop_back(coupled))
            parts.push_back(at.operand(name));
          return fold(op(Op::CONCATENATION, parts));
        };
        Cell cell{.recurrent = joined({"recurrent_to_forget_weights", "recurrent_to_cell_weights",
                                       "recurrent_to_output_weights", "recurrent_to_input_weights"}),
                  .coupled = coupled,
                  .activation = activation,
                  .peepholes = {at.operand("cell_to_forget_weights"), Tensor(), at.operand("cell_to_output_weights"),
                                at.operand("cell_to_input_weights")},
                  .norms = {at.operand("forget_layer_norm_coefficients"), at.operand("cell_layer_norm_coefficients"),
                            at.operand("output_layer_norm_coefficients"), at.operand("input_layer_norm_coefficients")},
                  .biases = {at.operand("forget_gate_bias"), at.operand("cell_gate_bias"),
                             at.operand("output_gate_bias"), at.operand("input_gate_bias")},
                  .projection = at.operand("projection_weights"),
                  .projectionBias = at.operand("projection_bias"),
                  .cellBounds = {at.realOption("cell_clip")},
                  .outputBounds = {at.realOption("proj_clip")}};
        Expr weights = joined(
            {"input_to_forget_weights", "input_to_cell_weights", "input_to_output_weights", "input_to_input_weights"});
        Expr bias = normalises ? Expr(Tensor())
                               : joined({"forget_gate_bias", "cell_gate_bias", "output_gate_bias", "input_gate_bias"});
        auto moments = static_cast<unsigned>(x.shape()[time]);
        Expr inputs = op(Op::FULLY_CONNECTED, {x, weights, bias}).with("keep_num_dims", 1);
        inputs = op(Op::UNPACK, {inputs}).with("num", moments).with("axis", time).results(moments);
        Memory outputMemory(h0.lastDimension());
        Memory cellMemory = projects ? Memory(c0.lastDimension()) : outputMemory; // else of one size
        Expr h = h0, c = c0;
        std::vector<Expr> outputs;
        for (unsigned t = 0; t < moments; ++t) {
          bool last = t + 1 == moments;
          cell.step(result(inputs, t), h, c, [&](Expr state, bool ofCell) {
            Tensor variable = ofCell ? c0 : h0;
            return last && variable.isVariable() ? (ofCell ? cellMemory : outputMemory)(state, variable) : state;
          });
          outputs.push_back(h);
        }
        return m.replace(op(Op::PACK, outputs).with("values_count", moments).with("axis", time));
      }};
}

Pass UnrollSequenceLstm() {
  return {
      "unroll-sequence-lstm",
      "unidirectional_sequence_lstm(x) -> c' = f * c + i * tanh(g), h' = o * tanh(c') at each moment, for back ends "
      "without it",
      Phase::Decompose,
      false,
      {{"unroll_unidirseqlstm", {}}},
      {unroll()}};
}

} // namespace origo
