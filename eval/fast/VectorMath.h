#pragma once

#include <cmath>

#if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
// The C library has these for whole vectors, too, within 4 units of the last place. Its headers tell so only where
// -ffast-math gives up infinities and NaN, which these functions know.
#define VECTORISED extern "C" __attribute__((simd("notinbranch"))) float
VECTORISED cosf(float) noexcept;
VECTORISED erff(float) noexcept;
VECTORISED expf(float) noexcept;
VECTORISED logf(float) noexcept;
VECTORISED powf(float, float) noexcept;
VECTORISED sinf(float) noexcept;
VECTORISED tanhf(float) noexcept;
#undef VECTORISED
#endif
