#include "passes/Linear.h"
#include "passes/Spelling.h"

namespace origo {

/// A list of one number a channel: `c` from `begin` on, for a part of so many, and what changes nothing for the others.
static Expr spread(Tensor c, double nothing, int32_t begin, int32_t size, int32_t channels) {
  std::vector<Expr> pieces;
  auto rest = [&](int32_t count) {
    if (count > 0)
      pieces.push_back(broadcastTo(nothing, list({count})));
  };
  rest(begin);
  pieces.push_back(c.elementCount() == 1 ? broadcastTo(listed(c), list({size})) : listed(c));
  rest(channels - begin - size);
  return fold(op(Op::CONCATENATION, pieces).with("axis", 0));
}

/// f(split(linear)[i], c) → split(f(linear, c there))[i], where c stands at the channels of one part, and what changes
/// nothing at the others: the weights take it.
static Rule part() {
  constexpr unsigned mostParts = 8;
  auto axis = constant(), c = constant();
  auto linear = anyWith(Trait::Linear).filter(constant()).once(), split = op(Op::SPLIT, {axis, linear});
  std::vector<Expr> parts{result(split, 0)};
  Expr one = parts.front();
  while (parts.size() < mostParts)
    one = one | parts.emplace_back(result(split, static_cast<unsigned>(parts.size())));
  auto f = anyOf({Op::ADD, Op::SUB, Op::MUL, Op::DIV}, {one, c});
  return {"part", "not a constant and a part of a linear operator", f, [=](Match &m) {
            auto found = llvm::find_if(parts, [&](const Expr &each) { return m.has(each); });
            auto at = static_cast<unsigned>(found - parts.begin());
            Op code = m.root().code();
            bool scales = code == Op::MUL || code == Op::DIV;
            Tensor taken = m[parts[at]], whole = m.op(split).operand(1);
            int32_t size = taken.lastDimension(), channels = whole.lastDimension();
            std::optional<Integers> along = m.integers(m[axis]);
            if (!along || !along->isLastAxisOf(whole.rank()) || !taken.hasOneUse() || taken.statedShape().back() < 0 ||
                !isPerChannel(m[c], taken, size) || !m[f].hasShapeOf(taken))
              return decline("the part has other users or is not one of channels, or the constant none for them");
            if (!m.every(m[c], isFiniteNumber) || (code == Op::DIV && !m.every(m[c], [](double n) { return n != 0; })))
              return decline("the constant is not finite, or divides by zero");
            Expr numbers = spread(m[c], scales ? 1 : 0, static_cast<int32_t>(at) * size, size, channels);
            Linear own;
            if (const char *why = readLinear(m.op(linear), own))
              return decline(why);
            if (scales && own.filter.isShared())
              return decline("the filter has other users, for whom it would have to stay");
            if (own.channels != channels || !m[linear].hasShapeOf(whole) ||
                (scales && !m.everyOf(op(code, {own.filter, reshape(numbers, list(own.alongFilter))}), keepsWeight)))
              return decline("the channels are others, or a scaled weight is not representable");
            unsigned partAt = m.positionOf(parts[at]);
            Expr inner = cloneRoot().operand(partAt, clone(linear)).operand(1 - partAt, numbers).as(m[linear]);
            Expr again = clone(split).operand(1, inner);
            std::vector<std::pair<Tensor, Expr>> places{{m[f], result(again, at)}};
            for (unsigned i = 0; i < m.op(split).resultCount(); ++i)
              if (i != at)
                places.emplace_back(m.op(split).result(i), result(again, i));
            return m.replace(places);
          }};
}

Pass FuseIntoSplit() {
  return {"fuse-into-split",
          "f(split(linear(x))[i], c) -> split(f(linear(x), c there))[i] for a sum or a product with a constant",
          Phase::Fuse,
          true,
          {},
          {part()}};
}

} // namespace origo
