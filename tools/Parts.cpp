#include "tools/Parts.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

namespace origo::tools {

void Progress::operator()(uint64_t done, uint64_t all, uint64_t parts) {
  using namespace std::chrono;
  auto now = steady_clock::now();
  if (!::isatty(2) || (now - shown < seconds(1) && done != all))
    return;
  shown = now;
  double passed = duration<double>(now - start).count(), left = passed / done * (all - done);
  phase(nullptr); // which would write over it
  llvm::errs() << llvm::format("\r\x1b[Krecord %llu of %llu, %.0f s left", static_cast<unsigned long long>(done),
                               static_cast<unsigned long long>(all), left);
  if (done + parts > all)
    llvm::errs() << "\r\x1b[K";
}

} // namespace origo::tools
