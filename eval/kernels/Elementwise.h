#pragma once

#include "eval/Kernel.h"
#include "eval/Shapes.h"

#include <algorithm>
#include <limits>

namespace origo::eval {

/// output[i] = f(x[i])
template <class In, class Out, class F> llvm::Error map(KernelContext &ctx, F f) {
  auto output = ctx.output(0, ctx.input(0).shape);
  if (!output)
    return output.takeError();
  auto x = ctx.input(0).as<In>();
  auto out = (*output)->template as<Out>();
  for (size_t i = 0; i < x.size() && !ctx.late(); ++i)
    out[i] = f(x[i]);
  return llvm::Error::success();
}

/// output = f(a, b) element by element, where a and b broadcast; f may refuse numbers by setting its third argument to
/// a reason.
template <class In, class Out, class F> llvm::Error zip(KernelContext &ctx, F f) {
  const Tensor &a = ctx.input(0), &b = ctx.input(1);
  auto shape = broadcastShape(a.shape, b.shape);
  if (!shape)
    return ctx.fail("the operands' shapes do not broadcast");
  auto output = ctx.output(0, *shape);
  if (!output)
    return output.takeError();
  auto x = a.as<In>(), y = b.as<In>();
  auto out = (*output)->template as<Out>();
  const char *refused = nullptr;
  size_t i = 0;
  for (Broadcast at(*shape, {a.shape, b.shape}); !at.done() && !ctx.late(); at.next())
    out[i++] = f(x[at.index(0)], y[at.index(1)], refused);
  return refused ? ctx.fail(refused) : llvm::Error::success();
}

/// The nearest number of a quantised type T.
template <class T> T saturate(int32_t value) {
  return static_cast<T>(std::clamp<int32_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

} // namespace origo::eval
