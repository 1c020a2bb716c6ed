#include "eval/fast/BinaryRows.h"
#include "eval/fast/Parallel.h"
#include "eval/fast/Xnnpack.h"
#include "eval/kernels/QuantizedArithmetic.h"

/// ADD, SUB and MUL of quantised 16 bit numbers.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

struct Row {
  const int16_t *x, *y;
  int16_t *out;
  int64_t length;
  bool xMoves, yMoves;
};

template <class F> [[gnu::always_inline]] inline void zip(const Row &row, const F &f) {
  if (row.xMoves && row.yMoves)
    for (int64_t i = 0; i < row.length; ++i)
      row.out[i] = f(row.x[i], row.y[i]);
  else
    for (int64_t i = 0; i < row.length; ++i)
      row.out[i] = f(row.x[row.xMoves ? i : 0], row.y[row.yMoves ? i : 0]);
}

// The same code for what different processors have.
template <class F> void zipPlain(const Row &row, const F &f) { zip(row, f); }
#ifdef __x86_64__
template <class F> [[gnu::target("avx2")]] void zipAvx2(const Row &row, const F &f) { zip(row, f); }
template <class F> auto zipHere() { return __builtin_cpu_supports("avx2") ? zipAvx2<F> : zipPlain<F>; }
#else
template <class F> auto zipHere() { return zipPlain<F>; }
#endif

template <class F> std::unique_ptr<FastKernel> kernel(F f) {
  return fastKernel([f](Operands in, Operands out, pthreadpool_t threads) {
    static const auto zipRow = zipHere<F>();
    if (out[0]->count() == 0)
      return false;
    forBroadcastRows(*in[0], *in[1], *out[0],
                     [&](int64_t x, int64_t y, int64_t to, int64_t length, bool xMoves, bool yMoves) {
                       Row all{dataOf<int16_t>(*in[0]) + x,
                               dataOf<int16_t>(*in[1]) + y,
                               dataOf<int16_t>(*out[0]) + to,
                               length,
                               xMoves,
                               yMoves};
                       parallelFor(threads, static_cast<size_t>(length), 1 << 12, [&](size_t first, size_t count) {
                         auto at = static_cast<int64_t>(first);
                         zipRow({all.x + (xMoves ? at : 0), all.y + (yMoves ? at : 0), all.out + at,
                                 static_cast<int64_t>(count), xMoves, yMoves},
                                f);
                       });
                     });
    return true;
  });
}

std::unique_ptr<FastKernel> arithmetic(const FastSite &site) {
  const Tensor &result = site.output();
  if (site.type(0) != TensorType::INT16 || site.type(1) != TensorType::INT16 || result.type != TensorType::INT16)
    return nullptr;
  if (site.op.code == Op::MUL)
    return kernel(QuantizedProduct<int16_t>(site, result));
  auto sum = ShiftedSum::of(site, result);
  return sum ? kernel(*sum) : kernel(QuantizedSum<int16_t, 15>(site, result));
}

} // namespace

llvm::ArrayRef<FastRow> fastIntegerArithmetic() {
  static const FastRow rows[] = {{Op::ADD, arithmetic}, {Op::SUB, arithmetic}, {Op::MUL, arithmetic}};
  return rows;
}

} // namespace origo::eval
