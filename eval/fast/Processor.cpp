#include "eval/fast/Processor.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstdlib>

namespace origo::eval {

Processor processor() {
  static const Processor found = [] {
    Processor has = Processor::Plain;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      has = __builtin_cpu_supports("avx512f") ? Processor::Avx512 : Processor::Avx2;
    if (has == Processor::Avx512 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni"))
      has = Processor::Vnni;
#endif
    const char *text = std::getenv("ORIGO_PROCESSOR");
    llvm::StringRef wanted = text ? text : "";
    return wanted == "plain"    ? Processor::Plain
           : wanted == "avx2"   ? std::min(has, Processor::Avx2)
           : wanted == "avx512" ? std::min(has, Processor::Avx512)
                                : has;
  }();
  return found;
}

} // namespace origo::eval
