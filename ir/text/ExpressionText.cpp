#include "ir/text/ExpressionText.h"

#include "ir/text/Elements.h"
#include "ir/text/Text.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

namespace origo {

namespace {

using Operand = ConstantExpressions::Operand;
using Noted = ConstantExpressions::Noted;

class ExpressionPrinter {
public:
  explicit ExpressionPrinter(const ConstantExpressions &all) : all(all), os(lines) {}

  /// `type`: before it was rounded.
  std::string print(const Operand &from, const Value &constant, TensorType type) {
    std::string result = operand(from, constant, type);
    if (result.empty() || !operators) // a constant of the source, or of a rewrite, needs no operators
      return "";
    std::string text = "(";
    llvm::raw_string_ostream head(text);
    llvm::interleaveComma(sources, head, [&](const auto &source) { head << source.second; });
    head << ") -> (" << result << ") {" << lines;
    return text;
  }

private:
  const ConstantExpressions &all;
  std::map<uint32_t, std::string> sources; ///< by id: its declaration
  struct Made {
    std::string label;
    llvm::SmallVector<int32_t, 6> shape;
  };
  std::map<uint32_t, Made> made; ///< by what is noted
  std::string lines;
  llvm::raw_string_ostream os;

  static std::string typeOf(TensorType type, llvm::ArrayRef<int32_t> shape) {
    std::string text = tensorTypeShortName(type).str() + "[";
    llvm::raw_string_ostream out(text);
    llvm::interleave(shape, out, ",");
    return text + "]";
  }
  /// A line, or the one that says the same already; empty: there are too many. So the text does not depend on in how
  /// many runs a constant was computed.
  std::string line(TensorType type, llvm::ArrayRef<int32_t> shape, const std::string &what, bool isOperator) {
    if (tensorTypeShortName(type).empty())
      return "";
    std::string text = typeOf(type, shape) + " = " + what;
    if (auto known = written.find(text); known != written.end())
      return known->second;
    if (isOperator && operators >= mostOperators)
      return "";
    std::string label = isOperator ? "%c" + std::to_string(operators++) : "%s" + std::to_string(stated++);
    os << '\n' << label << ": " << text;
    return written[text] = label;
  }
  std::map<std::string, std::string> written;
  unsigned operators = 0, stated = 0;

  /// Empty here and below: it cannot be told.
  std::string operand(const Operand &from, const Value &as) { return operand(from, as, as.type); }
  std::string operand(const Operand &from, const Value &as, TensorType type) {
    switch (from.kind) {
    case Operand::Absent:
      return "_";
    case Operand::Source: {
      std::string label = "%" + std::to_string(from.index);
      if (!from.steps.empty())
        return moved(from, type, as.shape);
      sources.try_emplace(from.index, label + ": " + tensorTypeShortName(type).str());
      return label;
    }
    case Operand::Made:
      return computed(from.index, type, as.shape);
    case Operand::Given:
      return given(as);
    case Operand::Unknown:
      break;
    }
    return "";
  }

  /// A tensor of the source with its elements at other places.
  std::string moved(const Operand &from, TensorType type, llvm::ArrayRef<int32_t> shape) {
    // Shapes between the steps, from the last one back; a reshape does not say what was before.
    std::vector<std::optional<llvm::SmallVector<int32_t, 6>>> shapes(from.steps.size() + 1);
    shapes.back().emplace(shape.begin(), shape.end());
    for (size_t i = from.steps.size(); i-- > 0;)
      if (const Step &step = from.steps[i]; step.kind == Step::Permute && shapes[i + 1]) {
        auto &before = shapes[i].emplace(step.first.size());
        for (auto [to, place] : llvm::enumerate(step.first))
          before[static_cast<size_t>(place)] = (*shapes[i + 1])[to];
      } else if (step.kind == Step::Slice) {
        shapes[i + 1].emplace(step.second.begin(), step.second.end());
      }
    std::string label = "%" + std::to_string(from.index);
    sources.try_emplace(from.index, label + ": " + tensorTypeShortName(type).str());
    for (auto [i, step] : llvm::enumerate(from.steps)) {
      if (!shapes[i + 1])
        return "";
      auto list = [&](llvm::ArrayRef<int64_t> numbers) {
        return line(TensorType::INT32, {static_cast<int32_t>(numbers.size())}, "const " + listOf(numbers), false);
      };
      if (step.kind == Step::Permute)
        label = "TRANSPOSE(" + label + ", " + list(step.first) + ")";
      else if (step.kind == Step::Slice)
        label = "SLICE(" + label + ", " + list(step.first) + ", " + list(step.second) + ")";
      else
        label = reshapeOf(label, *shapes[i + 1]);
      label = line(type, *shapes[i + 1], label, true);
      if (label.empty())
        return "";
    }
    return label;
  }

  template <class T> static std::string listOf(llvm::ArrayRef<T> numbers) {
    std::string text = "[";
    llvm::raw_string_ostream out(text);
    llvm::interleaveComma(numbers, out);
    return text + "]";
  }

  static std::string reshapeOf(const std::string &operand, llvm::ArrayRef<int32_t> shape) {
    return "RESHAPE(" + operand + ")" + (shape.empty() ? "" : " {new_shape=" + listOf(shape) + "}");
  }

  /// What a rewrite states: a shape, axes, or a scalar.
  std::string given(const Value &as) {
    const Payload &payload = as.payload();
    uint64_t count = 1;
    for (int32_t size : as.shape)
      count *= static_cast<uint64_t>(size);
    bool isInteger = text::numberKind(as.type).kind == text::NumberKind::Signed;
    constexpr uint64_t longest = 1 << 16;
    if (payload.empty() || !payload.hasBytes() || payload.size() > longest)
      return "";
    std::string data;
    llvm::raw_string_ostream out(data);
    if (count == 1 || (isInteger && count <= ConstantExpressions::mostIntegers)) {
      if (!text::printElements(out, as.type, payload.bytes(), count))
        return "";
    } else if (out << "splat "; !text::printSplat(out, as.type, payload.bytes(), count)) {
      return "";
    }
    const unsigned before = stated;
    std::string label = line(as.type, as.shape, "const " + data, false);
    if (!isInteger && stated != before && ++numbers > mostScalars)
      return "";
    return label;
  }
  unsigned numbers = 0;

  std::string computed(uint32_t index, TensorType type, llvm::ArrayRef<int32_t> shape) {
    auto known = made.find(index);
    if (known == made.end()) {
      const Noted &noted = all[index];
      Made now = noted.op ? computed(noted) : continued(noted.text);
      if (now.label.empty())
        return "";
      known = made.emplace(index, std::move(now)).first;
    }
    // The bytes of a constant may be those of another shape.
    if (llvm::ArrayRef<int32_t>(known->second.shape) == shape)
      return known->second.label;
    return line(type, shape, reshapeOf(known->second.label, shape), true);
  }

  Made computed(const Noted &noted) {
    // What is behind it is told first, as deep as lines are allowed.
    if (++depth > mostOperators)
      return {};
    const Operator &op = noted.op->get();
    std::vector<std::string> labels(noted.operands.size());
    // What is stated comes right before the operator.
    for (bool stated : {false, true})
      for (auto [i, from] : llvm::enumerate(noted.operands))
        if ((from.kind == Operand::Given) == stated)
          if (labels[i] = from.kind == Operand::Absent ? "_" : operand(from, *op.operand(i)); labels[i].empty())
            return {};
    --depth;
    const auto &shape = op.result(noted.result)->shape;
    return {operatorLine(op, noted.result, labels), {shape.begin(), shape.end()}};
  }
  unsigned depth = 0;

  std::string operatorLine(const Operator &op, unsigned result, const std::vector<std::string> &operands) {
    if (!op.info() || op.results().size() != 1 || result != 0)
      return "";
    std::string text = op.info()->name.str() + "(";
    llvm::raw_string_ostream out(text);
    llvm::interleaveComma(operands, out);
    out << ')';
    printOptions(op, out);
    return line(op.result(0)->type, op.result(0)->shape, text, true);
  }

  /// What the map of the model said, with labels of this text.
  Made continued(llvm::StringRef text) {
    auto model = parseExpression(text);
    if (!model) {
      llvm::consumeError(model.takeError());
      return {};
    }
    const Subgraph &graph = *(*model)->subgraphs.front();
    llvm::DenseMap<const Value *, std::string> labels;
    for (const Value *input : graph.inputs)
      if (auto id = sourceOf(*input))
        labels[input] = operand({Operand::Source, *id}, *input);
    for (const Operator &op : graph.operators) {
      std::vector<std::string> operands;
      for (const Use &use : op.operands()) {
        const Value *value = use.get();
        operands.push_back(!value ? "_" : value->isConstant() ? given(*value) : labels.lookup(value));
        if (operands.back().empty())
          return {};
      }
      std::string label = operatorLine(op, 0, operands);
      if (label.empty())
        return {};
      labels[op.result(0)] = label;
    }
    const Value &output = *graph.outputs.front();
    return {labels.lookup(&output), {output.shape.begin(), output.shape.end()}};
  }
};

} // namespace

std::string expressionText(const ConstantExpressions &all, const Value &constant) {
  const Operand::Kind now = all.of(constant).kind;
  std::string first;
  for (const Operand &way : all.beforeRounding(constant)) {
    // What was rounded was a float.
    TensorType type = way.kind == now ? constant.type : TensorType::FLOAT32;
    std::string text = ExpressionPrinter(all).print(way, constant, type);
    // Of several ways the same one, in whatever order they were found.
    if (!text.empty() && (first.empty() || text < first))
      first = std::move(text);
  }
  return first;
}

llvm::Expected<std::unique_ptr<Model>> parseExpression(llvm::StringRef text) {
  constexpr size_t longest = 1 << 16;
  if (text.size() > longest)
    return makeError("an expression of a constant is longer than " + llvm::Twine(longest) + " bytes");
  if (text.contains("file"))
    return makeError("an expression of a constant reads a file");
  PayloadStore store;
  auto model = parseText(("origo 1\nmodel circle\nsubgraph @c" + text + "\n}\n").str(), "", store);
  if (!model)
    return makeError("an expression of a constant is not well-formed: " + llvm::toString(model.takeError()));
  if ((*model)->subgraphs.size() != 1 || (*model)->subgraphs.front()->outputs.size() != 1)
    return makeError("an expression of a constant has not one result");
  return model;
}

std::optional<uint32_t> sourceOf(const Value &input) {
  uint32_t id;
  llvm::StringRef name = input.name;
  return name.empty() || name.getAsInteger(10, id) ? std::nullopt : std::optional(id);
}

} // namespace origo
