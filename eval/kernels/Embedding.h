#pragma once

#include "eval/Kernel.h"
#include "eval/Shapes.h"

/// Rows of tables, of any kind of number.
namespace origo::eval::loops {

/// Refuses row numbers that the table does not have.
inline llvm::Error checkRows(KernelContext &ctx, unsigned operand, llvm::ArrayRef<int32_t> rows, const Tensor &table) {
  for (int32_t row : rows)
    if (row < 0 || row >= table.dim(0))
      return ctx.fail(operand, "row " + llvm::Twine(row) + " of " + llvm::Twine(table.dim(0)));
  return llvm::Error::success();
}

/// EMBEDDING_LOOKUP_SPARSE: rows of the table, weighted and added up by all but the last coordinate of their place.
template <class T, class M> llvm::Error embeddingSparse(KernelContext &ctx, const M &math) {
  const Tensor &ids = ctx.input(0), &places = ctx.input(1), &weights = ctx.input(3);
  const Tensor &table = ctx.input(4);
  int32_t rank = places.dim(1);
  auto dims = *ctx.values(2);
  const Shape &shape = ctx.output().shape;
  size_t leading = dims.size() - 1;
  auto rows = ids.as<int32_t>(), at = places.as<int32_t>();
  if (llvm::Error error = checkRows(ctx, 0, rows, table))
    return error;
  for (size_t i = 0; i < at.size(); ++i)
    if (at[i] < 0 || at[i] >= dims[i % rank])
      return ctx.fail(1, "index " + llvm::Twine(at[i]) + " of " + llvm::Twine(dims[i % rank]) + " elements");
  auto out = ctx.output().as<T>();
  std::fill(out.begin(), out.end(), T());
  if (out.empty() || rows.empty())
    return llvm::Error::success();

  auto combiner = ctx.options<circle::EmbeddingLookupSparseOptions>().combiner();
  int64_t length = product(table.shape, 1, table.rank()), buckets = product(shape, 0, leading);
  auto strides = stridesOf(llvm::ArrayRef(shape).take_front(leading));
  auto weight = weights.as<T>(), x = table.as<T>();
  std::vector<T> total(buckets, T());
  std::vector<bool> used(buckets, false);
  for (size_t i = 0; i < rows.size(); ++i) {
    int64_t bucket = 0;
    for (size_t d = 0; d < leading; ++d)
      bucket += at[i * rank + d] * strides[d];
    used[bucket] = true;
    T by = combiner == circle::CombinerType::SQRTN ? math.multiply(weight[i], weight[i]) : weight[i];
    total[bucket] = math.add(total[bucket], by);
    for (int64_t j = 0; j < length; ++j) {
      T &sum = out[bucket * length + j];
      sum = math.add(sum, math.multiply(x[rows[i] * length + j], weight[i]));
    }
  }
  if (combiner == circle::CombinerType::SUM)
    return llvm::Error::success();
  for (int64_t bucket = 0; bucket < buckets; ++bucket) {
    if (!used[bucket])
      continue;
    T by = combiner == circle::CombinerType::SQRTN ? math.root(total[bucket]) : total[bucket];
    for (int64_t j = 0; j < length; ++j)
      out[bucket * length + j] = math.divide(out[bucket * length + j], by);
  }
  return llvm::Error::success();
}

} // namespace origo::eval::loops
