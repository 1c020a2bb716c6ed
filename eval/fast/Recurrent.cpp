#include "eval/Kernels.h"
#include "eval/fast/Fast.h"
#include "eval/fast/Processor.h"
#include "eval/kernels/Dots.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/// LSTM, RNN, GRU and SVDF: the reference kernels with sums of products in vectors. Those of integers are the same.
namespace origo::eval {

namespace {

#ifdef __x86_64__
ORIGO_AVX2 int32_t integersAvx2(const int8_t *x, const int16_t *y, int64_t count) {
  __m256i sums[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  int64_t i = 0;
  for (; i + 32 <= count; i += 32)
    for (int64_t half = 0; half < 2; ++half) {
      __m256i a = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(x + i + 16 * half)));
      __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(y + i + 16 * half));
      sums[half] = _mm256_add_epi32(sums[half], _mm256_madd_epi16(a, b));
    }
  alignas(32) uint32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i *>(lanes), _mm256_add_epi32(sums[0], sums[1]));
  uint32_t sum = 0;
  for (uint32_t lane : lanes)
    sum += lane;
  for (; i < count; ++i)
    sum += static_cast<uint32_t>(x[i] * y[i]);
  return static_cast<int32_t>(sum);
}

ORIGO_AVX2 float floatsAvx2(const float *x, const float *y, int64_t count) {
  __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (int64_t half = 0; half < 2; ++half)
      sums[half] = _mm256_fmadd_ps(_mm256_loadu_ps(x + i + 8 * half), _mm256_loadu_ps(y + i + 8 * half), sums[half]);
  alignas(32) float lanes[8];
  _mm256_store_ps(lanes, _mm256_add_ps(sums[0], sums[1]));
  float sum = 0;
  for (float lane : lanes)
    sum += lane;
  for (; i < count; ++i)
    sum += x[i] * y[i];
  return sum;
}

const Dots &dotsHere() {
  static const Dots avx2 = {integersAvx2, floatsAvx2};
  return processor() == Processor::Plain ? plainDots : avx2;
}
#else
const Dots &dotsHere() { return plainDots; }
#endif

RecurrentFunction computes(const Kernel &kernel) {
  for (auto list : {gruRecurrents(), lstmRecurrents(), lstmIntegerRecurrents(), rnnRecurrents(), svdfRecurrents()})
    for (const Recurrent &recurrent : list)
      if (recurrent.kernel == kernel.body.compute)
        return recurrent.compute;
  return nullptr;
}

std::unique_ptr<FastKernel> withVectors(const FastSite &site) {
  const Kernel *kernel = findKernel(site.op);
  RecurrentFunction compute = kernel ? computes(*kernel) : nullptr;
  if (!compute)
    return nullptr;
  return fastKernel([compute, &op = site.op](Operands in, Operands out, pthreadpool_t) {
    FastSite run(op, in, out);
    if (llvm::Error error = compute(run, dotsHere())) {
      llvm::consumeError(std::move(error)); // the reference kernel says it
      return false;
    }
    return true;
  });
}

} // namespace

llvm::ArrayRef<FastRow> fastRecurrent() {
  using Op = BuiltinOperator;
  static const FastRow rows[] = {{Op::GRU, withVectors, Rank::Last},
                                 {Op::LSTM, withVectors, Rank::Last},
                                 {Op::UNIDIRECTIONAL_SEQUENCE_LSTM, withVectors, Rank::Last},
                                 {Op::BIDIRECTIONAL_SEQUENCE_LSTM, withVectors, Rank::Last},
                                 {Op::RNN, withVectors, Rank::Last},
                                 {Op::UNIDIRECTIONAL_SEQUENCE_RNN, withVectors, Rank::Last},
                                 {Op::BIDIRECTIONAL_SEQUENCE_RNN, withVectors, Rank::Last},
                                 {Op::SVDF, withVectors, Rank::Last}};
  return rows;
}

} // namespace origo::eval
