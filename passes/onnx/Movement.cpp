#include "passes/onnx/Lowering.h"

#include <numeric>

/// What makes, moves, picks and counts elements.
namespace origo::onnx {

namespace {

RewriteResult notKnown() { return decline("its shape is not known before run time"); }

/// x itself, or, where the model's interface needs a tensor of its own, a copy.
RewriteResult identity(Lowering &n) {
  Tensor x = n.input(0), y = n.node.result();
  if (!y.isOutput() && x.isDenseConstant())
    return n.replace(fold(reshape(x, list(x.shape()))));
  if (!y.isOutput() || !(x.isOutput() || x.isConstant()))
    return n.replace(x);
  if (x.isStatic())
    return n.replace(reshape(x, list(x.shape())));
  return n.replace(reshape(x, op(Op::SHAPE, {x}).with("out_type", static_cast<int64_t>(TensorType::INT32))));
}

RewriteResult dropout(Lowering &n) {
  if (n.input(1))
    (void)n.m.number(n.input(1)); // how much is dropped says nothing where nothing is
  if (n.input(2) && !n.m.isEvery(n.input(2), 0))
    return decline("it drops at random, in training mode");
  if (n.opset < 7 && !n.integer("is_test"))
    return decline("it drops at random, in training mode");
  return identity(n);
}

RewriteResult constantNode(Lowering &n) {
  Tensor value = n.tensor("value");
  if (value)
    return n.replace(n.node.result().isOutput() ? reshape(value, list(value.shape()))
                                                : fold(reshape(value, list(value.shape()))));
  auto wide = [](Expr list32) { return fold(castTo(std::move(list32), TensorType::INT32, TensorType::INT64)); };
  auto fits = [](int64_t number) { return number >= INT32_MIN && number <= INT32_MAX; };
  if (n.has("value_int") && fits(n.integer("value_int")))
    return n.replace(number(static_cast<double>(n.integer("value_int")), TensorType::INT64));
  if (n.has("value_ints")) {
    auto numbers = n.integers("value_ints");
    if (llvm::all_of(numbers, fits))
      return n.replace(wide(list(Sizes(numbers.begin(), numbers.end()))));
  }
  if (n.has("value_float"))
    return n.replace(fold(reshape(n.real("value_float"), list({}))));
  if (n.has("value_floats") && n.reals("value_floats").size() <= 64) {
    std::vector<Expr> numbers;
    for (float value : n.reals("value_floats"))
      numbers.push_back(fold(reshape(static_cast<double>(value), list({1}))));
    if (!numbers.empty())
      return n.replace(fold(op(Op::CONCATENATION, numbers).with("axis", 0)));
  }
  return decline("its value is of a kind that is not taken");
}

RewriteResult constantOfShape(Lowering &n) {
  Tensor value = n.tensor("value");
  Expr filling = value ? (value.rank() == 0 ? Expr(value) : fold(reshape(value, list({})))) : Expr(0.0);
  return n.replace(op(Op::FILL, {indices(n.input(0)), filling}));
}

RewriteResult shapeOfTensor(Lowering &n) {
  Tensor x = n.input(0);
  Expr shape = op(Op::SHAPE, {x}).with("out_type", static_cast<int64_t>(TensorType::INT64));
  int rank = x.rank();
  auto clamp = [&](int64_t position) {
    return static_cast<int32_t>(std::clamp<int64_t>(position + (position < 0 ? rank : 0), 0, rank));
  };
  int32_t start = clamp(n.integer("start", 0)), end = clamp(n.has("end") ? n.integer("end") : rank);
  if (start == 0 && end == rank)
    return n.replace(shape);
  return n.replace(op(Op::SLICE, {shape, list({start}), list({std::max(end - start, 0)})}));
}
RewriteResult size(Lowering &n) {
  Expr shape = op(Op::SHAPE, {n.input(0)}).with("out_type", static_cast<int64_t>(TensorType::INT64));
  return n.replace(op(Op::REDUCE_PROD, {shape, list({0})}));
}

std::optional<TensorType> typeOfOnnx(int64_t type) {
  switch (type) {
  case 1:
    return TensorType::FLOAT32;
  case 2:
    return TensorType::UINT8;
  case 3:
    return TensorType::INT8;
  case 4:
    return TensorType::UINT16;
  case 5:
    return TensorType::INT16;
  case 6:
    return TensorType::INT32;
  case 7:
    return TensorType::INT64;
  case 9:
    return TensorType::BOOL;
  case 10:
    return TensorType::FLOAT16;
  case 11:
    return TensorType::FLOAT64;
  case 12:
    return TensorType::UINT32;
  case 13:
    return TensorType::UINT64;
  default:
    return std::nullopt;
  }
}
RewriteResult castNode(Lowering &n) {
  std::optional<TensorType> to = typeOfOnnx(n.integer("to"));
  if (!to)
    return decline("it casts to a type that is not taken");
  Tensor x = n.input(0);
  if (x.type() == *to)
    return identity(n);
  // Of what does not fit the low bits are kept, where a cast to a narrow type would take the nearest number.
  bool narrows =
      *to == TensorType::UINT8 || *to == TensorType::INT8 || *to == TensorType::UINT16 || *to == TensorType::INT16;
  if (x.isFloat() && narrows)
    return n.replace(castTo(castTo(x, x.type(), TensorType::INT32), TensorType::INT32, *to));
  return n.replace(castTo(x, x.type(), *to));
}
RewriteResult castLike(Lowering &n) {
  Tensor x = n.input(0), like = n.input(1);
  if (!like.isConstant() && !like.isOutput())
    return decline("the tensor that says the type is computed");
  return x.type() == like.type() ? identity(n) : n.replace(castTo(x, x.type(), like.type()));
}

/// A reshape of x to what is stated of it, where −1 is known from x.
RewriteResult reshapeNode(Lowering &n) {
  Tensor x = n.input(0), shape = n.input(1);
  llvm::SmallVector<int64_t, 8> wanted = n.integers("shape");
  std::optional<Integers> numbers;
  if (shape) {
    numbers = n.m.integers(shape);
    if (!numbers)
      return shape.isStatic() ? n.replace(reshape(x, indices(shape))) : notKnown();
    auto all = numbers->list();
    wanted.assign(all.begin(), all.end());
  }
  Sizes sizes;
  llvm::SmallVector<int, 8> copies;
  llvm::ArrayRef<int32_t> stated = x.statedShape();
  bool keepsZero = n.integer("allowzero");
  int open = 0, inferred = 0;
  for (auto [i, size] : llvm::enumerate(wanted)) {
    if (size == 0 && !keepsZero && i >= stated.size())
      return decline("it copies a dimension that its input does not have");
    sizes.push_back(size == 0 && !keepsZero ? stated[i] : static_cast<int32_t>(size));
    copies.push_back(static_cast<int>(i));
    open += sizes.back() == -1;
    inferred += size == -1;
  }
  if (open > 1 && inferred)
    return notKnown();
  if (open && x.isStatic()) {
    int64_t known = 1;
    for (int32_t size : sizes)
      known *= size == -1 ? 1 : size;
    if (known == 0 || static_cast<int64_t>(*x.elementCount()) % known)
      return decline("its input does not have the elements for it");
    for (int32_t &size : sizes)
      size = size == -1 ? static_cast<int32_t>(*x.elementCount() / known) : size;
  }
  return n.replace(reshape(x, openShape(x, sizes, copies, numbers)));
}

/// x with other dimensions, each of which is one of x's or of known size.
RewriteResult reshapedTo(Lowering &n, const Sizes &sizes, llvm::ArrayRef<int> copies,
                         const std::optional<Integers> &from) {
  return n.replace(reshape(n.input(0), openShape(n.input(0), sizes, copies, from)));
}

RewriteResult flatten(Lowering &n) {
  Tensor x = n.input(0);
  int64_t axis = n.integer("axis", 1);
  axis += axis < 0 ? x.rank() : 0;
  if (axis < 0 || axis > x.rank())
    return decline("its axis is not one of its input's");
  auto product = [](llvm::ArrayRef<int32_t> sizes) {
    int64_t all = 1;
    for (int32_t size : sizes)
      all = size < 0 || all < 0 ? -1 : all * size;
    return static_cast<int32_t>(all);
  };
  auto stated = x.statedShape();
  Sizes sizes = {product(stated.take_front(axis)), product(stated.drop_front(axis))};
  if (sizes[0] < 0 && sizes[1] < 0)
    return notKnown();
  return n.replace(reshape(x, list(sizes)));
}

/// The axes of a node: an attribute, or an input since a version. False: computed.
bool axesOf(Lowering &n, unsigned position, llvm::SmallVectorImpl<int64_t> &axes, std::optional<Integers> &from) {
  if (!n.input(position)) {
    axes = n.integers("axes");
    return true;
  }
  from = n.m.integers(n.input(position));
  if (!from)
    return false;
  auto all = from->list();
  axes.assign(all.begin(), all.end());
  return true;
}

RewriteResult squeeze(Lowering &n) {
  Tensor x = n.input(0);
  llvm::SmallVector<int64_t, 8> axes;
  std::optional<Integers> from;
  if (!axesOf(n, 1, axes, from))
    return decline("its axes are computed");
  auto stated = x.statedShape();
  if (axes.empty())
    for (int i = 0; i < x.rank(); ++i)
      if (stated[i] == 1)
        axes.push_back(i);
  llvm::SmallVector<bool, 8> gone(x.rank(), false);
  for (int64_t axis : axes) {
    auto known = Lowering::axis(axis, x.rank());
    if (!known)
      return decline("its axis is not one of its input's");
    gone[*known] = true;
  }
  Sizes sizes;
  llvm::SmallVector<int, 8> copies;
  for (int i = 0; i < x.rank(); ++i)
    if (!gone[i]) {
      sizes.push_back(stated[i]);
      copies.push_back(i);
    }
  return reshapedTo(n, sizes, copies, from);
}

RewriteResult unsqueeze(Lowering &n) {
  Tensor x = n.input(0);
  llvm::SmallVector<int64_t, 8> axes;
  std::optional<Integers> from;
  if (!axesOf(n, 1, axes, from))
    return decline("its axes are computed");
  int rank = x.rank() + static_cast<int>(axes.size());
  llvm::SmallVector<bool, 8> isNew(rank, false);
  for (int64_t axis : axes) {
    auto known = Lowering::axis(axis, rank);
    if (!known || isNew[*known])
      return decline("its axes are not those of its result");
    isNew[*known] = true;
  }
  Sizes sizes;
  llvm::SmallVector<int, 8> copies;
  for (int i = 0, at = 0; i < rank; ++i) {
    copies.push_back(isNew[i] ? -1 : at);
    sizes.push_back(isNew[i] ? 1 : x.statedShape()[at++]);
  }
  return reshapedTo(n, sizes, copies, from);
}

RewriteResult transposeNode(Lowering &n) {
  Sizes permutation;
  for (int64_t axis : n.integers("perm"))
    permutation.push_back(static_cast<int32_t>(axis));
  if (!n.has("perm"))
    for (int i = n.input(0).rank(); i-- > 0;)
      permutation.push_back(i);
  return n.replace(transpose(n.input(0), list(permutation)));
}

RewriteResult concat(Lowering &n) {
  std::vector<Expr> parts;
  for (unsigned i = 0; i < n.inputs(); ++i)
    parts.push_back(n.input(i));
  auto axis = Lowering::axis(n.integer("axis", n.opset < 4 ? 1 : 0), n.input(0).rank());
  if (!axis)
    return decline("its axis is not one of its inputs'");
  return n.replace(op(Op::CONCATENATION, parts).with("axis", *axis));
}

RewriteResult split(Lowering &n) {
  Tensor x = n.input(0), sizes = n.input(1);
  auto axis = Lowering::axis(n.integer("axis", 0), x.rank());
  unsigned count = n.node.resultCount();
  if (!axis)
    return decline("its axis is not one of its input's");
  Sizes shares;
  std::optional<Integers> from;
  for (int64_t share : n.integers("split"))
    shares.push_back(static_cast<int32_t>(share));
  if (sizes) {
    from = n.m.integers(sizes);
    if (!from)
      return decline("its sizes are computed");
    auto all = from->list();
    shares.assign(all.begin(), all.end());
  }
  int32_t whole = x.statedShape()[*axis];
  if (shares.empty()) {
    if (whole < 0)
      return notKnown();
    auto share = static_cast<int32_t>((whole + count - 1) / count);
    for (unsigned i = 0; i < count; ++i)
      shares.push_back(std::max(0, std::min(share, whole - static_cast<int32_t>(i) * share)));
  }
  if (shares.size() != count)
    return decline("it has another number of results than of sizes");
  if (count == 1)
    return identity(n);
  Expr parts =
      op(Op::SPLIT_V, {x, from ? Expr(from->with(shares)) : list(shares), fold(reshape(list({*axis}), list({})))})
          .with("num_splits", count)
          .results(count);
  std::vector<std::pair<Tensor, Expr>> values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back({n.node.result(i), result(parts, i)});
  return n.m.replace(std::move(values));
}

RewriteResult slice(Lowering &n) {
  Tensor x = n.input(0);
  llvm::SmallVector<int64_t, 8> starts = n.integers("starts"), ends = n.integers("ends"), axes = n.integers("axes"),
                                steps;
  std::optional<Integers> from[4];
  if (n.input(1)) {
    for (unsigned i = 0; i < 4; ++i)
      if (n.input(i + 1)) {
        from[i] = n.m.integers(n.input(i + 1));
        if (!from[i] && i >= 2)
          return decline("its axes or steps are computed");
        auto all = from[i] ? from[i]->list() : std::vector<int32_t>();
        auto &to = i == 0 ? starts : i == 1 ? ends : i == 2 ? axes : steps;
        if (i < 2 && n.input(i + 1).type() == TensorType::INT64 && from[i]) { // beyond 32 bits they mean the end
          to.clear();
          for (size_t k = 0; k < from[i]->size(); ++k)
            to.push_back(from[i]->at(k));
        } else {
          to.assign(all.begin(), all.end());
        }
      }
  }
  bool computed = n.input(1) && (!from[0] || !from[1]);
  size_t count = computed ? (n.input(1).isStatic() ? n.input(1).elementCount().value_or(0) : 0) : starts.size();
  if (computed && count == 0)
    return decline("where it begins or ends is computed, for as many axes as are not known");
  if (axes.empty())
    for (size_t i = 0; i < count; ++i)
      axes.push_back(static_cast<int64_t>(i));
  if (axes.size() != count || (!computed && ends.size() != count))
    return decline("it has other numbers of axes than of ends");
  steps.resize(count, 1);
  auto stated = x.statedShape();
  int rank = x.rank();
  Sizes begin(rank, 0), end(rank, 0), stride(rank, 1);
  int64_t beginMask = (int64_t{1} << rank) - 1, endMask = beginMask;
  for (size_t i = 0; i < count; ++i) {
    auto axis = Lowering::axis(axes[i], rank);
    if (!axis || steps[i] == 0)
      return decline("its axis is not one of its input's, or its step is 0");
    stride[*axis] = static_cast<int32_t>(std::clamp<int64_t>(steps[i], INT32_MIN + 1, INT32_MAX));
    if (computed)
      continue;
    auto position = [&](int64_t where, int32_t &to, int64_t &mask) {
      int32_t size = stated[*axis];
      bool last = steps[i] > 0 ? where >= INT32_MAX : where <= INT32_MIN; // all there is in this direction
      if (size >= 0 && (where < -size || where > size)) {
        // Beyond its ends.
        where = where < 0 ? (steps[i] > 0 ? 0 : -size - 1) : size;
        last = false;
        if (steps[i] < 0 && where == -size - 1) {
          last = true;
        }
      }
      if (last)
        return;
      mask &= ~(int64_t{1} << *axis);
      to = static_cast<int32_t>(std::clamp<int64_t>(where, INT32_MIN, INT32_MAX));
    };
    position(starts[i], begin[*axis], beginMask);
    position(ends[i], end[*axis], endMask);
    if (steps[i] > 0 && (beginMask >> *axis & 1) && starts[i] > 0) { // begins behind everything
      beginMask &= ~(int64_t{1} << *axis);
      begin[*axis] = INT32_MAX;
    }
    if (steps[i] < 0 && (endMask >> *axis & 1) == 0 && end[*axis] < 0 && stated[*axis] < 0)
      return decline("where it ends depends on a size that is not known");
  }
  auto numbers = [&](unsigned which, const Sizes &values) {
    return from[which] ? Expr(from[which]->with(values)) : list(values);
  };
  Expr begins = numbers(0, begin), endings = numbers(1, end), strides = n.input(4) ? numbers(3, stride) : list(stride);
  if (from[2] && !computed) // which axes they are of is read as well
    begins = from[0] ? Expr(from[0]->with(begin).boundTo(*from[2])) : begins;
  if (computed) {
    // Each of the computed positions where its axis is, and nothing said of the others.
    auto spread = [&](Tensor positions, unsigned which, const Sizes &values) {
      if (from[which]) {
        Sizes whole(rank, 0);
        for (size_t i = 0; i < count; ++i)
          whole[*Lowering::axis(axes[i], rank)] =
              static_cast<int32_t>(std::clamp<int64_t>(from[which]->at(i), INT32_MIN, INT32_MAX));
        return Expr(from[which]->with(whole));
      }
      Expr all = indices(positions);
      Sizes places;
      for (size_t i = 0; i < count; ++i)
        places.push_back(*Lowering::axis(axes[i], rank));
      if (rank == 1 && count == 1)
        return all;
      std::vector<Expr> parts;
      for (int axis = 0; axis < rank; ++axis) {
        auto *found = llvm::find(places, axis);
        parts.push_back(found == places.end()
                            ? list({0})
                            : op(Op::SLICE, {all, list({static_cast<int32_t>(found - places.begin())}), list({1})}));
      }
      return op(Op::CONCATENATION, parts).with("axis", 0);
    };
    for (size_t i = 0; i < count; ++i) {
      int axis = *Lowering::axis(axes[i], rank);
      beginMask &= ~(int64_t{1} << axis);
      endMask &= ~(int64_t{1} << axis);
    }
    begins = spread(n.input(1), 0, begin);
    endings = spread(n.input(2), 1, end);
    if (from[2])
      strides = Expr(from[2]->with(stride));
  }
  return n.replace(
      op(Op::STRIDED_SLICE, {x, begins, endings, strides}).with("begin_mask", beginMask).with("end_mask", endMask));
}

/// Indices below 0 count from the end, which circle's do not.
Expr wrapped(Lowering &n, Tensor index, Tensor x, int axis) {
  int32_t size = x.statedShape()[axis];
  if (index.isDenseConstant() && n.m.every(index, [](double i) { return i >= 0; }))
    return index;
  Expr whole = size >= 0 ? number(size, index.type())
                         : op(Op::GATHER, {op(Op::SHAPE, {x}).with("out_type", static_cast<int64_t>(index.type())),
                                           fold(reshape(list({axis}), list({})))});
  Expr chosen = op(Op::SELECT_V2, {op(Op::LESS, {index, number(0, index.type())}), Expr(index) + whole, index});
  return index.isDenseConstant() && size >= 0 ? fold(chosen) : chosen;
}

RewriteResult gatherNode(Lowering &n) {
  Tensor x = n.input(0), index = n.input(1);
  auto axis = Lowering::axis(n.integer("axis", 0), x.rank());
  if (!axis)
    return decline("its axis is not one of its input's");
  return n.replace(op(Op::GATHER, {x, wrapped(n, index, x, *axis)}).with("axis", *axis));
}

/// 0, 1, 2, … along an axis of a tensor of these sizes.
Expr counted(llvm::ArrayRef<int32_t> sizes, int axis) {
  Sizes numbers(sizes[axis]), shape(sizes.size(), 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  shape[axis] = sizes[axis];
  return fold(broadcastTo(reshape(list(numbers), list(shape)), list(sizes)));
}

/// The position of each index of a tensor of indices along one axis, as the last dimension of GATHER_ND and SCATTER_ND.
std::optional<Expr> positions(Lowering &n, Tensor x, Tensor index, int axis) {
  if (!index.isStatic() || index.elementCount() > (1u << 20))
    return std::nullopt;
  std::vector<Expr> parts;
  Expr own = wrapped(n, index, x, axis);
  if (index.type() != TensorType::INT32)
    own = castTo(own, index.type(), TensorType::INT32);
  for (int i = 0; i < index.rank(); ++i)
    parts.push_back(i == axis ? own : counted(index.shape(), i));
  return op(Op::PACK, parts).with("values_count", index.rank()).with("axis", index.rank());
}

RewriteResult gatherElements(Lowering &n) {
  Tensor x = n.input(0), index = n.input(1);
  auto axis = Lowering::axis(n.integer("axis", 0), x.rank());
  auto at = axis ? positions(n, x, index, *axis) : std::nullopt;
  return at ? n.replace(op(Op::GATHER_ND, {x, *at})) : notKnown();
}
RewriteResult gatherNd(Lowering &n) {
  Tensor index = n.input(1);
  if (n.integer("batch_dims"))
    return decline("it has batch dimensions");
  if (!index.isDenseConstant() || !n.m.every(index, [](double i) { return i >= 0; })) {
    if (index.isDenseConstant())
      return decline("its indices are below 0");
  }
  return n.replace(op(Op::GATHER_ND, {n.input(0), index}));
}

/// Puts updates in the place of what lies at positions, which are all different.
RewriteResult scattered(Lowering &n, Tensor x, Expr at, Expr updates, Expr ones) {
  Expr shape = shapeOf(x);
  Expr there = op(Op::GREATER, {op(Op::SCATTER_ND, {at, ones, shape}), Expr(0.0)});
  return n.replace(op(Op::SELECT_V2, {there, op(Op::SCATTER_ND, {at, updates, shape}), x}));
}
RewriteResult scatterNd(Lowering &n) {
  Tensor x = n.input(0), index = n.input(1), updates = n.input(2);
  if (!x.isStatic() || !updates.isStatic())
    return notKnown();
  llvm::StringRef reduction = n.text("reduction", "none");
  Expr at = indices(index);
  if (reduction == "add")
    return n.replace(Expr(x) + op(Op::SCATTER_ND, {at, updates, shapeOf(x)}));
  if (reduction != "none")
    return decline("it reduces by \"" + reduction.str() + "\"");
  if (!index.isDenseConstant())
    return decline("the same place may be written twice");
  return scattered(n, x, at, updates, fold(op(Op::FILL, {shapeOf(updates), Expr(1.0)})));
}
RewriteResult scatterElements(Lowering &n) {
  Tensor x = n.input(0), index = n.input(1), updates = n.input(2);
  auto axis = Lowering::axis(n.integer("axis", 0), x.rank());
  auto at = axis && x.isStatic() ? positions(n, x, index, *axis) : std::nullopt;
  if (!at)
    return notKnown();
  llvm::StringRef reduction = n.text("reduction", "none");
  if (reduction == "add")
    return n.replace(Expr(x) + op(Op::SCATTER_ND, {*at, updates, shapeOf(x)}));
  if (reduction != "none" || !index.isDenseConstant())
    return decline("the same place may be written twice, or it reduces by something");
  return scattered(n, x, *at, updates, fold(op(Op::FILL, {shapeOf(updates), Expr(1.0)})));
}

RewriteResult expand(Lowering &n) {
  Tensor x = n.input(0), shape = n.input(1);
  std::optional<Integers> wanted = n.m.integers(shape);
  if (!wanted)
    return shape.isStatic() && static_cast<int>(*shape.elementCount()) >= x.rank() &&
                   llvm::all_of(x.statedShape(), [](int32_t size) { return size == 1; })
               ? n.replace(broadcastTo(x, shape))
           : x.isStatic() && shape.isStatic()
               ? n.replace(broadcastTo(
                     x, op(Op::BROADCAST_ARGS, {fold(castTo(shapeOf(x), TensorType::INT32, shape.type())), shape})))
               : notKnown();
  // Two-way: a size of 1 asks for what there is.
  auto stated = x.statedShape();
  auto sizes = wanted->list();
  Sizes both(std::max<size_t>(sizes.size(), stated.size()), 1);
  for (size_t i = 1; i <= both.size(); ++i) {
    int32_t a = i <= stated.size() ? stated[stated.size() - i] : 1, b = i <= sizes.size() ? sizes[sizes.size() - i] : 1;
    if (a < 0 && b != a && b == 1)
      return notKnown();
    both[both.size() - i] = b == 1 ? a : b;
  }
  return n.replace(broadcastTo(x, Expr(wanted->with(both))));
}

RewriteResult range(Lowering &n) { return n.replace(op(Op::RANGE, {n.input(0), n.input(1), n.input(2)})); }
RewriteResult tile(Lowering &n) {
  if (n.opset < 6)
    return decline("of before version 6");
  return n.replace(op(Op::TILE, {n.input(0), indices(n.input(1))}));
}

RewriteResult nonZero(Lowering &n) {
  Tensor x = n.input(0);
  if (x.rank() == 0)
    return decline("of a number without dimensions");
  Expr mask = x.type() == TensorType::BOOL ? Expr(x) : op(Op::NOT_EQUAL, {x, number(0, x.type())});
  return n.replace(transpose(op(Op::WHERE, {mask}), list({1, 0})));
}

RewriteResult trilu(Lowering &n) {
  Tensor x = n.input(0);
  std::optional<Integers> k;
  int64_t diagonal = 0;
  if (n.input(1)) {
    k = n.m.integers(n.input(1));
    if (!k || k->size() != 1)
      return decline("its diagonal is computed");
    diagonal = k->at(0);
  }
  if (!x.isStatic() || x.rank() < 2)
    return notKnown();
  int32_t rows = x.shape()[x.rank() - 2], columns = x.shape()[x.rank() - 1];
  if (int64_t{rows} * columns > (1 << 22) || std::abs(diagonal) > INT32_MAX / 2)
    return decline("its matrix is big");
  Expr row = counted({rows, columns}, 0), column = counted({rows, columns}, 1);
  Expr shift =
      k ? fold(reshape(Expr(k->with({static_cast<int32_t>(diagonal)})), list({}))) : number(0, TensorType::INT32);
  Expr mask = fold(op(n.integer("upper", 1) ? Op::GREATER_EQUAL : Op::LESS_EQUAL, {column, row + shift}));
  return n.replace(op(Op::SELECT_V2, {mask, x, number(0, x.type())}));
}

RewriteResult oneHot(Lowering &n) {
  Tensor index = n.input(0), depth = n.input(1), values = n.input(2);
  std::optional<Integers> size = n.m.integers(depth);
  if (!size || size->size() != 1)
    return decline("its depth is computed");
  Expr i = castTo(index, index.type(), TensorType::INT32),
       width = fold(reshape(Expr(size->with({static_cast<int32_t>(size->at(0))})), list({})));
  i = op(Op::SELECT_V2, {op(Op::LESS, {i, number(0, TensorType::INT32)}), i + width, i});
  auto value = [&](int32_t which) {
    Expr taken = reshape(op(Op::SLICE, {values, list({which}), list({1})}), list({}));
    return values.isDenseConstant() ? fold(taken) : taken;
  };
  return n.replace(op(Op::ONE_HOT, {i, width, value(1), value(0)}).with("axis", n.integer("axis", -1)));
}

RewriteResult pad(Lowering &n) {
  Tensor x = n.input(0);
  int rank = x.rank();
  llvm::SmallVector<int64_t, 8> pads = n.has("pads") ? n.integers("pads") : n.integers("paddings"), axes;
  std::optional<Integers> from, fromAxes;
  if (n.opset >= 11) {
    from = n.m.integers(n.input(1));
    if (!from)
      return decline("its padding is computed");
    auto all = from->list();
    pads.assign(all.begin(), all.end());
    if (n.input(3)) {
      fromAxes = n.m.integers(n.input(3));
      if (!fromAxes)
        return decline("its axes are computed");
      auto which = fromAxes->list();
      axes.assign(which.begin(), which.end());
    }
  }
  if (axes.empty())
    for (int i = 0; i < rank; ++i)
      axes.push_back(i);
  if (pads.size() != 2 * axes.size())
    return decline("it has another number of paddings than of axes");
  Sizes both(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = Lowering::axis(axes[i], rank);
    if (!axis)
      return decline("its axis is not one of its input's");
    both[2 * *axis] = static_cast<int32_t>(pads[i]);
    both[2 * *axis + 1] = static_cast<int32_t>(pads[i + axes.size()]);
  }
  auto table = [&](const Sizes &numbers) {
    if (!from)
      return pairs(numbers);
    Integers bound = from->with(numbers);
    return fold(reshape(Expr(fromAxes ? bound.boundTo(*fromAxes) : bound), list({rank, 2})));
  };
  llvm::StringRef mode = n.text("mode", "constant");
  bool crops = llvm::any_of(both, [](int32_t size) { return size < 0; });
  if (mode == "constant") {
    Expr value = n.opset < 11 ? number(n.real("value"), x.type()) : n.input(2) ? Expr(n.input(2)) : number(0, x.type());
    if (n.input(2) && n.input(2).rank() != 0)
      value = n.input(2).isDenseConstant() ? fold(reshape(n.input(2), list({}))) : reshape(n.input(2), list({}));
    Sizes more = both;
    for (int32_t &size : more)
      size = std::max(size, 0);
    Expr padded = op(Op::PADV2, {x, table(more), value});
    if (!crops)
      return n.replace(padded);
    if (!x.isStatic())
      return notKnown();
    Sizes begin, size;
    for (int i = 0; i < rank; ++i) {
      begin.push_back(std::max(-both[2 * i], 0));
      size.push_back(x.shape()[i] + both[2 * i] + both[2 * i + 1]);
    }
    return n.replace(op(
        Op::SLICE, {padded, from ? Expr(from->with(begin)) : list(begin), from ? Expr(from->with(size)) : list(size)}));
  }
  if (crops)
    return decline("it crops, and pads with elements of its input");
  if (mode == "reflect") {
    for (int i = 0; i < rank; ++i)
      if (x.statedShape()[i] >= 0 && std::max(both[2 * i], both[2 * i + 1]) >= x.statedShape()[i] &&
          std::max(both[2 * i], both[2 * i + 1]) > 0)
        return decline("it pads with more than its input has");
    return n.replace(op(Op::MIRROR_PAD, {x, table(both)}).with("mode", 0));
  }
  if (mode != "edge" && mode != "wrap")
    return decline("its mode is \"" + mode.str() + "\"");
  // Along one axis after the other, the elements that stand there.
  Expr value = x;
  for (int i = 0; i < rank; ++i) {
    int32_t size = x.statedShape()[i];
    if (both[2 * i] == 0 && both[2 * i + 1] == 0)
      continue;
    if (size <= 0)
      return notKnown();
    Sizes taken;
    for (int32_t k = -both[2 * i]; k < size + both[2 * i + 1]; ++k)
      taken.push_back(mode == "edge" ? std::clamp(k, 0, size - 1) : ((k % size) + size) % size);
    value = gather(value, from ? Expr(from->with(taken)) : list(taken)).with("axis", i);
  }
  return n.replace(value);
}

template <bool toDepth> RewriteResult depthSpace(Lowering &n) {
  Tensor x = n.input(0);
  auto block = static_cast<int32_t>(n.integer("blocksize"));
  if (x.rank() != 4 || !x.isStatic() || block < 1)
    return notKnown();
  int32_t b = x.shape()[0], c = x.shape()[1], h = x.shape()[2], w = x.shape()[3];
  if (toDepth) {
    Expr parts = transpose(reshape(x, list({b, c, h / block, block, w / block, block})), list({0, 3, 5, 1, 2, 4}));
    return n.replace(reshape(parts, list({b, c * block * block, h / block, w / block})));
  }
  int32_t of = c / (block * block);
  bool columnsFirst = n.text("mode", "DCR") == "CRD";
  Expr parts = columnsFirst ? transpose(reshape(x, list({b, of, block, block, h, w})), list({0, 1, 4, 2, 5, 3}))
                            : transpose(reshape(x, list({b, block, block, of, h, w})), list({0, 3, 4, 1, 5, 2}));
  return n.replace(reshape(parts, list({b, of, h * block, w * block})));
}

RewriteResult reverseSequence(Lowering &n) {
  return n.replace(op(Op::REVERSE_SEQUENCE, {n.input(0), n.input(1)})
                       .with("seq_dim", n.integer("time_axis", 0))
                       .with("batch_dim", n.integer("batch_axis", 1)));
}

RewriteResult cumSum(Lowering &n) {
  return n.replace(op(Op::CUMSUM, {n.input(0), indices(n.input(1))})
                       .with("exclusive", n.integer("exclusive"))
                       .with("reverse", n.integer("reverse")));
}

RewriteResult topK(Lowering &n) {
  Tensor x = n.input(0);
  auto axis = Lowering::axis(n.integer("axis", -1), x.rank());
  if (!axis || !n.integer("largest", 1))
    return decline("it looks for the smallest, or its axis is not one of its input's");
  Expr k = n.input(1) ? reshape(indices(n.input(1)), list({}))
                      : number(static_cast<double>(n.integer("k")), TensorType::INT32);
  if (n.input(1) && n.input(1).isDenseConstant())
    k = fold(k);
  Sizes swap;
  for (int i = 0; i < x.rank(); ++i)
    swap.push_back(i == *axis ? x.rank() - 1 : i == x.rank() - 1 ? *axis : i);
  bool isLast = *axis == x.rank() - 1;
  Expr found = op(Op::TOPK_V2, {isLast ? Expr(x) : turned(x, swap), k}).results(2);
  auto back = [&](Expr value) { return isLast ? value : turned(std::move(value), swap); };
  return n.m.replace({{n.node.result(0), back(result(found, 0))},
                      {n.node.result(1), castTo(back(result(found, 1)), TensorType::INT32, TensorType::INT64)}});
}

RewriteResult eyeLike(Lowering &n) {
  Tensor x = n.input(0);
  if (!x.isStatic() || x.rank() != 2)
    return notKnown();
  std::optional<TensorType> type = n.has("dtype") ? typeOfOnnx(n.integer("dtype")) : x.type();
  int32_t rows = x.shape()[0], columns = x.shape()[1];
  if (!type || int64_t{rows} * columns > (1 << 22))
    return decline("its matrix is big, or of a type that is not taken");
  Expr mask =
      op(Op::EQUAL, {counted({rows, columns}, 0) + number(static_cast<double>(n.integer("k")), TensorType::INT32),
                     counted({rows, columns}, 1)});
  return n.replace(fold(castTo(mask, TensorType::BOOL, *type)));
}

} // namespace

llvm::ArrayRef<Row> movementRows() {
  static const Row rows[] = {
      {"Cast", castNode},
      {"CastLike", castLike},
      {"Concat", concat},
      {"Constant", constantNode},
      {"ConstantOfShape", constantOfShape},
      {"CumSum", cumSum},
      {"DepthToSpace", depthSpace<false>},
      {"Dropout", dropout},
      {"Expand", expand},
      {"EyeLike", eyeLike},
      {"Flatten", flatten},
      {"Gather", gatherNode},
      {"GatherElements", gatherElements},
      {"GatherND", gatherNd},
      {"Identity", identity},
      {"NonZero", nonZero},
      {"OneHot", oneHot},
      {"Pad", pad},
      {"Range", range},
      {"Reshape", reshapeNode},
      {"ReverseSequence", reverseSequence},
      {"Scatter", scatterElements},
      {"ScatterElements", scatterElements},
      {"ScatterND", scatterNd},
      {"Shape", shapeOfTensor},
      {"Size", size},
      {"Slice", slice},
      {"SpaceToDepth", depthSpace<true>},
      {"Split", split},
      {"Squeeze", squeeze},
      {"Tile", tile},
      {"TopK", topK},
      {"Transpose", transposeNode},
      {"Trilu", trilu},
      {"Unsqueeze", unsqueeze},
  };
  return rows;
}

} // namespace origo::onnx
