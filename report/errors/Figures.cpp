#include "report/errors/Figures.h"

#include "eval/RealNumbers.h"
#include "eval/fast/Processor.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace origo::report {

namespace {

/// Eight sums side by side: the order of addition is the same for all processors.
constexpr size_t lanes = 8;

struct LaneSums {
  double absolute[lanes] = {}, squares[lanes] = {}, most[lanes] = {}, both[lanes] = {}, first[lanes] = {},
         second[lanes] = {}, low[lanes], high[lanes];
  LaneSums() {
    std::fill_n(low, lanes, INFINITY);
    std::fill_n(high, lanes, -INFINITY);
  }
};

/// Real numbers of elements that lie side by side.
template <class T> struct Elements {
  const T *data;
  double zero = 0, scale = 1;
  static constexpr bool isAffine = !std::is_floating_point_v<T>;
  double operator[](size_t i) const {
    auto x = static_cast<double>(data[i]);
    return isAffine ? (x - zero) * scale : x;
  }
};
using Doubles = Elements<double>;

// What a processor has for as many elements as one of its registers takes doubles. Of small integers as words, for which
// there are instructions. The compiler's own conversion of vectors takes them apart.
#define ORIGO_ALWAYS inline __attribute__((always_inline))
namespace plain {
using Vector = double __attribute__((vector_size(16)));
template <class T> ORIGO_ALWAYS Vector widen(const T *from) {
  return Vector{static_cast<double>(from[0]), static_cast<double>(from[1])};
}
} // namespace plain
#ifdef __x86_64__
namespace avx2 {
using Vector = double __attribute__((vector_size(32)));
using Words = __m128i;
ORIGO_AVX2 ORIGO_ALWAYS Words four(const void *from) {
  int32_t bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  return _mm_cvtsi32_si128(bytes);
}
ORIGO_AVX2 ORIGO_ALWAYS Vector ofWords(Words words) { return _mm256_cvtepi32_pd(words); }
ORIGO_AVX2 ORIGO_ALWAYS Vector widen(const double *from) { return _mm256_loadu_pd(from); }
ORIGO_AVX2 ORIGO_ALWAYS Vector widen(const float *from) { return _mm256_cvtps_pd(_mm_loadu_ps(from)); }
ORIGO_AVX2 ORIGO_ALWAYS Vector widen(const int8_t *from) { return ofWords(_mm_cvtepi8_epi32(four(from))); }
ORIGO_AVX2 ORIGO_ALWAYS Vector widen(const uint8_t *from) { return ofWords(_mm_cvtepu8_epi32(four(from))); }
ORIGO_AVX2 ORIGO_ALWAYS Vector widen(const int16_t *from) {
  return ofWords(_mm_cvtepi16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(from))));
}
} // namespace avx2
namespace avx512 {
using Vector = double __attribute__((vector_size(64)));
ORIGO_AVX512 ORIGO_ALWAYS __m128i eight(const void *from) {
  return _mm_loadl_epi64(static_cast<const __m128i *>(from));
}
ORIGO_AVX512 ORIGO_ALWAYS Vector ofWords(__m256i words) { return _mm512_cvtepi32_pd(words); }
ORIGO_AVX512 ORIGO_ALWAYS Vector widen(const double *from) { return _mm512_loadu_pd(from); }
ORIGO_AVX512 ORIGO_ALWAYS Vector widen(const float *from) { return _mm512_cvtps_pd(_mm256_loadu_ps(from)); }
ORIGO_AVX512 ORIGO_ALWAYS Vector widen(const int8_t *from) { return ofWords(_mm256_cvtepi8_epi32(eight(from))); }
ORIGO_AVX512 ORIGO_ALWAYS Vector widen(const uint8_t *from) { return ofWords(_mm256_cvtepu8_epi32(eight(from))); }
ORIGO_AVX512 ORIGO_ALWAYS Vector widen(const int16_t *from) {
  return ofWords(_mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from))));
}
} // namespace avx512
#else
namespace avx2 = plain;
namespace avx512 = plain;
#endif

/// As many sums as there are lanes, in registers of a processor.
template <class Vector> struct Sums {
  static constexpr size_t each = sizeof(Vector) / sizeof(double), count = lanes / each;
  Vector in[count];
  ORIGO_ALWAYS explicit Sums(const double *from) { std::memcpy(in, from, sizeof(in)); }
  ORIGO_ALWAYS void store(double *to) const { std::memcpy(to, in, sizeof(in)); }
};

// add: false, and nothing is added: something is not finite, or so great that its square is not. A macro, as a function
// for all processors could not call what only one of them has.
#define ORIGO_ADD_FINITE(processor, target)                                                                            \
  namespace processor {                                                                                                \
  template <class T> target ORIGO_ALWAYS Vector load(const Elements<T> &elements, size_t i) {                          \
    Vector x = widen(elements.data + i);                                                                               \
    if constexpr (Elements<T>::isAffine)                                                                               \
      x = (x - elements.zero) * elements.scale;                                                                        \
    return x;                                                                                                          \
  }                                                                                                                    \
  template <class X, class Y>                                                                                          \
  target bool add(LaneSums &sums, const X &reference, const Y &have, size_t begin, size_t end) {                       \
    using Registers = Sums<Vector>;                                                                                    \
    Registers absolute(sums.absolute), squares(sums.squares), most(sums.most), both(sums.both), first(sums.first),     \
        second(sums.second), low(sums.low), high(sums.high);                                                           \
    for (size_t i = begin; i < end; i += lanes)                                                                        \
      for (size_t k = 0; k < Registers::count; ++k) {                                                                  \
        Vector x = load(reference, i + k * Registers::each), y = load(have, i + k * Registers::each);                  \
        Vector more = x - y, less = y - x, off = more > less ? more : less;                                            \
        absolute.in[k] += off;                                                                                         \
        squares.in[k] += off * off;                                                                                    \
        most.in[k] = off > most.in[k] ? off : most.in[k];                                                              \
        low.in[k] = x < low.in[k] ? x : low.in[k];                                                                     \
        high.in[k] = x > high.in[k] ? x : high.in[k];                                                                  \
        both.in[k] += x * y;                                                                                           \
        first.in[k] += x * x;                                                                                          \
        second.in[k] += y * y;                                                                                         \
      }                                                                                                                \
    for (size_t k = 0; k < Registers::count; ++k) {                                                                    \
      Vector odd = (first.in[k] - first.in[k]) + (second.in[k] - second.in[k]);                                        \
      for (size_t i = 0; i < Registers::each; ++i)                                                                     \
        if (odd[i] != 0)                                                                                               \
          return false;                                                                                                \
    }                                                                                                                  \
    absolute.store(sums.absolute);                                                                                     \
    squares.store(sums.squares);                                                                                       \
    most.store(sums.most);                                                                                             \
    both.store(sums.both);                                                                                             \
    first.store(sums.first);                                                                                           \
    second.store(sums.second);                                                                                         \
    low.store(sums.low);                                                                                               \
    high.store(sums.high);                                                                                             \
    return true;                                                                                                       \
  }                                                                                                                    \
  }
ORIGO_ADD_FINITE(plain, )
#ifdef __x86_64__
ORIGO_ADD_FINITE(avx2, ORIGO_AVX2)
ORIGO_ADD_FINITE(avx512, ORIGO_AVX512)
#endif
#undef ORIGO_ADD_FINITE

/// One by one, without those that are not finite; how many are so in one of the two only.
template <class X, class Y>
uint64_t addSome(LaneSums &sums, const X &reference, const Y &have, size_t begin, size_t end) {
  uint64_t odd = 0;
  for (size_t i = begin; i < end; ++i) {
    double x = reference[i], y = have[i];
    if (!std::isfinite(x) || !std::isfinite(y)) {
      odd += !(x == y || (std::isnan(x) && std::isnan(y)));
      continue;
    }
    double off = std::fabs(x - y);
    sums.absolute[0] += off;
    sums.squares[0] += off * off;
    sums.most[0] = std::max<double>(sums.most[0], off);
    sums.low[0] = std::min<double>(sums.low[0], x);
    sums.high[0] = std::max<double>(sums.high[0], x);
    sums.both[0] += x * y;
    sums.first[0] += x * x;
    sums.second[0] += y * y;
  }
  return odd;
}

double sumOf(const double *all) {
  return ((all[0] + all[1]) + (all[2] + all[3])) + ((all[4] + all[5]) + (all[6] + all[7]));
}
double leastOf(const double *all) {
  double least = all[0];
  for (size_t i = 1; i < lanes; ++i)
    least = std::min<double>(least, all[i]);
  return least;
}
double mostOf(const double *all) {
  double most = all[0];
  for (size_t i = 1; i < lanes; ++i)
    most = std::max<double>(most, all[i]);
  return most;
}

template <class X, class Y> void addAll(RecordSums &to, const X &reference, const Y &have, size_t size) {
  auto add = eval::forThisProcessor(plain::add<X, Y>, avx2::add<X, Y>, avx512::add<X, Y>);
  if (to.count == 0) {
    to.low = INFINITY;
    to.high = -INFINITY;
  }
  to.count += size;
  LaneSums sums;
  constexpr size_t block = 4096; // which is gone through again if something in it is not finite
  for (size_t begin = 0; begin < size; begin += block) {
    size_t end = std::min(begin + block, size), whole = begin + (end - begin) / lanes * lanes;
    if (whole != begin && !add(sums, reference, have, begin, whole))
      whole = begin;
    to.odd += addSome(sums, reference, have, whole, end);
  }
  to.absolute += sumOf(sums.absolute);
  to.squares += sumOf(sums.squares);
  to.both += sumOf(sums.both);
  to.first += sumOf(sums.first);
  to.second += sumOf(sums.second);
  to.most = std::max(to.most, mostOf(sums.most));
  to.low = std::min(to.low, leastOf(sums.low));
  to.high = std::max(to.high, mostOf(sums.high));
}

template <class T> Elements<T> elementsOf(const eval::Tensor &tensor) {
  Elements<T> elements{tensor.as<T>().data()};
  if (eval::isQuantized(tensor)) {
    elements.zero = tensor.zeroPointOf(0);
    elements.scale = tensor.scaleOf(0);
  }
  return elements;
}

} // namespace

void RecordSums::add(llvm::ArrayRef<double> reference, llvm::ArrayRef<double> have) {
  addAll(*this, Doubles{reference.data()}, Doubles{have.data()}, std::min(reference.size(), have.size()));
}

bool RecordSums::add(const eval::Tensor &reference, const eval::Tensor &have) {
  if (reference.count() != have.count())
    return false;
  auto size = static_cast<size_t>(reference.count());
  // What most tensors are; the others go by lists of their numbers.
  if (reference.type == TensorType::FLOAT32 && !have.perChannel())
    switch (have.type) {
    case TensorType::FLOAT32:
      addAll(*this, elementsOf<float>(reference), elementsOf<float>(have), size);
      return true;
    case TensorType::INT8:
      addAll(*this, elementsOf<float>(reference), elementsOf<int8_t>(have), size);
      return true;
    case TensorType::UINT8:
      addAll(*this, elementsOf<float>(reference), elementsOf<uint8_t>(have), size);
      return true;
    case TensorType::INT16:
      addAll(*this, elementsOf<float>(reference), elementsOf<int16_t>(have), size);
      return true;
    default:
      break;
    }
  auto x = eval::realNumbers(reference), y = eval::realNumbers(have);
  if (!x || !y)
    return false;
  add(*x, *y);
  return true;
}

void ErrorSums::add(const RecordSums &record) {
  odd += record.odd;
  low = std::min(low, record.low);
  high = std::max(high, record.high);
  ++records;
  double count = static_cast<double>(std::max<uint64_t>(record.count, 1));
  mse.add(record.squares / count);
  tae.add(record.absolute);
  mae.add(record.absolute / count);
  mpeir.add(record.low <= record.high ? record.most / (record.high - record.low + 1e-6) : 0);
  max = std::max(max, record.most);
  if (record.first > 0 && record.second > 0) {
    ++directed;
    cosine.add(record.both / (std::sqrt(record.first) * std::sqrt(record.second)));
  }
}

void ErrorSums::add(const ErrorSums &other) {
  if (other.empty())
    return;
  low = std::min(low, other.low);
  high = std::max(high, other.high);
  records += other.records;
  directed += other.directed;
  odd += other.odd;
  max = std::max(max, other.max);
  mse.add(other.mse);
  tae.add(other.tae);
  mae.add(other.mae);
  mpeir.add(other.mpeir);
  cosine.add(other.cosine);
}

ErrorFigures ErrorSums::figures(std::optional<double> scale) const {
  ErrorFigures f;
  double n = static_cast<double>(std::max<uint64_t>(records, 1));
  f.mse = mse.value() / n;
  f.tae = tae.value() / n;
  f.mae = mae.value() / n;
  f.mpeir = mpeir.value() / n;
  f.max = max;
  f.odd = odd;
  double range = high - low;
  if (scale && *scale > 0)
    f.srmse = std::sqrt(f.mse) / *scale;
  if (range > 0 && f.mse > 0)
    f.psnr = 10 * std::log10(range * range / f.mse);
  if (directed)
    f.cosine = cosine.value() / static_cast<double>(directed);
  if (range > 0 || max == 0)
    f.overRange = max == 0 ? 0 : max / range;
  return f;
}

llvm::ArrayRef<ErrorMetric> errorMetrics() {
  using F = const ErrorFigures &;
  static const ErrorMetric all[] = {
      {"MPEIR", "the most that an element is off, in parts of the range", [](F f) { return std::optional(f.mpeir); }},
      {"MSE", "mean square", [](F f) { return std::optional(f.mse); }},
      {"TAE", "sum of what all elements are off", [](F f) { return std::optional(f.tae); }},
      {"SRMSE", "root of the mean square, in steps of the quantisation", [](F f) { return f.srmse; }},
      {"MAE", "mean of what an element is off", [](F f) { return std::optional(f.mae); }},
      {"PSNR", "peak signal to noise, in dB", [](F f) { return f.psnr; }},
      {"cosine", "of the angle between the two", [](F f) { return f.cosine; }},
      {"max", "the most that an element is off", [](F f) { return std::optional(f.max); }},
      {"over_range", "the same in parts of the range of all records", [](F f) { return f.overRange; }},
  };
  return all;
}

const ErrorMetric *findErrorMetric(llvm::StringRef name) {
  for (const ErrorMetric &metric : errorMetrics())
    if (metric.name.equals_insensitive(name))
      return &metric;
  return nullptr;
}

} // namespace origo::report
