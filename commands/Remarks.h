#pragma once

#include "import/Import.h"
#include "passes/Pipeline.h"
#include "report/target/Target.h"

#include "llvm/ADT/DenseMap.h"

#include <map>

/// What a run of circle2circle left undone, in terms of the source: operators that the target does not take, and rules
/// that declined where their pattern was found. docs/targets.md has the form of the file.
namespace origo::commands {

/// By source operator, nanoseconds.
using SourceTimes = std::map<uint32_t, uint64_t>;

/// Looks on while a model is rewritten.
class RemarkRecorder {
public:
  /// Adds what looks on to the options of a run, behind what looks on already.
  void attach(PipelineOptions &run);

  struct Declined {
    llvm::StringRef pass, rule;
    std::string reason;
  };
  llvm::ArrayRef<Declined> of(const Operator &op) const;

private:
  static constexpr size_t most = 8; ///< of an operator, so that what is kept is linear
  llvm::DenseMap<const Operator *, std::vector<Declined>> declined;
};

struct Remarks {
  const Imported &imported;       ///< as it is written
  const RemarkRecorder &recorder; ///< of the run
  const report::Target *target;   ///< null: none was named
  /// By subgraph and position: rewrites that would make the target take it; empty: none is known.
  std::map<std::pair<unsigned, unsigned>, std::string> mends;
  const SourceTimes *times; ///< null: none were given, and multiply-accumulates decide what comes first
};

/// For people, or as JSON: what takes most time, or has most multiply-accumulates, first.
std::string remarksText(const Remarks &remarks);
std::string remarksJson(const Remarks &remarks);

} // namespace origo::commands
