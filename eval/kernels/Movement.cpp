#include "eval/Kernels.h"
#include "eval/Strings.h"
#include "eval/kernels/Views.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

/// Operators that move, join and cut, whatever the elements are.
namespace origo::eval {

namespace {

/// The same elements in another shape.
llvm::Error copyAs(KernelContext &ctx, llvm::ArrayRef<int32_t> shape) {
  const Tensor &in = ctx.input(0);
  if (product(shape) != in.count())
    return ctx.fail(0, "has " + llvm::Twine(in.count()) + " elements, the new shape " + llvm::Twine(product(shape)));
  bool strings = in.type == TensorType::STRING;
  auto output = strings ? ctx.outputOfSize(0, shape, in.bytes().size()) : ctx.output(0, shape);
  if (!output)
    return output.takeError();
  if (!in.bytes().empty())
    std::memcpy((*output)->storage.data(), in.bytes().data(), in.bytes().size());
  return llvm::Error::success();
}

llvm::Error reshape(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  llvm::SmallVector<int64_t, 8> dims;
  if (ctx.has(1)) {
    auto numbers = ctx.integers(1);
    if (!numbers)
      return numbers.takeError();
    dims = std::move(*numbers);
  } else if (const auto *shape = ctx.options<circle::ReshapeOptions>().new_shape()) {
    dims.assign(shape->begin(), shape->end());
    // How older converters spelled a scalar.
    if (dims.size() == 1 && dims[0] == 0 && in.count() == 1)
      dims.clear();
  }
  int64_t rest = in.count(), stretched = -1, others = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1 && stretched < 0)
      stretched = static_cast<int64_t>(i);
    else if (dims[i] < 0 || llvm::MulOverflow(others, dims[i], others))
      return ctx.fail("the new shape is impossible");
  }
  if (stretched >= 0)
    dims[stretched] = others == 0 ? 0 : rest / others;
  Shape shape;
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim > std::numeric_limits<int32_t>::max() || llvm::MulOverflow(count, dim, count))
      return ctx.fail("the new shape is impossible");
    shape.push_back(static_cast<int32_t>(dim));
  }
  return copyAs(ctx, shape);
}

llvm::Error squeeze(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  const auto *dims = ctx.options<circle::SqueezeOptions>().squeeze_dims();
  llvm::SmallVector<bool, 6> drop(in.rank(), false);
  if (!dims || dims->size() == 0)
    for (int d = 0; d < in.rank(); ++d)
      drop[d] = in.dim(d) == 1;
  else
    for (int32_t given : *dims) {
      auto axis = ctx.axis(given, in.rank());
      if (!axis)
        return axis.takeError();
      if (in.dim(*axis) != 1)
        return ctx.fail(0, "dimension " + llvm::Twine(*axis) + " is not 1");
      drop[*axis] = true;
    }
  Shape shape;
  for (int d = 0; d < in.rank(); ++d)
    if (!drop[d])
      shape.push_back(in.dim(d));
  return copyAs(ctx, shape);
}

llvm::Error expandDims(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto given = ctx.integer(1);
  if (!given)
    return given.takeError();
  auto axis = ctx.axis(*given, in.rank() + 1);
  if (!axis)
    return axis.takeError();
  Shape shape = in.shape;
  shape.insert(shape.begin() + *axis, 1);
  return copyAs(ctx, shape);
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
  const auto &options = ctx.options<circle::ConcatenationOptions>();
  const Tensor &first = ctx.input(0);
  auto axis = ctx.axis(options.axis(), first.rank());
  if (!axis)
    return axis.takeError();
  Shape shape = first.shape;
  int64_t length = 0;
  for (unsigned i = 0; i < ctx.numInputs(); ++i) {
    const Tensor &part = ctx.input(i);
    if (part.rank() != first.rank() || part.type != first.type)
      return ctx.fail(i, "has another rank or type than the first");
    for (int d = 0; d < first.rank(); ++d)
      if (d != *axis && part.dim(d) != first.dim(d))
        return ctx.fail(i, "differs from the first in dimension " + llvm::Twine(d));
    length += part.dim(*axis);
  }
  if (length > std::numeric_limits<int32_t>::max())
    return ctx.fail("the result is too long");
  shape[*axis] = static_cast<int32_t>(length);
  auto output = ctx.output(0, shape);
  if (!output)
    return output.takeError();
  llvm::SmallVector<int64_t> rowBytes;
  for (const Tensor *part : ctx.inputs)
    rowBytes.push_back(product(part->shape, *axis, part->rank()) * elementSize(*part));
  int64_t outer = (*output)->storage.empty() ? 0 : product(shape, 0, *axis);
  bool same = llvm::all_of(ctx.inputs, [&](const Tensor *part) { return sameQuantization(*part, **output); });
  // The runtime does not look at the scales of int16.
  if (!same && first.type == TensorType::INT8)
    joinRescaled<int8_t>(ctx.inputs, rowBytes, outer, **output);
  else if (!same && first.type == TensorType::UINT8)
    joinRescaled<uint8_t>(ctx.inputs, rowBytes, outer, **output);
  else
    joinRows(ctx.inputs, rowBytes, outer, **output);
  return llvm::Error::success();
}

llvm::Error pack(KernelContext &ctx) {
  const Tensor &first = ctx.input(0);
  auto axis = ctx.axis(ctx.options<circle::PackOptions>().axis(), first.rank() + 1);
  if (!axis)
    return axis.takeError();
  for (unsigned i = 0; i < ctx.numInputs(); ++i)
    if (ctx.input(i).shape != first.shape || ctx.input(i).type != first.type)
      return ctx.fail(i, "has another shape or type than the first");
  Shape shape = first.shape;
  shape.insert(shape.begin() + *axis, static_cast<int32_t>(ctx.numInputs()));
  auto output = ctx.output(0, shape);
  if (!output)
    return output.takeError();
  llvm::SmallVector<int64_t> rowBytes(ctx.numInputs(), product(first.shape, *axis, first.rank()) * elementSize(first));
  joinRows(ctx.inputs, rowBytes, product(first.shape, 0, *axis), **output);
  return llvm::Error::success();
}

/// Output i is the part of the input that begins at the sum of the lengths before, along the axis.
llvm::Error cut(KernelContext &ctx, const Tensor &in, int axis, llvm::ArrayRef<int64_t> lengths, bool keepAxis) {
  auto strides = stridesOf(in.shape);
  llvm::SmallVector<std::pair<Tensor *, View>> parts;
  int64_t begin = 0;
  for (unsigned i = 0; i < ctx.numOutputs(); begin += lengths[i++]) {
    View view{in.shape, begin * strides[axis], {}, {}};
    view.shape[axis] = static_cast<int32_t>(lengths[i]);
    for (int d = 0; d < in.rank(); ++d)
      view.add(view.shape[d], strides[d]);
    if (!keepAxis)
      view.shape.erase(view.shape.begin() + axis);
    if (!ctx.wants(i) || ctx.takesView(i, view))
      continue;
    auto output = ctx.output(i, view.shape);
    if (!output)
      return output.takeError();
    parts.push_back({*output, std::move(view)});
  }
  for (auto &[part, view] : parts)
    copyStrided(in.bytes().data(), view.offset, view.steps, view.walk, elementSize(in), part->storage.data());
  return llvm::Error::success();
}

llvm::Error unpack(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto axis = ctx.axis(ctx.options<circle::UnpackOptions>().axis(), in.rank());
  if (!axis)
    return axis.takeError();
  if (in.dim(*axis) != static_cast<int32_t>(ctx.numOutputs()))
    return ctx.fail(0, "is not as long as there are results", std::to_string(ctx.numOutputs()),
                    std::to_string(in.dim(*axis)));
  return cut(ctx, in, *axis, llvm::SmallVector<int64_t>(ctx.numOutputs(), 1), false);
}

llvm::Error split(KernelContext &ctx) {
  const Tensor &in = ctx.input(1);
  auto given = ctx.integer(0);
  if (!given)
    return given.takeError();
  auto axis = ctx.axis(*given, in.rank());
  if (!axis)
    return axis.takeError();
  unsigned count = ctx.numOutputs();
  if (count == 0 || in.dim(*axis) % static_cast<int32_t>(count))
    return ctx.fail(1, "does not divide into equal parts");
  return cut(ctx, in, *axis, llvm::SmallVector<int64_t>(count, in.dim(*axis) / static_cast<int32_t>(count)), true);
}

llvm::Error splitV(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto lengths = ctx.integers(1);
  if (!lengths)
    return lengths.takeError();
  auto given = ctx.integer(2);
  if (!given)
    return given.takeError();
  auto axis = ctx.axis(*given, in.rank());
  if (!axis)
    return axis.takeError();
  int64_t left = in.dim(*axis), *rest = nullptr;
  for (int64_t &length : *lengths) {
    if (length == -1 && !rest)
      rest = &length;
    else if (length < 0 || length > left)
      return ctx.fail(1, "the parts do not fit");
    else
      left -= length;
  }
  if (rest)
    *rest = std::exchange(left, 0);
  if (left != 0 || lengths->size() != ctx.numOutputs())
    return ctx.fail(1, "the parts do not fit");
  return cut(ctx, in, *axis, *lengths, true);
}

/// Which slices of the first operand the indices of the second one pick.
struct Picks {
  Shape shape; ///< of the result
  int64_t batch = 1, outer = 1, length = 1, picks = 1, inner = 1;

  static llvm::Expected<Picks> of(KernelContext &ctx) {
    const auto &options = ctx.options<circle::GatherOptions>();
    const Tensor &params = ctx.input(0), &indices = ctx.input(1);
    auto axis = ctx.axis(options.axis(), params.rank());
    if (!axis)
      return axis.takeError();
    int batches = options.batch_dims() < 0 ? options.batch_dims() + indices.rank() : options.batch_dims();
    if (batches < 0 || batches > indices.rank() || batches > *axis)
      return ctx.fail("batch_dims is out of range");
    for (int d = 0; d < batches; ++d)
      if (params.dim(d) != indices.dim(d))
        return ctx.fail(1, "differs from the operand in a batch dimension");
    Picks made;
    made.shape.assign(params.shape.begin(), params.shape.begin() + *axis);
    made.shape.append(indices.shape.begin() + batches, indices.shape.end());
    made.shape.append(params.shape.begin() + *axis + 1, params.shape.end());
    made.length = params.dim(*axis);
    made.inner = product(params.shape, *axis + 1, params.rank());
    made.batch = product(params.shape, 0, batches);
    made.outer = product(params.shape, batches, *axis);
    made.picks = product(indices.shape, batches, indices.rank());
    return made;
  }
  /// f(which slice) in the order of the result.
  template <class F> llvm::Error forEach(KernelContext &ctx, F f) const {
    if (product(shape) == 0)
      return llvm::Error::success();
    auto at = ctx.integers(1);
    if (!at)
      return at.takeError();
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t row = 0; row < outer; ++row)
        for (int64_t p = 0; p < picks; ++p) {
          int64_t index = (*at)[b * picks + p];
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
  auto picks = Picks::of(ctx);
  if (!picks)
    return picks.takeError();
  auto output = ctx.output(0, picks->shape);
  if (!output)
    return output.takeError();
  int64_t size = picks->inner * elementSize(params);
  uint8_t *to = (*output)->storage.data();
  return picks->forEach(ctx, [&](int64_t slice) {
    std::memcpy(to, params.bytes().data() + slice * size, size);
    to += size;
  });
}

llvm::Error gatherStrings(KernelContext &ctx) {
  auto picks = Picks::of(ctx);
  if (!picks)
    return picks.takeError();
  auto strings = stringsOf(ctx, 0);
  if (!strings)
    return strings.takeError();
  if (product(picks->shape) > std::numeric_limits<int32_t>::max() / 4)
    return ctx.fail("the result would have more strings than offsets can count");
  std::vector<llvm::StringRef> chosen;
  auto add = [&](int64_t slice) {
    for (int64_t i = 0; i < picks->inner; ++i)
      chosen.push_back((*strings)[slice * picks->inner + i]);
  };
  if (llvm::Error error = picks->forEach(ctx, add))
    return error;
  return setStrings(ctx, 0, picks->shape, chosen);
}

/// PAD and PADV2: the input in the middle of a constant; zero, or for quantised tensors the zero point, unless given.
llvm::Error pad(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto amounts = ctx.integers(1);
  if (!amounts)
    return amounts.takeError();
  if (amounts->size() != in.shape.size() * 2)
    return ctx.fail(1, "does not have two numbers for each dimension");
  Shape shape;
  int64_t offset = 0;
  for (int d = 0; d < in.rank(); ++d) {
    int64_t before = (*amounts)[2 * d], after = (*amounts)[2 * d + 1], dim = before + in.dim(d) + after;
    if (before < 0 || after < 0 || before > std::numeric_limits<int32_t>::max() ||
        after > std::numeric_limits<int32_t>::max() || dim > std::numeric_limits<int32_t>::max())
      return ctx.fail(1, "an amount is negative or too large");
    shape.push_back(static_cast<int32_t>(dim));
  }
  if (ctx.has(2) && ctx.input(2).count() != 1)
    return ctx.fail(2, "must be a single element");
  auto output = ctx.output(0, shape);
  if (!output)
    return output.takeError();
  int64_t size = elementSize(in);
  llvm::SmallVector<uint8_t, 16> filler(size, 0);
  if (ctx.has(2))
    std::memcpy(filler.data(), ctx.input(2).bytes().data(), size);
  else if (in.type == TensorType::INT8 || in.type == TensorType::UINT8)
    filler[0] = static_cast<uint8_t>((*output)->zeroPoint());
  auto out = (*output)->as<uint8_t>();
  for (size_t i = 0; i < out.size(); i += size)
    std::memcpy(out.data() + i, filler.data(), size);
  auto steps = stridesOf(shape);
  for (int d = 0; d < in.rank(); ++d)
    offset += (*amounts)[2 * d] * steps[d];
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

llvm::Expected<View> viewTransposed(const KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto permutation = ctx.integers(1);
  if (!permutation)
    return permutation.takeError();
  if (permutation->size() != in.shape.size())
    return ctx.fail(1, "does not name each dimension", std::to_string(in.rank()), std::to_string(permutation->size()));
  auto strides = stridesOf(in.shape);
  llvm::SmallVector<bool, 6> seen(in.rank(), false);
  View view;
  for (int64_t given : *permutation) {
    auto axis = ctx.axis(given, in.rank());
    if (!axis)
      return axis.takeError();
    if (std::exchange(seen[*axis], true))
      return ctx.fail(1, "names a dimension twice");
    view.shape.push_back(in.dim(*axis));
    view.add(in.dim(*axis), strides[*axis]);
  }
  return view;
}

llvm::Expected<View> viewSlice(const KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto begin = ctx.integers(1), size = ctx.integers(2);
  if (!begin || !size)
    return firstError(begin, size);
  if (begin->size() != in.shape.size() || size->size() != in.shape.size())
    return ctx.fail("begin and size must have a number for each dimension");
  auto strides = stridesOf(in.shape);
  View view;
  for (int d = 0; d < in.rank(); ++d) {
    int64_t length = (*size)[d] == -1 ? in.dim(d) - (*begin)[d] : (*size)[d];
    if ((*begin)[d] < 0 || length < 0 || (*begin)[d] > in.dim(d) || length > in.dim(d) - (*begin)[d])
      return ctx.fail("dimension " + llvm::Twine(d) + " is cut beyond its end");
    view.shape.push_back(static_cast<int32_t>(length));
    view.add(length, strides[d]);
    view.offset += (*begin)[d] * strides[d];
  }
  return view;
}

llvm::ArrayRef<KernelRow> movementKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::RESHAPE, "any|str, i32? -> same", reshape},
      {Op::SQUEEZE, "any|str -> same", squeeze},
      {Op::EXPAND_DIMS, "any|str, i32|i64|i16 -> same", expandDims},
      {Op::TRANSPOSE, "any, i32 -> same", copyView<viewTransposed>},
      {Op::CONCATENATION,
       "any{n|t}, same{n|t}... -> same{n|t}",
       concatenate,
       {is("fused_activation_function", {"NONE"})}},
      {Op::PACK, "any, same... -> same", pack},
      {Op::UNPACK, "any -> same...", unpack},
      {Op::SPLIT, "i32, any -> same1...", split},
      {Op::SPLIT_V, "any, i32|i64, i32 -> same...", splitV},
      {Op::SLICE, "any, i32|i64, i32|i64 -> same", copyView<viewSlice>},
      {Op::GATHER, "any, i32|i64|i16 -> same", gather},
      {Op::GATHER, "str, i32|i64 -> str", gatherStrings},
      {Op::PAD, "any{n|t}, i32|i64 -> same{n|t}", pad},
      {Op::PADV2, "any{n|t}, i32|i64, same{n|t}? -> same{n|t}", pad},
  };
  return rows;
}

} // namespace origo::eval
