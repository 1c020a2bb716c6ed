#include "passes/Linear.h"
#include "passes/Spelling.h"
#include "passes/layout/Forward.h"

namespace origo {

/// fc(flat(transpose(x, p)), W, b) → fc(flat(x), W with its columns moved likewise, b)
static Rule behindFlatten() {
  auto x = any(), p = constant();
  auto moved = transpose(x, p).once();
  auto flat = anyOf(reshapes, {moved}).once();
  auto linear = op(Op::FULLY_CONNECTED, {flat}).mayActivate();
  return {"behind-flatten", "no transpose and reshape with these uses only lead to it", linear, [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            if (const char *why = movementRefusal(m, m[x], m[moved]))
              return decline(why);
            std::optional<Integers> permutation = m.integers(m[p]);
            if (!permutation || !permutation->isPermutation(m[x].shape().size()) || m[x].rank() == 0 ||
                !permutation->is(0, 0))
              return decline("the first dimension moves too");
            if (!m[x].isStaticButBatch() || !m[flat].isStaticButBatch() || m[flat].rank() != 2 ||
                m[moved].rank() != m[x].rank() || m[flat].statedShape()[0] != m[x].statedShape()[0] ||
                m[flat].lastDimension() != parts.filter.lastDimension())
              return decline("what is flattened is not all but the first dimension");
            if (parts.filter.isShared())
              return decline("the filter has other users, for whom it would have to stay");
            llvm::SmallVector<int32_t, 6> columns(m[moved].shape().begin(), m[moved].shape().end());
            columns.front() = parts.channels;
            Expr back = transpose(reshape(parts.filter, list(columns)), permutation->inverse());
            Expr filter = fold(reshape(back, list({parts.channels, parts.filter.lastDimension()})));
            return m.replace(clone(linear).operand(0, clone(flat).operand(0, x)).filter(filter));
          }};
}

/// linear(x with its channels in another order, W, b) → linear(x, W with its channels likewise, b)
static Rule channels() {
  auto x = any();
  auto moved = movedFrom(x, 2, 5);
  auto linear = anyOf({Op::FULLY_CONNECTED, Op::CONV_2D}, {moved}).mayActivate();
  return {"channels", "no movements in a row lead to it", linear, [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            Tensor input = m.op(linear).operand(0);
            int32_t depth = parts.filter.lastDimension();
            if (!m[x].isStaticButBatch() || !m[x].hasShapeOf(input) || depth < 1 || input.lastDimension() != depth ||
                !storesAlike(m[x], input))
              return decline("the filter has other channels, or the shape changes");
            std::optional<Moves> moves = m.moves(m[x], input);
            if (moves)
              moves = moves->ofLast(static_cast<int64_t>(*m[x].elementCount()) / depth, depth);
            if (!moves)
              return decline("more than the channels move");
            if (parts.filter.isShared())
              return decline("the filter has other users, for whom it would have to stay");
            llvm::SmallVector<int32_t, 8> sizes{-1}, back{0};
            llvm::append_range(sizes, moves->moved());
            for (int32_t place : moves->back())
              back.push_back(place + 1);
            Expr filter = reshape(transpose(reshape(parts.filter, list(sizes)), list(back)), shapeOf(parts.filter));
            return m.replace(clone(linear).operand(0, x).filter(fold(filter)));
          }};
}

/// linear(x, W, b) with its channels in another order → linear(x, W with its rows likewise, b)
static Rule rows() {
  auto linear = anyOf({Op::FULLY_CONNECTED, Op::CONV_2D}).once().mayActivate();
  auto moved = movedFrom(linear, 2, 5);
  return {"rows", "no movements in a row lead from a linear operator that is used once", moved, [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            Tensor result = m.root().result(), product = m[linear];
            if (!product.isStaticButBatch() || !product.hasShapeOf(result) ||
                product.lastDimension() != parts.channels || isGrouped(m.op(linear), parts))
              return decline("the shape changes, or the channels are grouped, or not the last dimension");
            std::optional<Moves> moves = m.moves(product, result);
            if (moves)
              moves = moves->ofLast(static_cast<int64_t>(*product.elementCount()) / parts.channels, parts.channels);
            if (!moves || moves->keepsOrder())
              return decline("more than the channels move");
            if (parts.filter.isShared())
              return decline("the filter has other users, for whom it would have to stay");
            Moves there = moves->inverse();
            llvm::SmallVector<int32_t, 8> sizes(there.moved()), order(there.back());
            sizes.push_back(-1);
            order.push_back(static_cast<int32_t>(order.size()));
            auto inOrder = [&](Tensor of) {
              return fold(reshape(transpose(reshape(of, list(sizes)), list(order)), shapeOf(of)));
            };
            Expr ordered = clone(linear).filter(inOrder(parts.filter));
            return m.replace(parts.bias ? ordered.bias(inOrder(parts.bias)) : ordered);
          }};
}

/// linear(gather(x, i), W, b), i all channels in another order → linear(x, W with its columns likewise, b)
static Rule gatheredColumns() {
  auto x = any(), i = constant();
  auto taken = op(Op::GATHER, {x, i});
  auto linear = anyOf({Op::FULLY_CONNECTED, Op::CONV_2D}, {taken}).mayActivate();
  return {"gathered-columns", "not a linear operator of what is gathered", linear, [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            int64_t axis = m.op(taken).option("axis"), rank = m[x].rank();
            std::optional<Integers> order = m.integers(m[i]);
            if (!order || m[i].rank() != 1 || (axis != -1 && axis != rank - 1) ||
                m.op(taken).option("batch_dims") != 0 || m[x].lastDimension() != parts.filter.lastDimension() ||
                !order->isPermutation(static_cast<size_t>(m[x].lastDimension())))
              return decline("not all channels, each once");
            if (parts.filter.isShared())
              return decline("the filter has other users, for whom it would have to stay");
            Expr filter = gather(parts.filter, order->inverse()).with("axis", parts.filter.rank() - 1);
            return m.replace(clone(linear).operand(0, x).filter(fold(filter)));
          }};
}

/// linear(x with its channels backwards, W, b) → linear(x, W with its columns backwards, b): a picture as BGR
static Rule reversedColumns() {
  auto x = any(), axis = constant(), begin = constant(), end = constant(), steps = constant();
  auto turned = op(Op::REVERSE_V2, {x, axis}), sliced = op(Op::STRIDED_SLICE, {x, begin, end, steps});
  auto linear = anyOf({Op::FULLY_CONNECTED, Op::CONV_2D}, {turned | sliced}).mayActivate();
  return {"reversed-columns", "not a linear operator of what is reversed or sliced", linear, [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            Tensor entry = m.op(linear).operand(0);
            std::optional<Integers> given = m.integers(m.has(turned) ? m[axis] : m[steps]);
            if (!given || !m[x].isStatic() || !m[x].hasShapeOf(entry) || m[x].rank() < 2 ||
                m[x].lastDimension() != parts.filter.lastDimension() || !storesAlike(m[x], entry))
              return decline("the filter has other channels, or the shape changes");
            std::vector<int64_t> backwards(m[x].rank(), 1);
            backwards.back() = -1;
            if (m.has(turned) ? !given->isLastAxisOf(m[x].rank())
                              : !given->are(backwards) || !m.integers(m[begin]) || !m.integers(m[end]) ||
                                    m.op(sliced).option("new_axis_mask") || m.op(sliced).option("shrink_axis_mask") ||
                                    m.op(sliced).option("ellipsis_mask"))
              return decline("not the channels alone, backwards");
            if (parts.filter.isShared())
              return decline("the filter has other users, for whom it would have to stay");
            Expr filter = op(Op::REVERSE_V2, {parts.filter, list({parts.filter.rank() - 1})});
            return m.replace(clone(linear).operand(0, x).filter(fold(filter)));
          }};
}

/// gather(linear(x, W, b), i) along the channels → linear(x, rows of W, rows of b)
static Rule gatheredRows() {
  auto i = constant();
  auto linear = anyOf({Op::FULLY_CONNECTED, Op::CONV_2D}).once().mayActivate();
  auto taken = op(Op::GATHER, {linear, i});
  return {"gathered-rows", "not what is gathered of a linear operator that is used once", taken, [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            int64_t axis = m.op(taken).option("axis"), rank = m[linear].rank();
            if (m[i].rank() != 1 || (axis != -1 && axis != rank - 1) || m.op(taken).option("batch_dims") != 0 ||
                m[linear].lastDimension() != parts.channels || m[i].elementCount() > parts.channels ||
                isGrouped(m.op(linear), parts))
              return decline("not channels, or grouped ones, or more than there are");
            if (parts.filter.isShared())
              return decline("the filter has other users, for whom it would have to stay");
            Expr part = clone(linear).filter(fold(gather(parts.filter, i)));
            return m.replace((parts.bias ? part.bias(fold(gather(parts.bias, i))) : part).as(m[taken]));
          }};
}

Pass MergeTransposeIntoWeights() {
  return {"merge-transpose-into-weights",
          "fc(flat(transpose(x, p)), W, b) -> fc(flat(x), W', b), W' with its columns moved likewise; also of a "
          "convolution whose "
          "channels come, or are taken, in another order, as a channel shuffle leaves them",
          Phase::Layout,
          true,
          {{"convert_nchw_to_nhwc", {}}},
          {behindFlatten(), channels(), rows(), gatheredColumns(), gatheredRows(), reversedColumns()}};
}

} // namespace origo
