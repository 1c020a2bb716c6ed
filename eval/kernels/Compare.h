#pragma once

#include "eval/kernels/Elementwise.h"

#include <functional>

namespace origo::eval {

/// EQUAL, NOT_EQUAL, LESS …: output = left(x) compared with right(y), which are of type Number.
template <class T, class Number, class Left, class Right>
llvm::Error compareAs(KernelContext &ctx, Left left, Right right) {
  auto zipWith = [&](auto f) {
    return zip<T, uint8_t>(ctx, [&](T x, T y, const char *&) -> uint8_t { return f(left(x), right(y)); });
  };
  switch (ctx.op.code) {
  case BuiltinOperator::EQUAL:
    return zipWith(std::equal_to<Number>());
  case BuiltinOperator::NOT_EQUAL:
    return zipWith(std::not_equal_to<Number>());
  case BuiltinOperator::LESS:
    return zipWith(std::less<Number>());
  case BuiltinOperator::LESS_EQUAL:
    return zipWith(std::less_equal<Number>());
  case BuiltinOperator::GREATER:
    return zipWith(std::greater<Number>());
  default:
    return zipWith(std::greater_equal<Number>());
  }
}

} // namespace origo::eval
