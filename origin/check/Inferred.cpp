#include "origin/check/Context.h"

#include "llvm/ADT/STLExtras.h"

/// Law 8 where a map was found and not kept by who wrote the file: nobody saw what became of something, so each fate
/// but `unknown` needs evidence in the two files and in the rows of what lives.
using namespace origo;
using namespace origo::origin;

namespace {

class InferredCheck {
public:
  explicit InferredCheck(CheckContext &context)
      : context(context), source(*context.source), users(source.tensors.size()), needed(source.operators.size()) {
    for (uint32_t op = 0; op < source.operators.size(); ++op)
      source.forEachInput(op, [&](int32_t tensor) {
        if (tensor >= 0)
          users[tensor].push_back(op);
      });
    findNeeded();
    findComputed();
  }

  void run() {
    for (const MapLedgerRow &row : context.map.ledger)
      if (row.isTensor ? context.knownTensor(row.id) : context.knownOperator(row.id))
        if (row.fate != "unknown" && !(row.isTensor ? holdsOfTensor(row) : holdsOfOperator(row)))
          context.report.add(8, [&] {
            return context.ledgerSubject(row) + " is " + row.fate + ", for which the inferred map has no evidence";
          });
  }

private:
  CheckContext &context;
  const FileGraph &source;
  std::vector<std::vector<uint32_t>> users; ///< by source tensor
  std::vector<bool> needed;                 ///< by source operator: for an output, or for an effect
  std::vector<bool> computed;               ///< by source tensor: depends on an input, or on a state

  bool hasEffects(uint32_t op) const {
    const OperatorInfo *info = source.opcode(op).info;
    return !info || info->effects || !source.callees(op).empty();
  }

  void findNeeded() {
    llvm::SmallVector<uint32_t> pending;
    auto need = [&](int32_t tensor) {
      int32_t op = tensor < 0 ? -1 : source.producer[tensor];
      if (op >= 0 && !needed[op]) {
        needed[op] = true;
        pending.push_back(op);
      }
    };
    for (const FileSubgraph &graph : source.subgraphs)
      if (auto *outputs = graph.table->outputs())
        for (int32_t index : *outputs)
          need(source.tensorId(graph, index));
    for (uint32_t op = 0; op < source.operators.size(); ++op)
      if (hasEffects(op) && !needed[op]) {
        needed[op] = true;
        pending.push_back(op);
      }
    while (!pending.empty())
      source.forEachInput(pending.pop_back_val(), need);
  }

  void findComputed() {
    computed.resize(source.tensors.size());
    for (uint32_t tensor = 0; tensor < source.tensors.size(); ++tensor)
      computed[tensor] = source.producer[tensor] < 0 && source.kind[tensor] != TensorKind::Constant;
    for (uint32_t op = 0; op < source.operators.size(); ++op) { // in the order of execution
      bool depends = hasEffects(op);
      source.forEachInput(op, [&](int32_t tensor) { depends |= tensor >= 0 && computed[tensor]; });
      source.forEachOutput(op, [&](int32_t tensor) {
        if (tensor >= 0 && depends)
          computed[tensor] = true;
      });
    }
  }

  const OperatorRow *operatorAt(std::pair<uint32_t, uint32_t> place) const {
    return context.map.target.findOperator(place.first, place.second);
  }
  const TensorRow *tensorAt(std::pair<uint32_t, uint32_t> place) const {
    return context.map.target.findTensor(place.first, place.second);
  }
  bool isRelated(const TensorRow *row, llvm::function_ref<bool(uint32_t tensor)> isOne) const {
    return row && llvm::any_of(row->relations, [&](const MapRelation &relation) {
             return context.knownTensor(relation.tensor) && isOne(relation.tensor);
           });
  }
  bool touches(uint32_t op, uint32_t tensor) const {
    bool found = false;
    auto look = [&](int32_t other) { found |= other == static_cast<int32_t>(tensor); };
    source.forEachInput(op, look);
    source.forEachOutput(op, look);
    return found;
  }

  bool movesOrStores(uint32_t op) const {
    using enum circle::BuiltinOperator;
    const OperatorInfo *info = source.opcode(op).like;
    return info && (info->has(Trait::DataMovement) || llvm::is_contained({QUANTIZE, DEQUANTIZE, CAST}, info->code));
  }

  bool holdsOfOperator(const MapLedgerRow &row) const {
    uint32_t op = row.id;
    llvm::StringRef fate(row.fate);
    if (fate == "dead")
      return !needed[op];
    // What it took or made is what lives there.
    auto livesAt = [&](auto place) { return isRelated(tensorAt(place), [&](uint32_t t) { return touches(op, t); }); };
    if (fate == "identity" || fate == "layout-cancelled" || fate == "quantization-cancelled")
      return (fate == "identity" || movesOrStores(op)) && !row.tensors.empty() && row.operators.empty() &&
             llvm::all_of(row.tensors, livesAt);
    if (fate == "folded-to-constant") {
      bool depends = false;
      source.forEachOutput(op, [&](int32_t tensor) { depends |= tensor >= 0 && computed[tensor]; });
      return !depends && row.operators.empty() && llvm::all_of(row.tensors, [&](auto place) {
        const TensorRow *constant = tensorAt(place);
        return constant && constant->constant && llvm::is_contained(constant->operators, op);
      });
    }
    // Another one of the same kind does it there.
    if (fate == "duplicate-of")
      return row.tensors.empty() && llvm::all_of(row.operators, [&](auto place) {
               const OperatorRow *other = operatorAt(place);
               return other && llvm::any_of(other->origins, [&](uint32_t origin) {
                        return context.knownOperator(origin) && origin != op &&
                               source.operatorName(origin) == source.operatorName(op) &&
                               source.customCode(origin) == source.customCode(op);
                      });
             });
    return false;
  }

  bool holdsOfTensor(const MapLedgerRow &row) const {
    uint32_t tensor = row.id;
    llvm::StringRef fate(row.fate);
    int32_t maker = source.producer[tensor];
    if (fate == "unused-in-source") // held against the source elsewhere
      return true;
    // Who needs it may do without it, for a reason that is held against the source elsewhere.
    auto isWanted = [&](uint32_t user) {
      return needed[user] && llvm::none_of(context.map.unneededOf(true, tensor),
                                           [&](const MapUnneeded &one) { return one.user == user; });
    };
    if (fate == "dead")
      return maker >= 0 ? !needed[maker] : llvm::none_of(users[tensor], isWanted);
    auto has = [&](const OperatorRow *at, uint32_t op) { return at && holds(at->origins, op); };
    if (fate == "fused-away") {
      auto hasMaker = [&](auto place) { return maker < 0 || has(operatorAt(place), maker); };
      auto hasUser = [&](auto place) {
        return llvm::any_of(users[tensor], [&](uint32_t user) { return has(operatorAt(place), user); });
      };
      // Between operators that are one now, or that traded places as one of them only moves data.
      bool one = llvm::all_of(row.operators, [&](auto place) { return hasMaker(place) && hasUser(place); });
      bool traded =
          maker >= 0 &&
          (movesOrStores(maker) || llvm::any_of(users[tensor], [&](uint32_t user) { return movesOrStores(user); })) &&
          llvm::any_of(row.operators, hasMaker) && llvm::any_of(row.operators, hasUser) &&
          llvm::all_of(row.operators, [&](auto place) { return hasMaker(place) || hasUser(place); });
      return row.tensors.empty() && (one || traded);
    }
    if (fate == "decomposed")
      return maker >= 0 && row.tensors.empty() && row.operators.size() > 1 &&
             llvm::all_of(row.operators, [&](auto place) { return has(operatorAt(place), maker); });
    // Else it went with who made it or used it.
    auto sameWay = [&](uint32_t op) {
      const MapLedgerRow *other = context.ledgerOfOperator(op);
      return other && other->fate == row.fate && other->operators == row.operators && other->tensors == row.tensors;
    };
    return (maker >= 0 && sameWay(maker)) || llvm::any_of(users[tensor], sameWay);
  }
};

} // namespace

void origin::checkInferred(CheckContext &context) {
  if (context.inferred())
    InferredCheck(context).run();
}
