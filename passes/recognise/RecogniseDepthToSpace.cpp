#include "passes/Linear.h"
#include "passes/Spelling.h"

namespace origo {

/// By how much a picture grows along both sides; 0: it does not, or not alike.
static int32_t growth(Tensor small, Tensor big) {
  if (!small.isStaticButBatch() || !big.isStaticButBatch() || small.rank() != 4 || big.rank() != 4 ||
      small.elementCount() == 0)
    return 0;
  int32_t block = big.shape()[1] / small.shape()[1];
  bool alike = big.statedShape()[0] == small.statedShape()[0] && big.shape()[1] == block * small.shape()[1] &&
               big.shape()[2] == block * small.shape()[2] &&
               small.lastDimension() == block * block * big.lastDimension();
  return alike && block > 1 ? block : 0;
}

/// By how much a picture is wider than blocks of it that stand in the last dimension of `deep`; 0: it is not.
static int32_t blockOf(Tensor deep, Tensor wide) {
  if (!deep.isStaticButBatch() || !wide.isStaticButBatch() || wide.rank() != 4 || deep.rank() < 2 ||
      wide.elementCount() == 0)
    return 0;
  for (int32_t block = 2; block <= 64; ++block)
    if (deep.lastDimension() == block * block * wide.lastDimension())
      return wide.shape()[1] % block || wide.shape()[2] % block ? 0 : block;
  return 0;
}

/// reshape(transpose(reshape(x))) → depth_to_space(x), space_to_depth(x); as patches in a row, with a reshape
static Rule blocks() {
  auto x = any();
  auto moved = movedFrom(x, 3, 7);
  return {"blocks", "not three movements in a row", moved, [=](Match &m) {
            Tensor result = m.root().result();
            int32_t out = blockOf(m[x], result), block = out ? out : blockOf(result, m[x]);
            std::optional<Moves> moves = block ? m.moves(m[x], result) : std::nullopt;
            if (!moves || !(m[x].isFloat() || m[x].isQuantized()) || !storesAlike(m[x], result))
              return decline("no blocks of a picture, or not of numbers");
            llvm::ArrayRef<int32_t> wide = (out ? result : m[x]).shape();
            int32_t small[] = {(out ? result : m[x]).statedShape()[0], wide[1] / block, wide[2] / block,
                               wide[3] * block * block};
            unsigned order[] = {0, 1, 3, 2, 4, 5};
            int64_t rows = small[1], columns = small[2];
            int64_t deep[] = {wide[0], rows, columns, block, block, wide[3]};
            int64_t flat[] = {wide[0], rows, block, columns, block, wide[3]};
            if (!(*moves == Moves(out ? deep : flat, order)))
              return decline("the elements of a block are in another order");
            bool same = (out ? m[x] : result).statedShape() == llvm::ArrayRef<int32_t>(small);
            Expr input = out && !same ? reshape(x, list(small)) : x;
            Expr one = op(out ? Op::DEPTH_TO_SPACE : Op::SPACE_TO_DEPTH, {input}).with("block_size", block);
            return m.replace(out || same ? one : reshape(one, list(result.statedShape())));
          }};
}

/// The same with the channels outside of the blocks, as PyTorch has them: the linear operator in front takes their
/// order.
static Rule behindLinear() {
  auto linear = anyOf({Op::CONV_2D, Op::TRANSPOSE_CONV}).once().mayActivate();
  auto function = anyOf({Op::RELU, Op::RELU6, Op::LEAKY_RELU, Op::TANH, Op::LOGISTIC, Op::HARD_SWISH}, {linear}).once();
  auto moved = movedFrom(linear | function, 3, 7);
  return {"behind-linear", "not three movements in a row behind a convolution that is used once", moved, [=](Match &m) {
            Tensor x = m.has(function) ? m[function] : m[linear], result = m.root().result();
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            int32_t block = growth(x, result);
            std::optional<Moves> moves = block ? m.moves(x, result) : std::nullopt;
            if (!moves || parts.filter.isShared() || isGrouped(m.op(linear), parts))
              return decline("no blocks of a picture, or the filter would have to stay for other users");
            int32_t channels = result.lastDimension(), square = block * block;
            int64_t sizes[] = {x.shape()[0], x.shape()[1], x.shape()[2], channels, block, block};
            unsigned order[] = {0, 1, 4, 2, 5, 3};
            if (!(*moves == Moves(sizes, order)))
              return decline("the elements of a block are in another order");
            auto inside = [&](Tensor rows) {
              Expr turned = transpose(reshape(rows, list({channels, square, -1})), list({1, 0, 2}));
              return fold(reshape(turned, list(rows.shape())));
            };
            Expr ordered = clone(linear).filter(inside(parts.filter));
            if (parts.bias)
              ordered = ordered.bias(inside(parts.bias));
            if (m.has(function))
              ordered = clone(function).operand(0, ordered);
            return m.replace(op(Op::DEPTH_TO_SPACE, {ordered}).with("block_size", block));
          }};
}

/// space_to_depth with the channels outside of the blocks in front of a linear operator, which takes their order.
static Rule beforeLinear() {
  auto x = any(), moved = movedFrom(x, 3, 7);
  auto linear = anyOf({Op::CONV_2D, Op::FULLY_CONNECTED}, {moved}).mayActivate();
  return {"before-linear", "not three movements in a row in front of a linear operator", linear, [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            Tensor deep = m.op(linear).operand(0);
            int32_t block = growth(deep, m[x]);
            std::optional<Moves> moves = block ? m.moves(m[x], deep) : std::nullopt;
            if (!moves || parts.filter.isShared() || parts.filter.lastDimension() != deep.lastDimension())
              return decline("no blocks of a picture, or the filter would have to stay for other users");
            int32_t channels = m[x].lastDimension();
            llvm::ArrayRef<int32_t> small = deep.shape();
            int64_t sizes[] = {small[0], small[1], block, small[2], block, channels};
            unsigned order[] = {0, 1, 3, 5, 2, 4};
            if (!(*moves == Moves(sizes, order)))
              return decline("the elements of a block are in another order");
            Expr turned = transpose(reshape(parts.filter, list({-1, channels, block * block})), list({0, 2, 1}));
            return m.replace(clone(linear)
                                 .operand(0, op(Op::SPACE_TO_DEPTH, {x}).with("block_size", block))
                                 .filter(fold(reshape(turned, shapeOf(parts.filter)))));
          }};
}

/// Slices of x at steps that together are its blocks, put together along the channels.
struct Phases {
  Expr x = any(), slice = op(Op::STRIDED_SLICE, {x, constant(), constant(), constant()});
  Expr joined = op(Op::CONCATENATION, {}).each(slice);
  int32_t block = 0;

  /// Why they are not; `byColumn`: those of a column of the block are neighbours.
  const char *refusal(Match &m, bool byColumn) {
    Tensor from = m.at(0, x), result = m[joined];
    block = growth(result, from);
    unsigned count = m.op(joined).operandCount();
    if (block == 0 || count != static_cast<unsigned>(block) * block || !from.isFloat())
      return "no blocks of a float picture";
    for (unsigned i = 0; i < count; ++i) {
      Node part = m.op(i, slice);
      std::optional<Integers> begin = m.integers(part.operand(1)), steps = m.integers(part.operand(3));
      if (!begin || !steps || !m.integers(part.operand(2)) || !(m.at(i, x) == from) ||
          !steps->are({1, block, block, 1}))
        return "the slices are of several, or take other elements than the blocks have";
      int32_t outer = static_cast<int32_t>(i) / block, inner = static_cast<int32_t>(i) % block;
      int32_t expected[] = {0, byColumn ? inner : outer, byColumn ? outer : inner, 0};
      for (int axis = 0; axis < 4; ++axis)
        if (!((part.option("begin_mask") >> axis & 1) ? expected[axis] == 0 : begin->is(axis, expected[axis])) ||
            (from.statedShape()[axis] == -1 && !(part.option("end_mask") >> axis & 1)) ||
            part.result().statedShape()[axis] != (axis == 3 ? from : result).statedShape()[axis])
          return "the slices are in another order";
    }
    return nullptr;
  }
  Expr whole(Match &m) const { return op(Op::SPACE_TO_DEPTH, {m.at(0, x)}).with("block_size", block); }
};

/// concat(x[0::2, 0::2], x[0::2, 1::2], …) → space_to_depth(x)
static Rule bySlices() {
  Phases phases;
  return {"slices", "not only slices that are put together", phases.joined, [=](Match &m) mutable {
            const char *why = phases.refusal(m, false);
            return why ? decline(why) : m.replace(phases.whole(m));
          }};
}

/// conv(concat(x[0::2, 0::2], x[1::2, 0::2], …), W) → conv(space_to_depth(x), W with its channels likewise)
static Rule byColumns() {
  Phases phases;
  auto linear = anyOf({Op::CONV_2D, Op::FULLY_CONNECTED}, {phases.joined}).mayActivate();
  return {"columns", "not a convolution of slices that are put together", linear, [=](Match &m) mutable {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            if (const char *why = phases.refusal(m, true))
              return decline(why);
            int32_t depth = m[phases.joined].lastDimension(), block = phases.block;
            if (parts.filter.isShared() || parts.filter.lastDimension() != depth)
              return decline("the filter has other channels, or would have to stay for other users");
            Expr turned =
                transpose(reshape(parts.filter, list({-1, block, block, depth / block / block})), list({0, 2, 1, 3}));
            return m.replace(
                clone(linear).operand(0, phases.whole(m)).filter(fold(reshape(turned, shapeOf(parts.filter)))));
          }};
}

Pass RecogniseDepthToSpace() {
  return {
      "recognise-depth-to-space",
      "reshape(transpose(reshape(x))) -> depth_to_space(x), space_to_depth(x), concat(x[0::2, 0::2], x[0::2, 1::2], "
      "...) -> space_to_depth(x); channels outside of the blocks go into the linear operator in front or behind",
      Phase::Recognise,
      true,
      {},
      {blocks(), behindLinear(), beforeLinear(), bySlices(), byColumns()}};
}

} // namespace origo
