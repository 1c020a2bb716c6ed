#include "eval/kernels/Places.h"
#include "eval/exact/Shared.h"
#include "eval/kernels/Embedding.h"
#include "eval/kernels/Segment.h"

#include <map>

/// Rows and places that indices name.
namespace origo::eval::exact {

using namespace loops;

namespace {

llvm::Error addSegments(Context &ctx) {
  return loops::addSegments<Number>(ctx, {}, [&](const Number &a, const Number &b) { return ctx.math.add(a, b); });
}
template <Number (Arithmetic::*f)(const Number &, const Number &) const> llvm::Error foldSegments(Context &ctx) {
  double start = 0;
  switch (ctx.op.builtinMeant()) {
  case Op::UNSORTED_SEGMENT_PROD:
    start = 1;
    break;
  case Op::UNSORTED_SEGMENT_MAX:
    start = static_cast<double>(std::numeric_limits<float>::lowest());
    break;
  case Op::UNSORTED_SEGMENT_MIN:
    start = static_cast<double>(std::numeric_limits<float>::max());
    break;
  default:
    break;
  }
  return loops::foldSegments<Number>(ctx, ctx.math.of(start),
                                     [&](const Number &a, const Number &b) { return (ctx.math.*f)(a, b); });
}
llvm::Error scatter(Context &ctx) {
  return loops::scatter<Number>(ctx, [&](Number &to, const Number &x) { to = ctx.math.add(to, x); });
}

/// Rows of a table of floats, or of one that is stored as integers with scales.
llvm::Error embedding(Context &ctx) {
  const Tensor &table = ctx.input(1);
  if (llvm::Error error = checkRows(ctx, 0, ctx.input(0).as<int32_t>(), table))
    return error;
  std::vector<Number> read;
  llvm::ArrayRef<Number> numbers;
  if (isReal(table.type)) {
    numbers = table.as<Number>();
  } else {
    read.resize(static_cast<size_t>(table.count()));
    if (llvm::Error error = readNumbers(table, ctx.math, read))
      return error;
    numbers = read;
  }
  size_t length = static_cast<size_t>(product(table.shape, 1, table.rank()));
  Number *to = ctx.output().as<Number>().data();
  for (int32_t row : ctx.input(0).as<int32_t>())
    to = std::copy_n(numbers.data() + row * length, length, to);
  return llvm::Error::success();
}
llvm::Error sparseEmbedding(Context &ctx) { return embeddingSparse<Number>(ctx, ctx.math); }

/// Where numbers are that are not zero.
llvm::Error places(Context &ctx) {
  const Tensor &in = ctx.input(0);
  auto x = in.as<Number>();
  auto holds = [&](const Number &number) {
    ctx.doubtful |= number.isDoubtful();
    return number.image != 0;
  };
  auto output = ctx.output(0, {static_cast<int32_t>(llvm::count_if(x, holds)), in.rank()});
  if (!output)
    return output.takeError();
  auto out = (*output)->as<int64_t>();
  auto strides = stridesOf(in.shape);
  size_t to = 0;
  for (auto [i, number] : llvm::enumerate(x))
    if (int64_t rest = static_cast<int64_t>(i); holds(number))
      for (int64_t stride : strides) {
        out[to++] = rest / stride;
        rest %= stride;
      }
  return llvm::Error::success();
}

/// Each number once, in the order of appearance, and where each of the input's is among them.
llvm::Error unique(Context &ctx) {
  auto x = ctx.input(0).as<Number>();
  std::map<uint64_t, int64_t> seen;
  std::vector<Number> kept;
  std::vector<int64_t> at;
  for (const Number &number : x) {
    ctx.doubtful |= number.isDoubtful();
    auto [found, isNew] = seen.try_emplace(number.image, static_cast<int64_t>(kept.size()));
    if (isNew)
      kept.push_back(number);
    at.push_back(found->second);
  }
  if (ctx.wants(0)) {
    auto numbers = ctx.output(0, {static_cast<int32_t>(kept.size())});
    if (!numbers)
      return numbers.takeError();
    llvm::copy(kept, (*numbers)->as<Number>().begin());
  }
  if (!ctx.wants(1))
    return llvm::Error::success();
  auto indices = ctx.output(1, {static_cast<int32_t>(x.size())});
  if (!indices)
    return indices.takeError();
  if ((*indices)->type == TensorType::INT64)
    llvm::copy(at, (*indices)->as<int64_t>().begin());
  else
    llvm::copy(at, (*indices)->as<int32_t>().begin());
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<ExactKernel> placeKernels() {
  using A = Arithmetic;
  static const ExactKernel rows[] = {
      {Op::EMBEDDING_LOOKUP, embedding},
      {Op::EMBEDDING_LOOKUP_SPARSE, sparseEmbedding},
      {Op::SCATTER_ND, scatter},
      {Op::SEGMENT_SUM, addSegments},
      {Op::UNIQUE, unique},
      {Op::UNSORTED_SEGMENT_MAX, foldSegments<&A::larger>},
      {Op::UNSORTED_SEGMENT_MIN, foldSegments<&A::smaller>},
      {Op::UNSORTED_SEGMENT_PROD, foldSegments<&A::multiply>},
      {Op::UNSORTED_SEGMENT_SUM, foldSegments<&A::add>},
      {Op::WHERE, places},
  };
  return rows;
}

} // namespace origo::eval::exact
