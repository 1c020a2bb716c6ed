#pragma once

/// Code of ours that is compiled for several processors: binaries are built for the least of them.
namespace origo::eval {

#ifdef __x86_64__
#define ORIGO_AVX2 [[gnu::target("avx2,fma")]]
#define ORIGO_AVX512 [[gnu::target("avx512f,fma")]]
#define ORIGO_AVX512BW [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma")]]
#define ORIGO_VNNI [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]
#else
#define ORIGO_AVX2
#define ORIGO_AVX512
#define ORIGO_AVX512BW
#endif

/// Vnni: AVX-512 with products of bytes.
enum class Processor { Plain, Avx2, Avx512, Vnni };
/// What this one has, or less where the environment says so, for tests: ORIGO_PROCESSOR is plain, avx2 or avx512.
Processor processor();

template <class F> F forThisProcessor(F plain, F avx2, F avx512) {
  return processor() >= Processor::Avx512 ? avx512 : processor() == Processor::Avx2 ? avx2 : plain;
}

/// The same of code for bytes: its vectors of 64 need more of AVX-512 than floats do.
template <class F> F forThisProcessorsBytes(F plain, F avx2, F avx512) {
  return processor() >= Processor::Vnni ? avx512 : processor() >= Processor::Avx2 ? avx2 : plain;
}

} // namespace origo::eval
