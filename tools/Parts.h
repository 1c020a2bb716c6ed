#pragma once

#include "tools/Driver.h"

#include <chrono>

/// Command lines that go through records, in parts or not.
namespace origo::tools {

/// On a terminal, how far it is and how long it still takes.
class Progress {
public:
  /// `parts`: of which one is done here.
  void operator()(uint64_t done, uint64_t all, uint64_t parts);

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now(), shown = start;
};

} // namespace origo::tools
