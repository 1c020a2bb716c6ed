#include "report/infer/Infer.h"

#include "origin/Fingerprint.h"
#include "origin/check/Check.h"
#include "report/infer/Execute.h"
#include "report/infer/Search.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>
#include <set>

namespace origo::report {

using namespace origin;

namespace {

/// Makes the map of what has been found.
class InferredMap {
public:
  InferredMap(const InferSearch &search, const Model &source, const Model &result, OriginMap &map,
              InferCoverage &coverage, std::vector<InferDoubt> &doubts, const EarlierMap *earlier, bool keepsFates,
              bool careful, const std::set<int64_t> &doubted)
      : search(search), source(source), result(result), map(map), coverage(coverage), doubts(doubts), earlier(earlier),
        keepsFates(keepsFates), careful(careful), doubted(doubted) {}

  void run() {
    operatorsAt.resize(source.subgraphs.size());
    for (auto &graph : source.subgraphs)
      for (const Operator &op : graph->operators)
        operatorsAt[graph->index].push_back(&op);
    carried.resize(map.source.operatorCount());
    int64_t operators = 0;
    for (auto &graph : result.subgraphs) {
      firstOperators.push_back(operators);
      operators += static_cast<int64_t>(graph->operators.size());
    }
    folded.resize(map.source.operatorCount());
    liveTensors.resize(map.source.tensorCount());
    sourceValues.resize(map.source.tensorCount());
    for (auto &graph : source.subgraphs)
      for (const Value *value : graph->values)
        sourceValues[idOf(*value)] = value;
    for (auto &graph : result.subgraphs)
      target(*graph);
    for (auto &graph : result.subgraphs)
      count(*graph);
    ledger();
  }

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

  static void add(llvm::SmallVectorImpl<const Value *> &list, const Value *value) {
    constexpr size_t most = 16;
    if (list.size() < most && !llvm::is_contained(list, value))
      list.push_back(value);
  }

  /// Where what is computed begins and ends in the source, for tensors that are none of its.
  void findEnds(const Subgraph &graph) {
    for (const Value *input : graph.inputs)
      if (const FoundTensor *known = claimed(*input))
        add(starts[input], known->source);
    llvm::SmallVector<const Operator *> order;
    for (const Operator &op : graph.operators) {
      order.push_back(&op);
      llvm::SmallVector<const Value *, 4> from;
      for (const Use &use : op.operands())
        if (use.get()) {
          if (const FoundTensor *known = claimed(*use.get()); known && use.get()->isConstant())
            add(starts[use.get()], known->source);
          for (const Value *start : llvm::SmallVector<const Value *, 4>(starts.lookup(use.get())))
            add(from, start);
        }
      for (const Value *value : op.results())
        if (value) {
          if (const FoundTensor *known = claimed(*value))
            starts[value] = {known->source};
          else
            starts[value] = from;
        }
    }
    for (const Operator *op : llvm::reverse(order)) {
      llvm::SmallVector<const Value *, 4> to;
      for (const Value *value : op->results())
        if (value) {
          if (const FoundTensor *known = claimed(*value))
            ends[value] = {known->source};
          for (const Value *end : ends.lookup(value))
            add(to, end);
        }
      for (const Use &use : op->operands())
        if (use.get())
          for (const Value *end : to)
            add(ends[use.get()], end);
    }
  }

  /// The operators of the source on a way from what is given to what is made. What depends on no input is none of them.
  std::vector<uint32_t> cone(llvm::ArrayRef<const Value *> from, llvm::ArrayRef<const Value *> to,
                             llvm::SmallVectorImpl<const Value *> &constants) const {
    const size_t most = 1024 + to.size();
    llvm::SmallPtrSet<const Value *, 16> stops(from.begin(), from.end());
    // Backward from the ends, as far as the beginnings.
    llvm::SmallVector<const Operator *> order;
    llvm::SmallPtrSet<const Operator *, 16> seen;
    auto reach = [&](const Value *value) {
      if (!value || stops.contains(value) || !value->producer() || !seen.insert(value->producer()).second)
        return;
      order.push_back(value->producer());
    };
    for (const Value *end : to)
      reach(end);
    for (size_t i = 0; i < order.size() && order.size() < most; ++i)
      for (const Use &use : order[i]->operands())
        reach(use.get());
    // Forward again: what the beginnings lead to. Operators have numbers in the order of execution.
    llvm::sort(order, [&](const Operator *a, const Operator *b) { return idOf(*a) < idOf(*b); });
    llvm::SmallPtrSet<const Operator *, 16> on;
    for (const Operator *op : order)
      if (llvm::any_of(op->operands(), [&](const Use &use) {
            const Value *value = use.get();
            return value && (stops.contains(value) || (value->producer() && on.contains(value->producer())));
          }))
        on.insert(op);
    std::vector<uint32_t> ids;
    for (const Operator *op : order) {
      if (!on.contains(op))
        continue;
      ids.push_back(idOf(*op));
      for (const Use &use : op->operands())
        if (use.get() && !search.dependsOnInputs(*use.get()))
          constants.push_back(use.get());
    }
    return ids;
  }

  /// What a movement makes or is made of is as good a beginning.
  void widen(llvm::SmallVectorImpl<const Value *> &from) const {
    for (const Value *value : llvm::SmallVector<const Value *, 8>(from.begin(), from.end())) {
      if (const Operator *maker = value->producer(); maker && onlyMoves(*maker) && maker->operand(0))
        add(from, maker->operand(0));
      size_t looked = 0;
      value->forEachUse([&](const Use &use) {
        if (++looked < 8 && onlyMoves(*use.user()) && use.user()->result())
          add(from, use.user()->result());
      });
    }
  }

  static llvm::StringRef bridgeOf(const Operator &op) {
    using enum BuiltinOperator;
    switch (op.code) {
    case TRANSPOSE:
    case RESHAPE:
      return "layout-bridge";
    case QUANTIZE:
    case DEQUANTIZE:
    case CAST:
      return "quantize-border";
    case BROADCAST_TO:
      return "broadcast";
    default:
      return "";
    }
  }

  std::vector<MapStep> stepsOf(const Value &value, const FoundTensor &known) const {
    std::vector<MapStep> steps;
    for (const Step &step : known.steps) {
      MapStep &made = steps.emplace_back();
      made.kind = step.kind == Step::Scaled ? MapStep::Scaled : static_cast<MapStep::Kind>(step.kind);
      made.axis = step.axis;
      made.first.assign(step.first.begin(), step.first.end());
      made.second.assign(step.second.begin(), step.second.end());
      made.factors.assign(step.factors.begin(), step.factors.end());
      if (step.scale.kind == Step::Term::Number)
        made.scale = {Term::Number, step.scale.number};
      if (step.shift.kind == Step::Term::Number)
        made.shift = {Term::Number, step.shift.number};
    }
    const Value &from = *known.source;
    if (steps.empty() && value.isStatic() && from.isStatic() &&
        llvm::ArrayRef<int32_t>(value.shape) != llvm::ArrayRef<int32_t>(from.shape))
      steps.emplace_back().kind = MapStep::Reshape;
    bool quantized = value.quantization && value.quantization->quantized();
    bool wasQuantized = from.quantization && from.quantization->quantized();
    if (quantized && !(wasQuantized && isStoredAlike(value, from)))
      steps.emplace_back().kind = MapStep::Quantize;
    else if ((quantized ? TensorType::FLOAT32 : value.type) != (wasQuantized ? TensorType::FLOAT32 : from.type))
      steps.emplace_back().kind = MapStep::Cast;
    return steps;
  }

  void target(const Subgraph &graph) {
    findEnds(graph);
    TargetSubgraph &rows = map.target.subgraphs[graph.index];
    const Subgraph *from = search.sourceOf(graph);
    rows.source = {from ? from->index : graph.index < source.subgraphs.size() ? graph.index : 0};
    for (const Value *value : graph.values) {
      TensorRow &row = rows.tensors[value->index];
      if (const FoundTensor *known = claimed(*value)) {
        uint32_t id = idOf(*known->source);
        row.relations.push_back({id, MapSteps(stepsOf(*value, *known)), known->exact});
        liveTensors[id].emplace_back(graph.index, value->index);
        if (row.constant)
          comeFrom(row, graph, *known->source);
        keepRelations(*value, *known, row);
      } else {
        row.reason = value->isVariable ? "state" : "new-intermediate";
        keepConstant(*value, row);
      }
    }
    for (const Operator &op : graph.operators)
      operatorRow(graph, op, rows);
    if (!careful)
      for (const Operator &op : graph.operators)
        takeMovement(graph, op, rows);
    if (!careful)
      leaveMovements(graph, rows);
  }

  /// Does it move all elements of its operand, and nothing else?
  bool movesAll(const Operator &op) const {
    const Value *from = op.operand(0), *to = op.result();
    const RealTensor *a = from ? search.numbersOfSource(*from) : nullptr,
                     *b = to ? search.numbersOfSource(*to) : nullptr;
    return a && b && onlyMoves(op) && !storesOtherwise(op) && op.results().size() == 1 && from->type == to->type &&
           search.dependsOnInputs(*from) && stepsBetween(*a, *b, {}).has_value();
  }

  /// What moves data at an end of what operators do, and is no other's work, has been left out: what is in front of it
  /// is what is behind it, in another order. From the ends of a cone inward.
  void leaveMovements(const Subgraph &graph, TargetSubgraph &rows) {
    std::vector<const Operator *> operators(rows.operators.size());
    for (const Operator &op : graph.operators)
      operators[op.index] = &op;
    std::set<uint32_t> left, pending;
    for (const OperatorRow &row : rows.operators)
      for (uint32_t id : row.origins)
        if (const Operator *like = sourceOperator(id); row.origins.size() > 1 && like && movesAll(*like))
          pending.insert(id);
    for (size_t before = 0; before != left.size() || before == 0;) {
      before = left.size();
      for (uint32_t id : pending)
        if (!left.contains(id) && llvm::all_of(carried[id], [&](const Place &place) {
              return place.first == graph.index &&
                     isAtEnd(*operators[place.second], rows.operators[place.second], *sourceOperator(id), left);
            }))
          left.insert(id);
      if (before == left.size())
        break;
    }
    // What has no inverse there has not been undone, but worked into what it is next to.
    std::vector<uint32_t> undone;
    llvm::copy_if(left, std::back_inserter(undone), [&](uint32_t id) {
      auto isInverse = [&](uint32_t other) {
        return other != id && undoes(*sourceOperator(id), *sourceOperator(other));
      };
      return changesNothing(*sourceOperator(id)) || llvm::any_of(left, isInverse) ||
             llvm::any_of(carried[id], [&](const Place &place) {
               return llvm::any_of(rows.operators[place.second].origins,
                                   [&](uint32_t other) { return pending.contains(other) && isInverse(other); });
             });
    });
    for (uint32_t id : undone)
      leave(*sourceOperator(id), operators, rows);
  }

  bool changesNothing(const Operator &movement) const {
    const RealTensor &from = *search.numbersOfSource(*movement.operand(0)),
                     &to = *search.numbersOfSource(*movement.result());
    return from.shape == to.shape && from.numbers == to.numbers;
  }

  /// Does one movement put back what the other one has moved? Of those that keep the order of elements, any does.
  bool undoes(const Operator &a, const Operator &b) const {
    if (a.code != BuiltinOperator::TRANSPOSE || b.code != BuiltinOperator::TRANSPOSE)
      return a.code != BuiltinOperator::TRANSPOSE && b.code != BuiltinOperator::TRANSPOSE;
    const RealTensor *p = a.operand(1) ? search.numbersOfSource(*a.operand(1)) : nullptr,
                     *q = b.operand(1) ? search.numbersOfSource(*b.operand(1)) : nullptr;
    return p && q && p->numbers.size() == q->numbers.size() && llvm::all_of(llvm::enumerate(p->numbers), [&](auto at) {
             auto place = static_cast<size_t>(at.value());
             return place < q->numbers.size() && static_cast<size_t>(q->numbers[place]) == at.index();
           });
  }

  /// Is a movement the first or the last of what an operator does, but for those that it leaves?
  bool isAtEnd(const Operator &op, const OperatorRow &row, const Operator &movement,
               const std::set<uint32_t> &left) const {
    auto works = [&](uint32_t id) {
      const Operator *like = sourceOperator(id);
      return like && !onlyMoves(*like);
    };
    if (onlyMoves(op) || keptRow(op) || !llvm::any_of(row.origins, works))
      return false;
    auto isLeft = [&](const Operator *other) { return other && left.contains(idOf(*other)); };
    auto isGiven = [&](const Value *value) {
      return llvm::any_of(op.operands(), [&](const Use &use) {
        return use.get() && llvm::is_contained(starts.lookup(use.get()), value);
      });
    };
    auto isMade = [&](const Value *value) {
      return llvm::any_of(op.results(), [&](const Value *made) {
        const FoundTensor *known = made ? claimed(*made) : nullptr;
        return known && known->source == value;
      });
    };
    const Value *from = movement.operand(0), *to = movement.result();
    for (unsigned step = 0; step < 8 && isLeft(from->producer()) && !isGiven(from); ++step)
      from = from->producer()->operand(0);
    if (isGiven(from))
      return true;
    for (unsigned step = 0; step < 8 && !isMade(to); ++step) {
      const Operator *next = nullptr;
      to->forEachUse([&](const Use &use) { next = !next && isLeft(use.user()) ? use.user() : next; });
      if (!next)
        return false;
      to = next->result();
    }
    return isMade(to);
  }

  void leave(const Operator &movement, llvm::ArrayRef<const Operator *> operators, TargetSubgraph &rows) {
    uint32_t id = idOf(movement);
    for (const Place &place : carried[id])
      llvm::erase(rows.operators[place.second].origins, id);
    for (const Place &place : std::exchange(carried[id], {}))
      for (const Value *made : operators[place.second]->results()) {
        const FoundTensor *known = made ? claimed(*made) : nullptr;
        if (!known || known->source != movement.result() || !known->executed)
          continue;
        const RealTensor *from = search.numbersOfSource(*movement.operand(0)),
                         *to = search.numbersOfSource(*known->source);
        llvm::ArrayRef<int32_t> shape = known->steps.empty()
                                            ? llvm::ArrayRef<int32_t>(to->shape)
                                            : llvm::ArrayRef<int32_t>(made->shape.begin(), made->shape.end());
        auto there = applied(*to, known->steps, shape);
        auto steps = there ? stepsBetween(*from, *there, {}) : std::nullopt;
        if (!steps)
          continue;
        FoundTensor front;
        front.source = movement.operand(0);
        front.steps = std::move(*steps);
        uint32_t tensor = idOf(*front.source);
        rows.tensors[made->index].relations.push_back({tensor, MapSteps(stepsOf(*made, front)), false});
        liveTensors[tensor].emplace_back(place.first, made->index);
      }
  }

  /// What moves data behind an operator may be what the source moves in front of it, which that one then does not do.
  void takeMovement(const Subgraph &graph, const Operator &op, TargetSubgraph &rows) {
    OperatorRow &row = rows.operators[op.index];
    if (row.syntheticReason != "layout-bridge" || keptRow(op))
      return;
    using enum BuiltinOperator;
    auto isLike = [&](const Operator &other) {
      return op.code == TRANSPOSE ? other.code == TRANSPOSE
                                  : llvm::is_contained({RESHAPE, SQUEEZE, EXPAND_DIMS}, other.code);
    };
    constexpr unsigned farthest = 4;
    const Value *at = op.operand(0);
    for (unsigned step = 0; step < farthest && at && at->producer(); ++step) {
      const Operator &maker = *at->producer();
      OperatorRow &other = rows.operators[maker.index];
      if (!onlyMoves(maker) && other.origins.size() > 1 && !keptRow(maker))
        for (uint32_t id : llvm::reverse(other.origins)) {
          const Operator *like = sourceOperator(id);
          if (!like || !isLike(*like))
            continue;
          row.origins = {id};
          row.syntheticReason = "";
          row.serves.clear();
          llvm::erase(other.origins, id);
          llvm::erase(carried[id], Place(graph.index, maker.index));
          carried[id].emplace_back(graph.index, op.index);
          return;
        }
      at = maker.operand(0);
    }
  }

  const Operator *sourceOperator(uint32_t id) const {
    for (const SourceSubgraph &graph : map.source.subgraphs)
      if (id >= graph.firstOperator && id - graph.firstOperator < graph.operators.size())
        return operatorsAt[static_cast<size_t>(&graph - map.source.subgraphs.data())][id - graph.firstOperator];
    return nullptr;
  }

  /// A constant comes from one of the source, or from what the source computes of constants alone.
  void comeFrom(TensorRow &row, const Subgraph &graph, const Value &from) {
    if (from.isConstant()) {
      row.tensors = {idOf(from)};
      return;
    }
    llvm::SmallVector<const Value *, 8> pending{&from};
    std::set<uint32_t> tensors, operators;
    while (!pending.empty() && operators.size() < 1024) {
      const Value *value = pending.pop_back_val();
      if (value->isConstant())
        tensors.insert(idOf(*value));
      else if (value->producer() && operators.insert(idOf(*value->producer())).second)
        for (const Use &use : value->producer()->operands())
          if (use.get())
            pending.push_back(use.get());
    }
    row.tensors.assign(tensors.begin(), tensors.end());
    row.operators.assign(operators.begin(), operators.end());
    for (uint32_t id : operators)
      folded[id].emplace_back(graph.index, row.index);
    for (uint32_t id : tensors)
      liveTensors[id].emplace_back(graph.index, row.index);
  }

  /// What a tensor was said to be as well, and the source computes the same numbers for.
  void keepRelations(const Value &value, const FoundTensor &known, TensorRow &row) {
    const TensorRow *was = earlier ? earlier->rowOf(value) : nullptr;
    if (!was || !known.executed || !known.steps.empty())
      return;
    const RealTensor *numbers = search.numbersOfSource(*known.source);
    for (const MapRelation &one : was->relations) {
      const Value *other = one.tensor < sourceValues.size() ? sourceValues[one.tensor] : nullptr;
      if (!other || other == known.source || !one.steps.empty() || !isStoredAlike(*other, *known.source))
        continue;
      const RealTensor *same = search.numbersOfSource(*other);
      if (!numbers || !same || same->shape != numbers->shape || same->numbers != numbers->numbers)
        continue;
      row.relations.push_back({one.tensor, row.relations.front().steps, false});
      liveTensors[one.tensor].emplace_back(value.subgraph()->index, value.index);
    }
  }

  /// A constant that nothing leads to still comes from where it came from, if its bytes are those that it had.
  void keepConstant(const Value &value, TensorRow &row) {
    const TensorRow *was = earlier && earlier->hasSameBytes() && value.isConstant() ? earlier->rowOf(value) : nullptr;
    auto exists = [&](uint32_t id) { return id < liveTensors.size(); };
    if (!was || was->tensors.empty() || !llvm::all_of(was->tensors, exists))
      return;
    row.tensors = was->tensors;
    row.operators = was->operators;
    llvm::erase_if(row.operators, [&](uint32_t id) { return id >= folded.size(); });
    for (uint32_t id : row.operators)
      folded[id].emplace_back(value.subgraph()->index, value.index);
    row.reason = "approximated";
    for (uint32_t id : row.tensors)
      liveTensors[id].emplace_back(value.subgraph()->index, value.index);
  }

  /// Is it what it was said to be, or none of the source, as was said?
  bool isAsSaid(const Value &value) const {
    const TensorRow *was = earlier->rowOf(value);
    const FoundTensor *known = claimed(value);
    return was && (known ? earlier->relates(value, *known->source) : was->relations.empty());
  }

  /// The row that an operator had, if all that it is given and makes is what it was: constants have a say in what it
  /// makes.
  const OperatorRow *keptRow(const Operator &op) const {
    const OperatorRow *was = earlier ? earlier->rowOf(op) : nullptr;
    auto exists = [&](uint32_t id) { return id < carried.size(); };
    auto holds = [&](const Value *value) { return !value || isAsSaid(*value); };
    bool all = was && llvm::all_of(was->origins, exists) && (!was->origins.empty() || !was->syntheticReason.empty()) &&
               llvm::all_of(op.results(), holds) && llvm::all_of(op.operands(), [&](const Use &use) {
                 return !use.get() || use.get()->isConstant() || holds(use.get());
               });
    return all ? was : nullptr;
  }

  void operatorRow(const Subgraph &graph, const Operator &op, TargetSubgraph &rows) {
    OperatorRow &row = rows.operators[op.index];
    llvm::SmallVector<const Value *, 8> from, to, constants;
    for (const Use &use : op.operands())
      if (use.get() && (!use.get()->isConstant() || op.numOperands() == 1))
        for (const Value *start : starts.lookup(use.get()))
          add(from, start);
    llvm::SmallPtrSet<const Value *, 8> reached; // there may be very many results
    for (const Value *value : op.results())
      if (value)
        for (const Value *end : ends.lookup(value))
          if (reached.insert(end).second)
            to.push_back(end);
    bool handsOn = llvm::any_of(to, [&](const Value *end) { return llvm::is_contained(from, end); });
    if (!to.empty() && !(handsOn && !bridgeOf(op).empty())) {
      row.origins = cone(from, to, constants);
      if (row.origins.empty()) {
        widen(from);
        row.origins = cone(from, to, constants);
      }
      // At the least, who makes what it makes.
      if (row.origins.empty() && !handsOn) {
        std::set<uint32_t> makers;
        for (const Value *end : to)
          if (end->producer())
            makers.insert(idOf(*end->producer()));
        row.origins.assign(makers.begin(), makers.end());
      }
    }
    if (isDoubted(op))
      row.origins.clear();
    if (const Operator *like = search.matchOf(op); like && row.origins.empty())
      row.origins = {idOf(*like)};
    // What has been moved in front of it is not its work.
    llvm::SmallVector<uint32_t, 2> done;
    for (const Use &use : op.operands())
      if (use.get())
        llvm::append_range(done, moved.lookup(use.get()));
    if (!careful && row.origins.empty() && handsOn && bridgeOf(op) == "layout-bridge")
      if (const Operator *like = movementOf(op, from, done)) {
        row.origins = {idOf(*like)};
        done.push_back(idOf(*like));
        for (const Value *value : op.results())
          if (value)
            moved[value] = done;
      }
    if (row.origins.size() > 1 && !done.empty()) {
      std::vector<uint32_t> rest;
      llvm::copy_if(row.origins, std::back_inserter(rest), [&](uint32_t id) { return !llvm::is_contained(done, id); });
      if (!rest.empty())
        row.origins = rest;
    }
    if (const OperatorRow *was = keptRow(op)) {
      row.origins = was->origins;
      row.passes = was->passes;
      row.syntheticReason = was->syntheticReason;
      row.serves = was->serves;
      row.wide = was->wide;
      row.calls = was->calls;
      ++coverage.kept;
      if (row.origins.empty())
        return;
    }
    if (row.origins.empty()) {
      row.syntheticReason = std::string(handsOn && !bridgeOf(op).empty() ? bridgeOf(op) : "unknown");
      row.serves = {servedBy(from, to, op)};
      return;
    }
    for (uint32_t id : row.origins)
      carried[id].emplace_back(graph.index, op.index);
    // What was worked into its constants is what the cone reads besides.
    for (const Use &use : op.operands()) {
      const Value *value = use.get();
      if (!value || !value->isConstant())
        continue;
      TensorRow &constant = rows.tensors[value->index];
      if (!constant.tensors.empty() || !constant.operators.empty())
        continue;
      if (!isReal(*value)) {
        constant.reason = "synthetic";
        constant.syntheticReason = "invented-constant";
        continue;
      }
      std::set<uint32_t> tensors;
      for (const Value *one : constants)
        if (one->isConstant() && isReal(*one))
          tensors.insert(idOf(*one));
      if (tensors.empty()) {
        constant.reason = "synthetic";
        constant.syntheticReason = "invented-constant";
        continue;
      }
      constant.syntheticReason = "";
      constant.tensors.assign(tensors.begin(), tensors.end());
      constant.reason = "approximated";
      foldedFrom(*value, constants, constant);
      if (!constant.relations.empty())
        liveTensors[constant.relations.front().tensor].emplace_back(graph.index, value->index);
      for (uint32_t id : tensors)
        liveTensors[id].emplace_back(graph.index, value->index);
    }
  }

  /// A movement of the same kind that the source has between this and what is computed next.
  const Operator *movementOf(const Operator &op, llvm::ArrayRef<const Value *> from,
                             llvm::ArrayRef<uint32_t> done) const {
    llvm::SmallVector<const Value *, 8> next, unused;
    for (const Value *value : op.results())
      if (value)
        value->forEachUse([&](const Use &use) {
          for (const Value *result : use.user()->results())
            if (result && next.size() < 8)
              for (const Value *end : ends.lookup(result))
                add(next, end);
        });
    llvm::erase_if(next, [&](const Value *value) { return llvm::is_contained(from, value); });
    if (next.empty())
      return nullptr;
    for (uint32_t id : cone(from, next, unused)) {
      const Operator *like = sourceOperator(id);
      if (!like || !onlyMoves(*like))
        return nullptr;
      if (isSameKind(op, *like) && !llvm::is_contained(done, id))
        return like;
    }
    return nullptr;
  }

  /// A list of numbers that is one of the source times another, plus a third: what folding leaves of biases.
  void foldedFrom(const Value &value, llvm::ArrayRef<const Value *> constants, TensorRow &row) {
    auto mine = RealTensor::ofConstant(value);
    constexpr size_t most = 12, longest = 4096;
    if (!mine || mine->flat || mine->numbers.size() < 2 || mine->numbers.size() > longest)
      return;
    size_t count = mine->numbers.size();
    Slack slack = roundingOf(value);
    std::vector<std::pair<const Value *, const RealTensor *>> terms;
    for (const Value *one : constants)
      if (const RealTensor *numbers = one->isConstant() ? search.numbersOfSource(*one) : nullptr;
          numbers && (numbers->numbers.size() == count || numbers->numbers.size() == 1) && terms.size() < most &&
          llvm::none_of(terms, [&](auto &term) { return term.first == one; }))
        terms.emplace_back(one, numbers);
    auto axisOf = [&](size_t size) {
      int32_t axis = -1;
      for (unsigned i = 0; i < value.shape.size() && size > 1; ++i)
        axis = value.shape[i] == static_cast<int32_t>(size) ? static_cast<int32_t>(i) : axis;
      return axis;
    };
    auto at = [&](const RealTensor *numbers, size_t i, double otherwise) {
      return !numbers ? otherwise : static_cast<double>(numbers->numbers[numbers->numbers.size() == 1 ? 0 : i]);
    };
    for (auto &[base, numbers] : terms) {
      if (numbers->numbers.size() != count ||
          llvm::ArrayRef<int32_t>(base->shape) != llvm::ArrayRef<int32_t>(value.shape))
        continue;
      for (size_t s = 0; s <= terms.size(); ++s)
        for (size_t t = 0; t <= terms.size(); ++t) {
          const RealTensor *scale = s ? terms[s - 1].second : nullptr, *shift = t ? terms[t - 1].second : nullptr;
          if (s && terms[s - 1].first == base)
            continue;
          bool holds = true;
          for (size_t i = 0; holds && i < count; ++i) {
            double product = at(numbers, i, 0) * at(scale, i, 1), want = product + at(shift, i, 0);
            double off = std::fabs(want - static_cast<double>(mine->numbers[i]));
            holds = off <= slack.at(i, want) + 4e-7 * (std::fabs(product) + std::fabs(want));
          }
          if (!holds || (!s && !t))
            continue;
          std::vector<MapStep> steps;
          auto step = [&](size_t of, bool scales) {
            if (!of)
              return;
            MapStep &made = steps.emplace_back();
            made.kind = MapStep::Affine;
            made.axis = axisOf(terms[of - 1].second->numbers.size());
            (scales ? made.scale : made.shift) = {Term::Source, 0, idOf(*terms[of - 1].first)};
          };
          step(s, true);
          step(t, false);
          if (isReal(value) && value.type != base->type)
            steps.emplace_back().kind =
                value.quantization && value.quantization->quantized() ? MapStep::Quantize : MapStep::Cast;
          row.relations.push_back({idOf(*base), MapSteps(std::move(steps)), false});
          row.reason = "";
          return;
        }
    }
  }

  /// A source operator near it.
  uint32_t servedBy(llvm::ArrayRef<const Value *> from, llvm::ArrayRef<const Value *> to, const Operator &op) const {
    for (const Value *value : from)
      if (value->producer())
        return idOf(*value->producer());
    for (const Value *value : from) {
      const Operator *user = nullptr;
      value->forEachUse([&](const Use &use) {
        if (!user || idOf(*use.user()) < idOf(*user))
          user = use.user();
      });
      if (user)
        return idOf(*user);
    }
    for (const Value *value : to)
      if (value->producer())
        return idOf(*value->producer());
    return std::min(op.index, std::max(map.source.operatorCount(), 1u) - 1);
  }

  void count(const Subgraph &graph) {
    TargetSubgraph &rows = map.target.subgraphs[graph.index];
    for (TensorRow &row : rows.tensors)
      if (row.constant && row.tensors.empty() && row.operators.empty() && row.syntheticReason.empty()) {
        row.reason = "synthetic";
        row.syntheticReason = "unknown";
      }
    for (const Value *value : graph.values) {
      const FoundTensor *known = claimed(*value);
      if (value->isConstant()) {
        const TensorRow &row = rows.tensors[value->index];
        ++coverage.constants.all;
        coverage.constants.related += known || !row.tensors.empty() || row.syntheticReason == "invented-constant";
        coverage.constants.proved += known && known->executed;
        // What few bits are to stand for is told by the source's number beside, or by nothing.
        bool few = isReal(*value) && bitsPerElement(value->type).value_or(32) < 16;
        coverage.constants.unknown += row.syntheticReason == "unknown" || (!known && few && row.relations.empty());
        continue;
      }
      if (!value->producer())
        continue;
      ++coverage.tensors.all;
      coverage.tensors.related += known != nullptr;
      coverage.tensors.proved += known && known->executed;
      coverage.tensors.ambiguous += known && search.isAmbiguous(*known);
      // What lies between related tensors is told by these.
      coverage.tensors.unknown += !known && (ends.lookup(value).empty() || starts.lookup(value).empty());
      bool flat = known && search.isFlat(*known->source);
      coverage.flat += flat;
      coverage.live += !flat;
      coverage.related += known && !flat;
    }
    for (const Operator &op : graph.operators) {
      const OperatorRow &row = rows.operators[op.index];
      bool unknown = row.syntheticReason == "unknown";
      ++coverage.operators.all;
      coverage.operators.related += !unknown;
      coverage.operators.unknown += unknown;
      bool proved = !unknown, ambiguous = false;
      for (const Value *value : op.results())
        if (value) {
          const FoundTensor *known = claimed(*value);
          proved = proved && known && known->executed;
          ambiguous = ambiguous || (known && search.isAmbiguous(*known));
        }
      coverage.operators.proved += proved;
      if (unknown || !proved || ambiguous)
        doubts.push_back({static_cast<uint32_t>(graph.index), static_cast<uint32_t>(op.index),
                          unknown     ? InferDoubt::Unknown
                          : ambiguous ? InferDoubt::Ambiguous
                                      : InferDoubt::Unproved});
    }
  }

  struct Way {
    std::string fate = "unknown";
    std::vector<Place> operators = {}, tensors = {};
  };

  void ledger() {
    // What no output of the source needs, and no effect.
    llvm::DenseSet<const Operator *> needed;
    llvm::SmallVector<const Operator *> pending;
    auto need = [&](const Operator *op) {
      if (op && needed.insert(op).second)
        pending.push_back(op);
    };
    for (auto &graph : source.subgraphs) {
      for (const Value *output : graph->outputs)
        need(output->producer());
      for (const Operator &op : graph->operators)
        if (op.effects())
          need(&op);
    }
    while (!pending.empty())
      for (const Use &use : pending.pop_back_val()->operands())
        if (use.get())
          need(use.get()->producer());

    std::vector<Way> ways(map.source.operatorCount());
    auto insert = [&](bool isTensor, uint32_t id, const Way &way) {
      MapLedgerRow row;
      row.isTensor = isTensor;
      row.id = id;
      row.fate = way.fate;
      row.operators = way.operators;
      row.tensors = way.tensors;
      map.ledger.push_back(std::move(row));
    };
    for (auto &graph : source.subgraphs)
      for (const Operator &op : graph->operators) {
        uint32_t id = idOf(op);
        if (!carried[id].empty())
          continue;
        ways[id] = wayOf(op, needed.contains(&op));
        keepWay(false, id, ways[id]);
        insert(false, id, ways[id]);
      }
    for (auto &graph : source.subgraphs) {
      std::vector<const Value *> byIndex(map.source.subgraphs[graph->index].tensors.size());
      for (const Value *value : graph->values)
        if (value->index < byIndex.size())
          byIndex[value->index] = value;
      for (auto [i, value] : llvm::enumerate(byIndex)) {
        uint32_t id = map.source.subgraphs[graph->index].firstTensor + static_cast<uint32_t>(i);
        if (!liveTensors[id].empty())
          continue;
        Way way = value ? wayOf(*value, ways) : Way();
        keepWay(true, id, way);
        insert(true, id, way);
      }
    }
  }

  /// What became of something was seen when it was rewritten, and is so still where all that it went into is there.
  void keepWay(bool isTensor, uint32_t id, Way &way) const {
    const MapLedgerRow *was = keepsFates ? earlier->fateOf(isTensor, id) : nullptr;
    constexpr llvm::StringLiteral elsewhere[] = {"cancelled", "inlined", "user-removed", "elsewhere", "unknown"};
    if (!was || llvm::is_contained(elsewhere, llvm::StringRef(was->fate)))
      return;
    Way before{was->fate.str()};
    for (const Place &place : was->operators)
      if (auto now = earlier->operatorNow(place))
        before.operators.push_back(*now);
    for (const Place &place : was->tensors)
      if (auto now = earlier->tensorNow(place))
        before.tensors.push_back(*now);
    if (before.operators.size() == was->operators.size() && before.tensors.size() == was->tensors.size())
      way = std::move(before);
  }

  Way wayOf(const Operator &op, bool needed) const {
    if (!needed)
      return {"dead"};
    Way way;
    const Value *to = op.result(), *from = op.operand(0);
    for (const Use &use : op.operands())
      if (use.get() && search.dependsOnInputs(*use.get()) && !(from && search.dependsOnInputs(*from)))
        from = use.get();
    if (!to)
      return way;
    if (!search.dependsOnInputs(*to)) {
      // Folded, if a constant says so; else into what comes of it.
      way.tensors = folded[idOf(op)];
      way.tensors.resize(std::min<size_t>(way.tensors.size(), 4));
      if (!op.customCode().empty()) // who knows what it does besides
        way.tensors.clear();
      if (!way.tensors.empty())
        way.fate = "folded-to-constant";
      return way;
    }
    const RealTensor *a = from ? search.numbersOfSource(*from) : nullptr, *b = search.numbersOfSource(*to);
    if (a && b && a->numbers.size() == b->numbers.size() && onlyMoves(op)) {
      way.tensors = liveTensors[idOf(*to)].empty() ? liveTensors[idOf(*from)] : liveTensors[idOf(*to)];
      if (!way.tensors.empty())
        way.fate = storesOtherwise(op)                                ? "quantization-cancelled"
                   : a->shape == b->shape && a->numbers == b->numbers ? "identity"
                                                                      : "layout-cancelled";
      way.tensors.resize(std::min<size_t>(way.tensors.size(), 4));
      return way;
    }
    if (a && b && a->shape == b->shape && a->numbers == b->numbers && !liveTensors[idOf(*from)].empty()) {
      way.fate = "identity";
      way.tensors = liveTensors[idOf(*from)];
      way.tensors.resize(std::min<size_t>(way.tensors.size(), 4));
      return way;
    }
    // The same of the same is computed elsewhere.
    const Operator *same = nullptr;
    size_t looked = 0;
    if (from)
      from->forEachUse([&](const Use &use) {
        const Operator *other = use.user();
        if (same || ++looked > 64 || other == &op || !isSameKind(op, *other) || !other->result() ||
            carried[idOf(*other)].empty())
          return;
        const RealTensor *c = search.numbersOfSource(*other->result());
        if (b && c && b->shape == c->shape && b->numbers == c->numbers)
          same = other;
      });
    if (same) {
      way.fate = "duplicate-of";
      way.operators = carried[idOf(*same)];
      way.operators.resize(std::min<size_t>(way.operators.size(), 4));
    }
    return way;
  }

  /// Where one of the two that it was between only moves data, they may have traded places, and both are there.
  std::vector<Place> tradedPlaces(const Operator &maker, llvm::ArrayRef<const Operator *> users) const {
    constexpr size_t most = 3;
    std::vector<Place> places;
    if (!onlyMoves(maker) && llvm::none_of(users, [](const Operator *user) { return onlyMoves(*user); }))
      return places;
    for (const Operator *user : users)
      for (const Place &place : carried[idOf(*user)])
        if (places.size() < most)
          places.push_back(place);
    if (places.empty() || carried[idOf(maker)].empty())
      return {};
    places.push_back(carried[idOf(maker)].front());
    return places;
  }

  /// A constant that only states shapes, which are known without it, and that nothing comes from any more: whoever
  /// had it does without it.
  bool isNotNeeded(const Value &value, llvm::ArrayRef<const Operator *> users) const {
    auto isStatic = [](const Value *each) { return !each || each->isStatic(); };
    return value.isConstant() && !value.isGraphOutput() && !value.otherUses &&
           llvm::all_of(users, [&](const Operator *user) {
             const OperatorInfo *info = user->info();
             bool statesShape = info != nullptr;
             for (unsigned i = 0; statesShape && i < user->numOperands(); ++i)
               statesShape =
                   isStatic(user->operand(i)) &&
                   (user->operand(i) != &value || (i < info->operands.size() && info->operands[i].statesShape));
             return statesShape && llvm::all_of(user->results(), isStatic);
           });
  }

  void noteUnneeded(const Value &value, llvm::ArrayRef<const Operator *> users) const {
    llvm::SmallPtrSet<const Operator *, 8> seen;
    for (const Operator *user : users)
      for (unsigned i = 0, end = seen.insert(user).second ? user->numOperands() : 0; i < end; ++i)
        if (user->operand(i) == &value)
          map.unneeded.push_back({true, idOf(value), idOf(*user), i, "shape-only"});
  }

  Way wayOf(const Value &value, const std::vector<Way> &ways) const {
    bool used = value.isGraphOutput() || value.isGraphInput || value.otherUses;
    llvm::SmallVector<const Operator *, 4> users;
    value.forEachUse([&](const Use &use) {
      used = true;
      if (users.size() < 16)
        users.push_back(use.user());
    });
    const Operator *maker = value.producer();
    if (!used)
      return {maker && ways[idOf(*maker)].fate == "dead" ? "dead" : "unused-in-source"};
    Way way;
    if (maker && carried[idOf(*maker)].empty() && ways[idOf(*maker)].fate != "unknown")
      return ways[idOf(*maker)];
    if (users.size() < 16 && isNotNeeded(value, users) &&
        llvm::any_of(users, [&](const Operator *user) { return !carried[idOf(*user)].empty(); })) {
      noteUnneeded(value, users);
      return {"dead"};
    }
    if (maker) {
      // Between operators that are one now.
      for (const Place &place : carried[idOf(*maker)])
        if (llvm::any_of(users, [&](const Operator *user) { return llvm::is_contained(carried[idOf(*user)], place); }))
          way.operators.push_back(place);
      if (way.operators.empty())
        way.operators = tradedPlaces(*maker, users);
      if (!way.operators.empty())
        way.fate = "fused-away";
      else if (carried[idOf(*maker)].size() > 1) {
        way.fate = "decomposed";
        way.operators = carried[idOf(*maker)];
      }
    } else {
      // A constant, or what is given: it went where its users went.
      for (const Operator *user : users)
        llvm::append_range(way.operators, carried[idOf(*user)]);
      if (!way.operators.empty())
        way.fate = "fused-away";
      else
        for (const Operator *user : users)
          if (ways[idOf(*user)].fate != "unknown")
            return ways[idOf(*user)];
    }
    llvm::sort(way.operators);
    way.operators.erase(std::unique(way.operators.begin(), way.operators.end()), way.operators.end());
    way.operators.resize(std::min<size_t>(way.operators.size(), 4));
    return way;
  }
};

/// Rows of the written file, of which nothing is known yet.
void listTarget(const ModelView &view, OriginMap &map) {
  FileRows file(view);
  for (size_t g = 0; g < file.subgraphs(); ++g) {
    TargetSubgraph &graph = map.target.subgraphs.emplace_back();
    graph.name = file.name(g).str();
    for (uint32_t i = 0; i < file.operatorCount(g); ++i) {
      OperatorRow &row = graph.operators.emplace_back();
      row.op = file.op(g, i);
      row.customCode = file.customCode(g, i);
      for (int32_t output : file.outputs(g, i))
        row.outputs.push_back(output < 0 ? std::string() : file.tensorName(g, static_cast<uint32_t>(output)).str());
    }
    for (uint32_t i = 0; i < file.tensorCount(g); ++i) {
      TensorRow &row = graph.tensors.emplace_back();
      row.index = i;
      row.name = file.tensorName(g, i).str();
      row.constant = file.kind(g, i) == TensorKind::Constant;
      row.reason = "new-intermediate";
    }
  }
}

/// The graph in memory and the file are read one after the other, and of ONNX the graph has other operators.
bool isListed(const Imported &model, const ModelView &file) {
  const Listing &listing = *model.lineage.source;
  auto &graphs = model.model->subgraphs;
  return fingerprint(file) == listing.fingerprint && content(file) == listing.content &&
         graphs.size() == listing.subgraphs.size() && llvm::all_of(llvm::zip(graphs, listing.subgraphs), [](auto pair) {
           const auto &[graph, rows] = pair;
           return graph->operators.size() == rows.operators.size() && graph->values.size() == rows.tensors.size();
         });
}

void becomeIdentity(OriginMap &map, InferCoverage &coverage) {
  for (auto [g, graph] : llvm::enumerate(map.target.subgraphs)) {
    graph.source = {static_cast<uint32_t>(g)};
    for (auto [i, row] : llvm::enumerate(graph.operators))
      row.origins = {map.source.subgraphs[g].firstOperator + static_cast<uint32_t>(i)};
    for (TensorRow &row : graph.tensors) {
      uint32_t id = map.source.subgraphs[g].firstTensor + row.index;
      row.relations.push_back({id, {}, true});
      row.reason = "";
      if (row.constant)
        row.tensors = {id};
      auto &count = row.constant ? coverage.constants : coverage.tensors;
      ++count.all, ++count.related, ++count.proved;
    }
    coverage.operators.all += graph.operators.size();
  }
  coverage.operators.related = coverage.operators.proved = coverage.operators.all;
  coverage.live = coverage.related = coverage.tensors.all;
}

} // namespace

/// What an earlier map says must be about the same source.
static llvm::Error checkEarlier(const OriginMap *earlier, const OriginMap &map) {
  if (!earlier ||
      (earlier->source.fingerprint == map.source.fingerprint && earlier->source.content == map.source.content))
    return llvm::Error::success();
  return makeError("the earlier map is of another source: it has the fingerprint " +
                   llvm::Twine(hex(earlier->source.fingerprint).substr(0, 16)) + "… and the content " +
                   hex(earlier->source.content).substr(0, 16) + "…");
}

static llvm::Expected<Inferred> inferInOrder(Imported &source, const ModelView &sourceFile, Imported &result,
                                             const ModelView &resultFile, const InferOptions &options) {
  for (auto [model, file] : {std::pair(&source, &sourceFile), std::pair(&result, &resultFile)})
    if (!isListed(*model, *file))
      return makeError(model->lineage.source->format == "onnx"
                           ? "of an ONNX model, what onnx2circle makes of it can be compared"
                           : "a model has changed while it was read");
  Inferred made;
  OriginMap &map = made.map;
  map.generator = "origo " ORIGO_VERSION;
  map.source = *source.lineage.source;
  map.target.file = result.lineage.source->file;
  map.target.format = result.lineage.source->format;
  map.target.fingerprint = fingerprint(resultFile);
  map.target.content = content(resultFile);
  map.target.inferred = "structure, constants, and operators executed on " + options.evidence;
  if (options.evidence.empty()) {
    map.target.inferred += "seeds";
    for (uint32_t seed : options.seeds)
      map.target.inferred += " " + std::to_string(seed);
  }
  listTarget(resultFile, map);
  if (map.source.fingerprint == map.target.fingerprint && map.source.content == map.target.content) {
    becomeIdentity(map, made.coverage);
    return made;
  }
  if (source.model->subgraphs.empty() || result.model->subgraphs.empty() || !source.model->operatorCount() ||
      !result.model->operatorCount())
    return makeError("a model without operators has nothing that origins could be found of");
  if (llvm::Error error = checkBound(*source.model, *result.model, options))
    return error;
  if (llvm::Error error = checkEarlier(options.earlier, map))
    return error;
  source.model->number();
  result.model->number();
  std::optional<EarlierMap> earlier;
  if (options.earlier)
    earlier.emplace(*options.earlier, map.source, map.target);
  auto unrelated = [&] { return made.coverage.related * 5 < made.coverage.live; };
  std::vector<Violation> violations;
  const OriginMap bare = map;
  for (bool otherNumbers : {false, true}) {
    InferSearch search(*source.model, *result.model, options, earlier ? &*earlier : nullptr, otherNumbers);
    if (llvm::Error error = search.run())
      return error;
    // What the laws say cannot be is not said: first nothing of the earlier map, then of movements that traded places,
    // at last of the operators themselves.
    struct Attempt {
      bool rows, fates; ///< of the earlier map are kept
      bool careful;     ///< movements have traded no places
    };
    std::set<int64_t> doubted;
    constexpr Attempt last{false, false, true};
    for (Attempt attempt :
         {Attempt{true, true, false}, {true, false, false}, {false, false, false}, last, last, last, last}) {
      const EarlierMap *kept = attempt.rows && earlier ? &*earlier : nullptr;
      if (attempt.rows && !kept)
        continue;
      map = bare;
      made.coverage = {};
      made.doubts.clear();
      InferredMap(search, *source.model, *result.model, map, made.coverage, made.doubts, kept, attempt.fates,
                  attempt.careful, doubted)
          .run();
      std::vector<std::string> skipped;
      violations = check(map, resultFile, &sourceFile, skipped);
      if (violations.empty())
        break;
      for (const Violation &one : violations)
        if (attempt.careful && one.written >= 0)
          doubted.insert(one.written);
    }
    if (!made.first)
      made.first = search.first;
    made.notes = search.notes;
    if (!unrelated()) {
      if (otherNumbers)
        made.notes.push_back(
            "the two have other numbers in their constants: they are related by structure, and nothing "
            "is proved");
      break;
    }
  }
  if (unrelated())
    return makeError("the models are not related: of " + llvm::Twine(made.coverage.live) +
                     " computed tensors that can be told apart, " + llvm::Twine(made.coverage.related) +
                     " are tensors of the source");
  if (!violations.empty())
    return makeError("what was found cannot be true: law " + llvm::Twine(violations.front().law) + ": " +
                     violations.front().text);
  if (made.coverage.kept)
    map.target.inferred += "; " + std::to_string(made.coverage.kept) + " operators as an earlier map says";
  if (made.first)
    made.first->sourceOperator += static_cast<int32_t>(map.source.subgraphs[made.first->subgraph].firstOperator);
  return made;
}

llvm::Expected<Inferred> infer(Imported &source, const ModelView &sourceFile, Imported &result,
                               const ModelView &resultFile, const InferOptions &options) {
  auto made = inferInOrder(source, sourceFile, result, resultFile, options);
  if (made && !made->first)
    return made;
  // What differs may be the order of inputs only.
  for (const InferOptions &order : otherOrders(*source.model, *result.model, options)) {
    auto other = inferInOrder(source, sourceFile, result, resultFile, order);
    if (other && !other->first) {
      llvm::consumeError(made.takeError());
      return other;
    }
    llvm::consumeError(other.takeError());
  }
  return made;
}

} // namespace origo::report
