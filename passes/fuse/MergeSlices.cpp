#include "passes/Rule.h"

namespace origo {

/// slice(x, first share), slice(x, second share), … → split(x), or unpack(x) where the dimension is left out
static Rule shares() {
  auto x = any();
  auto part = anyOf({Op::SLICE, Op::STRIDED_SLICE}, {x});
  return {"shares", "", part, [=](Match &m) {
            Tensor result = m.root().result();
            if (!m[x].isPerTensor() || !m[x].hasQuantizationOf(result))
              return decline("changes the quantisation");
            std::optional<Shares> shares = m.shares();
            if (!shares)
              return decline("not the first of equal shares, all of which are taken");
            auto count = static_cast<unsigned>(shares->results.size());
            Expr whole = shares->shrunk ? op(Op::UNPACK, {x}).with("num", count).with("axis", shares->axis)
                                        : op(Op::SPLIT, {list({shares->axis}), x}).with("num_splits", count);
            whole = whole.results(count);
            std::vector<std::pair<Tensor, Expr>> places;
            for (unsigned i = 0; i < count; ++i)
              places.emplace_back(shares->results[i], rewrite::result(whole, i));
            return m.replace(places);
          }};
}

Pass MergeSlices() {
  return {"merge-slices",
          "slice(x, 0 .. n), slice(x, n .. 2n), ... -> split(x), or unpack(x) where the dimension is left out",
          Phase::Fuse,
          true,
          {},
          {shares()}};
}

} // namespace origo
