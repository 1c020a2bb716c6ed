#include "origin/check/Context.h"
#include "origin/check/Movement.h"
#include "schema/OperatorFacts.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <tuple>

/// Law 6, truth from structure: what produced the source tensor that an output equals is among the output's origins.
/// Where data is only moved, so is each operator of the source between what the operator is given and what it makes.
using namespace origo;
using namespace origo::origin;

namespace {

class ProducerCheck {
public:
  explicit ProducerCheck(CheckContext &context)
      : context(context), target(context.target), visited(target.operators.size()),
        budget(64 * (uint64_t{target.operators.size()} + target.tensors.size()) + (1 << 20)) {
    for (const MapLedgerRow &row : context.map.ledger) {
      if (row.isTensor || !isNothing(row))
        continue;
      for (auto [graph, index] : row.operators)
        done.emplace_back(row.id, graph, index);
      for (auto [graph, index] : row.tensors) {
        handedOn.emplace_back(row.id, graph, index);
        if (llvm::StringRef(row.fate).ends_with("-cancelled"))
          cancelled.emplace_back(row.id, graph, index);
      }
    }
    llvm::sort(done);
    llvm::sort(handedOn);
    llvm::sort(cancelled);
    for (uint32_t tensor = 0; tensor < target.tensors.size(); ++tensor)
      if (const TensorRow *row = context.tensorRow[tensor]; row && target.producer[tensor] >= 0)
        for (const MapRelation &relation : row->relations)
          if (relation.steps.empty())
            equals.emplace_back(relation.tensor, tensor);
    llvm::sort(equals);
    for (uint32_t op = 0; context.source && op < context.source->operators.size(); ++op) {
      const OperatorInfo *info = context.source->opcode(op).info;
      uint32_t position = 0;
      context.source->forEachInput(op, [&](int32_t tensor) {
        uint32_t operand = position++;
        if (tensor >= 0 && (!info || (operand < info->operands.size() && info->operands[operand].variable)))
          states.push_back(static_cast<uint32_t>(tensor));
      });
    }
    llvm::sort(states);
  }

  void run() {
    for (uint32_t op = 0; op < target.operators.size(); ++op)
      if (const OperatorRow *row = context.operatorRow[op])
        target.forEachOutput(op, [&](int32_t tensor) {
          if (tensor < 0)
            return;
          if (row->syntheticReason.empty())
            checkOutput(op, *row, tensor);
          else
            checkBridge(op, tensor);
        });
    const bool part = isPart();
    for (uint32_t tensor = 0; tensor < target.tensors.size(); ++tensor)
      if (const TensorRow *row = context.tensorRow[tensor];
          row && row->constant && row->syntheticReason.empty() && target.producer[tensor] < 0)
        checkConstant(tensor, *row);
      else if (row && !row->constant && target.producer[tensor] < 0 && !part)
        checkInput(tensor, *row);
  }

private:
  CheckContext &context;
  const FileGraph &target;
  std::vector<uint32_t> visited; ///< by operator: the last search that came by
  uint32_t search = 0;
  /// Source operator and tensor of the written file: the ledger says that the tensor stands for the operator's result.
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> handedOn;
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>
      cancelled; ///< the part of it that went together with its inverse
  /// Source operator and operator of the written file: what it handed on became a part of that one.
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> done;
  std::vector<std::pair<uint32_t, uint32_t>> equals; ///< source tensor, and a computed tensor that it equals, unmoved
  std::vector<uint32_t> states;                      ///< of the source: tensors that operators update in place
  uint64_t budget; ///< of searches through moved data; a map that needs more is not a true one of any size

  using Origins = llvm::SmallVector<uint32_t, 2>;

  /// The source operators one of which computes the tensor of the relation; none: nothing does, or the ledger explains
  /// where that went.
  Origins expectedOrigins(uint32_t tensor, const MapRelation &relation) const {
    Origins origins;
    uint32_t graph = target.subgraphOfTensor(tensor);
    uint32_t index = tensor - target.subgraphs[graph].firstTensor;
    Seen seen;
    if (!context.knownTensor(relation.tensor) || !addMakers(relation.tensor, origins, seen, 0) ||
        llvm::any_of(origins, [&](uint32_t origin) {
          return std::binary_search(handedOn.begin(), handedOn.end(), std::tuple(origin, graph, index)) ||
                 addedNothing(origin, tensor, relation);
        }))
      origins.clear();
    return origins;
  }

  /// Is it who changed no number in one call, as it was given zeros or ones, and does its work in another one?
  bool addedNothing(uint32_t origin, uint32_t tensor, const MapRelation &relation) const {
    auto equals = [&](uint32_t operand) {
      return llvm::any_of(context.tensorRow[tensor]->relations, [&](const MapRelation &other) {
        return other.tensor == operand && other.steps.empty() && other.lineage == relation.lineage;
      });
    };
    return context.source && relation.steps.empty() && context.liveOperator[origin] &&
           context.source->mayAddNothing(origin, equals);
  }

  using Seen = llvm::SmallDenseSet<uint64_t, 8>;

  /// Where a call was inlined, its result was made by what makes the output of a subgraph that it could call. False: it
  /// may be that nothing made it. `seen`: tensors whose makers are there, for calls within calls lead to one on many
  /// ways.
  bool addMakers(uint32_t tensor, Origins &origins, Seen &seen, unsigned depth) const {
    if (!seen.insert(tensor).second)
      return true;
    int32_t producer = context.sourceProducer[tensor];
    const MapLedgerRow *row = producer < 0 ? nullptr : context.ledgerOfOperator(producer);
    if (producer < 0 || (row && row->fate == "inlined" && (!context.source || depth == 64)))
      return false;
    if (!row || row->fate != "inlined") {
      origins.push_back(static_cast<uint32_t>(producer));
      return true;
    }
    const FileGraph &source = *context.source;
    uint32_t result = 0, position = 0;
    source.forEachOutput(producer, [&](int32_t output) {
      result = output == static_cast<int32_t>(tensor) ? position : result;
      ++position;
    });
    return llvm::all_of(source.callees(producer), [&](uint32_t callee) {
      auto *outputs = source.subgraphs[callee].table->outputs();
      // The body of a Loop of ONNX says first whether it goes on, which is no result.
      uint32_t from = result + (outputs && outputs->size() > position ? outputs->size() - position : 0);
      int32_t inner =
          outputs && from < outputs->size() ? source.tensorId(source.subgraphs[callee], outputs->Get(from)) : -1;
      return inner >= 0 && addMakers(static_cast<uint32_t>(inner), origins, seen, depth + 1);
    });
  }

  void checkOutput(uint32_t op, const OperatorRow &row, uint32_t tensor) {
    const TensorRow *output = context.tensorRow[tensor];
    if (!output)
      return;
    for (const MapRelation &relation : output->relations) {
      if (moves(target, op) && !isDetour(tensor, relation))
        checkMovement(op, row, tensor, relation);
      if (isGiven(relation) && !row.origins.empty())
        context.report.add(
            6,
            [&] {
              return context.writtenOperator(op) + " computes " + context.sourceTensor(relation.tensor) +
                     ", which nothing in the source computes";
            },
            op);
      Origins origins = expectedOrigins(tensor, relation);
      llvm::ArrayRef<uint32_t> own =
          relation.lineage < row.lineages.size() ? row.lineages[relation.lineage].operators : row.origins;
      if (origins.empty() || llvm::any_of(origins, [&](uint32_t origin) {
            return holds(own, origin) ||
                   ((moves(target, op) || tradedPlaces(op, origin)) && computedBefore(op, origin)) ||
                   (!relation.steps.empty() && becamePartOf(origin, op)) ||
                   (context.liveOperator[origin] && isEqualToEarlier(relation.tensor, row));
          }))
        continue;
      context.report.add(
          6,
          [&] {
            return context.writtenOperator(op) + " computes " + context.sourceTensor(relation.tensor) + ", but " +
                   context.sourceOperator(origins.front()) + ", which produced that, is not among its origins";
          },
          op);
    }
  }

  /// What does no work of the source leads to a tensor that is made in front of it.
  void checkBridge(uint32_t op, uint32_t tensor) {
    const TensorRow *output = context.tensorRow[tensor];
    for (const MapRelation &relation : output ? llvm::ArrayRef(output->relations) : llvm::ArrayRef<MapRelation>()) {
      Origins origins = expectedOrigins(tensor, relation);
      if (origins.empty() || llvm::any_of(origins, [&](uint32_t origin) {
            return !context.liveOperator[origin] || computedBefore(op, origin);
          }))
        continue;
      context.report.add(
          6,
          [&] {
            return context.writtenOperator(op) + " does no work of the source, but its result is " +
                   context.sourceTensor(relation.tensor) + ", and nothing in front of it has done " +
                   context.sourceOperator(origins.front());
          },
          op);
    }
  }

  /// Is it what the source is given as it is, and what no operator keeps its state in?
  bool isGiven(const MapRelation &relation) const {
    if (!context.source || !relation.steps.empty() || !context.knownTensor(relation.tensor))
      return false;
    const FileGraph &source = *context.source;
    return source.kind[relation.tensor] == TensorKind::Input && source.subgraphOfTensor(relation.tensor) == 0 &&
           !std::binary_search(states.begin(), states.end(), relation.tensor);
  }

  /// A maximum of a window may have gone in front of what does not decrease.
  bool tradedPlaces(uint32_t op, uint32_t origin) const {
    const OperatorInfo *info = context.source ? context.source->opcode(origin).like : nullptr;
    return info && info->code == circle::BuiltinOperator::MAX_POOL_2D && has(target.opcode(op).like, Trade::Monotone);
  }

  /// The ledger says that what the source operator handed on unchanged is a part of what this operator does. To be
  /// asked where that is not the source's tensor any more, but one made of it (scaled), which nobody hands on.
  bool becamePartOf(uint32_t origin, uint32_t op) const {
    uint32_t graph = target.subgraphOfOperator(op);
    return std::binary_search(done.begin(), done.end(),
                              std::tuple(origin, graph, op - target.subgraphs[graph].firstOperator));
  }

  /// Is the source tensor one that was made before, by what the row claims, and moved so that nothing is moved?
  bool isEqualToEarlier(uint32_t tensor, const OperatorRow &row) const {
    llvm::SmallVector<uint32_t, 8> way;
    for (uint32_t at = tensor; context.source && way.size() < mostMoves;) {
      int32_t producer = context.source->producer[at];
      if (producer >= 0 && !way.empty() && holds(row.origins, producer) &&
          movesNothing(*context.source, llvm::to_vector(llvm::reverse(way))))
        return true;
      int32_t data = producer < 0 || !moves(*context.source, producer) ? -1 : onlyData(*context.source, producer);
      if (data < 0)
        return false;
      way.push_back(static_cast<uint32_t>(producer));
      at = static_cast<uint32_t>(data);
    }
    return false;
  }

  /// The source goes away from this tensor and back; who makes the tensor has not done so.
  bool isDetour(uint32_t tensor, const MapRelation &relation) const {
    int32_t producer = context.knownTensor(relation.tensor) ? context.sourceProducer[relation.tensor] : -1;
    uint32_t graph = target.subgraphOfTensor(tensor);
    return producer >= 0 && std::binary_search(cancelled.begin(), cancelled.end(),
                                               std::tuple(static_cast<uint32_t>(producer), graph,
                                                          tensor - target.subgraphs[graph].firstTensor));
  }

  /// Where moving moves nothing, what was moved before may be moved behind, between two tensors that are equal.
  bool isDoneBehind(uint32_t tensor, const MapRelation &relation, uint32_t origin) const {
    auto first = llvm::lower_bound(equals, std::pair(relation.tensor, 0u));
    for (unsigned looked = 0; first != equals.end() && first->first == relation.tensor && looked < 16;
         ++first, ++looked)
      if (isDoneBetween(tensor, first->second, origin))
        return true;
    return false;
  }

  /// Is `after` computed from `tensor` by movements, one of which does what the source operator did?
  bool isDoneBetween(uint32_t tensor, uint32_t after, uint32_t origin) const {
    bool done = false;
    for (unsigned length = 0; length < 16 && after != tensor && target.producer[after] >= 0; ++length) {
      uint32_t maker = target.producer[after];
      const OperatorRow *row = context.operatorRow[maker];
      done |= row && holds(row->origins, origin);
      bool uses = false;
      target.forEachInput(maker, [&](int32_t input) { uses |= input == static_cast<int32_t>(tensor); });
      int32_t data = uses || !moves(target, maker) ? -1 : onlyData(target, maker);
      if (data < 0)
        return uses && done;
      after = static_cast<uint32_t>(data);
    }
    return false;
  }

  /// One operator moves data as several of the source do in a row: does it claim all of them?
  void checkMovement(uint32_t op, const OperatorRow &row, uint32_t tensor, const MapRelation &relation) {
    // A tensor that stands for a source tensor by way of steps has not been through all that made that one.
    if (!context.source || !context.knownTensor(relation.tensor) || !relation.steps.empty())
      return;
    const FileGraph &source = *context.source;
    llvm::SmallVector<std::pair<uint32_t, uint32_t>, 4> inputs; ///< with the lineages that are used of them
    llvm::SmallVector<uint32_t, 4> given, missing;
    unsigned position = 0;
    target.forEachInput(op, [&](int32_t input) {
      const uint32_t lineage = context.lineageUsed(op, relation.lineage, position++);
      const TensorRow *operand = input < 0 ? nullptr : context.tensorRow[input];
      if (!operand || operand->constant)
        return;
      inputs.emplace_back(input, lineage);
      for (const MapRelation &from : operand->relations)
        if (from.steps.empty() && from.lineage == lineage)
          given.push_back(from.tensor);
    });
    // Of several tensors of the source that the operand equals, the way from one of them is claimed.
    std::optional<std::pair<uint32_t, llvm::SmallVector<uint32_t, 4>>> broken;
    uint32_t at = relation.tensor;
    llvm::SmallVector<uint32_t, 8> way; // the operators between, the last one first
    bool isPast = false;                // who was given this tensor in the source is not in front here
    for (unsigned met = 0; met < mostMoves;) {
      if (llvm::is_contained(given, at)) {
        ++met;
        llvm::SmallVector<uint32_t, 4> unclaimed(missing);
        // Another one may claim some of them, and others the rest.
        excuseDetours(source, llvm::to_vector(llvm::reverse(way)), unclaimed);
        if (unclaimed.empty())
          return;
        if (!broken)
          broken.emplace(at, unclaimed);
      }
      int32_t producer = source.producer[at], data = producer < 0 ? -1 : onlyData(source, producer);
      if (data < 0 || !moves(source, producer) || budget == 0)
        break;
      --budget;
      way.push_back(static_cast<uint32_t>(producer));
      const bool wasPast = std::exchange(isPast, false);
      if (at != relation.tensor && !holds(row.origins, producer) && !isDoneBehind(tensor, relation, producer)) {
        // Had it become nothing in front of this operator, the input would equal its result.
        const MapLedgerRow *ledger = context.ledgerOfOperator(producer);
        bool elsewhere = ledger && llvm::none_of(inputs, [&](auto input) {
                           return leadsTo(*ledger, input.first) && !cameWith(producer, input.first) &&
                                  !isInAnotherLineage(input.first, input.second, producer);
                         });
        if (ledger && isUndoneInFront(*ledger, producer, way))
          return;
        // Or a part of the same work was its inverse; where others need it still, the row says of it, or of who was
        // given its result, that it is not in front.
        isPast = !ledger && (wasPast || holds(row.movedPast, producer)) && keepsOrder(source, producer);
        if (isPast || (ledger && llvm::any_of(ledger->with, [&](uint32_t id) { return holds(row.origins, id); }))) {
          at = data;
          continue;
        }
        isPast = ledger && ledger->fate == "identity"; // nobody tells what was in front of that
        if (!elsewhere || !isNothing(*ledger))
          missing.push_back(producer);
        else if (!broken && llvm::StringRef(ledger->fate).ends_with("-cancelled"))
          return; // so does another one on the way, which need not be gone
      }
      at = data;
    }
    if (!broken)
      return;
    for (uint32_t origin : broken->second)
      context.report.add(
          6,
          [&] {
            return context.writtenOperator(op) + " makes " + context.sourceTensor(relation.tensor) + " of " +
                   context.sourceTensor(broken->first) + ", but " + context.sourceOperator(origin) +
                   ", which is between them, is not among its origins";
          },
          op);
  }

  /// Does the way of what it was given lead there by itself? Then it became nothing before that went there.
  bool cameWith(uint32_t op, uint32_t tensor) const {
    int32_t data = onlyData(*context.source, op), row = data < 0 ? -1 : context.tensorLedger[data];
    return row >= 0 && leadsTo(context.map.ledger[row], tensor);
  }

  /// Is what the operator made this tensor by another lineage than the one that is used?
  bool isInAnotherLineage(uint32_t tensor, uint32_t used, uint32_t op) const {
    bool any = false, here = false;
    for (const MapRelation &relation : context.tensorRow[tensor]->relations)
      if (relation.steps.empty() && context.knownTensor(relation.tensor) &&
          context.source->producer[relation.tensor] == static_cast<int32_t>(op)) {
        any = true;
        here |= relation.lineage == used;
      }
    return any && !here;
  }

  bool leadsTo(const MapLedgerRow &row, uint32_t tensor) const {
    uint32_t graph = target.subgraphOfTensor(tensor);
    return llvm::is_contained(row.tensors, std::pair(graph, tensor - target.subgraphs[graph].firstTensor));
  }

  /// Has it cancelled out with operators in front of the way? Then the operator goes on from what is in front of them.
  bool isUndoneInFront(const MapLedgerRow &row, uint32_t op, llvm::ArrayRef<uint32_t> way) const {
    if (row.with.empty() || row.with.size() >= mostMoves)
      return false;
    llvm::SmallVector<uint32_t, mostMoves> together(row.with.begin(), row.with.end());
    together.push_back(op);
    llvm::sort(together);
    return together.front() < way.back() &&
           llvm::all_of(together, [&](uint32_t id) { return context.knownOperator(id); }) &&
           movesNothing(*context.source, together);
  }

  /// Is it in the ledger because it changed nothing, or nothing that was not there already?
  static bool isNothing(const MapLedgerRow &row) {
    return llvm::is_contained({"identity", "duplicate-of", "layout-cancelled", "quantization-cancelled", "cancelled"},
                              llvm::StringRef(row.fate));
  }

  /// The operand that is no constant, if there is just one; else −1.
  static int32_t onlyData(const FileGraph &file, uint32_t op) {
    int32_t data = -1;
    unsigned count = 0;
    file.forEachInput(op, [&](int32_t input) {
      if (input >= 0 && file.kind[input] != TensorKind::Constant) {
        data = input;
        ++count;
      }
    });
    return count == 1 ? data : -1;
  }

  void checkConstant(uint32_t tensor, const TensorRow &row) {
    std::vector<uint32_t> operators(row.operators);
    llvm::sort(operators);
    for (const MapRelation &relation : row.relations) {
      Origins origins = expectedOrigins(tensor, relation);
      if (origins.empty() || llvm::any_of(origins, [&](uint32_t origin) { return holds(operators, origin); }))
        continue;
      context.report.add(6, [&] {
        return "constant " + context.writtenTensor(tensor) + " equals " + context.sourceTensor(relation.tensor) +
               ", but " + context.sourceOperator(origins.front()) + ", which produced that, is not among its operators";
      });
    }
  }

  /// Of a model that was divided, or of which a part was taken, what another part makes is an input.
  bool isPart() const {
    auto inputs = [](const FileGraph &file) {
      const auto *list = file.subgraphs.empty() ? nullptr : file.subgraphs[0].table->inputs();
      return list ? list->size() : 0;
    };
    return (context.source && inputs(*context.source) != inputs(target)) ||
           llvm::any_of(context.map.ledger,
                        [](const MapLedgerRow &row) { return row.fate == "elsewhere" || row.fate == "user-removed"; });
  }

  /// Nobody makes an input, so it is the result of what changed nothing, or moved data there and back, and no other.
  /// Who does the work of that, though there is nothing to do, may be elsewhere.
  void checkInput(uint32_t tensor, const TensorRow &row) {
    for (const MapRelation &relation : row.relations) {
      Origins origins = expectedOrigins(tensor, relation);
      if (origins.empty() || !context.source || llvm::any_of(origins, [&](uint32_t origin) {
            const MapLedgerRow *gone = context.ledgerOfOperator(origin);
            return gone ? !isNothing(*gone) && gone->fate != "folded-to-constant"
                        : moves(*context.source, origin) || context.source->reducesNothing(origin) ||
                              context.source->addsNothing(origin);
          }))
        continue;
      context.report.add(6, [&] {
        return context.writtenTensor(tensor) + ", which nothing computes, equals " +
               context.sourceTensor(relation.tensor) + ", but " + context.sourceOperator(origins.front()) +
               ", which produced that, does not lead there";
      });
    }
  }

  static bool moves(const FileGraph &file, uint32_t op) { return onlyMoves(file.opcode(op).like); }

  bool isResultOf(uint32_t tensor, uint32_t origin) const {
    const TensorRow *row = context.tensorRow[tensor];
    return row && llvm::any_of(row->relations, [&](const MapRelation &relation) {
             return context.knownTensor(relation.tensor) &&
                    context.sourceProducer[relation.tensor] == static_cast<int32_t>(origin);
           });
  }

  /// Is `origin` done by one of the operators that the moved data comes from, or nothing that it would have to do?
  bool computedBefore(uint32_t op, uint32_t origin) {
    ++search;
    llvm::SmallVector<uint32_t> pending{op};
    bool found = false;
    while (!pending.empty() && !found) {
      uint32_t at = pending.pop_back_val();
      target.forEachInput(at, [&](int32_t tensor) {
        if (tensor < 0 || found || budget == 0)
          return;
        --budget;
        uint32_t graph = target.subgraphOfTensor(tensor);
        found = std::binary_search(handedOn.begin(), handedOn.end(),
                                   std::tuple(origin, graph, tensor - target.subgraphs[graph].firstTensor)) &&
                (target.kind[tensor] != TensorKind::Constant || isResultOf(tensor, origin));
        if (found)
          return;
        if (int32_t from = target.producer[tensor]; from >= 0) {
          if (visited[from] == search)
            return;
          visited[from] = search;
          const OperatorRow *row = context.operatorRow[from];
          found = row && holds(row->origins, origin);
          if (!found && row && (moves(target, from) || row->origins.empty()))
            pending.push_back(from);
        } else if (const TensorRow *row = context.tensorRow[tensor]; row && row->constant) {
          found = llvm::is_contained(row->operators, origin);
        }
      });
    }
    return found;
  }
};

} // namespace

void origin::checkProducers(CheckContext &context) { ProducerCheck(context).run(); }
