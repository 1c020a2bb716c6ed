#include "passes/Linear.h"

#include <cmath>

namespace origo {

/// The bias that adds, to each result, what the filter makes of an input of one number a channel.
static Expr absorbed(Node op, const Linear &linear, const Expr &shift) {
  llvm::SmallVector<int32_t, 3> inputs;
  for (int32_t i = 0; i < linear.filter.rank(); ++i)
    if (i != (op.code() == Op::DEPTHWISE_CONV_2D ? 3 : 0))
      inputs.push_back(i);
  Expr sum = origo::op(Op::SUM, {linear.filter * shift, list(inputs)});
  return linear.bias ? linear.bias + sum : sum;
}

/// Zeros around an image are no channel of what is shifted.
static bool readsBorders(Node op, const Linear &linear) {
  return op.code() != Op::FULLY_CONNECTED && op.option("padding") == 0 &&
         (linear.filter.shape()[1] != 1 || linear.filter.shape()[2] != 1);
}

constexpr auto kinds = {Op::FULLY_CONNECTED, Op::CONV_2D, Op::DEPTHWISE_CONV_2D};

static Rule absorb() {
  auto first = anyOf(kinds).mayActivate().once();
  auto bound = constant();
  auto clamped = minimum(first, bound).once();
  auto second = anyOf(kinds, {clamped | first}).mayActivate();
  return {"absorb", "not a linear operator of another that is used once", second, [=](Match &m) {
            Linear before, behind;
            if (const char *why = readLinear(m.op(first), before))
              return decline(why);
            if (const char *why = readLinear(m.root(), behind))
              return decline(why);
            bool isClamped = m.has(clamped);
            if (isClamped &&
                (!m[bound].isFloat() || m[bound].elementCount() != before.channels || m[bound].rank() != 1))
              return decline("is clamped to other than a number a channel");
            Activation activation = m.op(first).activation();
            if (activation != Activation::NONE && activation != Activation::RELU)
              return decline("the activation does not shift");
            if (behind.filter.lastDimension() != before.channels || m[first].lastDimension() != before.channels)
              return decline("the filter has other channels");
            if (readsBorders(m.root(), behind))
              return decline("zeros around the image are not shifted");
            std::optional<Expr> shift = m.shift();
            if (!shift)
              return decline("nothing says that its channels lie far from zero");
            Expr c = *shift, bias = absorbed(m.root(), behind, c);
            for (Tensor numbers : {before.bias, behind.filter, behind.bias, isClamped ? m[bound] : Tensor()})
              if (numbers && !m.every(numbers, [](double n) { return std::isfinite(n); }))
                return decline("a number is not finite");
            Expr ahead = clone(first).bias(fold(before.bias ? before.bias - c : -c));
            if (isClamped)
              ahead = clone(clamped).operand(0, ahead).operand(1, fold(m[bound] - c));
            return m.replace(clone(second).operand(0, ahead).bias(fold(bias)));
          }};
}

Pass AbsorbBias() {
  return {"absorb-bias",
          "g(relu(f(x, W, b)), V, d) -> g(relu(f(x, W, b - c)), V, d + V*c), with c by channel where records tell that "
          "it stays "
          "above c; without relu, the middle of the channel",
          Phase::Quantize,
          false,
          {},
          {absorb()}};
}

} // namespace origo
