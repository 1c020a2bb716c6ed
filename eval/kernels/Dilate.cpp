#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/kernels/Move.h"
#include "eval/kernels/Sliding.h"

/// DILATE and REDUCE_WINDOW, which came from StableHLO.
namespace origo::eval {

namespace {

/// Puts elements apart, with the padding in between.
llvm::Error dilate(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto apart = *ctx.values(1);
  if (ctx.input(2).type != in.type || ctx.input(2).count() != 1)
    return ctx.fail(2, "is not a single element of the input's type");
  Tensor &output = ctx.output();
  const Shape &shape = output.shape;
  int64_t size = elementSize(in);
  auto from = in.bytes(), padding = ctx.input(2).bytes();
  auto out = output.as<uint8_t>();
  for (size_t at = 0; at < out.size(); at += size)
    std::memcpy(out.data() + at, padding.data(), size);
  auto strides = stridesOf(shape);
  llvm::SmallVector<int32_t, 6> position(shape.size(), 0);
  for (size_t at = 0; at < from.size(); at += size) {
    int64_t index = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      index += position[d] * apart[d] * strides[d];
    std::memcpy(out.data() + index * size, from.data() + at, size);
    for (size_t d = shape.size(); d-- > 0 && ++position[d] == in.shape[d];)
      position[d] = 0;
  }
  return llvm::Error::success();
}

using Function = circle::ReduceWindowFunction;

template <class T> llvm::Error reduceWindow(KernelContext &ctx) {
  switch (ctx.options2<circle::ReduceWindowOptions>().reduce_function()) {
  case Function::ADD:
    return loops::slideAndReduce<T>(ctx, [](T a, T b) {
      if constexpr (std::is_integral_v<T>)
        return wrappingAdd(a, b);
      else
        return a + b;
    });
  case Function::MUL:
    return loops::slideAndReduce<T>(ctx, [](T a, T b) {
      if constexpr (std::is_integral_v<T>)
        return wrappingMul(a, b);
      else
        return a * b;
    });
  case Function::MINIMUM:
    return loops::slideAndReduce<T>(ctx, [](T a, T b) { return std::min(a, b); });
  case Function::MAXIMUM:
    return loops::slideAndReduce<T>(ctx, [](T a, T b) { return std::max(a, b); });
  default:
    return ctx.fail("no kernel for its reduce_function with these types");
  }
}

llvm::Error reduceTruths(KernelContext &ctx) {
  switch (ctx.options2<circle::ReduceWindowOptions>().reduce_function()) {
  case Function::ALL:
    return loops::slideAndReduce<uint8_t>(ctx, [](uint8_t a, uint8_t b) -> uint8_t { return a && b; });
  case Function::ANY:
    return loops::slideAndReduce<uint8_t>(ctx, [](uint8_t a, uint8_t b) -> uint8_t { return a || b; });
  default:
    return ctx.fail("no kernel for its reduce_function with these types");
  }
}

} // namespace

llvm::ArrayRef<KernelRow> dilateKernels() {
  using Op = BuiltinOperator;
  const Condition ofNumbers = is("reduce_function", {"ADD", "MUL", "MINIMUM", "MAXIMUM"});
  static const KernelRow rows[] = {
      {Op::DILATE, "any, i32|i64, any -> same", dilate},
      {Op::REDUCE_WINDOW, "f32, f32, i32|i64, i32|i64, i32|i64 -> f32", reduceWindow<float>, {ofNumbers}},
      {Op::REDUCE_WINDOW, "i8{n|t}, i8{n|t}, i32|i64, i32|i64, i32|i64 -> i8{n|t}", reduceWindow<int8_t>, {ofNumbers}},
      {Op::REDUCE_WINDOW, "u8{n|t}, u8{n|t}, i32|i64, i32|i64, i32|i64 -> u8{n|t}", reduceWindow<uint8_t>, {ofNumbers}},
      {Op::REDUCE_WINDOW,
       "i16{n|t}, i16{n|t}, i32|i64, i32|i64, i32|i64 -> i16{n|t}",
       reduceWindow<int16_t>,
       {ofNumbers}},
      {Op::REDUCE_WINDOW, "i32, i32, i32|i64, i32|i64, i32|i64 -> i32", reduceWindow<int32_t>, {ofNumbers}},
      {Op::REDUCE_WINDOW, "i64, i64, i32|i64, i32|i64, i32|i64 -> i64", reduceWindow<int64_t>, {ofNumbers}},
      {Op::REDUCE_WINDOW,
       "bool, bool, i32|i64, i32|i64, i32|i64 -> bool",
       reduceTruths,
       {is("reduce_function", {"ALL", "ANY"})}},
  };
  return rows;
}

} // namespace origo::eval
