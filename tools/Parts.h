#pragma once

#include "ir/OpenFile.h"
#include "tools/Driver.h"

#include <chrono>

/// Command lines that go through records, in parts or not.
namespace origo::tools {

/// On a terminal, how far it is and how long it still takes.
class Progress {
public:
  explicit Progress(uint64_t parts) : parts(parts) {}
  void operator()(uint64_t done, uint64_t all);

private:
  uint64_t parts; ///< of which one is done here
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now(), shown = start;
};

/// Puts together what `Part` has written into these files.
template <class Part> llvm::Expected<Part> mergeFiles(llvm::ArrayRef<std::string> files) {
  std::optional<Part> all;
  for (const std::string &path : files) {
    auto part = readFile(path, Part::parse);
    if (!part)
      return part.takeError();
    if (!all)
      all = std::move(*part);
    else if (llvm::Error error = all->merge(*part))
      return inFile(path, std::move(error));
  }
  return std::move(*all);
}

} // namespace origo::tools
