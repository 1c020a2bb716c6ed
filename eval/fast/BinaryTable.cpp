#include "eval/Shapes.h"
#include "eval/fast/ByReference.h"
#include "eval/fast/Parallel.h"
#include "eval/fast/Xnnpack.h"

/// Operators of two numbers of 8 bits that XNNPACK has not, or not with these scales: results of all pairs, as the
/// reference kernel computes them, looked up.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

/// Makes the table pay.
constexpr int64_t fewElements = 2048;

std::unique_ptr<FastKernel> byTable(const FastSite &site) {
  auto hasByte = [](const Tensor &tensor) {
    return tensor.type == TensorType::INT8 || tensor.type == TensorType::UINT8 || tensor.type == TensorType::BOOL;
  };
  const Tensor &result = site.output();
  if (!hasByte(site.input(0)) || !hasByte(site.input(1)) || !hasByte(result) ||
      (result.rankKnown && result.count() < fewElements))
    return nullptr;
  AllBytes x(site.input(0), {256, 1}), y(site.input(1), {1, 256});
  auto table = computeByReference(site, {x.tensor, y.tensor});
  if (!table || table->size() != 256 * 256)
    return nullptr;
  return fastKernel([table = std::move(*table)](Operands in, Operands out, pthreadpool_t threads) {
    llvm::ArrayRef<int32_t> shape = out[0]->shape, ofX = in[0]->shape, ofY = in[1]->shape;
    if (out[0]->count() == 0)
      return false;
    // The last dimensions as one, as long as both operands either go along or stand still in all of them.
    auto dim = [&](llvm::ArrayRef<int32_t> operand, size_t fromEnd) {
      return fromEnd < operand.size() ? operand[operand.size() - 1 - fromEnd] : 1;
    };
    size_t merged = 0;
    int64_t length = 1;
    bool xMoves = false, yMoves = false;
    for (; merged < shape.size(); ++merged) {
      int32_t size = dim(shape, merged);
      if (size == 1)
        continue;
      bool x = dim(ofX, merged) != 1, y = dim(ofY, merged) != 1;
      if (length != 1 && (x != xMoves || y != yMoves))
        break;
      xMoves = x;
      yMoves = y;
      length *= size;
    }
    auto leading = [&](llvm::ArrayRef<int32_t> operand) { return operand.drop_back(std::min(merged, operand.size())); };
    uint8_t *to = dataOf<uint8_t>(*out[0]);
    for (Broadcast at(shape.drop_back(merged), {leading(ofX), leading(ofY)}); !at.done(); at.next(), to += length) {
      const uint8_t *x = dataOf<uint8_t>(*in[0]) + at.index(0) * (xMoves ? length : 1);
      const uint8_t *y = dataOf<uint8_t>(*in[1]) + at.index(1) * (yMoves ? length : 1);
      parallelFor(threads, static_cast<size_t>(length), 1 << 13, [&](size_t first, size_t count) {
        for (size_t i = first; i < first + count; ++i)
          to[i] = table[x[xMoves ? i : 0] << 8 | y[yMoves ? i : 0]];
      });
    }
    return true;
  });
}

} // namespace

llvm::ArrayRef<FastRow> fastBinaryTable() {
  static const FastRow rows[] = {
      {Op::ADD, byTable},         {Op::SUB, byTable},        {Op::MUL, byTable},
      {Op::DIV, byTable},         {Op::MAXIMUM, byTable},    {Op::MINIMUM, byTable},
      {Op::EQUAL, byTable},       {Op::NOT_EQUAL, byTable},  {Op::LESS, byTable},
      {Op::LESS_EQUAL, byTable},  {Op::GREATER, byTable},    {Op::GREATER_EQUAL, byTable},
      {Op::LOGICAL_AND, byTable}, {Op::LOGICAL_OR, byTable}, {Op::SQUARED_DIFFERENCE, byTable}};
  return rows;
}

} // namespace origo::eval
