#include "passes/Rule.h"

namespace origo {

/// resize_nearest_neighbor(x) by whole factors → reshape(reshape(x) · ones)
Pass RepeatByProduct() {
  auto x = any(), size = constant();
  auto resized = op(Op::RESIZE_NEAREST_NEIGHBOR, {x, size});
  Rule product("product", "the size is not constant", resized, [=](Match &m) {
    Tensor from = m[x], to = m[resized];
    if (!from.isFloat() || !from.isStatic() || !to.isStatic() || from.rank() != 4 || from.elementCount() == 0)
      return decline("not a float picture of known shape");
    if (m.op(resized).option("align_corners") || m.op(resized).option("half_pixel_centers") || !m.integers(m[size]))
      return decline("rows and columns are not repeated alike");
    int32_t h = from.shape()[1], w = from.shape()[2], up = to.shape()[1] / h, across = to.shape()[2] / w;
    if (up * h != to.shape()[1] || across * w != to.shape()[2] || up * across < 2 || up > 8 || across > 8)
      return decline("rows and columns are not repeated alike");
    int32_t n = from.shape()[0], c = from.shape()[3];
    Expr ones = fold(broadcastTo(reshape(1.0, list({1, 1, 1, 1, 1, 1})), list({1, 1, up, 1, across, 1})));
    return m.replace(reshape(reshape(x, list({n, h, 1, w, 1, c})) * ones, shapeOf(to)));
  });
  return Pass{"repeat-by-product",
              "resize_nearest_neighbor(x) by whole factors -> reshape(reshape(x) * ones)",
              Phase::Backend,
              false,
              {},
              {product}}
      .mending();
}

} // namespace origo
