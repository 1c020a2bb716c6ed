#include "passes/onnx/Lowering.h"

#include <numeric>

/// What picks, counts, orders and puts elements by their positions.
namespace origo::onnx {

namespace {

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

} // namespace

Expr counted(llvm::ArrayRef<int32_t> sizes, int axis) {
  Sizes numbers(sizes[axis]), shape(sizes.size(), 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  shape[axis] = sizes[axis];
  return fold(broadcastTo(reshape(list(numbers), list(shape)), list(sizes)));
}

namespace {

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

/// Indices of several dimensions of x, from `first` on; those below 0 count from the end.
Expr wrappedIn(Lowering &n, Tensor x, int first, Tensor index) {
  Expr at = indices(index);
  const bool isConstant = index.isDenseConstant();
  if (isConstant && n.m.every(index, [](double i) { return i >= 0; }))
    return at;
  Expr sizes = list(Sizes(x.statedShape().slice(first, index.lastDimension())));
  return foldedIf(isConstant, op(Op::SELECT_V2, {op(Op::LESS, {at, number(0, TensorType::INT32)}), at + sizes, at}));
}

RewriteResult gatherNd(Lowering &n) {
  Tensor x = n.input(0), index = n.input(1);
  auto batch = static_cast<int>(n.integer("batch_dims"));
  if (index.rank() < 1 || batch < 0 || index.lastDimension() < 0 || batch + index.lastDimension() > x.rank())
    return decline("its indices have more dimensions than its input");
  const bool isOpen = llvm::is_contained(x.statedShape().slice(batch, index.lastDimension()), -1);
  if (isOpen && index.isDenseConstant() && !n.m.every(index, [](double i) { return i >= 0; }))
    return decline("its indices are below 0, along a dimension that is not known");
  Expr at = isOpen ? indices(index) : wrappedIn(n, x, batch, index);
  if (batch == 0)
    return n.replace(op(Op::GATHER_ND, {x, at}));
  // The positions of the batch stand in front of the others.
  if (!index.isStatic() || index.rank() <= batch || index.elementCount() > (1u << 20))
    return notKnown();
  std::vector<Expr> parts;
  Sizes each(index.shape().begin(), index.shape().end());
  each.back() = 1;
  for (int i = 0; i < batch; ++i)
    parts.push_back(counted(each, i));
  parts.push_back(at);
  return n.replace(op(Op::GATHER_ND, {x, op(Op::CONCATENATION, parts).with("axis", index.rank() - 1)}));
}

/// Types that SCATTER_ND, or a sum, has no kernels for are put together in wider ones.
TensorType scatteredIn(TensorType type, bool adds) {
  switch (type) {
  case TensorType::FLOAT16:
  case TensorType::FLOAT64:
    return TensorType::FLOAT32;
  case TensorType::INT16:
  case TensorType::UINT16:
    return TensorType::INT32;
  case TensorType::UINT32:
  case TensorType::UINT64:
    return TensorType::INT64;
  case TensorType::INT8:
  case TensorType::UINT8:
    return adds ? TensorType::INT32 : type;
  default:
    return type;
  }
}

/// Updates put where what lies at positions is added to them.
RewriteResult added(Lowering &n, Tensor x, const Expr &at, Tensor updates) {
  TensorType type = x.type(), in = scatteredIn(type, true);
  Expr sum = castTo(x, type, in) + op(Op::SCATTER_ND, {at, castTo(updates, type, in), shapeOf(x)});
  return n.replace(castTo(sum, in, type));
}

/// Puts updates in the place of what lies at positions, which are all different.
RewriteResult scattered(Lowering &n, Tensor x, const Expr &at, Tensor updates, const Expr &ones) {
  Expr shape = shapeOf(x);
  TensorType type = x.type(), in = scatteredIn(type, false);
  Expr there = op(Op::GREATER, {op(Op::SCATTER_ND, {at, ones, shape}), Expr(0.0)});
  Expr put = op(Op::SCATTER_ND, {at, castTo(updates, type, in), shape});
  return n.replace(castTo(op(Op::SELECT_V2, {there, put, castTo(x, type, in)}), in, type));
}

/// Does no place of x have two updates?
bool writesOnce(Lowering &n, Tensor x, Tensor updates, const Expr &at) {
  Expr ones = fold(op(Op::FILL, {shapeOf(updates), Expr(1.0)}));
  Expr counts = fold(op(Op::SCATTER_ND, {fold(at), ones, shapeOf(x)}));
  return n.m.everyOf(counts * Expr(1.0), [](float, float, float count) { return count <= 1; });
}
constexpr const char *twice = "the same place may be written twice";

RewriteResult scatterNd(Lowering &n) {
  Tensor x = n.input(0), index = n.input(1), updates = n.input(2);
  if (!x.isStatic() || !updates.isStatic())
    return notKnown();
  llvm::StringRef reduction = n.text("reduction", "none");
  bool isConstant = index.isDenseConstant();
  if (index.rank() < 1 || index.lastDimension() < 0 || index.lastDimension() > x.rank())
    return decline("its indices have more dimensions than its input");
  Expr at = wrappedIn(n, x, 0, index);
  if (reduction == "add")
    return added(n, x, at, updates);
  if (reduction != "none")
    return decline("it reduces by \"" + reduction.str() + "\"");
  if (isConstant && !writesOnce(n, x, updates, at)) // of computed ones ONNX leaves open which counts
    return decline(twice);
  Expr shape = op(Op::SHAPE, {updates}).with("out_type", static_cast<int64_t>(TensorType::INT32));
  return scattered(n, x, at, updates, fold(op(Op::FILL, {shape, Expr(1.0)})));
}

RewriteResult scatterElements(Lowering &n) {
  Tensor x = n.input(0), index = n.input(1), updates = n.input(2);
  auto axis = Lowering::axis(n.integer("axis", 0), x.rank());
  auto at = axis && x.isStatic() ? positions(n, x, index, *axis) : std::nullopt;
  if (!at)
    return notKnown();
  llvm::StringRef reduction = n.text("reduction", "none");
  if (reduction == "add")
    return added(n, x, *at, updates);
  if (reduction != "none")
    return decline("it reduces by \"" + reduction.str() + "\"");
  if (index.isDenseConstant() && !writesOnce(n, x, updates, *at))
    return decline(twice);
  return scattered(n, x, *at, updates, fold(op(Op::FILL, {shapeOf(updates), Expr(1.0)})));
}

/// What a maximum of windows that do not overlap was taken of, with zeros elsewhere.
RewriteResult maxUnpool(Lowering &n) {
  Tensor x = n.input(0), places = n.input(1);
  auto kernel = n.integers("kernel_shape"), strides = n.integers("strides"), pads = n.integers("pads");
  strides.resize(kernel.size(), 1);
  pads.resize(2 * kernel.size(), 0);
  if (n.input(2) || !x.isStatic() || !places.isStatic() || x.rank() != static_cast<int>(kernel.size()) + 2)
    return decline("of a shape that is not known, or that is asked for");
  Sizes shape(x.shape().begin(), x.shape().end());
  int64_t all = int64_t{shape[0]} * shape[1];
  for (size_t i = 0; i < kernel.size(); ++i) {
    int64_t size = (shape[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[i + kernel.size()];
    if (strides[i] < kernel[i] || size < 1 || size > mostIndices)
      return decline("its windows overlap");
    shape[i + 2] = static_cast<int32_t>(size);
    all *= size;
  }
  if (all > INT32_MAX)
    return decline("its result is big");
  auto count = static_cast<int32_t>(*x.elementCount());
  Expr at = castTo(reshape(places, list({count, 1})), places.type(), TensorType::INT32);
  Expr flat = op(Op::SCATTER_ND, {at, reshape(x, list({count})), list({static_cast<int32_t>(all)})});
  return n.replace(reshape(flat, list(shape)));
}

RewriteResult nonZero(Lowering &n) {
  Tensor x = n.input(0);
  if (x.rank() == 0)
    return decline("of a number without dimensions");
  Expr mask = x.type() == TensorType::BOOL ? Expr(x) : op(Op::NOT_EQUAL, {x, number(0, x.type())});
  return n.replace(transpose(op(Op::WHERE, {mask}), list({1, 0})));
}

/// The elements, or the slices along an axis, where a condition holds.
RewriteResult compress(Lowering &n) {
  Tensor x = n.input(0), condition = n.input(1);
  bool flat = !n.has("axis");
  auto axis = flat ? std::optional(0) : Lowering::axis(n.integer("axis"), x.rank());
  if (!axis || condition.rank() != 1)
    return decline("its axis is not one of its input's, or its condition no list");
  Expr places = reshape(op(Op::WHERE, {condition}), list({-1}));
  return n.replace(op(Op::GATHER, {flat ? reshape(x, list({-1})) : Expr(x), places}).with("axis", *axis));
}

RewriteResult trilu(Lowering &n) {
  Tensor x = n.input(0);
  Tensor given = n.input(1);
  std::optional<Integers> k;
  int64_t diagonal = 0;
  if (given)
    k = n.m.integers(given);
  if (k && k->size() != 1)
    return decline("its diagonal is not a number");
  if (x.rank() < 2)
    return decline("it is of no matrices");
  int32_t rows = x.statedShape()[x.rank() - 2], columns = x.statedShape()[x.rank() - 1];
  if (rows < 0 || columns < 0)
    return notKnown();
  if (int64_t{rows} * columns > (1 << 22))
    return decline("its matrix is big");
  if (k) // farther away than that there is nothing
    diagonal = std::clamp<int64_t>(k->at(0), -rows - columns, rows + columns);
  Expr row = counted({rows, columns}, 0), column = counted({rows, columns}, 1);
  Expr shift = k       ? fold(reshape(Expr(k->with({static_cast<int32_t>(diagonal)})), list({})))
               : given ? reshape(indices(given), list({}))
                       : number(0, TensorType::INT32);
  Expr mask =
      foldedIf(!given || k, op(n.integer("upper", 1) ? Op::GREATER_EQUAL : Op::LESS_EQUAL, {column, row + shift}));
  return n.replace(op(Op::SELECT_V2, {mask, x, number(0, x.type())}));
}

RewriteResult oneHot(Lowering &n) {
  Tensor index = n.input(0), depth = n.input(1), values = n.input(2);
  Expr i = castTo(index, index.type(), TensorType::INT32),
       width = foldedIf(depth.isDenseConstant(), reshape(castTo(depth, depth.type(), TensorType::INT32), list({})));
  i = op(Op::SELECT_V2, {op(Op::LESS, {i, number(0, TensorType::INT32)}), i + width, i});
  auto value = [&](int32_t which) {
    Expr taken = reshape(op(Op::SLICE, {values, list({which}), list({1})}), list({}));
    return values.isDenseConstant() ? fold(taken) : taken;
  };
  int64_t axis = n.integer("axis", -1);
  axis += axis < -1 ? index.rank() + 1 : 0; // TensorFlow Lite knows the last one by −1, and no other
  return n.replace(op(Op::ONE_HOT, {i, width, value(1), value(0)}).with("axis", axis));
}

RewriteResult cumSum(Lowering &n) {
  Tensor x = n.input(0);
  TensorType in = isReal(x.type()) ? TensorType::FLOAT32 : x.type();
  Expr sum = op(Op::CUMSUM, {castTo(x, x.type(), in), indices(n.input(1))})
                 .with("exclusive", n.integer("exclusive"))
                 .with("reverse", n.integer("reverse"));
  return n.replace(castTo(sum, in, x.type()));
}

RewriteResult topK(Lowering &n) {
  Tensor x = n.input(0);
  auto axis = Lowering::axis(n.integer("axis", -1), x.rank());
  if (!axis)
    return decline("its axis is not one of its input's");
  bool largest = n.integer("largest", 1), whole = isInteger(x.type());
  // The other way round the smallest are the largest. Of integers −1 − x is one always, where −x is not.
  TensorType in = x.type() == TensorType::FLOAT64 || x.type() == TensorType::FLOAT16 ? TensorType::FLOAT32
                  : whole && x.type() != TensorType::INT32                           ? TensorType::INT64
                                                                                     : x.type();
  if (largest && whole)
    in = x.type();
  auto turnedRound = [&](Expr value) { return whole ? number(-1, in) - std::move(value) : -std::move(value); };
  Expr from = castTo(x, x.type(), in);
  if (!largest)
    from = turnedRound(from);
  Expr k = n.input(1) ? reshape(indices(n.input(1)), list({}))
                      : number(static_cast<double>(n.integer("k")), TensorType::INT32);
  if (n.input(1) && n.input(1).isDenseConstant())
    k = fold(k);
  Sizes swap;
  for (int i = 0; i < x.rank(); ++i)
    swap.push_back(i == *axis ? x.rank() - 1 : i == x.rank() - 1 ? *axis : i);
  bool isLast = *axis == x.rank() - 1;
  Expr found = op(Op::TOPK_V2, {isLast ? from : turned(from, swap), k}).results(2);
  auto back = [&](Expr value) { return isLast ? value : turned(std::move(value), swap); };
  Expr values = back(result(found, 0));
  return n.m.replace({{n.node.result(0), castTo(largest ? values : turnedRound(values), in, x.type())},
                      {n.node.result(1), castTo(back(result(found, 1)), TensorType::INT32, TensorType::INT64)}});
}

/// For each class of each picture, what is left of its boxes, as rows of picture, class and box.
RewriteResult nonMaxSuppression(Lowering &n) {
  Tensor boxes = n.input(0), scores = n.input(1);
  if (!boxes.isFloat() || !boxes.isStatic() || boxes.rank() != 3 || !scores.isFloat() || !scores.isStatic() ||
      scores.rank() != 3 || boxes.shape()[2] != 4)
    return decline("not float32 of a known shape");
  int32_t pictures = scores.shape()[0], classes = scores.shape()[1], count = scores.shape()[2];
  if (int64_t{pictures} * classes > 1024)
    return decline("it has more than 1024 classes");
  auto given = [&](unsigned i, Expr otherwise, TensorType type) {
    Tensor x = n.input(i);
    return x ? foldedIf(x.isDenseConstant(), reshape(castTo(x, x.type(), type), list({}))) : otherwise;
  };
  // Exporters ask for as many as an int64 has; there are no more than boxes.
  Expr most = number(0, TensorType::INT32);
  if (Tensor asked = n.input(2)) {
    Expr bounded = minimum(reshape(asked, list({})), number(count, asked.type()));
    most = foldedIf(asked.isDenseConstant(), castTo(bounded, asked.type(), TensorType::INT32));
  }
  // ONNX drops what overlaps by more, circle what overlaps by as much.
  Tensor asked = n.input(3);
  Expr overlap = maximum(given(3, Expr(0.0), TensorType::FLOAT32) * Expr(1 + 0x1p-23), Expr(0x1p-126));
  overlap = foldedIf(!asked || asked.isDenseConstant(), overlap);
  Expr least = given(4, Expr(-3.4028234663852886e38), TensorType::FLOAT32);
  Expr corners = boxes;
  if (n.integer("center_point_box")) { // x and y of the centre, width, height → y and x of two corners
    auto part = [&](int32_t which) { return op(Op::SLICE, {boxes, list({0, 0, which}), list({-1, -1, 1})}); };
    Expr w = part(2) * Expr(0.5), h = part(3) * Expr(0.5);
    corners = op(Op::CONCATENATION, {part(1) - h, part(0) - w, part(1) + h, part(0) + w}).with("axis", 2);
  }
  std::vector<Expr> rows;
  for (int32_t picture = 0; picture < pictures; ++picture) {
    Expr own = reshape(op(Op::SLICE, {corners, list({picture, 0, 0}), list({1, count, 4})}), list({count, 4}));
    for (int32_t c = 0; c < classes; ++c) {
      Expr score = reshape(op(Op::SLICE, {scores, list({picture, c, 0}), list({1, 1, count})}), list({count}));
      Expr found = op(Op::NON_MAX_SUPPRESSION_V4, {own, score, most, overlap, least}).results(2);
      Expr size = reshape(result(found, 1), list({1}));
      Expr kept = reshape(op(Op::SLICE, {result(found, 0), list({0}), size}), list({-1, 1}));
      Expr shape = op(Op::CONCATENATION, {size, list({1})}).with("axis", 0);
      auto filled = [&](int32_t value) { return op(Op::FILL, {shape, number(value, TensorType::INT32)}); };
      rows.push_back(op(Op::CONCATENATION, {filled(picture), filled(c), kept}).with("axis", 1));
    }
  }
  if (rows.empty())
    return decline("it has no classes");
  Expr all = rows.size() == 1 ? rows.front() : op(Op::CONCATENATION, rows).with("axis", 0);
  return n.replace(castTo(all, TensorType::INT32, TensorType::INT64));
}

RewriteResult eyeLike(Lowering &n) {
  Tensor x = n.input(0);
  if (!x.isStatic() || x.rank() != 2)
    return notKnown();
  std::optional<TensorType> type = n.has("dtype") ? tensorTypeOfOnnx(n.integer("dtype")) : x.type();
  int32_t rows = x.shape()[0], columns = x.shape()[1];
  if (!type || int64_t{rows} * columns > (1 << 22))
    return decline("its matrix is big, or of a type that is not taken");
  Expr mask =
      op(Op::EQUAL, {counted({rows, columns}, 0) + number(static_cast<double>(n.integer("k")), TensorType::INT32),
                     counted({rows, columns}, 1)});
  Expr shape = op(Op::SHAPE, {x}).with("out_type", static_cast<int64_t>(TensorType::INT32));
  return n.replace(broadcastTo(fold(castTo(fold(mask), TensorType::BOOL, *type)), shape));
}

} // namespace

llvm::ArrayRef<Row> pickingRows() {
  static const Row rows[] = {
      {"Compress", compress},
      {"CumSum", cumSum},
      {"EyeLike", eyeLike},
      {"Gather", gatherNode},
      {"GatherElements", gatherElements},
      {"GatherND", gatherNd},
      {"NonMaxSuppression", nonMaxSuppression},
      {"MaxUnpool", maxUnpool},
      {"NonZero", nonZero},
      {"OneHot", oneHot},
      {"Scatter", scatterElements},
      {"ScatterElements", scatterElements},
      {"ScatterND", scatterNd},
      {"TopK", topK},
      {"Trilu", trilu},
  };
  return rows;
}

} // namespace origo::onnx
