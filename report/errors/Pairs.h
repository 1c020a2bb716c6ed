#pragma once

#include "eval/Relations.h"
#include "import/Import.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <set>

/// Which tensors of two related models stand for each other.
namespace origo::report {

/// A tensor of the result that a tensor of the source became, and how.
struct Counterpart {
  const Value *value;
  llvm::SmallVector<Step, 2> steps;
};

/// The outputs of the first subgraph and of all signatures.
llvm::DenseSet<const Value *> outputsOf(const Model &model);

/// A tensor in a run, and how often it has been computed before in it.
using Place = std::pair<const Value *, unsigned>;

class Pairs {
public:
  enum class By : uint8_t {
    Relations, ///< those of the result's origin map
    Order,     ///< no map leads from one to the other, but both have the same operators in the same order, quantisation
               ///< aside
    Names,     ///< nor that: tensors of the same name and shape
  };

  /// By relations, if the origin map of `result` leads to `source`, or both maps lead to the same model. A model that
  /// is its own result pairs with itself. Outputs that no relation pairs are paired as their users have them: by the
  /// names in a signature, or else by position, whatever they are called and shaped.
  static Pairs of(const Imported &source, const Imported &result);

  By by = By::Relations;
  /// In the order of the result's execution; empty: it has none.
  llvm::ArrayRef<Counterpart> of(const Value &source) const;
  /// The tensors of the source that a tensor of the result stands for, in the order of execution.
  llvm::ArrayRef<const Value *> sourcesOf(const Value &result) const;

  /// Whether the result tells of a tensor of the source: it has it, or, unless it is an output, something that it is
  /// computed from. Where no map leads from one to the other, that has to be computed: inputs are the source's own.
  bool tellsOf(const Value &source) const { return told.contains(&source); }

  /// What of a run of the result holds a tensor of the source, for one of the times that it is computed. Where a called
  /// subgraph was inlined, each call has its own.
  llvm::SmallVector<std::pair<const Counterpart *, unsigned>, 2> holders(const Place &source) const;
  /// The only one that counts for it, if that is known before: the last one, where it tells all of the tensor in its
  /// order, and each run has it. `always`: what each run of the result has. Null: holders() are to be asked.
  const Counterpart *deciding(const Value &source, const llvm::DenseSet<const Value *> &always) const;
  llvm::iterator_range<llvm::DenseMap<const Value *, std::vector<Counterpart>>::const_iterator> all() const {
    return llvm::make_range(counterparts.begin(), counterparts.end());
  }
  /// The other way: for which time a place in the result stands.
  Place placeFor(const Value &source, const Place &result) const;

private:
  llvm::DenseSet<const Value *> told;
  std::set<const Subgraph *> called; ///< subgraphs of the result that operators call
  bool inlined(const Value &source) const;
  llvm::DenseMap<const Value *, std::vector<Counterpart>> counterparts;
  llvm::DenseMap<const Value *, std::vector<const Value *>> sources;
  void add(const Value *source, const Value *result, llvm::SmallVector<Step, 2> steps = {});
  void pairOutputs(const Model &source, const Model &result);
  bool pairByOrder(const Subgraph &source, const Subgraph &result);
  void pairByNames(const Subgraph &source, const Subgraph &result);
  void sort(const Imported &source, const Imported &result);
  void follow(const Model &source);
};

/// The relation's steps lead from numbers of `source` to numbers of the counterpart. These are the way back and forth.
/// The source's numbers, from those of a counterpart; NaN, and false in `known`, where it does not tell them. False:
/// the steps cannot be followed.
bool numbersOfSource(const eval::Tensor &source, const Counterpart &counterpart, const eval::Tensor &result,
                     std::vector<double> &numbers, std::vector<bool> &known);
/// Writes the source's numbers into the counterpart, as far as that is said and as its type can hold them. False: it
/// cannot be done, and `result` is as it was.
bool writeCounterpart(const eval::Tensor &source, llvm::ArrayRef<double> numbers, const Counterpart &counterpart,
                      eval::Tensor &result);

} // namespace origo::report
