#pragma once

#include "eval/Session.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace origo::eval {

/// A run that stops at each tensor that it computes, so that several runs can be looked at side by side while their
/// tensors live, without keeping them. The run has a thread of its own, which works only while its owner waits for it:
/// what comes out does not depend on timing.
class Walk {
public:
  struct Stop {
    const Value *value;
    unsigned time;  ///< how often it has been computed before in this run
    Tensor *tensor; ///< what is written to it, later operators read; valid until the walk goes on
  };

  /// Runs `signature` of the session with a State of its own. Stops only where `wants` says so. `first` sees every tensor
  /// before that.
  Walk(const Session &session, std::string signature, std::vector<OwnedTensor> inputs,
       std::function<bool(const Value &)> wants, Observer first = {});
  /// Lets it run on to its end.
  ~Walk();
  Walk(const Walk &) = delete;

  /// Goes on to the next stop; null at the end, or where the run has failed.
  const Stop *next();
  /// Where it stands; null before the first stop and at the end.
  const Stop *at() const { return stop ? &*stop : nullptr; }
  bool ended() const { return done; }
  /// Runs on without stopping; the outputs, or why there are none. Once.
  llvm::Expected<std::vector<NamedTensor>> finish();

private:
  std::vector<OwnedTensor> inputs;
  std::function<bool(const Value &)> wants;
  std::map<const Value *, unsigned> times;
  std::mutex mutex;
  std::condition_variable changed;
  bool working = false; ///< whose turn it is: the run's
  bool done = false, unwatched = false;
  std::optional<Stop> stop;
  std::optional<llvm::Expected<std::vector<NamedTensor>>> outputs;
  std::thread thread;

  void observe(const Value &value, Tensor &tensor);
  void goOn();
};

} // namespace origo::eval
