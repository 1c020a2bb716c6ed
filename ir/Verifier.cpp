#include "ir/Verifier.h"

#include "ir/shapes/Inference.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace origo;

namespace {

class Verifier {
public:
  Verifier(Model &model, bool strict) : model(model), strict(strict) {}

  std::vector<std::string> run() {
    for (auto &graph : model.subgraphs) {
      checkValues(*graph);
      checkInterface(*graph);
      done.clear();
      for (Operator &op : graph->operators)
        checkOperator(*graph, op);
    }
    checkSignatures();
    checkUses();
    if (!model.provenanceDropped)
      checkProvenance();
    if (unprinted)
      violations.push_back("and " + std::to_string(unprinted) + " more");
    return std::move(violations);
  }

private:
  /// How often a value is used, counted from the users' side.
  struct Counts {
    unsigned operands = 0, other = 0, graphOutputs = 0, signatures = 0;
  };

  /// A broken pass breaks every operator alike; more lines than this help nobody.
  static constexpr size_t maxViolations = 1000;

  Model &model;
  bool strict;
  std::vector<std::string> violations;
  size_t unprinted = 0;
  llvm::DenseMap<const Value *, Counts> counts;
  llvm::DenseSet<const Value *> listed;  ///< in the `values` of their subgraph
  llvm::DenseSet<const Operator *> done; ///< of the current subgraph, in its order
  llvm::DenseSet<uint64_t> checkedSets[2];

  void report(Place place, const llvm::Twine &message) {
    if (violations.size() >= maxViolations) {
      ++unprinted;
      return;
    }
    std::string line;
    llvm::raw_string_ostream os(line);
    ModelError(std::move(place), message.str()).log(os);
    violations.push_back(std::move(line));
  }
  void report(const llvm::Twine &message) { report(Place{}, message); }
  void report(const Subgraph &graph, const llvm::Twine &message) {
    report({.subgraph = static_cast<int>(graph.index)}, message);
  }
  void report(const Operator &op, const llvm::Twine &message) {
    const Value *result = op.result();
    report({op.subgraph() ? static_cast<int>(op.subgraph()->index) : -1, static_cast<int>(op.index), -1,
            result ? result->name.str() : std::string(), op.opName()},
           message);
  }
  void report(const Value &value, const llvm::Twine &message) {
    report({.subgraph = value.subgraph() ? static_cast<int>(value.subgraph()->index) : -1,
            .tensor = static_cast<int>(value.index),
            .name = value.name.str()},
           message);
  }

  // The graph.

  void checkValues(Subgraph &graph) {
    for (Value *value : graph.values) {
      if (value->subgraph() != &graph)
        report(graph, "lists a tensor of another subgraph or one that was erased");
      else if (!listed.insert(value).second)
        report(*value, "is listed twice");
    }
    // Only now is it known what is listed.
    for (Value *value : graph.values) {
      if (value->subgraph() != &graph)
        continue;
      if (const Operator *producer = value->producer()) {
        if (producer->erased())
          report(*value, "its producer was erased");
        else if (producer->result(value->resultIndex()) != value)
          report(*value, "is not the result of its producer that it says it is");
        else if (value->isGraphInput)
          report(*value, "is a graph input and has a producer");
      }
      if (const Quantization *q = value->quantization)
        for (const Value *detail : {q->more->scales, q->more->zeroPoints})
          if (detail && checkReachable(*value, detail))
            ++counts[detail].other;
      if (!isAsRead(*value)) {
        checkQuantization(*value);
        checkPayload(*value);
      }
    }
  }

  void checkQuantization(const Value &value) {
    const Quantization *q = value.quantization;
    if (!q || q->details != Quantization::Details::None)
      return;
    size_t scales = q->scale.size();
    if (q->zeroPoint.size() > 1 && q->zeroPoint.size() != scales)
      report(value, "has " + llvm::Twine(q->zeroPoint.size()) + " zero points for " + llvm::Twine(scales) + " scales");
    if (scales <= 1)
      return;
    if (q->dimension < 0 || q->dimension >= value.rank())
      report(value, "is quantized along dimension " + llvm::Twine(q->dimension) + ", which it does not have");
    else if (int32_t dim = value.shape[q->dimension]; dim >= 0 && static_cast<size_t>(dim) != scales)
      report(value, "has " + llvm::Twine(scales) + " scales for a dimension of " + llvm::Twine(dim));
  }

  void checkPayload(const Value &value) {
    if (!value.isConstant() || value.sparsity() || value.compression || value.externalBuffer)
      return;
    auto elements = value.elementCount();
    auto bytes = elements ? payloadBytes(value.type, *elements) : std::nullopt;
    if (bytes && *bytes != value.payload().size())
      report(value, "is a constant of " + llvm::Twine(value.payload().size()) + " bytes where its shape needs " +
                        llvm::Twine(*bytes));
  }

  /// Whether `value`, which `user` refers to, is alive and in the same subgraph.
  template <class User> bool checkReachable(const User &user, const Value *value) {
    if (value->erased())
      report(user, "refers to an erased tensor \"" + printable(value->name) + "\"");
    else if (value->subgraph() != user.subgraph())
      report(user, "refers to a tensor of another subgraph");
    else if (!listed.contains(value))
      report(user, "refers to a tensor that its subgraph does not list");
    else
      return true;
    return false;
  }

  void checkInterface(Subgraph &graph) {
    llvm::DenseSet<const Value *> inputs;
    for (const Value *input : graph.inputs) {
      if (!input || input->subgraph() != &graph || !listed.contains(input))
        report(graph, "has an input that is not a live tensor of it");
      else if (!input->isGraphInput)
        report(*input, "is a graph input and does not know it");
      else
        inputs.insert(input);
    }
    for (const Value *value : graph.values)
      if (value->isGraphInput && value->subgraph() == &graph && !inputs.contains(value))
        report(*value, "says it is a graph input and is none");
    for (const Value *output : graph.outputs) {
      if (!output || output->subgraph() != &graph || !listed.contains(output)) {
        report(graph, "has an output that is not a live tensor of it");
      } else {
        ++counts[output].graphOutputs;
        ++counts[output].other;
      }
    }
  }

  void checkOperator(const Subgraph &graph, Operator &op) {
    if (op.subgraph() != &graph) {
      report(graph, "holds an operator of another subgraph or one that was erased");
      return;
    }
    checkRow(op);
    for (Use &use : op.operands()) {
      const Value *value = use.get();
      if (use.user() != &op)
        report(op, "has an operand with another user");
      if (!value || !checkReachable(op, value))
        continue;
      ++counts[value].operands;
      if (value->producer() && !done.contains(value->producer()))
        report(op, "uses \"" + printable(value->name) + "\" before it is computed");
    }
    for (const Value *value : op.intermediates())
      if (value && checkReachable(op, value))
        ++counts[value].other;
    for (auto [i, value] : llvm::enumerate(op.results()))
      if (value && checkReachable(op, value) && (value->producer() != &op || value->resultIndex() != i))
        report(op, "its result \"" + printable(value->name) + "\" has another producer");
    if (!isAsRead(op))
      checkResultTypes(op);
    done.insert(&op);
  }

  /// Files contradict the rules now and then, and what nothing has touched is not held against the passes. A value that
  /// took another's place has the relations of both.
  bool isAsRead(const Value &value) const {
    return !strict && (model.rewrites == 0 || (value.relations.size() == 1 && value.relations[0].steps == 0));
  }
  bool isTouched(const Operator &op) const {
    return strict || (model.rewrites != 0 && (op.passes != 0 || op.synthetic));
  }
  bool isAsRead(const Operator &op) const {
    if (isTouched(op))
      return false;
    auto asRead = [&](const Value *value) { return !value || isAsRead(*value); };
    return llvm::all_of(op.operands(), [&](const Use &use) { return asRead(use.get()); }) &&
           llvm::all_of(op.results(), asRead);
  }

  void checkRow(const Operator &op) {
    const OperatorInfo *row = op.info();
    if (!row)
      return; // carried through untouched
    if (!row->accepts(op.numOperands()))
      report(op, "has " + llvm::Twine(op.numOperands()) + " operands");
    if (!row->acceptsResults(op.results().size()))
      report(op, "has " + llvm::Twine(op.results().size()) + " results");
    if (size_t callees = scalarCallees(*row); callees && hasOptions(op) && op.callees().size() != callees)
      report(op, "calls a subgraph that is not there");
    // Required operands stand before the first variadic one; behind that, positions say nothing.
    for (unsigned i = 0; i < op.numOperands() && i < row->operands.size() && !row->operands[i].variadic; ++i)
      if (!op.operand(i) && !row->operands[i].optional)
        report(op, "lacks its operand " + row->operands[i].name);
    if (op.options.member && op.options.member != static_cast<uint8_t>(row->options))
      report(op, "has the options of another operator");
    if (op.options2().member && op.options2().member != static_cast<uint8_t>(row->options2))
      report(op, "has the options of another operator");
  }

  static bool hasOptions(const Operator &op) { return op.options.table || op.options2().table; }

  /// How many subgraphs the fields of the row name, if they are not lists.
  static size_t scalarCallees(const OperatorInfo &row) {
    bool lists = llvm::any_of(row.subgraphFields, [&](llvm::StringRef name) {
      return row.optionsType()->find(name)->type == wire::Type::Vector;
    });
    return lists ? 0 : row.subgraphFields.size();
  }

  void checkResultTypes(const Operator &op) {
    auto inferred = inferResults(op);
    if (!inferred && !isTouched(op)) { // other operands of the same types and shapes do not make it wrong
      llvm::consumeError(inferred.takeError());
      return;
    }
    if (!inferred) {
      llvm::handleAllErrors(
          inferred.takeError(), [&](const ModelError &error) { report(op, error.message); },
          [&](const llvm::ErrorInfoBase &error) { report(op, error.message()); });
      return;
    }
    for (auto [i, result] : llvm::enumerate(*inferred)) {
      const Value *value = op.result(i);
      if (!value)
        continue;
      if (value->type != result.type)
        report(op, "result " + llvm::Twine(i) + " is " + tensorTypeName(value->type) + " but should be " +
                       tensorTypeName(result.type));
      if (!agree(*value, result))
        report(op, "result " + llvm::Twine(i) + " is of shape " + shapeText(value->shape) + " but should be " +
                       shapeText(result.shape));
    }
  }

  static bool agree(const Value &value, const ResultType &result) {
    // No dimensions may also mean that they are not known.
    bool stated = value.hasShape && (!value.shape.empty() || value.hasRank);
    if (!stated || !result.rankKnown)
      return true;
    if (value.shape.size() != result.shape.size())
      return false;
    bool haveSignature = value.shapeSignature().size() == value.shape.size();
    for (size_t i = 0; i < value.shape.size(); ++i) {
      bool known = value.shape[i] >= 0 && result.shape[i] >= 0 && (!haveSignature || value.shapeSignature()[i] >= 0);
      if (known && value.shape[i] != result.shape[i])
        return false;
    }
    return true;
  }

  static std::string shapeText(llvm::ArrayRef<int32_t> shape) {
    std::string text = "[";
    llvm::raw_string_ostream os(text);
    llvm::interleaveComma(shape, os);
    os << ']';
    return text;
  }

  void checkSignatures() {
    for (const Signature &signature : model.signatures)
      for (const auto *entries : {&signature.inputs, &signature.outputs})
        for (const Signature::Entry &entry : *entries) {
          if (!entry.value)
            continue;
          if (!listed.contains(entry.value) || (signature.subgraph && entry.value->subgraph() != signature.subgraph)) {
            report("signature \"" + printable(signature.key) + "\" names a tensor that its subgraph does not have");
            continue;
          }
          ++counts[entry.value].signatures;
          ++counts[entry.value].other;
        }
  }

  /// Each value's own lists and counts against what was counted from the users' side.
  void checkUses() {
    for (auto &graph : model.subgraphs)
      for (const Value *value : graph->values) {
        if (value->subgraph() != graph.get())
          continue;
        unsigned uses = 0;
        value->forEachUse([&](Use &use) {
          ++uses;
          if (!use.user() || use.user()->erased())
            report(*value, "has a use by an erased operator");
          else if (use.get() != value || use.operandIndex() >= use.user()->numOperands())
            report(*value, "has a use that is not one");
        });
        Counts counted = counts.lookup(value);
        auto expect = [&](unsigned is, unsigned should, const char *what) {
          if (is != should)
            report(*value,
                   "has " + llvm::Twine(is) + " " + what + " in its book-keeping, really " + llvm::Twine(should));
        };
        expect(uses, counted.operands, "uses as an operand");
        expect(value->otherUses, counted.other, "other uses");
        expect(value->graphOutputs, counted.graphOutputs, "uses as a graph output");
        expect(value->signatureUses, counted.signatures, "uses in signatures");
      }
  }

  // Provenance: the conservation law.

  void checkProvenance() {
    for (auto &graph : model.subgraphs) {
      for (const Operator &op : graph->operators)
        checkOrigins(op);
      for (const Value *value : graph->values)
        checkRelations(*value);
    }
    llvm::SmallVector<std::pair<bool, uint32_t>> lost;
    model.ledger(lost);
    for (auto [isTensor, id] : lost)
      report(llvm::Twine("source ") + (isTensor ? "tensor " : "operator ") + llvm::Twine(id) +
             " is neither live nor in the ledger");
  }

  void checkOrigins(const Operator &op) {
    if (op.origins.empty() && !op.synthetic)
      report(op, "has no origins and is not synthetic");
    if (!op.origins.empty() && op.synthetic)
      report(op, "has origins and is synthetic");
    if (!idsBelow(op.origins, false) || !idsBelow(op.calls, false))
      report(op, "has an origin that is no source operator");
    if (!op.synthetic)
      return;
    if (!syntheticReasonFromName(op.synthetic->reason))
      report(op, "is synthetic for an unknown reason");
    if (op.synthetic->serves.empty())
      report(op, "is synthetic and serves nothing");
    else if (!idsBelow(op.synthetic->serves, false))
      report(op, "serves what is no source operator");
  }

  void checkRelations(const Value &value) {
    if (value.relations.empty() && value.noRelation == NoRelation::None)
      report(value, "has no relation to a source tensor and no reason for that");
    for (const Relation &relation : value.relations)
      if (relation.tensor >= model.sourceTensors)
        report(value, "is related to what is no source tensor");
    if (!value.isConstant())
      return;
    if (value.sourceTensors.empty() && value.sourceOperators.empty() && value.synthetic().empty())
      report(value, "is a constant that was computed from nothing and not invented");
    if (!idsBelow(value.sourceTensors, true) || !idsBelow(value.sourceOperators, false))
      report(value, "was computed from what the source does not have");
  }

  /// A set that many carry is looked at once.
  bool idsBelow(IdSet set, bool tensors) {
    if (set.empty() || !checkedSets[tensors].insert(set.node).second)
      return true;
    uint32_t limit = tensors ? model.sourceTensors : model.sourceOperators;
    bool below = true;
    model.sets.forEach(set, [&](uint32_t id) { below &= id < limit; });
    return below;
  }
};

} // namespace

std::vector<std::string> origo::verify(Model &model, bool strict) {
  model.number();
  return Verifier(model, strict).run();
}
