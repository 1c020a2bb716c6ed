#include "quantize/Clips.h"

#include <algorithm>
#include <cmath>

namespace origo::quantize {

namespace {

/// Numbers that are taken to be spread evenly.
struct Span {
  double low, high, count;
};

/// What is not zero, each cell cut to what there is. Zeros are rounded to themselves.
std::vector<Span> spansOf(const Histogram &histogram, Extremes all) {
  std::vector<Span> spans;
  for (unsigned cell = 0; cell < Histogram::cells; ++cell) {
    bool zero = cell == Histogram::zero || cell == Histogram::zero - 1;
    if (histogram[cell] == 0 || zero)
      continue;
    double low = std::max(Histogram::low(cell), all.min), high = std::min(Histogram::high(cell), all.max);
    spans.push_back({low, std::max(low, high), static_cast<double>(histogram[cell])});
  }
  return spans;
}

/// The same of magnitudes.
std::vector<Span> magnitudes(const std::vector<Span> &spans) {
  std::vector<Span> list;
  for (const Span &span : spans)
    list.push_back(span.low < 0 ? Span{-span.high, -span.low, span.count} : span);
  std::sort(list.begin(), list.end(), [](const Span &a, const Span &b) { return a.low < b.low; });
  return list;
}

Extremes clipped(Extremes all, double clip) {
  auto most = static_cast<float>(clip);
  return {std::max(all.min, -most), std::min(all.max, most)};
}

/// ∫ (u − round u)² du from 0.
double rounding(double u) {
  double whole = std::round(u), rest = u - whole;
  return whole / 12 + rest * rest * rest / 3;
}

/// The sum of squares over spans, when a range that has zero in it is cut into steps.
double squares(const std::vector<Span> &spans, double low, double high, unsigned steps) {
  double step = (high - low) / steps, sum = 0;
  if (!(step > 0))
    return INFINITY;
  // Zero is a step, so that the ends move a little.
  double zero = std::round(-low / step);
  low = -zero * step, high = (steps - zero) * step;
  for (const Span &span : spans) {
    double width = span.high - span.low, share = 0;
    // The mean over the span of the square of how far `x` is from `from`.
    auto beyond = [](double a, double b, double from) {
      a -= from, b -= from;
      return (a * a + a * b + b * b) / 3;
    };
    double a = std::clamp(span.low, low, high), b = std::clamp(span.high, low, high);
    auto part = [&](double from, double to) { return width > 0 ? (to - from) / width : 1; };
    if (b > a)
      share += step * step * (rounding(b / step) - rounding(a / step)) / ((b - a) / step) * part(a, b);
    else if (width == 0 && span.low >= low && span.low <= high)
      share += std::pow(span.low - std::round(span.low / step) * step, 2);
    if (span.high > high)
      share += beyond(std::max(span.low, high), span.high, high) * part(std::max(span.low, high), span.high);
    if (span.low < low)
      share += beyond(span.low, std::min(span.high, low), low) * part(span.low, std::min(span.high, low));
    sum += share * span.count;
  }
  return sum;
}

} // namespace

double meanSquare(const Histogram &histogram, Extremes all, Extremes range, unsigned steps) {
  double low = std::min(range.min, 0.0f), high = std::max(range.max, 0.0f);
  auto total = static_cast<double>(histogram.total());
  return total > 0 && high > low ? squares(spansOf(histogram, all), low, high, steps) / total : 0;
}

Extremes clipByShare(const Histogram &histogram, Extremes all, double percent) {
  std::vector<Span> list = magnitudes(spansOf(histogram, all));
  double zeros = static_cast<double>(histogram[Histogram::zero]) + static_cast<double>(histogram[Histogram::zero - 1]);
  double wanted = percent / 100 * static_cast<double>(histogram.total()) - zeros;
  if (wanted <= 0) // nothing would be left but zero
    return all;
  for (const Span &span : list) {
    if (span.count >= wanted)
      return clipped(all, span.low + (span.high - span.low) * wanted / span.count);
    wanted -= span.count;
  }
  return all;
}

Extremes clipByError(const Histogram &histogram, Extremes all, unsigned steps) {
  std::vector<Span> spans = spansOf(histogram, all);
  double low = std::min(all.min, 0.0f), high = std::max(all.max, 0.0f), bottom = low, top = high;
  if (spans.empty())
    return all;
  double best = squares(spans, low, high, steps);
  auto attempt = [&](double toLow, double toHigh) {
    if (double error = squares(spans, toLow, toHigh, steps); error < best) {
      best = error;
      low = toLow, high = toHigh;
    }
  };
  // Both ends at once, then each by itself, from where the other is.
  constexpr int parts = 100;
  double magnitude = std::max(-bottom, top);
  for (int i = parts - 1; i > 0; --i)
    attempt(std::max(bottom, -magnitude * i / parts), std::min(top, magnitude * i / parts));
  for (int round = 0; round < 2; ++round) {
    for (int i = parts; i > 0 && top > 0; --i)
      attempt(low, top * i / parts);
    for (int i = parts; i > 0 && bottom < 0; --i)
      attempt(bottom * i / parts, high);
  }
  return {std::max(all.min, static_cast<float>(low)), std::min(all.max, static_cast<float>(high))};
}

Extremes clipByEntropy(const Histogram &histogram, Extremes all) {
  constexpr size_t bins = 2048, levels = 128, stride = 8;
  std::vector<Span> list = magnitudes(spansOf(histogram, all));
  double most = std::max(-all.min, all.max);
  if (list.empty() || !(most > 0))
    return all;
  std::vector<double> counts(bins);
  for (const Span &span : list) {
    double from = std::min(span.low / most * bins, bins - 1.0), to = std::min(span.high / most * bins, double(bins));
    for (size_t bin = static_cast<size_t>(from); bin < bins && (bin == static_cast<size_t>(from) || bin < to); ++bin) {
      double part = to > from ? std::max(0.0, std::min(to, bin + 1.0) - std::max(from, double(bin))) / (to - from) : 1;
      counts[bin] += span.count * part;
    }
  }
  counts[0] += static_cast<double>(histogram[Histogram::zero]) + static_cast<double>(histogram[Histogram::zero - 1]);
  double sum = 0, inside = 0, least = INFINITY;
  for (double count : counts)
    sum += count;
  for (size_t bin = 0; bin < levels - stride; ++bin)
    inside += counts[bin];
  size_t choice = bins;
  for (size_t width = levels; width <= bins; width += stride) {
    for (size_t bin = width - stride; bin < width; ++bin)
      inside += counts[bin];
    double outside = std::max(0.0, sum - inside), divergence = 0;
    for (size_t level = 0; level < levels; ++level) {
      size_t begin = level * width / levels, end = (level + 1) * width / levels;
      double merged = 0;
      size_t filled = 0;
      for (size_t bin = begin; bin < end; ++bin) {
        merged += counts[bin];
        filled += counts[bin] > 0;
      }
      for (size_t bin = begin; bin < end; ++bin) {
        double p = (counts[bin] + (bin == width - 1 ? outside : 0)) / sum;
        double q = counts[bin] > 0 ? merged / filled / inside : 0;
        // What the coarse one has nothing for is counted as if it had next to nothing.
        if (p > 0)
          divergence += p * std::log(p / std::max(q, 1e-10));
      }
    }
    if (divergence < least) {
      least = divergence;
      choice = width;
    }
  }
  return clipped(all, most * static_cast<double>(choice) / bins);
}

} // namespace origo::quantize
