#pragma once

#include <cstdint>

namespace origo::origin {

/// How many laws of docs/origin-map.md whoever writes a map keeps today, and tells of the file that it is for.
inline constexpr uint32_t allLaws = 13;

} // namespace origo::origin
