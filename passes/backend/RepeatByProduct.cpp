#include "passes/Rule.h"

namespace origo {

/// How often rows and columns are repeated; none: not alike, or not by whole factors up to 8.
static std::optional<std::pair<int32_t, int32_t>> factors(Match &m, const Expr &x, const Expr &size,
                                                          const Expr &resized) {
  Tensor from = m[x], to = m[resized];
  if (!from.isStatic() || !to.isStatic() || from.rank() != 4 || from.elementCount() == 0 || !m.integers(m[size]) ||
      m.op(resized).option("align_corners") || m.op(resized).option("half_pixel_centers"))
    return std::nullopt;
  int32_t up = to.shape()[1] / from.shape()[1], across = to.shape()[2] / from.shape()[2];
  bool whole = up * from.shape()[1] == to.shape()[1] && across * from.shape()[2] == to.shape()[2];
  if (!whole || up > 8 || across > 8 || up * across < 2)
    return std::nullopt;
  return std::pair(up, across);
}

/// resize_nearest_neighbor(x) by whole factors → reshape(reshape(x) · ones)
static Rule byOnes() {
  auto x = any(), size = constant();
  auto resized = op(Op::RESIZE_NEAREST_NEIGHBOR, {x, size});
  return {"product", "the size is not constant", resized, [=](Match &m) {
            auto times = factors(m, x, size, resized);
            if (!times || !m[x].isFloat())
              return decline("not float, or rows and columns are not repeated alike");
            auto from = m[x].shape();
            Expr ones = fold(
                broadcastTo(reshape(1.0, list({1, 1, 1, 1, 1, 1})), list({1, 1, times->first, 1, times->second, 1})));
            Expr apart = reshape(x, list({from[0], from[1], 1, from[2], 1, from[3]}));
            return m.replace(reshape(apart * ones, shapeOf(m[resized])));
          }};
}

/// resize_nearest_neighbor(x) by whole factors → rows joined with themselves, and columns likewise
static Rule byJoining() {
  auto x = any(), size = constant();
  auto resized = op(Op::RESIZE_NEAREST_NEIGHBOR, {x, size});
  return {"joined", "the size is not constant", resized, [=](Match &m) {
            auto times = factors(m, x, size, resized);
            int64_t row = times ? int64_t{m[x].shape()[2]} * m[x].shape()[3] : 0;
            int64_t rows = times ? int64_t{m[resized].shape()[1]} * m[x].shape()[0] : 0;
            if (!times || std::max(times->first, times->second) > 4 || row > INT32_MAX || rows > INT32_MAX ||
                !m[x].isPerTensor() || !m[x].hasQuantizationOf(m[resized]))
              return decline("the scale changes, or rows and columns are not repeated alike");
            auto from = m[x].shape();
            auto repeated = [](const Expr &value, int32_t times) {
              return times == 1
                         ? value
                         : op(Op::CONCATENATION, std::vector<Expr>(static_cast<size_t>(times), value)).with("axis", 2);
            };
            Expr tall = repeated(reshape(x, list({from[0], from[1], 1, static_cast<int32_t>(row)})), times->first);
            Expr wide = repeated(reshape(tall, list({static_cast<int32_t>(rows), from[2], 1, from[3]})), times->second);
            return m.replace(reshape(wide, shapeOf(m[resized])));
          }};
}

Pass RepeatByProduct() {
  return Pass{"repeat-by-product",
              "resize_nearest_neighbor(x) by whole factors -> reshape(reshape(x) * ones), or concatenations of x with "
              "itself",
              Phase::Backend,
              false,
              {},
              {byOnes(), byJoining()}}
      .mending();
}

} // namespace origo
