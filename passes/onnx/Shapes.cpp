#include "passes/onnx/Lowering.h"

/// What makes constants, asks for shapes and types, and states others.
namespace origo::onnx {

namespace {

RewriteResult constantNode(Lowering &n) {
  Tensor value = n.tensor("value");
  if (value)
    return n.replace(n.node.result().isOutput() ? reshape(value, list(value.shape()))
                                                : fold(reshape(value, list(value.shape()))));
  auto wide = [](Expr list32) { return fold(castTo(std::move(list32), TensorType::INT32, TensorType::INT64)); };
  // An output of the model is computed.
  auto made = [&](Expr constant, Sizes shape) {
    bool isOutput = n.node.result().isOutput();
    return n.replace(isOutput ? reshape(std::move(constant), list(shape)) : fold(reshape(constant, list(shape))));
  };
  if (n.has("value_int") || n.has("value_ints")) {
    auto numbers = n.integers("value_ints");
    if (n.has("value_int"))
      numbers.assign({n.integer("value_int")});
    Sizes high, middle, low; // a list is of 32 bits
    bool isLong = false;
    for (int64_t one : numbers) {
      isLong |= one != static_cast<int32_t>(one);
      high.push_back(static_cast<int32_t>(one >> 32));
      middle.push_back(static_cast<int32_t>(one >> 16 & 0xFFFF));
      low.push_back(static_cast<int32_t>(one & 0xFFFF));
    }
    Expr step = number(1 << 16, TensorType::INT64);
    Expr value = isLong ? fold((wide(list(high)) * step + wide(list(middle))) * step + wide(list(low)))
                        : wide(list(Sizes(numbers.begin(), numbers.end())));
    return made(value, n.has("value_int") ? Sizes{} : Sizes{static_cast<int32_t>(numbers.size())});
  }
  if (n.has("value_float"))
    return made(n.real("value_float"), {});
  if (n.has("value_floats") && n.reals("value_floats").size() <= 64) {
    std::vector<Expr> numbers;
    for (float value : n.reals("value_floats"))
      numbers.push_back(fold(reshape(static_cast<double>(value), list({1}))));
    if (!numbers.empty())
      return made(op(Op::CONCATENATION, numbers).with("axis", 0), {static_cast<int32_t>(numbers.size())});
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

/// A tensor is an optional that has an element.
RewriteResult hasElement(Lowering &n) {
  if (!n.inputs() || !n.input(0))
    return n.replace(number(0, TensorType::BOOL));
  return n.replace(op(Op::GREATER_EQUAL, {op(Op::RANK, {n.input(0)}), number(0, TensorType::INT32)}));
}
RewriteResult elementOf(Lowering &n) {
  return n.inputs() && n.input(0) ? asItIs(n) : decline("an optional without an element");
}

RewriteResult castNode(Lowering &n) {
  std::optional<TensorType> to = tensorTypeOfOnnx(n.integer("to"));
  if (!to)
    return decline("it casts to a type that is not taken");
  Tensor x = n.input(0);
  if (x.type() == *to)
    return asItIs(n);
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
  return x.type() == like.type() ? asItIs(n) : n.replace(castTo(x, x.type(), like.type()));
}

/// Where nothing is dropped; then the mask is true everywhere.
RewriteResult dropout(Lowering &n) {
  Tensor x = n.input(0), ratio = n.input(1), trains = n.input(2);
  bool dropsAll = n.opset < 7 ? !n.integer("is_test") : trains && !n.m.isEvery(trains, 0);
  if (ratio && !n.m.number(ratio))
    return decline("how much it drops is computed");
  if (dropsAll && !(ratio && trains && n.m.isEvery(ratio, 0) && n.m.isEvery(trains, 1)))
    return decline("it drops at random, in training mode");
  Tensor mask = n.node.resultCount() > 1 ? n.node.result(1) : Tensor();
  if (!mask)
    return asItIs(n);
  Expr all = op(Op::FILL, {sizesOf(x), number(1, n.opset < 10 ? x.type() : TensorType::BOOL)});
  return n.m.replace({{n.node.result(0), reshape(x, sizesOf(x))}, {mask, all}});
}

/// A reshape of x to what is stated of it, where −1 is known from x.
RewriteResult reshapeNode(Lowering &n) {
  Tensor x = n.input(0), shape = n.input(1);
  llvm::SmallVector<int64_t, 8> wanted = n.integers("shape");
  std::optional<Integers> numbers;
  if (shape) {
    numbers = n.m.integers(shape);
    if (!numbers) {
      if (!shape.isStatic() || shape.rank() != 1)
        return notKnown();
      Expr sizes = indices(shape);
      if (n.integer("allowzero"))
        return n.replace(reshape(x, sizes));
      // Where a size is 0 it is x's.
      Expr given = op(Op::SHAPE, {x}).with("out_type", static_cast<int64_t>(TensorType::INT32));
      int32_t more = shape.lastDimension() - x.rank();
      if (more < 0)
        given = op(Op::SLICE, {given, list({0}), list({shape.lastDimension()})});
      else if (more > 0)
        given = op(Op::CONCATENATION, {given, op(Op::SLICE, {sizes, list({x.rank()}), list({more})})}).with("axis", 0);
      Expr isGiven = op(Op::EQUAL, {sizes, number(0, TensorType::INT32)});
      return n.replace(reshape(x, op(Op::SELECT_V2, {isGiven, given, sizes})));
    }
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

RewriteResult squeezedAtRunTime(Lowering &n) {
  Tensor x = n.input(0), axes = n.input(1);
  int32_t count = countOf(axes).value_or(0);
  if (count == 0 || count > x.rank())
    return decline("its axes are computed, and nobody knows how many");
  return n.replace(reshape(x, otherSizes(x, indices(axes), count)));
}

RewriteResult squeeze(Lowering &n) {
  Tensor x = n.input(0);
  llvm::SmallVector<int64_t, 8> axes;
  std::optional<Integers> from;
  if (!axesOf(n, 1, axes, from))
    return squeezedAtRunTime(n);
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

/// Axes that are computed: between the new ones stand the sizes that there were, counted from 0.
RewriteResult unsqueezedAtRunTime(Lowering &n) {
  Tensor x = n.input(0), axes = n.input(1);
  std::optional<int32_t> count = countOf(axes);
  if (!count || x.rank() == 0)
    return decline("its axes are computed, and nobody knows how many");
  Expr one = number(1, TensorType::INT32), zero = number(0, TensorType::INT32);
  Expr isNew = overRows(atAxes(indices(axes), x.rank() + *count)), isOld = one - isNew;
  Expr at = maximum(op(Op::CUMSUM, {isOld, zero}) - one, zero);
  return n.replace(reshape(x, op(Op::GATHER, {sizesOf(x), at}).with("axis", 0) * isOld + isNew));
}

RewriteResult unsqueeze(Lowering &n) {
  Tensor x = n.input(0);
  llvm::SmallVector<int64_t, 8> axes;
  std::optional<Integers> from;
  if (!axesOf(n, 1, axes, from))
    return unsqueezedAtRunTime(n);
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

RewriteResult expand(Lowering &n) {
  Tensor x = n.input(0), shape = n.input(1);
  std::optional<Integers> wanted = n.m.integers(shape);
  // By what both are when it runs.
  auto whenItRuns = [&] {
    Expr own = sizesOf(x);
    bool isList = x.isStatic() && shape.type() != TensorType::INT32;
    own = isList ? fold(castTo(own, TensorType::INT32, shape.type())) : own;
    return n.replace(broadcastTo(x, op(Op::BROADCAST_ARGS, {own, isList ? Expr(shape) : indices(shape)})));
  };
  if (!wanted)
    return shape.isStatic() && static_cast<int>(*shape.elementCount()) >= x.rank() &&
                   llvm::all_of(x.statedShape(), [](int32_t size) { return size == 1; })
               ? n.replace(broadcastTo(x, shape))
           : shape.isStatic() ? whenItRuns()
                              : notKnown();
  // Two-way: a size of 1 asks for what there is.
  auto stated = x.statedShape();
  auto sizes = wanted->list();
  Sizes both(std::max<size_t>(sizes.size(), stated.size()), 1);
  for (size_t i = 1; i <= both.size(); ++i) {
    int32_t a = i <= stated.size() ? stated[stated.size() - i] : 1, b = i <= sizes.size() ? sizes[sizes.size() - i] : 1;
    if (a < 0 && b == 1)
      return whenItRuns();
    both[both.size() - i] = b == 1 ? a : b;
  }
  return n.replace(broadcastTo(x, Expr(wanted->with(both))));
}

/// Numbers that would run away from the limit are none; RANGE wants a limit that they run to.
RewriteResult range(Lowering &n) {
  Tensor start = n.input(0), limit = n.input(1), step = n.input(2);
  bool known = start.isDenseConstant() && limit.isDenseConstant() && step.isDenseConstant();
  Expr above = op(Op::MAXIMUM, {start, limit}), below = op(Op::MINIMUM, {start, limit});
  Expr end = n.m.every(step, [](double by) { return by > 0; }) ? above
             : n.m.every(step, [](double by) { return by < 0; })
                 ? below
                 : op(Op::SELECT_V2, {op(Op::GREATER, {step, number(0, step.type())}), above, below});
  return n.replace(op(Op::RANGE, {start, foldedIf(known, end), step}));
}

} // namespace

llvm::ArrayRef<Row> shapeRows() {
  static const Row rows[] = {
      {"Cast", castNode},
      {"CastLike", castLike},
      {"Constant", constantNode},
      {"ConstantOfShape", constantOfShape},
      {"Dropout", dropout},
      {"Optional", elementOf},
      {"OptionalGetElement", elementOf},
      {"OptionalHasElement", hasElement},
      {"Expand", expand},
      {"Flatten", flatten},
      {"Identity", asItIs},
      {"Range", range},
      {"Reshape", reshapeNode},
      {"Shape", shapeOfTensor},
      {"Size", size},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
  };
  return rows;
}

} // namespace origo::onnx
