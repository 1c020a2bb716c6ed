#include "origin/check/Context.h"
#include "origin/check/Movement.h"
#include "origin/check/SourceOrder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

/// Law 7, no invented parents: each origin lies on a path of the source graph to a tensor that the row's outputs equal,
/// or, where an output equals none, to one that what is computed from it equals. And not all of these paths lead
/// through tensors that the row's inputs equal: what comes before them has been done already. Each
/// lineage of a row is asked for itself. A movement that was behind another one, and is in front of it now, lies on the
/// path of who took the other one over.
using namespace origo;
using namespace origo::origin;

namespace {

class ParentCheck {
public:
  explicit ParentCheck(CheckContext &context)
      : context(context), order(*context.source), loops(context.source->subgraphs.size()), member(order.nodeCount()),
        visited(order.nodeCount()) {
    for (uint32_t op = 0; op < context.target.operators.size(); ++op)
      if (const OperatorRow *row = context.operatorRow[op])
        for (uint32_t lineage = 0; lineage < std::max<size_t>(row->lineages.size(), 1); ++lineage)
          parts.push_back({op, lineage, row->lineages.empty() ? row->origins : row->lineages[lineage].operators});
    for (uint32_t op = 0; op < context.source->operators.size(); ++op)
      if (context.source->operatorName(op) == "WHILE")
        for (uint32_t graph : context.source->callees(op))
          loops[graph].push_back(op);
  }

  void run() {
    size_t wide = llvm::count_if(context.operatorRow, [](auto *row) { return row && !row->wide.empty(); }),
           rows = context.target.operators.size();
    for (uint32_t part = 0; part < parts.size(); ++part)
      if (context.operatorRow[parts[part].op]->wide.empty() &&
          (allOutputsRelated(parts[part]) || (!parts[part].origins.empty() && findFurtherEnds(part))))
        askNearby(part), checkBehind(part);
    if (wide * 50 > rows)
      context.report.add(7, [&] {
        return std::to_string(wide) + " of " + std::to_string(rows) +
               " operators are marked wide; the law allows 2 in 100";
      });

    auto itself = [](uint32_t id, llvm::function_ref<void(uint32_t)> visit) { visit(id); };
    auto ends = [&](uint32_t part, llvm::function_ref<void(uint32_t)> visit) { forEachEnd(part, visit); };
    order.answer(open, itself, ends);
    llvm::erase_if(open, [](const SourceOrder::Question &question) { return question.answer; });
    if (!open.empty())
      judgeOpen();
    for (auto [part, id] : behind)
      if (!settled.contains({part, id}))
        context.report.add(
            7,
            [&, part = part, id = id] {
              return context.writtenOperator(parts[part].op) + " claims " + context.sourceOperator(id) +
                     ", which comes before all that the operator is given";
            },
            parts[part].op);
  }

private:
  /// An operator of the written file as one of the equals that it stands for.
  struct Part {
    uint32_t op, lineage;
    llvm::ArrayRef<uint32_t> origins;
  };
  CheckContext &context;
  std::vector<Part> parts;
  SourceOrder order;
  std::vector<std::vector<uint32_t>> loops; ///< by subgraph of the source: those whose body it is
  std::vector<uint32_t> member, visited;    ///< by node: 1 + the part whose search marked it
  static constexpr uint32_t outside = ~0u;  ///< who uses an output of a subgraph
  std::vector<std::vector<uint32_t>> users; ///< by tensor of the written file; filled in when it is first needed
  llvm::DenseMap<uint64_t, llvm::SmallVector<uint32_t, 2>> furtherEnds; ///< by part with an unrelated output
  std::vector<std::pair<uint32_t, uint32_t>> behind;                    ///< part, and a source operator that it claims
  llvm::DenseSet<std::pair<uint64_t, uint64_t>> settled; ///< likewise, what is reported already, or excused
  std::vector<SourceOrder::Question> open;               ///< group: source operator; row: part

  bool allOutputsRelated(const Part &part) const {
    bool any = false, all = true;
    context.target.forEachOutput(part.op, [&](int32_t tensor) {
      if (tensor >= 0)
        any = true, all = all && isRelated(tensor, part.lineage);
    });
    return any && all;
  }

  bool isRelated(uint32_t tensor, uint32_t lineage) const {
    const TensorRow *row = context.tensorRow[tensor];
    return row && llvm::any_of(row->relations, [&](const MapRelation &one) { return one.lineage == lineage; });
  }

  /// Calls `visit` with the source operators that produce what the outputs of the part are related to.
  void forEachEnd(uint32_t part, llvm::function_ref<void(uint32_t)> visit) const {
    if (auto further = furtherEnds.find(part); further != furtherEnds.end()) {
      llvm::for_each(further->second, visit);
      return;
    }
    context.target.forEachOutput(parts[part].op, [&](int32_t tensor) {
      if (tensor >= 0)
        forEachProducer(tensor, parts[part].lineage, visit);
    });
  }

  void forEachProducer(uint32_t tensor, uint32_t lineage, llvm::function_ref<void(uint32_t)> visit) const {
    for (const MapRelation &relation : context.tensorRow[tensor]->relations) {
      if (!context.knownTensor(relation.tensor) || relation.lineage != lineage)
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

  /// Follows what is computed from the part up to tensors that equal something. False: there are none, or not all of
  /// what comes of it is seen, for it leaves the subgraph or goes far.
  bool findFurtherEnds(uint32_t part) {
    constexpr size_t farthest = 256;
    if (users.empty())
      findUsers();
    using Place = std::pair<uint32_t, uint32_t>; // operator and lineage
    llvm::SmallVector<Place, 8> reached{{parts[part].op, parts[part].lineage}};
    llvm::SmallVector<uint32_t, 8> ends;
    bool unseen = false;
    auto follow = [&](uint32_t user, int32_t tensor, uint32_t lineage) {
      const OperatorRow *row = context.operatorRow[user];
      for (uint32_t own = 0; own < std::max<size_t>(row ? row->lineages.size() : 0, 1); ++own) {
        unsigned operand = 0;
        bool uses = false;
        context.target.forEachInput(user, [&](int32_t input) {
          uses |= input == tensor && context.lineageUsed(user, own, operand) == lineage;
          ++operand;
        });
        if (uses && !llvm::is_contained(reached, Place(user, own)))
          reached.emplace_back(user, own);
      }
    };
    for (size_t i = 0; i < reached.size() && !unseen; ++i) {
      auto [op, lineage] = reached[i];
      bool any = false;
      context.target.forEachOutput(op, [&, lineage = lineage](int32_t tensor) {
        if (tensor < 0)
          return;
        any = true;
        if (isRelated(tensor, lineage))
          return forEachProducer(tensor, lineage, [&](uint32_t producer) { ends.push_back(producer); });
        unseen |= users[tensor].empty() || llvm::is_contained(users[tensor], outside);
        for (uint32_t user : users[tensor])
          if (user != outside)
            follow(user, tensor, lineage);
      });
      unseen |= !any || reached.size() > farthest;
    }
    if (unseen || ends.empty())
      return false;
    furtherEnds[part].assign(ends.begin(), ends.end());
    return true;
  }

  /// Looks around the ends of the paths, through the row's own origins and a few operators between them. What that does
  /// not reach becomes a question for the whole graph.
  void askNearby(uint32_t part) {
    uint32_t mark = part + 1;
    llvm::ArrayRef<uint32_t> origins = parts[part].origins;
    for (uint32_t id : origins)
      if (context.knownOperator(id))
        member[id] = mark;
    uint64_t budget = 64 + 16 * uint64_t{origins.size()};
    llvm::SmallVector<uint32_t> pending;
    llvm::SmallVector<uint32_t, 4> ends;
    auto reach = [&](uint32_t node) {
      if (visited[node] == mark)
        return;
      visited[node] = mark;
      pending.push_back(node);
    };
    forEachEnd(part, [&](uint32_t node) {
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
    for (uint32_t id : origins)
      if (context.knownOperator(id) && visited[id] != mark &&
          llvm::none_of(ends, [&](uint32_t end) { return order.surelyReaches(id, end); }))
        open.push_back({id, part});
  }

  /// The source tensors that what the operator is given equals first, or what that is computed from where it equals
  /// none; `given` are those of its own operands. False: not all of it is seen.
  bool findStarts(const Part &part, llvm::SmallVectorImpl<uint32_t> &starts,
                  llvm::SmallVectorImpl<uint32_t> &given) const {
    constexpr size_t farthest = 64;
    using Place = std::pair<uint32_t, uint32_t>; // operator and lineage
    llvm::SmallVector<Place, 8> reached{{part.op, part.lineage}};
    bool seen = true;
    for (size_t i = 0; i < reached.size() && seen; ++i) {
      auto [op, own] = reached[i];
      unsigned operand = 0;
      context.target.forEachInput(op, [&, op = op, own = own](int32_t tensor) {
        uint32_t lineage = context.lineageUsed(op, own, operand++);
        const TensorRow *row = tensor < 0 ? nullptr : context.tensorRow[tensor];
        if (!row)
          return;
        // Of several source tensors that it equals, the first one: from there on it may have been done.
        std::optional<std::pair<int32_t, uint32_t>> first;
        for (const MapRelation &relation : row->relations)
          if (relation.steps.empty() && context.knownTensor(relation.tensor) && relation.lineage == lineage) {
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
        if (Place place(producer, lineage); producer >= 0 && !llvm::is_contained(reached, place))
          reached.push_back(place);
      });
    }
    return seen && !starts.empty();
  }

  /// What is claimed and lies behind all that the operator is given.
  void checkBehind(uint32_t part) {
    auto [op, lineage, origins] = parts[part];
    const FileGraph &source = *context.source;
    llvm::SmallDenseSet<uint64_t, 8> seen;
    llvm::SmallVector<uint32_t, 8> pending, starts, given, met, claimed;
    forEachEnd(part, [&](uint32_t node) {
      if (seen.insert(node).second)
        pending.push_back(node);
    });
    auto missed = [&](uint32_t id) { return context.knownOperator(id) && !seen.contains(id); };
    if (pending.empty() || llvm::none_of(origins, missed) || !findStarts(parts[part], starts, given))
      return;
    uint32_t graph = source.subgraphOfOperator(pending.front());
    llvm::sort(starts);
    for (uint64_t budget = 64 + 16 * uint64_t{origins.size()}; !pending.empty();) {
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
    // What moves data may have been put behind operators that do not mind, and one of them with what changes no number.
    llvm::copy_if(origins, std::back_inserter(claimed), [&, op = op](uint32_t id) {
      return missed(id) && source.subgraphOfOperator(id) == graph &&
             !(moves(context.target, op) && (moves(source, id) || source.reducesNothing(id)));
    });
    // Where several together move nothing, no tensor in between tells that they have not been done yet.
    constexpr size_t most = 64; // of a true map there are a few
    if (claimed.size() <= most)
      excuseDetours(source, llvm::to_vector(claimed), claimed);
    for (uint32_t id : claimed)
      behind.emplace_back(part, id);
  }

  static bool moves(const FileGraph &file, uint32_t op) {
    const OperatorInfo *info = file.opcode(op).like;
    return info && info->has(Trait::DataMovement);
  }

  /// A movement that traded places with what it was behind of says so; and it claims what was moved together with it.
  void excuseMovedAhead() {
    const FileGraph &source = *context.source;
    auto isAhead = [&](const SourceOrder::Question &question) {
      if (!moves(context.target, parts[question.row].op) || !moves(source, question.group))
        return false;
      const OperatorRow &row = *context.operatorRow[parts[question.row].op];
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

  /// What lies on no path is excused, or reported.
  void judgeOpen() {
    excuseMovedAhead();
    for (const SourceOrder::Question &question : open) {
      settled.insert({question.row, question.group});
      context.report.add(
          7,
          [&] {
            return context.writtenOperator(parts[question.row].op) + " claims " +
                   context.sourceOperator(question.group) + ", which lies on no path to what the operator computes";
          },
          parts[question.row].op);
    }
  }
};

} // namespace

void origin::checkParents(CheckContext &context) { ParentCheck(context).run(); }
