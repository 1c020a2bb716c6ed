#include "report/target/Target.h"

#include "llvm/ADT/STLExtras.h"

/// The descriptions of res/targets, as text in the program.
namespace origo::report {

static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> targets[] = {
#include "report/Targets.inc"
};

llvm::ArrayRef<std::pair<llvm::StringLiteral, llvm::StringLiteral>> builtinTargets() { return targets; }

const llvm::StringLiteral *builtinTarget(llvm::StringRef name) {
  auto *found = llvm::find_if(targets, [&](const auto &one) { return one.first == name; });
  return found == std::end(targets) ? nullptr : &found->second;
}

} // namespace origo::report
