#include "report/origin/Words.h"

#include "ir/Error.h"
#include "origin/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace origo;
using namespace origo::report;
using namespace origo::origin;
using llvm::StringRef;

std::string report::shortened(llvm::ArrayRef<std::string> parts, bool full) {
  constexpr size_t enough = 8;
  if (full || parts.size() <= enough + 1)
    return llvm::join(parts, ", ");
  return llvm::join(parts.take_front(enough), ", ") + ", and " + std::to_string(parts.size() - enough) + " more";
}

std::string MapNames::kind(StringRef op, StringRef customCode) const {
  return printable(op) + (customCode.empty() ? "" : ":" + printable(customCode));
}

StringRef MapNames::nameOf(const OperatorRow &op) {
  for (const std::string &name : op.outputs)
    if (!name.empty())
      return name;
  return {};
}

static std::string named(StringRef name) { return name.empty() ? "" : " \"" + printable(name) + "\""; }

static std::string inSubgraph(const MapNames &names, uint32_t graph) {
  return names.map.target.subgraphs.size() > 1 ? " of subgraph " + std::to_string(graph) : "";
}

std::string MapNames::sourceOperatorWords(uint32_t id) const {
  std::string words = "source operator " + std::to_string(id);
  if (const SourceOperator *op = sourceOperator(id)) {
    words += " (" + kind(op->op, op->customCode) + named(nameOf(*op));
    if (const SourceFrame *frame = map.source.frameOf(*op))
      words += ", " + printable(map.source.lineOf(*frame));
    words += ")";
  }
  return words;
}

SourceThing MapNames::thing(const MapLedgerRow &row) const {
  if (!row.isTensor)
    return SourceThing::Operator;
  const SourceTensor *tensor = sourceTensor(row.id);
  return tensor && tensor->kind == TensorKind::Constant ? SourceThing::Constant : SourceThing::Tensor;
}

std::string MapNames::sourceTensorWords(uint32_t id) const {
  const SourceTensor *tensor = sourceTensor(id);
  return "source tensor " + std::to_string(id) + (tensor ? named(tensor->name) : "");
}

std::string MapNames::operatorWords(uint32_t graph, uint32_t index) const {
  std::string words = "operator " + std::to_string(index);
  if (const OperatorRow *op = writtenOperator(graph, index))
    words += " (" + kind(op->op, op->customCode) + named(nameOf(*op)) + ")";
  return words + inSubgraph(*this, graph);
}

std::string MapNames::tensorWords(uint32_t graph, uint32_t index) const {
  const TensorRow *row = writtenTensor(graph, index);
  return (row && row->constant ? "constant " : "tensor ") + std::to_string(index) + (row ? named(row->name) : "") +
         inSubgraph(*this, graph);
}

std::string MapNames::intoWords(const MapLedgerRow &row, bool full) const {
  std::vector<std::string> parts;
  for (auto [graph, index] : row.operators)
    parts.push_back(operatorWords(graph, index));
  for (auto [graph, index] : row.tensors)
    parts.push_back(tensorWords(graph, index));
  return shortened(parts, full);
}

/// Why something could do without an operand, behind "not needed: ".
static std::string reasonWords(StringRef reason) {
  if (reason == "shape-only")
    return "states a shape only";
  if (reason == "times-zero")
    return "is multiplied by zero";
  if (reason == "branch-not-taken")
    return "is a branch that is never taken";
  if (reason == "not-in-slice")
    return "is in no part that is used";
  if (reason == "empty")
    return "has no elements, or nothing comes of it";
  if (reason == "taken-away")
    return "is added to a difference that it was taken away in";
  return "for the reason \"" + printable(reason) + "\", which is not one that this version knows";
}

std::string MapNames::unneededWords(const MapUnneeded &row) const {
  return "not needed as operand " + std::to_string(row.operand) + " of " + sourceOperatorWords(row.user) + ": " +
         reasonWords(row.reason);
}

static std::string numbers(llvm::ArrayRef<int64_t> list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i)
    text += (i ? ", " : "") + std::to_string(list[i]);
  return text + "]";
}

static std::string termWords(const Term &term, const MapNames &names, uint32_t graph) {
  if (term.kind == Term::Constant)
    return names.tensorWords(graph, term.constant);
  if (term.kind == Term::Source)
    return names.sourceTensorWords(term.constant);
  return llvm::formatv("{0}", term.number).str();
}

static std::string stepWords(const MapStep &step, const MapNames &names, uint32_t graph) {
  switch (step.kind) {
  case MapStep::Permute:
    return "its axes permuted by " + numbers(step.first);
  case MapStep::Reshape:
    return "reshaped";
  case MapStep::Slice:
    return "the part of " + numbers(step.second) + " at " + numbers(step.first);
  case MapStep::Placed:
    return "placed as the part of " + numbers(step.second) + " at " + numbers(step.first);
  case MapStep::Cast:
    return "cast";
  case MapStep::Scaled:
    return llvm::formatv("each of {0} along axis {1} times a number of its own", step.factors.size(), step.axis).str();
  case MapStep::Affine: {
    std::string words;
    if (step.scale.kind != Term::Null)
      words += "times " + termWords(step.scale, names, graph);
    if (step.shift.kind != Term::Null)
      words += (words.empty() ? "plus " : " plus ") + termWords(step.shift, names, graph);
    if (words.empty())
      words = "scaled by nothing";
    return words + (step.axis >= 0 ? " along axis " + std::to_string(step.axis) : "");
  }
  case MapStep::Quantize:
    return "quantised";
  case MapStep::Unknown:
    break;
  }
  return "after an unknown step " + printable(step.unknown);
}

std::string MapNames::relationWords(const MapRelation &relation, uint32_t graph) const {
  std::string words;
  for (const MapStep &step : relation.steps)
    words += (words.empty() ? "" : ", then ") + stepWords(step, *this, graph);
  if (!relation.exact)
    words += words.empty() ? "up to float re-association" : " (up to float re-association)";
  return words;
}
