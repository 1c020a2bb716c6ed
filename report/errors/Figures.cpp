#include "report/errors/Figures.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace origo::report {

void RecordSums::add(llvm::ArrayRef<double> reference, llvm::ArrayRef<double> have) {
  if (count == 0) {
    low = std::numeric_limits<double>::infinity();
    high = -low;
  }
  count += reference.size();
  for (size_t i = 0; i < reference.size(); ++i) {
    double x = reference[i], y = have[i];
    if (!std::isfinite(x) || !std::isfinite(y)) {
      odd += !(x == y || (std::isnan(x) && std::isnan(y)));
      continue;
    }
    double off = std::fabs(x - y);
    absolute += off;
    squares += off * off;
    most = std::max(most, off);
    low = std::min(low, x);
    high = std::max(high, x);
    both += x * y;
    first += x * x;
    second += y * y;
  }
}

void ErrorSums::add(const RecordSums &record) {
  odd += record.odd;
  bool known = record.low <= record.high;
  if (known) {
    low = records ? std::min(low, record.low) : record.low;
    high = records ? std::max(high, record.high) : record.high;
  }
  ++records;
  double count = static_cast<double>(std::max<uint64_t>(record.count, 1));
  mse += record.squares / count;
  tae += record.absolute;
  mae += record.absolute / count;
  mpeir += known ? record.most / (record.high - record.low + 1e-6) : 0;
  max = std::max(max, record.most);
  if (record.first > 0 && record.second > 0) {
    ++directed;
    cosine += record.both / (std::sqrt(record.first) * std::sqrt(record.second));
  }
}

ErrorFigures ErrorSums::figures(std::optional<double> scale) const {
  ErrorFigures f;
  double n = static_cast<double>(std::max<uint64_t>(records, 1));
  f.mse = mse / n;
  f.tae = tae / n;
  f.mae = mae / n;
  f.mpeir = mpeir / n;
  f.max = max;
  f.odd = odd;
  double range = high - low;
  if (scale && *scale > 0)
    f.srmse = std::sqrt(f.mse) / *scale;
  if (range > 0 && f.mse > 0)
    f.psnr = 10 * std::log10(range * range / f.mse);
  if (directed)
    f.cosine = cosine / static_cast<double>(directed);
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
