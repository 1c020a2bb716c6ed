#include "eval/fast/Loops.h"
#include "eval/kernels/Move.h"
#include "eval/kernels/Nearest.h"

/// RESIZE_NEAREST_NEIGHBOR: pixels of any type.
namespace origo::eval {

namespace {

std::unique_ptr<FastKernel> resizeNearest(const FastSite &site) {
  const auto &options = site.options<circle::ResizeNearestNeighborOptions>();
  Nearest nearest{options.align_corners(), options.half_pixel_centers()};
  return fastKernel([nearest, runs = std::vector<std::array<int64_t, 2>>()](Operands in, Operands out,
                                                                            pthreadpool_t threads) mutable {
    const Tensor &x = *in[0];
    Tensor &y = *out[0];
    int64_t pixel = x.dim(3) * elementSize(x), fromRow = x.dim(2) * pixel, toRow = y.dim(2) * pixel;
    // Which pixel of a row, and how often.
    runs.clear();
    for (int32_t column = 0; column < y.dim(2); ++column) {
      int64_t from = nearest.place(column, x.dim(2), y.dim(2)) * pixel;
      if (!runs.empty() && runs.back()[0] == from)
        ++runs.back()[1];
      else
        runs.push_back({from, 1});
    }
    Loops<1> rows;
    rows.add(int64_t(y.dim(0)) * y.dim(1), {toRow});
    rows.each(threads, [&](const Loops<1>::Steps &at, int64_t round) {
      int64_t batch = round / y.dim(1), row = nearest.place(static_cast<int32_t>(round % y.dim(1)), x.dim(1), y.dim(1));
      const uint8_t *from = x.storage.data() + (batch * x.dim(1) + row) * fromRow;
      uint8_t *to = y.storage.data() + at[0];
      for (auto [offset, times] : runs) {
        copyPieces(from + offset, 0, to, pixel, pixel, times);
        to += times * pixel;
      }
    });
    return true;
  });
}

} // namespace

llvm::ArrayRef<FastRow> fastResize() {
  static const FastRow rows[] = {{BuiltinOperator::RESIZE_NEAREST_NEIGHBOR, resizeNearest}};
  return rows;
}

} // namespace origo::eval
