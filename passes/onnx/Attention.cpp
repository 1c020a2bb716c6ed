#include "passes/onnx/Lowering.h"

/// Attention, and what ONNX Runtime's optimiser of transformers puts around it.
namespace origo::onnx {

namespace {

constexpr double never = -1e9; ///< a score of what is not looked at

/// 0, 1, 2, … of int32, as many as that.
Expr upTo(int32_t count) { return counted({count}, 0); }

/// What is added to the scores, of shape [batch, 1, queries or 1, keys], by a mask that says which keys count.
std::optional<Expr> masked(Lowering &n, Tensor mask, int32_t batch, int32_t queries, int32_t keys) {
  Expr out = n.real("mask_filter_value", -10000);
  auto where = [&](Expr truth) { return castTo(std::move(truth), TensorType::BOOL, TensorType::FLOAT32) * out; };
  auto isOut = [&](llvm::ArrayRef<int32_t> as) {
    return where(op(Op::LESS_EQUAL, {reshape(mask, list(as)), number(0, TensorType::INT32)}));
  };
  if (!mask.isStatic() || mask.type() != TensorType::INT32)
    return std::nullopt;
  llvm::ArrayRef<int32_t> shape = mask.shape();
  if (shape == llvm::ArrayRef<int32_t>({batch})) { // how many there are
    Expr isBehind = op(Op::GREATER_EQUAL, {upTo(keys), reshape(mask, list({batch, 1, 1, 1}))});
    return where(isBehind);
  }
  if (shape == llvm::ArrayRef<int32_t>({batch, keys}))
    return isOut({batch, 1, 1, keys});
  if (shape == llvm::ArrayRef<int32_t>({batch, queries, keys}))
    return isOut({batch, 1, queries, keys});
  return std::nullopt;
}

/// softmax(q · kᵀ · scale + what is masked) · v of [batch, heads, moments, size] each.
Expr attended(const Expr &q, const Expr &k, const Expr &v, double scale, std::optional<Expr> mask) {
  Expr scores = op(Op::BATCH_MATMUL, {q, k}).with("adjoint_rhs", 1) * Expr(scale);
  if (mask)
    scores = scores + *mask;
  return op(Op::BATCH_MATMUL, {op(Op::SOFTMAX, {scores}).withReal("beta", 1), v});
}

/// No key behind the query, where the last of both are of the same moment.
Expr causal(int32_t queries, int32_t keys) {
  Expr last = reshape(upTo(queries), list({queries, 1})) + number(keys - queries, TensorType::INT32);
  Expr isBehind = op(Op::GREATER, {reshape(upTo(keys), list({1, keys})), last});
  return fold(castTo(isBehind, TensorType::BOOL, TensorType::FLOAT32) * Expr(never));
}

/// Of com.microsoft: one product for queries, keys and values, in front of which those of before stand.
RewriteResult attention(Lowering &n) {
  Tensor x = n.input(0), weights = n.input(1), bias = n.input(2), mask = n.input(3), past = n.input(4);
  auto heads = static_cast<int32_t>(n.integer("num_heads"));
  if (!x.isFloat() || !x.isStatic() || x.rank() != 3 || !weights.isDenseConstant() || weights.rank() != 2 || !bias ||
      n.input(5) || n.input(6) || n.has("qkv_hidden_sizes") || n.integer("do_rotary") ||
      n.integer("past_present_share_buffer"))
    return decline("not of float32 of a known shape, or with more than weights, a mask and what was before");
  int32_t batch = x.shape()[0], moments = x.shape()[1], width = weights.shape()[1] / 3;
  if (heads < 1 || weights.shape()[1] % 3 || width % heads || width / heads < 1)
    return decline("its weights are not three times as many as its heads have");
  int32_t size = width / heads, before = 0;
  if (past) {
    if (!past.isStatic() || past.rank() != 5 || past.shape()[0] != 2)
      return decline("the shape of what was before is not known");
    before = past.shape()[3];
  }
  int32_t keys = before + moments;
  Expr all = op(Op::FULLY_CONNECTED, {x, fold(transpose(weights, list({1, 0}))), bias}).with("keep_num_dims", 1);
  all = transpose(reshape(all, list({batch, moments, 3, heads, size})), list({2, 0, 3, 1, 4}));
  Expr parts = op(Op::UNPACK, {all}).with("num", 3).with("axis", 0).results(3);
  Expr q = result(parts, 0), k = result(parts, 1), v = result(parts, 2);
  if (past) {
    Expr old = op(Op::UNPACK, {past}).with("num", 2).with("axis", 0).results(2);
    k = op(Op::CONCATENATION, {result(old, 0), k}).with("axis", 2);
    v = op(Op::CONCATENATION, {result(old, 1), v}).with("axis", 2);
  }
  std::optional<Expr> added;
  if (mask) {
    added = masked(n, mask, batch, moments, keys);
    if (!added)
      return decline("its mask is of another shape than the keys");
  }
  if (n.integer("unidirectional") && moments > 1)
    added = added ? *added + causal(moments, keys) : causal(moments, keys);
  Expr value = attended(q, k, v, n.real("scale") != 0 ? n.real("scale") : 1 / std::sqrt(double(size)), added);
  value = reshape(transpose(value, list({0, 2, 1, 3})), list({batch, moments, width}));
  std::vector<std::pair<Tensor, Expr>> values = {{n.node.result(0), value}};
  if (n.node.resultCount() > 1)
    values.push_back({n.node.result(1), op(Op::PACK, {k, v}).with("values_count", 2).with("axis", 0)});
  return n.m.replace(std::move(values));
}

} // namespace

llvm::ArrayRef<Row> attentionRows() {
  static const Row rows[] = {{"com.microsoft.Attention", attention}};
  return rows;
}

} // namespace origo::onnx
