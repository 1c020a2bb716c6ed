#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/kernels/Move.h"

/// Tensors made of a few numbers.
namespace origo::eval {

namespace {

llvm::Error fill(KernelContext &ctx) {
  const Tensor &value = ctx.input(1);
  if (value.count() != 1)
    return ctx.fail(1, "must be a single element");
  Tensor &output = ctx.output();
  llvm::SmallVector<int64_t, 6> steps(output.shape.size(), 0);
  copyStrided(value.bytes().data(), 0, steps, output.shape, elementSize(value), output.storage.data());
  return llvm::Error::success();
}

llvm::Error zerosLike(KernelContext &ctx) {
  std::fill(ctx.output().storage.begin(), ctx.output().storage.end(), 0);
  return llvm::Error::success();
}

/// From `start` in steps of `delta` up to, not with, `limit`. Floats are added up step by step, as in the runtime.
template <class T> llvm::Error range(KernelContext &ctx) {
  T value = ctx.input(0).as<T>()[0], delta = ctx.input(2).as<T>()[0];
  for (T &element : ctx.output().as<T>()) {
    element = value;
    if constexpr (std::is_floating_point_v<T>)
      value += delta;
    else
      value = wrappingAdd(value, delta);
  }
  return llvm::Error::success();
}

/// An index becomes a row that is "on" at that place; one that is out of range a row without.
llvm::Error oneHot(KernelContext &ctx) {
  const Tensor &indices = ctx.input(0), &on = ctx.input(2), &off = ctx.input(3);
  if (on.count() != 1 || off.count() != 1)
    return ctx.fail("on and off must be single elements");
  Tensor &output = ctx.output();
  int axis = ctx.axis(ctx.options<circle::OneHotOptions>().axis(), output.rank());
  auto at = *ctx.values(0);
  int64_t depth = output.dim(axis), inner = product(indices.shape, axis, indices.rank()), size = elementSize(on),
          count = output.count();
  uint8_t *to = output.storage.data();
  for (int64_t i = 0; i < count; ++i, to += size) {
    int64_t index = at[i / inner / depth * inner + i % inner];
    std::memcpy(to, (index == i / inner % depth ? on : off).bytes().data(), size);
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> generateKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::FILL, "i32|i64, any -> same1", fill},           {Op::ONE_HOT, "i32|i64, i32, any, same2 -> same2", oneHot},
      {Op::RANGE, "f32, f32, f32 -> f32", range<float>},   {Op::RANGE, "i32, i32, i32 -> i32", range<int32_t>},
      {Op::RANGE, "i64, i64, i64 -> i64", range<int64_t>}, {Op::ZEROS_LIKE, "f32|i32|i64 -> same", zerosLike},
  };
  return rows;
}

} // namespace origo::eval
