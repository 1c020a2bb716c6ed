#include "passes/Balance.h"

#include "passes/Linear.h"

#include <cmath>

namespace origo {

/// The greatest magnitude of each of the channels along an axis of a filter.
static Expr reach(Tensor filter, int axis) {
  llvm::SmallVector<int32_t, 3> others;
  for (int32_t i = 0; i < filter.rank(); ++i)
    if (i != axis)
      others.push_back(i);
  return op(Op::REDUCE_MAX, {op(Op::ABS, {filter}), list(others)});
}

constexpr auto kinds = {Op::FULLY_CONNECTED, Op::CONV_2D, Op::DEPTHWISE_CONV_2D};

/// What makes the channels in between, in the names of a pattern: a linear operator, which may be clamped, or what a
/// norm ends in, x · γ + β or x · γ alone.
struct Makers {
  explicit Makers(bool forAll) : forAll(forAll) {
    auto read = [&](Expr maker) { return forAll ? maker : maker.once(); };
    linear = read(anyOf(kinds).mayActivate());
    shifted = read((scaled + beta).mayActivate());
    alone = read((x * gamma).mayActivate());
    clamped = minimum(linear, bound).once();
  }
  bool forAll; ///< several operators may read it
  Expr x = any(), gamma = constant(), beta = constant(), bound = constant(), scaled = (x * gamma).once();
  Expr linear = x, clamped = x, shifted = x, alone = x;
};

/// Of a norm, γ is what a filter is otherwise, and β the bias.
static const char *readNorm(Match &m, const Makers &makers, Tensor made, Linear &parts) {
  parts.filter = m[makers.gamma];
  parts.bias = m.has(makers.beta) ? m[makers.beta] : Tensor();
  parts.channels = made.lastDimension();
  parts.alongFilter = {parts.channels};
  for (Tensor numbers : {parts.filter, parts.bias})
    if (numbers && (parts.channels < 2 || !isPerChannel(numbers, made, parts.channels)))
      return "what a norm is multiplied by or added to is not one number for each of several channels";
  return nullptr;
}

static Rule balanced(llvm::StringLiteral name, llvm::StringLiteral missing, const Makers &makers, Expr maker,
                     ChannelRatio ratio) {
  auto second = anyOf(kinds, {maker}).mayActivate();
  return {name, missing, second, [=](Match &m) {
            Linear before, behind;
            bool isShifted = m.has(makers.shifted), isNorm = isShifted || m.has(makers.alone);
            Expr first = isShifted ? makers.shifted : isNorm ? makers.alone : makers.linear;
            if (const char *why = isNorm ? readNorm(m, makers, m[first], before) : readLinear(m.op(first), before))
              return decline(why);
            if (const char *why = readLinear(m.root(), behind))
              return decline(why);
            Activation activation = m.op(first).activation();
            bool isClamped = m.has(makers.clamped);
            Tensor bound = isClamped ? m[makers.bound] : Tensor();
            if (isClamped && (!bound.isFloat() || bound.elementCount() != before.channels || bound.rank() != 1))
              return decline("is clamped to other than a number a channel");
            if (activation != Activation::NONE && activation != Activation::RELU && activation != Activation::RELU6)
              return decline("the activation does not scale");
            if (before.filter.isShared() || behind.filter.isShared() || (isShifted && before.bias.isShared()))
              return decline("a filter has other users, for whom it would have to stay");
            if (behind.filter.lastDimension() != before.channels || m[first].lastDimension() != before.channels)
              return decline("the filter has other channels");
            bool isLast = isNorm || m.op(first).code() == Op::DEPTHWISE_CONV_2D;
            Expr w = reach(before.filter, isLast ? before.filter.rank() - 1 : 0);
            Expr v = reach(behind.filter, behind.filter.rank() - 1);
            if (makers.forAll) {
              std::optional<Expr> all = m.weightsOfAllReaders();
              if (!all)
                return decline("others than linear operators read it, too");
              v = maximum(v, *all);
            }
            auto isFinite = [](double n) { return std::isfinite(n); };
            for (Tensor numbers : {before.filter, before.bias, behind.filter, bound})
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
            Expr filter = fold(before.filter / reshape(s, list(before.alongFilter)));
            Expr ahead = isShifted ? makers.scaled : first;
            ahead = isNorm ? clone(ahead).operand(0, makers.x).operand(1, filter) : clone(ahead).filter(filter);
            if (isShifted)
              ahead = clone(first).operand(0, ahead).operand(1, fold(before.bias / s));
            else if (before.bias)
              ahead = ahead.bias(fold(before.bias / s));
            if (isClamped)
              ahead = clone(makers.clamped).operand(0, ahead).operand(1, fold(bound / s));
            else if (activation == Activation::RELU6)
              ahead = minimum(ahead.activation(Activation::RELU), fold(6.0 / s));
            Expr taken = clone(second).operand(0, ahead).filter(fold(behind.filter * s));
            if (!makers.forAll)
              return m.replace(taken);
            return m.replace(
                {{m[first], (ahead * fold(s)).synthetic(SyntheticReason::ScaleBridge)}, {m.root().result(), taken}});
          }};
}

Rule balancedChannels(ChannelRatio ratio, bool norms) {
  Makers makers(false);
  auto linear = makers.clamped | makers.linear;
  if (norms)
    return balanced("balance", "not a linear operator of another, or of a norm, that is used once", makers,
                    linear | makers.shifted | makers.alone, ratio);
  return balanced("balance", "not a linear operator of another that is used once", makers, linear, ratio);
}

Rule balancedForAll(ChannelRatio ratio) {
  Makers makers(true);
  return balanced("balance-for-all", "not a linear operator of another, or of a norm", makers,
                  makers.linear | makers.shifted | makers.alone, ratio);
}

} // namespace origo
