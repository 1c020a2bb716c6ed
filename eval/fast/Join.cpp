#include "eval/fast/Loops.h"
#include "eval/kernels/Move.h"

/// Tensors one behind the other along an axis, joined or cut.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

/// One tensor of several: its bytes, and how many of them are in a row of the whole.
struct Part {
  uint8_t *data;
  int64_t row;
};

/// Rows that are so long in all parts together stay in the cache.
constexpr int64_t cached = 1 << 14;

void copyRows(llvm::ArrayRef<Part> parts, uint8_t *whole, int64_t rows, bool join, pthreadpool_t threads) {
  int64_t length = 0;
  for (const Part &part : parts)
    length += part.row;
  int64_t height = std::max<int64_t>(1, cached / std::max<int64_t>(length, 1));
  Loops<1> blocks;
  blocks.add((rows + height - 1) / height, {height});
  blocks.each(threads, [=](const Loops<1>::Steps &at, int64_t) {
    int64_t count = std::min(height, rows - at[0]);
    uint8_t *one = whole + at[0] * length;
    for (const Part &part : parts) {
      uint8_t *other = part.data + at[0] * part.row;
      if (join)
        copyPieces(other, part.row, one, length, part.row, count);
      else
        copyPieces(one, length, other, part.row, part.row, count);
      one += part.row;
    }
  });
}

/// `axis` counts in the shape of the whole. Parts of PACK and UNPACK have no such dimension; that changes nothing about
/// where their elements are.
std::unique_ptr<FastKernel> rowsAlong(int64_t axis, unsigned whole, bool join) {
  return fastKernel([=, parts = std::vector<Part>()](Operands in, Operands out, pthreadpool_t threads) mutable {
    Tensor &all = join ? *out[0] : *in[whole];
    int64_t along = axis < 0 ? axis + all.rank() : axis;
    if (along < 0 || along >= all.rank())
      return false;
    int64_t rows = product(all.shape, 0, static_cast<size_t>(along)), bytes = 0;
    parts.clear();
    for (Tensor *part : join ? in : out) {
      auto size = static_cast<int64_t>(part->storage.size());
      if (size % rows)
        return false;
      parts.push_back({part->storage.data(), size / rows});
      bytes += size;
    }
    if (bytes != static_cast<int64_t>(all.storage.size()))
      return false;
    copyRows(parts, all.storage.data(), rows, join, threads);
    return true;
  });
}

std::unique_ptr<FastKernel> concatenation(const FastSite &site) {
  const auto &options = site.options<circle::ConcatenationOptions>();
  const Tensor &out = site.output();
  if (options.fused_activation_function() != circle::ActivationFunctionType::NONE)
    return nullptr;
  // 8 bit parts of another scale are computed, or refused.
  if (out.type == TensorType::INT8 || out.type == TensorType::UINT8)
    for (const Tensor *part : site.inputs)
      if (part->scale() != out.scale() || part->zeroPoint() != out.zeroPoint())
        return nullptr;
  return rowsAlong(options.axis(), 0, true);
}

std::unique_ptr<FastKernel> pack(const FastSite &site) {
  return rowsAlong(site.options<circle::PackOptions>().axis(), 0, true);
}

std::unique_ptr<FastKernel> unpack(const FastSite &site) {
  return rowsAlong(site.options<circle::UnpackOptions>().axis(), 0, false);
}

/// The lengths of the parts are in the shapes of the results, as long as what they come from is constant.
template <unsigned whole, unsigned axisOperand> std::unique_ptr<FastKernel> split(const FastSite &site) {
  if (!site.constant(axisOperand) || (site.op.code == Op::SPLIT_V && !site.constant(1)))
    return nullptr;
  auto axis = site.integer(axisOperand);
  if (!axis) {
    llvm::consumeError(axis.takeError());
    return nullptr;
  }
  return rowsAlong(*axis, whole, false);
}

} // namespace

llvm::ArrayRef<FastRow> fastJoin() {
  static const FastRow rows[] = {{Op::CONCATENATION, concatenation},
                                 {Op::PACK, pack},
                                 {Op::UNPACK, unpack},
                                 {Op::SPLIT, split<1, 0>},
                                 {Op::SPLIT_V, split<0, 2>}};
  return rows;
}

} // namespace origo::eval
