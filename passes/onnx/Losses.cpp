#include "passes/onnx/Lowering.h"

/// What a network is trained with: −weight · log p of the class that it should have found.
namespace origo::onnx {

namespace {

/// The loss of each element of `target`, from log-probabilities [N, C, d…] and a weight per class, if any, or their
/// mean or sum, as is asked for.
Expr loss(Lowering &n, Expr logarithms, Tensor scores, Tensor target, Tensor weights) {
  int32_t classes = scores.shape()[1];
  Expr index = castTo(target, target.type(), TensorType::INT32);
  std::optional<Expr> counts; // which elements, and how much
  if (n.has("ignore_index")) {
    Expr valid = op(Op::NOT_EQUAL, {index, number(static_cast<double>(n.integer("ignore_index")), TensorType::INT32)});
    index = op(Op::SELECT_V2, {valid, index, number(0, TensorType::INT32)});
    counts = castTo(valid, TensorType::BOOL, TensorType::FLOAT32);
  }
  if (weights) {
    Expr weight = op(Op::GATHER, {weights, index}).with("axis", 0);
    counts = counts ? *counts * weight : weight;
  }
  Expr chosen = op(Op::ONE_HOT, {index, number(classes, TensorType::INT32), Expr(1.0), Expr(0.0)}).with("axis", 1);
  Expr value = -op(Op::SUM, {logarithms * chosen, list({1})}).with("keep_dims", 0);
  if (counts)
    value = value * *counts;
  llvm::StringRef reduction = n.text("reduction", "mean");
  if (reduction == "none")
    return value;
  Sizes all;
  for (int i = 0; i < target.rank(); ++i)
    all.push_back(i);
  auto reduced = [&](Op code, Expr of) { return op(code, {std::move(of), list(all)}).with("keep_dims", 0); };
  if (reduction == "sum")
    return reduced(Op::SUM, value);
  return counts ? reduced(Op::SUM, value) / reduced(Op::SUM, *counts) : reduced(Op::MEAN, value);
}

constexpr const char *unknown = "not float32 of a known shape";
bool isKnown(Tensor scores, Tensor target) {
  return scores.isFloat() && scores.isStatic() && scores.rank() >= 2 && target.isStatic() && target.rank() >= 1;
}

RewriteResult negativeLogLikelihood(Lowering &n) {
  Tensor scores = n.input(0), target = n.input(1);
  return isKnown(scores, target) ? n.replace(loss(n, scores, scores, target, n.input(2))) : decline(unknown);
}

RewriteResult softmaxCrossEntropy(Lowering &n) {
  Tensor scores = n.input(0), target = n.input(1);
  if (!isKnown(scores, target))
    return decline(unknown);
  Sizes swap; // circle's is along the last axis
  for (int i = 0; i < scores.rank(); ++i)
    swap.push_back(i == 1 ? scores.rank() - 1 : i == scores.rank() - 1 ? 1 : i);
  bool isLast = scores.rank() == 2;
  Expr logarithms = op(Op::LOG_SOFTMAX, {isLast ? Expr(scores) : turned(scores, swap)});
  if (!isLast)
    logarithms = turned(logarithms, swap);
  std::vector<std::pair<Tensor, Expr>> values = {{n.node.result(0), loss(n, logarithms, scores, target, n.input(2))}};
  if (n.node.resultCount() > 1 && n.node.result(1))
    values.push_back({n.node.result(1), logarithms});
  return n.m.replace(std::move(values));
}

} // namespace

llvm::ArrayRef<Row> lossRows() {
  static const Row rows[] = {{"NegativeLogLikelihoodLoss", negativeLogLikelihood},
                             {"SoftmaxCrossEntropyLoss", softmaxCrossEntropy}};
  return rows;
}

} // namespace origo::onnx
