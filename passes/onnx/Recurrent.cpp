#include "passes/onnx/Lowering.h"

/// LSTM, GRU and RNN: the operators of each moment, one after the other.
namespace origo::onnx {

namespace {

enum class Kind { Lstm, Gru, Rnn };
constexpr int gatesOf(Kind kind) { return kind == Kind::Lstm ? 4 : kind == Kind::Gru ? 3 : 1; }

Expr logistic(Expr x) { return op(Op::LOGISTIC, {std::move(x)}); }
template <Kind kind> RewriteResult recurrent(Lowering &n) {
  constexpr int gates = gatesOf(kind);
  Tensor x = n.input(0), w = n.input(1), r = n.input(2), b = n.input(3);
  Tensor lengths = n.input(4), h0 = n.input(5), c0 = kind == Kind::Lstm ? n.input(6) : Tensor();
  Tensor peephole = kind == Kind::Lstm ? n.input(7) : Tensor();
  if (!x.isFloat() || !x.isStatic() || x.rank() != 3)
    return decline("not float32 of a known shape");
  int32_t moments = x.shape()[n.integer("layout") ? 1 : 0];
  if (lengths && !n.m.isEvery(lengths, moments))
    return decline("its sequences are of other lengths than its input, or of lengths that are computed");
  if (n.real("clip") != 0 || n.integer("input_forget") || n.has("activation_alpha"))
    return decline("it has clipping, coupled gates, or parameters of activations");
  for (Tensor weights : {w, r, b, peephole})
    if (weights && !weights.isStatic())
      return notKnown();
  bool batchFirst = n.integer("layout");
  llvm::StringRef direction = n.text("direction", "forward");
  int32_t directions = direction == "bidirectional" ? 2 : 1, batch = x.shape()[!batchFirst], features = x.shape()[2];
  int32_t units = r.lastDimension();
  if (moments < 1 || moments > 1024 || w.rank() != 3 || w.shape()[0] != directions || w.shape()[1] != gates * units)
    return decline("it has no moments, more than 1024, or weights that do not fit");
  static constexpr llvm::StringRef usual[] = {"Sigmoid", "Tanh", "Tanh"};
  auto named = n.texts("activations");
  size_t each = kind == Kind::Lstm ? 3 : kind == Kind::Gru ? 2 : 1;
  auto isRelu = [&](int32_t d) {
    return kind == Kind::Rnn && static_cast<size_t>(d) < named.size() &&
           llvm::StringRef(named[d]).equals_insensitive("Relu");
  };
  for (size_t i = 0; i < named.size(); ++i)
    if (!isRelu(static_cast<int32_t>(i)) &&
        !llvm::StringRef(named[i]).equals_insensitive(usual[i % each + (kind == Kind::Rnn)]))
      return decline("its activation is " + named[i]);
  auto slice = [&](Tensor of, Sizes begin, Sizes size, Sizes shape) {
    return foldedIf(of.isDenseConstant(), reshape(op(Op::SLICE, {of, list(begin), list(size)}), list(shape)));
  };
  auto state = [&](Tensor of, int32_t d) -> Expr {
    if (!of)
      return fold(op(Op::FILL, {list({batch, units}), Expr(0.0)}));
    Expr own = batchFirst ? op(Op::SLICE, {of, list({0, d, 0}), list({batch, 1, units})})
                          : op(Op::SLICE, {of, list({d, 0, 0}), list({1, batch, units})});
    Expr part = reshape(own, list({batch, units}));
    return of.isDenseConstant() ? fold(part) : part;
  };
  std::vector<std::vector<Expr>> all(directions, std::vector<Expr>(moments, Expr(0.0)));
  std::vector<Expr> lastH, lastC;
  Expr axis = fold(reshape(list({1}), list({})));
  for (int32_t d = 0; d < directions; ++d) {
    Expr weights = slice(w, {d, 0, 0}, {1, gates * units, features}, {gates * units, features});
    Expr again = slice(r, {d, 0, 0}, {1, gates * units, units}, {gates * units, units});
    std::optional<Expr> biasW, biasR;
    if (b) {
      biasW = slice(b, {d, 0}, {1, gates * units}, {gates * units});
      biasR = slice(b, {d, gates * units}, {1, gates * units}, {gates * units});
    }
    bool joint = kind != Kind::Gru; // the biases of both products add up
    Expr bias = !b ? Expr(Tensor()) : joint ? foldedIf(b.isDenseConstant(), *biasW + *biasR) : *biasW;
    Expr inputs =
        op(Op::FULLY_CONNECTED, {batchFirst ? turned(x, {1, 0, 2}) : Expr(x), weights, bias}).with("keep_num_dims", 1);
    inputs = op(Op::UNPACK, {inputs}).with("num", moments).with("axis", 0).results(moments);
    Expr h = state(h0, d), c = kind == Kind::Lstm ? state(c0, d) : Expr(0.0);
    bool backwards = direction == "reverse" || d == 1;
    for (int32_t k = 0; k < moments; ++k) {
      int32_t t = backwards ? moments - 1 - k : k;
      Expr in = result(inputs, static_cast<unsigned>(t));
      if constexpr (kind == Kind::Rnn) {
        Expr sum = in + op(Op::FULLY_CONNECTED, {h, again, Tensor()});
        h = isRelu(d) ? op(Op::RELU, {sum}) : tanh(sum);
      } else if constexpr (kind == Kind::Lstm) { // gates i, o, f, c
        Expr sum = in + op(Op::FULLY_CONNECTED, {h, again, Tensor()});
        Expr parts = op(Op::SPLIT, {axis, sum}).with("num_splits", 4).results(4);
        auto gate = [&](unsigned of, int32_t third) { // which may also see the cells
          Expr all = result(parts, of);
          return logistic(peephole ? all + slice(peephole, {d, third * units}, {1, units}, {units}) * c : all);
        };
        c = gate(2, 2) * c + gate(0, 0) * tanh(result(parts, 3));
        h = gate(1, 1) * tanh(c);
      } else { // gates z, r, h
        Expr own = op(Op::SPLIT, {axis, in}).with("num_splits", 3).results(3);
        if (n.integer("linear_before_reset")) {
          Expr sum = op(Op::FULLY_CONNECTED, {h, again, b ? *biasR : Expr(Tensor())});
          Expr past = op(Op::SPLIT, {axis, sum}).with("num_splits", 3).results(3);
          Expr z = logistic(result(own, 0) + result(past, 0)), reset = logistic(result(own, 1) + result(past, 1));
          Expr candidate = tanh(result(own, 2) + reset * result(past, 2));
          h = z * (h - candidate) + candidate;
        } else {
          auto rows = [&](int32_t from, int32_t count) {
            return slice(r, {d, from * units, 0}, {1, count * units, units}, {count * units, units});
          };
          auto biases = [&](int32_t from, int32_t count) {
            return b ? slice(b, {d, (3 + from) * units}, {1, count * units}, {count * units}) : Expr(Tensor());
          };
          Expr sum = op(Op::FULLY_CONNECTED, {h, rows(0, 2), biases(0, 2)});
          Expr past = op(Op::SPLIT, {axis, sum}).with("num_splits", 2).results(2);
          Expr z = logistic(result(own, 0) + result(past, 0)), reset = logistic(result(own, 1) + result(past, 1));
          Expr candidate = tanh(result(own, 2) + op(Op::FULLY_CONNECTED, {reset * h, rows(2, 1), biases(2, 1)}));
          h = z * (h - candidate) + candidate;
        }
      }
      all[d][t] = h;
    }
    lastH.push_back(h);
    lastC.push_back(c);
  }
  std::vector<Expr> sides;
  for (auto &side : all)
    sides.push_back(op(Op::PACK, side).with("values_count", moments).with("axis", batchFirst));
  auto packed = [&](std::vector<Expr> parts, int at) {
    return op(Op::PACK, std::move(parts)).with("values_count", directions).with("axis", at);
  };
  std::vector<std::pair<Tensor, Expr>> values;
  Tensor results[3] = {n.node.result(0), n.node.result(1), kind == Kind::Lstm ? n.node.result(2) : Tensor()};
  if (results[0])
    values.push_back({results[0], packed(sides, batchFirst ? 2 : 1)});
  if (results[1])
    values.push_back({results[1], packed(lastH, batchFirst)});
  if (results[2])
    values.push_back({results[2], packed(lastC, batchFirst)});
  return n.m.replace(std::move(values));
}

} // namespace

llvm::ArrayRef<Row> recurrentRows() {
  static const Row rows[] = {
      {"GRU", recurrent<Kind::Gru>}, {"LSTM", recurrent<Kind::Lstm>}, {"RNN", recurrent<Kind::Rnn>}};
  return rows;
}

} // namespace origo::onnx
