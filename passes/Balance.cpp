#include "passes/Balance.h"

#include "passes/Linear.h"

#include <cmath>

namespace origo {

/// The greatest magnitude of each of the channels along an axis of a filter.
static Expr reach(Tensor filter, size_t axis) {
  llvm::SmallVector<int32_t, 3> others;
  for (int32_t i = 0; i < filter.rank(); ++i)
    if (i != static_cast<int32_t>(axis))
      others.push_back(i);
  return op(Op::REDUCE_MAX, {op(Op::ABS, {filter}), list(others)});
}

static Rule balanced(llvm::StringLiteral name, llvm::StringLiteral missing, Expr first, std::optional<Expr> clamped,
                     Expr bound, Expr second, ChannelRatio ratio, bool forAll) {
  return {name, missing, second, [=](Match &m) {
            Linear before, behind;
            if (const char *why = readLinear(m.op(first), before))
              return decline(why);
            if (const char *why = readLinear(m.root(), behind))
              return decline(why);
            Activation activation = m.op(first).activation();
            bool isClamped = clamped && m.has(*clamped);
            if (isClamped &&
                (!m[bound].isFloat() || m[bound].elementCount() != before.channels || m[bound].rank() != 1))
              return decline("is clamped to other than a number a channel");
            if (activation != Activation::NONE && activation != Activation::RELU && activation != Activation::RELU6)
              return decline("the activation does not scale");
            if (before.filter.isShared() || behind.filter.isShared())
              return decline("a filter has other users, for whom it would have to stay");
            if (behind.filter.lastDimension() != before.channels || m[first].lastDimension() != before.channels)
              return decline("the filter has other channels");
            Expr w = reach(before.filter, m.op(first).code() == Op::DEPTHWISE_CONV_2D ? 3 : 0);
            Expr v = reach(behind.filter, static_cast<size_t>(behind.filter.rank()) - 1);
            if (forAll) {
              std::optional<Expr> all = m.weightsOfAllReaders();
              if (!all)
                return decline("others than linear operators read it, too");
              v = maximum(v, *all);
            }
            auto isFinite = [](double n) { return std::isfinite(n); };
            for (Tensor numbers : {before.filter, before.bias, behind.filter, isClamped ? m[bound] : Tensor()})
              if (numbers && !m.every(numbers, isFinite))
                return decline("a filter is not finite, or the ranges are too far apart");
            std::optional<Expr> wanted = ratio(m, w, v);
            if (!wanted)
              return decline("nothing says how far the channels in between go");
            Expr s = *wanted;
            if (m.everyOf(s * 1.0, [](float s, float, float) { return s > 0.8f && s < 1.25f; }))
              return decline("the channels are balanced");
            if (!m.everyOf(s * 1.0, [](float s, float, float) { return s > 1e-6f && s < 1e6f; }))
              return decline("a filter is not finite, or the ranges are too far apart");
            Expr ahead = clone(first).filter(fold(before.filter / reshape(s, list(before.alongFilter))));
            if (before.bias)
              ahead = ahead.bias(fold(before.bias / s));
            if (isClamped)
              ahead = clone(*clamped).operand(0, ahead).operand(1, fold(m[bound] / s));
            else if (activation == Activation::RELU6)
              ahead = minimum(ahead.activation(Activation::RELU), fold(6.0 / s));
            Expr taken = clone(second).operand(0, ahead).filter(fold(behind.filter * s));
            if (!forAll)
              return m.replace(taken);
            return m.replace(
                {{m[first], (ahead * fold(s)).synthetic(SyntheticReason::LayoutBridge)}, {m.root().result(), taken}});
          }};
}

constexpr auto kinds = {Op::FULLY_CONNECTED, Op::CONV_2D, Op::DEPTHWISE_CONV_2D};

Rule balancedChannels(ChannelRatio ratio) {
  auto first = anyOf(kinds).mayActivate().once();
  auto bound = constant();
  auto clamped = minimum(first, bound).once();
  auto second = anyOf(kinds, {clamped | first}).mayActivate();
  return balanced("balance", "not a linear operator of another that is used once", first, clamped, bound, second, ratio,
                  false);
}

Rule balancedForAll(ChannelRatio ratio) {
  auto first = anyOf(kinds).mayActivate();
  auto second = anyOf(kinds, {first}).mayActivate();
  return balanced("balance-for-all", "not a linear operator of another", first, std::nullopt, constant(), second, ratio,
                  true);
}

} // namespace origo
