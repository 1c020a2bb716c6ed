#pragma once

#include "eval/Kernel.h"
#include "eval/Shapes.h"

/// How BATCH_MATMUL goes through its operands, whatever their numbers are.
namespace origo::eval::loops {

/// How a matrix of a stack lies: element (row, column) is at row · rowStep + column · columnStep.
struct Stack {
  int64_t rows, columns, rowStep, columnStep, size;
  llvm::ArrayRef<int32_t> batches;
  Stack(const Tensor &tensor, bool transposed) {
    llvm::ArrayRef<int32_t> shape = tensor.shape;
    batches = shape.drop_back(2);
    rows = shape[shape.size() - 2];
    columns = shape.back();
    rowStep = columns;
    columnStep = 1;
    size = rows * columns;
    if (transposed) {
      std::swap(rows, columns);
      std::swap(rowStep, columnStep);
    }
  }
};

struct MatMul {
  Stack left, right;
  Tensor *output;
  Shape batches;
};

inline MatMul matMulOf(KernelContext &ctx) {
  const auto &options = ctx.options<circle::BatchMatMulOptions>();
  Tensor &out = ctx.output();
  return {Stack(ctx.input(0), options.adjoint_lhs()), Stack(ctx.input(1), options.adjoint_rhs()), &out,
          Shape(out.shape.begin(), out.shape.end() - 2)};
}

/// `add(sum, index of x, index of y)` for each product, `end(sum, index of x's row, column of y)` gives the element.
template <class Acc, class Out, class Add, class End>
void multiplyAll(KernelContext &ctx, const MatMul &m, Add add, End end) {
  auto out = m.output->as<Out>();
  if (out.empty())
    return;
  size_t at = 0;
  for (Broadcast batch(m.batches, {m.left.batches, m.right.batches}); !batch.done(); batch.next())
    for (int64_t row = 0; row < m.left.rows; ++row)
      for (int64_t column = 0; column < m.right.columns; ++column) {
        if (ctx.late(static_cast<uint64_t>(m.left.columns)))
          return;
        Acc sum = 0;
        int64_t x = batch.index(0) * m.left.size + row * m.left.rowStep;
        int64_t y = batch.index(1) * m.right.size + column * m.right.columnStep;
        for (int64_t k = 0; k < m.left.columns; ++k)
          add(sum, x + k * m.left.columnStep, y + k * m.right.rowStep);
        out[at++] = end(sum, batch.index(0) * m.left.rows + row, column);
      }
}

} // namespace origo::eval::loops
