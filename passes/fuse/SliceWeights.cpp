#include "passes/Linear.h"
#include "passes/Spelling.h"

namespace origo {

/// split(moved(fc(x, W, b))) → fc(x, rows of W, rows of b) each, where the movements bring channels that follow each
/// other in blocks to the front, and each part is one block: queries, keys and values of one product.
static Rule blocks() {
  auto x = any(), axis = constant();
  auto linear = op(Op::FULLY_CONNECTED, {x}).mayActivate().once();
  auto moved = movedFrom(linear, 1, 4);
  auto split = op(Op::SPLIT, {axis, moved});
  return {"blocks", "not the parts of a moved fully connected operator", split, [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            unsigned count = m.root().resultCount();
            Tensor product = m[linear], part = m.root().result(), whole = m.root().operand(1);
            std::optional<Integers> along = m.integers(m[axis]);
            auto axes = along ? along->axesOf(whole.rank()) : std::nullopt;
            if (!product.isStatic() || !whole.isStatic() || !part.isStatic() || !axes || axes->size() != 1 ||
                count < 2 || parts.channels % static_cast<int32_t>(count) || product.lastDimension() != parts.channels)
              return decline("the shapes are not known before run time, or the channels are not the last dimension");
            if (count > m.movementsInARow(whole) + 1)
              return decline("there would be more operators");
            if (parts.filter.isShared())
              return decline("the filter has other users, for whom it would have to stay");
            int32_t channels = parts.channels / static_cast<int32_t>(count), depth = parts.filter.lastDimension();
            auto rest = static_cast<int64_t>(*product.elementCount()) / parts.channels;
            auto front = whole.shape().take_front(axes->front());
            bool leads = llvm::all_of(front, [](int32_t size) { return size == 1; }) &&
                         whole.shape()[axes->front()] == static_cast<int32_t>(count);
            std::optional<Moves> moves = m.moves(product, whole);
            if (rest == 1)
              return decline("one row, which is split for nothing");
            int64_t sizes[] = {rest, count, channels};
            unsigned order[] = {1, 0, 2};
            if (!leads || !moves || !(*moves == Moves(sizes, order)) || part.lastDimension() != channels)
              return decline("the parts are not blocks of channels");
            llvm::SmallVector<int32_t, 6> shape(part.shape().drop_back());
            shape.push_back(depth);
            Expr input = reshape(x, list(shape));
            std::vector<std::pair<Tensor, Expr>> places;
            for (unsigned i = 0; i < count; ++i) {
              auto rows = [&](Tensor of, llvm::ArrayRef<int32_t> behind) {
                llvm::SmallVector<int32_t, 2> begin(behind.size() + 1, 0), size{channels};
                begin[0] = static_cast<int32_t>(i) * channels;
                llvm::append_range(size, behind);
                return fold(op(Op::SLICE, {of, list(begin), list(size)}));
              };
              Expr one = clone(linear).operand(0u, input).filter(rows(parts.filter, {depth}));
              if (parts.bias)
                one = one.bias(rows(parts.bias, {}));
              places.emplace_back(m.root().result(i), one.with("keep_num_dims", 1));
            }
            return m.replace(places);
          }};
}

Pass SliceWeights() {
  return {"slice-weights",
          "split(transpose(reshape(fc(x, W, b)))) -> fc(x, a slice of W, a slice of b) for each part",
          Phase::Fuse,
          true,
          {},
          {blocks()}};
}

} // namespace origo
