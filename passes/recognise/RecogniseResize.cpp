#include "passes/Spelling.h"

namespace origo {

/// Does RESIZE_NEAREST_NEIGHBOR find row i of `size` · `times` in row i / times of them, as its kernel rounds?
static bool repeats(int32_t size, int32_t times) {
  auto scale = static_cast<float>(size) / static_cast<float>(size * times);
  for (int32_t i = 0; i < size * times; ++i)
    if (static_cast<int32_t>(static_cast<float>(i) * scale) != i / times)
      return false;
  return true;
}

/// Why resizing a picture to a shape is not repeating its rows and columns.
static const char *resizeRefusal(Tensor x, Tensor result) {
  if (!x.isFloat() || !x.isStaticButBatch() || !result.isStaticButBatch() || x.rank() != 4 || result.rank() != 4 ||
      x.elementCount() == 0 || x.statedShape()[0] != result.statedShape()[0])
    return "not a float picture of known shape";
  for (int axis = 0; axis < 4; ++axis) {
    int32_t from = x.shape()[axis], to = result.shape()[axis];
    if (to % from || (to != from && (axis == 0 || axis == 3)) || to > 8192 || !repeats(from, to / from))
      return "rows and columns are not repeated alike";
  }
  return nullptr;
}

static Expr resized(Expr x, Tensor result) {
  return op(Op::RESIZE_NEAREST_NEIGHBOR, {x, list({result.shape()[1], result.shape()[2]})});
}

/// Movements and repetitions one after the other, from two to six of them, that lead from x.
static Expr repeatedFrom(Expr x) {
  constexpr Op codes[] = {Op::RESHAPE,      Op::SQUEEZE,       Op::EXPAND_DIMS, Op::TRANSPOSE, Op::TILE,
                          Op::BROADCAST_TO, Op::CONCATENATION, Op::PACK,        Op::GATHER};
  std::optional<Expr> all;
  for (unsigned count = 6; count >= 2; --count) {
    Expr chain = x;
    for (unsigned i = 0; i < count; ++i)
      chain = anyOf(codes, {chain}) | anyOf({Op::MUL, Op::ADD}, {chain, constant()});
    all = all ? *all | chain : chain;
  }
  return *all;
}

/// reshape(wide(reshape(x))) → resize_nearest_neighbor(x); wide is tile, broadcast_to, · ones, or the same several
/// times, and rows and columns may have their turn one after the other.
static Rule byRepeating() {
  auto x = any();
  auto repeated = repeatedFrom(x);
  return {"repeated", "not two movements and repetitions in a row", repeated, [=](Match &m) {
            Tensor result = m.root().result();
            if (const char *why = resizeRefusal(m[x], result))
              return decline(why);
            int64_t sizes[] = {m[x].shape()[0],
                               m[x].shape()[1],
                               m[x].shape()[2],
                               m[x].shape()[3],
                               result.shape()[1] / m[x].shape()[1],
                               result.shape()[2] / m[x].shape()[2]};
            unsigned order[] = {0, 1, 4, 2, 5, 3};
            if (sizes[4] * sizes[5] == 1)
              return decline("nothing is repeated");
            std::optional<Moves> moves = m.moves(m[x], result);
            return moves && *moves == Moves(sizes, order, 2) ? m.replace(resized(x, result))
                                                             : decline("other elements are repeated");
          }};
}

/// concat(a, a, b, b, …) of split(x) → resize_nearest_neighbor(x) along one side
static Rule bySplitting() {
  auto x = any(), along = constant();
  auto split = op(Op::SPLIT, {along, x});
  Expr part = result(split, 0);
  constexpr unsigned most = 64;
  for (unsigned i = 1; i < most; ++i)
    part = part | result(split, i);
  auto joined = anyOf({Op::CONCATENATION}).each(part);
  return {"split", "not parts of one tensor that are joined", joined, [=](Match &m) {
            Tensor whole = m.at(0, x), result = m[joined];
            if (const char *why = resizeRefusal(whole, result))
              return decline(why);
            Node first = m.op(0, split);
            std::optional<Integers> axes = m.integers(m.at(0, along));
            auto axis = axes ? axes->axesOf(4) : std::nullopt;
            int64_t joins = m.op(joined).option("axis");
            unsigned count = first.resultCount(), parts = m.op(joined).operandCount();
            if (!axis || axis->size() != 1 || axis->front() != (joins < 0 ? joins + 4 : joins) || parts % count ||
                static_cast<int32_t>(count) != whole.shape()[axis->front()])
              return decline("split otherwise than joined, or not into rows");
            for (unsigned i = 0; i < parts; ++i)
              if (!(m.at(i, x) == whole) || !(m.op(joined).operand(i) == first.result(i / (parts / count))))
                return decline("other rows or columns are repeated");
            return m.replace(resized(whole, result));
          }};
}

/// resize_nearest_neighbor(resize_nearest_neighbor(x)) → resize_nearest_neighbor(x), where both repeat.
static Rule twice() {
  auto x = any();
  auto inner = op(Op::RESIZE_NEAREST_NEIGHBOR, {x}).once(), outer = op(Op::RESIZE_NEAREST_NEIGHBOR, {inner});
  return {"twice", "not resized twice", outer, [=](Match &m) {
            for (const Expr &one : {inner, outer})
              for (llvm::StringRef option : {"align_corners", "half_pixel_centers"})
                if (m.op(one).option(option) != 0)
                  return decline("aligned otherwise");
            const char *why = resizeRefusal(m[x], m[inner]);
            if (!why)
              why = resizeRefusal(m[inner], m[outer]);
            if (!why)
              why = resizeRefusal(m[x], m[outer]);
            return why ? decline(why) : m.replace(resized(x, m[outer]));
          }};
}

Pass RecogniseResize() {
  return {"recognise-resize",
          "reshape(tile(reshape(x))), reshape(reshape(x) * ones), gather(gather(x, 0 0 1 1 ...), 0 0 1 1 ...), "
          "concat(a, a, b, b, ...) of split(x), and what else repeats rows and columns -> resize_nearest_neighbor(x)",
          Phase::Recognise,
          true,
          {},
          {byRepeating(), bySplitting(), twice()}};
}

} // namespace origo
