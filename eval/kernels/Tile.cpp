#include "eval/Kernels.h"
#include "eval/kernels/Views.h"

/// Repetition.
namespace origo::eval {

namespace {

/// The shape that two shapes broadcast to.
template <class T> llvm::Error broadcastArgs(KernelContext &ctx) {
  const Tensor &a = ctx.input(0), &b = ctx.input(1);
  const Tensor &longer = a.dim(0) >= b.dim(0) ? a : b, &shorter = &longer == &a ? b : a;
  auto x = longer.as<T>(), y = shorter.as<T>();
  auto out = ctx.output().as<T>();
  size_t offset = x.size() - y.size();
  for (size_t i = 0; i < x.size(); ++i) {
    T other = i < offset ? T(1) : y[i - offset];
    if (x[i] != other && x[i] != 1 && other != 1)
      return ctx.fail("the shapes do not broadcast");
    out[i] = x[i] == 1 ? other : x[i];
  }
  return llvm::Error::success();
}

} // namespace

Views viewTiled(const KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto times = *ctx.values(1);
  // A dimension d that is repeated t times is read as t × d with no step along t.
  auto strides = stridesOf(in.shape);
  View view;
  for (int d = 0; d < in.rank(); ++d) {
    if (times[d] != 1)
      view.add(times[d], 0);
    view.add(in.dim(d), strides[d]);
  }
  return {std::move(view)};
}

Views viewBroadcast(const KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  const Shape &shape = ctx.outputs[0]->shape;
  auto strides = stridesOf(in.shape);
  size_t missing = shape.size() - in.shape.size();
  View view;
  for (size_t d = 0; d < shape.size(); ++d)
    view.add(shape[d], d < missing || in.shape[d - missing] == 1 ? 0 : strides[d - missing]);
  return {std::move(view)};
}

llvm::ArrayRef<KernelRow> tileKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::TILE, "any, i32|i64 -> same", viewTiled},
      {Op::BROADCAST_TO, "any, i32|i64 -> same", viewBroadcast},
      {Op::BROADCAST_ARGS, "i32[_], i32[_] -> i32[_]", broadcastArgs<int32_t>},
      {Op::BROADCAST_ARGS, "i64[_], i64[_] -> i64[_]", broadcastArgs<int64_t>},
  };
  return rows;
}

} // namespace origo::eval
