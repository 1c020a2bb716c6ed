#include "eval/exact/Shared.h"
#include "eval/kernels/NonMaxSuppression.h"

#include <numeric>

/// Which number is the largest, and which boxes are the best.
namespace origo::eval::exact {

using namespace loops;

namespace {

template <class Index> llvm::Error argBestAs(Context &ctx) {
  const Tensor &in = ctx.input(0);
  int axis = ctx.axis(*ctx.value(1), in.rank());
  Order better = ctx.op.builtinMeant() == Op::ARG_MAX ? Order::Greater : Order::Less;
  int64_t length = in.dim(axis), inner = product(in.shape, axis + 1, in.rank());
  auto x = in.as<Number>();
  auto out = ctx.output().as<Index>();
  if (length == 0 && !out.empty())
    return ctx.fail(0, "has no elements along the axis");
  for (size_t i = 0; i < out.size(); ++i) {
    const Number *row = x.data() + static_cast<int64_t>(i) / inner * length * inner + static_cast<int64_t>(i) % inner;
    int64_t best = 0;
    for (int64_t j = 1; j < length; ++j) {
      Order order = ctx.math.compare(row[j * inner], row[best * inner]);
      ctx.doubtful |= order == Order::Unknown;
      if (order == better)
        best = j;
    }
    out[i] = static_cast<Index>(best);
  }
  return llvm::Error::success();
}
llvm::Error argBest(Context &ctx) {
  return ctx.outputType() == TensorType::INT64 ? argBestAs<int64_t>(ctx) : argBestAs<int32_t>(ctx);
}

/// The k largest of each row, the largest first; among equal ones the first.
template <class Index> llvm::Error largestAs(Context &ctx) {
  const Tensor &in = ctx.input(0);
  int64_t k = std::max<int64_t>(*ctx.value(1), 0), length = in.dim(in.rank() - 1);
  if (length > std::numeric_limits<Index>::max())
    return ctx.fail(0, "has more elements in a row than an index of its type can say");
  Tensor *places = ctx.numOutputs() > 1 ? ctx.outputs[1] : nullptr;
  auto x = in.as<Number>();
  size_t next = 0;
  for (size_t at = 0; k && at < x.size(); at += length) {
    std::vector<Index> order(length);
    std::iota(order.begin(), order.end(), Index(0));
    auto row = x.slice(at, length);
    // Doubles are an order, with NaN at the end; of what is equal but for its double, the first comes first.
    auto last = std::stable_partition(order.begin(), order.end(), [&](Index i) { return !std::isnan(row[i].value); });
    std::stable_sort(order.begin(), last, [&](Index a, Index b) { return row[a].value > row[b].value; });
    for (auto begin = order.begin(); begin != last;) {
      auto end = std::find_if(begin, last, [&](Index i) { return row[i].image != row[*begin].image; });
      std::sort(begin, end);
      begin = end;
    }
    for (int64_t i = 0; i < k; ++i, ++next) {
      if (i + 1 < length)
        ctx.doubtful |= ctx.math.compare(row[order[i]], row[order[i + 1]]) == Order::Unknown;
      if (ctx.outputs[0])
        ctx.outputs[0]->as<Number>()[next] = ctx.doubtful ? Arithmetic::doubtful(row[order[i]]) : row[order[i]];
      if (places)
        places->as<Index>()[next] = order[i];
    }
  }
  return llvm::Error::success();
}
llvm::Error largest(Context &ctx) {
  bool narrow = ctx.numOutputs() > 1 && ctx.outputType(1) == TensorType::INT16;
  return narrow ? largestAs<int16_t>(ctx) : largestAs<int32_t>(ctx);
}

/// What boxes are compared with.
struct Boxes {
  using Number = exact::Number;
  Context &ctx;
  const Arithmetic &math = ctx.math;

  Number of(float x) const { return math.of(static_cast<double>(x)); }
  Number add(const Number &a, const Number &b) const { return math.add(a, b); }
  Number subtract(const Number &a, const Number &b) const { return math.subtract(a, b); }
  Number multiply(const Number &a, const Number &b) const { return math.multiply(a, b); }
  Number divide(const Number &a, const Number &b) const { return math.divide(a, b); }
  Number exponential(const Number &x) const { return math.exponential(x); }
  Number larger(const Number &a, const Number &b) const { return math.larger(a, b); }
  Number smaller(const Number &a, const Number &b) const { return math.smaller(a, b); }
  Order compare(const Number &a, const Number &b) const {
    Order order = math.compare(a, b);
    ctx.doubtful |= order == Order::Unknown;
    return order;
  }
  bool less(const Number &a, const Number &b) const { return compare(a, b) == Order::Less; }
  bool isAtMost(const Number &a, const Number &b) const { return compare(a, b) != Order::Greater; }
  bool isSame(const Number &a, const Number &b) const { return compare(a, b) == Order::Same; }
  Number chosen(const Number &x) const { return ctx.doubtful ? Arithmetic::doubtful(x) : x; }
};
llvm::Error bestBoxes(Context &ctx) { return suppression::run(ctx, Boxes{ctx}); }

} // namespace

llvm::ArrayRef<ExactKernel> orderKernels() {
  static const ExactKernel rows[] = {
      {Op::ARG_MAX, argBest},
      {Op::ARG_MIN, argBest},
      {Op::NON_MAX_SUPPRESSION_V4, bestBoxes},
      {Op::NON_MAX_SUPPRESSION_V5, bestBoxes},
      {Op::TOPK_V2, largest},
  };
  return rows;
}

} // namespace origo::eval::exact
