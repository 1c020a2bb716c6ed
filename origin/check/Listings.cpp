#include "origin/Utf8.h"
#include "origin/check/Context.h"

/// Law 4: the map lists exactly what the bytes of the two files hold.
using namespace origo;
using namespace origo::origin;

/// Is `stated` the text of the file, or that text as the side file writes it (invalid UTF-8 replaced)?
static bool sameText(std::string_view actual, const std::string &stated) {
  return actual == stated || replaceInvalidUtf8(actual) == stated;
}

static std::string_view text(const flatbuffers::String *string) {
  return string ? std::string_view(string->c_str(), string->size()) : std::string_view();
}

static const char *kindName(TensorKind kind) {
  static const char *const names[] = {"input", "activation", "variable", "constant", "absent"};
  return names[static_cast<unsigned>(kind)];
}

static std::string differ(const std::string &place, const char *what, std::string_view actual,
                          std::string_view stated) {
  return place + " has the " + what + " " + quoted(actual) + " in the file, but " + quoted(stated) + " in the map";
}

static std::string counts(const std::string &place, const char *what, size_t actual, size_t stated) {
  return place + " has " + std::to_string(actual) + " " + what + ", but the map lists " + std::to_string(stated);
}

static void checkSourceSubgraph(CheckContext &context, const FileGraph &file, size_t g) {
  Report &report = context.report;
  const Listing &listing = context.map.source;
  const SourceSubgraph &rows = listing.subgraphs[g];
  const FileSubgraph &graph = file.subgraphs[g];
  std::string place = "source subgraph " + std::to_string(g);
  bool names = listing.namesKnown;
  if (names && !sameText(text(graph.table->name()), rows.name))
    report.add(4, [&] { return differ(place, "name", text(graph.table->name()), rows.name); });
  if (rows.operators.size() != graph.operatorCount || rows.tensors.size() != graph.tensorCount) {
    if (rows.operators.size() != graph.operatorCount)
      report.add(4, [&] { return counts(place, "operators", graph.operatorCount, rows.operators.size()); });
    if (rows.tensors.size() != graph.tensorCount)
      report.add(4, [&] { return counts(place, "tensors", graph.tensorCount, rows.tensors.size()); });
    return;
  }
  if (rows.firstOperator != graph.firstOperator || rows.firstTensor != graph.firstTensor)
    report.add(4, [&] { return place + " does not number its operators or tensors in file order"; });
  std::vector<int32_t> outputs;
  for (uint32_t i = 0; i < graph.operatorCount; ++i) {
    const SourceOperator &row = rows.operators[i];
    uint32_t op = graph.firstOperator + i;
    if (row.op != file.operatorName(op))
      report.add(4, [&] { return differ(context.sourceOperator(op), "kind", file.operatorName(op), row.op); });
    if (!sameText(file.customCode(op), row.customCode.str()))
      report.add(
          4, [&] { return differ(context.sourceOperator(op), "custom code", file.customCode(op), row.customCode); });
    outputs.clear();
    file.forEachOutput(op, [&](int32_t tensor) { outputs.push_back(tensor); });
    if (!(row.tensors == outputs))
      report.add(4, [&] { return context.sourceOperator(op) + " has other outputs in the file than in the map"; });
  }
  for (uint32_t i = 0; i < graph.tensorCount; ++i) {
    const SourceTensor &row = rows.tensors[i];
    uint32_t tensor = graph.firstTensor + i;
    if (names && !sameText(file.tensorName(tensor), row.name.str()))
      report.add(4, [&] {
        return differ("source tensor " + std::to_string(tensor), "name", file.tensorName(tensor), row.name.str());
      });
    if (file.kind[tensor] != row.kind)
      report.add(4, [&] {
        return differ(context.sourceTensor(tensor), "kind", kindName(file.kind[tensor]), kindName(row.kind));
      });
  }
}

using SignatureMaps = flatbuffers::Vector<flatbuffers::Offset<circle::TensorMap>>;

static bool sameEntries(const FileGraph &file, uint32_t subgraph, bool names, const SignatureMaps *actual,
                        llvm::ArrayRef<SourceSignature::Entry> stated) {
  if ((actual ? actual->size() : 0) != stated.size())
    return false;
  for (uint32_t i = 0; i < stated.size(); ++i) {
    const circle::TensorMap *entry = actual->Get(i);
    if (names && !sameText(text(entry->name()), stated[i].name))
      return false;
    // An entry that names no tensor of the file has no id to compare.
    if (subgraph >= file.subgraphs.size())
      continue;
    int32_t tensor = file.tensorId(file.subgraphs[subgraph], entry->tensor_index());
    if (tensor >= 0 && tensor != stated[i].tensor)
      return false;
  }
  return true;
}

static void checkSignatures(CheckContext &context, const FileGraph &file) {
  const Listing &listing = context.map.source;
  auto *actual = file.model().signature_defs();
  if ((actual ? actual->size() : 0) != listing.signatures.size()) {
    context.report.add(
        4, [&] { return counts("the source", "signatures", actual ? actual->size() : 0, listing.signatures.size()); });
    return;
  }
  for (uint32_t i = 0; i < listing.signatures.size(); ++i) {
    const circle::SignatureDef *def = actual->Get(i);
    const SourceSignature &row = listing.signatures[i];
    bool same = (!listing.namesKnown || sameText(text(def->signature_key()), row.key)) &&
                def->subgraph_index() == row.subgraph &&
                sameEntries(file, row.subgraph, listing.namesKnown, def->inputs(), row.inputs) &&
                sameEntries(file, row.subgraph, listing.namesKnown, def->outputs(), row.outputs);
    if (!same)
      context.report.add(4, [&] {
        return "signature " + quoted(text(def->signature_key())) + " of the source is another one in the map";
      });
  }
}

static void checkTargetSubgraph(CheckContext &context, size_t g) {
  Report &report = context.report;
  const FileGraph &file = context.target;
  const TargetSubgraph &rows = context.map.target.subgraphs[g];
  const FileSubgraph &graph = file.subgraphs[g];
  std::string place = "subgraph " + std::to_string(g);
  if (!sameText(text(graph.table->name()), rows.name))
    report.add(4, [&] { return differ(place, "name", text(graph.table->name()), rows.name); });
  if (rows.operators.size() > graph.operatorCount)
    report.add(4, [&] { return counts(place, "operators", graph.operatorCount, rows.operators.size()); });
  for (uint32_t i = 0; i < std::min<size_t>(graph.operatorCount, rows.operators.size()); ++i) {
    const OperatorRow &row = rows.operators[i];
    uint32_t op = graph.firstOperator + i;
    if (row.op != file.operatorName(op))
      report.add(4, [&] { return differ(context.writtenOperator(op), "kind", file.operatorName(op), row.op); });
    if (!sameText(file.customCode(op), row.customCode.str()))
      report.add(
          4, [&] { return differ(context.writtenOperator(op), "custom code", file.customCode(op), row.customCode); });
    size_t output = 0;
    bool same = true;
    file.forEachOutput(op, [&](int32_t tensor) {
      std::string_view name = tensor < 0 ? std::string_view() : file.tensorName(tensor);
      same = same && output < row.outputs.size() && sameText(name, row.outputs[output]);
      ++output;
    });
    if (!same || output != row.outputs.size())
      report.add(4, [&] { return context.writtenOperator(op) + " has other outputs in the file than in the map"; });
  }
  std::vector<bool> seen(graph.tensorCount);
  for (const TensorRow &row : rows.tensors) {
    if (row.index >= graph.tensorCount || seen[row.index]) {
      report.add(4, [&] {
        return place + (row.index < graph.tensorCount ? " has two rows for tensor " : " has no tensor ") +
               std::to_string(row.index);
      });
      continue;
    }
    seen[row.index] = true;
    uint32_t tensor = graph.firstTensor + row.index;
    if (!sameText(file.tensorName(tensor), row.name))
      report.add(4, [&] {
        return differ(place + ", tensor " + std::to_string(row.index), "name", file.tensorName(tensor), row.name);
      });
    bool constant = file.kind[tensor] == TensorKind::Constant;
    if (constant != row.constant)
      report.add(4, [&] {
        return context.writtenTensor(tensor) + (constant ? " is a constant, but the map lists it among the values"
                                                         : " is no constant, but the map lists it among them");
      });
  }
}

/// A graph of ONNX is a file with operators CUSTOM that are called after its nodes, and of what calls subgraphs.
static std::string_view formatOf(const FileGraph &file) {
  bool onnx = !file.tflite() && !file.operators.empty();
  for (uint32_t op = 0; onnx && op < file.operators.size(); ++op)
    onnx = file.customCode(op).substr(0, 5) == "onnx." || file.operatorName(op) == "IF" ||
           file.operatorName(op) == "WHILE" || file.operatorName(op) == "CALL";
  return file.tflite() ? "tflite" : onnx ? "onnx" : "circle";
}

static void checkFormat(CheckContext &context, const char *which, const FileGraph &file, const std::string &stated) {
  if (stated != formatOf(file))
    context.report.add(4, [&] {
      return std::string("the ") + which + " file is a " + std::string(formatOf(file)) + " model, but the map says " +
             quoted(stated);
    });
}

void origin::checkListings(CheckContext &context, const FileGraph *source) {
  const OriginMap &map = context.map;
  if (source) {
    checkFormat(context, "source", *source, map.source.format);
    if (source->subgraphs.size() != map.source.subgraphs.size())
      context.report.add(
          4, [&] { return counts("the source", "subgraphs", source->subgraphs.size(), map.source.subgraphs.size()); });
    for (size_t g = 0; g < std::min(source->subgraphs.size(), map.source.subgraphs.size()); ++g)
      checkSourceSubgraph(context, *source, g);
    checkSignatures(context, *source);
  }
  checkFormat(context, "written", context.target, map.target.format);
  if (context.target.subgraphs.size() != map.target.subgraphs.size())
    context.report.add(4, [&] {
      return counts("the file", "subgraphs", context.target.subgraphs.size(), map.target.subgraphs.size());
    });
  for (size_t g = 0; g < std::min(context.target.subgraphs.size(), map.target.subgraphs.size()); ++g)
    checkTargetSubgraph(context, g);
}
