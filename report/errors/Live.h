#pragma once

#include "eval/RealNumbers.h"
#include "eval/SteppedRun.h"
#include "report/errors/Figures.h"
#include "report/errors/Pairs.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

/// A run of the result, looked at in terms of the source while it lives.
namespace origo::report {

using Numbers = std::vector<double>;

eval::Tensor viewOf(const Value &value, const eval::Shape &shape, llvm::MutableArrayRef<uint8_t> bytes = {});
eval::Tensor viewOf(const Value &value, eval::OwnedTensor &owned);
eval::Tensor viewOf(const Value &value, const eval::TensorRef &ref); ///< to be looked at only

/// Which tensors of the result are looked at for which of the source.
class Readings {
public:
  /// Every one that holds something of it, and every tensor of the source.
  explicit Readings(const Pairs &pairs);
  /// Those that count in a run. `asked`: tensors of the source that will be looked at, and released.
  static llvm::Expected<Readings> of(const Pairs &pairs, const eval::Session &result, llvm::StringRef signature,
                                     llvm::function_ref<bool(const Value &)> asked);

  llvm::SmallVector<std::pair<const Counterpart *, unsigned>, 2> holders(const Place &source) const;
  /// Where it is the only one, and one of a tensor that is computed once; null: holders() are to be asked.
  const Counterpart *only(const Place &source) const {
    return source.second == 0 ? decided.lookup(source.first) : nullptr;
  }
  /// How many tensors of the source look at this one of the result.
  size_t readersOf(const Value &result) const { return readers.lookup(&result); }

private:
  const Pairs *pairs;
  llvm::DenseMap<const Value *, const Counterpart *> decided;
  llvm::DenseMap<const Value *, size_t> readers;
  Readings(const Pairs &pairs, const llvm::DenseSet<const Value *> &always,
           llvm::function_ref<bool(const Value &)> asked);
};

class LiveResult {
public:
  /// `inputs`: those of the result; they outlive it. The observer of `run` sees every tensor of it before anybody else.
  static llvm::Expected<std::unique_ptr<LiveResult>> of(const eval::Session &session, const Readings &readings,
                                                        eval::RunOptions run, std::vector<eval::TensorRef> inputs);

  /// What the run has of a tensor of the source, over what is there in `numbers`; lets it run as far as needed. False:
  /// nothing, so that `numbers` is as it was.
  bool read(const Place &place, const eval::Tensor &source, Numbers &numbers);
  /// The same into the source's tensor.
  bool copy(const Place &place, eval::Tensor &source);
  /// The same of what the run has computed up to now.
  bool readSoFar(const Place &place, const eval::Tensor &source, Numbers &numbers) const;
  /// Adds how far it is off from the source's tensor, and releases that. False: nothing is there, or it cannot be
  /// compared.
  bool measure(const Place &place, const eval::Tensor &source, RecordSums &sums);
  /// A tensor of the source has been looked at, and will not be again.
  void release(const Place &place);

  eval::SteppedRun &walk() { return *run; }
  /// Takes what the run stands at, where others than read() let it go on.
  void keep(const eval::SteppedRun::Stop &stop);

private:
  explicit LiveResult(const Readings &readings) : readings(readings) {}
  const Readings &readings;
  std::optional<eval::SteppedRun> run;
  struct Kept {
    eval::Tensor tensor;
    size_t readers;             ///< tensors of the source that have not looked at it
    std::vector<uint8_t> bytes; ///< of the tensor, unless it is an input
  };
  llvm::DenseMap<Place, Kept> kept;
  /// Of the result, that stand for what the source computes. Without bytes: they cannot be had.
  mutable std::map<const Value *, std::pair<std::optional<eval::ConstantBytes>, eval::Tensor>> constants;
  size_t wanted = 0;  ///< tensors of the source that have not looked at what the run stands at
  size_t readers = 0; ///< tensors of the source that look at what it was last asked about
  bool measureHolders(const Place &place, const eval::Tensor &source, RecordSums &sums);
  void goOn();
  void goTo(const Place &place);
  bool standsAt(const Place &place) const { return run->at() && Place(run->at()->value, run->at()->time) == place; }
  /// What the run has there; null: nothing.
  const eval::Tensor *find(const Place &place) const;
  /// The last of what holds the tensor, if it holds all of it in its order: then it is what counts.
  const eval::Tensor *straight(const Place &place, const eval::Tensor &source) const;
};

/// Inputs of the source's signature that the result's stores otherwise, by position, as that stores them; or the other
/// way.
llvm::Expected<std::map<size_t, eval::OwnedTensor>> inputsMade(llvm::ArrayRef<eval::Port> source,
                                                               llvm::ArrayRef<eval::Port> result, const Pairs &pairs,
                                                               llvm::ArrayRef<eval::OwnedTensor> inputs,
                                                               bool forResult);
/// All of them.
llvm::Expected<std::vector<eval::OwnedTensor>> inputsOfResult(llvm::ArrayRef<eval::Port> source,
                                                              llvm::ArrayRef<eval::Port> result, const Pairs &pairs,
                                                              std::vector<eval::OwnedTensor> inputs);
llvm::Expected<std::vector<eval::OwnedTensor>> inputsOfSource(llvm::ArrayRef<eval::Port> source,
                                                              llvm::ArrayRef<eval::Port> result, const Pairs &pairs,
                                                              std::vector<eval::OwnedTensor> inputs);

} // namespace origo::report
