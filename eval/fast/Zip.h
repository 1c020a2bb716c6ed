#pragma once

#include "eval/fast/Loops.h"
#include "eval/fast/Xnnpack.h"

#include <vector>

namespace origo::eval {

/// Two operands that broadcast, as runs of elements of one result. A kernel keeps it, so that it allocates once.
template <class T> class Zip {
public:
  /// `run(x, xMoves, y, yMoves, where in the result, count)`, in any order and on all threads: an operand goes along
  /// with the result, or stands still.
  template <class Run>
  void operator()(const Tensor &x, const Tensor &y, const Tensor &out, pthreadpool_t threads, const Run &run) {
    if (out.count() == 0)
      return;
    Loops<3> loops = broadcasting<2>({x.shape, y.shape}, out.shape);
    Loops<3>::Dim inner = loops.takeInner();
    std::array<const T *, 2> from = {dataOf<T>(x), dataOf<T>(y)};
    int64_t most = 4096;
    Loops<3>::Steps along = {most * inner.steps[0], most * inner.steps[1], most * inner.steps[2]};
    // What comes anew for each pixel, as a number for each of three colours, is written down several times: runs are
    // longer.
    for (size_t n : {0, 1})
      if (inner.count < 256 && inner.steps == Loops<3>::Steps{1, 1, 1} && !loops.dims.empty() &&
          standsStill(loops, n)) {
        int64_t period = inner.count;
        inner.count *= loops.takeInner().count;
        most -= most % period;
        repeated.resize(static_cast<size_t>(std::min(most, inner.count)));
        for (size_t i = 0; i < repeated.size(); i += static_cast<size_t>(period))
          std::copy_n(from[n], period, repeated.begin() + static_cast<int64_t>(i));
        from[n] = repeated.data();
        along = {most, most, most};
        along[n] = 0;
        break;
      }
    int64_t pieces = (inner.count + most - 1) / most;
    loops.dims.push_back({pieces, along});
    loops.each(threads, [&](const Loops<3>::Steps &at, int64_t round) {
      run(from[0] + at[0], inner.steps[0] != 0, from[1] + at[1], inner.steps[1] != 0, at[2],
          std::min(most, inner.count - round % pieces * most));
    });
  }

private:
  std::vector<T> repeated;

  /// The operand has no other elements than those of a run.
  static bool standsStill(const Loops<3> &loops, size_t operand) {
    return llvm::all_of(loops.dims, [operand](const auto &dim) { return dim.steps[operand] == 0; });
  }
};

} // namespace origo::eval
