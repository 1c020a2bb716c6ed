#include "eval/fast/Loops.h"
#include "eval/fast/Transpose.h"
#include "eval/kernels/Views.h"

/// Operators whose result is a view on their operand.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

template <class T>
void copyPiecesOf(const uint8_t *from, int64_t fromStep, uint8_t *to, int64_t toStep, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * toStep, from + i * fromStep, sizeof(T));
}

/// The same where one side of the matrix has N elements, and the matrices lie without gaps: columns become neighbours,
/// or neighbours columns.
template <class T, int64_t N>
void transposeNarrow(const Loops<2> &loops, int64_t count, bool joins, int64_t step, const uint8_t *from, uint8_t *to,
                     pthreadpool_t threads) {
  loops.each(threads, [=](const Loops<2>::Steps &at, int64_t) {
    const T *x = reinterpret_cast<const T *>(from) + at[0];
    T *y = reinterpret_cast<T *>(to) + at[1];
    if (joins)
      for (int64_t i = 0; i < count; ++i)
        for (int64_t n = 0; n < N; ++n)
          y[i * N + n] = x[n * step + i];
    else
      for (int64_t i = 0; i < count; ++i)
        for (int64_t n = 0; n < N; ++n)
          y[n * step + i] = x[i * N + n];
  });
}

/// Rows of the result that are columns of the operand: squares that fit the cache. `rows` lies in one piece in `from`,
/// `columns` in `to`.
template <class T>
void transposeSquares(Loops<2> loops, Loops<2>::Dim rows, Loops<2>::Dim columns, const uint8_t *from, uint8_t *to,
                      pthreadpool_t threads) {
  bool joins = columns.count <= 4 && rows.steps[1] == columns.count;
  if (joins || (rows.count <= 4 && columns.steps[0] == rows.count)) {
    auto narrow = [&](auto move) {
      move(loops, joins ? rows.count : columns.count, joins, joins ? columns.steps[0] : rows.steps[1], from, to,
           threads);
    };
    switch (joins ? columns.count : rows.count) {
    case 2:
      return narrow(transposeNarrow<T, 2>);
    case 3:
      return narrow(transposeNarrow<T, 3>);
    case 4:
      return narrow(transposeNarrow<T, 4>);
    }
  }
  constexpr int64_t side = 16;
  int64_t blocks = (rows.count + side - 1) / side;
  loops.dims.push_back({blocks, {side * rows.steps[0], side * rows.steps[1]}});
  loops.each(threads, [=](const Loops<2>::Steps &at, int64_t round) {
    const T *x = reinterpret_cast<const T *>(from) + at[0];
    T *y = reinterpret_cast<T *>(to) + at[1];
    int64_t height = std::min(side, rows.count - round % blocks * side);
    transposeRows(x, columns.steps[0], columns.count, height, y, rows.steps[1]);
  });
}

/// The elements that decide which ones are taken may be computed: the view is made anew in each run.
template <ViewFunction viewOf> std::unique_ptr<FastKernel> view(const FastSite &site) {
  return fastKernel([&op = site.op](Operands in, Operands out, pthreadpool_t threads) {
    View view = viewOf(FastSite(op, in, out)).front();
    Loops<2> loops;
    auto steps = stridesOf(view.walk);
    for (size_t d = 0; d < steps.size(); ++d)
      loops.add(view.walk[d], {view.steps[d], steps[d]});
    int64_t size = elementSize(*in[0]);
    moveStrided(loops, in[0]->storage.data() + view.offset * size, out[0]->storage.data(), size, threads);
    return true;
  });
}

} // namespace

void copyPieces(const uint8_t *from, int64_t fromStep, uint8_t *to, int64_t toStep, int64_t size, int64_t count) {
  switch (size) {
  case 1:
    return copyPiecesOf<uint8_t>(from, fromStep, to, toStep, count);
  case 2:
    return copyPiecesOf<uint16_t>(from, fromStep, to, toStep, count);
  case 4:
    return copyPiecesOf<uint32_t>(from, fromStep, to, toStep, count);
  case 8:
    return copyPiecesOf<uint64_t>(from, fromStep, to, toStep, count);
  case 16:
    return copyPiecesOf<std::array<uint64_t, 2>>(from, fromStep, to, toStep, count);
  default:
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + i * toStep, from + i * fromStep, static_cast<size_t>(size));
  }
}

void moveStrided(Loops<2> loops, const uint8_t *from, uint8_t *to, int64_t size, pthreadpool_t threads) {
  Loops<2>::Dim inner = loops.takeInner();
  int64_t piece = size;
  if (inner.steps == Loops<2>::Steps{1, 1}) {
    piece *= inner.count;
    inner = loops.takeInner();
  } else if (inner.steps[1] == 1) {
    auto *rows = llvm::find_if(loops.dims, [](const auto &dim) { return dim.steps[0] == 1; });
    if (rows != loops.dims.end() && size <= 8) {
      Loops<2>::Dim found = *rows;
      loops.dims.erase(rows);
      auto transpose = size == 1   ? transposeSquares<uint8_t>
                       : size == 2 ? transposeSquares<uint16_t>
                       : size == 4 ? transposeSquares<uint32_t>
                                   : transposeSquares<uint64_t>;
      return transpose(std::move(loops), found, inner, from, to, threads);
    }
  }
  // Many pieces are taken apart for the threads.
  int64_t most = std::max<int64_t>(1, (1 << 14) / piece), blocks = (inner.count + most - 1) / most;
  loops.dims.push_back({blocks, {most * inner.steps[0], most * inner.steps[1]}});
  loops.each(threads, [=](const Loops<2>::Steps &at, int64_t round) {
    copyPieces(from + at[0] * size, inner.steps[0] * size, to + at[1] * size, inner.steps[1] * size, piece,
               std::min(most, inner.count - round % blocks * most));
  });
}

llvm::ArrayRef<FastRow> fastMovement() {
  static const FastRow rows[] = {
      {Op::TRANSPOSE, view<viewTransposed>},        {Op::SLICE, view<viewSlice>},
      {Op::STRIDED_SLICE, view<viewStridedSlice>},  {Op::TILE, view<viewTiled>},
      {Op::BROADCAST_TO, view<viewBroadcast>},      {Op::REVERSE_V2, view<viewReversed>},
      {Op::SPACE_TO_DEPTH, view<viewSpaceToDepth>}, {Op::DEPTH_TO_SPACE, view<viewDepthToSpace>}};
  return rows;
}

} // namespace origo::eval
