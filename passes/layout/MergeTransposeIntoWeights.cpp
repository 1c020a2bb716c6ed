#include "passes/Linear.h"
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

Pass MergeTransposeIntoWeights() {
  return {"merge-transpose-into-weights",
          "fc(flat(transpose(x, p)), W, b) -> fc(flat(x), W', b), W' with its columns moved likewise",
          Phase::Layout,
          true,
          {{"convert_nchw_to_nhwc", {}}},
          {behindFlatten()}};
}

} // namespace origo
