#include "report/metrics/Statistics.h"

#include "eval/Numbers.h"
#include "eval/Threads.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

#include <atomic>
#include <cmath>
#include <limits>

using namespace origo;
using namespace origo::report;

namespace {

/// Elements that one thread takes at a time. Parts are put together in their order, so that sums do not depend on who
/// did which.
constexpr uint64_t partElements = uint64_t(1) << 20;
/// Elements that are decoded at a time: they stay in the cache.
constexpr size_t windowElements = 4096;

template <class T> void decodeAs(const uint8_t *bytes, uint64_t first, size_t count, double *out) {
  for (size_t i = 0; i < count; ++i)
    out[i] = double(llvm::support::endian::read<T, llvm::endianness::little>(bytes + (first + i) * sizeof(T)));
}

void decodeHalf(const uint8_t *bytes, uint64_t first, size_t count, double *out) {
  for (size_t i = 0; i < count; ++i)
    out[i] = eval::halfToFloat(llvm::support::endian::read16le(bytes + (first + i) * 2));
}

void decodeBfloat(const uint8_t *bytes, uint64_t first, size_t count, double *out) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = uint32_t(llvm::support::endian::read16le(bytes + (first + i) * 2)) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    out[i] = value;
  }
}

/// The first of several elements in a byte has the lowest bits.
template <unsigned bits, bool isSigned>
void decodePacked(const uint8_t *bytes, uint64_t first, size_t count, double *out) {
  for (size_t i = 0; i < count; ++i) {
    uint64_t at = (first + i) * bits;
    int value = bytes[at / 8] >> at % 8 & ((1 << bits) - 1);
    out[i] = isSigned && value >> (bits - 1) ? value - (1 << bits) : value;
  }
}

using Decode = void (*)(const uint8_t *, uint64_t, size_t, double *);

Decode decoderOf(TensorType type) {
  if (type == tensorTypeInt2)
    return decodePacked<2, true>;
  switch (type) {
  case TensorType::FLOAT32:
    return decodeAs<float>;
  case TensorType::FLOAT64:
    return decodeAs<double>;
  case TensorType::FLOAT16:
    return decodeHalf;
  case TensorType::BFLOAT16:
    return decodeBfloat;
  case TensorType::INT8:
    return decodeAs<int8_t>;
  case TensorType::UINT8:
  case TensorType::BOOL:
    return decodeAs<uint8_t>;
  case TensorType::INT16:
    return decodeAs<int16_t>;
  case TensorType::UINT16:
    return decodeAs<uint16_t>;
  case TensorType::INT32:
    return decodeAs<int32_t>;
  case TensorType::UINT32:
    return decodeAs<uint32_t>;
  case TensorType::INT64:
    return decodeAs<int64_t>;
  case TensorType::UINT64:
    return decodeAs<uint64_t>;
  case TensorType::INT4:
    return decodePacked<4, true>;
  case TensorType::UINT4:
    return decodePacked<4, false>;
  default:
    return nullptr;
  }
}

/// A constant that is to be read.
struct Reading {
  const Value *value;
  Decode decode;
  llvm::ArrayRef<uint8_t> bytes;
  uint64_t stored = 0, elements = 0, row = 1;
  bool sparse = false;
  // Quantisation: element i is (stored − zero point) × scale of channel i / inner % channels.
  size_t channels = 0;
  uint64_t inner = 1;

  static std::optional<Reading> of(const Value &value) {
    Reading reading{.value = &value, .decode = decoderOf(value.type), .bytes = {}};
    auto elements = value.elementCount();
    auto bits = bitsPerElement(value.type);
    if (!value.isConstant() || value.compression || value.externalBuffer || !value.payload().hasBytes() ||
        !reading.decode || !elements || !bits)
      return std::nullopt;
    reading.bytes = value.payload().bytes();
    reading.elements = *elements;
    reading.sparse = value.sparsity();
    reading.stored = reading.sparse ? reading.bytes.size() * 8 / *bits : *elements;
    if (reading.sparse ? reading.stored > *elements : payloadBytes(value.type, *elements) != reading.bytes.size())
      return std::nullopt;
    if (!value.shape.empty() && value.shape.back() > 0)
      reading.row = uint64_t(value.shape.back());
    reading.findChannels();
    return reading;
  }

  void findChannels() {
    const Quantization *quantization = value->quantization;
    if (!quantization || quantization->details != Quantization::Details::None || quantization->scale.empty())
      return;
    size_t count = quantization->scale.size();
    int32_t axis = quantization->dimension;
    bool perChannel = count > 1;
    if (perChannel && (sparse || axis < 0 || axis >= value->rank() || uint64_t(value->shape[axis]) != count))
      return;
    channels = count;
    for (int i = perChannel ? axis + 1 : 0; i < value->rank(); ++i)
      inner *= uint64_t(value->shape[i]);
    inner = perChannel ? inner : std::max<uint64_t>(elements, 1);
  }

  void dequantize(uint64_t first, llvm::MutableArrayRef<double> window) const {
    if (!channels)
      return;
    const Quantization &quantization = *value->quantization;
    for (size_t i = 0; i < window.size();) {
      uint64_t position = first + i;
      size_t channel = position / inner % channels;
      size_t run = std::min<uint64_t>(window.size() - i, inner - position % inner);
      double scale = quantization.scale[channel];
      double zero = channel < quantization.zeroPoint.size() ? double(quantization.zeroPoint[channel])
                    : quantization.zeroPoint.size() == 1    ? double(quantization.zeroPoint[0])
                                                            : 0.0;
      for (size_t end = i + run; i < end; ++i)
        window[i] = (window[i] - zero) * scale;
    }
  }
};

/// Counts that can be added up. The squares are sums of squared differences from the mean.
struct Sums {
  uint64_t zeros = 0, nans = 0, infinities = 0, finite = 0, blocks = 0, zeroBlocks = 0;
  double min = 0, max = 0, mean = 0, squares = 0;

  void add(const Sums &other) {
    zeros += other.zeros, nans += other.nans, infinities += other.infinities;
    blocks += other.blocks, zeroBlocks += other.zeroBlocks;
    if (!other.finite)
      return;
    min = finite ? std::min(min, other.min) : other.min;
    max = finite ? std::max(max, other.max) : other.max;
    double a = double(finite), b = double(other.finite), delta = other.mean - mean;
    mean += delta * (b / (a + b));
    squares += other.squares + delta * delta * (a * b / (a + b));
    finite += other.finite;
  }

  static Sums of(llvm::ArrayRef<double> window) {
    Sums sums;
    double total = 0;
    for (double x : window) {
      sums.zeros += x == 0;
      if (!std::isfinite(x)) {
        ++(std::isnan(x) ? sums.nans : sums.infinities);
        continue;
      }
      sums.min = sums.finite ? std::min(sums.min, x) : x;
      sums.max = sums.finite ? std::max(sums.max, x) : x;
      total += x;
      ++sums.finite;
    }
    if (!sums.finite)
      return sums;
    sums.mean = total / double(sums.finite);
    for (double x : window)
      if (std::isfinite(x))
        sums.squares += (x - sums.mean) * (x - sums.mean);
    return sums;
  }
};

/// Blocks begin anew in each row, so a part begins where a block does.
uint64_t blockStart(const Reading &reading, uint64_t position, unsigned block) {
  uint64_t inRow = position % reading.row;
  uint64_t start = (inRow + block - 1) / block * block;
  return std::min(position - inRow + std::min(start, reading.row), reading.stored);
}

Sums readPart(const Reading &reading, uint64_t begin, uint64_t end, unsigned block) {
  Sums sums;
  std::array<double, windowElements> buffer;
  bool anyInBlock = false;
  uint64_t inRow = begin % reading.row, inBlock = 0;
  for (uint64_t first = begin; first < end;) {
    llvm::MutableArrayRef<double> window(buffer.data(), std::min<uint64_t>(end - first, windowElements));
    reading.decode(reading.bytes.data(), first, window.size(), window.data());
    reading.dequantize(first, window);
    sums.add(Sums::of(window));
    first += window.size();
    if (reading.sparse)
      continue;
    for (double x : window) {
      anyInBlock |= x != 0;
      ++inRow, ++inBlock;
      if (inBlock != block && inRow != reading.row)
        continue;
      ++sums.blocks;
      sums.zeroBlocks += !anyInBlock;
      anyInBlock = false;
      inBlock = 0;
      if (inRow == reading.row)
        inRow = 0;
    }
  }
  return sums;
}

Statistics finished(const Reading &reading, const Sums &sums) {
  Statistics result;
  Sums all = sums;
  if (uint64_t implied = reading.elements - reading.stored) {
    Sums zeros;
    zeros.zeros = zeros.finite = implied;
    all.add(zeros);
  }
  result.elements = reading.elements;
  result.zeros = all.zeros, result.nans = all.nans, result.infinities = all.infinities;
  result.blocks = all.blocks, result.zeroBlocks = all.zeroBlocks;
  result.finite = all.finite;
  if (all.finite) {
    result.min = all.min, result.max = all.max, result.mean = all.mean;
    result.std = std::sqrt(all.squares / double(all.finite));
  }
  return result;
}

} // namespace

std::vector<std::optional<Statistics>> report::statisticsOf(llvm::ArrayRef<const Value *> values,
                                                            const StatisticsOptions &options) {
  struct Part {
    size_t reading;
    uint64_t begin, end;
    Sums sums = {};
  };
  std::vector<std::optional<Reading>> readings;
  std::vector<Part> parts;
  unsigned block = std::max(options.block, 1u);
  for (const Value *value : values) {
    readings.push_back(Reading::of(*value));
    if (const auto &reading = readings.back())
      for (uint64_t begin = 0; begin < reading->stored;) {
        uint64_t end = reading->stored - begin <= partElements ? reading->stored
                                                               : blockStart(*reading, begin + partElements, block);
        parts.push_back({readings.size() - 1, begin, end});
        begin = end;
      }
  }

  std::atomic<size_t> next{0};
  auto work = [&](bool tells) {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < parts.size();) {
      Part &part = parts[i];
      part.sums = readPart(*readings[part.reading], part.begin, part.end, block);
      if (tells && options.progress)
        options.progress(unsigned(100 * (i + 1) / parts.size()));
    }
  };
  eval::onThreads(static_cast<unsigned>(std::min<size_t>(options.threads, parts.size())), work);

  std::vector<Sums> sums(readings.size());
  for (const Part &part : parts)
    sums[part.reading].add(part.sums);
  std::vector<std::optional<Statistics>> result;
  for (size_t i = 0; i < readings.size(); ++i)
    result.push_back(readings[i] ? std::optional(finished(*readings[i], sums[i])) : std::nullopt);
  return result;
}

std::vector<uint64_t> report::histogramOf(const Value &value, const Statistics &statistics, unsigned parts) {
  std::optional<Reading> reading = Reading::of(value);
  double range = statistics.max - statistics.min;
  if (!reading || !statistics.finite || !std::isfinite(range))
    return {};
  std::vector<uint64_t> counts(parts);
  auto add = [&](double x, uint64_t count) {
    double at = range > 0 ? (x - statistics.min) / range * parts : 0;
    counts[std::min<size_t>(size_t(std::max(at, 0.0)), parts - 1)] += count;
  };
  std::array<double, windowElements> buffer;
  for (uint64_t first = 0; first < reading->stored; first += buffer.size()) {
    llvm::MutableArrayRef<double> window(buffer.data(), std::min<uint64_t>(reading->stored - first, buffer.size()));
    reading->decode(reading->bytes.data(), first, window.size(), window.data());
    reading->dequantize(first, window);
    for (double x : window)
      if (std::isfinite(x))
        add(x, 1);
  }
  add(0, reading->elements - reading->stored);
  return counts;
}
