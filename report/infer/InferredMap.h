#pragma once

#include "report/infer/Search.h"

#include <set>

namespace origo::report {

using origin::MapStep;
using origin::MapSteps;
using origin::OperatorRow;
using origin::OriginMap;
using origin::TargetSubgraph;
using origin::TensorRow;

/// Makes the map of what has been found.
class InferredMap {
public:
  InferredMap(const InferSearch &search, const Model &source, const Model &result, OriginMap &map,
              InferCoverage &coverage, std::vector<InferDoubt> &doubts, const EarlierMap *earlier, bool keepsFates,
              bool careful, const std::set<int64_t> &doubted)
      : search(search), source(source), result(result), map(map), coverage(coverage), doubts(doubts), earlier(earlier),
        keepsFates(keepsFates), careful(careful), doubted(doubted) {}

  void run();

  uint32_t idOf(const Operator &op) const {
    return map.source.subgraphs[op.subgraph()->index].firstOperator + op.index;
  }
  uint32_t idOf(const Value &value) const {
    return map.source.subgraphs[value.subgraph()->index].firstTensor + value.index;
  }

private:
  const InferSearch &search;
  const Model &source, &result;
  OriginMap &map;
  InferCoverage &coverage;
  std::vector<InferDoubt> &doubts;
  const EarlierMap *earlier;        ///< null: there is none
  const bool keepsFates;            ///< those that the earlier map tells
  const bool careful;               ///< nothing is said of movements that traded places
  const std::set<int64_t> &doubted; ///< operators of the result of which nothing is said, by number over all subgraphs
  std::vector<std::vector<const Operator *>> operatorsAt;
  std::vector<const Value *> sourceValues; ///< by id
  std::vector<int64_t> firstOperators;     ///< of the subgraphs of the result, counted over all of them
  using Place = std::pair<uint32_t, uint32_t>;
  std::vector<std::vector<Place>> carried;     ///< by source operator: who has it among its origins
  std::vector<std::vector<Place>> folded;      ///< by source operator: constants that it made
  std::vector<std::vector<Place>> liveTensors; ///< by source tensor: who is related to it, or comes from it
  llvm::DenseMap<const Value *, llvm::SmallVector<const Value *, 4>> starts, ends; ///< of tensors of the result
  llvm::DenseMap<const Value *, llvm::SmallVector<uint32_t, 2>>
      moved; ///< of the result: movements that it has been through

  const FoundTensor *claimed(const Value &value) const {
    const FoundTensor *known = search.find(value);
    bool told = known && known->source && !known->assumed && !(value.producer() && isDoubted(*value.producer()));
    return told ? known : nullptr;
  }
  bool isDoubted(const Operator &op) const {
    return !doubted.empty() && doubted.contains(firstOperators[op.subgraph()->index] + op.index);
  }

  static void add(llvm::SmallVectorImpl<const Value *> &list, const Value *value);

  /// Where what is computed begins and ends in the source, for tensors that are none of its.
  void findEnds(const Subgraph &graph);

  /// The operators of the source on a way from what is given to what is made. What depends on no input is none of them.
  std::vector<uint32_t> cone(llvm::ArrayRef<const Value *> from, llvm::ArrayRef<const Value *> to,
                             llvm::SmallVectorImpl<const Value *> &constants) const;

  /// What a movement makes or is made of is as good a beginning.
  void widen(llvm::SmallVectorImpl<const Value *> &from) const;

  static llvm::StringRef bridgeOf(const Operator &op);

  std::vector<MapStep> stepsOf(const Value &value, const FoundTensor &known) const;

  void target(const Subgraph &graph);

  /// Does it move all elements of its operand, and nothing else?
  bool movesAll(const Operator &op) const;

  /// What moves data at an end of what operators do, and is no other's work, has been left out: what is in front of it
  /// is what is behind it, in another order. From the ends of a cone inward.
  void leaveMovements(const Subgraph &graph, TargetSubgraph &rows);

  bool changesNothing(const Operator &movement) const;

  /// Does one movement put back what the other one has moved? Of those that keep the order of elements, any does.
  bool undoes(const Operator &a, const Operator &b) const;

  /// Is a movement the first or the last of what an operator does, but for those that it leaves?
  bool isAtEnd(const Operator &op, const OperatorRow &row, const Operator &movement,
               const std::set<uint32_t> &left) const;

  void leave(const Operator &movement, llvm::ArrayRef<const Operator *> operators, TargetSubgraph &rows);

  /// What moves data behind an operator may be what the source moves in front of it, which that one then does not do.
  void takeMovement(const Subgraph &graph, const Operator &op, TargetSubgraph &rows);

  const Operator *sourceOperator(uint32_t id) const;

  /// A constant comes from one of the source, or from what the source computes of constants alone.
  void comeFrom(TensorRow &row, const Subgraph &graph, const Value &from);

  /// What a tensor was said to be as well, and the source computes the same numbers for.
  void keepRelations(const Value &value, const FoundTensor &known, TensorRow &row);

  /// A constant that nothing leads to still comes from where it came from, if its bytes are those that it had.
  void keepConstant(const Value &value, TensorRow &row);

  /// Is it what it was said to be, or none of the source, as was said?
  bool isAsSaid(const Value &value) const;

  /// The row that an operator had, if all that it is given and makes is what it was: constants have a say in what it
  /// makes.
  const OperatorRow *keptRow(const Operator &op) const;

  void operatorRow(const Subgraph &graph, const Operator &op, TargetSubgraph &rows);

  /// A movement of the same kind that the source has between this and what is computed next.
  const Operator *movementOf(const Operator &op, llvm::ArrayRef<const Value *> from,
                             llvm::ArrayRef<uint32_t> done) const;

  /// A list of numbers that is one of the source times another, plus a third: what folding leaves of biases.
  void foldedFrom(const Value &value, llvm::ArrayRef<const Value *> constants, TensorRow &row);

  /// A source operator near it.
  uint32_t servedBy(llvm::ArrayRef<const Value *> from, llvm::ArrayRef<const Value *> to, const Operator &op) const;

  void count(const Subgraph &graph);

  struct Way {
    std::string fate = "unknown";
    std::vector<Place> operators = {}, tensors = {};
  };

  void ledger();

  /// What became of something was seen when it was rewritten, and is so still where all that it went into is there.
  void keepWay(bool isTensor, uint32_t id, Way &way) const;

  Way wayOf(const Operator &op, bool needed) const;

  /// Where one of the two that it was between only moves data, they may have traded places, and both are there.
  std::vector<Place> tradedPlaces(const Operator &maker, llvm::ArrayRef<const Operator *> users) const;

  /// A constant that only states shapes, which are known without it, and that nothing comes from any more: whoever
  /// had it does without it.
  bool isNotNeeded(const Value &value, llvm::ArrayRef<const Operator *> users) const;

  void noteUnneeded(const Value &value, llvm::ArrayRef<const Operator *> users) const;

  Way wayOf(const Value &value, const std::vector<Way> &ways) const;
};

} // namespace origo::report
