#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/kernels/Move.h"

/// Tensors made of a few numbers.
namespace origo::eval {

namespace {

llvm::Error fill(KernelContext &ctx) {
  const Tensor &value = ctx.input(1);
  auto dims = ctx.integers(0);
  if (!dims)
    return dims.takeError();
  Shape shape;
  for (int64_t dim : *dims) {
    if (dim < 0 || dim > std::numeric_limits<int32_t>::max())
      return ctx.fail(0, "is not a shape");
    shape.push_back(static_cast<int32_t>(dim));
  }
  if (value.count() != 1)
    return ctx.fail(1, "must be a single element");
  auto output = ctx.output(0, shape);
  if (!output)
    return output.takeError();
  llvm::SmallVector<int64_t, 6> steps(shape.size(), 0);
  copyStrided(value.bytes().data(), 0, steps, shape, elementSize(value), (*output)->storage.data());
  return llvm::Error::success();
}

llvm::Error zerosLike(KernelContext &ctx) {
  auto output = ctx.output(0, ctx.input(0).shape);
  if (!output)
    return output.takeError();
  std::fill((*output)->storage.begin(), (*output)->storage.end(), 0);
  return llvm::Error::success();
}

/// From `start` in steps of `delta` up to, not with, `limit`. Floats are added up step by step, as in the runtime.
template <class T> llvm::Error range(KernelContext &ctx) {
  for (unsigned i = 0; i < 3; ++i)
    if (ctx.input(i).count() != 1)
      return ctx.fail(i, "must be a single number");
  T start = ctx.input(0).as<T>()[0], limit = ctx.input(1).as<T>()[0], delta = ctx.input(2).as<T>()[0];
  bool goesThere = delta > 0 ? start <= limit : delta < 0 && start >= limit;
  if (!goesThere)
    return ctx.fail(2, "does not lead from start to limit");
  double count;
  if constexpr (std::is_floating_point_v<T>) {
    count = std::ceil(std::abs(static_cast<double>((limit - start) / delta)));
  } else {
    uint64_t distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                  : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    uint64_t width = delta > 0 ? static_cast<uint64_t>(delta) : -static_cast<uint64_t>(delta);
    count = static_cast<double>(distance / width + (distance % width != 0));
  }
  if (!(count <= std::numeric_limits<int32_t>::max()))
    return ctx.fail("the result is too long");
  auto output = ctx.output(0, {static_cast<int32_t>(count)});
  if (!output)
    return output.takeError();
  T value = start;
  for (T &element : (*output)->as<T>()) {
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
  auto depth = ctx.integer(1);
  if (!depth)
    return depth.takeError();
  if (*depth < 0)
    return ctx.fail(1, "is negative");
  if (on.count() != 1 || off.count() != 1)
    return ctx.fail("on and off must be single elements");
  auto axis = ctx.axis(ctx.options<circle::OneHotOptions>().axis(), indices.rank() + 1);
  if (!axis)
    return axis.takeError();
  Shape shape = indices.shape;
  shape.insert(shape.begin() + *axis, static_cast<int32_t>(*depth));
  auto output = ctx.output(0, shape);
  if (!output)
    return output.takeError();
  auto at = ctx.integers(0);
  if (!at)
    return at.takeError();
  int64_t inner = product(indices.shape, *axis, indices.rank()), size = elementSize(on), count = (*output)->count();
  uint8_t *to = (*output)->storage.data();
  for (int64_t i = 0; i < count; ++i, to += size) {
    int64_t index = (*at)[i / inner / *depth * inner + i % inner];
    std::memcpy(to, (index == i / inner % *depth ? on : off).bytes().data(), size);
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
