#include "passes/onnx/Lowering.h"

/// What moves elements.
namespace origo::onnx {

namespace {

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
    if (!from && countOf(sizes) != static_cast<int32_t>(count))
      return decline("its sizes are computed, and nobody knows how many");
    auto all = from ? from->list() : std::vector<int32_t>(count);
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
  if (count == 1 && (!sizes || from))
    return asItIs(n);
  Expr parts = op(Op::SPLIT_V, {x,
                                from    ? Expr(from->with(shares))
                                : sizes ? indices(sizes)
                                        : list(shares),
                                fold(reshape(list({*axis}), list({})))})
                   .with("num_splits", count)
                   .results(count);
  std::vector<std::pair<Tensor, Expr>> values;
  for (unsigned i = 0; i < count; ++i)
    values.push_back({n.node.result(i), result(parts, i)});
  return n.m.replace(std::move(values));
}

/// Positions as int32. Beyond 32 bits they mean the end.
Expr narrow(Tensor list) {
  if (list.type() != TensorType::INT64)
    return indices(list);
  Expr least = number(INT32_MIN + 1, TensorType::INT64), most = number(INT32_MAX, TensorType::INT64);
  return foldedIf(list.isDenseConstant(),
                  castTo(minimum(maximum(list, least), most), TensorType::INT64, TensorType::INT32));
}

/// A slice whose axes or steps are computed: where each begins and ends goes where its axis is.
RewriteResult slicedAtRunTime(Lowering &n) {
  Tensor x = n.input(0);
  int32_t count = countOf(n.input(1)).value_or(0);
  if (count == 0 || count > x.rank())
    return decline("its axes or steps are computed, and nobody knows how many");
  Sizes first;
  for (int32_t i = 0; i < count; ++i)
    first.push_back(i);
  Expr where = atAxes(n.input(3) ? indices(n.input(3)) : list(first), x.rank());
  auto spread = [&](Expr numbers) { return overRows(where * reshape(std::move(numbers), list({count, 1}))); };
  Expr others = number(1, TensorType::INT32) - overRows(where);
  Expr end = spread(narrow(n.input(2))) + others * number(INT32_MAX, TensorType::INT32);
  Expr stride = n.input(4) ? spread(narrow(n.input(4))) + others : list(Sizes(x.rank(), 1));
  return n.replace(op(Op::STRIDED_SLICE, {x, spread(narrow(n.input(1))), end, stride}));
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
          return slicedAtRunTime(n);
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
      Expr all = narrow(positions);
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

RewriteResult tile(Lowering &n) {
  if (n.opset < 6)
    return decline("of before version 6");
  return n.replace(op(Op::TILE, {n.input(0), indices(n.input(1))}));
}

/// Of files before version 7: a picture without its border, left, top, right and bottom.
RewriteResult crop(Lowering &n) {
  Tensor x = n.input(0);
  auto border = n.integers("border");
  if (!x.isStatic() || x.rank() != 4 || border.size() != 4 || n.has("scale"))
    return decline("not of pictures of a known shape, or by a size of its own");
  auto size = [&](int axis, int64_t before, int64_t after) { return x.shape()[axis] - before - after; };
  int64_t height = size(2, border[1], border[3]), width = size(3, border[0], border[2]);
  if (llvm::any_of(border, [](int64_t b) { return b < 0; }) || height < 1 || width < 1)
    return decline("nothing is left of its picture");
  return n.replace(
      op(Op::SLICE, {x, list({0, 0, static_cast<int32_t>(border[1]), static_cast<int32_t>(border[0])}),
                     list({x.shape()[0], x.shape()[1], static_cast<int32_t>(height), static_cast<int32_t>(width)})}));
}

/// By sizes that are not known before: those before all dimensions and those behind, as pairs.
RewriteResult paddedAtRunTime(Lowering &n) {
  Tensor x = n.input(0), pads = n.input(1), value = n.input(2);
  llvm::StringRef mode = n.text("mode", "constant");
  if (n.input(3) || (mode != "constant" && mode != "reflect"))
    return decline("its padding is computed, and its axes are, or its mode is \"" + mode.str() + "\"");
  Expr table = transpose(reshape(indices(pads), list({2, x.rank()})), list({1, 0}));
  if (mode == "reflect")
    return n.replace(op(Op::MIRROR_PAD, {x, table}).with("mode", 0));
  Expr filled = !value ? number(0, x.type()) : foldedIf(value.isDenseConstant(), reshape(value, list({})));
  return n.replace(op(Op::PADV2, {x, table, filled}));
}

constexpr int64_t mostPadding = 1 << 30;

RewriteResult pad(Lowering &n) {
  Tensor x = n.input(0);
  int rank = x.rank();
  llvm::SmallVector<int64_t, 8> pads = n.has("pads") ? n.integers("pads") : n.integers("paddings"), axes;
  std::optional<Integers> from, fromAxes;
  if (n.opset >= 11) {
    from = n.m.integers(n.input(1));
    if (!from)
      return paddedAtRunTime(n);
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
    for (int64_t size : {pads[i], pads[i + axes.size()]})
      if (size > mostPadding || size < -mostPadding)
        return decline("its padding is longer than a tensor");
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
    Sizes begin, size;
    for (int i = 0; i < rank; ++i) {
      begin.push_back(std::max(-both[2 * i], 0));
      if (x.statedShape()[i] < 0) {
        if (both[2 * i] < 0 || both[2 * i + 1] < 0)
          return notKnown();
        size.push_back(-1); // all
        continue;
      }
      int64_t left = int64_t{x.statedShape()[i]} + both[2 * i] + both[2 * i + 1];
      if (left < 0 || left > INT32_MAX) // SLICE takes −1 for all that is left
        return decline("it crops more than its input has");
      size.push_back(static_cast<int32_t>(left));
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
    if (std::max({size, both[2 * i], both[2 * i + 1]}) > mostIndices)
      return decline("it needs more indices than are worth a constant");
    Sizes taken;
    for (int32_t k = -both[2 * i]; k < size + both[2 * i + 1]; ++k)
      taken.push_back(mode == "edge" ? std::clamp(k, 0, size - 1) : ((k % size) + size) % size);
    value = gather(value, from ? Expr(from->with(taken)) : list(taken)).with("axis", i);
  }
  return n.replace(value);
}

template <bool toDepth> RewriteResult depthSpace(Lowering &n) {
  Tensor x = n.input(0);
  int64_t asked = n.integer("blocksize");
  if (x.rank() != 4 || llvm::is_contained(x.statedShape().drop_front(), -1))
    return notKnown();
  int32_t b = x.statedShape()[0], c = x.statedShape()[1], h = x.statedShape()[2], w = x.statedShape()[3];
  if (asked < 1 || asked > 1 << 15 || (toDepth ? h % asked || w % asked : c % (asked * asked)))
    return decline("its blocks do not divide its input");
  auto block = static_cast<int32_t>(asked);
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

} // namespace

llvm::ArrayRef<Row> movementRows() {
  static const Row rows[] = {
      {"Concat", concat},
      {"DepthToSpace", depthSpace<false>},
      {"Crop", crop},
      {"Pad", pad},
      {"ReverseSequence", reverseSequence},
      {"Slice", slice},
      {"SpaceToDepth", depthSpace<true>},
      {"Split", split},
      {"Tile", tile},
      {"Transpose", transposeNode},
  };
  return rows;
}

} // namespace origo::onnx
