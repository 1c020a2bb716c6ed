#pragma once

#include "eval/Shapes.h"

namespace origo::eval {

/// Two operands that broadcast, row by row: `row(x's index, y's, the result's, length, x moves, y moves)`, where an
/// operand either goes along with the row or stands still. Rows are as long as that is so.
template <class Row> void forBroadcastRows(const Tensor &x, const Tensor &y, const Tensor &out, const Row &row) {
  llvm::ArrayRef<int32_t> shape = out.shape, ofX = x.shape, ofY = y.shape;
  auto dim = [](llvm::ArrayRef<int32_t> operand, size_t fromEnd) {
    return fromEnd < operand.size() ? operand[operand.size() - 1 - fromEnd] : 1;
  };
  size_t merged = 0;
  int64_t length = 1;
  bool xMoves = false, yMoves = false;
  for (; merged < shape.size(); ++merged) {
    int32_t size = dim(shape, merged);
    if (size == 1)
      continue;
    bool movesX = dim(ofX, merged) != 1, movesY = dim(ofY, merged) != 1;
    if (length != 1 && (movesX != xMoves || movesY != yMoves))
      break;
    xMoves = movesX;
    yMoves = movesY;
    length *= size;
  }
  auto leading = [&](llvm::ArrayRef<int32_t> operand) { return operand.drop_back(std::min(merged, operand.size())); };
  int64_t to = 0;
  for (Broadcast at(shape.drop_back(merged), {leading(ofX), leading(ofY)}); !at.done(); at.next(), to += length)
    row(at.index(0) * (xMoves ? length : 1), at.index(1) * (yMoves ? length : 1), to, length, xMoves, yMoves);
}

} // namespace origo::eval
