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

  std::string print(const Value &constant) {
    Operand from = all.beforeRounding(constant);
    // What was rounded was a float.
    bool rounded = from.kind != all.of(constant).kind;
    std::string result = operand(from, constant, rounded ? TensorType::FLOAT32 : constant.type);
    if (result.empty() || !last) // a constant of the source, or of a rewrite, needs no operators
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
  std::map<uint32_t, std::string> made;    ///< by what is noted: its label
  std::map<std::string, std::string> scalars;
  std::string lines;
  llvm::raw_string_ostream os;
  unsigned last = 0; ///< of operators

  static std::string typeOf(TensorType type, llvm::ArrayRef<int32_t> shape) {
    std::string text = tensorTypeShortName(type).str() + "[";
    llvm::raw_string_ostream out(text);
    llvm::interleave(shape, out, ",");
    return text + "]";
  }
  /// Begins the line of an operator; empty: there are too many.
  std::string begin(TensorType type, llvm::ArrayRef<int32_t> shape) {
    if (last >= mostOperators || tensorTypeShortName(type).empty())
      return "";
    std::string label = "%c" + std::to_string(last++);
    os << '\n' << label << ": " << typeOf(type, shape) << " = ";
    return label;
  }

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
      std::string operand = label;
      auto list = [&](llvm::ArrayRef<int64_t> numbers) {
        std::string constant = "%i" + std::to_string(last) + "." + std::to_string(lists++);
        os << '\n' << constant << ": i32[" << numbers.size() << "] = const [";
        llvm::interleaveComma(numbers, os);
        os << ']';
        return constant;
      };
      std::string first, second;
      if (step.kind != Step::Reshape)
        first = list(step.first);
      if (step.kind == Step::Slice)
        second = list(step.second);
      label = begin(type, *shapes[i + 1]);
      if (label.empty())
        return "";
      if (step.kind == Step::Permute)
        os << "TRANSPOSE(" << operand << ", " << first << ')';
      else if (step.kind == Step::Slice)
        os << "SLICE(" << operand << ", " << first << ", " << second << ')';
      else
        reshapeOf(operand, *shapes[i + 1]);
    }
    return label;
  }
  unsigned lists = 0;

  void reshapeOf(llvm::StringRef operand, llvm::ArrayRef<int32_t> shape) {
    os << "RESHAPE(" << operand << ")";
    os << (shape.empty() ? "" : " {new_shape=[");
    llvm::interleaveComma(shape, os);
    os << (shape.empty() ? "" : "]}");
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
    data = typeOf(as.type, as.shape) + " = const " + data;
    auto [known, isNew] = scalars.try_emplace(data, "%s" + std::to_string(scalars.size()));
    if (!isNew)
      return known->second;
    if (!isInteger && ++numbers > mostScalars)
      return "";
    os << '\n' << known->second << ": " << data;
    return known->second;
  }
  unsigned numbers = 0;

  std::string computed(uint32_t index, TensorType type, llvm::ArrayRef<int32_t> shape) {
    auto known = made.find(index);
    const Noted &noted = all[index];
    if (known == made.end()) {
      std::string label = noted.op ? computed(noted) : continued(noted.text);
      if (label.empty())
        return "";
      known = made.emplace(index, label).first;
    }
    // The bytes of a constant may be those of another shape.
    if (!noted.op || llvm::ArrayRef<int32_t>(noted.op->get().result(noted.result)->shape) == shape)
      return known->second;
    std::string label = begin(type, shape);
    if (!label.empty())
      reshapeOf(known->second, shape);
    return label;
  }

  std::string computed(const Noted &noted) {
    // What is behind it is told first, as deep as lines are allowed.
    if (++depth > mostOperators)
      return "";
    const Operator &op = noted.op->get();
    std::string list;
    for (auto [i, from] : llvm::enumerate(noted.operands)) {
      std::string label = from.kind == Operand::Absent ? "_" : operand(from, *op.operand(i));
      if (label.empty())
        return "";
      list += (i ? ", " : "") + label;
    }
    --depth;
    return line(op, noted.result, list);
  }
  unsigned depth = 0;

  std::string line(const Operator &op, unsigned result, llvm::StringRef operands) {
    if (!op.info() || op.results().size() != 1 || result != 0)
      return "";
    std::string label = begin(op.result(0)->type, op.result(0)->shape);
    if (label.empty())
      return "";
    os << op.info()->name << '(' << operands << ')';
    printOptions(op, os);
    return label;
  }

  /// What the map of the model said, with labels of this text.
  std::string continued(llvm::StringRef text) {
    auto model = parseExpression(text);
    if (!model) {
      llvm::consumeError(model.takeError());
      return "";
    }
    const Subgraph &graph = *(*model)->subgraphs.front();
    llvm::DenseMap<const Value *, std::string> labels;
    for (const Value *input : graph.inputs)
      if (auto id = sourceOf(*input))
        labels[input] = operand({Operand::Source, *id}, *input);
    for (const Operator &op : graph.operators) {
      std::string list;
      for (unsigned i = 0; i < op.numOperands(); ++i) {
        const Value *value = op.operand(i);
        std::string label = !value ? "_" : value->isConstant() ? given(*value) : labels.lookup(value);
        if (label.empty())
          return "";
        list += (i ? ", " : "") + label;
      }
      std::string label = line(op, 0, list);
      if (label.empty())
        return "";
      labels[op.result(0)] = label;
    }
    return labels.lookup(graph.outputs.front());
  }
};

} // namespace

std::string expressionText(const ConstantExpressions &all, const Value &constant) {
  return ExpressionPrinter(all).print(constant);
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
