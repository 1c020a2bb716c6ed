#include "passes/Rule.h"

namespace origo {

/// The clusters as operators have them: bits and size of each.
static Expr clustersOf(const Codes &codes) {
  return fold(op(Op::PACK, {codes.bits, codes.sizes}).with("values_count", 2).with("axis", 1));
}

/// W in codes approximates W: nearer than zero does. Codes of another matrix, or in another order, do not.
static bool areNear(Match &m, Tensor weights, const Codes &codes, bool transposed) {
  Expr w = transposed ? transpose(weights, list({1, 0})) : Expr(weights);
  int32_t rows = weights.shape()[transposed ? 1 : 0], columns = weights.shape()[transposed ? 0 : 1];
  std::vector<int32_t> all(rows);
  for (int32_t row = 0; row < rows; ++row)
    all[row] = row;
  Expr decoded = op(Op::BCQ_GATHER, {codes.scales, codes.binary, list(all), clustersOf(codes)})
                     .with("input_hidden_size", columns)
                     .with("axis", 0);
  auto length = [&](Expr x) { return op(Op::SUM, {square(x), list({0, 1})}); };
  return m.everyOf(length(decoded - w) - length(w), [](float, float, float difference) { return difference < 0; });
}

static Expr bridge(Expr x) { return x.synthetic(SyntheticReason::LayoutBridge); }
static Expr turned(Expr x) { return bridge(transpose(x, list({1, 0}))); }

/// W in codes · x
static Expr product(Tensor weights, const Codes &codes, Expr x, Expr bias, Activation activation) {
  return op(Op::BCQ_FULLY_CONNECTED, {x, codes.scales, codes.binary, bias, clustersOf(codes)})
      .with("weights_hidden_size", weights.shape()[1])
      .activation(activation);
}

static const char *refusal(Node linear, Tensor x, Tensor weights, Tensor bias) {
  bool isPlain = x.isFloat() && weights.isFloat() && weights.rank() == 2 && (!bias || bias.isFloat()) &&
                 linear.resultCount() == 1 && linear.option("weights_format") == 0;
  return isPlain ? nullptr : "not float weights in the usual order";
}

/// fc(x, W, b) = (W · xᵀ + b)ᵀ
static Rule fullyConnected() {
  auto x = any(), weights = constant(), bias = optional();
  auto linear = op(Op::FULLY_CONNECTED, {x, weights, bias}).mayActivate();
  return {"fully-connected", "not a fully connected operator with constant weights", linear, [=](Match &m) {
            Node at = m.op(linear);
            if (const char *why = refusal(at, m[x], m[weights], m[bias]))
              return decline(why);
            int32_t length = m[weights].lastDimension();
            bool flat = m[x].rank() != 2 || m[x].lastDimension() != length; // to two dimensions, and back
            bool bridged = m[linear].rank() != 2;
            if ((flat || bridged) && !(m[x].isStatic() && m[linear].isStatic()))
              return decline("the shapes are not known before run time");
            std::optional<Codes> codes = m.codesOf(m[weights]);
            if (!codes)
              return decline("no output of the model has codes of the weights");
            if (!areNear(m, m[weights], *codes, false))
              return decline("what the codes stand for is not near the weights");
            Expr rows = flat ? bridge(reshape(x, list({-1, length}))) : Expr(x);
            Expr result = turned(product(m[weights], *codes, turned(rows), bias, at.activation()));
            return m.replace(bridged ? bridge(reshape(result, shapeOf(m[linear]))) : result);
          }};
}

/// fc(W, x) = W · xᵀ
static Rule fullyConnectedFromLeft() {
  auto x = any(), weights = constant(), bias = optional();
  auto linear = op(Op::FULLY_CONNECTED, {weights, x, bias}).mayActivate();
  return {"fully-connected-from-left", "not a fully connected operator of a constant", linear, [=](Match &m) {
            Node at = m.op(linear);
            if (const char *why = refusal(at, m[x], m[weights], m[bias]))
              return decline(why);
            std::optional<Codes> codes = m.codesOf(m[weights]);
            if (!codes || !codes->rowsFirst)
              return decline(
                  "no output of the model has codes of the constant as a matrix that multiplies from the left");
            if (m[bias])
              return decline("the bias is one number a column");
            if (!areNear(m, m[weights], *codes, false))
              return decline("what the codes stand for is not near the constant");
            return m.replace(product(m[weights], *codes, turned(x), bias, at.activation()));
          }};
}

/// gather(W, i), or, where the codes are of transposed W, gather along the other axis, and the axes to their places.
static Rule gathered() {
  auto weights = constant(), indices = any();
  auto rows = op(Op::GATHER, {weights, indices});
  return {"gather", "not rows or columns of a constant", rows, [=](Match &m) {
            if (!m[weights].isFloat() || m[weights].rank() != 2 || m.op(rows).option("batch_dims") != 0)
              return decline("not rows or columns of a float matrix");
            if (m[indices].type() != TensorType::INT32 && m[indices].type() != TensorType::INT64)
              return decline("the indices are neither int32 nor int64");
            std::optional<Codes> codes = m.codesOf(m[weights]);
            if (!codes)
              return decline("no output of the model has codes of what is gathered from");
            bool transposed = !codes->rowsFirst;
            if (!areNear(m, m[weights], *codes, transposed))
              return decline("what the codes stand for is not near what is gathered from");
            int64_t axis = m.op(rows).option("axis") & 1; // -1 is 1, and -2 is 0
            Expr taken = op(Op::BCQ_GATHER, {codes->scales, codes->binary, indices, clustersOf(*codes)})
                             .with("input_hidden_size", m[weights].shape()[transposed ? 0 : 1])
                             .with("axis", transposed ? 1 - axis : axis);
            if (!transposed)
              return m.replace(taken);
            int32_t rank = m[indices].rank();
            std::vector<int32_t> order(rank + 1);
            for (int32_t i = 0; i <= rank; ++i)
              order[i] = axis == 0 ? (i + 1) % (rank + 1) : (i + rank) % (rank + 1);
            return m.replace(bridge(transpose(taken, list(order))));
          }};
}

Pass UseBinaryCodes() {
  return Pass{
      "use-binary-codes",
      "fc(x, W, b) -> bcq_fully_connected(xᵀ, codes of W, b)ᵀ, gather(W, i) -> bcq_gather(codes of W, i): changes "
      "results, for codes that outputs bring along only approximate W",
      Phase::Recognise,
      false,
      {{"fuse_bcq", {}}},
      {fullyConnected(), fullyConnectedFromLeft(), gathered()},
      /*mergesConstants=*/false,
      /*changesResults=*/true,
      /*usesCodes=*/true}
      .within("what the codes leave of the weights")
      .about("A converter for binary-coded weights leaves the codes among the outputs. Output 0 is `[-1999999973, "
             "1, n, k, …, 1999999973]`: outputs 1 to n are the network's own, and behind them stand bundles of k "
             "outputs: whether the matrix multiplies from the left, scales, codes, the number of clusters, their "
             "sizes, their bits, and the matrix in float, by the elements of which an operator's weights are "
             "found. When the pass had its turn, outputs that are not the network's own are gone, used or not. "
             "The codes must decode to something nearer to the weights than zero is: codes of another matrix, or "
             "the other way round, are declined.");
}

} // namespace origo
