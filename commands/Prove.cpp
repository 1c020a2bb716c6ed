#include "commands/Prove.h"

#include "eval/Evaluate.h"
#include "eval/RealNumbers.h"
#include "eval/Relations.h"
#include "ir/text/ExpressionText.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <deque>

namespace origo::commands {

namespace {

using eval::exact::Recipes;

/// A tensor while constants are computed.
using Known = std::optional<DetachedTensor>; ///< none: it depends on the inputs

DetachedTensor tensorOf(const Value &value, Payload payload) {
  return {value.type, {value.shape.begin(), value.shape.end()}, std::move(payload), value.quantization};
}

/// The bytes of a constant, without its sparsity.
Payload denseOf(const Value &constant) {
  if (!constant.sparsity())
    return constant.payload();
  auto bytes = eval::ConstantBytes::of(constant, eval::exact::Limits().memory);
  if (bytes)
    return Payload::owned(llvm::toStringRef(bytes->bytes).str());
  llvm::consumeError(bytes.takeError());
  return constant.payload();
}

/// Computes operators on constants, and notes how.
class Calculator {
public:
  Calculator(Recipes &recipes, PayloadStore &store) : recipes(recipes), store(store) {}

  /// None, with the reason in `why`: it cannot be computed here.
  std::optional<llvm::SmallVector<Payload, 1>> run(const DetachedOperator &op, std::string &why) {
    const char *reason = "";
    auto payloads = evaluate(op.get(), store, reason);
    if (!payloads) {
      why = llvm::toString(payloads.takeError());
      return std::nullopt;
    }
    if (payloads->size() != op.get().results().size()) {
      why = reason;
      return std::nullopt;
    }
    recipes.add(op.get(), *payloads);
    return std::move(*payloads);
  }

private:
  Recipes &recipes;
  PayloadStore &store;
};

/// What each tensor of the source holds that does not depend on its inputs.
class SourceConstants {
public:
  SourceConstants(const Model &model, Calculator &calculator) : model(model), calculator(calculator) {
    for (const auto &graph : model.subgraphs)
      for (const Value *value : graph->values)
        for (const Relation &relation : value->relations)
          if (relation.steps == 0)
            values.try_emplace(relation.tensor, value);
  }

  const Model &model;

  /// None: there is no such tensor, or it depends on the inputs.
  Known of(uint32_t id) {
    auto found = values.find(id);
    return found == values.end() ? std::nullopt : of(*found->second);
  }
  /// The operator that it is computed by; null: it is a constant, or none.
  const DetachedOperator *maker(uint32_t id) const {
    auto value = values.find(id);
    auto found = value == values.end() ? makers.end() : makers.find(value->second);
    return found == makers.end() ? nullptr : found->second.get();
  }

private:
  Calculator &calculator;
  std::map<uint32_t, const Value *> values;
  llvm::DenseMap<const Value *, Known> known;
  std::map<const Value *, std::unique_ptr<DetachedOperator>> makers; ///< of those with one result

  Known of(const Value &wanted) {
    llvm::SmallVector<const Value *> stack{&wanted};
    while (!stack.empty()) {
      const Value *value = stack.back();
      if (known.count(value)) {
        stack.pop_back();
        continue;
      }
      const Operator *producer = value->producer();
      if (value->isConstant() || !producer) {
        known[value] = value->isConstant() ? Known(tensorOf(*value, denseOf(*value))) : std::nullopt;
        continue;
      }
      size_t before = stack.size();
      bool isConstant = producer->numOperands() > 0;
      for (const Use &use : producer->operands()) {
        if (!use.get())
          continue;
        auto operand = known.find(use.get());
        if (operand == known.end())
          stack.push_back(use.get());
        else
          isConstant &= operand->second.has_value();
      }
      if (stack.size() == before)
        compute(*producer, isConstant);
    }
    return known.lookup(&wanted);
  }

  void compute(const Operator &op, bool isConstant) {
    for (const Value *result : op.results())
      if (result)
        known.try_emplace(result);
    if (!isConstant || !op.customCode().empty())
      return;
    llvm::SmallVector<DetachedTensor> operands, results;
    for (const Use &use : op.operands()) {
      operands.push_back(use.get() ? *known.lookup(use.get()) : DetachedTensor());
      operands.back().absent = !use.get();
    }
    for (const Value *result : op.results()) {
      results.push_back(result ? tensorOf(*result, {}) : DetachedTensor());
      results.back().absent = !result;
    }
    std::string why;
    auto made = std::make_unique<DetachedOperator>(op.code, operands, results, op.options, op.options2());
    auto payloads = calculator.run(*made, why);
    for (unsigned i = 0; payloads && i < results.size(); ++i)
      if (op.result(i))
        known[op.result(i)] = tensorOf(*op.result(i), (*payloads)[i]);
    if (payloads && results.size() == 1)
      makers.try_emplace(op.result(0), std::move(made));
  }
};

/// Is it stored as something that holds less than a float? Floats may carry scales, which say nothing.
bool isRounded(const Value &value) {
  return value.type == TensorType::FLOAT16 ||
         (!eval::isFloat(value.type) && value.quantization && value.quantization->quantized());
}

/// The widest of its channels.
std::pair<double, double> endsOf(const Value &value) {
  const bool isUnsigned = value.type == TensorType::UINT8 || value.type == TensorType::UINT16;
  const double steps = std::ldexp(1, static_cast<int>(bitsPerElement(value.type).value_or(0)));
  const double least = isUnsigned ? 0 : -steps / 2, most = least + steps - 1;
  std::pair<double, double> ends(0, 0);
  for (auto [i, scale] : llvm::enumerate(value.quantization->scale)) {
    const auto &zeros = value.quantization->zeroPoint;
    auto zero = static_cast<double>(i < zeros.size() ? zeros[i] : 0);
    ends.first = std::min(ends.first, (least - zero - 0.5) * scale);
    ends.second = std::max(ends.second, (most - zero + 0.5) * scale);
  }
  return ends;
}

class ConstantsProof {
public:
  ConstantsProof(Related &related, Recipes &recipes, PayloadStore &store, std::deque<Buffer> &buffers,
                 FileProof::Constants &proof)
      : original(*related.source.model), result(*related.result.model), recipes(recipes), proof(proof),
        calculator(recipes, store), source(*related.source.model, calculator), buffers(buffers) {}

  void run() {
    for (const auto &graph : source.model.subgraphs)
      for (const Value *value : graph->values)
        sourceIsRounded |= !value->isConstant() && isRounded(*value);
    for (const auto &graph : result.subgraphs)
      for (const Value *value : graph->values)
        if (value->isConstant() && !value->payload().empty())
          judge(*value);
  }

  /// Makes what is rounded the real numbers that it stands for: constants those that were rounded, others floats. What
  /// is left is what the model computes but for its rounding. Tells what the integers held, of what is computed.
  eval::exact::Ends eraseRounding() {
    eval::exact::Ends ends;
    if (sourceIsRounded)
      return ends;
    eraseFakeRounding();
    for (const auto &graph : result.subgraphs)
      for (Value *value : graph->values) {
        auto known = before.find(value);
        if (value->isConstant() ? known == before.end() : !isRounded(*value))
          continue;
        if (!value->isConstant() && !eval::isFloat(value->type))
          ends[value] = endsOf(*value);
        value->type = TensorType::FLOAT32;
        value->quantization = nullptr;
        // A state begins with what the source's begins with, which it stands for as it is now.
        auto isStored = [](const Step &step) { return step.kind == Step::Quantize; };
        for (Relation &relation : value->relations)
          if (value->isVariable && llvm::all_of(result.steps.get(relation.steps), isStored))
            relation.steps = 0;
        if (known != before.end()) {
          value->buffer = &buffers.emplace_back();
          value->buffer->payload = known->second;
        }
      }
    return ends;
  }

private:
  Model &original;
  Model &result;
  Recipes &recipes;
  FileProof::Constants &proof;
  Calculator calculator;
  SourceConstants source;
  std::deque<std::unique_ptr<Model>> parsed;     ///< recipes use their options
  bool sourceIsRounded = false;                  ///< then the result's numbers are rounded as the source's are
  llvm::DenseMap<const Value *, Payload> before; ///< of constants that were rounded: the floats
  std::deque<Buffer> &buffers;

  /// A FAKE_QUANT of the source whose numbers the result stores as integers, or has read from such, rounds as these do.
  void eraseFakeRounding() {
    auto isInteger = [](const Value &value) { return isRounded(value) && !eval::isFloat(value.type); };
    auto isStored = [&](const Value &value) {
      const Operator *producer = value.producer();
      const Value *from = producer && producer->code == BuiltinOperator::DEQUANTIZE ? producer->operand(0) : nullptr;
      return isInteger(value) || (from && isInteger(*from));
    };
    llvm::DenseSet<uint64_t> stored;
    for (const auto &graph : result.subgraphs)
      for (const Value *value : graph->values)
        if (!value->isConstant() && isStored(*value))
          for (const Relation &relation : value->relations)
            stored.insert(relation.tensor);
    for (const auto &graph : original.subgraphs)
      for (Operator &op : graph->operators)
        if (const Value *made = op.result(); op.code == BuiltinOperator::FAKE_QUANT && made)
          for (const Relation &relation : made->relations)
            if (relation.steps == 0 && stored.count(relation.tensor))
              op.code = BuiltinOperator::QUANTIZE; // to floats, which changes nothing
  }

  static std::string nameOf(const Value &value) {
    return "constant " + std::to_string(value.index) + " \"" + printable(value.name) + "\" of subgraph " +
           std::to_string(value.subgraph()->index);
  }
  void untold(std::string why) { ++proof.untold[std::move(why)]; }

  void judge(const Value &value) {
    const ConstantExpressions none(result.steps);
    const ConstantExpressions &all = result.expressions ? *result.expressions : none;
    unsigned others = 0; // of equal bytes that were computed in several ways, each has to be right, and one counts
    bool isFirst = true;
    for (const ConstantExpressions::Operand &from : all.beforeRounding(value)) {
      judge(value, from, all, isFirst ? nullptr : &others);
      isFirst = false;
    }
  }

  void judge(const Value &value, const ConstantExpressions::Operand &from, const ConstantExpressions &all,
             unsigned *others) {
    unsigned &same = others ? *others : proof.same, &computed = others ? *others : proof.computed;
    switch (from.kind) {
    case ConstantExpressions::Operand::Source:
      if (from.steps.empty()) {
        if (auto known = source.of(from.index))
          compare(value, *known, source.maker(from.index), same);
        else
          untold("of a source tensor that depends on the inputs, or that no kernel computes");
        return;
      }
      if (std::string text = expressionText(all, value); !text.empty())
        return express(value, text, same);
      return untold("reshaped to a shape that the map does not tell, or in too many steps");
    case ConstantExpressions::Operand::Made:
      return express(value, all[from.index].text, computed);
    case ConstantExpressions::Operand::Given:
      ++proof.stated;
      return;
    default:
      untold(value.quantization ? "quantised" : "of which the map does not tell how it was computed");
    }
  }

  void express(const Value &value, llvm::StringRef text, unsigned &counter) {
    auto graph = parseExpression(text);
    if (!graph) {
      proof.wrong.push_back(nameOf(value) + ": " + llvm::toString(graph.takeError()));
      return;
    }
    parsed.push_back(std::move(*graph));
    const Subgraph &expression = *parsed.back()->subgraphs.front();
    llvm::DenseMap<const Value *, DetachedTensor> known;
    for (const Value *input : expression.inputs) {
      auto id = sourceOf(*input);
      Known tensor = id ? source.of(*id) : std::nullopt;
      if (!tensor)
        return untold("of a source tensor that depends on the inputs, or that no kernel computes");
      known[input] = std::move(*tensor);
    }
    int64_t largest = eval::product(value.shape);
    for (const auto &[input, tensor] : known)
      largest = std::max(largest, eval::product(tensor.shape));
    const DetachedOperator *last = nullptr;
    std::unique_ptr<DetachedOperator> op;
    for (const Operator &each : expression.operators) {
      llvm::SmallVector<DetachedTensor> operands;
      for (const Use &use : each.operands()) {
        const Value *operand = use.get();
        operands.push_back(!operand                ? DetachedTensor{.absent = true}
                           : operand->isConstant() ? tensorOf(*operand, operand->payload())
                                                   : known.lookup(operand));
      }
      if (each.results().size() != 1)
        return untold("by an operator of several results");
      // A map may be anybody's: nothing becomes much larger than what it is made of and for.
      constexpr int64_t widest = 64, least = 4096;
      if (eval::product(each.result(0)->shape) > widest * (largest + least))
        return untold("by a tensor that is larger than what it is computed from");
      op = std::make_unique<DetachedOperator>(each.code, operands, tensorOf(*each.result(0), {}), each.options,
                                              each.options2());
      std::string why;
      auto payloads = calculator.run(*op, why);
      if (!payloads)
        return untold("by " + each.opName() + ", which is not computed here: " + why);
      known[each.result(0)] = tensorOf(*each.result(0), payloads->front());
      if (each.result(0) == expression.outputs.front())
        last = op.get();
    }
    const Value *made = expression.outputs.front();
    if (!last || last != op.get()) {
      proof.wrong.push_back(nameOf(value) + ": its expression does not end with what makes the result");
      return;
    }
    compare(value, known.lookup(made), last, counter);
  }

  /// Are these the bytes of the constant? `last`: what made them.
  void compare(const Value &value, const DetachedTensor &made, const DetachedOperator *last, unsigned &counter) {
    if (isRounded(value) && made.type == TensorType::FLOAT32)
      return compareRounded(value, made.payload, counter);
    const Payload dense = denseOf(value);
    llvm::ArrayRef<uint8_t> want = made.payload.bytes(), have = dense.bytes();
    if (want == have) {
      if (last && llvm::is_contained({TensorType::FLOAT32, TensorType::FLOAT16, TensorType::FLOAT64}, value.type))
        recipes.add(last->get(), {value.payload()});
      ++counter;
      return;
    }
    std::string text = nameOf(value) + " is not what the map says";
    if (want.size() != have.size()) {
      text += ": it has " + std::to_string(have.size()) + " bytes instead of " + std::to_string(want.size());
    } else {
      size_t size = std::max<size_t>(1, bitsPerElement(value.type).value_or(8) / 8);
      size_t first = std::mismatch(want.begin(), want.end(), have.begin()).first - want.begin();
      text += ", from element " + std::to_string(first / size) + " on";
    }
    proof.wrong.push_back(std::move(text));
  }

  /// Are the stored numbers no further from the real ones than half a step, but for what is beyond all that they hold?
  void compareRounded(const Value &value, const Payload &real, unsigned &counter) {
    eval::Tensor want, have;
    want.shape.assign(value.shape.begin(), value.shape.end());
    have.shape = want.shape;
    have.type = value.type;
    std::vector<uint8_t> floats(real.bytes().vec()), stored(value.payload().bytes().vec());
    want.storage = floats;
    have.storage = stored;
    have.quantization = value.quantization;
    if (value.type == TensorType::INT64)
      return compareWide(value, want.as<float>(), have, real, counter);
    Step rounding;
    rounding.kind = value.quantization ? Step::Quantize : Step::Cast;
    eval::Verdict verdict = eval::checkRelation(want, rounding, nullptr, have);
    if (verdict.kind == eval::Verdict::Unchecked)
      return untold("stored in a way that cannot be compared: " + verdict.text);
    if (verdict.kind == eval::Verdict::Deviates) {
      proof.wrong.push_back(nameOf(value) + " is not what the map says, rounded: " + verdict.text);
      return;
    }
    if (accept(value, real, counter) && value.quantization)
      countClipped(want.as<float>(), have);
  }

  /// The integers are the nearest ones: what they are further off is beyond all of them.
  void countClipped(llvm::ArrayRef<float> want, const eval::Tensor &have) {
    const eval::Channels channels(have);
    auto numbers = eval::realNumbers(have);
    proof.numbers += want.size();
    for (size_t i = 0; numbers && i < want.size(); ++i)
      proof.clipped += std::fabs((*numbers)[i] - want[i]) > channels.scale(channels.of(i)) * halfStep;
  }

  /// The same of biases whose integers are wider than what relations are followed to.
  void compareWide(const Value &value, llvm::ArrayRef<float> want, const eval::Tensor &have, const Payload &real,
                   unsigned &counter) {
    const eval::Channels channels(have);
    for (auto [i, number] : llvm::enumerate(have.as<int64_t>())) {
      double scale = channels.scale(channels.of(i));
      if (channels.fit && i < want.size() &&
          std::fabs(static_cast<double>(number) * scale - want[i]) <= scale * halfStep)
        continue;
      proof.wrong.push_back(nameOf(value) + " is not what the map says, rounded, from element " + std::to_string(i) +
                            " on");
      return;
    }
    accept(value, real, counter);
  }

  static constexpr double halfStep = 0.5 + 1e-6; ///< and what the division may be off by

  /// False: the constant was accepted before, as computed in another way.
  bool accept(const Value &value, const Payload &real, unsigned &counter) {
    ++counter;
    bool isNew = before.try_emplace(&value, real).second;
    proof.rounded += isNew;
    return isNew;
  }
};

} // namespace

const char *verdict(const eval::Proof &proof) {
  return !proof.undecided.empty() ? "undecided" : proof.divisionsByZero ? "undefined" : "equal";
}

const char *FileProof::verdict() const {
  if (isUnequal())
    return "unequal";
  return constants.untold.empty() ? commands::verdict(graph) : "undecided";
}

llvm::Expected<FileProof> proveFiles(Related related, PayloadStore &store, const eval::ProveOptions &options) {
  if (!related.byOrigins)
    return makeError("the origin map does not lead to the source");
  FileProof proof;
  Recipes recipes;
  std::deque<Buffer> buffers;
  ConstantsProof constants(related, recipes, store, buffers, proof.constants);
  constants.run();
  eval::ProveOptions withEnds = options;
  withEnds.ends = constants.eraseRounding();
  auto graph = eval::prove(*related.source.model, *related.result.model, recipes, withEnds);
  if (!graph)
    return graph.takeError();
  for (const eval::Difference &difference : graph->different)
    proof.different.push_back(
        "tensor \"" + printable(difference.value->name) + "\", " +
        (difference.source ? "which is source tensor " + std::to_string(*difference.source) : "an output") + ": " +
        difference.text);
  graph->different.clear();
  proof.graph = std::move(*graph);
  return proof;
}

std::string proofText(const eval::Proof &proof) {
  std::string text = std::to_string(proof.equal) + " tensors equal";
  auto add = [&](uint64_t count, const std::string &what) {
    if (count)
      text += ", " + std::to_string(count) + ' ' + what;
  };
  add(proof.assumed, "by identities of functions");
  for (const auto &[name, count] : proof.functions)
    add(count, "of these behind " + name + " as a function of its operands");
  for (const auto &[reason, count] : proof.undecided)
    add(count, "undecided (" + reason + ")");
  if (proof.clipped)
    text += "; of " + std::to_string(proof.stored) + " numbers that are stored as integers, " +
            std::to_string(proof.clipped) + " clipped on these inputs";
  if (proof.nearComparisons)
    text += "; " + std::to_string(proof.nearComparisons) + " of " + std::to_string(proof.comparisons) +
            " comparisons too near to be decided";
  if (proof.divisionsByZero)
    text += "; " + std::to_string(proof.divisionsByZero) + " numbers undefined";
  return text;
}

/// What it takes to run a proof again.
static std::string drawnText(const eval::Proof &proof) {
  return "modulo " +
         llvm::join(llvm::map_range(proof.primes, [](uint64_t prime) { return std::to_string(prime); }), " and ") +
         ", seed " + std::to_string(proof.seed);
}

std::string certificateText(const eval::Proof &proof) {
  std::string text = std::string(verdict(proof)) + ": " + proofText(proof) + "; " + drawnText(proof);
  for (const std::string &assumption : proof.assumptions)
    text += "; assuming that " + assumption;
  return text;
}

void printProof(const FileProof &proof, bool json, llvm::raw_ostream &os) {
  const FileProof::Constants &constants = proof.constants;
  if (json) {
    llvm::json::OStream out(os, 1);
    auto counts = [&](const char *key, const std::map<std::string, unsigned> &reasons) {
      out.attributeObject(key, [&] {
        for (const auto &[reason, count] : reasons)
          out.attribute(reason, count);
      });
    };
    out.object([&] {
      out.attribute("verdict", proof.verdict());
      out.attributeObject("constants", [&] {
        out.attribute("same", constants.same);
        out.attribute("computed", constants.computed);
        out.attribute("rounded", constants.rounded);
        out.attribute("numbers", static_cast<int64_t>(constants.numbers));
        out.attribute("clipped", static_cast<int64_t>(constants.clipped));
        out.attribute("stated", constants.stated);
        counts("untold", constants.untold);
      });
      out.attributeObject("tensors", [&] {
        out.attribute("equal", proof.graph.equal);
        out.attribute("assumed", proof.graph.assumed);
        counts("functions", proof.graph.functions);
        counts("undecided", proof.graph.undecided);
        out.attribute("comparisons", static_cast<int64_t>(proof.graph.comparisons));
        out.attribute("near", static_cast<int64_t>(proof.graph.nearComparisons));
        out.attribute("undefined", static_cast<int64_t>(proof.graph.divisionsByZero));
        out.attribute("stored", static_cast<int64_t>(proof.graph.stored));
        out.attribute("clipped", static_cast<int64_t>(proof.graph.clipped));
      });
      out.attributeObject("certificate", [&] {
        out.attribute("seed", std::to_string(proof.graph.seed));
        out.attributeArray("primes", [&] {
          for (uint64_t prime : proof.graph.primes) // more than what every reader's numbers hold
            out.value(std::to_string(prime));
        });
      });
      out.attributeArray("assumptions", [&] {
        for (const std::string &text : proof.graph.assumptions)
          out.value(llvm::json::fixUTF8(text));
      });
      out.attributeArray("different", [&] {
        for (const std::string &text : constants.wrong)
          out.value(llvm::json::fixUTF8(text));
        for (const std::string &text : proof.different)
          out.value(llvm::json::fixUTF8(text));
      });
    });
    os << '\n';
    return;
  }
  const bool butForRounding = constants.rounded && llvm::StringRef(proof.verdict()) == "equal";
  os << proof.verdict() << (butForRounding ? " but for rounding" : "") << '\n';
  os << "  constants: " << constants.same << " of the source, " << constants.computed
     << " computed from them as the map says and rounded at each operator, " << constants.stated
     << " stated by rewrites";
  if (constants.rounded)
    os << ", " << constants.rounded << " of these rounded to what they are stored as";
  if (constants.clipped)
    os << ", " << constants.clipped << " of " << constants.numbers << " numbers clipped at the ends of their ranges";
  for (const auto &[reason, count] : constants.untold)
    os << ", " << count << " undecided (" << reason << ')';
  os << "\n  graph: " << proofText(proof.graph) << '\n';
  os << "  " << drawnText(proof.graph) << '\n';
  for (const std::string &text : proof.graph.assumptions)
    os << "  assuming that " << printable(text) << '\n';
  for (const std::string &text : constants.wrong)
    os << "  " << text << '\n';
  constexpr size_t most = 20;
  for (const std::string &text : llvm::ArrayRef(proof.different).take_front(most))
    os << "  " << text << '\n';
  if (proof.different.size() > most)
    os << "  and " << proof.different.size() - most << " more\n";
}

} // namespace origo::commands
