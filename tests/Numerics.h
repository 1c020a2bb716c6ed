#pragma once

#include "eval/Baseline.h"

#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

/// Executes models before and after passes.
namespace origo::test {

/// How the models of a test fared.
struct NumericTally {
  unsigned models = 0, executed = 0;
  unsigned bitEqual = 0;                      ///< of the executed models: in all that was compared
  unsigned equal = 0, within = 0;             ///< tensors, by relation, and outputs
  std::map<std::string, unsigned> unchecked;  ///< tensors by reason
  std::map<std::string, unsigned> unexecuted; ///< models by reason

  unsigned sum(const std::map<std::string, unsigned> &reasons) const {
    unsigned all = 0;
    for (const auto &[reason, times] : reasons)
      all += times;
    return all;
  }
  void print(llvm::StringRef what) const {
    llvm::outs() << what << ": " << models << ", executed before and after " << executed << " (" << bitEqual
                 << " bit for bit); tensors equal " << equal << ", within the tolerance " << within << ", not checked "
                 << sum(unchecked) << '\n';
    for (const auto &[reason, times] : unchecked)
      llvm::outs() << "  " << times << " tensors not checked: " << reason << '\n';
    for (const auto &[reason, times] : unexecuted)
      llvm::outs() << "  " << times << " not executed: " << reason << '\n';
    llvm::outs().flush();
  }
};

/// The first line of an error, without its place.
inline std::string reasonOf(llvm::Error error) {
  std::string reason;
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    if (!reason.empty())
      return;
    if (info.isA<ModelError>()) {
      const auto &e = static_cast<const ModelError &>(info);
      reason = (e.place.opName.empty() ? "" : e.place.opName + ": ") + e.message;
    } else {
      reason = info.message();
    }
  });
  return reason;
}

inline std::string describe(const eval::Deviation &deviation) {
  std::string text = "tensor \"" + printable(deviation.value->name) + "\" of subgraph " +
                     std::to_string(deviation.value->subgraph()->index);
  text += deviation.source ? ", related to source tensor " + std::to_string(*deviation.source) : ", an output";
  return text + ": " + deviation.text;
}

/// Compares `after` with what `before` computes, and fails the test if it deviates.
inline void expectSameNumbers(Model &before, Model &after, NumericTally &tally,
                              llvm::ArrayRef<uint32_t> seeds = {1, 2, 3}, const eval::CompileOptions &options = {}) {
  ++tally.models;
  auto baseline = eval::Baseline::of(before, seeds, options);
  if (!baseline) {
    ++tally.unexecuted["before: " + reasonOf(baseline.takeError())];
    return;
  }
  auto comparison = baseline->compare(after);
  if (!comparison) {
    ADD_FAILURE() << "can be run before the passes only: " << reasonOf(comparison.takeError());
    return;
  }
  ++tally.executed;
  tally.bitEqual += comparison->deviations.empty() && !comparison->within;
  tally.equal += comparison->equal;
  tally.within += comparison->within;
  for (const auto &[reason, times] : comparison->unchecked)
    tally.unchecked[reason] += times;
  for (const eval::Deviation &deviation : comparison->deviations)
    ADD_FAILURE() << describe(deviation);
}

} // namespace origo::test
