#include "eval/Kernels.h"
#include "eval/Strings.h"
#include "eval/kernels/Views.h"

#include <cmath>

/// Operators that move, join and cut, whatever the elements are.
namespace origo::eval {

namespace {

/// The same elements in another shape.
llvm::Error copy(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  if (in.type == TensorType::STRING)
    if (auto room = ctx.outputOfSize(0, ctx.output().shape, in.bytes().size()); !room)
      return room.takeError();
  llvm::copy(in.bytes(), ctx.output().storage.begin());
  return llvm::Error::success();
}

/// Parts one behind the other along an axis: `outer` rows of each part's own length.
void joinRows(llvm::ArrayRef<Tensor *> parts, llvm::ArrayRef<int64_t> rowBytes, int64_t outer, Tensor &output) {
  if (output.storage.empty())
    return;
  uint8_t *to = output.storage.data();
  for (int64_t row = 0; row < outer; ++row)
    for (size_t i = 0; i < parts.size(); ++i) {
      if (rowBytes[i])
        std::memcpy(to, parts[i]->bytes().data() + row * rowBytes[i], rowBytes[i]);
      to += rowBytes[i];
    }
}

/// 8 bit parts that are quantised in another way than the result, in float as in the runtime, which does it for uint8.
template <class T>
void joinRescaled(llvm::ArrayRef<Tensor *> parts, llvm::ArrayRef<int64_t> rowBytes, int64_t outer, Tensor &output) {
  uint8_t *to = output.storage.data();
  float inverse = 1.f / output.scale();
  for (int64_t row = 0; row < outer; ++row)
    for (size_t i = 0; i < parts.size(); ++i) {
      float scale = parts[i]->scale() * inverse, bias = static_cast<float>(-parts[i]->zeroPoint()) * scale;
      for (T q : parts[i]->as<T>().slice(row * rowBytes[i], rowBytes[i])) {
        float rounded = std::round(static_cast<float>(q) * scale + bias) + static_cast<float>(output.zeroPoint());
        *to++ = static_cast<uint8_t>(
            static_cast<T>(std::clamp<float>(rounded, std::numeric_limits<T>::min(), std::numeric_limits<T>::max())));
      }
    }
}

bool sameQuantization(const Tensor &a, const Tensor &b) {
  return a.scale() == b.scale() && a.zeroPoint() == b.zeroPoint();
}

llvm::Error concatenate(KernelContext &ctx) {
  const Tensor &first = ctx.input(0);
  Tensor &output = ctx.output();
  int axis = ctx.axis(ctx.options<circle::ConcatenationOptions>().axis(), first.rank());
  llvm::SmallVector<int64_t> rowBytes;
  for (const Tensor *part : ctx.inputs)
    rowBytes.push_back(product(part->shape, axis, part->rank()) * elementSize(*part));
  int64_t outer = output.storage.empty() ? 0 : product(output.shape, 0, axis);
  bool same = llvm::all_of(ctx.inputs, [&](const Tensor *part) { return sameQuantization(*part, output); });
  // The runtime does not look at the scales of int16.
  if (!same && first.type == TensorType::INT8)
    joinRescaled<int8_t>(ctx.inputs, rowBytes, outer, output);
  else if (!same && first.type == TensorType::UINT8)
    joinRescaled<uint8_t>(ctx.inputs, rowBytes, outer, output);
  else
    joinRows(ctx.inputs, rowBytes, outer, output);
  return llvm::Error::success();
}

llvm::Error pack(KernelContext &ctx) {
  const Tensor &first = ctx.input(0);
  int axis = ctx.axis(ctx.options<circle::PackOptions>().axis(), first.rank() + 1);
  llvm::SmallVector<int64_t> rowBytes(ctx.numInputs(), product(first.shape, axis, first.rank()) * elementSize(first));
  joinRows(ctx.inputs, rowBytes, product(first.shape, 0, axis), ctx.output());
  return llvm::Error::success();
}

/// Parts of an operand one behind the other along an axis.
Views cut(const KernelContext &ctx, unsigned operand, int axis, llvm::ArrayRef<int64_t> lengths) {
  const Tensor &in = ctx.input(operand);
  auto strides = stridesOf(in.shape);
  Views views;
  int64_t begin = 0;
  for (int64_t length : lengths) {
    View &view = views.emplace_back(View{operand, begin * strides[axis], {}, {}});
    for (int d = 0; d < in.rank(); ++d)
      view.add(d == axis ? length : in.dim(d), strides[d]);
    begin += length;
  }
  return views;
}

Views viewUnpacked(const KernelContext &ctx) {
  int axis = ctx.axis(ctx.options<circle::UnpackOptions>().axis(), ctx.input(0).rank());
  return cut(ctx, 0, axis, llvm::SmallVector<int64_t>(ctx.numOutputs(), 1));
}

Views viewSplit(const KernelContext &ctx) {
  const Tensor &in = ctx.input(1);
  int axis = ctx.axis(*ctx.value(0), in.rank());
  unsigned count = ctx.numOutputs();
  return cut(ctx, 1, axis, llvm::SmallVector<int64_t>(count, in.dim(axis) / static_cast<int64_t>(count)));
}

/// One of the lengths may be −1: what the others leave.
Views viewSplitByLengths(const KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  int axis = ctx.axis(*ctx.value(2), in.rank());
  auto lengths = *ctx.values(1);
  int64_t rest = in.dim(axis);
  for (int64_t length : lengths)
    rest -= std::max<int64_t>(length, 0);
  std::replace(lengths.begin(), lengths.end(), int64_t(-1), rest);
  return cut(ctx, 0, axis, lengths);
}

/// Which slices of the first operand the indices of the second one pick.
struct Picks {
  int64_t batch, outer, length, picks, inner;

  explicit Picks(const KernelContext &ctx) {
    const auto &options = ctx.options<circle::GatherOptions>();
    const Tensor &params = ctx.input(0), &indices = ctx.input(1);
    int axis = ctx.axis(options.axis(), params.rank());
    int batches = options.batch_dims() < 0 ? options.batch_dims() + indices.rank() : options.batch_dims();
    length = params.dim(axis);
    inner = product(params.shape, axis + 1, params.rank());
    batch = product(params.shape, 0, batches);
    outer = product(params.shape, batches, axis);
    picks = product(indices.shape, batches, indices.rank());
  }
  /// f(which slice) in the order of the result.
  template <class F> llvm::Error forEach(KernelContext &ctx, F f) const {
    if (ctx.output().count() == 0)
      return llvm::Error::success();
    auto at = *ctx.values(1);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t row = 0; row < outer; ++row)
        for (int64_t p = 0; p < picks; ++p) {
          int64_t index = at[b * picks + p];
          if (index < 0 || index >= length)
            return ctx.fail(1, "index " + llvm::Twine(index) + " of " + llvm::Twine(length) + " elements");
          f((b * outer + row) * length + index);
          if (ctx.late(static_cast<uint64_t>(inner)))
            return llvm::Error::success();
        }
    return llvm::Error::success();
  }
};

llvm::Error gather(KernelContext &ctx) {
  const Tensor &params = ctx.input(0);
  Picks picks(ctx);
  int64_t size = picks.inner * elementSize(params);
  uint8_t *to = ctx.output().storage.data();
  return picks.forEach(ctx, [&](int64_t slice) {
    std::memcpy(to, params.bytes().data() + slice * size, size);
    to += size;
  });
}

llvm::Error gatherStrings(KernelContext &ctx) {
  Picks picks(ctx);
  auto strings = stringsOf(ctx, 0);
  if (!strings)
    return strings.takeError();
  if (ctx.output().count() > std::numeric_limits<int32_t>::max() / 4)
    return ctx.fail("the result would have more strings than offsets can count");
  std::vector<llvm::StringRef> chosen;
  auto add = [&](int64_t slice) {
    for (int64_t i = 0; i < picks.inner; ++i)
      chosen.push_back((*strings)[slice * picks.inner + i]);
  };
  if (llvm::Error error = picks.forEach(ctx, add))
    return error;
  return setStrings(ctx, 0, chosen);
}

llvm::Error sliceStrings(KernelContext &ctx) {
  auto strings = stringsOf(ctx, 0);
  if (!strings)
    return strings.takeError();
  View view = viewSlice(ctx).front();
  if (ctx.output().count() > std::numeric_limits<int32_t>::max() / 4)
    return ctx.fail("the result would have more strings than offsets can count");
  std::vector<llvm::StringRef> chosen;
  llvm::SmallVector<int32_t, 10> position(view.walk.size(), 0);
  int64_t at = view.offset;
  for (int64_t left = ctx.output().count(); left > 0; --left) {
    chosen.push_back((*strings)[static_cast<size_t>(at)]);
    for (size_t d = view.walk.size(); d-- > 0;) {
      at += view.steps[d];
      if (++position[d] < view.walk[d])
        break;
      at -= view.steps[d] * view.walk[d];
      position[d] = 0;
    }
  }
  return setStrings(ctx, 0, chosen);
}

/// PAD and PADV2: the input in the middle of a constant; zero, or for quantised tensors the zero point, unless given.
llvm::Error pad(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto amounts = *ctx.values(1);
  int64_t offset = 0;
  if (ctx.has(2) && ctx.input(2).count() != 1)
    return ctx.fail(2, "must be a single element");
  Tensor &output = ctx.output();
  int64_t size = elementSize(in);
  llvm::SmallVector<uint8_t, 16> filler(size, 0);
  if (ctx.has(2))
    std::memcpy(filler.data(), ctx.input(2).bytes().data(), size);
  else if (in.type == TensorType::INT8 || in.type == TensorType::UINT8)
    filler[0] = static_cast<uint8_t>(output.zeroPoint());
  auto out = output.as<uint8_t>();
  for (size_t i = 0; i < out.size(); i += size)
    std::memcpy(out.data() + i, filler.data(), size);
  auto steps = stridesOf(output.shape);
  for (int d = 0; d < in.rank(); ++d)
    offset += amounts[2 * d] * steps[d];
  // Row by row: only the innermost dimension lies in one piece in both.
  int64_t row = in.rank() ? in.dim(in.rank() - 1) : 1, rows = row ? in.count() / row : 0;
  Shape position(in.rank(), 0);
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(out.data() + offset * size, in.bytes().data() + r * row * size, row * size);
    for (int d = in.rank() - 1; d-- > 0;) {
      offset += steps[d];
      if (++position[d] < in.dim(d))
        break;
      offset -= steps[d] * in.dim(d);
      position[d] = 0;
    }
  }
  return llvm::Error::success();
}

} // namespace

Views viewTransposed(const KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto strides = stridesOf(in.shape);
  auto permutation = *ctx.values(1);
  View view;
  for (int64_t given : permutation) {
    int axis = ctx.axis(given, in.rank());
    view.add(in.dim(axis), strides[axis]);
  }
  return {std::move(view)};
}

Views viewSlice(const KernelContext &ctx) {
  auto begin = *ctx.values(1);
  auto strides = stridesOf(ctx.input(0).shape);
  View view;
  for (size_t d = 0; d < begin.size(); ++d) {
    view.add(ctx.outputs[0]->shape[d], strides[d]);
    view.offset += begin[d] * strides[d];
  }
  return {std::move(view)};
}

llvm::ArrayRef<KernelRow> movementKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::RESHAPE, "any|i4|i2|u4|str, i32? -> same", copy},
      {Op::SQUEEZE, "any|i4|i2|u4|str -> same", copy},
      {Op::EXPAND_DIMS, "any|i4|i2|u4|str, i32|i64|i16 -> same", copy},
      {Op::TRANSPOSE, "any, i32 -> same", viewTransposed},
      {Op::CONCATENATION,
       "any{n|t}, same{n|t}... -> same{n|t}",
       concatenate,
       {is("fused_activation_function", {"NONE"})}},
      {Op::PACK, "any, same... -> same", pack},
      {Op::UNPACK, "any -> same...", viewUnpacked},
      {Op::SPLIT, "i32, any -> same1...", viewSplit},
      {Op::SPLIT_V, "any, i32|i64, i32 -> same...", viewSplitByLengths},
      {Op::SLICE, "any, i32|i64, i32|i64 -> same", viewSlice},
      {Op::SLICE, "str, i32|i64, i32|i64 -> str", sliceStrings},
      {Op::GATHER, "any, i32|i64|i16 -> same", gather},
      {Op::GATHER, "str, i32|i64 -> str", gatherStrings},
      {Op::PAD, "any{n|t}, i32|i64 -> same{n|t}", pad},
      {Op::PADV2, "any{n|t}, i32|i64, same{n|t}? -> same{n|t}", pad},
  };
  return rows;
}

} // namespace origo::eval
