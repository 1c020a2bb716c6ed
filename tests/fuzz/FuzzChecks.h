#pragma once

#include "passes/Pipeline.h"

#include <string>

/// What has to hold of every model, for circle-fuzz. A finding is a sentence; empty: there is none.
namespace origo::fuzz {

class FuzzNative;

struct FuzzOutcome {
  std::string finding;
  bool ran = false;      ///< the reference engine could compute it
  bool compared = false; ///< with the native runtime
};

/// Optimised by -O1 and by passes that the seed chooses: the verifier, numbers and relations before and after, the fast
/// engine, the laws of origins from the files, text and file there and back, the same bytes twice, nothing left to do
/// the second time, and a pipeline that is divided by a file. `native`: where there is one, it computes the same, too,
/// and takes the result, a quantised one as well, where it took the source. `directory`: for those files.
FuzzOutcome checkGraph(llvm::StringRef text, uint64_t seed, llvm::StringRef directory, const FuzzNative *native);

/// Several runs of passes that the seed chooses, stopped at rewrites: files at these places do not change the map, and
/// what is made in the end keeps the laws of origins. Part of what `checkGraph` checks.
std::string checkSteps(llvm::StringRef text, uint64_t seed, llvm::StringRef directory);

/// Whether run `step` of a seed has a pass that it draws one time in `every`. By the pass's name, so that a new pass
/// leaves what seeds do of all others.
bool draws(uint64_t seed, uint32_t step, const Pass &pass, uint32_t every);

/// How circle2circle is asked for these passes.
std::string wordsOf(const Pipeline &passes);

/// What breaks the laws of origins, of a file and its source.
std::string checkLaws(llvm::StringRef path, llvm::StringRef source);

/// Both engines compile and run the same and get the same numbers, and circle-check's limits of our own interpreter say
/// before what they do. `native`: where there is one, it does so, too.
FuzzOutcome checkOperator(llvm::StringRef text, uint64_t seed, const FuzzNative *native);

} // namespace origo::fuzz
