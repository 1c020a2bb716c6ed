#pragma once

#include "eval/Session.h"
#include "origin/OriginMap.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

namespace origo::tools {

/// Measures what the operators of a run take.
class Profile {
public:
  explicit Profile(std::shared_ptr<const origin::Listing> source) : source(std::move(source)) {}
  eval::Timer timer();
  /// One line an operator, the slowest first. What an operator calls does not count for it.
  void printTable(llvm::raw_ostream &os) const;
  llvm::json::Array table() const; ///< the same for programs
  /// Chrome's trace format, for chrome://tracing and Perfetto.
  void writeTrace(llvm::raw_ostream &os) const;

private:
  using Clock = std::chrono::steady_clock;
  struct Event {
    const Operator *op;
    Clock::time_point begin, end;
    Clock::duration own; ///< without what it called
  };
  std::shared_ptr<const origin::Listing> source;
  std::vector<Event> events;
  llvm::SmallVector<std::pair<Clock::time_point, Clock::duration>> finished; ///< that nothing around has claimed yet

  struct Row {
    Clock::duration time{};
    unsigned calls = 0;
  };
  std::vector<std::pair<const Operator *, Row>> slowestFirst() const;
  std::string sourceWords(uint32_t id) const;
};

} // namespace origo::tools
