#include "import/onnx/Layers.h"

#include "origin/Naming.h"
#include "origin/SourceLines.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace origo::onnx {

using llvm::StringRef;
using origin::SourceLayer;

namespace {

constexpr size_t deepestScope = 16; // a name may consist of separators

StringRef metadataOf(const NodeProto &node, StringRef key) {
  for (const auto &[name, value] : node.metadata)
    if (name == key)
      return value;
  return {};
}

/// A list of texts as Python's repr() writes it: ['', 'conv1', "it's"].
std::vector<std::string> pythonList(StringRef text) {
  std::vector<std::string> list;
  for (size_t at = 0; at < text.size(); ++at) {
    char quote = text[at];
    if (quote != '\'' && quote != '"')
      continue;
    std::string &one = list.emplace_back();
    for (++at; at < text.size() && text[at] != quote; ++at) {
      at += text[at] == '\\' && at + 1 < text.size();
      one += text[at];
    }
  }
  return list;
}

/// Modules from the outermost on, each with the path from the model on: ['', 'layers.0', 'layers.0.mlp'].
void addModules(llvm::ArrayRef<std::string> modules, SourceLayer &layer) {
  std::string outer;
  for (const std::string &module : modules) {
    StringRef own = module;
    if (own.empty() || own == outer)
      continue;
    if (!outer.empty() && own.starts_with(outer) && own.substr(outer.size()).starts_with("."))
      own = own.drop_front(outer.size() + 1);
    if (layer.scope.size() < deepestScope)
      layer.scope.push_back(own.str());
    outer = module;
  }
}

/// PyTorch with torch.export: a list of modules and a list of their classes, the operator last in each.
bool byNameScopes(const NodeProto &node, SourceLayer &layer) {
  std::vector<std::string> names = pythonList(metadataOf(node, "pkg.torch.onnx.name_scopes"));
  if (names.size() < 2)
    return false;
  names.pop_back();
  addModules(names, layer);
  std::vector<std::string> classes = pythonList(metadataOf(node, "pkg.torch.onnx.class_hierarchy"));
  if (classes.size() >= 2)
    layer.className = classes[classes.size() - 2];
  return !layer.scope.empty();
}

/// The same in one text: "__main__.Model/conv1: torch.nn.modules.conv.Conv2d/conv2d: aten.conv2d.default".
bool byNamespace(const NodeProto &node, SourceLayer &layer) {
  llvm::SmallVector<StringRef> parts;
  metadataOf(node, "namespace").split(parts, '/');
  if (parts.size() < 2)
    return false;
  std::vector<std::string> names;
  for (StringRef part : llvm::ArrayRef(parts).drop_back()) {
    auto [name, className] = part.split(": ");
    if (className.empty())
      name = "";
    names.push_back(name.str());
    layer.className = className.empty() ? part.str() : className.str();
  }
  addModules(names, layer);
  return !layer.scope.empty();
}

/// What names say, by the rules for all formats.
bool byName(StringRef name, SourceLayer &layer) {
  origin::NamedLayer named = origin::layerOfName(name);
  size_t outer = 0; // bytes of the scope before
  for (size_t i = 0; i < named.depth; ++i) {
    layer.scope.emplace_back(named.scopes[i].substr(outer));
    outer = named.scopes[i].size() + 1;
  }
  return named.depth > 0;
}
bool byNodeName(const NodeProto &node, SourceLayer &layer) { return byName(node.name, layer); }
bool byResultName(const NodeProto &node, SourceLayer &layer) {
  return !node.outputs.empty() && byName(node.outputs[0], layer);
}

/// PyTorch up to 1.12 numbers nodes and values, and tells the module in the names of its parameters only:
/// "base_net.0.0.weight". A number belongs to the list that it counts in.
bool byParameter(const NodeProto &node, SourceLayer &layer) {
  for (StringRef input : node.inputs) {
    auto [module, parameter] = input.rsplit('.');
    if (!llvm::is_contained({"weight", "bias", "running_mean", "running_var", "in_proj_weight", "weight_g", "weight_v"},
                            parameter) ||
        module.contains('/') || module.empty())
      continue;
    llvm::SmallVector<StringRef> parts;
    module.split(parts, '.');
    for (StringRef part : parts) {
      bool isNumber = !part.empty() && llvm::all_of(part, llvm::isDigit);
      if (isNumber && !layer.scope.empty())
        layer.scope.back() += "." + part.str();
      else if (layer.scope.size() < deepestScope)
        layer.scope.push_back(part.str());
    }
    return true;
  }
  return false;
}

/// How exporters tell the layer of a node. The first that does so counts.
constexpr bool (*spellings[])(const NodeProto &, SourceLayer &) = {byNameScopes, byNamespace, byNodeName, byResultName,
                                                                   byParameter};

struct Line {
  StringRef file, function;
  uint32_t number = 0;
};

/// Python's own form, the outermost first: `File "model.py", line 25, in forward`.
bool readPythonLine(StringRef text, Line &line) {
  if (!text.consume_front("File \""))
    return false;
  auto [file, rest] = text.split("\", line ");
  auto [number, function] = rest.split(", in ");
  line = {file, function, 0};
  return !number.trim().getAsInteger(10, line.number);
}

/// TorchScript's, the innermost first: `model.py(27): forward`.
bool readScriptLine(StringRef text, Line &line) {
  auto [place, function] = text.rsplit("): ");
  auto [file, number] = place.rsplit('(');
  line = {file, function, 0};
  return !file.empty() && !function.empty() && !number.getAsInteger(10, line.number);
}

std::vector<Line> linesOf(const NodeProto &node) {
  std::vector<Line> lines;
  Line line;
  auto read = [&](StringRef text, bool (*one)(StringRef, Line &)) {
    for (auto [first, rest] = text.split('\n'); !first.empty() || !rest.empty();
         std::tie(first, rest) = rest.split('\n'))
      if (one(first.trim(), line))
        lines.push_back(line);
  };
  for (StringRef key : {"pkg.torch.onnx.stack_trace", "pkg.jax2onnx.stacktrace"})
    if (lines.empty())
      read(metadataOf(node, key), readPythonLine);
  if (lines.empty())
    read(node.doc, readPythonLine);
  std::reverse(lines.begin(), lines.end());
  if (lines.empty())
    read(node.doc, readScriptLine);
  return lines;
}

class Table {
public:
  explicit Table(OnnxLayers &table) : table(table) {}

  int32_t add(const NodeProto &node) {
    std::vector<uint32_t> stack;
    for (const Line &line : linesOf(node)) {
      auto [file, isNewFile] = files.try_emplace(line.file, files.size());
      if (isNewFile)
        table.files.push_back(line.file.str());
      auto [frame, isNew] = frames.try_emplace({file->second, line.number, line.function}, frames.size());
      if (isNew)
        table.frames.push_back({file->second, line.number, line.function.str()});
      stack.push_back(frame->second);
    }
    if (stack.empty())
      return -1;
    auto [found, isNew] = stacks.try_emplace(stack, stacks.size());
    if (isNew)
      table.stacks.push_back(std::move(stack));
    return static_cast<int32_t>(found->second);
  }

private:
  OnnxLayers &table;
  llvm::StringMap<uint32_t> files;
  std::map<std::tuple<uint32_t, uint32_t, StringRef>, uint32_t> frames;
  std::map<std::vector<uint32_t>, uint32_t> stacks;
};

/// Who put the node there, where an optimiser says so.
std::string noteOf(const NodeProto &node) {
  StringRef rule = metadataOf(node, "pkg.onnxscript.rewriter.rule_name");
  if (!rule.empty())
    return rule.take_front(100).str();
  StringRef first = node.doc.split('\n').first.trim();
  bool isRemark =
      !first.empty() && first.size() <= 100 && first.find_first_of("/\\") == first.npos && !first.contains("): ");
  return isRemark ? first.str() : "";
}

} // namespace

OnnxLayers layersOf(llvm::ArrayRef<std::pair<const GraphProto *, std::vector<size_t>>> graphs, SourceLines lines) {
  OnnxLayers table;
  Table stacks(table);
  auto add = [&](const NodeProto &node) {
    auto layer = std::make_shared<SourceLayer>();
    layer->name = node.name.str();
    llvm::any_of(spellings, [&](auto spelling) {
      *layer = {};
      layer->name = node.name.str();
      return spelling(node, *layer);
    });
    layer->note = noteOf(node);
    if (lines != SourceLines::None)
      layer->stack = stacks.add(node);
    if (layer->name.empty() && !layer->scope.empty() && !node.outputs.empty())
      layer->name = node.outputs[0].str(); // the path needs a last part
    layer->setPath();
    table.layers.push_back(*layer == SourceLayer() ? nullptr : std::move(layer));
  };
  for (const auto &[graph, order] : graphs)
    for (size_t index : order)
      add(graph->nodes[index]);
  if (lines == SourceLines::Relative)
    origin::makeRelative(table.files);
  return table;
}

bool cutPaths(std::string &text) {
  static constexpr StringRef roots[] = {"/home/", "/Users/", "/root/", "/tmp/", "/content/", ":\\Users\\", ":/Users/"};
  std::string left;
  size_t copied = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    StringRef rest = StringRef(text).substr(at);
    if (llvm::none_of(roots, [&](StringRef root) { return rest.starts_with(root); }))
      continue;
    bool isDrive = rest.front() == ':' && at > copied; // its letter goes, too
    left.append(text, copied, at - isDrive - copied);
    left += "…";
    copied = std::min(text.find_first_of(" \t\r\n\"',;)]}<>", at + 1), text.size());
    at = copied - 1;
  }
  if (copied == 0)
    return false;
  text = left + text.substr(copied);
  return true;
}

} // namespace origo::onnx
