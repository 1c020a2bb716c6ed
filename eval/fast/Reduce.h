#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

/// Many floats made into one, in code that is compiled for several processors.
namespace origo::eval {

/// Sixteen numbers, in as many registers as the processor takes for them.
using Wide = float __attribute__((vector_size(64)));
constexpr int64_t width = 16;

/// `next` for numbers and for many of them at once; `Result`: what a result is kept in.
struct Sum {
  using Result = double;
  static constexpr float start = 0;
  template <class A, class B> static void next(A &a, const B &b) { a += b; }
};
struct Maximum {
  using Result = float;
  static constexpr float start = std::numeric_limits<float>::lowest();
  template <class A> static void next(A &a, const A &b) { a = b > a ? b : a; }
};
/// After so many steps in float, a sum goes on in double.
constexpr int64_t stretch = 64;

[[gnu::always_inline]] inline void read(const float *from, Wide &to) { std::memcpy(&to, from, sizeof to); }

template <class F>
[[gnu::always_inline]] inline void joinLanes(const Wide &lanes, typename F::Result *to, int64_t step) {
  float numbers[width];
  std::memcpy(numbers, &lanes, sizeof numbers);
  for (int64_t lane = 0; lane < width; ++lane)
    F::next(to[lane * step], static_cast<typename F::Result>(numbers[lane]));
}

/// All of them make one result.
template <class F>
[[gnu::always_inline]] inline void reduceRun(const float *from, int64_t count, typename F::Result *to) {
  int64_t i = 0;
  while (i + width <= count) {
    Wide lanes = Wide{} + F::start, next;
    for (int64_t end = std::min(count - width, i + width * (stretch - 1)); i <= end; i += width) {
      read(from + i, next);
      F::next(lanes, next);
    }
    joinLanes<F>(lanes, to, 0);
  }
  for (; i < count; ++i)
    F::next(*to, static_cast<typename F::Result>(from[i]));
}

} // namespace origo::eval
