#pragma once

#include <pthreadpool.h>
#include <type_traits>

namespace origo::eval {

/// `body(first, count)` for tiles that together are 0 to `total`, on all threads.
template <class Body>
void parallelFor(pthreadpool_t threads, size_t total, size_t tile, const Body &body, uint32_t flags = 0) {
  pthreadpool_parallelize_1d_tile_1d(
      threads, [](void *body, size_t first, size_t count) { (*static_cast<const Body *>(body))(first, count); },
      const_cast<Body *>(&body), total, tile, flags);
}

} // namespace origo::eval
