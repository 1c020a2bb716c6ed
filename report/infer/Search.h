#pragma once

#include "report/infer/Earlier.h"
#include "report/infer/Infer.h"
#include "report/infer/Numbers.h"

#include "eval/Session.h"
#include "ir/Activation.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <map>

namespace origo::report {

/// What is known of a tensor of the result.
struct FoundTensor {
  const Value *source = nullptr;                   ///< null: it is no tensor of the source
  std::vector<Step> steps = {};                    ///< those that move and scale
  bool executed = false;                           ///< else structure alone tells
  bool exact = false;                              ///< the same bits
  bool assumed = false;                            ///< it should be that tensor, and is not: nothing is claimed
  bool isSpread = false;                           ///< a constant: repeated, so that the source's is a part of it
  double slack = 0;                                ///< by which it was found
  llvm::SmallVector<const Value *, 2> equals = {}; ///< what it may be as well, with the same steps
  llvm::SmallVector<const Value *, 2> starts = {}; ///< where `source` is null: what it is computed from
  std::optional<RealTensor> numbers = {};          ///< likewise, from the source's numbers
};

/// What the numbers of two related models may be.
enum class InferNumbers : uint8_t {
  Same,     ///< what computes something else is to blame
  Rescaled, ///< tensors may be those of the source times a factor, of all or by channel
  Other,    ///< what has other constants is related by structure, and nothing is said of its numbers
};

/// The search through both graphs, forward from what they are given. What an operator of the result makes of the
/// source's own numbers is looked for among the tensors of the source that lie behind those, nearest first; so the
/// search is linear, and rounding neither hides nor adds up.
class InferSearch {
public:
  /// `earlier` decides between what is equal; null: nobody does.
  InferSearch(Model &source, Model &result, const InferOptions &options, const EarlierMap *earlier,
              InferNumbers numbers = InferNumbers::Same)
      : source(source), result(result), options(options), earlier(earlier),
        mayRescale(numbers == InferNumbers::Rescaled), otherNumbers(numbers == InferNumbers::Other) {}
  llvm::Error run();

  const FoundTensor *find(const Value &value) const {
    auto known = found.find(&value);
    return known == found.end() ? nullptr : &known->second;
  }
  const Subgraph *sourceOf(const Subgraph &graph) const { return paired.lookup(&graph); }
  /// The operator of the source that it is by structure; null: what it makes tells.
  const Operator *matchOf(const Operator &op) const { return matched.lookup(&op); }
  bool dependsOnInputs(const Value &value) const { return alive.contains(&value); }
  /// Might it be another tensor as well, which nobody is and an operator of the same kind makes?
  bool isAmbiguous(const FoundTensor &known) const {
    return llvm::any_of(known.equals, [&](const Value *other) {
      return claims.lookup(other) == 0 && other->producer() && known.source->producer() &&
             other->producer()->code == known.source->producer()->code;
    });
  }
  /// Do those who use a tensor that is rescaled make up for it, up to the outputs?
  bool agreesWithRescaled() const;
  /// Does the source compute the same number everywhere there?
  bool isFlat(const Value &value) const {
    const RealTensor *numbers = numbersOfSource(value);
    return numbers && numbers->flat;
  }
  const RealTensor *numbersOfSource(const Value &value) const;
  std::optional<InferDifference> first;
  std::vector<std::string> notes;

private:
  Model &source, &result;
  const InferOptions &options;
  const EarlierMap *earlier;
  const bool mayRescale, otherNumbers;
  std::optional<eval::Session> session;
  llvm::DenseMap<const Value *, FoundTensor> found;
  llvm::DenseMap<const Subgraph *, const Subgraph *> paired;
  llvm::DenseSet<const Value *> alive; ///< of the source: depends on an input
  llvm::DenseMap<const Operator *, const Operator *> matched;
  llvm::DenseSet<const Operator *> taken;         ///< of the source, by these
  llvm::DenseMap<const Value *, unsigned> claims; ///< of the source: how many computed tensors are it
  mutable std::map<const Value *, std::optional<RealTensor>> numbers; ///< of the source, in the run at hand
  std::map<const Value *, std::optional<RealTensor>> ownConstants;    ///< of the result
  std::multimap<uint64_t, const Value *> constants;                   ///< of the source, by content in any order
  llvm::SmallVector<const Operator *> withoutOperands;                ///< of the source
  bool constantsIndexed = false;

  /// Tensors of the source that lie behind some others.
  struct Nearby {
    llvm::SmallVector<const Value *, 32> tensors; ///< nearest first, beginning with these themselves
    llvm::SmallVector<const Operator *, 32> operators;
    size_t starts = 0; ///< of the tensors: how many are these themselves
  };
  static constexpr size_t mostNearby = 64;

  llvm::Error runSource(unsigned run);
  llvm::Error runSignature(const std::string &signature, unsigned run);
  llvm::Expected<std::vector<eval::OwnedTensor>> inputsOf(llvm::ArrayRef<eval::Port> ports, llvm::StringRef signature,
                                                          unsigned run) const;
  llvm::Error pairInputs(const Subgraph &from, const Subgraph &to);
  const Value *boundTo(const Value &input, const Subgraph &from) const;
  void pairGraphs(const Subgraph &from, const Subgraph &to);
  void visit(const Operator &op);
  void verify();
  bool isStill(FoundTensor &known, const RealTensor &made, bool asStored, double loose);
  bool holdsFor(const Operator &op, const std::vector<std::optional<RealTensor>> &results, bool asStored, double loose);
  Nearby nearby(llvm::ArrayRef<const Value *> starts, const Operator &op);
  struct Users {
    std::vector<const Operator *> all;                                               ///< in the order of execution
    std::map<std::pair<int, llvm::StringRef>, std::vector<const Operator *>> byKind; ///< likewise, the last one first
  };
  const Users &usersOf(const Value &value);
  llvm::DenseMap<const Value *, std::unique_ptr<Users>> users; ///< of the source, as far as somebody asked
  const RealTensor *own(const Value &constant);
  bool isSaid(const Value &value, const Value &candidate) const {
    return earlier && earlier->relates(value, candidate);
  }
  std::optional<RealTensor> numbersFor(const Value &value);
  void findConstant(const Operator &op, unsigned operand, const Nearby &near);
  void findNewConstant(const Operator &op, unsigned operand, const Nearby &near, const Value &constant);
  bool findAmong(const Value &constant, llvm::ArrayRef<const Value *> candidates, bool scaled, bool saturates = false);
  bool findSpread(const Value &constant, llvm::ArrayRef<const Value *> candidates);
  /// Says that a constant is one of the source's, moved and scaled, as its numbers show.
  FoundTensor &take(const Value &constant, const Value &candidate, std::vector<Step> steps);
  bool findNegated(const Value &constant, llvm::ArrayRef<const Value *> candidates);
  void findListed(const Operator &op, const Operator &like);
  /// The modes in which it makes sense to execute it: as the file stores its tensors, or in real numbers.
  llvm::SmallVector<bool, 2> modesOf(const Operator &op) const;
  std::optional<std::vector<std::optional<RealTensor>>> computed(const Operator &op, bool asStored, double &loose);
  void completeSource(uint32_t seed);
  bool choose(const Operator &op, const Value &value, const RealTensor &made, const Nearby &near, bool asStored,
              double loose);
  std::vector<Step> factorsOf(const Operator &op, bool computed) const;
  void findRescaledConstants(const Operator &op, llvm::ArrayRef<const Operator *> likes, llvm::ArrayRef<Step> made);
  bool chooseRescaled(const Operator &op, const Value &value, const RealTensor &made, const Nearby &near, double loose);
  bool isMadeAtOnce(const Value &candidate, const Nearby &near) const;
  void repair(const Operator &op);
  bool hasOtherConstant(const Operator &op, const Operator &like) const;
  bool hasOthersConstant(const Operator &op, const Value &made) const;
  void blameConstants(const Subgraph &graph);
  void blame(const Operator &op, const Operator &like, double off, double range, const char *why);
  void become(FoundTensor &known, const Value &source);
  void chooseByStructure(const Operator &op, const Nearby &near);
  const Operator *counterpart(const Operator &op, const Nearby &near) const;
  void pairCallees(const Operator &op, const Operator &like);
  bool resume(const Subgraph &graph);
  double slackFor(const RealTensor &made, const RealTensor &want, bool asStored, double loose) const;
  void indexConstants();
};

/// An error where names that are bound are none of inputs, or inputs have other numbers of elements.
llvm::Error checkBound(const Model &source, const Model &result, const InferOptions &options);
/// Other ways to bind the inputs of the first subgraphs than by their order, where their sizes allow several.
std::vector<InferOptions> otherOrders(const Model &source, const Model &result, const InferOptions &options);
/// The steps that lead from a tensor to one of another shape, as its axes have moved. None: it has another number of
/// elements.
std::optional<std::vector<Step>> stepsOfShapes(llvm::ArrayRef<int32_t> from, llvm::ArrayRef<int32_t> to);

/// Is it a tensor of the source times a factor, of all or by channel?
bool isRescaled(const FoundTensor &known);
/// Is an operator that activation function?
bool isActivation(const Operator &op, circle::ActivationFunctionType activation);
/// Is one made of the other by storing its numbers otherwise?
bool onlyStoredOtherwise(const Value &a, const Value &b);
/// A constant, also where an operator stores it otherwise before it is used; null: it is none.
const Value *constantBehind(const Value *value);
/// False: it is there already, or the list is full.
bool addOnce(llvm::SmallVectorImpl<const Value *> &list, const Value *value, size_t most);
/// How far, in parts of the largest number, a result may be off by a constant of few bits that is none of the source.
constexpr double unknownConstant = 0.01;

/// Does its kernel round floats to multiply them with integers? In real numbers it does not.
bool isHybrid(const Operator &op);
/// Are they the same operator, but for how numbers are stored?
bool isSameKind(const Operator &a, const Operator &b);
/// Does it only move elements, or store them otherwise?
bool onlyMoves(const Operator &op);

} // namespace origo::report
