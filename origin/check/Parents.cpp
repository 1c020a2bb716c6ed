#include "origin/check/Context.h"
#include "origin/check/Movement.h"
#include "origin/check/SourceOrder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

/// Law 7, no invented parents: each origin lies on a path of the source graph to a tensor that the row's outputs equal,
/// or, where an output equals none, to one that what is computed from it equals. And not all of these paths lead
/// through tensors that the row's inputs equal: what comes before them has been done already. A source operator that
/// was taken apart may share a part with another one: a row claims it if it computes something that a user claiming it
/// goes on with. A movement that was behind another one, and is in front of it now, lies on the path of who took the
/// other one over.
using namespace origo;
using namespace origo::origin;

namespace {

class ParentCheck {
public:
  explicit ParentCheck(CheckContext &context)
      : context(context), order(*context.source), loops(context.source->subgraphs.size()), member(order.nodeCount()),
        visited(order.nodeCount()) {
    for (uint32_t op = 0; op < context.source->operators.size(); ++op)
      if (context.source->operatorName(op) == "WHILE")
        for (uint32_t graph : context.source->callees(op))
          loops[graph].push_back(op);
  }

  void run() {
    size_t wide = 0, rows = context.target.operators.size();
    for (uint32_t op = 0; op < rows; ++op) {
      const OperatorRow *row = context.operatorRow[op];
      if (!row)
        continue;
      if (!row->wide.empty())
        ++wide;
      else if (allOutputsRelated(op) || (!row->origins.empty() && findFurtherEnds(op)))
        askNearby(op, *row), checkBehind(op, *row);
    }
    if (wide * 50 > rows)
      context.report.add(7, [&] {
        return std::to_string(wide) + " of " + std::to_string(rows) +
               " operators are marked wide; the law allows 2 in 100";
      });

    auto itself = [](uint32_t id, llvm::function_ref<void(uint32_t)> visit) { visit(id); };
    auto ends = [&](uint32_t op, llvm::function_ref<void(uint32_t)> visit) { forEachEnd(op, visit); };
    order.answer(open, itself, ends);
    llvm::erase_if(open, [](const SourceOrder::Question &question) { return question.answer; });
    if (!open.empty())
      askForDuplicates(ends);
    for (auto [op, id] : behind)
      if (!settled.contains({op, id}))
        context.report.add(7, [&, op = op, id = id] {
          return context.writtenOperator(op) + " claims " + context.sourceOperator(id) +
                 ", which comes before all that the operator is given";
        });
  }

private:
  CheckContext &context;
  SourceOrder order;
  std::vector<std::vector<uint32_t>> loops; ///< by subgraph of the source: those whose body it is
  std::vector<uint32_t> member, visited;    ///< by node: op + 1 of the row whose search marked it
  static constexpr uint32_t outside = ~0u;  ///< who uses an output of a subgraph
  std::vector<std::vector<uint32_t>> users; ///< by tensor of the written file; filled in when it is first needed
  llvm::DenseMap<uint64_t, llvm::SmallVector<uint32_t, 2>> furtherEnds; ///< by operator with an unrelated output
  std::vector<uint32_t> classes; ///< of duplicates, by source operator; made when it is first needed
  std::vector<std::pair<uint32_t, uint32_t>> behind;     ///< operator of the written file, and one it claims
  llvm::DenseSet<std::pair<uint64_t, uint64_t>> settled; ///< likewise, what is reported already, or excused
  std::vector<SourceOrder::Question> open;               ///< group: source operator; row: operator of the written file

  bool allOutputsRelated(uint32_t op) const {
    bool any = false, all = true;
    context.target.forEachOutput(op, [&](int32_t tensor) {
      if (tensor < 0)
        return;
      any = true;
      const TensorRow *row = context.tensorRow[tensor];
      all = all && row && !row->relations.empty();
    });
    return any && all;
  }

  /// Calls `visit` with the source operators that produce what the outputs of `op` are related to.
  void forEachEnd(uint32_t op, llvm::function_ref<void(uint32_t)> visit) const {
    if (auto further = furtherEnds.find(op); further != furtherEnds.end()) {
      llvm::for_each(further->second, visit);
      return;
    }
    context.target.forEachOutput(op, [&](int32_t tensor) {
      if (tensor >= 0)
        forEachProducer(tensor, visit);
    });
  }

  void forEachProducer(uint32_t tensor, llvm::function_ref<void(uint32_t)> visit) const {
    for (const MapRelation &relation : context.tensorRow[tensor]->relations) {
      if (!context.knownTensor(relation.tensor))
        continue;
      if (int32_t producer = context.source->producer[relation.tensor]; producer >= 0)
        visit(static_cast<uint32_t>(producer));
      else if (context.source->kind[relation.tensor] == TensorKind::Input) // what a loop gives its body
        llvm::for_each(loops[context.source->subgraphOfTensor(relation.tensor)], visit);
    }
  }

  void findUsers() {
    const FileGraph &target = context.target;
    users.resize(target.tensors.size());
    for (uint32_t op = 0; op < target.operators.size(); ++op)
      target.forEachInput(op, [&](int32_t tensor) {
        if (tensor >= 0)
          users[tensor].push_back(op);
      });
    for (const FileSubgraph &graph : target.subgraphs)
      if (auto *outputs = graph.table->outputs())
        for (int32_t index : *outputs)
          if (int32_t tensor = target.tensorId(graph, index); tensor >= 0)
            users[tensor].push_back(outside);
  }

  /// Follows what is computed from `op` up to tensors that equal something. False: there are none, or not all of what
  /// comes of it is seen, for it leaves the subgraph or goes far.
  bool findFurtherEnds(uint32_t op) {
    constexpr size_t farthest = 256;
    if (users.empty())
      findUsers();
    llvm::SmallVector<uint32_t, 8> reached{op}, ends;
    bool unseen = false;
    for (size_t i = 0; i < reached.size() && !unseen; ++i) {
      bool any = false;
      context.target.forEachOutput(reached[i], [&](int32_t tensor) {
        if (tensor < 0)
          return;
        any = true;
        const TensorRow *row = context.tensorRow[tensor];
        if (row && !row->relations.empty())
          return forEachProducer(tensor, [&](uint32_t producer) { ends.push_back(producer); });
        unseen |= users[tensor].empty() || llvm::is_contained(users[tensor], outside);
        for (uint32_t user : users[tensor])
          if (user != outside && !llvm::is_contained(reached, user))
            reached.push_back(user);
      });
      unseen |= !any || reached.size() > farthest;
    }
    if (unseen || ends.empty())
      return false;
    furtherEnds[op].assign(ends.begin(), ends.end());
    return true;
  }

  /// Looks around the ends of the paths, through the row's own origins and a few operators between them. What that does
  /// not reach becomes a question for the whole graph.
  void askNearby(uint32_t op, const OperatorRow &row) {
    uint32_t mark = op + 1;
    for (uint32_t id : row.origins)
      if (context.knownOperator(id))
        member[id] = mark;
    uint64_t budget = 64 + 16 * uint64_t{row.origins.size()};
    llvm::SmallVector<uint32_t> pending;
    llvm::SmallVector<uint32_t, 4> ends;
    auto reach = [&](uint32_t node) {
      if (visited[node] == mark)
        return;
      visited[node] = mark;
      pending.push_back(node);
    };
    forEachEnd(op, [&](uint32_t node) {
      if (ends.size() < 8)
        ends.push_back(node);
      reach(node);
    });
    // The row's own operators first: a chain that became one operator is one walk along it.
    llvm::SmallVector<uint32_t> others;
    while ((!pending.empty() || !others.empty()) && budget) {
      auto &from = pending.empty() ? others : pending;
      uint32_t node = from.pop_back_val();
      for (uint32_t before : order.predecessors(node)) {
        if (budget == 0)
          break;
        --budget;
        if (visited[before] == mark)
          continue;
        visited[before] = mark;
        (member[before] == mark ? pending : others).push_back(before);
      }
    }
    for (uint32_t id : row.origins)
      if (context.knownOperator(id) && visited[id] != mark &&
          llvm::none_of(ends, [&](uint32_t end) { return order.surelyReaches(id, end); }))
        open.push_back({id, op});
  }

  /// The source tensors that what the operator is given equals first, or what that is computed from where it equals
  /// none; `given` are those of its own operands. False: not all of it is seen.
  bool findStarts(uint32_t op, llvm::SmallVectorImpl<uint32_t> &starts, llvm::SmallVectorImpl<uint32_t> &given) const {
    constexpr size_t farthest = 64;
    llvm::SmallVector<uint32_t, 8> reached{op};
    bool seen = true;
    for (size_t i = 0; i < reached.size() && seen; ++i)
      context.target.forEachInput(reached[i], [&](int32_t tensor) {
        const TensorRow *row = tensor < 0 ? nullptr : context.tensorRow[tensor];
        if (!row)
          return;
        // Of several source tensors that it equals, the first one: from there on it may have been done.
        std::optional<std::pair<int32_t, uint32_t>> first;
        for (const MapRelation &relation : row->relations)
          if (relation.steps.empty() && context.knownTensor(relation.tensor)) {
            std::pair made(context.source->producer[relation.tensor], relation.tensor);
            first = std::min(first.value_or(made), made);
          }
        if (first)
          starts.push_back(first->second);
        if (first && i == 0 && !row->constant)
          given.push_back(first->second);
        int32_t producer = context.target.producer[tensor];
        if (first || row->constant)
          return;
        seen &= producer >= 0 && reached.size() < farthest;
        if (producer >= 0 && !llvm::is_contained(reached, static_cast<uint32_t>(producer)))
          reached.push_back(static_cast<uint32_t>(producer));
      });
    return seen && !starts.empty();
  }

  /// What is claimed and lies behind all that the operator is given.
  void checkBehind(uint32_t op, const OperatorRow &row) {
    const FileGraph &source = *context.source;
    llvm::SmallDenseSet<uint64_t, 8> seen;
    llvm::SmallVector<uint32_t, 8> pending, starts, given, met, claimed;
    forEachEnd(op, [&](uint32_t node) {
      if (seen.insert(node).second)
        pending.push_back(node);
    });
    auto missed = [&](uint32_t id) { return context.knownOperator(id) && !seen.contains(id); };
    if (pending.empty() || llvm::none_of(row.origins, missed) || !findStarts(op, starts, given))
      return;
    uint32_t graph = source.subgraphOfOperator(pending.front());
    llvm::sort(starts);
    for (uint64_t budget = 64 + 16 * uint64_t{row.origins.size()}; !pending.empty();) {
      uint32_t node = pending.pop_back_val();
      if (source.subgraphOfOperator(node) != graph || !source.callees(node).empty())
        return;
      bool far = false;
      source.forEachInput(node, [&](int32_t tensor) {
        if (tensor < 0)
          return;
        if (std::binary_search(starts.begin(), starts.end(), static_cast<uint32_t>(tensor))) {
          met.push_back(tensor);
          return;
        }
        far |= budget == 0;
        budget -= budget > 0;
        if (int32_t from = source.producer[tensor]; from >= 0 && seen.insert(from).second)
          pending.push_back(from);
      });
      if (far)
        return; // nothing is shown
      if (!pending.empty())
        continue;
      // An operand that no path has met is in front of what they met: from there to here the operator may do it again.
      llvm::sort(met);
      llvm::erase_if(given, [&](uint32_t tensor) { return std::binary_search(met.begin(), met.end(), tensor); });
      if (given.empty())
        break;
      starts = given;
      llvm::sort(starts);
      for (uint32_t tensor : met)
        if (int32_t from = source.producer[tensor]; from >= 0 && seen.insert(from).second)
          pending.push_back(from);
      met.clear();
    }
    // What moves data may have been put behind operators that do not mind.
    llvm::copy_if(row.origins, std::back_inserter(claimed), [&](uint32_t id) {
      return missed(id) && source.subgraphOfOperator(id) == graph && !(moves(context.target, op) && moves(source, id));
    });
    // Where several together move nothing, no tensor in between tells that they have not been done yet.
    constexpr size_t most = 64; // of a true map there are a few
    if (claimed.size() <= most)
      excuseDetours(source, llvm::to_vector(claimed), claimed);
    if (claimed.empty())
      return;
    if (classes.empty())
      classes = duplicateClasses(source, order);
    llvm::SmallDenseSet<uint64_t, 8> kinds;
    for (uint32_t id : seen)
      kinds.insert(classes[id]);
    for (uint32_t id : claimed)
      if (!kinds.contains(classes[id]))
        behind.emplace_back(op, id);
  }

  /// What is a part of two source operators, and equal, is computed once. Who goes on with it for the one that was
  /// taken apart claims that one, too; and that one is not itself computed from what the row has made.
  void excuseSharedParts(SourceOrder::Nodes ends) {
    if (users.empty())
      findUsers();
    std::vector<SourceOrder::Question> shared;
    for (const SourceOrder::Question &question : open) {
      bool goesOn = false;
      context.target.forEachOutput(question.row, [&](int32_t tensor) {
        if (tensor >= 0)
          goesOn |= llvm::any_of(users[tensor], [&](uint32_t user) {
            const OperatorRow *row = user == outside ? nullptr : context.operatorRow[user];
            return row && holds(row->origins, question.group);
          });
      });
      if (goesOn)
        shared.push_back({question.row, question.group});
    }
    auto itself = [](uint32_t id, llvm::function_ref<void(uint32_t)> visit) { visit(id); };
    order.answer(shared, ends, itself);
    for (const SourceOrder::Question &question : shared)
      if (!question.answer)
        settled.insert({question.group, question.row});
    llvm::erase_if(open, [&](const SourceOrder::Question &question) {
      return settled.contains({question.row, question.group});
    });
  }

  static bool moves(const FileGraph &file, uint32_t op) {
    const OperatorInfo *info = file.opcode(op).like;
    return info && info->has(Trait::DataMovement);
  }

  /// Does one that uses the row's result do what read the result of the operator that is claimed?
  bool goesOnBehind(const SourceOrder::Question &question) const {
    constexpr size_t most = 64; ///< operators that a row claims
    bool reads = false;
    auto look = [&](uint32_t id) {
      if (context.knownOperator(id))
        context.source->forEachInput(id, [&](int32_t tensor) {
          reads |= tensor >= 0 && context.source->producer[tensor] == static_cast<int32_t>(question.group);
        });
    };
    context.target.forEachOutput(question.row, [&](int32_t tensor) {
      for (uint32_t user : tensor < 0 ? llvm::ArrayRef<uint32_t>() : llvm::ArrayRef(users[tensor]))
        if (const OperatorRow *row = user == outside ? nullptr : context.operatorRow[user])
          llvm::for_each(llvm::ArrayRef(row->origins).take_front(most), look);
    });
    return reads;
  }

  /// A movement that traded places with what it was behind of says so; and it claims what was moved together with it.
  void excuseMovedAhead() {
    const FileGraph &source = *context.source;
    auto isAhead = [&](const SourceOrder::Question &question) {
      if (!moves(context.target, question.row) || !moves(source, question.group))
        return false;
      if (!context.allKnew(12)) // runs of before did not say so
        return goesOnBehind(question);
      const OperatorRow &row = *context.operatorRow[question.row];
      bool found = false;
      source.forEachInput(question.group, [&](int32_t tensor) {
        int32_t before = tensor < 0 ? -1 : source.producer[tensor];
        found |= before >= 0 && (holds(row.movedPast, before) || settled.contains({question.row, before}));
      });
      return found;
    };
    bool any = true;
    for (size_t length = 0; any && length < mostMoves; ++length) {
      any = false;
      for (const SourceOrder::Question &question : open)
        if (!settled.contains({question.row, question.group}) && isAhead(question))
          any = true, settled.insert({question.row, question.group});
    }
    llvm::erase_if(open, [&](const SourceOrder::Question &question) {
      return settled.contains({question.row, question.group});
    });
  }

  /// Another operator that computes the same is on a path.
  void askForDuplicates(SourceOrder::Nodes ends) {
    if (classes.empty())
      classes = duplicateClasses(*context.source, order);
    std::vector<std::pair<uint32_t, uint32_t>> byClass;
    for (uint32_t id = 0; id < classes.size(); ++id)
      byClass.emplace_back(classes[id], id);
    llvm::sort(byClass);
    auto members = [&](uint32_t group, llvm::function_ref<void(uint32_t)> visit) {
      for (auto it = llvm::lower_bound(byClass, std::pair(group, 0u)); it != byClass.end() && it->first == group; ++it)
        visit(it->second);
    };
    std::vector<SourceOrder::Question> again;
    for (const SourceOrder::Question &question : open)
      again.push_back({classes[question.group], question.row});
    order.answer(again, members, ends);
    llvm::erase_if(again, [](const SourceOrder::Question &question) { return question.answer; });
    // Sorted by answer(): what remains unanswered is looked up in it.
    llvm::erase_if(open, [&](const SourceOrder::Question &question) {
      std::pair key(classes[question.group], question.row);
      auto it = llvm::lower_bound(
          again, key, [](const SourceOrder::Question &a, const auto &b) { return std::pair(a.group, a.row) < b; });
      return it == again.end() || std::pair(it->group, it->row) != key;
    });
    excuseSharedParts(ends);
    excuseMovedAhead();
    for (const SourceOrder::Question &question : open) {
      settled.insert({question.row, question.group});
      context.report.add(7, [&] {
        return context.writtenOperator(question.row) + " claims " + context.sourceOperator(question.group) +
               ", which lies on no path to what the operator computes";
      });
    }
  }
};

} // namespace

void origin::checkParents(CheckContext &context) { ParentCheck(context).run(); }
