#include "eval/exact/Unseen.h"

#include "eval/exact/Intervals.h"
#include "eval/exact/Reach.h"
#include "ir/Printable.h"

#include <set>

namespace origo::eval::exact {

using Op = BuiltinOperator;

namespace {

/// Does what an operator computes before it chooses make one of its choices impossible?
bool isImpossible(const Operator &op, const Choice &choice) {
  Interval of;
  if (choice.other == ~0u)
    of = intervalOf(op);
  else if (op.operand(choice.other))
    of = intervalOf(*op.operand(choice.other));
  switch (choice.kind) {
  case Choice::Lower:
    return of.low >= choice.bound;
  case Choice::Upper:
    return of.high <= choice.bound;
  case Choice::Negative:
    return of.low >= 0;
  case Choice::Positive:
    return of.high <= 0;
  default:
    return false;
  }
}

std::string nameOf(const Operator &op, bool ofSource) {
  std::string text = op.opName();
  if (const Value *result = op.result())
    text += " \"" + printable(result->name) + "\"";
  return text + (ofSource ? " of the source" : "");
}

/// What each of several choices that were not made is called.
std::string textOf(const Operator &op, const Choice &choice, bool ofSource) {
  std::string name = nameOf(op, ofSource);
  switch (choice.kind) {
  case Choice::Lower:
  case Choice::Upper:
    return "a bound of " + name + " never acted";
  case Choice::Through:
    return name + " was at its bounds always";
  case Choice::Negative:
  case Choice::Positive:
    return name + " was given one sign only";
  case Choice::Answer:
    return name + " always said the same";
  case Choice::Side:
    return name + " never took one of its sides";
  }
  return name;
}

/// The choices of one model that the other one has not: those of the same numbers, or as many with the same bound.
class Unmatched {
public:
  Unmatched(const Looked &model, const Looked &other, bool ofSource) : reach(model.model) {
    const Reach there(other.model);
    for (const auto &[op, site] : other.choices.sites)
      for (const Choice &choice : site.choices) {
        exact.insert({choice.kind, choice.what, site.made});
        if (there.counts(*op))
          ++left[{choice.kind, choice.what}];
      }
    for (const auto &[op, site] : model.choices.sites)
      for (const Choice &choice : site.choices)
        if (exact.count({choice.kind, choice.what, site.made}) && reach.counts(*op))
          taken.insert({choice.kind, choice.what, site.made});
    for (const auto &[op, site] : other.choices.sites)
      for (const Choice &choice : site.choices)
        if (taken.count({choice.kind, choice.what, site.made}) && there.counts(*op))
          --left[{choice.kind, choice.what}];
    for (const auto &[op, site] : model.choices.sites)
      for (const Choice &choice : site.choices)
        if (isMissing(*op, site, choice)) {
          texts.push_back(textOf(*op, choice, ofSource));
          break;
        }
  }
  std::vector<std::string> texts;

private:
  const Reach reach;
  std::set<std::tuple<int, uint64_t, uint64_t>> exact, taken;
  std::map<std::pair<int, uint64_t>, int> left; ///< of the other one, besides those that are taken

  bool isMissing(const Operator &op, const Choices::Site &site, const Choice &choice) {
    if (!reach.counts(op) || taken.count({choice.kind, choice.what, site.made}) || isImpossible(op, choice))
      return false;
    // Bounds move past what only moves numbers, and one that is always kept goes.
    auto elsewhere = left.find({choice.kind, choice.what});
    if (elsewhere != left.end() && elsewhere->second > 0) {
      --elsewhere->second;
      return false;
    }
    return !choice.seen;
  }
};

/// Operators that call graphs depending on numbers.
bool choosesGraph(const Operator &op) { return op.code == Op::IF || op.code == Op::WHILE; }

template <class F> void forEachCaller(const Looked &looked, F f) {
  const Reach reach(looked.model);
  for (const auto &graph : looked.model.subgraphs)
    if (looked.choices.ran.count(graph.get()))
      for (const Operator &op : graph->operators)
        if (choosesGraph(op) && reach.counts(op) && (op.code != Op::IF || reach.moves(op.operand(0))))
          f(op);
}

/// The operator of the source that one of the result stands for.
const Operator *counterpart(const Operator &op, const std::map<uint32_t, const Value *> &sources) {
  for (const Value *result : op.results())
    if (result)
      for (const Relation &relation : result->relations)
        if (auto known = sources.find(relation.tensor); known != sources.end())
          if (const Operator *producer = known->second->producer(); producer && producer->code == op.code)
            return producer;
  return nullptr;
}

} // namespace

std::vector<Bodies> neverRun(const Looked &source, const Looked &result,
                             const std::map<uint32_t, const Value *> &sources) {
  std::vector<Bodies> bodies;
  forEachCaller(result, [&](const Operator &op) {
    const Operator *was = counterpart(op, sources);
    auto now = op.callees(), before = was ? was->callees() : llvm::SmallVector<Subgraph *, 2>();
    if (now.size() == before.size())
      for (auto [a, b] : llvm::zip(before, now))
        if (!source.choices.ran.count(a) || !result.choices.ran.count(b))
          if (Bodies pair(a, b); !llvm::is_contained(bodies, pair))
            bodies.push_back(pair);
  });
  return bodies;
}

std::vector<std::string> neverChosen(const Looked &source, const Looked &result) {
  std::vector<std::string> texts = Unmatched(source, result, true).texts;
  llvm::append_range(texts, Unmatched(result, source, false).texts);
  for (bool ofSource : {true, false}) {
    const Looked &looked = ofSource ? source : result;
    forEachCaller(looked, [&](const Operator &op) {
      for (const Subgraph *callee : op.callees())
        if (!looked.choices.ran.count(callee))
          texts.push_back("subgraph \"" + printable(callee->name) + "\" that " + nameOf(op, ofSource) +
                          " may call never ran");
    });
  }
  return texts;
}

} // namespace origo::eval::exact
