#include "eval/Threads.h"

#include <atomic>
#include <chrono>
#include <latch>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace origo::eval {

namespace {

class Threads {
public:
  /// Stops at the first that cannot be made; std::thread would end the program.
  Threads(unsigned most, void *(*run)(void *), void *argument) {
    for (pthread_t id; ids.size() < most && ::pthread_create(&id, nullptr, run, argument) == 0;)
      ids.push_back(id);
  }
  size_t count() const { return ids.size(); }
  void join() {
    for (pthread_t id : ids)
      ::pthread_join(id, nullptr);
  }

private:
  std::vector<pthread_t> ids;
};

/// So many threads can live beside this one, at most `wanted`.
unsigned threadsToBeHad(unsigned wanted) {
  struct Trial {
    std::latch begin{1};
    std::vector<std::atomic<pid_t>> ids;
    std::atomic<size_t> next{0};
  } trial;
  trial.ids = std::vector<std::atomic<pid_t>>(wanted);
  auto run = [](void *argument) -> void * {
    auto &trial = *static_cast<Trial *>(argument);
    trial.ids[trial.next++] = ::gettid();
    trial.begin.wait(); // until all are there at the same time
    return nullptr;
  };
  Threads threads(wanted, run, &trial);
  trial.begin.count_down();
  threads.join();
  // A thread that has been joined counts until the system has buried it, and where one less is free the next is
  // refused.
  using namespace std::chrono_literals;
  auto end = std::chrono::steady_clock::now() + 1s;
  for (size_t i = 0; i < trial.next; ++i)
    while (::access(("/proc/self/task/" + std::to_string(trial.ids[i])).c_str(), F_OK) == 0 &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(50us);
  return static_cast<unsigned>(threads.count());
}

} // namespace

void onThreads(unsigned threads, llvm::function_ref<void(bool isFirst)> work) {
  auto run = [](void *argument) -> void * {
    (*static_cast<llvm::function_ref<void(bool)> *>(argument))(false);
    return nullptr;
  };
  Threads helpers(threads > 1 ? threads - 1 : 0, run, &work);
  work(true);
  helpers.join();
}

pthreadpool_t makeThreadPool(unsigned threads) {
  unsigned others = threads > 1 ? threadsToBeHad(threads - 1) : 0;
  return others ? pthreadpool_create(others + 1) : nullptr;
}

std::vector<int> helpersOf(pthreadpool_t pool) {
  size_t count = pool ? pthreadpool_get_threads_count(pool) : 1;
  struct Roll {
    std::latch all;
    std::vector<int> ids;
  } roll{std::latch(static_cast<ptrdiff_t>(count)), std::vector<int>(count)};
  if (count > 1) // nobody is done before all have begun, so that each has one
    pthreadpool_parallelize_1d(
        pool,
        [](void *context, size_t i) {
          auto &roll = *static_cast<Roll *>(context);
          roll.ids[i] = ::gettid();
          roll.all.arrive_and_wait();
        },
        &roll, count, 0);
  std::erase_if(roll.ids, [](int id) { return id == 0 || id == ::gettid(); });
  return roll.ids;
}

} // namespace origo::eval
