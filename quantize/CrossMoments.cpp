#include "quantize/CrossMoments.h"

namespace origo::quantize {

namespace {

constexpr size_t atOnce = 64; ///< patches whose products are added together

/// Σ over patches of by[·] · rows[·, j], added to `to`.
void addProducts(llvm::MutableArrayRef<double> to, const float *by, const float *rows, size_t patches, size_t length) {
  constexpr size_t tile = 256;
  float sums[tile];
  for (size_t from = 0; from < to.size(); from += tile) {
    size_t width = std::min(tile, to.size() - from);
    std::fill(sums, sums + width, 0.f);
    size_t b = 0;
    for (; b + 4 <= patches; b += 4) {
      const float *r0 = rows + b * length + from, *r1 = r0 + length, *r2 = r1 + length, *r3 = r2 + length;
      float b0 = by[b * length], b1 = by[(b + 1) * length], b2 = by[(b + 2) * length], b3 = by[(b + 3) * length];
      for (size_t j = 0; j < width; ++j)
        sums[j] += (b0 * r0[j] + b1 * r1[j]) + (b2 * r2[j] + b3 * r3[j]);
    }
    for (; b < patches; ++b)
      for (size_t j = 0; j < width; ++j)
        sums[j] += by[b * length] * rows[b * length + from + j];
    for (size_t j = 0; j < width; ++j)
      to[from + j] += static_cast<double>(sums[j]);
  }
}

/// Products enough to tell all directions, and no more than some seconds' worth.
uint64_t positionsFor(const Patches &patches) {
  constexpr uint64_t most = 16384, products = 3'000'000'000;
  uint64_t length = patches.length(), each = length * length * patches.groups() * 3 / 2;
  return std::clamp<uint64_t>(products / std::max<uint64_t>(each, 1),
                              std::min(most, std::max<uint64_t>(1024, 2 * length)), most);
}

} // namespace

bool CrossMoments::isTooLarge(const Patches &patches) {
  constexpr uint64_t most = 4096;
  uint64_t length = patches.length();
  return length > most || length * length * patches.groups() > most * most;
}

CrossMoments::CrossMoments(const Operator &op, uint64_t positions) : patches(op), groups(patches.groups()) {
  size_t length = patches.length();
  uint64_t wanted = positionsFor(patches);
  every = std::max<uint64_t>(1, (positions + wanted - 1) / wanted);
  for (Sums &sums : groups) {
    for (auto *sum : {&sums.sum, &sums.quantizedSum, &sums.seenSum, &sums.seenApart})
      sum->assign(length, 0);
    sums.products.assign(length * length, 0);
    sums.apart.assign(length * length, 0);
  }
  patch.resize(length);
  quantizedPatch.resize(length);
}

void CrossMoments::add(const float *x, const float *quantized, llvm::ArrayRef<int32_t> shape) {
  Patches::Positions positions = patches.over(shape);
  size_t length = patches.length();
  for (uint64_t position = 0; position < positions.count(); ++position) {
    bool sees = next++ % every == 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      Sums &sums = groups[g];
      positions.read(x, position, g, patch);
      positions.read(quantized, position, g, quantizedPatch);
      for (size_t i = 0; i < length; ++i) {
        sums.sum[i] += static_cast<double>(patch[i]);
        sums.quantizedSum[i] += static_cast<double>(quantizedPatch[i]);
      }
      if (!sees)
        continue;
      for (size_t i = 0; i < length; ++i) {
        patch[i] -= quantizedPatch[i];
        differs |= patch[i] != 0;
      }
      sums.waiting.insert(sums.waiting.end(), quantizedPatch.begin(), quantizedPatch.end());
      sums.waitingApart.insert(sums.waitingApart.end(), patch.begin(), patch.end());
      if (sums.waiting.size() == atOnce * length)
        flush(sums);
    }
    seen += sees;
  }
  count += positions.count();
}

void CrossMoments::flush(Sums &sums) {
  size_t length = patches.length(), waiting = sums.waiting.size() / length;
  for (size_t b = 0; b < waiting; ++b)
    for (size_t i = 0; i < length; ++i) {
      sums.seenSum[i] += static_cast<double>(sums.waiting[b * length + i]);
      sums.seenApart[i] += static_cast<double>(sums.waitingApart[b * length + i]);
    }
  for (size_t i = 0; i < length; ++i) {
    addProducts({sums.products.data() + i * length, i + 1}, &sums.waiting[i], sums.waiting.data(), waiting, length);
    if (differs)
      addProducts({sums.apart.data() + i * length, length}, &sums.waitingApart[i], sums.waiting.data(), waiting,
                  length);
  }
  sums.waiting.clear();
  sums.waitingApart.clear();
}

CrossMoments::Group CrossMoments::take(size_t group) {
  Sums &sums = groups[group];
  if (!sums.waiting.empty())
    flush(sums);
  size_t length = patches.length();
  Group made;
  auto all = static_cast<double>(std::max<uint64_t>(count, 1)), some = static_cast<double>(std::max<uint64_t>(seen, 1));
  for (size_t i = 0; i < length; ++i) {
    made.mean.push_back(sums.sum[i] / all);
    made.quantizedMean.push_back(sums.quantizedSum[i] / all);
  }
  made.products.resize(length * length);
  for (size_t i = 0; i < length; ++i)
    for (size_t j = 0; j <= i; ++j)
      made.products[i * length + j] = made.products[j * length + i] =
          static_cast<float>(sums.products[i * length + j] / some - sums.seenSum[i] / some * (sums.seenSum[j] / some));
  // What few positions show of how inputs hang together is believed less: their own squares count for more.
  double shrinks = 0.3 * static_cast<double>(length) / some;
  for (size_t i = 0; i < length; ++i)
    made.products[i * length + i] *= static_cast<float>(1 + shrinks);
  if (differs) {
    made.apart.resize(length * length);
    for (size_t i = 0; i < length; ++i)
      for (size_t j = 0; j < length; ++j)
        made.apart[i * length + j] =
            static_cast<float>(sums.apart[i * length + j] / some - sums.seenApart[i] / some * (sums.seenSum[j] / some));
  }
  sums = {};
  return made;
}

} // namespace origo::quantize
