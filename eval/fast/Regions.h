#pragma once

#include "eval/Block.h"
#include "eval/fast/Fast.h"
#include "eval/fast/Parallel.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace origo::eval {

/// Neighbours along one axis of a result whose windows have the same part, from `begin` to `end`, within the image.
struct Interval {
  int64_t first, count, begin, end;
};

/// Windows along one axis of an image.
struct WindowAxis {
  int64_t image, result, size, stride, dilation, before;
  bool operator==(const WindowAxis &) const = default;

  std::vector<Interval> intervals() const {
    std::vector<Interval> made;
    for (int64_t at = 0; at < result; ++at) {
      int64_t start = at * stride - before;
      int64_t begin = start >= 0 ? 0 : std::min(size, (-start + dilation - 1) / dilation);
      int64_t end = start >= image ? begin : std::max(begin, std::min(size, (image - start + dilation - 1) / dilation));
      if (!made.empty() && made.back().begin == begin && made.back().end == end)
        ++made.back().count;
      else
        made.push_back({at, 1, begin, end});
    }
    return made;
  }
};

/// Windows over images NHWC. The result is divided into rectangles in which all windows have the same part within the
/// image: a kernel need not know of padding.
class Windows {
public:
  /// Pixels that a kernel gets at once, at most, and if not in pairs of rows.
  static constexpr int64_t most = 512, atOnce = 64;

  WindowAxis vertical = {}, horizontal = {};
  int64_t batch = 0, depth = 0, resultDepth = 0;
  bool pairs = false; ///< the kernel gets rows of the result by two, where they are neither narrow nor longer than half
                      ///< of `most`

  /// Allocates only where these are others than before.
  void set(const WindowAxis &newVertical, const WindowAxis &newHorizontal) {
    if (newVertical == vertical && newHorizontal == horizontal)
      return;
    vertical = newVertical;
    horizontal = newHorizontal;
    rows = vertical.intervals();
    columns = horizontal.intervals();
  }

  /// How many times as many tiles of `pixels` there are as if there was no border.
  double scatter(int64_t pixels) const {
    auto tiles = [&](int64_t count) { return (count + pixels - 1) / pixels; };
    int64_t made = 0;
    for (const Interval &row : rows)
      for (const Interval &column : columns)
        made += tiles(row.count * column.count);
    return static_cast<double>(made) /
           static_cast<double>(std::max<int64_t>(1, tiles(vertical.result * horizontal.result)));
  }

  /// `body(rows, columns, from, to, count)`: windows of such a part, where they begin in the image (and may lie before
  /// it) and where their results are, counted in elements. Threads divide the result as it lies in memory, each gets
  /// one part, as in other operators: what a thread has computed, it reads again. From the cache of another
  /// processor that takes longer than work is unevenly divided. `behind` gets what `body` has computed.
  template <class Body>
  void each(pthreadpool_t threads, const Body &body, const LeadingKernel::Behind &behind = std::nullopt) const {
    int64_t rowsOfAll = batch * vertical.result, width = horizontal.result;
    int64_t parts = threads ? static_cast<int64_t>(pthreadpool_get_threads_count(threads)) : 1;
    // Where all windows of a row have the same part, rows need not be whole.
    bool whole = columns.size() > 1 && (rowsOfAll % parts == 0 || rowsOfAll >= 4 * parts);
    int64_t unit = whole ? width : 1, all = rowsOfAll * width / unit, tile = (all + parts - 1) / parts;
    if (!whole)
      tile = std::max<int64_t>(8, (tile + 7) / 8 * 8); // kernels take eight at once
    auto run = [&](size_t begin, size_t count) {
      int64_t first = static_cast<int64_t>(begin) * unit, end = first + static_cast<int64_t>(count) * unit, skipped = 0;
      for (int64_t image = 0; image < batch; ++image)
        for (const Interval &row : rows) {
          int64_t pixels = row.count * width, from = std::max<int64_t>(0, first - skipped),
                  to = std::min(pixels, end - skipped);
          skipped += pixels;
          if (from >= to)
            continue;
          // In the order of the columns' parts.
          Interval some = whole ? Interval{row.first + from / width, (to - from) / width, row.begin, row.end} : row;
          if (whole)
            from = 0, to = some.count * width;
          int64_t passed = 0;
          for (const Interval &column : columns) {
            int64_t here = some.count * column.count;
            walk(image, some, column, std::max<int64_t>(0, from - passed), std::min(here, to - passed), body, behind);
            passed += here;
          }
        }
    };
    parallelFor(threads, static_cast<size_t>(all), static_cast<size_t>(tile), run, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
  }

private:
  std::vector<Interval> rows, columns;

  template <class Body>
  void walk(int64_t image, const Interval &row, const Interval &column, int64_t first, int64_t end, const Body &body,
            const LeadingKernel::Behind &behind) const {
    int64_t from[most], to[most];
    int64_t y = first / column.count, x = first % column.count;
    while (first < end) {
      // Evenly, so that no kernel gets a few last ones.
      int64_t groups = (end - first + atOnce - 1) / atOnce, count = (end - first + groups - 1) / groups;
      if (pairs && column.count >= 8 && 2 * column.count <= most && x == 0)
        count = std::min(2 * column.count, end - first);
      for (int64_t i = 0; i < count;) {
        int64_t atY = row.first + y, atX = column.first + x, end = std::min(count, i + column.count - x);
        int64_t nextFrom = ((image * vertical.image + atY * vertical.stride - vertical.before) * horizontal.image +
                            atX * horizontal.stride - horizontal.before) *
                           depth;
        int64_t nextTo = ((image * vertical.result + atY) * horizontal.result + atX) * resultDepth;
        for (x += end - i; i < end; ++i, nextFrom += horizontal.stride * depth, nextTo += resultDepth) {
          from[i] = nextFrom;
          to[i] = nextTo;
        }
        if (x == column.count)
          x = 0, ++y;
      }
      body(row, column, from, to, count);
      for (int64_t i = 0, next; behind && i < count; i = next) {
        for (next = i + 1; next < count && to[next] == to[next - 1] + resultDepth;)
          ++next;
        (*behind)(to[i], (next - i) * resultDepth);
      }
      first += count;
    }
  }
};

/// Windows over images of a kernel's own, which are copied to where no window has a part outside if most pixels would
/// be at a border of their own.
template <class T> class ImageWindows : public Windows {
public:
  /// Numbers around images: all bytes of one are `filler`. False: there is no memory.
  bool arrange(const WindowAxis &tall, const WindowAxis &wide, int64_t images, int filler) {
    if (tall == asked[0] && wide == asked[1] && images == batch) {
      if (surrounded.data && filler != filled)
        std::memset(surrounded.data.get(), filled = filler, surrounded.bytes);
      return true;
    }
    asked[0] = asked[1] = {};
    surrounded = {};
    batch = images;
    set(tall, wide);
    if (scatter(8) > 1.5) {
      WindowAxis wholeTall = whole(tall), wholeWide = whole(wide);
      int64_t elements = times(times(times(batch, wholeTall.image), wholeWide.image), depth);
      if (elements > int64_t(1) << 26 || !surrounded.allocate(static_cast<uint64_t>(elements) * sizeof(T)))
        return false;
      std::memset(surrounded.data.get(), filled = filler, surrounded.bytes);
      set(wholeTall, wholeWide);
    }
    asked[0] = tall;
    asked[1] = wide;
    return true;
  }

  /// The images as windows are over them.
  const T *over(const T *image, pthreadpool_t threads) {
    if (!surrounded.data)
      return image;
    auto *to = reinterpret_cast<T *>(surrounded.data.get());
    int64_t tall = asked[0].image, top = asked[0].before, left = asked[1].before, row = asked[1].image * depth;
    int64_t all = batch * tall, parts = threads ? static_cast<int64_t>(pthreadpool_get_threads_count(threads)) : 1;
    parallelFor(threads, static_cast<size_t>(all), static_cast<size_t>((all + parts - 1) / parts),
                [&](size_t first, size_t count) {
                  for (auto y = static_cast<int64_t>(first), end = y + static_cast<int64_t>(count); y < end; ++y)
                    std::copy_n(image + y * row, row,
                                to +
                                    (((y / tall) * vertical.image + top + y % tall) * horizontal.image + left) * depth);
                });
    return to;
  }

private:
  WindowAxis asked[2] = {};
  Block surrounded;
  int filled = 0; ///< the numbers around

  static WindowAxis whole(WindowAxis axis) {
    int64_t end = (axis.result - 1) * axis.stride + (axis.size - 1) * axis.dilation + 1;
    axis.image = std::max(axis.before + axis.image, end);
    axis.before = 0;
    return axis;
  }
};

} // namespace origo::eval
