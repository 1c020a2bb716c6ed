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
                permutation->at(0) != 0)
              return decline("the first dimension moves too");
            if (!m[x].isStatic() || !m[flat].isStatic() || m[flat].rank() != 2 || m[moved].rank() != m[x].rank() ||
                m[flat].shape()[0] != m[x].shape()[0] || m[flat].lastDimension() != parts.filter.lastDimension())
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
            if (!m[x].isStatic() || !m[x].hasShapeOf(input) || depth < 1 || input.lastDimension() != depth ||
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

Pass MergeTransposeIntoWeights() {
  return {"merge-transpose-into-weights",
          "fc(flat(transpose(x, p)), W, b) -> fc(flat(x), W', b), W' with its columns moved likewise; also of a "
          "convolution whose "
          "channels come in another order, as a channel shuffle leaves them",
          Phase::Layout,
          true,
          {{"convert_nchw_to_nhwc", {}}},
          {behindFlatten(), channels()}};
}

} // namespace origo
