#pragma once

#include "commands/RunProfile.h"

namespace origo::commands {

/// What two models took that ran in turn, as layers of the source. Differences are of runs side by side, so that what
/// disturbs both, or a clock that becomes slower, is in neither.
class RunsInTurn {
public:
  /// Where models lie in memory makes a difference that does not change from run to run. So they are loaded again, the
  /// other one first, and made anew in each: what is told has to hold of all of these.
  struct Loaded {
    const RunProfile &before, &now; ///< of the same number of runs
    const origin::Listing &sourceBefore, &sourceNow;
    llvm::ArrayRef<size_t> blocks; ///< the first runs after the models were made anew
  };
  explicit RunsInTurn(llvm::ArrayRef<Loaded> list);

  /// How much longer the second takes, as a part of the first: with 95 % certainty.
  struct Change {
    /// Of times of runs side by side, in milliseconds. `intervals`: see Median::of.
    static Change of(llvm::ArrayRef<double> before, llvm::ArrayRef<double> now, llvm::ArrayRef<size_t> blocks,
                     size_t intervals = 1);
    Median before, now; ///< milliseconds
    Median part;
    /// Less is called no difference: that much may be where things lie in memory.
    static constexpr double least = 0.02;
    bool isSlower() const { return part.low > 0 && part.value > least; }
    bool isFaster() const { return part.high < 0 && part.value < -least; }
    bool isSure() const { return part.low > least || part.high < -least; } ///< all of the interval is a difference
    std::string interval() const;                                          ///< "-21.3 to -17.2 %"
  };
  const Change &whole() const { return change; }
  /// Certain ones first, then by the difference.
  void printTable(llvm::raw_ostream &os) const;
  llvm::json::Object json() const;
  /// "takes 5.3 % longer (4.1 to 6.6 %)", or that no difference can be told.
  std::string verdict() const;

private:
  /// Operators of both models that do the work of the same source operators.
  struct Row {
    std::string words;
    Change change;
  };
  std::vector<Row> rows;
  Change change;
  size_t runs = 0;
};

} // namespace origo::commands
