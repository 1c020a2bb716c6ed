#pragma once

/// Code of ours that is compiled for several processors: binaries are built for the least of them.
namespace origo::eval {

#ifdef __x86_64__
#define ORIGO_AVX2 [[gnu::target("avx2,fma")]]
#define ORIGO_AVX512 [[gnu::target("avx512f,fma")]]
#else
#define ORIGO_AVX2
#define ORIGO_AVX512
#endif

/// The one that runs here.
template <class F> F forThisProcessor(F plain, F avx2, F avx512) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f"))
    return avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return avx2;
#endif
  return plain;
}

} // namespace origo::eval
