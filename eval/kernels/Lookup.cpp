#include "eval/Kernels.h"
#include "eval/Numbers.h"
#include "eval/kernels/BlockScales.h"
#include "eval/kernels/Embedding.h"
#include "eval/kernels/Move.h"
#include "eval/kernels/Recurrent.h"

#include <cmath>

/// Rows of tables by their number or their key.
namespace origo::eval {

namespace {

llvm::Error embeddingLookup(KernelContext &ctx) {
  const Tensor &table = ctx.input(1);
  if (llvm::Error error = loops::checkRows(ctx, 0, ctx.input(0).as<int32_t>(), table))
    return error;
  int64_t size = product(table.shape, 1, table.rank()) * elementSize(table);
  uint8_t *to = ctx.output().storage.data();
  if (ctx.output().storage.empty())
    return llvm::Error::success();
  for (int32_t row : ctx.input(0).as<int32_t>()) {
    std::memcpy(to, table.bytes().data() + row * size, size);
    to += size;
  }
  return llvm::Error::success();
}

float toFloat(float x) { return x; }
int8_t byteAt(const uint8_t *bytes, int64_t i) { return static_cast<int8_t>(bytes[i]); }

/// A table of quantised rows, with one scale, or one for each row or block of a row, and no zero point. The numbers are
/// signed ones, even where the type says otherwise.
template <class Out, Out (*rounded)(float)> llvm::Error embeddingDequantized(KernelContext &ctx) {
  const Tensor &table = ctx.input(1);
  if (llvm::Error error = loops::checkRows(ctx, 0, ctx.input(0).as<int32_t>(), table))
    return error;
  auto blocks = blockScales(ctx, table);
  if (!blocks)
    return blocks.takeError();
  int64_t blockSize = blocks->empty() ? 1 : table.quantization->more->blockSize;
  auto numberAt = table.type == TensorType::INT4 ? int4At : table.type == tensorTypeInt2 ? int2At : byteAt;
  auto out = ctx.output().as<Out>();
  const uint8_t *numbers = table.bytes().data();
  size_t to = 0;
  int64_t length = product(table.shape, 1, table.rank());
  for (int32_t row : ctx.input(0).as<int32_t>())
    for (int64_t at = row * length; at < (row + 1) * length && to < out.size(); ++at)
      out[to++] = rounded(static_cast<float>(numberAt(numbers, at)) *
                          (blocks->empty() ? table.scaleOf(row) : (*blocks)[at / blockSize]));
  return llvm::Error::success();
}

llvm::Error embeddingSparse(KernelContext &ctx) { return loops::embeddingSparse<float>(ctx, Floats{plainDots}); }

/// HASHTABLE_LOOKUP: rows by rising keys; zeros, and no hit, for a key that is not there.
llvm::Error hashtableLookup(KernelContext &ctx) {
  const Tensor &table = ctx.input(2);
  if (table.dim(0) != ctx.input(1).dim(0))
    return ctx.fail(2, "does not have a row for each key");
  Tensor *rows = ctx.outputs[0], *hits = ctx.numOutputs() > 1 ? ctx.outputs[1] : nullptr;
  auto wanted = ctx.input(0).as<int32_t>(), keys = ctx.input(1).as<int32_t>();
  if (!llvm::is_sorted(keys))
    return ctx.fail(1, "the keys do not rise");
  int64_t size = product(table.shape, 1, table.rank()) * elementSize(table);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int32_t *found = llvm::lower_bound(keys, wanted[i]);
    bool hit = found != keys.end() && *found == wanted[i];
    if (hits)
      hits->as<uint8_t>()[i] = hit;
    if (!rows || size == 0)
      continue;
    uint8_t *to = rows->storage.data() + i * size;
    if (hit)
      std::memcpy(to, table.bytes().data() + (found - keys.begin()) * size, size);
    else
      std::memset(to, 0, size);
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> lookupKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::EMBEDDING_LOOKUP, "i32[n], i8|u8{t|c0} -> f32", embeddingDequantized<float, toFloat>},
      {Op::EMBEDDING_LOOKUP, "i32[n], any -> same1", embeddingLookup},
      {Op::EMBEDDING_LOOKUP, "i32[n], i4|i2{t|c0} -> f32", embeddingDequantized<float, toFloat>},
      {Op::EMBEDDING_LOOKUP, "i32[n], i8|i4|i2{b}[r,d] -> f32", embeddingDequantized<float, toFloat>},
      {Op::EMBEDDING_LOOKUP, "i32[n], i8|i4|i2{t|c0} -> f16", embeddingDequantized<uint16_t, floatToHalf>},
      {Op::EMBEDDING_LOOKUP, "i32[n], i8|i4|i2{b}[r,d] -> f16", embeddingDequantized<uint16_t, floatToHalf>},
      {Op::EMBEDDING_LOOKUP_SPARSE, "i32[n], i32[n,r], i32[r], f32[n], f32 -> f32", embeddingSparse},
      {Op::HASHTABLE_LOOKUP, "i32[n], i32[k], any -> same2, u8", hashtableLookup},
  };
  return rows;
}

} // namespace origo::eval
