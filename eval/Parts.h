#pragma once

#include "eval/Session.h"

/// Records that are run in parts, on several machines, so that what was measured adds up to what one run measures.
namespace origo::eval {

/// Part `part` of `parts` of the records: every `parts`-th.
struct Shard {
  uint64_t part = 1, parts = 1;                             ///< part is 1 for the first
  static llvm::Expected<Shard> parse(llvm::StringRef text); ///< as 3/16
};

/// Does a run of the model leave anything for the next one, in variables or resources?
bool remembers(const Model &model);

/// What computes: kernels and processor. Another one adds floats up in another order, so that parts do not fit
/// together.
std::string engineText(const Session &session, Engine engine);
llvm::Error checkSameEngine(llvm::StringRef mine, llvm::StringRef other);

/// Takes the records of another part in, both ascending; refuses one that is there already.
llvm::Error addRecords(std::vector<uint64_t> &mine, llvm::ArrayRef<uint64_t> other);

} // namespace origo::eval
