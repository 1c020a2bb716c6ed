#include "origin/check/Check.h"
#include "origin/check/Context.h"
#include "origin/check/SourceOrder.h"
#include "schema/OperatorFacts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

/// Law 11, neighbours keep their order: who makes the result of a source operator has the work of those that computed
/// its operands done in front of it, or does that itself.
using namespace origo;
using namespace origo::origin;

namespace {

class NeighbourCheck {
public:
  explicit NeighbourCheck(CheckContext &context)
      : context(context), source(*context.source), target(context.target), order(target),
        carriers(source.operators.size()), folded(source.operators.size()) {
    for (uint32_t op = 0; op < target.operators.size(); ++op) {
      if (const OperatorRow *row = context.operatorRow[op])
        for (uint32_t id : row->origins)
          if (context.knownOperator(id))
            carriers[id].push_back(op);
      // What a constant was computed by has been done in front of whoever reads it.
      target.forEachInput(op, [&](int32_t tensor) {
        const TensorRow *row = tensor < 0 ? nullptr : context.tensorRow[tensor];
        for (uint32_t id : row && row->constant ? llvm::ArrayRef(row->operators) : llvm::ArrayRef<uint32_t>())
          if (context.knownOperator(id))
            folded[id].push_back(op);
        // Nor has anything to be done again for who is given the result itself, or what another part made of it.
        const bool isInput = row && !row->constant && target.producer[tensor] < 0;
        for (const MapRelation &relation : row ? llvm::ArrayRef(row->relations) : llvm::ArrayRef<MapRelation>())
          if (int32_t maker = (relation.steps.empty() || isInput) && context.knownTensor(relation.tensor)
                                  ? source.producer[relation.tensor]
                                  : -1;
              maker >= 0)
            carriers[maker].push_back(op);
      });
    }
  }

  void run() {
    for (uint32_t op = 0; op < target.operators.size(); ++op)
      if (const OperatorRow *row = context.operatorRow[op])
        target.forEachOutput(op, [&](int32_t tensor) {
          const TensorRow *output = tensor < 0 ? nullptr : context.tensorRow[tensor];
          for (const MapRelation &relation : output ? llvm::ArrayRef(output->relations) : llvm::ArrayRef<MapRelation>())
            if (int32_t maker = context.knownTensor(relation.tensor) ? source.producer[relation.tensor] : -1;
                maker >= 0 && holds(row->origins, static_cast<uint32_t>(maker)))
              ask(op, *row, static_cast<uint32_t>(maker));
        });
    checkMoved();
    auto members = [&](uint32_t group, llvm::function_ref<void(uint32_t)> visit) {
      llvm::for_each(carriers[group / 2], visit);
      if (group % 2)
        llvm::for_each(folded[group / 2], visit);
    };
    auto itself = [](uint32_t op, llvm::function_ref<void(uint32_t)> visit) { visit(op); };
    order.answer(questions, members, itself);
    for (const SourceOrder::Question &question : questions)
      if (!question.answer)
        context.report.add(
            11,
            [&] {
              return context.writtenOperator(question.row) + " makes what needs " +
                     context.sourceOperator(question.group / 2) + ", but nothing in front of it has done that";
            },
            question.row);
  }

  /// All that the operator can have changed places with, ascending.
  std::vector<uint32_t> movable(uint32_t op, const OperatorRow &row) const {
    std::vector<uint32_t> ids;
    for (uint32_t maker : row.origins)
      if (context.knownOperator(maker))
        source.forEachInput(maker, [&](int32_t tensor) {
          if (int32_t before = tensor < 0 ? -1 : source.producer[tensor];
              before >= 0 && !whyNotMoved(op, row, static_cast<uint32_t>(before)))
            ids.push_back(static_cast<uint32_t>(before));
        });
    llvm::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }

private:
  CheckContext &context;
  const FileGraph &source, &target;
  SourceOrder order;                                   ///< of the written file
  std::vector<std::vector<uint32_t>> carriers, folded; ///< by source operator; the latter have it in a constant
  /// Group: twice the source operator, and 1 if constants count; row: operator of the written file.
  std::vector<SourceOrder::Question> questions;

  void ask(uint32_t op, const OperatorRow &row, uint32_t maker) {
    uint32_t position = 0;
    source.forEachInput(maker, [&](int32_t tensor) {
      uint32_t operand = position++;
      int32_t before = tensor < 0 ? -1 : producerOf(tensor, maker, operand);
      if (before < 0 || !context.liveOperator[before] || holds(row.origins, before))
        return;
      bool isNext = before == source.producer[tensor];
      bool told = isNext && tells(op, maker, before), constantsCount = !isNext || !movesData(before);
      if (!told && (isNext || !mayTrade(before, maker)) && !isSurelyInFront(before, op, constantsCount))
        questions.push_back({2 * static_cast<uint32_t>(before) + constantsCount, op});
    });
  }

  /// It moves what is computed: a constant that was moved likewise has nothing of that.
  bool movesData(uint32_t op) const {
    int32_t data = -1;
    bool isFirst = true;
    source.forEachInput(op, [&](int32_t tensor) { data = std::exchange(isFirst, false) ? tensor : data; });
    return moves(op) && data >= 0 && source.kind[data] != TensorKind::Constant;
  }

  /// Does it say that it changed places with what its work was given, or did a part of the same work in front of it?
  bool tells(uint32_t op, uint32_t id, uint32_t before) const {
    constexpr size_t most = 16;
    llvm::SmallVector<uint32_t, 4> parts{op};
    for (size_t i = 0; i < parts.size() && i < most; ++i) {
      if (holds(context.operatorRow[parts[i]]->movedPast, before))
        return true;
      target.forEachInput(parts[i], [&](int32_t tensor) {
        int32_t producer = tensor < 0 ? -1 : target.producer[tensor];
        const OperatorRow *row = producer < 0 ? nullptr : context.operatorRow[producer];
        if (row && holds(row->origins, id) && !llvm::is_contained(parts, static_cast<uint32_t>(producer)))
          parts.push_back(static_cast<uint32_t>(producer));
      });
    }
    return false;
  }

  /// Who says that it changed places did so with what its own work was given, which lives, and has not done it.
  void checkMoved() {
    for (uint32_t op = 0; op < target.operators.size(); ++op)
      for (uint32_t id :
           context.operatorRow[op] ? llvm::ArrayRef(context.operatorRow[op]->movedPast) : llvm::ArrayRef<uint32_t>())
        if (const char *why = context.knownOperator(id) ? whyNotMoved(op, *context.operatorRow[op], id) : nullptr)
          context.report.add(11, [&] {
            return context.writtenOperator(op) + " says that it changed places with " + context.sourceOperator(id) +
                   ", which " + why;
          });
  }

  const char *whyNotMoved(uint32_t op, const OperatorRow &row, uint32_t id) const {
    if (!context.liveOperator[id])
      return "is gone";
    bool isGiven = false, mayBe = false;
    auto look = [&](llvm::ArrayRef<uint32_t> own) {
      for (uint32_t maker : holds(own, id) ? llvm::ArrayRef<uint32_t>() : own)
        if (context.knownOperator(maker))
          source.forEachInput(maker, [&](int32_t tensor) {
            if (tensor < 0 || source.producer[tensor] != static_cast<int32_t>(id))
              return;
            isGiven = true;
            mayBe |= mayTrade(id, maker) || (isScaledProduct(id, maker) && scalesAll(id, maker)) ||
                     isScaledProduct(maker, id);
          });
    };
    if (row.lineages.empty())
      look(row.origins);
    for (const MapLineage &one : row.lineages)
      look(one.operators);
    if (!isGiven)
      return "was not in front of it";
    if (!mayBe)
      return "is not of the kind";
    return isStillInFront(op, id) ? "is in front of it" : nullptr;
  }

  /// By each way that leads to the operator, as far as a few operators show.
  bool isStillInFront(uint32_t op, uint32_t id) const {
    bool any = false, all = true;
    target.forEachInput(op, [&](int32_t tensor) {
      const TensorRow *row = tensor < 0 ? nullptr : context.tensorRow[tensor];
      if (!row || row->constant)
        return;
      any = true;
      all = all && comesFrom(static_cast<uint32_t>(tensor), id);
    });
    return any && all;
  }

  bool comesFrom(uint32_t tensor, uint32_t id) const {
    constexpr size_t most = 64;
    llvm::SmallVector<int32_t, 8> seen;
    auto add = [&](int32_t from) {
      if (int32_t producer = from < 0 ? -1 : target.producer[from];
          producer >= 0 && !llvm::is_contained(seen, producer))
        seen.push_back(producer);
    };
    for (const MapRelation &relation : context.tensorRow[tensor]->relations)
      if (relation.steps.empty() && context.knownTensor(relation.tensor) &&
          source.producer[relation.tensor] == static_cast<int32_t>(id))
        return true;
    add(static_cast<int32_t>(tensor));
    for (size_t i = 0; i < std::min(seen.size(), most); ++i) {
      if (const OperatorRow *row = context.operatorRow[seen[i]]; row && holds(row->origins, id))
        return true;
      target.forEachInput(seen[i], add);
    }
    return false;
  }

  bool isSurelyInFront(uint32_t id, uint32_t op, bool constantsCount) const {
    constexpr size_t looked = 8;
    auto reaches = [&](uint32_t carrier) { return order.surelyReaches(carrier, op); };
    return llvm::any_of(llvm::ArrayRef(carriers[id]).take_front(looked), reaches) ||
           (constantsCount && llvm::any_of(llvm::ArrayRef(folded[id]).take_front(looked), reaches));
  }

  /// Who made an operand that is needed, identities left out; −1: nobody, or it cannot be told.
  int32_t producerOf(int32_t tensor, uint32_t user, uint32_t operand) const {
    for (unsigned length = 0; length < 64; ++length) {
      int32_t producer = source.producer[tensor];
      if (producer < 0 || llvm::any_of(context.map.unneededOf(false, producer), [&](const MapUnneeded &row) {
            return row.user == user && row.operand == operand;
          }))
        return -1;
      const MapLedgerRow *gone = context.ledgerOfOperator(producer);
      if (!gone || gone->fate != "identity")
        return producer;
      int32_t data = -1;
      unsigned count = 0;
      source.forEachInput(producer, [&](int32_t input) {
        if (input >= 0 && source.kind[input] != TensorKind::Constant)
          data = input, ++count;
      });
      if (count != 1)
        return -1;
      tensor = data;
      user = static_cast<uint32_t>(producer);
    }
    return -1;
  }

  bool is(uint32_t op, std::initializer_list<circle::BuiltinOperator> codes) const {
    const OperatorInfo *info = source.opcode(op).like;
    return info && llvm::is_contained(codes, info->code);
  }
  bool may(uint32_t op, Trade trade) const { return has(source.opcode(op).like, trade); }
  bool moves(uint32_t op) const { return onlyMoves(source.opcode(op).like); }
  /// Nothing live makes one of its operands: it is a constant, or what nodes of ONNX made one of.
  bool hasConstant(uint32_t op) const {
    bool any = false;
    source.forEachInput(op, [&](int32_t input) {
      any |= input >= 0 && (source.producer[input] < 0 || !context.liveOperator[source.producer[input]]);
    });
    return any;
  }

  /// A scale or a shift goes in front of a product, a sum or an average, or behind it.
  bool isScaledProduct(uint32_t scale, uint32_t product) const { return scales(scale) && may(product, Trade::Sum); }
  bool scales(uint32_t op) const { return may(op, Trade::Scale | Trade::Shift) && hasConstant(op); }
  bool clamps(uint32_t op) const {
    return may(op, Trade::Clamp) && (source.opcode(op).like->has(Trait::Unary) || hasConstant(op));
  }

  /// What was in front of a sum scales behind it what is added up: all of that, then.
  bool scalesAll(uint32_t scale, uint32_t sum) const {
    bool all = true;
    source.forEachInput(sum, [&](int32_t input) {
      int32_t producer = input < 0 ? -1 : source.producer[input];
      all &= producer < 0 || !context.liveOperator[producer] || (may(producer, Trade::Scale) && hasConstant(producer));
    });
    return all || !may(scale, Trade::Scale) || !may(sum, Trade::Shift);
  }

  /// Which of the two is first does not matter: one moves data or reduces nothing, or they are a maximum and what does
  /// not decrease (a shift and a positive scale among that), or scales, shifts and clamps by constants.
  bool mayTrade(uint32_t a, uint32_t b) const {
    using enum circle::BuiltinOperator;
    auto pools = [&](uint32_t op) { return may(op, Trade::Largest); };
    // Of constants that are not at hand as floats, nobody knows better.
    auto rises = [&](uint32_t op) {
      const auto *inputs = source.operators[op]->inputs();
      int32_t first = inputs && inputs->size()
                          ? source.tensorId(source.subgraphs[source.subgraphOfOperator(op)], inputs->Get(0))
                          : -1;
      bool falls = is(op, {SUB, DIV}) && first >= 0 && source.kind[first] == TensorKind::Constant;
      return scales(op) && !falls &&
             (may(op, Trade::Shift) || source.everyNumber(op, [](float number) { return number > 0; }).value_or(true));
    };
    auto isMonotoneOrClamps = [&](uint32_t op) { return clamps(op) || rises(op) || may(op, Trade::Monotone); };
    return moves(a) || moves(b) || source.reducesNothing(a) || source.reducesNothing(b) ||
           ((clamps(a) || scales(a)) && (clamps(b) || scales(b))) || (pools(a) && isMonotoneOrClamps(b)) ||
           (pools(b) && isMonotoneOrClamps(a));
  }
};

} // namespace

void origin::checkNeighbours(CheckContext &context) { NeighbourCheck(context).run(); }

void origin::findMovedPast(OriginMap &map, const ModelView &target, const ModelView &source) {
  std::vector<Violation> violations;
  Report report(violations);
  const FileGraph written(target), read(source);
  CheckContext context(map, written, &read, report);
  if (!context.source)
    return;
  const NeighbourCheck neighbours(context);
  for (auto [g, graph] : llvm::enumerate(map.target.subgraphs))
    for (auto [i, row] : llvm::enumerate(graph.operators))
      row.movedPast = neighbours.movable(written.subgraphs[g].firstOperator + static_cast<uint32_t>(i), row);
}
