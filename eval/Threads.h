#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <pthreadpool.h>
#include <vector>

/// Threads, of which there may be fewer than asked for: a user, a container or a machine has only so many.
namespace origo::eval {

/// Runs `work` on this thread, with `true`, and at the same time on as many others as can be had, of `threads` in all.
void onThreads(unsigned threads, llvm::function_ref<void(bool isFirst)> work);

/// A pool of as many as can be had; null: there is only the thread that asks. Of what the library waits for without an
/// end where it cannot be made, none is asked for.
pthreadpool_t makeThreadPool(unsigned threads);

/// The threads of a pool but the one that asks, by the numbers that the system gives them.
std::vector<int> helpersOf(pthreadpool_t pool);

} // namespace origo::eval
