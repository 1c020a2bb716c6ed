#include "passes/onnx/Lowering.h"

/// Loop and Scan: as often as it is known that their bodies run, one call behind the other, which are inlined. They are
/// operators WHILE until then (import/onnx/Bodies.cpp).
namespace origo::onnx {

namespace {

constexpr int64_t mostRounds = 1024, mostOperators = 100000; ///< loops within loops multiply

/// What goes into a body, and what comes of it.
struct Rounds {
  std::vector<Expr> states;
  std::vector<Expr> around;              ///< what it sees
  std::vector<std::vector<Expr>> listed; ///< by result behind the states: that of each round
};

/// Calls the body with what `given` says of a round, and keeps what it makes. The results in front of the states, of
/// which there are `skipped`, are for the next round only.
template <class F> Expr goRound(Node node, Rounds &rounds, unsigned skipped, size_t scans, F given) {
  std::vector<Expr> operands = given();
  operands.insert(operands.end(), rounds.around.begin(), rounds.around.end());
  auto results = static_cast<unsigned>(skipped + rounds.states.size() + scans);
  Expr call = op(Op::CALL, std::move(operands)).with("subgraph", node.option("body_subgraph_index")).results(results);
  for (size_t i = 0; i < rounds.states.size(); ++i)
    rounds.states[i] = result(call, static_cast<unsigned>(skipped + i));
  rounds.listed.resize(scans);
  for (size_t i = 0; i < scans; ++i)
    rounds.listed[i].push_back(result(call, static_cast<unsigned>(skipped + rounds.states.size() + i)));
  return call;
}

RewriteResult replaced(Lowering &n, Rounds &rounds, llvm::ArrayRef<int64_t> axes, llvm::ArrayRef<bool> backwards) {
  std::vector<std::pair<Tensor, Expr>> values;
  for (unsigned i = 0; i < n.node.resultCount(); ++i) {
    if (i < rounds.states.size()) {
      values.push_back({n.node.result(i), rounds.states[i]});
      continue;
    }
    size_t k = i - rounds.states.size();
    std::vector<Expr> &all = rounds.listed[k];
    if (backwards[k])
      std::reverse(all.begin(), all.end());
    values.push_back({n.node.result(i),
                      op(Op::PACK, all).with("values_count", static_cast<int64_t>(all.size())).with("axis", axes[k])});
  }
  return n.m.replace(std::move(values));
}

bool isTooMuch(Lowering &n, int64_t rounds) {
  return rounds > mostRounds || static_cast<int64_t>(n.node.calledOperators() + 1) > mostOperators / rounds;
}

RewriteResult unrolledLoop(Lowering &n) {
  auto own = static_cast<unsigned>(n.integer("$inputs"));
  Tensor limit = n.input(0), condition = n.input(1);
  auto rounds = limit ? n.m.integers(limit) : std::nullopt;
  if (!rounds || rounds->size() != 1)
    return decline("how often its body runs is computed");
  bool starts = !condition || n.m.isEvery(condition, 1);
  if (!starts && condition.isConstant())
    return decline("its body does not run");
  int64_t count = rounds->at(0);
  if (count < 1 || isTooMuch(n, count))
    return decline("its body does not run, or more than 1024 times, or has more than 100,000 operators by then");
  Rounds all;
  for (unsigned i = 2; i < n.inputs(); ++i)
    (i < own ? all.states : all.around).push_back(n.input(i));
  size_t scans = n.node.resultCount() - all.states.size();
  bool ends = n.integer("$ends");
  if ((ends || !starts) && scans)
    return decline("how often its body runs is computed while it runs, and it lists what each round makes");
  // Where it has ended, states stay what they were.
  std::optional<Expr> goes;
  if (!starts)
    goes = reshape(condition, list({}));
  for (int64_t k = 0; k < count; ++k) {
    std::vector<Expr> before = all.states;
    Expr call = goRound(n.node, all, 1, scans, [&] {
      std::vector<Expr> given = {number(static_cast<double>(k), TensorType::INT64), number(1, TensorType::BOOL)};
      given.insert(given.end(), all.states.begin(), all.states.end());
      return given;
    });
    for (size_t i = 0; goes && i < before.size(); ++i)
      all.states[i] = op(Op::SELECT_V2, {*goes, all.states[i], before[i]}).as(n.input(static_cast<unsigned>(i) + 2));
    if (!ends)
      continue;
    Expr on = reshape(result(call, 0), list({}));
    goes = goes ? op(Op::LOGICAL_AND, {*goes, on}) : on;
  }
  llvm::SmallVector<int64_t> axes(scans, 0);
  llvm::SmallVector<bool> backwards(scans, false);
  return replaced(n, all, axes, backwards);
}

/// What a round of a Scan is given: the states, and the places of that round.
std::vector<Expr> givenTo(int32_t round, int32_t count, const std::vector<Expr> &states, llvm::ArrayRef<Expr> parts,
                          llvm::ArrayRef<int64_t> directions) {
  std::vector<Expr> given(states);
  for (auto [part, isBackwards] : llvm::zip(parts, directions))
    given.push_back(result(part, static_cast<unsigned>(isBackwards ? count - 1 - round : round)));
  return given;
}

RewriteResult unrolledScan(Lowering &n) {
  auto own = static_cast<unsigned>(n.integer("$inputs")), inputs = static_cast<unsigned>(n.integer("num_scan_inputs"));
  if (inputs < 1 || inputs > own)
    return decline("it has nothing to go along");
  auto listed = [&](const char *name, size_t size) {
    auto numbers = n.integers(name);
    numbers.resize(size, 0);
    return numbers;
  };
  Rounds all;
  for (unsigned i = 0; i < n.inputs(); ++i)
    if (i < own - inputs || i >= own)
      (i < own ? all.states : all.around).push_back(n.input(i));
  size_t scans = n.node.resultCount() - all.states.size();
  auto axes = listed("scan_input_axes", inputs), directions = listed("scan_input_directions", inputs);
  std::vector<Expr> parts;
  int32_t count = -1;
  for (unsigned k = 0; k < inputs; ++k) {
    Tensor x = n.input(own - inputs + k);
    auto axis = Lowering::axis(axes[k], x.rank());
    if (!axis || x.statedShape()[*axis] < 1 || (count >= 0 && x.statedShape()[*axis] != count))
      return decline("how long what it goes along is is not known, or differs");
    count = x.statedShape()[*axis];
    if (isTooMuch(n, count))
      return decline("its body runs more than 1024 times, or has more than 100,000 operators by then");
    parts.push_back(op(Op::UNPACK, {x}).with("num", count).with("axis", *axis).results(static_cast<unsigned>(count)));
  }
  for (int32_t t = 0; t < count; ++t)
    goRound(n.node, all, 0, scans, [&] { return givenTo(t, count, all.states, parts, directions); });
  llvm::SmallVector<bool> backwards;
  for (int64_t direction : listed("scan_output_directions", scans))
    backwards.push_back(direction != 0);
  return replaced(n, all, listed("scan_output_axes", scans), backwards);
}

/// One of version 8: the first axis is of batches, each of which is gone along by itself. The first operand is not
/// there.
RewriteResult unrolledBatches(Lowering &n) {
  auto own = static_cast<unsigned>(n.integer("$inputs")), inputs = static_cast<unsigned>(n.integer("num_scan_inputs"));
  if (inputs < 1 || inputs + 1 > own)
    return decline("it has nothing to go along");
  auto directions = n.integers("directions");
  directions.resize(inputs, 0);
  int32_t batch = -1, count = -1;
  for (unsigned i = 1; i < own; ++i) {
    llvm::ArrayRef<int32_t> shape = n.input(i).statedShape();
    bool goesAlong = i >= own - inputs;
    if (shape.size() < 1u + goesAlong || shape[0] < 1 || (batch >= 0 && shape[0] != batch) ||
        (goesAlong && (shape[1] < 1 || (count >= 0 && shape[1] != count))))
      return decline("how long what it goes along is is not known, or differs");
    batch = shape[0];
    count = goesAlong ? shape[1] : count;
  }
  if (isTooMuch(n, int64_t{batch} * count))
    return decline("its body runs more than 1024 times, or has more than 100,000 operators by then");
  auto unpacked = [](const Expr &x, int32_t size) {
    return op(Op::UNPACK, {x}).with("num", size).with("axis", 0).results(static_cast<unsigned>(size));
  };
  auto packed = [](std::vector<Expr> parts) {
    auto size = static_cast<int64_t>(parts.size());
    return op(Op::PACK, std::move(parts)).with("values_count", size).with("axis", 0);
  };
  std::vector<Expr> batches, around;
  for (unsigned i = 1; i < n.inputs(); ++i)
    i < own ? batches.push_back(unpacked(n.input(i), batch)) : around.push_back(n.input(i));
  size_t states = own - 1 - inputs, scans = n.node.resultCount() - states;
  std::vector<std::vector<Expr>> all(n.node.resultCount());
  for (int32_t b = 0; b < batch; ++b) {
    Rounds rounds;
    rounds.around = around;
    for (size_t i = 0; i < states; ++i)
      rounds.states.push_back(result(batches[i], static_cast<unsigned>(b)));
    std::vector<Expr> parts;
    for (unsigned k = 0; k < inputs; ++k)
      parts.push_back(unpacked(result(batches[states + k], static_cast<unsigned>(b)), count));
    for (int32_t t = 0; t < count; ++t)
      goRound(n.node, rounds, 0, scans, [&] { return givenTo(t, count, rounds.states, parts, directions); });
    for (size_t i = 0; i < all.size(); ++i)
      all[i].push_back(i < states ? rounds.states[i] : packed(std::move(rounds.listed[i - states])));
  }
  std::vector<std::pair<Tensor, Expr>> values;
  for (unsigned i = 0; i < all.size(); ++i)
    values.push_back({n.node.result(i), packed(std::move(all[i]))});
  return n.m.replace(std::move(values));
}

// What is left a node (import/onnx/Bodies.cpp).
RewriteResult hasNoBody(Lowering &) { return decline("it has no body"); }
RewriteResult hasLengths(Lowering &) {
  return decline("it is one of version 8 whose batches have lengths of their own");
}

} // namespace

RewriteResult unrolled(Lowering &n) {
  if (!n.node.callsDetermined())
    return decline("an operator in its body is not lowered");
  if (n.text("$op") == "Loop")
    return unrolledLoop(n);
  return n.opset < 9 ? unrolledBatches(n) : unrolledScan(n);
}

llvm::ArrayRef<Row> loopRows() {
  static const Row rows[] = {{"Loop", hasNoBody}, {"Scan", hasLengths}};
  return rows;
}

} // namespace origo::onnx
