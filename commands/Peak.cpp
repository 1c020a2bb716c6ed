#include "commands/Peak.h"

#include "ir/Error.h"
#include "report/metrics/Metrics.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#if defined __x86_64__
#include <immintrin.h>
#endif

namespace origo::commands {

llvm::Expected<Peak> Peak::of(llvm::StringRef text) {
  auto [first, second] = text.split(',');
  Peak peak;
  peak.isMeasured = false;
  if (first.trim().getAsDouble(peak.macs) || second.trim().getAsDouble(peak.memory) ||
      !(peak.macs > 0 && peak.macs < 1e9) || !(peak.memory > 0 && peak.memory < 1e9))
    return makeError("needs two numbers above 0, such as 51.2,9: thousands of millions of multiply-accumulates, and of "
                     "bytes, a second");
  peak.macs *= 1e9;
  peak.memory *= 1e9;
  peak.cache = peak.memory;
  return peak;
}

namespace {

using Clock = std::chrono::steady_clock;

volatile float sink;

/// Each of these does `rounds` times as many multiply-accumulates as it returns.
#if defined __x86_64__
[[gnu::target("avx512f")]] size_t multiplyAvx512(size_t rounds) {
  __m512 sums[12], x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(1e-3f);
  for (__m512 &sum : sums)
    sum = x;
  for (size_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
    for (__m512 &sum : sums)
      sum = _mm512_fmadd_ps(sum, x, y);
  for (__m512 &sum : sums)
    sink = sink + _mm512_cvtss_f32(sum);
  return 12 * 16;
}
[[gnu::target("avx2,fma")]] size_t multiplyAvx2(size_t rounds) {
  __m256 sums[12], x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(1e-3f);
  for (__m256 &sum : sums)
    sum = x;
  for (size_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
    for (__m256 &sum : sums)
      sum = _mm256_fmadd_ps(sum, x, y);
  for (__m256 &sum : sums)
    sink = sink + _mm256_cvtss_f32(sum);
  return 12 * 8;
}
#endif
size_t multiplyPlainly(size_t rounds) {
  using Four = float __attribute__((vector_size(16)));
  Four sums[12], x = {0.999f, 0.999f, 0.999f, 0.999f}, y = {1e-3f, 1e-3f, 1e-3f, 1e-3f};
  for (Four &sum : sums)
    sum = x;
  for (size_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
    for (Four &sum : sums)
      sum = sum * x + y;
  for (Four &sum : sums)
    sink = sink + sum[0];
  return 12 * 4;
}

size_t multiply(size_t rounds) {
#if defined __x86_64__
  if (__builtin_cpu_supports("avx512f"))
    return multiplyAvx512(rounds);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return multiplyAvx2(rounds);
#endif
  return multiplyPlainly(rounds);
}

size_t readAll(const std::vector<uint64_t> &words) {
  using Two = uint64_t __attribute__((vector_size(16)));
  Two sums[8] = {};
  for (size_t i = 0; i + 16 <= words.size(); i += 16)
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; ++k)
      sums[k] += *reinterpret_cast<const Two *>(words.data() + i + 2 * k);
  uint64_t all = 0;
  for (Two &sum : sums)
    all += sum[0] + sum[1];
  sink = static_cast<float>(all & 1);
  return words.size() * sizeof(uint64_t);
}

/// The most that `work` gets done a second in some short turns, on all threads together.
template <class Work> double fastest(unsigned threads, int turns, Work work) {
  double most = 0;
  for (int turn = 0; turn < turns; ++turn) {
    std::vector<double> each(threads);
    std::vector<std::thread> others;
    auto one = [&](unsigned index) {
      auto begin = Clock::now();
      double done = work(index);
      each[index] = done / std::max(1e-9, std::chrono::duration<double>(Clock::now() - begin).count());
    };
    for (unsigned i = 1; i < threads; ++i)
      others.emplace_back(one, i);
    one(0);
    for (std::thread &other : others)
      other.join();
    double sum = 0;
    for (double rate : each)
      sum += rate;
    most = std::max(most, sum);
  }
  return most;
}

} // namespace

Peak Peak::measure(unsigned threads) {
  threads = std::clamp(threads, 1u, 64u);
  Peak peak;
  peak.macs = fastest(threads, 10, [](unsigned) {
    constexpr size_t rounds = 200000;
    return static_cast<double>(rounds) * static_cast<double>(multiply(rounds));
  });
  std::vector<std::vector<uint64_t>> near(threads, std::vector<uint64_t>(1 << 14, 1));
  peak.cache = fastest(threads, 10, [&](unsigned index) {
    double done = 0;
    for (int i = 0; i < 100; ++i)
      done += static_cast<double>(readAll(near[index]));
    return done;
  });
  std::vector<std::vector<uint64_t>> far(threads,
                                         std::vector<uint64_t>((size_t(64) << 20) / sizeof(uint64_t) / threads, 1));
  peak.memory = fastest(threads, 4, [&](unsigned index) { return static_cast<double>(readAll(far[index])); });
  return peak;
}

std::optional<Peak::Share> Peak::shareOf(const Operator &op, double calls, double ms) const {
  double bytes = 0;
  llvm::SmallPtrSet<const Value *, 8> seen;
  bool isKnown = true;
  auto add = [&](const Value *value) {
    if (!value || !seen.insert(value).second)
      return;
    auto bits = bitsPerElement(value->type);
    auto count = value->elementCount();
    isKnown &= bits && count;
    bytes += bits && count ? static_cast<double>(*count) * static_cast<double>(*bits) / 8 : 0;
  };
  for (const Use &use : op.operands())
    add(use.get());
  for (const Value *value : op.results())
    add(value);
  if (!isKnown)
    return std::nullopt;
  auto macs = report::macsOf(op);
  if (!macs || !(ms > 0) || !(calls > 0))
    return std::nullopt;
  Share share;
  double seconds = ms / 1e3;
  share.macs = static_cast<double>(*macs) * calls / seconds;
  share.bytes = bytes * calls / seconds;
  double computes = share.macs / this->macs, moves = share.bytes / (bytes > 1 << 20 ? memory : cache);
  share.part = std::max(computes, moves);
  share.bound = share.part < 0.25 ? "overhead" : computes >= moves ? "compute" : "memory";
  return share;
}

std::string Peak::words() const {
  return llvm::formatv("{0} GMAC/s and {1} GB/s{2}{3}", llvm::formatv("{0:F1}", macs / 1e9).str(),
                       llvm::formatv("{0:F1}", memory / 1e9).str(),
                       isMeasured ? llvm::formatv(" from memory, {0:F1} from caches", cache / 1e9).str() : "",
                       isMeasured ? ", measured here" : "")
      .str();
}

} // namespace origo::commands
