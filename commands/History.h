#pragma once

#include "origin/OriginMap.h"
#include "passes/Pipeline.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

/// The rewrites of a run, in few bytes: what a page needs to show the graph after each of them. docs/viewers.md has the
/// form of the file.
namespace origo::commands {

/// Writes a line a rewrite. Operators and tensors have numbers: those of the model as it was read, over all subgraphs
/// in file order, and behind them new ones as they are made.
class HistoryRecorder {
public:
  /// The model as it was read, and its source. All outlive this.
  HistoryRecorder(const Model &model, const origin::Listing &source, llvm::raw_ostream &os);
  void record(const RewriteEvent &event);
  /// A rule declined, for a reason.
  void declined(const Operator &op, const Pass &pass, const Rule &rule, llvm::StringRef reason);
  /// The run is over and operators are numbered as in the file that is written.
  void finish();

private:
  struct Known {
    uint32_t id;
    llvm::SmallVector<uint32_t, 2> operands, results; ///< no constants
  };
  struct Made {
    const Operator *op;
    std::optional<llvm::SmallVector<uint32_t, 2>> from; ///< which of the removed ones it stands for; none: all
  };
  using Ids = llvm::SmallVector<uint32_t, 4>;

  const Model &model;
  llvm::raw_ostream &os;
  llvm::DenseMap<const Operator *, Known> operators;
  llvm::DenseMap<const Value *, uint32_t> values;
  std::vector<uint32_t> standIns; ///< by number of a value: which one its users use now
  llvm::StringMap<uint32_t> names;
  uint32_t nextOperator = 0, nextValue = 0, told = 0;

  /// What was declined, at an operator of the source as it was read: numbers, in order.
  static constexpr size_t mostReasons = 100;
  std::vector<std::vector<uint32_t>> reasons; ///< by number of an operator
  struct Declined {
    llvm::StringRef pass, rule;
    std::string reason;
  };
  std::vector<Declined> attempts;
  llvm::StringMap<uint32_t> attemptNumbers;

  void beginWithOperators();
  void beginWithNodes(const origin::Listing &source);
  uint32_t name(llvm::StringRef text);
  uint32_t current(uint32_t value);
  uint32_t valueId(const Value &value);
  Known describe(const Operator &op);
  void forgetReused(llvm::ArrayRef<const Operator *> removed, llvm::ArrayRef<Made> made);
  void write(uint32_t number, llvm::StringRef pass, llvm::StringRef rule, uint32_t graph,
             llvm::ArrayRef<uint32_t> removed, llvm::ArrayRef<Made> made,
             llvm::ArrayRef<std::pair<uint32_t, uint32_t>> replaced);
  Ids forget(llvm::ArrayRef<const Operator *> removed);
  void compare(uint32_t number, llvm::StringRef pass);
  void writeReasons();
};

} // namespace origo::commands
