#pragma once

#include "commands/Peak.h"
#include "eval/Session.h"
#include "origin/OriginMap.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

namespace origo::commands {

/// The median of measured times, in milliseconds, and where the true one lies with 95 % certainty: between two of the
/// sorted times (the sign test). Of fewer than six times that is between the least and the most.
struct Median {
  double value = 0, low = 0, high = 0;
  /// `intervals`: of so many medians, all of which lie in their intervals with that certainty.
  static Median of(std::vector<double> times, size_t intervals = 1);
  /// Half the interval, as a part of the median.
  double spread() const { return value > 0 ? (high - low) / 2 / value : 0; }
};

/// Measures what the operators take, in one run or several.
class RunProfile {
public:
  enum class Traces : uint8_t { Nothing, LastRun, AllRuns };
  /// `traces`: keeps each call of each operator, for writeTrace().
  RunProfile(std::shared_ptr<const origin::Listing> source, Traces traces)
      : source(std::move(source)), traces(traces) {}
  using Clock = std::chrono::steady_clock;
  eval::Timer timer();
  /// What was timed since the last call is one run, which took `whole`.
  void endRun(Clock::duration whole);
  void clear() { *this = RunProfile(std::move(source), traces); }
  unsigned runs() const { return static_cast<unsigned>(wholes.size()); }
  Median whole() const { return Median::of(wholes); }      ///< of runs
  llvm::ArrayRef<double> ofRuns() const { return wholes; } ///< in milliseconds
  /// Noise does not tell yet which operator is the slowest, but its median is a tenth above the next one: more runs
  /// may.
  bool mayTellSlowest() const;
  /// What each operator took in each run, in milliseconds.
  void forEach(llvm::function_ref<void(const Operator &, llvm::ArrayRef<double>)> f) const {
    for (const auto &[op, row] : rows)
      f(*op, row.times);
  }
  /// One line an operator, the slowest first: the median of its time in a run. What an operator calls does not count
  /// for it. The last line says which is the slowest, or that noise does not tell. `peak`: also how much of what is
  /// possible that is.
  void printTable(llvm::raw_ostream &os, const std::optional<Peak> &peak) const;
  llvm::json::Array table(const std::optional<Peak> &peak) const; ///< the same for programs
  /// Chrome's trace format, for chrome://tracing and Perfetto: a track for each thread of `session`, which ran, one
  /// of source layers from which arrows lead to what does their work, and the memory that is live. It says which
  /// operators reference kernels computed. `model`: the file.
  void writeTrace(llvm::raw_ostream &os, const eval::Session &session, llvm::StringRef model) const;
  std::string sourceWords(uint32_t id) const; ///< "CONV_2D conv1", for a source operator

private:
  struct Row {
    Clock::duration running{}; ///< in the run that goes on
    std::vector<double> times; ///< of the runs that ended
    unsigned calls = 0;        ///< in all runs
  };
  struct Line {
    const Operator *op;
    Median time;
    double calls; ///< in a run
  };
  std::shared_ptr<const origin::Listing> source;
  Traces traces;
  std::vector<eval::Timed> events;
  size_t firstOfRun = 0; ///< event
  std::vector<double> wholes;
  llvm::MapVector<const Operator *, Row> rows;
  llvm::SmallVector<std::pair<Clock::time_point, Clock::duration>> finished; ///< that nothing around has claimed yet

  std::vector<Line> slowestFirst() const;
  size_t tiedWithFirst(llvm::ArrayRef<Line> lines) const;
  std::string verdict(llvm::ArrayRef<Line> lines) const;
};

} // namespace origo::commands
