#pragma once

#include "eval/Session.h"

#include "llvm/ADT/DenseMap.h"

namespace origo::eval {

/// A run that stops at each tensor that it computes, so that several runs can be looked at side by side while their
/// tensors live, without keeping them. It has a stack of its own, and works only while its owner waits for it.
class SteppedRun {
public:
  struct Stop {
    const Value *value;
    unsigned time;  ///< how often it has been computed before in this run
    Tensor *tensor; ///< what is written to it, later operators read; valid until the run goes on
  };

  /// Stops only where `wants` says so. The observer of `run` sees every tensor before that. With `onlyReads` nobody
  /// writes at a stop either. The bytes of the inputs outlive it.
  SteppedRun(const Session &session, RunOptions run, std::vector<TensorRef> inputs,
             std::function<bool(const Value &)> wants);
  /// Lets it run on to its end.
  ~SteppedRun();
  SteppedRun(const SteppedRun &) = delete;

  /// Goes on to the next stop; null at the end, or where the run has failed.
  const Stop *next();
  /// Where it stands; null before the first stop and at the end.
  const Stop *at() const { return stop ? &*stop : nullptr; }
  bool ended() const { return done; }
  /// Runs on without stopping; the outputs, or why there are none. Once.
  llvm::Expected<std::vector<NamedTensor>> finish();

private:
  const Session &session;
  RunOptions options;
  std::vector<TensorRef> inputs;
  std::function<bool(const Value &)> wants;
  const Subgraph *once; ///< whose tensors are computed once
  llvm::DenseMap<const Value *, unsigned> times;
  bool done = false, unwatched = false;
  std::optional<Stop> stop;
  std::optional<llvm::Expected<std::vector<NamedTensor>>> outputs;
  struct Stack;
  std::unique_ptr<Stack> stack;

  void runAll();
  void observe(const Value &value, Tensor &tensor);
  void goOn();
};

} // namespace origo::eval
