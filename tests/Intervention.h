#pragma once

#include "eval/Baseline.h"
#include "eval/RandomInput.h"
#include "eval/RealNumbers.h"

#include "llvm/ADT/STLExtras.h"

#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <cstring>
#include <set>

/// Overwrites a source tensor and what claims to stand for it with the same random data, and compares the outputs. This
/// tells apart tensors that hold the same but are used in different ways.
namespace origo::test {

struct Interventions {
  unsigned tried = 0;
  std::map<std::string, unsigned> skipped; ///< by reason
  std::vector<std::string> wrong;
};

class Intervention {
public:
  /// `after` is `before` with passes applied. At most `limit` places, spread over the graph.
  static llvm::Expected<Interventions> run(Model &before, Model &after, unsigned limit = ~0u) {
    auto baseline = eval::Baseline::of(before, {1});
    if (!baseline)
      return baseline.takeError();
    auto was = eval::compile(before), is = eval::compile(after);
    if (!was)
      return was.takeError();
    if (!is)
      return is.takeError();
    Intervention intervention(before, after, baseline->runs().front(), *was, *is);
    intervention.connect();
    if (auto shapes = intervention.execute(*is, {}, &intervention.shapes); !shapes)
      return shapes.takeError();
    size_t every = std::max<size_t>(1, (intervention.groups.size() + limit - 1) / limit);
    for (size_t i = 0; i < intervention.groups.size(); i += every)
      intervention.tryGroup(intervention.groups[i]);
    return std::move(intervention.result);
  }

private:
  using Tensors = std::map<const Value *, eval::OwnedTensor>;
  struct Claim {
    const Value *source, *twin;
    llvm::ArrayRef<Step> steps;
  };
  using Group = std::vector<Claim>; ///< what hangs together by claims

  Model &before, &after;
  const eval::Baseline::Run &baseline;
  const eval::Session &was, &is;
  std::map<uint32_t, const Value *> sources; ///< by id
  Tensors shapes;                            ///< of the result, with what it holds without an intervention
  std::vector<Claim> claims;
  std::vector<Group> groups; ///< those in which all is computed
  Interventions result;

  Intervention(Model &before, Model &after, const eval::Baseline::Run &baseline, const eval::Session &was,
               const eval::Session &is)
      : before(before), after(after), baseline(baseline), was(was), is(is) {}

  static bool isComputed(const Value *value) { return value->producer() && value->subgraph()->index == 0; }

  void connect() {
    for (const auto &graph : before.subgraphs)
      for (const Value *value : graph->values)
        sources[value->relations.front().tensor] = value;
    std::map<const Value *, size_t> groupOf;
    for (const Value *twin : after.subgraphs.front()->values)
      for (const Relation &relation : twin->relations) {
        Claim claim{sources.at(relation.tensor), twin, after.steps.get(relation.steps)};
        std::set<size_t> joined;
        for (const Value *value : {claim.source, claim.twin})
          if (auto found = groupOf.find(value); found != groupOf.end())
            joined.insert(found->second);
        size_t to = joined.empty() ? groups.size() : *joined.begin();
        groups.resize(std::max(groups.size(), to + 1));
        for (size_t from : joined)
          if (from != to) {
            for (const Claim &moved : groups[from])
              groupOf[moved.source] = groupOf[moved.twin] = to;
            groups[to].insert(groups[to].end(), groups[from].begin(), groups[from].end());
            groups[from].clear();
          }
        groups[to].push_back(claim);
        claims.push_back(claim);
        groupOf[claim.source] = groupOf[claim.twin] = to;
      }
    llvm::erase_if(groups, [](const Group &group) {
      return group.empty() ||
             llvm::any_of(group, [](const Claim &c) { return !isComputed(c.source) || !isComputed(c.twin); });
    });
  }

  llvm::Expected<std::vector<eval::NamedTensor>> execute(const eval::Session &session, const Tensors &replaced,
                                                         Tensors *seen = nullptr) const {
    eval::RunOptions options;
    options.observer = [&](const Operator &, const Value &value, eval::Tensor &tensor) {
      if (auto found = replaced.find(&value);
          found != replaced.end() && found->second.bytes.size() == tensor.storage.size() && !tensor.storage.empty())
        std::memcpy(tensor.storage.data(), found->second.bytes.data(), tensor.storage.size());
      if (seen)
        (*seen)[&value] = {tensor.type, tensor.shape, {tensor.storage.begin(), tensor.storage.end()}};
    };
    std::vector<eval::TensorRef> inputs(baseline.inputs.begin(), baseline.inputs.end());
    return session.run(inputs, options);
  }

  using Values = std::set<const Value *>;
  /// What is computed from these values of the first subgraph, themselves included.
  static Values behind(const Model &model, Values values) {
    for (const Operator &op : model.subgraphs.front()->operators)
      if (llvm::any_of(op.operands(), [&](const Use &use) { return values.count(use.get()); }))
        values.insert(op.results().begin(), op.results().end());
    return values;
  }

  /// A merge of movements goes past the tensor between them, which may still be there for others: something behind the
  /// source tensor has a twin that is not behind its twin, as the operator between them is gone. Or one does the work
  /// of both, and reads what was in front; another of its operands may still be behind. All else is a mistake.
  bool isPassedBy(const Group &group) const {
    Values inSource, twins;
    for (const Claim &claim : group) {
      inSource.insert(claim.source);
      twins.insert(claim.twin);
    }
    Values makers = inSource;
    inSource = behind(before, inSource);
    twins = behind(after, twins);
    auto idOf = [&](const Value *source) { return before.sets.members(source->producer()->origins).front(); };
    auto does = [&](const Operator &op, const Value *source) { return after.sets.contains(op.origins, idOf(source)); };
    for (const Claim &claim : claims) {
      if (!inSource.count(claim.source) || makers.count(claim.source))
        continue;
      bool gone =
          !twins.count(claim.twin) && llvm::none_of(after.subgraphs.front()->operators,
                                                    [&](const Operator &any) { return does(any, claim.source); });
      const Operator *op = claim.twin->producer();
      if (gone ||
          (op && does(*op, claim.source) && llvm::any_of(makers, [&](const Value *maker) { return does(*op, maker); })))
        return true;
    }
    return false;
  }

  static eval::Tensor view(eval::OwnedTensor &tensor, const Value &value) {
    eval::Tensor result;
    result.type = tensor.type;
    result.shape = tensor.shape;
    result.quantization = value.quantization;
    result.storage = tensor.bytes;
    return result;
  }

  /// Random data for all tensors of a group, the same by their claims; false: it does not follow from them.
  bool fill(const Group &group, Tensors &inSource, Tensors &twins) const {
    for (const Claim &claim : group) {
      auto source = baseline.held.find(claim.source);
      auto twin = shapes.find(claim.twin);
      if (source == baseline.held.end() || twin == shapes.end())
        return false;
      inSource[claim.source] = source->second.tensor;
      twins[claim.twin] = twin->second;
    }
    std::set<const Value *> known{group.front().source};
    eval::OwnedTensor &first = inSource[group.front().source];
    if (!eval::fillRandom(first.type, first.bytes, 77, 0))
      return false;
    for (bool again = true; std::exchange(again, false);)
      for (const Claim &claim : group) {
        bool forward = known.count(claim.source);
        if (forward == (known.count(claim.twin) != 0))
          continue;
        eval::Tensor source = view(inSource[claim.source], *claim.source), twin = view(twins[claim.twin], *claim.twin);
        if (!eval::moveAlong(source, claim.steps, twin, !forward))
          return false;
        known.insert(forward ? claim.twin : claim.source);
        again = true;
      }
    return true;
  }

  void tryGroup(const Group &group) {
    Tensors sources, twins;
    if (isPassedBy(group)) {
      ++result.skipped["passed by"];
      return;
    }
    if (!fill(group, sources, twins)) {
      ++result.skipped["more than moved, or not computed"];
      return;
    }
    auto want = execute(was, sources), have = execute(is, twins);
    if (!want || !have) {
      if (!want != !have)
        result.wrong.push_back("tensor \"" + printable(group.front().twin->name) + "\": one of the two cannot run");
      else
        ++result.skipped["random data is refused"];
      llvm::consumeError(want.takeError());
      llvm::consumeError(have.takeError());
      return;
    }
    auto ports = llvm::cantFail(is.outputs());
    auto numbersOf = [&](size_t i) {
      return eval::storedNumbers(view((*want)[i].tensor, *ports[i].value)).value_or(std::vector<double>());
    };
    // What is computed of a root, say, rests on what is under it, which is nothing like random data.
    for (size_t i = 0; i < want->size(); ++i)
      if (llvm::any_of(numbersOf(i), [](double number) { return number != number; })) {
        ++result.skipped["random data gives NaN"];
        return;
      }
    ++result.tried;
    for (size_t i = 0; i < want->size(); ++i) {
      eval::Tensor source = view((*want)[i].tensor, *ports[i].value);
      auto numbers = eval::storedNumbers(source).value_or(std::vector<double>());
      numbers.push_back(0); // numbers that are near each other and far from zero round by their magnitude
      auto tolerance = eval::Tolerance::ofRange(numbers, 1e-5);
      eval::Verdict verdict = eval::checkRelation(source, {}, &tolerance, view((*have)[i].tensor, *ports[i].value));
      if (verdict.kind == eval::Verdict::Deviates) {
        result.wrong.push_back("tensor \"" + printable(group.front().twin->name) + "\": output " + std::to_string(i) +
                               ": " + verdict.text);
        return;
      }
    }
  }
};

/// How the models of a test fared.
struct InterventionTally {
  unsigned models = 0, unexecuted = 0, tried = 0;
  std::map<std::string, unsigned> skipped;

  void print(llvm::StringRef what) const {
    llvm::outs() << what << ": interventions in " << models << ", " << unexecuted
                 << " cannot be executed; tensors overwritten: " << tried << '\n';
    for (const auto &[reason, times] : skipped)
      llvm::outs() << "  " << times << " tensors not overwritten: " << reason << '\n';
    llvm::outs().flush();
  }
};

/// Fails the test where something that is overwritten has other effects than before.
inline void expectSameEffects(Model &before, Model &after, InterventionTally &tally, unsigned limit = ~0u) {
  auto result = Intervention::run(before, after, limit);
  if (!result) {
    llvm::consumeError(result.takeError());
    ++tally.unexecuted;
    return;
  }
  ++tally.models;
  tally.tried += result->tried;
  for (const auto &[reason, times] : result->skipped)
    tally.skipped[reason] += times;
  for (const std::string &wrong : result->wrong)
    ADD_FAILURE() << wrong;
}

} // namespace origo::test
