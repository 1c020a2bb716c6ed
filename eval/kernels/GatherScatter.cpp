#include "eval/FixedPoint.h"
#include "eval/Kernels.h"
#include "eval/Strings.h"
#include "eval/kernels/Move.h"
#include "eval/kernels/Places.h"

/// Slices that are read from, or written to, the places that tensors of indices name.
namespace origo::eval {

using loops::Places;

namespace {

llvm::Error gatherNd(KernelContext &ctx) {
  const Tensor &params = ctx.input(0);
  Tensor &output = ctx.output();
  Places places(ctx, 1, params.shape);
  if (llvm::Error error = places.read(ctx, 1))
    return error;
  int64_t size = places.slice * elementSize(params);
  if (output.storage.empty())
    return llvm::Error::success();
  if (params.bytes().empty())
    return ctx.fail(0, "has no elements");
  for (int64_t i = 0; i < places.count; ++i)
    std::memcpy(output.storage.data() + i * size, params.bytes().data() + places[i] * size, size);
  return llvm::Error::success();
}

llvm::Error gatherNdStrings(KernelContext &ctx) {
  Places places(ctx, 1, ctx.input(0).shape);
  if (llvm::Error error = places.read(ctx, 1))
    return error;
  auto strings = stringsOf(ctx, 0);
  if (!strings)
    return strings.takeError();
  if (ctx.output().count() > std::numeric_limits<int32_t>::max() / 4)
    return ctx.fail("the result would have more strings than offsets can count");
  if (strings->empty() && ctx.output().count() > 0)
    return ctx.fail(0, "has no elements");
  std::vector<llvm::StringRef> chosen;
  for (int64_t i = 0; i < places.count && !strings->empty(); ++i)
    for (int64_t j = 0; j < places.slice; ++j)
      chosen.push_back((*strings)[static_cast<size_t>(places[i] * places.slice + j)]);
  return setStrings(ctx, 0, chosen);
}

template <class T> llvm::Error scatterNd(KernelContext &ctx) {
  if constexpr (std::is_floating_point_v<T>) {
    return loops::scatter<T>(ctx, [](T &element, T update) { element += update; });
  } else {
    bool truth = ctx.outputType() == TensorType::BOOL;
    return loops::scatter<T>(
        ctx, [truth](T &element, T update) { element = truth ? element || update : wrappingAdd(element, update); });
  }
}

/// Single elements at places, and a default elsewhere. Of those at the same place the last one stays.
llvm::Error sparseToDense(KernelContext &ctx) {
  const Tensor &indices = ctx.input(0), &values = ctx.input(2), &rest = ctx.input(3);
  Tensor &output = ctx.output();
  int64_t count = indices.rank() == 0 ? 1 : indices.dim(0);
  auto depth = output.shape.size();
  auto at = *ctx.values(0);
  int64_t size = elementSize(values);
  auto out = output.as<uint8_t>();
  for (size_t i = 0; i < out.size(); i += size)
    std::memcpy(out.data() + i, rest.bytes().data(), size);
  auto strides = stridesOf(output.shape);
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = 0;
    for (size_t d = 0; d < depth; ++d) {
      int64_t index = at[i * depth + d];
      if (index < 0 || index >= output.shape[d])
        return ctx.fail(0, "index " + llvm::Twine(index) + " of " + llvm::Twine(output.shape[d]) + " elements");
      place += index * strides[d];
    }
    if (out.empty())
      return ctx.fail(0, "the result has no elements");
    std::memcpy(out.data() + place * size, values.bytes().data() + (values.rank() == 1 ? i : 0) * size, size);
  }
  return llvm::Error::success();
}

/// A begin that would put the update beyond the end is moved back.
llvm::Error dynamicUpdateSlice(KernelContext &ctx) {
  const Tensor &in = ctx.input(0), &update = ctx.input(1);
  auto begin = *ctx.values(2);
  uint8_t *to = ctx.output().storage.data();
  if (in.bytes().empty())
    return llvm::Error::success();
  std::memcpy(to, in.bytes().data(), in.bytes().size());
  if (update.bytes().empty())
    return llvm::Error::success();
  auto strides = stridesOf(in.shape);
  int64_t at = 0, size = elementSize(in);
  for (int d = 0; d < in.rank(); ++d)
    at += std::clamp<int64_t>(begin[d], 0, in.dim(d) - update.dim(d)) * strides[d];
  int64_t row = in.rank() ? update.dim(in.rank() - 1) : 1, rows = update.count() / row;
  Shape position(in.rank(), 0);
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(to + at * size, update.bytes().data() + r * row * size, row * size);
    for (int d = in.rank() - 1; d-- > 0;) {
      at += strides[d];
      if (++position[d] < update.dim(d))
        break;
      at -= strides[d] * update.dim(d);
      position[d] = 0;
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> gatherScatterKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::GATHER_ND, "any, i32|i64|i16[..,_] -> same", gatherNd},
      {Op::GATHER_ND, "str, i32|i64|i16[..,_] -> str", gatherNdStrings},
      {Op::SCATTER_ND, "i32[..,_], f32, i32 -> f32", scatterNd<float>},
      {Op::SCATTER_ND, "i32[..,_], i8{n|t}, i32 -> i8{n|t}", scatterNd<int8_t>},
      {Op::SCATTER_ND, "i32[..,_], u8{n|t}, i32 -> u8{n|t}", scatterNd<uint8_t>},
      {Op::SCATTER_ND, "i32[..,_], i32, i32 -> i32", scatterNd<int32_t>},
      {Op::SCATTER_ND, "i32[..,_], i64, i32 -> i64", scatterNd<int64_t>},
      {Op::SCATTER_ND, "i32[..,_], bool, i32 -> bool", scatterNd<uint8_t>},
      {Op::SPARSE_TO_DENSE, "i32|i64, i32|i64, f32, f32 -> f32", sparseToDense},
      {Op::SPARSE_TO_DENSE, "i32|i64, i32|i64, i32, i32 -> i32", sparseToDense},
      {Op::SPARSE_TO_DENSE, "i32|i64, i32|i64, i64, i64 -> i64", sparseToDense},
      {Op::SPARSE_TO_DENSE, "i32|i64, i32|i64, i8, i8 -> i8", sparseToDense},
      {Op::SPARSE_TO_DENSE, "i32|i64, i32|i64, u8, u8 -> u8", sparseToDense},
      {Op::DYNAMIC_UPDATE_SLICE, "any, same, i32|i64 -> same", dynamicUpdateSlice},
  };
  return rows;
}

} // namespace origo::eval
