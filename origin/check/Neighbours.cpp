#include "origin/check/Context.h"
#include "origin/check/SourceOrder.h"

#include "llvm/ADT/STLExtras.h"

/// Law 11, neighbours keep their order: who makes the result of a source operator has the work of those that computed
/// its operands done in front of it, or does that itself.
using namespace origo;
using namespace origo::origin;

namespace {

class NeighbourCheck {
public:
  explicit NeighbourCheck(CheckContext &context)
      : context(context), source(*context.source), target(context.target), order(target),
        carriers(source.operators.size()) {
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
            carriers[id].push_back(op);
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
    auto members = [&](uint32_t id, llvm::function_ref<void(uint32_t)> visit) { llvm::for_each(carriers[id], visit); };
    auto itself = [](uint32_t op, llvm::function_ref<void(uint32_t)> visit) { visit(op); };
    order.answer(questions, members, itself);
    for (const SourceOrder::Question &question : questions)
      if (!question.answer)
        context.report.add(11, [&] {
          return context.writtenOperator(question.row) + " makes what needs " + context.sourceOperator(question.group) +
                 ", but nothing in front of it has done that";
        });
  }

private:
  CheckContext &context;
  const FileGraph &source, &target;
  SourceOrder order;                            ///< of the written file
  std::vector<std::vector<uint32_t>> carriers;  ///< by source operator
  std::vector<SourceOrder::Question> questions; ///< group: source operator; row: operator of the written file

  void ask(uint32_t op, const OperatorRow &row, uint32_t maker) {
    uint32_t position = 0;
    source.forEachInput(maker, [&](int32_t tensor) {
      uint32_t operand = position++;
      if (int32_t before = tensor < 0 ? -1 : producerOf(tensor, maker, operand);
          before >= 0 && context.liveOperator[before] && !holds(row.origins, before) && !mayTrade(before, maker) &&
          !isSurelyInFront(before, op))
        questions.push_back({static_cast<uint32_t>(before), op});
    });
  }

  bool isSurelyInFront(uint32_t id, uint32_t op) const {
    constexpr size_t looked = 8;
    return llvm::any_of(llvm::ArrayRef(carriers[id]).take_front(looked),
                        [&](uint32_t carrier) { return order.surelyReaches(carrier, op); });
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
  bool moves(uint32_t op) const {
    using enum circle::BuiltinOperator;
    const OperatorInfo *info = source.opcode(op).like;
    return info && (info->has(Trait::DataMovement) || is(op, {CAST, QUANTIZE, DEQUANTIZE}));
  }
  bool hasConstant(uint32_t op) const {
    bool any = false;
    source.forEachInput(op, [&](int32_t input) { any |= input >= 0 && source.producer[input] < 0; });
    return any;
  }

  /// Which of the two is first does not matter: one moves data, or they are a maximum and what does not decrease, or
  /// scales, shifts and clamps by constants.
  bool mayTrade(uint32_t a, uint32_t b) const {
    using enum circle::BuiltinOperator;
    auto clamps = [&](uint32_t op) {
      return is(op, {RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1}) || (is(op, {MINIMUM, MAXIMUM}) && hasConstant(op));
    };
    auto scales = [&](uint32_t op) { return is(op, {MUL, DIV, ADD, SUB}) && hasConstant(op); };
    auto pools = [&](uint32_t op) { return is(op, {MAX_POOL_2D, REDUCE_MAX}); };
    auto isMonotoneOrClamps = [&](uint32_t op) { return clamps(op) || isMonotone(source.opcode(op).like); };
    return moves(a) || moves(b) || ((clamps(a) || scales(a)) && (clamps(b) || scales(b))) ||
           (pools(a) && isMonotoneOrClamps(b)) || (pools(b) && isMonotoneOrClamps(a));
  }
};

} // namespace

void origin::checkNeighbours(CheckContext &context) {
  if (context.allKnew(11))
    NeighbourCheck(context).run();
}
