#include "origin/check/Context.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

/// Law 10, nothing dies under the living: whoever lives on has what it needs. A source operator, or a source constant,
/// is dead only if each source operator that it was an operand of has gone too, or if the map says which of them could
/// do without it, and why. Where the files can show that the reason is possible, they have to.
using namespace origo;
using namespace origo::origin;
using llvm::StringRef;

namespace {

class Living {
public:
  explicit Living(CheckContext &context) : context(context), file(*context.source), inputs(inputLists(file)) {}

  void run() {
    findGivenShapes();
    findShapes();
    const std::vector<bool> needed = neededOperators();
    for (uint32_t op = 0; op < file.operators.size(); ++op)
      if (lives(op) && needed[op])
        checkOperands(op);
    for (const MapUnneeded &row : context.map.unneeded)
      checkReason(row);
  }

private:
  CheckContext &context;
  const FileGraph &file;
  /// By source operator. What a call can call gives it its outputs: they count behind its own operands.
  std::vector<std::vector<int32_t>> inputs;
  std::vector<bool> isShape;                            ///< by source tensor: of a RESHAPE, through CASTs too
  mutable llvm::DenseMap<uint64_t, unsigned> openSizes; ///< by source operator: constants that are no size, or zero
  llvm::DenseSet<uint64_t> given; ///< inputs of the source that are open there, and have a shape in the written file

  /// Whoever asks for a shape of an open input holds for all of it: what follows from it is static in the result.
  void findGivenShapes() {
    for (uint32_t tensor = 0; tensor < context.target.tensors.size(); ++tensor)
      if (const TensorRow *row = context.tensorRow[tensor];
          row && context.target.kind[tensor] == TensorKind::Input && hasAllSizes(*context.target.tensors[tensor]))
        for (const MapRelation &relation : row->relations)
          if (context.knownTensor(relation.tensor) && file.kind[relation.tensor] == TensorKind::Input)
            given.insert(relation.tensor);
  }

  void findShapes() {
    isShape.resize(file.tensors.size());
    for (uint32_t op = file.operators.size(); op--;) {
      const OperatorInfo *info = file.opcode(op).info;
      if (!info || inputs[op].empty())
        continue;
      if (info->code == circle::BuiltinOperator::RESHAPE && inputs[op].size() > 1 && inputs[op][1] >= 0)
        isShape[inputs[op][1]] = true;
      if (info->code == circle::BuiltinOperator::CAST && inputs[op][0] >= 0)
        file.forEachOutput(
            op, [&](int32_t made) { isShape[inputs[op][0]] = isShape[inputs[op][0]] || (made >= 0 && isShape[made]); });
    }
  }

  static bool hasAllSizes(const circle::Tensor &tensor) {
    const auto *signature = tensor.shape_signature(),
               *shape = signature && signature->size() ? signature : tensor.shape();
    return shape && llvm::all_of(*shape, [](int32_t size) { return size >= 0; });
  }

  static std::vector<std::vector<int32_t>> inputLists(const FileGraph &file) {
    std::vector<std::vector<int32_t>> lists(file.operators.size());
    for (uint32_t op = 0; op < lists.size(); ++op) {
      file.forEachInput(op, [&](int32_t tensor) { lists[op].push_back(tensor); });
      for (uint32_t callee : file.callees(op))
        if (auto *outputs = file.subgraphs[callee].table->outputs())
          for (int32_t index : *outputs)
            lists[op].push_back(file.tensorId(file.subgraphs[callee], index));
    }
    return lists;
  }

  bool lives(uint32_t op) const {
    if (context.liveOperator[op])
      return true;
    const MapLedgerRow *row = context.ledgerOfOperator(op);
    return row &&
           llvm::StringSwitch<bool>(row->fate)
               .Cases("identity", "duplicate-of", "layout-cancelled", "quantization-cancelled", "cancelled", true)
               .Default(false);
  }

  bool isUnneeded(int32_t tensor, uint32_t user, uint32_t operand) const {
    bool ofTensor = file.producer[tensor] < 0;
    return llvm::any_of(context.map.unneededOf(ofTensor, ofTensor ? tensor : file.producer[tensor]),
                        [&](const MapUnneeded &row) { return row.user == user && row.operand == operand; });
  }

  /// By source operator: does somebody need a result of it, or is it there for what it does? One whose every user can
  /// do without it may live on as a movement of something else.
  std::vector<bool> neededOperators() const {
    std::vector<bool> needed(file.operators.size(), context.map.unneeded.empty());
    if (context.map.unneeded.empty())
      return needed;
    std::vector<bool> used(needed.size());
    auto need = [&](int32_t tensor) {
      if (tensor >= 0 && file.producer[tensor] >= 0)
        needed[file.producer[tensor]] = true;
    };
    for (const FileSubgraph &graph : file.subgraphs)
      if (auto *outputs = graph.table->outputs())
        for (int32_t index : *outputs)
          need(file.tensorId(graph, index));
    for (uint32_t op = needed.size(); op--;) {
      const OperatorInfo *info = file.opcode(op).info;
      needed[op] = needed[op] || !used[op] || !info || info->effects != 0;
      for (uint32_t operand = 0; operand < inputs[op].size(); ++operand) {
        int32_t tensor = inputs[op][operand];
        if (tensor < 0 || file.producer[tensor] < 0)
          continue;
        auto maker = static_cast<uint32_t>(file.producer[tensor]);
        used[maker] = true;
        const MapLedgerRow *row = context.ledgerOfOperator(op);
        if (maker >= op || (needed[op] && !(row && row->fate == "dead") && !isUnneeded(tensor, op, operand)))
          needed[maker] = true;
      }
    }
    return needed;
  }

  /// The row that says that what makes this tensor, or a constant, is dead; null: it is not.
  const MapLedgerRow *deathOf(int32_t tensor) const {
    int32_t row = file.producer[tensor] >= 0                  ? context.operatorLedger[file.producer[tensor]]
                  : file.kind[tensor] == TensorKind::Constant ? context.tensorLedger[tensor]
                                                              : -1;
    return row >= 0 && context.map.ledger[row].fate == "dead" ? &context.map.ledger[row] : nullptr;
  }

  void checkOperands(uint32_t user) {
    for (uint32_t operand = 0; operand < inputs[user].size(); ++operand) {
      int32_t tensor = inputs[user][operand];
      const MapLedgerRow *death = tensor < 0 ? nullptr : deathOf(tensor);
      if (!death)
        continue;
      auto rows = context.map.unneededOf(death->isTensor, death->id);
      if (std::ranges::none_of(rows, [&](auto &row) { return row.user == user && row.operand == operand; }))
        context.report.add(10, [&] {
          return context.ledgerSubject(*death) + " is dead, but " + context.sourceOperator(user) +
                 " lives on, which has it as operand " + std::to_string(operand) +
                 ", and the map does not say why that was not needed";
        });
    }
  }

  // Reasons.

  void checkReason(const MapUnneeded &row) {
    auto words = [&](const std::string &what) {
      context.report.add(10, [&] {
        return (row.isTensor ? context.sourceTensor(row.id) : context.sourceOperator(row.id)) +
               " is said not to be needed as operand " + std::to_string(row.operand) + " of " +
               context.sourceOperator(row.user) + " (" + quoted(row.reason) + "), but " + what;
      });
    };
    if (row.user >= inputs.size() || row.operand >= inputs[row.user].size() || inputs[row.user][row.operand] < 0)
      return words("there is no such operand");
    int32_t tensor = inputs[row.user][row.operand];
    bool isIt = row.isTensor ? file.producer[tensor] < 0 && static_cast<uint32_t>(tensor) == row.id
                             : file.producer[tensor] >= 0 && static_cast<uint32_t>(file.producer[tensor]) == row.id;
    if (!isIt)
      return words("that operand is another");
    using Rule = const char *(Living::*)(uint32_t, uint32_t) const;
    Rule rule = llvm::StringSwitch<Rule>(row.reason)
                    .Case("shape-only", &Living::notShapeOnly)
                    .Case("times-zero", &Living::notTimesZero)
                    .Case("branch-not-taken", &Living::notBranch)
                    .Case("not-in-slice", &Living::notInSlice)
                    .Case("empty", &Living::notEmpty)
                    .Case("taken-away", &Living::notTakenAway)
                    .Default(nullptr);
    if (!rule)
      return words("that is no reason");
    if (const char *problem = (this->*rule)(row.user, row.operand))
      words(problem);
  }

  /// Elements of a static shape.
  std::optional<uint64_t> elements(int32_t tensor) const {
    const circle::Tensor &table = *file.tensors[tensor];
    auto *shape = table.shape(), *signature = table.shape_signature();
    if ((!shape || !shape->size()) && !table.has_rank() && file.kind[tensor] != TensorKind::Constant)
      return std::nullopt;
    if (signature && llvm::any_of(*signature, [](int32_t size) { return size < 0; }))
      return std::nullopt;
    uint64_t count = 1;
    if (shape)
      for (int32_t size : *shape)
        if (size < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(size), &count))
          return std::nullopt;
    return count;
  }
  bool isStatic(int32_t tensor) const {
    // A scalar has no dimension that could be open.
    return tensor < 0 || elements(tensor) || given.contains(static_cast<uint64_t>(tensor)) ||
           !file.tensors[tensor]->shape() || file.tensors[tensor]->shape()->size() == 0;
  }

  // Each says what speaks against its reason; null: nothing.

  const char *notShapeOnly(uint32_t user, uint32_t operand) const {
    const FileGraph::Opcode &code = file.opcode(user);
    const OperatorInfo *info = code.like;
    if ((code.onnx && code.onnx->isMarked(operand, 't')) || isOneSize(user, operand))
      return nullptr;
    OperandInfo mark;
    if (code.onnx)
      mark.statesShape = code.onnx->isMarked(operand, '#'), mark.statesShapeIfWhole = code.onnx->isMarked(operand, '=');
    else if (!info || operand >= info->operands.size())
      return "the operator is not known to take such an operand";
    else
      mark = info->operands[operand];
    if (!mark.statesShape && !mark.statesShapeIfWhole && !info->has(Trait::ShapeQuery))
      return "that operand tells more than a shape";
    if (info->code == circle::BuiltinOperator::RANK)
      return nullptr; // whatever the dimensions are
    if (info->code == circle::BuiltinOperator::RESHAPE && !code.onnx && mark.statesShape && isOpenAlike(user))
      return nullptr;
    bool fixed = llvm::all_of(inputs[user], [&](int32_t tensor) { return isStatic(tensor); });
    file.forEachOutput(user, [&](int32_t tensor) { fixed = fixed && isStatic(tensor); });
    if (!fixed)
      return "not all shapes of that operator are static";
    return mark.statesShapeIfWhole ? notWhole(user) : nullptr;
  }

  /// The elements beside the one dimension that is open; 0: there is no such dimension, or there are several.
  uint64_t row(int32_t tensor) const {
    auto *signature = tensor < 0 ? nullptr : file.tensors[tensor]->shape_signature();
    uint64_t count = signature && llvm::count(*signature, -1) == 1 ? 1 : 0;
    for (unsigned i = 0; count && i < signature->size(); ++i)
      if (int32_t size = signature->Get(i);
          size != -1 && __builtin_mul_overflow(count, static_cast<uint64_t>(std::max(size, 0)), &count))
        return 0;
    return count;
  }
  /// A reshape whose data and result have one open dimension each, and so the same one.
  bool isOpenAlike(uint32_t user) const {
    int32_t made = -1;
    file.forEachOutput(user, [&](int32_t tensor) { made = tensor; });
    uint64_t from = inputs[user].empty() ? 0 : row(inputs[user][0]);
    return from && from == row(made);
  }

  /// One size of the shape of a RESHAPE, beside which no constant leaves another one open.
  bool isOneSize(uint32_t user, uint32_t operand) const {
    const OperatorInfo *info = file.opcode(user).info;
    bool packs = info && info->code == circle::BuiltinOperator::PACK; // scalars, of which files do not say the rank
    bool joins = info && info->code == circle::BuiltinOperator::CONCATENATION;
    if (!packs && !(joins && elements(inputs[user][operand]) == 1))
      return false;
    bool shapes = false;
    file.forEachOutput(user, [&](int32_t tensor) { shapes |= tensor >= 0 && isShape[tensor]; });
    if (!shapes)
      return false;
    auto leavesOpen = [&](int32_t tensor) {
      return tensor >= 0 && file.kind[tensor] == TensorKind::Constant && (mayBeNegative(tensor) || holdsZero(tensor));
    };
    auto [known, isNew] = openSizes.try_emplace(user, 0);
    if (isNew) // each of many operands may be asked about
      known->second = llvm::count_if(inputs[user], leavesOpen);
    return known->second == (leavesOpen(inputs[user][operand]) ? 1 : 0);
  }
  bool holdsZero(int32_t tensor) const {
    ModelView::Bytes bytes = file.payload(tensor);
    uint64_t size = file.tensors[tensor]->type() == circle::TensorType::INT64 ? 8 : 4;
    for (uint64_t at = 0; at + size <= bytes.size; at += size)
      if (llvm::all_of(llvm::ArrayRef(bytes.data + at, size), [](uint8_t byte) { return byte == 0; }))
        return true;
    return false;
  }

  /// An operator that chooses elements, and leaves none out and adds none, chooses nothing.
  const char *notWhole(uint32_t user) const {
    const FileGraph::Opcode &code = file.opcode(user);
    const OperatorInfo &info = *code.like;
    const OperandInfo *data = llvm::find_if(
        info.operands, [](const OperandInfo &each) { return !each.statesShape && !each.statesShapeIfWhole; });
    size_t position = code.onnx ? 0 : data - info.operands.begin();
    if (position >= inputs[user].size() || inputs[user][position] < 0)
      return "the operator lacks an operand";
    std::optional<uint64_t> whole = elements(inputs[user][position]);
    bool same = true;
    file.forEachOutput(user, [&](int32_t tensor) { same = same && (tensor < 0 || elements(tensor) == whole); });
    if (!same)
      return "that operator leaves elements out, or adds some";
    // With a negative stride it takes all elements, in another order.
    auto isStride = [&](size_t i) {
      return code.onnx ? info.code == circle::BuiltinOperator::STRIDED_SLICE && i == 4
                       : i < info.operands.size() && info.operands[i].name == "strides";
    };
    for (size_t i = 0; i < inputs[user].size(); ++i)
      if (isStride(i) && mayBeNegative(inputs[user][i]))
        return "that operator may turn the order of the elements round";
    return nullptr;
  }

  bool mayBeNegative(int32_t tensor) const {
    if (tensor < 0 || file.kind[tensor] != TensorKind::Constant)
      return true;
    ModelView::Bytes bytes = file.payload(tensor);
    bool wide = file.tensors[tensor]->type() == circle::TensorType::INT64;
    uint64_t size = wide ? 8 : 4;
    if (!bytes.data || (!wide && file.tensors[tensor]->type() != circle::TensorType::INT32))
      return true;
    for (uint64_t at = 0; at + size <= bytes.size; at += size)
      if (bytes.data[at + size - 1] & 0x80) // the sign, as files are little-endian
        return true;
    return false;
  }

  const char *notTimesZero(uint32_t user, uint32_t operand) const {
    const OperatorInfo *info = file.opcode(user).like;
    bool product = llvm::StringSwitch<bool>(info ? info->name : StringRef())
                       .Cases("MUL", "DIV", "LOGICAL_AND", "BATCH_MATMUL", true)
                       .Cases("STABLEHLO_MULTIPLY", "STABLEHLO_DIVIDE", "STABLEHLO_AND", true)
                       .Default(info && info->has(Trait::Linear));
    auto isFactor = [&](uint32_t i) {
      return i < info->operands.size() && !info->operands[i].statesShape && info->operands[i].name != "bias";
    };
    if (!product || !isFactor(operand))
      return "that operator does not multiply it";
    // Another factor is zero, or is one that is computed.
    for (uint32_t i = 0; i < inputs[user].size(); ++i)
      if (int32_t tensor = inputs[user][i];
          i != operand && isFactor(i) && tensor >= 0 && (file.kind[tensor] != TensorKind::Constant || isZero(tensor)))
        return nullptr;
    return "it is not multiplied by zero";
  }

  bool isZero(int32_t tensor) const {
    ModelView::Bytes bytes = file.payload(tensor);
    if (!bytes.data)
      return true; // in another file
    // Of a float, minus zero is zero too.
    circle::TensorType type = file.tensors[tensor]->type();
    unsigned width = type == circle::TensorType::FLOAT16   ? 2
                     : type == circle::TensorType::FLOAT32 ? 4
                     : type == circle::TensorType::FLOAT64 ? 8
                                                           : 0;
    if (auto *quantization = file.tensors[tensor]->quantization(); quantization && quantization->zero_point())
      return true; // zero is a number of its own
    for (uint64_t i = 0; i < bytes.size; ++i)
      if (bytes.data[i] & (width && i % width == width - 1 ? 0x7F : 0xFF))
        return false;
    return true;
  }

  const char *notBranch(uint32_t user, uint32_t operand) const {
    const FileGraph::Opcode &code = file.opcode(user);
    bool choice = llvm::StringSwitch<bool>(code.like ? code.like->name : StringRef())
                      .Cases("SELECT", "SELECT_V2", "IF", "WHILE", "STABLEHLO_SELECT", "STABLEHLO_CASE", true)
                      .Default(false);
    bool isLoop = code.info && code.info->name == "WHILE";
    if (!choice)
      return "that operator chooses nothing";
    return operand == 0 && !isLoop ? "that operand is the choice" : nullptr;
  }

  const char *notInSlice(uint32_t user, uint32_t operand) const {
    const OperatorInfo *info = file.opcode(user).like;
    return info && info->has(Trait::DataMovement) ? nullptr : "that operator puts nothing together";
  }

  const char *notEmpty(uint32_t user, uint32_t operand) const {
    // A file of ONNX need not say what shape its intermediates have.
    const circle::Tensor &table = *file.tensors[inputs[user][operand]];
    if (elements(inputs[user][operand]) == 0 || (!table.shape() && !table.has_rank()))
      return nullptr;
    bool nothing = true;
    file.forEachOutput(user, [&](int32_t tensor) { nothing = nothing && (tensor < 0 || elements(tensor) == 0); });
    return nothing ? nullptr : "neither it nor what comes of it is empty";
  }

  /// What moves elements led it to where it is.
  int32_t unmoved(int32_t tensor) const {
    for (unsigned steps = 0; steps < 16 && tensor >= 0 && file.producer[tensor] >= 0; ++steps) {
      auto maker = static_cast<uint32_t>(file.producer[tensor]);
      const OperatorInfo *info = file.opcode(maker).like;
      if (!info || !info->has(Trait::DataMovement) || inputs[maker].empty())
        break;
      tensor = inputs[maker][0];
    }
    return tensor;
  }

  const char *notTakenAway(uint32_t user, uint32_t operand) const {
    auto is = [&](int32_t op, circle::BuiltinOperator code) {
      return op >= 0 && file.opcode(op).like && file.opcode(op).like->code == code && inputs[op].size() == 2;
    };
    if (is(static_cast<int32_t>(user), circle::BuiltinOperator::SUB))
      return operand == 1 ? nullptr : "that operand is what is taken away from";
    if (!is(static_cast<int32_t>(user), circle::BuiltinOperator::ADD))
      return "that operator neither adds it nor takes it away";
    int32_t beside = unmoved(inputs[user][1 - operand]);
    int32_t difference = beside < 0 ? -1 : file.producer[beside];
    if (!is(difference, circle::BuiltinOperator::SUB) ||
        unmoved(inputs[difference][1]) != unmoved(inputs[user][operand]))
      return "what it is added to is no difference that it was taken away in";
    return nullptr;
  }
};

} // namespace

void origin::checkLiving(CheckContext &context) { Living(context).run(); }
