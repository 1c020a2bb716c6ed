#include "eval/Kernels.h"
#include "eval/kernels/Views.h"

#include "llvm/Support/MathExtras.h"

/// Repetition.
namespace origo::eval {

namespace {

/// The shape that two shapes broadcast to.
template <class T> llvm::Error broadcastArgs(KernelContext &ctx) {
  const Tensor &a = ctx.input(0), &b = ctx.input(1);
  const Tensor &longer = a.dim(0) >= b.dim(0) ? a : b, &shorter = &longer == &a ? b : a;
  auto output = ctx.output(0, longer.shape);
  if (!output)
    return output.takeError();
  auto x = longer.as<T>(), y = shorter.as<T>();
  auto out = (*output)->as<T>();
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

llvm::Expected<View> viewTiled(const KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto times = ctx.integers(1);
  if (!times)
    return times.takeError();
  if (times->size() != in.shape.size())
    return ctx.fail(1, "does not have a number for each dimension", std::to_string(in.rank()),
                    std::to_string(times->size()));
  // A dimension d that is repeated t times is read as t × d with no step along t.
  auto strides = stridesOf(in.shape);
  View view;
  for (int d = 0; d < in.rank(); ++d) {
    int64_t length;
    if ((*times)[d] < 0 || llvm::MulOverflow<int64_t>(in.dim(d), (*times)[d], length) ||
        std::max(length, (*times)[d]) > std::numeric_limits<int32_t>::max())
      return ctx.fail(1, "a number is negative or too large");
    view.shape.push_back(static_cast<int32_t>(length));
    if ((*times)[d] != 1)
      view.add((*times)[d], 0);
    view.add(in.dim(d), strides[d]);
  }
  return view;
}

llvm::Expected<View> viewBroadcast(const KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto numbers = ctx.integers(1);
  if (!numbers)
    return numbers.takeError();
  View view;
  for (int64_t number : *numbers) {
    if (number < 0 || number > std::numeric_limits<int32_t>::max())
      return ctx.fail(1, "is not a shape");
    view.shape.push_back(static_cast<int32_t>(number));
  }
  auto joined = broadcastShape(in.shape, view.shape);
  if (!joined || *joined != view.shape)
    return ctx.fail(0, "does not broadcast to the new shape");
  auto strides = stridesOf(in.shape);
  size_t missing = view.shape.size() - in.shape.size();
  for (size_t d = 0; d < view.shape.size(); ++d)
    view.add(view.shape[d], d < missing || in.shape[d - missing] == 1 ? 0 : strides[d - missing]);
  return view;
}

llvm::ArrayRef<KernelRow> tileKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::TILE, "any, i32|i64 -> same", copyView<viewTiled>},
      {Op::BROADCAST_TO, "any, i32|i64 -> same", copyView<viewBroadcast>},
      {Op::BROADCAST_ARGS, "i32[_], i32[_] -> i32[_]", broadcastArgs<int32_t>},
      {Op::BROADCAST_ARGS, "i64[_], i64[_] -> i64[_]", broadcastArgs<int64_t>},
  };
  return rows;
}

} // namespace origo::eval
