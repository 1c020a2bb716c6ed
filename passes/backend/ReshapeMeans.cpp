#include "passes/Rule.h"

namespace origo {

/// The axes of a mean of floats, in order, if they are known and follow each other.
static std::optional<std::pair<int32_t, int32_t>> axesInARow(Match &m, Tensor x, Tensor axes) {
  std::optional<Integers> list = m.integers(axes);
  auto over = list ? list->axesOf(x.rank()) : std::nullopt;
  if (!over || over->empty())
    return std::nullopt;
  llvm::sort(*over);
  if (over->back() - over->front() + 1 != static_cast<int32_t>(over->size()))
    return std::nullopt;
  return std::pair(over->front(), over->back());
}

static int64_t product(llvm::ArrayRef<int32_t> sizes) {
  int64_t count = 1;
  for (int32_t size : sizes)
    count *= size;
  return count;
}

/// mean(x, last axis) → fc(x, 1/n …): a sum of products, of which each factor is the same.
static Rule byProduct() {
  auto x = any(), axes = constant();
  auto over = mean(x, axes);
  return {"product", "the axes are not constant", over, [=](Match &m) {
            Tensor from = m[x], to = m[over];
            auto row = axesInARow(m, from, m[axes]);
            if (!row || !from.isFloat() || !from.isStatic() || !to.isStatic())
              return decline("not float of known shape, or not over axes in a row");
            if (row->second != from.rank() - 1 || from.rank() < 2 || row->first == 0)
              return decline("not over the last axes, or over all");
            int64_t length = product(from.shape().drop_front(row->first));
            if (length < 1 || length > 65536)
              return decline("none or too many elements in a mean");
            auto n = static_cast<int32_t>(length);
            Expr each = 1.0 / Expr(static_cast<double>(n)); // rounded when it is written
            Expr weights = fold(broadcastTo(reshape(each, list({1, 1})), list({1, n})));
            llvm::SmallVector<int32_t, 6> flat(from.shape().take_front(row->first));
            flat.push_back(n);
            Expr rows = row->first == row->second ? Expr(x) : reshape(x, list(flat));
            Expr sums = op(Op::FULLY_CONNECTED, {rows, weights, Tensor()}).with("keep_num_dims", flat.size() != 2);
            flat.back() = 1;
            return m.replace(llvm::ArrayRef<int32_t>(flat) == to.shape() ? sums : reshape(sums, shapeOf(to)));
          }};
}

/// mean(x, axes in a row) → reshape(mean(reshape(x, [before, n, 1, behind]), [1, 2])): as a pool has them.
static Rule asPicture() {
  auto x = any(), axes = constant();
  auto over = mean(x, axes);
  return {"picture", "the axes are not constant", over, [=](Match &m) {
            Tensor from = m[x], to = m[over];
            auto row = axesInARow(m, from, m[axes]);
            if (!row || !from.isFloat() || !from.isStatic() || !to.isStatic())
              return decline("not float of known shape, or not over axes in a row");
            int64_t before = product(from.shape().take_front(row->first)),
                    behind = product(from.shape().drop_front(row->second + 1)),
                    length = product(from.shape().slice(row->first, row->second - row->first + 1));
            if (before < 1 || behind < 1 || length < 1 || from.elementCount() > INT32_MAX)
              return decline("no elements, or too many");
            if (from.rank() == 4 && row->first == 1 && row->second == 2)
              return decline("a picture already");
            auto size = [](int64_t count) { return static_cast<int32_t>(count); };
            int32_t shape[] = {size(before), size(length), 1, size(behind)};
            Expr picture = from.shape() == llvm::ArrayRef(shape) ? Expr(x) : reshape(x, list(shape));
            return m.replace(reshape(mean(picture, list({1, 2})).with("keep_dims", 1), shapeOf(to)));
          }};
}

Pass ReshapeMeans() {
  return Pass{"reshape-means",
              "mean(x, last axes) -> fc(x, 1/n); mean(x, axes in a row) -> reshape(mean(reshape(x), [1, 2]))",
              Phase::Backend,
              false,
              {},
              {byProduct(), asPicture()}}
      .mending();
}

} // namespace origo
