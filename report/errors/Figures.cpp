#include "report/errors/Figures.h"

#include "eval/RealNumbers.h"
#include "eval/fast/Processor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace origo::report {

namespace {

// What most tensors are is compared in floats, sixteen side by side, in blocks: sums of so few are right in seven
// digits. What a block adds up to is added in doubles. The order of addition is the same for all processors,
// and a product and its sum are rounded once, also where that is no instruction.
constexpr size_t lanes = 16, blockSize = 512;

struct LaneSums {
  double absolute[lanes] = {}, squares[lanes] = {}, both[lanes] = {}, first[lanes] = {}, second[lanes] = {};
  float most[lanes], low[lanes], high[lanes];
};

/// Integers k that stand for (k - zero) * scale. The scale is cut into parts of so few bits that each product is exact;
/// so the difference to a float that is near loses nothing, either.
template <class T> struct Stored {
  static constexpr bool isAffine = !std::is_floating_point_v<T>;
  static constexpr size_t parts = !isAffine ? 0 : sizeof(T) == 1 ? 2 : 3;
  const T *data;
  float zero = 0, scale = 1;
  float part[3] = {1};

  explicit Stored(const eval::Tensor &tensor) : data(tensor.as<T>().data()) {
    if (!eval::isQuantized(tensor))
      return;
    zero = static_cast<float>(tensor.zeroPointOf(0));
    scale = tensor.scaleOf(0);
    float rest = scale;
    for (size_t i = 0; i < parts; ++i) {
      // A difference of stored bytes has 8 bits, so that products with 16 are exact; one of words 16.
      uint32_t kept = parts == 2 ? 0xffffff00 : 0xffff0000;
      part[i] = i + 1 < parts ? llvm::bit_cast<float>(llvm::bit_cast<uint32_t>(rest) & kept) : rest;
      rest -= part[i];
    }
  }
  double operator[](size_t i) const {
    auto x = static_cast<double>(data[i]);
    return isAffine ? (x - double(zero)) * double(scale) : x;
  }
};

// What a processor has for as many elements as one of its registers takes floats.
#define ORIGO_ALWAYS inline __attribute__((always_inline))
namespace plain {
using Vector = float __attribute__((vector_size(16)));
ORIGO_ALWAYS Vector greater(Vector x, Vector y) { return x > y ? x : y; }
ORIGO_ALWAYS Vector less(Vector x, Vector y) { return x < y ? x : y; }
ORIGO_ALWAYS Vector sumWith(Vector sum, Vector x, Vector y) {
  for (int i = 0; i < 4; ++i)
    sum[i] = std::fma(x[i], y[i], sum[i]);
  return sum;
}
template <class T> ORIGO_ALWAYS Vector widen(const T *from) {
  return Vector{static_cast<float>(from[0]), static_cast<float>(from[1]), static_cast<float>(from[2]),
                static_cast<float>(from[3])};
}
ORIGO_ALWAYS void addTo(double *to, Vector x) {
  for (size_t i = 0; i < 4; ++i)
    to[i] += x[i];
}
} // namespace plain
#ifdef __x86_64__
namespace avx2 {
using Vector = float __attribute__((vector_size(32)));
ORIGO_AVX2 ORIGO_ALWAYS Vector greater(Vector x, Vector y) { return _mm256_max_ps(x, y); }
ORIGO_AVX2 ORIGO_ALWAYS Vector less(Vector x, Vector y) { return _mm256_min_ps(x, y); }
ORIGO_AVX2 ORIGO_ALWAYS Vector sumWith(Vector sum, Vector x, Vector y) { return _mm256_fmadd_ps(x, y, sum); }
ORIGO_AVX2 ORIGO_ALWAYS __m128i eight(const void *from) { return _mm_loadl_epi64(static_cast<const __m128i *>(from)); }
ORIGO_AVX2 ORIGO_ALWAYS Vector widen(const float *from) { return _mm256_loadu_ps(from); }
ORIGO_AVX2 ORIGO_ALWAYS Vector widen(const int8_t *from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight(from)));
}
ORIGO_AVX2 ORIGO_ALWAYS Vector widen(const uint8_t *from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(eight(from)));
}
ORIGO_AVX2 ORIGO_ALWAYS Vector widen(const int16_t *from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from))));
}
ORIGO_AVX2 ORIGO_ALWAYS void addFour(double *to, __m128 x) {
  _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), _mm256_cvtps_pd(x)));
}
ORIGO_AVX2 ORIGO_ALWAYS void addTo(double *to, Vector x) {
  addFour(to, _mm256_castps256_ps128(x));
  addFour(to + 4, _mm256_extractf128_ps(x, 1));
}
} // namespace avx2
namespace avx512 {
using Vector = float __attribute__((vector_size(64)));
ORIGO_AVX512 ORIGO_ALWAYS Vector greater(Vector x, Vector y) { return _mm512_max_ps(x, y); }
ORIGO_AVX512 ORIGO_ALWAYS Vector less(Vector x, Vector y) { return _mm512_min_ps(x, y); }
ORIGO_AVX512 ORIGO_ALWAYS Vector sumWith(Vector sum, Vector x, Vector y) { return _mm512_fmadd_ps(x, y, sum); }
ORIGO_AVX512 ORIGO_ALWAYS __m128i sixteen(const void *from) {
  return _mm_loadu_si128(static_cast<const __m128i *>(from));
}
ORIGO_AVX512 ORIGO_ALWAYS Vector widen(const float *from) { return _mm512_loadu_ps(from); }
ORIGO_AVX512 ORIGO_ALWAYS Vector widen(const int8_t *from) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(sixteen(from)));
}
ORIGO_AVX512 ORIGO_ALWAYS Vector widen(const uint8_t *from) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(sixteen(from)));
}
ORIGO_AVX512 ORIGO_ALWAYS Vector widen(const int16_t *from) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(from))));
}
ORIGO_AVX512 ORIGO_ALWAYS void addEight(double *to, __m256d x) {
  _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), _mm512_cvtps_pd(_mm256_castpd_ps(x))));
}
ORIGO_AVX512 ORIGO_ALWAYS void addTo(double *to, Vector x) {
  addEight(to, _mm512_castpd512_pd256(_mm512_castps_pd(x)));
  addEight(to + 8, _mm512_extractf64x4_pd(_mm512_castps_pd(x), 1));
}
} // namespace avx512
#else
namespace avx2 = plain;
namespace avx512 = plain;
#endif

/// As many numbers as there are lanes, in registers of a processor.
template <class Vector> struct Registers {
  static constexpr size_t each = sizeof(Vector) / sizeof(float), count = lanes / each;
  Vector in[count];
  ORIGO_ALWAYS explicit Registers(float all) {
    for (Vector &vector : in)
      vector = Vector{} + all;
  }
  ORIGO_ALWAYS void store(float *to) const { std::memcpy(to, in, sizeof(in)); }
};

// sumsOf: of `size` elements, a multiple of the lanes; those with numbers of `have` without its scale. A macro, as a
// function for all processors could not call what only one of them has.
#define ORIGO_SUMS(processor, target)                                                                                  \
  namespace processor {                                                                                                \
  template <class Y> target void sumsOf(LaneSums &to, const float *reference, const Y &have, size_t size) {            \
    using Bits = int32_t __attribute__((vector_size(sizeof(Vector))));                                                 \
    using Sums = Registers<Vector>;                                                                                    \
    Sums most(0), low(INFINITY), high(-INFINITY);                                                                      \
    for (size_t i = 0; i < size;) {                                                                                    \
      Sums absolute(0), squares(0), both(0), first(0), second(0);                                                      \
      for (size_t end = std::min(i + blockSize, size); i < end; i += lanes)                                            \
        for (size_t r = 0; r < Sums::count; ++r) {                                                                     \
          Vector x = widen(reference + i + r * Sums::each), y = widen(have.data + i + r * Sums::each), off = x;        \
          if constexpr (Y::isAffine) {                                                                                 \
            y -= have.zero;                                                                                            \
            for (size_t p = 0; p < Y::parts; ++p)                                                                      \
              off = sumWith(off, y, Vector{} - have.part[p]);                                                          \
          } else {                                                                                                     \
            off -= y;                                                                                                  \
          }                                                                                                            \
          off = (Vector)((Bits)off & 0x7fffffff);                                                                      \
          absolute.in[r] += off;                                                                                       \
          squares.in[r] = sumWith(squares.in[r], off, off);                                                            \
          both.in[r] = sumWith(both.in[r], x, y);                                                                      \
          first.in[r] = sumWith(first.in[r], x, x);                                                                    \
          second.in[r] = sumWith(second.in[r], y, y);                                                                  \
          most.in[r] = greater(off, most.in[r]);                                                                       \
          low.in[r] = less(x, low.in[r]);                                                                              \
          high.in[r] = greater(x, high.in[r]);                                                                         \
        }                                                                                                              \
      for (size_t r = 0; r < Sums::count; ++r) {                                                                       \
        addTo(to.absolute + r * Sums::each, absolute.in[r]);                                                           \
        addTo(to.squares + r * Sums::each, squares.in[r]);                                                             \
        addTo(to.both + r * Sums::each, both.in[r]);                                                                   \
        addTo(to.first + r * Sums::each, first.in[r]);                                                                 \
        addTo(to.second + r * Sums::each, second.in[r]);                                                               \
      }                                                                                                                \
    }                                                                                                                  \
    most.store(to.most);                                                                                               \
    low.store(to.low);                                                                                                 \
    high.store(to.high);                                                                                               \
  }                                                                                                                    \
  }
ORIGO_SUMS(plain, )
#ifdef __x86_64__
ORIGO_SUMS(avx2, ORIGO_AVX2)
ORIGO_SUMS(avx512, ORIGO_AVX512)
#endif
#undef ORIGO_SUMS

/// Of all lanes one number, by halves.
template <class T, class Fold> T together(const T (&all)[lanes], Fold fold) {
  T now[lanes];
  std::copy(std::begin(all), std::end(all), now);
  for (size_t half = lanes / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      now[i] = fold(now[i], now[i + half]);
  return now[0];
}
double sumOf(const double (&all)[lanes]) { return together(all, std::plus<>()); }

/// Neither infinite nor so great or small that its square has fewer digits.
bool isSquared(float most) { return most == 0 || (most > 1e-12f && most < 1e15f); }

/// False, and nothing is added: in floats, that would not be right.
template <class Y> bool addSums(RecordSums &to, const LaneSums &sums, const Y &have) {
  double absolute = sumOf(sums.absolute), second = sumOf(sums.second), scale = have.scale;
  auto greater = [](float x, float y) { return x > y ? x : y; };
  auto less = [](float x, float y) { return x < y ? x : y; };
  float most = together(sums.most, greater), low = together(sums.low, less), high = together(sums.high, greater);
  bool right = std::isfinite(absolute) && isSquared(most) && isSquared(std::max(-low, high)) &&
               (Y::isAffine || second > 1e-24 || most == 0);
  if (!right)
    return false;
  to.absolute += absolute;
  to.squares += sumOf(sums.squares);
  to.both += sumOf(sums.both) * scale;
  to.first += sumOf(sums.first);
  to.second += second * scale * scale;
  to.most = std::max<double>(to.most, most);
  to.low = std::min<double>(to.low, low);
  to.high = std::max<double>(to.high, high);
  return true;
}

/// One by one, in doubles.
template <class X, class Y> void addEach(RecordSums &to, const X &reference, const Y &have, size_t begin, size_t end) {
  RecordSums sums = to; // in registers
  for (size_t i = begin; i < end; ++i) {
    double x = reference[i], y = have[i];
    if (!std::isfinite(x) || !std::isfinite(y)) {
      sums.odd += !(x == y || (std::isnan(x) && std::isnan(y)));
      continue;
    }
    double off = std::fabs(x - y);
    sums.absolute += off;
    sums.squares += off * off;
    sums.most = std::max(sums.most, off);
    sums.low = std::min(sums.low, x);
    sums.high = std::max(sums.high, x);
    sums.both += x * y;
    sums.first += x * x;
    sums.second += y * y;
  }
  to = sums;
}

void addCount(RecordSums &to, size_t size) {
  if (to.count == 0) {
    to.low = INFINITY;
    to.high = -INFINITY;
  }
  to.count += size;
}

template <class T> bool addStored(RecordSums &to, const eval::Tensor &reference, const eval::Tensor &tensor) {
  const float *x = reference.as<float>().data();
  Stored<T> have(tensor);
  auto size = static_cast<size_t>(reference.count()), whole = size / lanes * lanes;
  addCount(to, size);
  if (whole != 0) {
    LaneSums sums;
    eval::forThisProcessor(plain::sumsOf<Stored<T>>, avx2::sumsOf<Stored<T>>, avx512::sumsOf<Stored<T>>)(sums, x, have,
                                                                                                         whole);
    if (!addSums(to, sums, have))
      whole = 0;
  }
  addEach(to, x, have, whole, size);
  return true;
}

} // namespace

void RecordSums::add(llvm::ArrayRef<double> reference, llvm::ArrayRef<double> have) {
  size_t size = std::min(reference.size(), have.size());
  addCount(*this, size);
  addEach(*this, reference, have, 0, size);
}

bool RecordSums::add(const eval::Tensor &reference, const eval::Tensor &have) {
  if (reference.count() != have.count())
    return false;
  // What most tensors are; the others go by lists of their numbers.
  if (reference.type == TensorType::FLOAT32 && !have.perChannel())
    switch (have.type) {
    case TensorType::FLOAT32:
      return addStored<float>(*this, reference, have);
    case TensorType::INT8:
      return addStored<int8_t>(*this, reference, have);
    case TensorType::UINT8:
      return addStored<uint8_t>(*this, reference, have);
    case TensorType::INT16:
      return addStored<int16_t>(*this, reference, have);
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
