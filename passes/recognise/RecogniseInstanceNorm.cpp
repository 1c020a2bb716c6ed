#include "passes/Rule.h"

#include <cmath>

namespace origo {

/// The shape in which an instance norm over these axes goes over dimensions 1 and 2, for each element of the last: that
/// is, dimensions that are not 1 are first kept, then gone over, then kept. Empty: they are not.
static llvm::SmallVector<int32_t, 4> pictureShape(llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<int32_t> axes) {
  llvm::SmallVector<int32_t, 4> picture{1};
  bool reduced = false; // whether the dimension before was gone over
  unsigned turns = 0;
  for (auto [i, size] : llvm::enumerate(shape)) {
    bool reduces = llvm::is_contained(axes, static_cast<int32_t>(i));
    if (size == 1)
      continue;
    turns += reduces != reduced;
    reduced = reduces;
    if (turns > 2 || (reduces && picture.size() == 3))
      return {};
    if (turns == 0)
      picture.front() *= size;
    else if (reduces)
      picture.push_back(size);
    else if (turns == 2 && picture.size() < 4)
      picture.resize(3, 1), picture.push_back(size);
    else
      picture.back() *= size;
  }
  picture.resize(4, 1);
  return picture;
}

/// (x − mean(x)) · rsqrt(variance(x) + ε) · γ + β, with γ and β or without.
static Rule norm() {
  auto x = any(), axes = constant(), again = constant(), epsilon = constant(), gamma = constant(), beta = constant();
  auto centre = mean(x, axes).with("keep_dims", 1);
  auto away = x - centre;
  auto squares = squaredDifference(x, centre) | squaredDifference(centre, x) | square(away) | away * away;
  auto variance = mean(squares, again).with("keep_dims", 1) + epsilon;
  auto factor = rsqrt(variance) | 1 / sqrt(variance) | 1 / pow(variance, 0.5);
  auto scale = factor * gamma;
  auto unit = away * factor | away / (sqrt(variance) | pow(variance, 0.5)); // of mean 0 and variance 1
  auto pattern = (x * scale + (beta - centre * scale)).mayActivate() |
                 (x * scale + -centre * scale + beta).mayActivate() |
                 (x * factor + (beta - centre * factor)).mayActivate() | (unit * gamma + beta).mayActivate() |
                 (unit + beta).mayActivate();
  return {"norm", "not (x − mean(x)) · rsqrt(variance(x) + ε) · γ + β", pattern, [=](Match &m) {
            std::optional<Integers> over = m.integers(m[axes]), overAgain = m.integers(m[again]);
            auto reduced = over ? over->axesOf(m[x].rank()) : std::nullopt;
            if (!reduced || !overAgain || overAgain->axesOf(m[x].rank()) != reduced)
              return decline("mean and variance are not over the same axes");
            if (!m[x].isFloat() || !m[x].isStatic())
              return decline("not float, or the shape is not known before run time");
            auto picture = pictureShape(m[x].shape(), *reduced);
            bool whole = m[x].rank() == 4 && *reduced == llvm::SmallVector<int32_t, 6>{1, 2};
            if (!whole && picture.empty())
              return decline("the mean is not over neighbouring dimensions");
            int32_t channels = whole ? m[x].lastDimension() : picture.back();
            auto alongChannels = [&](Tensor c) -> std::optional<Expr> {
              if (!c.isFloat() || (c.elementCount() != 1 && c.elementCount() != channels))
                return std::nullopt;
              // All channels are in one dimension, where the constant broadcasts along just that.
              int last = m[x].rank() - 1;
              while (last > 0 && channels != 1 && m[x].shape()[last] == 1)
                --last;
              int at = last - (m[x].rank() - c.rank());
              if (c.elementCount() != 1 && (at < 0 || m[x].shape()[last] != channels || c.shape()[at] != channels))
                return std::nullopt;
              if (c.elementCount() == 1)
                return fold(broadcastTo(reshape(c, list({1})), list({channels})));
              return c.rank() == 1 ? Expr(c) : fold(reshape(c, list({channels})));
            };
            auto offset = alongChannels(m[beta]);
            auto slope = m.has(gamma) ? alongChannels(m[gamma]) : fold(broadcastTo(1.0, list({channels})));
            if (!offset || !slope)
              return decline("gamma or beta is not one number a channel");
            std::optional<Number> small = m.number(m[epsilon]);
            if (!small || !m.every(m[epsilon], [](double n) { return n >= 0 && std::isfinite(n); }))
              return decline("epsilon is not one number");
            auto bridge = SyntheticReason::LayoutBridge;
            Expr input = whole ? Expr(x) : reshape(x, list(picture)).synthetic(bridge);
            Expr result = op(Op::INSTANCE_NORM, {input, *slope, *offset}).with("epsilon", *small);
            result = result.activation(m.root().activation());
            return m.replace(whole ? result : reshape(result, shapeOf(m[x])).synthetic(bridge));
          }};
}

Pass RecogniseInstanceNorm() {
  return {"recognise-instance-norm",
          "(x - mean(x)) * rsqrt(variance(x) + e) * g + b -> instance_norm(x, g, b), mean and variance over a picture",
          Phase::Recognise,
          true,
          {{"fuse_instnorm", {}}},
          {norm()}};
}

} // namespace origo
