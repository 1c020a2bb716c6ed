#pragma once

#include "eval/Kernel.h"
#include "eval/Shapes.h"

#include <algorithm>
#include <limits>

namespace origo::eval {

/// output[i] = f(x[i])
template <class In, class Out, class F> llvm::Error map(KernelContext &ctx, F f) {
  Tensor &output = ctx.output();
  auto x = ctx.input(0).as<In>();
  auto out = output.as<Out>();
  for (size_t i = 0; i < x.size() && !ctx.late(); ++i)
    out[i] = f(x[i]);
  return llvm::Error::success();
}

/// A stretch of elements of a result, and which ones of two operands that broadcast to it belong to them.
struct Row {
  size_t first, length;      ///< of the result
  size_t a, stepA, b, stepB; ///< the first element, and 1, or 0 where it is one for all
};

/// f(row) for all of a result, until it returns false: along its last dimension, or in one row if nothing is repeated.
template <class F>
void forEachRow(llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<int32_t> a, llvm::ArrayRef<int32_t> b, F f) {
  bool alike = a == b;
  auto outer = [&](llvm::ArrayRef<int32_t> all) { return alike || all.empty() ? all.take_front(0) : all.drop_back(); };
  auto length = [&](llvm::ArrayRef<int32_t> all) -> size_t {
    return alike ? product(all) : all.empty() ? 1 : all.back();
  };
  size_t row = length(shape), ofA = length(a), ofB = length(b), first = 0;
  for (Broadcast at(outer(shape), {outer(a), outer(b)}); !at.done(); at.next(), first += row)
    if (!f(Row{first, row, at.index(0) * ofA, ofA == row, at.index(1) * ofB, ofB == row}))
      return;
}

/// output = f(a, b) element by element, where a and b broadcast; f may refuse numbers by setting its third argument to
/// a reason.
template <class In, class Out, class F> llvm::Error zip(KernelContext &ctx, F f) {
  const Tensor &a = ctx.input(0), &b = ctx.input(1);
  Tensor &output = ctx.output();
  auto x = a.as<In>(), y = b.as<In>();
  auto out = output.as<Out>();
  const char *refused = nullptr;
  forEachRow(output.shape, a.shape, b.shape, [&](const Row &row) {
    const In *p = x.data() + row.a, *q = y.data() + row.b;
    Out *to = out.data() + row.first;
    if (row.stepA == 1 && row.stepB == 1)
      for (size_t k = 0; k < row.length; ++k)
        to[k] = f(p[k], q[k], refused);
    else
      for (size_t k = 0; k < row.length; ++k)
        to[k] = f(p[k * row.stepA], q[k * row.stepB], refused);
    return !ctx.late(row.length);
  });
  return refused ? ctx.fail(refused) : llvm::Error::success();
}

/// The nearest number of a quantised type T.
template <class T> T saturate(int32_t value) {
  return static_cast<T>(std::clamp<int32_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

} // namespace origo::eval
