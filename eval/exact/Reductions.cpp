#include "eval/exact/Shared.h"
#include "eval/kernels/Elementwise.h"
#include "eval/kernels/Reduction.h"
#include "eval/kernels/Sliding.h"

/// What puts elements along axes together.
namespace origo::eval::exact {

using namespace loops;

namespace {

template <Number (Arithmetic::*f)(const Number &, const Number &) const> llvm::Error reduceBy(Context &ctx) {
  Reduction reduction(ctx);
  auto out = ctx.output().as<Number>();
  auto x = ctx.input(0).as<Number>();
  std::vector<bool> begun(out.size(), false);
  reduction.forEach(ctx.input(0), [&](int64_t to, int64_t from) {
    out[to] = begun[to] ? (ctx.math.*f)(out[to], x[from]) : x[from];
    begun[to] = true;
  });
  return llvm::all_of(begun, [](bool any) { return any; }) ? llvm::Error::success()
                                                           : ctx.fail(0, "the product or extreme of no elements");
}

template <bool divides> llvm::Error sumOrMean(Context &ctx) {
  Reduction reduction(ctx);
  auto out = ctx.output().as<Number>();
  auto x = ctx.input(0).as<Number>();
  std::vector<Sum> sums(out.size());
  reduction.forEach(ctx.input(0), [&](int64_t to, int64_t from) { sums[to].add(ctx.math, x[from]); });
  Number part = divides && reduction.count ? ctx.math.divide(ctx.math.of(1), ctx.math.ofInteger(reduction.count))
                                           : ctx.math.of(1);
  for (size_t i = 0; i < sums.size(); ++i)
    out[i] = divides ? ctx.math.multiply(sums[i].end(ctx.math), part) : sums[i].end(ctx.math);
  return llvm::Error::success();
}

llvm::Error runningSum(Context &ctx) {
  const auto &options = ctx.options<circle::CumsumOptions>();
  const Tensor &in = ctx.input(0);
  int axis = ctx.axis(*ctx.value(1), in.rank());
  auto x = in.as<Number>();
  auto out = ctx.output().as<Number>();
  int64_t length = in.dim(axis), inner = product(in.shape, axis + 1, in.rank());
  int64_t rows = length ? static_cast<int64_t>(x.size()) / length : 0;
  for (int64_t row = 0; row < rows; ++row) {
    Number sum;
    for (int64_t i = 0; i < length; ++i) {
      int64_t at = row / inner * length * inner + (options.reverse() ? length - 1 - i : i) * inner + row % inner;
      Number before = sum;
      sum = ctx.math.add(sum, x[at]);
      out[at] = options.exclusive() ? before : sum;
    }
  }
  return llvm::Error::success();
}

llvm::Error reduceWindow(Context &ctx) {
  using Function = circle::ReduceWindowFunction;
  auto slide = [&](auto f) {
    return slideAndReduce<Number>(ctx, [&](const Number &a, const Number &b) { return (ctx.math.*f)(a, b); });
  };
  switch (ctx.options2<circle::ReduceWindowOptions>().reduce_function()) {
  case Function::ADD:
    return slide(&Arithmetic::add);
  case Function::MUL:
    return slide(&Arithmetic::multiply);
  case Function::MINIMUM:
    return slide(&Arithmetic::smaller);
  default: // the row has no others
    return slide(&Arithmetic::larger);
  }
}

} // namespace

llvm::ArrayRef<ExactKernel> reductionKernels() {
  using A = Arithmetic;
  static const ExactKernel rows[] = {
      {Op::CUMSUM, runningSum},
      {Op::MEAN, sumOrMean<true>},
      {Op::REDUCE_MAX, reduceBy<&A::larger>},
      {Op::REDUCE_MIN, reduceBy<&A::smaller>},
      {Op::REDUCE_PROD, reduceBy<&A::multiply>},
      {Op::REDUCE_WINDOW, reduceWindow},
      {Op::SUM, sumOrMean<false>},
  };
  return rows;
}

} // namespace origo::eval::exact
