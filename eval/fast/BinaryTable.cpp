#include "eval/fast/ByReference.h"
#include "eval/fast/Zip.h"

/// Operators of two numbers of 8 bits, of any scales: results of all pairs, as the
/// reference kernel computes them, looked up.
namespace origo::eval {

namespace {

/// Makes the table pay.
constexpr int64_t fewElements = 2048;

std::unique_ptr<FastKernel> byTable(const FastSite &site) {
  auto hasByte = [](const Tensor &tensor) {
    return !hasManyScales(tensor) &&
           (tensor.type == TensorType::INT8 || tensor.type == TensorType::UINT8 || tensor.type == TensorType::BOOL);
  };
  const Tensor &result = site.output();
  if (!hasByte(site.input(0)) || !hasByte(site.input(1)) || !hasByte(result) ||
      (result.rankKnown && result.count() < fewElements))
    return nullptr;
  AllNumbers x(site.input(0), {256, 1}), y(site.input(1), {1, 256});
  auto table = computeByReference(site, {x.tensor, y.tensor});
  if (!table || table->size() != 256 * 256)
    return nullptr;
  return fastKernel(
      [table = std::move(*table), all = Zip<uint8_t>()](Operands in, Operands out, pthreadpool_t threads) mutable {
        uint8_t *result = dataOf<uint8_t>(*out[0]);
        all(*in[0], *in[1], *out[0], threads,
            [&](const uint8_t *x, bool xMoves, const uint8_t *y, bool yMoves, int64_t to, int64_t count) {
              for (int64_t i = 0; i < count; ++i)
                result[to + i] = table[x[xMoves ? i : 0] << 8 | y[yMoves ? i : 0]];
            });
        return true;
      });
}

} // namespace

llvm::ArrayRef<FastRow> fastBinaryTable() {
  static const std::vector<FastRow> rows = [] {
    std::vector<FastRow> made;
    for (const OperatorInfo &info : allOperators())
      if (info.has(Trait::Binary))
        made.push_back({info.code, byTable, Rank::Last});
    return made;
  }();
  return rows;
}

} // namespace origo::eval
