#include "passes/Respelled.h"

namespace origo {

/// back(softmax(moved(x))) → back(moved(transpose(softmax(transpose(x))))), where back undoes what moved did, so that
/// both will go: the dimension along which it works changes its place with the last one.
static Rule undone() {
  auto x = any();
  auto front = movements(x, 4);
  auto f = anyOf({Op::SOFTMAX, Op::LOG_SOFTMAX, Op::L2_NORMALIZATION}, {longest(front, 1)}).once();
  auto back = movements(f, 4);
  return {"undone", "no movements around what works along the last dimension and is used once", longest(back, 1),
          [=](Match &m) {
            Tensor in = m.op(f).operand(0), result = m.root().result();
            if (!m[x].isFloat() || !m[x].isStatic() || !in.isStatic() || !result.isStatic() ||
                !m[x].hasShapeOf(result) || !in.hasOneUse() || m[x].rank() < 2 || m[x].rank() > 4)
              return decline("not float, or the shape changes, or others use what is moved");
            std::optional<Moves> there = m.moves(m[x], in), again = m.moves(m[f], result);
            if (!there || !again || !(*again == there->inverse()))
              return decline("the movements do not undo each other");
            // What is in front of a row's elements in x: the parts there, and what the last part has more than a row.
            Moves order = there->inverse();
            int32_t size = in.lastDimension(), part = order.back().empty() ? 0 : order.back().back();
            if (size < 2 || there->keepsOrder() || order.moved()[part] % size)
              return decline("a row is no dimension of what is moved");
            int64_t ahead = order.moved()[part] / size;
            for (int32_t i = 0; i < part; ++i)
              ahead *= order.moved()[i];
            int32_t axis = 0, last = m[x].rank() - 1;
            int64_t before = 1;
            while (axis < last && (before != ahead || m[x].shape()[axis] != size))
              before *= m[x].shape()[axis++];
            if (before != ahead || m[x].shape()[axis] != size)
              return decline("a row is no dimension of what is moved");
            if (axis == last || m.movementsInARow(in) + m.movementsInARow(result) < 3)
              return decline("there are no fewer movements, or reshapes go by themselves");
            llvm::SmallVector<int32_t, 6> swapped;
            for (int32_t i = 0; i <= last; ++i)
              swapped.push_back(i == axis ? last : i == last ? axis : i);
            auto bridge = [&](Expr of) {
              return transpose(of, list(swapped)).synthetic(SyntheticReason::LayoutBridge);
            };
            return m.replace(rebuilt(m, back, rebuilt(m, front, bridge(clone(f).operand(0, bridge(x))))));
          }};
}

Pass SoftmaxAcrossAxes() {
  return {"softmax-across-axes",
          "back(softmax(moved(x))) -> back(moved(transpose(softmax(transpose(x))))), where back undoes what moved did, "
          "so that both go",
          Phase::Layout,
          true,
          {},
          {undone()}};
}

} // namespace origo
