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
  if (!x.isFloat() || !x.isStatic() || !result.isStatic() || x.rank() != 4 || result.rank() != 4 ||
      x.elementCount() == 0)
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

/// Dimensions as products of those that stay and those that are repeated, in turn.
using Runs = llvm::SmallVector<std::pair<bool, int64_t>, 6>;
static void append(Runs &runs, bool repeated, int64_t size) {
  if (size == 1)
    return;
  if (!runs.empty() && runs.back().first == repeated)
    runs.back().second *= size;
  else
    runs.emplace_back(repeated, size);
}

/// reshape(wide(reshape(x))) → resize_nearest_neighbor(x); wide is tile, broadcast_to, or · ones.
static Rule byRepeating() {
  auto x = any(), repeats = any();
  auto apart = anyOf(reshapes, {x});
  auto tiled = op(Op::TILE, {apart, repeats}), broadcast = op(Op::BROADCAST_TO, {apart}), times = apart * 1.0;
  auto shaped = anyOf(reshapes, {tiled | broadcast | times});
  return {"repeated", "not the reshape of what is repeated of a reshape", shaped, [=](Match &m) {
            Tensor result = m[shaped], wide = m.has(tiled) ? m[tiled] : m.has(broadcast) ? m[broadcast] : m[times];
            if (const char *why = resizeRefusal(m[x], result))
              return decline(why);
            Runs found, expected;
            if (wide.rank() != m[apart].rank() || !wide.isStatic() || !m[apart].isStatic())
              return decline("what is repeated has other dimensions");
            for (auto [from, to] : llvm::zip(m[apart].shape(), wide.shape())) {
              if (from != to && from != 1)
                return decline("more than dimensions of one element are repeated");
              append(found, from != to, to);
            }
            for (int axis = 0; axis < 4; ++axis) {
              append(expected, false, m[x].shape()[axis]);
              append(expected, true, result.shape()[axis] / m[x].shape()[axis]);
            }
            return found == expected ? m.replace(resized(x, result)) : decline("other elements are repeated");
          }};
}

/// gather(gather(x, 0 0 1 1 …), 0 0 1 1 …), along height and width → resize_nearest_neighbor(x)
static Rule byGathering() {
  auto x = any(), i = constant(), j = constant();
  auto inner = op(Op::GATHER, {x, i}).once(), outer = op(Op::GATHER, {inner, j});
  return {"gathered", "not gathered twice, by constants", outer, [=](Match &m) {
            if (const char *why = resizeRefusal(m[x], m[outer]))
              return decline(why);
            int64_t axes = 0;
            for (const auto &[taken, indices] : {std::pair(inner, i), std::pair(outer, j)}) {
              int64_t axis = m.op(taken).option("axis") & 3; // −1 is 3, and −4 is 0
              std::optional<Integers> rows = m.integers(m[indices]);
              if (!rows || m[indices].rank() != 1 || m.op(taken).option("batch_dims") != 0)
                return decline("the indices are many, or no list");
              int32_t times = m[outer].shape()[axis] / m[x].shape()[axis];
              axes |= int64_t{1} << axis;
              for (size_t k = 0; k < rows->size(); ++k)
                if (rows->at(k) != static_cast<int64_t>(k) / times)
                  return decline("other rows or columns are repeated");
            }
            return axes == 6 ? m.replace(resized(x, m[outer])) : decline("not along height and width");
          }};
}

Pass RecogniseResize() {
  return {"recognise-resize",
          "reshape(tile(reshape(x))), reshape(reshape(x) * ones), gather(gather(x, 0 0 1 1 ...), 0 0 1 1 ...) -> "
          "resize_nearest_neighbor(x)",
          Phase::Recognise,
          true,
          {},
          {byRepeating(), byGathering()}};
}

} // namespace origo
