#include "passes/Rule.h"

namespace origo {

/// reshape(x, [shape(x)[0], c, …]) → reshape(x, [−1, c, …]) where only the first dimension of x is not known before run
/// time.
static Rule batch() {
  auto x = any(), begin = constant(), end = constant(), strides = constant();
  auto size = op(Op::STRIDED_SLICE, {op(Op::SHAPE, {x}), begin, end, strides});
  auto sizes = anyOf({Op::PACK, Op::CONCATENATION}, {maybe({Op::CAST}, size)}).mayActivate();
  auto shaped = op(Op::RESHAPE, {x, maybe({Op::CAST}, sizes)});
  return {"batch", "the shape does not begin with a dimension of what is shaped", shaped, [=](Match &m) {
            auto from = m[x].statedShape();
            if (from.empty() || from.front() != -1 || llvm::count(from, -1) != 1)
              return decline("not the first dimension alone is open");
            std::optional<Integers> first = m.integers(m[begin]), last = m.integers(m[end]),
                                    step = m.integers(m[strides]);
            Node slice = m.op(size);
            bool one = first && last && step && first->size() == 1 && last->size() == 1 && step->size() == 1 &&
                       (slice.option("begin_mask") == 1 || first->is(0, 0)) && step->is(0, 1) &&
                       slice.option("new_axis_mask") == 0 && slice.option("ellipsis_mask") == 0 &&
                       (slice.option("shrink_axis_mask") == 1 ||
                        ((last->is(0, 1) || last->is(0, 1 - m[x].rank())) && slice.option("end_mask") == 0));
            if (!one)
              return decline("not the first dimension is taken");
            int64_t known = 1, stated = 1;
            for (int32_t dimension : from.drop_front())
              known *= dimension;
            Integers bound = first->boundTo(*last).boundTo(*step);
            llvm::SmallVector<int32_t, 6> shape = {-1};
            std::optional<size_t> open;
            for (unsigned i = 1; i < m.op(sizes).operandCount(); ++i) {
              std::optional<Integers> more = m.integers(m.op(sizes).operand(i));
              if (!more)
                return decline("another dimension is computed as well");
              bound = bound.boundTo(*more);
              for (int32_t dimension : more->list()) {
                if (dimension == -1 && !open)
                  open = shape.size();
                else if (dimension < 1 || __builtin_mul_overflow(stated, dimension, &stated))
                  stated = 0;
                shape.push_back(dimension);
              }
            }
            if (known < 1 || stated < 1 || known % stated || known / stated > INT32_MAX || (!open && known != stated))
              return decline("the elements of one row do not fill the new shape");
            if (open)
              shape[*open] = static_cast<int32_t>(known / stated);
            return m.replace(clone(shaped).operand(1u, bound.with(shape)));
          }};
}

/// reshape(x, a computed shape) → reshape(x, […, −1, …]) where x and the result have one open dimension each, and as
/// many elements beside it.
static Rule stated() {
  auto x = any(), sizes = any();
  auto shaped = op(Op::RESHAPE, {x, sizes});
  auto row = [](llvm::ArrayRef<int32_t> shape) {
    int64_t count = llvm::count(shape, -1) == 1 ? 1 : 0;
    for (int32_t size : shape)
      if (size != -1 && __builtin_mul_overflow(count, size, &count))
        return int64_t{0};
    return count;
  };
  return {"stated", "has no operand for its shape", shaped, [=](Match &m) {
            if (m[sizes].isConstant())
              return decline("the shape is constant");
            int64_t beside = row(m[x].statedShape());
            if (beside < 1 || beside != row(m[shaped].statedShape()))
              return decline("not one dimension is open before and behind");
            return m.replace(clone(shaped).operand(1u, list(m[shaped].statedShape())));
          }};
}

/// reshape(x, [c, n, d, …]) → reshape(x, [c, −1, d, …]) where one size is computed, which the number of elements tells.
static Rule computed() {
  auto x = any();
  auto sizes = anyOf({Op::PACK, Op::CONCATENATION}).mayActivate();
  auto shaped = op(Op::RESHAPE, {x, maybe({Op::CAST}, sizes)});
  return {"computed", "the shape is not put together", shaped, [=](Match &m) {
            std::optional<Integers> bound;
            llvm::SmallVector<int32_t, 6> shape;
            for (unsigned i = 0; i < m.op(sizes).operandCount(); ++i) {
              Tensor one = m.op(sizes).operand(i);
              if (std::optional<Integers> known = m.integers(one)) {
                bound = bound ? bound->boundTo(*known) : known;
                llvm::append_range(shape, known->list());
              } else if (one.elementCount() == 1) {
                shape.push_back(-1);
              } else {
                return decline("several sizes are computed together");
              }
            }
            if (!bound || llvm::count_if(shape, [](int32_t size) { return size < 1; }) != 1 ||
                !llvm::is_contained(shape, -1))
              return decline("not one size is computed beside others that are known");
            return m.replace(clone(shaped).operand(1u, bound->with(shape)));
          }};
}

Pass StateOpenShape() {
  return {
      "state-open-shape",
      "reshape(x, [shape(x)[0], c, ...]) -> reshape(x, [-1, c, ...]) where only the first dimension of x is open; any "
      "computed shape where one dimension is, before and behind, and one of which one size is computed",
      Phase::Simplify,
      true,
      {},
      {batch(), stated(), computed()}};
}

} // namespace origo
