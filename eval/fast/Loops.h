#pragma once

#include "eval/Shapes.h"
#include "eval/fast/Fast.h"

#include <array>

namespace origo::eval {

/// Loops over dimensions, for N tensors in which a step along each of them is a step of its own.
template <size_t N> class Loops {
public:
  using Steps = std::array<int64_t, N>;
  struct Dim {
    int64_t count = 1;
    Steps steps = {};
  };

  /// The next one inwards. It becomes one with the last where all tensors go on without a jump.
  void add(int64_t count, const Steps &steps) {
    if (count == 1)
      return;
    bool joins = !dims.empty();
    for (size_t n = 0; joins && n < N; ++n)
      joins = dims.back().steps[n] == steps[n] * count;
    if (joins)
      dims.back() = {dims.back().count * count, steps};
    else
      dims.push_back({count, steps});
  }
  /// Takes the innermost one away, for a loop of the caller's own; one round where there is none.
  Dim takeInner() { return dims.empty() ? Dim() : dims.pop_back_val(); }

  int64_t count() const {
    int64_t all = 1;
    for (const Dim &dim : dims)
      all *= dim.count;
    return all;
  }

  /// f(where each tensor is, number of the round), for all rounds, in any order and on all threads.
  template <class F> void each(pthreadpool_t threads, F f) const {
    struct Task {
      const Loops *loops;
      F *f;
    } task{this, &f};
    int64_t rounds = count(), parts = static_cast<int64_t>(pthreadpool_get_threads_count(threads));
    if (rounds == 0)
      return;
    pthreadpool_parallelize_1d_tile_1d(
        threads,
        [](void *data, size_t first, size_t count) {
          auto *task = static_cast<Task *>(data);
          task->loops->walk(static_cast<int64_t>(first), static_cast<int64_t>(first + count), *task->f);
        },
        &task, static_cast<size_t>(rounds), static_cast<size_t>(threads ? (rounds + parts - 1) / parts : rounds), 0);
  }

  llvm::SmallVector<Dim, 8> dims;

private:
  template <class F> void walk(int64_t first, int64_t end, F &f) const {
    llvm::SmallVector<int64_t, 8> position(dims.size());
    Steps at = {};
    auto move = [&](const Dim &dim, int64_t times) {
      for (size_t n = 0; n < N; ++n)
        at[n] += dim.steps[n] * times;
    };
    int64_t rest = first;
    for (size_t d = dims.size(); d-- > 0; rest /= dims[d].count) {
      position[d] = rest % dims[d].count;
      move(dims[d], position[d]);
    }
    for (int64_t round = first; round < end; ++round) {
      f(at, round);
      for (size_t d = dims.size(); d-- > 0;) {
        if (++position[d] < dims[d].count) {
          move(dims[d], 1);
          break;
        }
        move(dims[d], 1 - dims[d].count);
        position[d] = 0;
      }
    }
  }
};

/// The steps of operands that broadcast to `out`, and at last those of `out`.
template <size_t N>
Loops<N + 1> broadcasting(const std::array<llvm::ArrayRef<int32_t>, N> &operands, const Shape &out) {
  Loops<N + 1> loops;
  auto steps = stridesOf(out);
  std::array<llvm::SmallVector<int64_t, 6>, N> inner;
  for (size_t n = 0; n < N; ++n)
    inner[n] = stridesOf(operands[n]);
  for (size_t d = 0; d < out.size(); ++d) {
    std::array<int64_t, N + 1> all = {};
    for (size_t n = 0; n < N; ++n) {
      size_t missing = out.size() - operands[n].size();
      if (d >= missing && operands[n][d - missing] != 1)
        all[n] = inner[n][d - missing];
    }
    all[N] = steps[d];
    loops.add(out[d], all);
  }
  return loops;
}

/// to[…] = from[…] for the steps {from, to}, in elements of `size` bytes.
void moveStrided(Loops<2> loops, const uint8_t *from, uint8_t *to, int64_t size, pthreadpool_t threads);

/// `count` pieces of `size` bytes, each so many bytes behind the last one.
void copyPieces(const uint8_t *from, int64_t fromStep, uint8_t *to, int64_t toStep, int64_t size, int64_t count);

} // namespace origo::eval
