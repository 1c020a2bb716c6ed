#include "report/errors/Figures.h"

#include "eval/RealNumbers.h"
#include "eval/fast/Processor.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace origo::report {

namespace {

/// Eight sums side by side: the order of addition is the same for all processors.
constexpr size_t lanes = 8;
using Lanes = double __attribute__((vector_size(8 * lanes)));

struct LaneSums {
  Lanes absolute{}, squares{}, most{}, both{}, first{}, second{};
  Lanes low = Lanes{} + INFINITY, high = Lanes{} - INFINITY;
};

using Words = int32_t __attribute__((vector_size(4 * lanes)));
/// Some elements as doubles. Small integers go by way of words, for which processors have instructions.
#define ORIGO_WIDEN(Type, Few)                                                                                         \
  inline __attribute__((always_inline)) void widen(const Type *from, Lanes &lane) {                                    \
    using Vector __attribute__((vector_size(sizeof(Type) * lanes))) = Type;                                            \
    Vector few;                                                                                                        \
    std::memcpy(&few, from, sizeof(few));                                                                              \
    lane = __builtin_convertvector(Few, Lanes);                                                                        \
  }
ORIGO_WIDEN(float, few)
ORIGO_WIDEN(double, few)
ORIGO_WIDEN(int8_t, __builtin_convertvector(few, Words))
ORIGO_WIDEN(uint8_t, __builtin_convertvector(few, Words))
ORIGO_WIDEN(int16_t, __builtin_convertvector(few, Words))
#undef ORIGO_WIDEN

/// Real numbers of elements that lie side by side.
template <class T> struct Elements {
  const T *data;
  double zero = 0, scale = 1;
  static constexpr bool isAffine = !std::is_floating_point_v<T>;
  inline __attribute__((always_inline)) void load(size_t i, Lanes &lane) const {
    widen(data + i, lane);
    if constexpr (isAffine)
      lane = (lane - zero) * scale;
  }
  double operator[](size_t i) const {
    auto x = static_cast<double>(data[i]);
    return isAffine ? (x - zero) * scale : x;
  }
};
using Doubles = Elements<double>;

/// False, and nothing is added: something is not finite, or so great that its square is not.
template <class X, class Y>
inline __attribute__((always_inline)) bool addFinite(LaneSums &sums, const X &reference, const Y &have, size_t begin,
                                                     size_t end) {
  LaneSums now = sums;
  for (size_t i = begin; i < end; i += lanes) {
    Lanes x, y;
    reference.load(i, x);
    have.load(i, y);
    Lanes off = x - y;
    off = off < Lanes{} ? -off : off;
    now.absolute += off;
    now.squares += off * off;
    now.most = off > now.most ? off : now.most;
    now.low = x < now.low ? x : now.low;
    now.high = x > now.high ? x : now.high;
    now.both += x * y;
    now.first += x * x;
    now.second += y * y;
  }
  Lanes odd = (now.first - now.first) + (now.second - now.second);
  for (size_t i = 0; i < lanes; ++i)
    if (odd[i] != 0)
      return false;
  sums = now;
  return true;
}

template <class X, class Y> bool addPlain(LaneSums &sums, const X &x, const Y &y, size_t begin, size_t end) {
  return addFinite(sums, x, y, begin, end);
}
template <class X, class Y> ORIGO_AVX2 bool addAvx2(LaneSums &sums, const X &x, const Y &y, size_t begin, size_t end) {
  return addFinite(sums, x, y, begin, end);
}
template <class X, class Y>
ORIGO_AVX512 bool addAvx512(LaneSums &sums, const X &x, const Y &y, size_t begin, size_t end) {
  return addFinite(sums, x, y, begin, end);
}

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

double sumOf(const Lanes &all) {
  return ((all[0] + all[1]) + (all[2] + all[3])) + ((all[4] + all[5]) + (all[6] + all[7]));
}
double leastOf(const Lanes &all) {
  double least = all[0];
  for (size_t i = 1; i < lanes; ++i)
    least = std::min<double>(least, all[i]);
  return least;
}
double mostOf(const Lanes &all) { return -leastOf(-all); }

template <class X, class Y> void addAll(RecordSums &to, const X &reference, const Y &have, size_t size) {
  auto add = eval::forThisProcessor(addPlain<X, Y>, addAvx2<X, Y>, addAvx512<X, Y>);
  if (to.count == 0) {
    to.low = INFINITY;
    to.high = -INFINITY;
  }
  to.count += size;
  LaneSums sums;
  constexpr size_t block = 4096; // which is gone through again if something in it is not finite
  for (size_t begin = 0; begin < size; begin += block) {
    size_t end = std::min(begin + block, size), whole = begin + (end - begin) / lanes * lanes;
    if (!add(sums, reference, have, begin, whole))
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
