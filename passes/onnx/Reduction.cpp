#include "passes/onnx/Lowering.h"

namespace origo::onnx {

namespace {

/// The axes of a reduction, as a list that circle's takes. None: computed, or not those of its input.
std::optional<Expr> axesOf(Lowering &n, int64_t inputSince, bool &none) {
  Tensor x = n.input(0);
  llvm::SmallVector<int64_t, 8> axes = n.integers("axes");
  std::optional<Integers> from;
  if (n.opset >= inputSince && n.input(1)) {
    from = n.m.integers(n.input(1));
    if (!from)
      return std::nullopt;
    axes.clear();
    for (int32_t axis : from->list())
      axes.push_back(axis);
  }
  none = axes.empty() && n.integer("noop_with_empty_axes");
  Sizes sorted;
  for (int64_t axis : axes) {
    auto known = Lowering::axis(axis, x.rank());
    if (!known)
      return std::nullopt;
    if (!llvm::is_contained(sorted, *known))
      sorted.push_back(*known);
  }
  if (axes.empty())
    for (int i = 0; i < x.rank(); ++i)
      sorted.push_back(i);
  llvm::sort(sorted);
  return from ? Expr(from->with(sorted)) : list(sorted);
}

/// Types that circle's reductions have no kernels for are reduced in wider ones.
TensorType reducedIn(TensorType type) {
  switch (type) {
  case TensorType::FLOAT16:
  case TensorType::FLOAT64:
    return TensorType::FLOAT32;
  case TensorType::INT8:
  case TensorType::UINT8:
    return TensorType::INT32;
  default:
    return type;
  }
}

/// The greatest truth is whether any is true, the least whether all are.
Op reductionOf(Op code, TensorType type) {
  if (type != TensorType::BOOL)
    return code;
  return code == Op::REDUCE_MAX ? Op::REDUCE_ANY : code == Op::REDUCE_MIN ? Op::REDUCE_ALL : code;
}

using Part = Expr (*)(Expr, TensorType);
Expr same(Expr x, TensorType) { return x; }
Expr magnitude(Expr x, TensorType type) { return maximum(x, -x); }
Expr squared(Expr x, TensorType) { return x * x; }
Expr root(Expr x, TensorType) { return sqrt(std::move(x)); }
Expr logarithm(Expr x, TensorType) { return op(Op::LOG, {std::move(x)}); }

/// The same over axes that are computed. Which sizes are left is computed as well, where none of 1 takes their places.
RewriteResult reducedAtRunTime(Lowering &n, Tensor axes, Op code, Part before, Part after) {
  Tensor x = n.input(0);
  std::optional<int32_t> count = countOf(axes);
  if (!count || *count > x.rank())
    return decline("its axes are computed, and nobody knows how many");
  Expr over = indices(axes);
  bool keeps = n.integer("keepdims", 1) != 0;
  if (*count == 0 && !n.integer("noop_with_empty_axes")) { // all of them
    Sizes all;
    for (int32_t i = 0; i < x.rank(); ++i)
      all.push_back(i);
    over = op(Op::CONCATENATION, {over, list(all)}).with("axis", 0);
    count = x.rank();
  }
  TensorType in = reducedIn(x.type());
  Expr value = op(reductionOf(code, in), {before(castTo(x, x.type(), in), in), over}).with("keep_dims", 1);
  if (!keeps && *count > 0)
    value = reshape(value, *count == x.rank() ? list({}) : otherSizes(x, over, *count));
  return n.replace(castTo(after(value, in), in, x.type()));
}

/// after(reduce(before(x))).
template <Op code, Part before, Part after, int64_t inputSince> RewriteResult reduced(Lowering &n) {
  bool none = false;
  Tensor x = n.input(0), given = n.opset >= inputSince ? n.input(1) : Tensor();
  if (given && !given.isConstant())
    return reducedAtRunTime(n, given, code, before, after);
  auto axes = axesOf(n, inputSince, none);
  if (!axes)
    return decline("its axes are not those of its input");
  if (none && before == same && after == same)
    return asItIs(n);
  TensorType in = reducedIn(x.type());
  if (after != same && isInteger(in)) // of a sum that is whole
    return decline("a root or a logarithm of integers");
  Expr value = before(castTo(x, x.type(), in), in);
  if (!none)
    value = op(reductionOf(code, in), {value, *axes}).with("keep_dims", n.integer("keepdims", 1) != 0);
  return n.replace(castTo(after(value, in), in, x.type()));
}

/// m + log(sum(exp(x − m))), with m the maximum.
RewriteResult logSumExp(Lowering &n) {
  bool none = false;
  Tensor x = n.input(0);
  auto axes = axesOf(n, 18, none);
  if (!axes || none)
    return decline("its axes are computed, or not those of its input");
  if (!isReal(x.type()))
    return decline("not float");
  TensorType in = reducedIn(x.type());
  Expr value = castTo(x, x.type(), in);
  auto keep = [&](Op code, Expr of, bool keeps) { return op(code, {std::move(of), *axes}).with("keep_dims", keeps); };
  bool keeps = n.integer("keepdims", 1) != 0;
  Expr most = keep(Op::REDUCE_MAX, value, true);
  Expr sum = op(Op::LOG, {keep(Op::SUM, op(Op::EXP, {value - most}), keeps)});
  return n.replace(castTo((keeps ? most : keep(Op::REDUCE_MAX, value, false)) + sum, in, x.type()));
}

template <Op code> RewriteResult position(Lowering &n) {
  Tensor x = n.input(0);
  auto axis = Lowering::axis(n.integer("axis", 0), x.rank());
  if (!axis)
    return decline("its axis is not one of its input's");
  // The last one is the first one from behind.
  bool last = n.integer("select_last_index");
  int32_t size = x.statedShape()[*axis];
  if (last && size < 0)
    return notKnown();
  if (x.type() == TensorType::INT64 || x.type() == TensorType::UINT64 || x.type() == TensorType::UINT32)
    return decline("of integers of 64 bits, or without a sign");
  TensorType in = isReal(x.type()) ? TensorType::FLOAT32 : x.type();
  Expr values = castTo(x, x.type(), in);
  Expr found =
      op(code, {last ? op(Op::REVERSE_V2, {values, list({*axis})}) : values, fold(reshape(list({*axis}), list({})))})
          .with("output_type", static_cast<int64_t>(TensorType::INT64));
  if (last)
    found = number(size - 1, TensorType::INT64) - found;
  if (!n.integer("keepdims", 1))
    return n.replace(found);
  Sizes sizes(x.statedShape().begin(), x.statedShape().end());
  sizes[*axis] = 1;
  llvm::SmallVector<int, 8> copies;
  for (int i = 0; i < x.rank(); ++i)
    copies.push_back(i);
  return n.replace(reshape(found, openShape(x, sizes, copies)));
}

} // namespace

llvm::ArrayRef<Row> reductionRows() {
  static const Row rows[] = {
      {"ArgMax", position<Op::ARG_MAX>},
      {"ArgMin", position<Op::ARG_MIN>},
      {"ReduceL1", reduced<Op::SUM, magnitude, same, 18>},
      {"ReduceL2", reduced<Op::SUM, squared, root, 18>},
      {"ReduceLogSum", reduced<Op::SUM, same, logarithm, 18>},
      {"ReduceLogSumExp", logSumExp},
      {"ReduceMax", reduced<Op::REDUCE_MAX, same, same, 18>},
      {"ReduceMean", reduced<Op::MEAN, same, same, 18>},
      {"ReduceMin", reduced<Op::REDUCE_MIN, same, same, 18>},
      {"ReduceProd", reduced<Op::REDUCE_PROD, same, same, 18>},
      {"ReduceSum", reduced<Op::SUM, same, same, 13>},
      {"ReduceSumSquare", reduced<Op::SUM, squared, same, 18>},
  };
  return rows;
}

} // namespace origo::onnx
