#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/Shapes.h"
#include "eval/kernels/Move.h"

/// What looks at numbers as bits.
namespace origo::eval {

namespace {

/// The same bytes as elements of another size: smaller ones get a dimension of their own, larger ones take the last.
llvm::Error bitcast(KernelContext &ctx) {
  llvm::copy(ctx.input(0).bytes(), ctx.output().storage.begin());
  return llvm::Error::success();
}

template <class T, class F> llvm::Error combine(KernelContext &ctx, F f) {
  const Tensor &a = ctx.input(0), &b = ctx.input(1);
  Tensor &output = ctx.output();
  auto x = a.as<T>(), y = b.as<T>();
  auto out = output.as<T>();
  size_t i = 0;
  for (Broadcast at(output.shape, {a.shape, b.shape}); !at.done() && !ctx.late(); at.next())
    out[i++] = f(x[at.index(0)], y[at.index(1)]);
  return llvm::Error::success();
}

template <class T> llvm::Error exclusiveOr(KernelContext &ctx) {
  return combine<T>(ctx, [](T x, T y) { return static_cast<T>(x ^ y); });
}
/// What is shifted out entirely leaves the sign.
template <class T> llvm::Error rightShift(KernelContext &ctx) {
  return combine<T>(ctx, [](T x, T y) {
    constexpr T most = sizeof(T) * 8 - 1;
    return static_cast<T>(x >> std::clamp<T>(y, 0, most));
  });
}

} // namespace

llvm::ArrayRef<KernelRow> bitsKernels() {
  using Op = BuiltinOperator;
#define INTEGERS(code, function)                                                                                       \
  {Op::code, "i8, i8 -> i8", function<int8_t>}, {Op::code, "u8, u8 -> u8", function<uint8_t>},                         \
      {Op::code, "i16, i16 -> i16", function<int16_t>}, {Op::code, "u16, u16 -> u16", function<uint16_t>},             \
      {Op::code, "i32, i32 -> i32", function<int32_t>}, {                                                              \
    Op::code, "u32, u32 -> u32", function<uint32_t>                                                                    \
  }
  static const KernelRow rows[] = {
      {Op::BITCAST, "any -> any", bitcast},
      INTEGERS(BITWISE_XOR, exclusiveOr),
      INTEGERS(RIGHT_SHIFT, rightShift),
  };
#undef INTEGERS
  return rows;
}

} // namespace origo::eval
