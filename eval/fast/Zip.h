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

/// out = f(x, y), where an operand that does not move is one element.
template <class T, class F>
[[gnu::always_inline]] inline void eachPair(const T *x, bool xMoves, const T *y, bool yMoves, T *out, int64_t count,
                                            const F &f) {
  if (xMoves && yMoves)
    for (int64_t i = 0; i < count; ++i)
      out[i] = f(x[i], y[i]);
  else if (xMoves)
    for (int64_t i = 0; i < count; ++i)
      out[i] = f(x[i], *y);
  else
    for (int64_t i = 0; i < count; ++i)
      out[i] = f(*x, yMoves ? y[i] : *y);
}

/// `run(x, xMoves, y, yMoves, out, count)` of two operands that broadcast.
template <class T, class Run> class ZipKernel : public ElementKernel {
public:
  explicit ZipKernel(Run run) : compute(std::move(run)) {}
  bool runThen(Operands in, Operands out, pthreadpool_t threads, const Behind &behind) override {
    T *result = dataOf<T>(*out[0]);
    all(*in[0], *in[1], *out[0], threads,
        [&](const T *x, bool xMoves, const T *y, bool yMoves, int64_t to, int64_t count) {
          compute(x, xMoves, y, yMoves, result + to, count);
          if (behind)
            (*behind)(to, count);
        });
    return true;
  }
  /// One operand is as large as the result, the other, too, or it is a row of the result or a number.
  bool fits(Operands in, const Tensor &out) const override {
    return (in[0]->count() == out.count() && (wayOf(*in[1], out) != Way::None)) ||
           (in[1]->count() == out.count() && (wayOf(*in[0], out) != Way::None));
  }
  void begin(Operands in, const Tensor &out) override {
    for (size_t n : {0, 1})
      if ((ways[n] = wayOf(*in[n], out)) == Way::Repeats) {
        int64_t length = in[n]->count(), copies = (511 + length) / length;
        rows.resize(static_cast<size_t>(copies * length));
        for (int64_t i = 0; i < copies; ++i)
          std::copy_n(dataOf<T>(*in[n]), length, rows.begin() + i * length);
      }
  }
  void part(Operands in, Tensor &out, int64_t first, int64_t count) override {
    auto length = static_cast<int64_t>(rows.size());
    bool repeats = ways[0] == Way::Repeats || ways[1] == Way::Repeats;
    for (int64_t end = first + count, next; first < end; first = next) {
      int64_t row = repeats ? first % length : 0;
      next = repeats ? std::min(end, first + length - row) : end;
      auto from = [&](size_t n) {
        return ways[n] == Way::Repeats ? rows.data() + row : dataOf<T>(*in[n]) + (ways[n] == Way::Moves ? first : 0);
      };
      compute(from(0), ways[0] != Way::Stands, from(1), ways[1] != Way::Stands, dataOf<T>(out) + first, next - first);
    }
  }

private:
  enum class Way { Moves, Repeats, Stands, None };
  static Way wayOf(const Tensor &operand, const Tensor &out) {
    constexpr int64_t longest = 1 << 13; // which is copied in each run
    int64_t count = operand.count();
    return count == out.count() ? Way::Moves
           : count == 1         ? Way::Stands
           : operand.rank() > 0 && out.rank() > 0 && count == operand.shape.back() && count == out.shape.back() &&
                   count <= longest
               ? Way::Repeats
               : Way::None;
  }
  Run compute;
  Zip<T> all;
  std::array<Way, 2> ways = {};
  std::vector<T> rows; ///< a row of the result, several times
};

} // namespace origo::eval
