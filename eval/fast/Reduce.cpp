#include "eval/fast/Reduce.h"
#include "eval/Shapes.h"
#include "eval/fast/Fast.h"
#include "eval/fast/Loops.h"
#include "eval/fast/Processor.h"

/// Sums, means, products and extremes of floats along any axes.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

struct Product {
  using Result = float;
  static constexpr float start = 1;
  template <class A> static void next(A &a, const A &b) { a *= b; }
};
struct Minimum {
  using Result = float;
  static constexpr float start = std::numeric_limits<float>::max();
  template <class A> static void next(A &a, const A &b) { a = b < a ? b : a; }
};

/// `count` planes; in each, the numbers of a column, `rowStep` apart, make one result.
struct Planes {
  const float *from;
  int64_t count, fromStep, toStep;
  int64_t rows, rowStep, columns;
};

/// `Many` times `width` columns of so few rows that sums may stay in float. (The columns that are left over are added
/// up in the same order: equal columns have equal results, wherever they lie.)
template <class F, int Many>
[[gnu::always_inline]] inline void reduceColumns(const float *from, int64_t rows, int64_t rowStep,
                                                 typename F::Result *to) {
  Wide sums[Many], next;
  for (Wide &sum : sums)
    sum = Wide{} + F::start;
  for (int64_t row = 0; row < rows; ++row)
    for (int i = 0; i < Many; ++i) {
      read(from + row * rowStep + i * width, next);
      F::next(sums[i], next);
    }
  for (int i = 0; i < Many; ++i)
    joinLanes<F>(sums[i], to + i * width, 1);
}

template <class F> [[gnu::always_inline]] inline void reducePlanes(const Planes &planes, typename F::Result *to) {
  for (int64_t plane = 0; plane < planes.count; ++plane) {
    const float *from = planes.from + plane * planes.fromStep;
    typename F::Result *results = to + plane * planes.toStep;
    if (planes.rowStep == 1) {
      reduceRun<F>(from, planes.rows, results);
      continue;
    }
    for (int64_t done = 0; done < planes.rows; done += stretch, from += stretch * planes.rowStep) {
      int64_t rows = std::min(stretch, planes.rows - done), first = 0;
      for (; first + 4 * width <= planes.columns; first += 4 * width)
        reduceColumns<F, 4>(from + first, rows, planes.rowStep, results + first);
      for (; first + 2 * width <= planes.columns; first += 2 * width)
        reduceColumns<F, 2>(from + first, rows, planes.rowStep, results + first);
      for (; first + width <= planes.columns; first += width)
        reduceColumns<F, 1>(from + first, rows, planes.rowStep, results + first);
      float rest[width];
      std::fill_n(rest, width, F::start);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = first; column < planes.columns; ++column)
          F::next(rest[column - first], from[row * planes.rowStep + column]);
      for (int64_t column = first; column < planes.columns; ++column)
        F::next(results[column], static_cast<typename F::Result>(rest[column - first]));
    }
  }
}

template <class F> void planesPlain(const Planes &planes, typename F::Result *to) { reducePlanes<F>(planes, to); }
template <class F> ORIGO_AVX2 void planesAvx2(const Planes &planes, typename F::Result *to) {
  reducePlanes<F>(planes, to);
}
template <class F> ORIGO_AVX512 void planesAvx512(const Planes &planes, typename F::Result *to) {
  reducePlanes<F>(planes, to);
}

/// Neighbours of one kind have become one dimension: reduced ones (no step in the result) and others take turns.
Loops<2> dimensionsOf(const Tensor &x, llvm::ArrayRef<bool> reduced) {
  Shape kept;
  for (size_t d = 0; d < x.shape.size(); ++d)
    kept.push_back(reduced[d] ? 1 : x.shape[d]);
  auto from = stridesOf(x.shape), to = stridesOf(kept);
  Loops<2> loops;
  for (size_t d = 0; d < x.shape.size(); ++d)
    loops.add(x.shape[d], {from[d], reduced[d] ? 0 : to[d]});
  return loops;
}

template <class F> std::unique_ptr<FastKernel> along(llvm::ArrayRef<int64_t> axes, bool mean) {
  using Result = typename F::Result;
  return fastKernel([mean, axes = llvm::SmallVector<int64_t, 8>(axes),
                     results = std::vector<Result>()](Operands in, Operands out, pthreadpool_t threads) mutable {
    static const auto reduce = forThisProcessor(planesPlain<F>, planesAvx2<F>, planesAvx512<F>);
    const Tensor &x = *in[0];
    llvm::SmallVector<bool, 6> reduced(x.shape.size(), false);
    if (x.rank() != 0) // any axis of a scalar is taken
      for (int64_t axis : axes) {
        if (axis < -x.rank() || axis >= x.rank())
          return false;
        reduced[axis < 0 ? axis + x.rank() : axis] = true;
      }
    Loops<2> loops = dimensionsOf(x, reduced);
    results.assign(static_cast<size_t>(out[0]->count()), F::start);
    Planes planes{dataOf<float>(x), 1, 0, 0, 1, 1, 1};
    if (!loops.dims.empty() && loops.dims.back().steps[1] != 0)
      planes.columns = loops.takeInner().count;
    Loops<2>::Dim rows = loops.takeInner(), outer = loops.takeInner();
    planes.rows = rows.count;
    planes.rowStep = planes.columns == 1 ? 1 : rows.steps[0];
    planes.fromStep = outer.steps[0];
    planes.toStep = outer.steps[1];
    constexpr int64_t many = 64;
    int64_t blocks = (outer.count + many - 1) / many;
    loops.dims.push_back({blocks, {many * outer.steps[0], many * outer.steps[1]}});
    // Threads must not meet at a result.
    bool meet = llvm::any_of(loops.dims, [](const auto &dim) { return dim.steps[1] == 0; });
    loops.each(meet ? nullptr : threads, [&](const Loops<2>::Steps &at, int64_t round) {
      Planes some = planes;
      some.from += at[0];
      some.count = std::min(many, outer.count - round % blocks * many);
      reduce(some, results.data() + at[1]);
    });
    float *y = dataOf<float>(*out[0]);
    auto count = static_cast<Result>(mean ? x.count() / out[0]->count() : 1);
    for (size_t i = 0; i < results.size(); ++i)
      y[i] = static_cast<float>(results[i] / count);
    return true;
  });
}

std::unique_ptr<FastKernel> reduce(const FastSite &site) {
  if (site.type(0) != TensorType::FLOAT32 || site.output().type != TensorType::FLOAT32 || !site.constant(1))
    return nullptr;
  auto axes = site.integers(1);
  if (!axes) {
    llvm::consumeError(axes.takeError());
    return nullptr;
  }
  switch (site.op.code) {
  case Op::SUM:
  case Op::MEAN:
    return along<Sum>(*axes, site.op.code == Op::MEAN);
  case Op::REDUCE_PROD:
    return along<Product>(*axes, false);
  case Op::REDUCE_MAX:
    return along<Maximum>(*axes, false);
  default:
    return along<Minimum>(*axes, false);
  }
}

} // namespace

llvm::ArrayRef<FastRow> fastReduce() {
  static const FastRow rows[] = {{Op::SUM, reduce},
                                 {Op::MEAN, reduce},
                                 {Op::REDUCE_PROD, reduce},
                                 {Op::REDUCE_MAX, reduce},
                                 {Op::REDUCE_MIN, reduce}};
  return rows;
}

} // namespace origo::eval
