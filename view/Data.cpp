#include "view/Joint.h"
#include "view/Page.h"

#include "ir/CustomAttributes.h"
#include "ir/text/Text.h"
#include "origin/Fingerprint.h"
#include "origin/Naming.h"
#include "report/origin/Words.h"
#include "report/viewer/Viewers.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <set>

/// Writes columns rather than rows: they are smaller, and a browser reads them faster.
namespace origo::view {

using namespace report;
using llvm::StringRef;

namespace {

/// What the two panes show of a subgraph, whether it comes from a file or from the listing in a map.
struct Graph {
  std::string name;
  std::vector<uint32_t> sources;
  std::vector<int32_t> inputs, outputs;
  struct Op {
    std::string kind, options;
    llvm::SmallVector<int32_t, 4> in, out; ///< −1: absent
    llvm::SmallVector<uint32_t, 1> calls;
    const OperatorMetrics *metrics = nullptr;
  };
  struct Tensor {
    StringRef name;
    std::string type, shape, quantization;
    origin::TensorKind kind = origin::TensorKind::Absent;
    const TensorMetrics *metrics = nullptr;
  };
  std::vector<Op> ops;
  std::vector<Tensor> tensors;

  PageGraph shape;
  JointLayout::Side layout;
  std::optional<JointLayout::Side> folded; ///< where some operators of the source are one node
  std::vector<std::vector<uint32_t>> groups;

  /// The name of the first result that has one.
  StringRef nameOf(size_t op) const {
    for (int32_t tensor : ops[op].out)
      if (tensor >= 0 && !tensors[tensor].name.empty())
        return tensors[tensor].name;
    return {};
  }

  /// The node that makes a tensor; −1: none does.
  std::vector<int32_t> makers() const {
    std::vector<int32_t> maker(tensors.size(), -1);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] >= 0)
        maker[inputs[i]] = int32_t(i);
    for (size_t i = 0; i < ops.size(); ++i)
      for (int32_t tensor : ops[i].out)
        if (tensor >= 0)
          maker[tensor] = int32_t(inputs.size() + i);
    return maker;
  }

  void connect() {
    shape.inputs = uint32_t(inputs.size());
    shape.operators = uint32_t(ops.size());
    shape.outputs = uint32_t(outputs.size());
    std::vector<int32_t> maker = makers();
    llvm::SmallVector<uint32_t, 8> froms;
    auto edges = [&](llvm::ArrayRef<int32_t> tensors, uint32_t to) {
      froms.clear();
      for (int32_t tensor : tensors)
        if (tensor >= 0 && maker[tensor] >= 0 && uint32_t(maker[tensor]) < to)
          froms.push_back(uint32_t(maker[tensor]));
      llvm::sort(froms);
      froms.erase(std::unique(froms.begin(), froms.end()), froms.end());
      for (uint32_t from : froms)
        shape.edges.emplace_back(from, to);
    };
    for (size_t i = 0; i < ops.size(); ++i)
      edges(ops[i].in, uint32_t(inputs.size() + i));
    for (size_t i = 0; i < outputs.size(); ++i)
      edges(outputs[i], uint32_t(inputs.size() + ops.size() + i));
    findHosts(maker);
  }

  /// What has nothing but constants, such as who makes floats of the weights, stands beside its first user.
  void findHosts(const std::vector<int32_t> &maker) {
    constexpr uint8_t most = 6;
    int32_t first = int32_t(inputs.size());
    std::vector<bool> isFixed(ops.size());
    std::vector<uint32_t> user(ops.size(), nowhere);
    for (size_t i = 0; i < ops.size(); ++i) {
      isFixed[i] = !ops[i].in.empty() && llvm::all_of(ops[i].in, [&](int32_t tensor) {
        return tensor < 0 || (maker[tensor] < 0 ? tensors[tensor].kind != origin::TensorKind::Input
                                                : maker[tensor] >= first && isFixed[maker[tensor] - first]);
      });
      for (int32_t tensor : ops[i].in)
        if (tensor >= 0 && maker[tensor] >= first && uint32_t(maker[tensor] - first) < i)
          user[maker[tensor] - first] = std::min(user[maker[tensor] - first], uint32_t(i));
    }
    for (int32_t tensor : outputs)
      if (tensor >= 0 && maker[tensor] >= first)
        isFixed[maker[tensor] - first] = false;
    std::vector<uint8_t> count(ops.size());
    shape.host.assign(ops.size(), nowhere);
    for (size_t i = ops.size(); i-- > 0;) {
      if (!isFixed[i] || user[i] == nowhere)
        continue;
      uint32_t host = shape.host[user[i]] == nowhere ? user[i] : shape.host[user[i]];
      if (count[host]++ < most)
        shape.host[i] = host;
    }
  }
};

std::string shapeText(const Value &value) {
  if (value.shape.empty() && !value.hasRank && !value.isConstant() && !value.hasShape)
    return "?";
  llvm::ArrayRef<int32_t> dims =
      value.shapeSignature().empty() ? llvm::ArrayRef<int32_t>(value.shape) : value.shapeSignature();
  std::string text;
  for (int32_t dim : dims)
    text += (text.empty() ? "" : "×") + (dim < 0 ? "?" : std::to_string(dim));
  return text.empty() ? "scalar" : text;
}

/// Those of custom operators, and of nodes of ONNX, by their names where they have some.
std::string optionsText(const Operator &op) {
  constexpr size_t most = 4000; // characters
  std::string text;
  llvm::raw_string_ostream os(text);
  auto attributes = attributesIn(op.customOptions().bytes());
  if (!attributes) {
    printOptions(op, os);
    return text;
  }
  auto names = attributes->Keys();
  for (size_t i = 0; i < names.size() && text.size() < most; ++i) {
    StringRef name = names[i].AsKey();
    if (name.starts_with("$"))
      continue;
    std::string value;
    attributes->Values()[i].ToString(false, true, value);
    os << (text.empty() ? "{" : ", ") << name << '=' << StringRef(value).take_front(most);
  }
  return text.empty() ? text : text + "}";
}

/// With the digits that tell it from all other floats.
std::string shortestFloat(float value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof(digits), value).ptr};
}

/// With the digits that a page shows.
std::string inShort(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", value);
  return text;
}

/// The range that was measured for a tensor, where the file has it.
std::string rangeText(const Quantization &q) {
  if (q.min.size() != 1 || q.max.size() != 1)
    return "";
  return "from " + shortestFloat(q.min[0]) + " to " + shortestFloat(q.max[0]);
}

std::string quantizationText(const Quantization *q) {
  if (!q)
    return "";
  if (!q->quantized())
    return rangeText(*q);
  if (q->details == Quantization::Details::Custom)
    return "custom";
  if (q->details == Quantization::Details::MX)
    return "MX, axis " + std::to_string(q->more->axis);
  if (q->details != Quantization::Details::None)
    return "blocks of " + std::to_string(q->more->blockSize);
  std::string range = rangeText(*q);
  if (q->scale.size() == 1)
    return "scale " + shortestFloat(q->scale[0]) + ", zero point " +
           std::to_string(q->zeroPoint.empty() ? 0 : q->zeroPoint[0]) + (range.empty() ? "" : ", " + range);
  auto [low, high] = std::minmax_element(q->scale.begin(), q->scale.end());
  bool symmetric = llvm::all_of(q->zeroPoint, [](int64_t zero) { return zero == 0; });
  return std::to_string(q->scale.size()) + " scales along axis " + std::to_string(q->dimension) + ", " +
         shortestFloat(*low) + " to " + shortestFloat(*high) + (symmetric ? ", zero points 0" : "");
}

origin::TensorKind kindOf(const Value &value) {
  using enum origin::TensorKind;
  return value.isGraphInput   ? Input
         : value.isVariable   ? Variable
         : value.producer()   ? Activation
         : value.isConstant() ? Constant
                              : Absent;
}

std::vector<Graph> graphsOf(const PageModel &page) {
  const Model &model = *page.imported->model;
  std::vector<Graph> graphs;
  size_t op = 0, tensor = 0;
  for (auto &from : model.subgraphs) {
    Graph &to = graphs.emplace_back();
    to.name = from->name.str();
    to.sources.assign(from->sources.begin(), from->sources.end());
    auto index = [](const Value *value) { return value ? int32_t(value->index) : -1; };
    for (const Value *value : from->inputs)
      to.inputs.push_back(index(value));
    for (const Value *value : from->outputs)
      to.outputs.push_back(index(value));
    for (const Operator &item : from->operators) {
      Graph::Op &row = to.ops.emplace_back();
      row.kind = item.customCode().empty() ? item.opName() : item.opName() + ":" + item.customCode().str();
      row.options = optionsText(item);
      for (const Use &use : item.operands())
        row.in.push_back(index(use.get()));
      for (const Value *value : item.results())
        row.out.push_back(index(value));
      for (const Subgraph *callee : item.callees())
        row.calls.push_back(callee->index);
      row.metrics = &page.metrics->operators[op++];
    }
    for (const Value *value : from->values) {
      StringRef type = tensorTypeName(value->type);
      to.tensors.push_back({value->name, type.empty() ? std::to_string(int(value->type)) : type.str(),
                            shapeText(*value), quantizationText(value->quantization), kindOf(*value),
                            &page.metrics->tensors[tensor++]});
    }
    to.connect();
  }
  return graphs;
}

/// As far as a map tells of a source that is not at hand.
std::vector<Graph> graphsOf(const origin::Listing &listing) {
  std::vector<Graph> graphs;
  for (const origin::SourceSubgraph &from : listing.subgraphs) {
    Graph &to = graphs.emplace_back();
    to.name = from.name;
    auto index = [&](int32_t id) {
      int64_t local = int64_t(id) - from.firstTensor;
      return id >= 0 && local >= 0 && local < int64_t(from.tensors.size()) ? int32_t(local) : -1;
    };
    std::vector<bool> used(from.tensors.size());
    for (size_t i = 0; i < from.operators.size(); ++i) {
      Graph::Op &row = to.ops.emplace_back();
      const origin::SourceOperator &op = from.operators[i];
      row.kind = op.customCode.empty() ? op.op.str() : op.op.str() + ":" + op.customCode.str();
      for (int32_t id : from.operandsOf(i)) {
        row.in.push_back(index(id));
        if (row.in.back() >= 0)
          used[row.in.back()] = true;
      }
      for (int32_t id : op.tensors)
        row.out.push_back(index(id));
    }
    for (size_t i = 0; i < from.tensors.size(); ++i) {
      to.tensors.push_back({from.tensors[i].name, "", "", "", from.tensors[i].kind, nullptr});
      if (from.tensors[i].kind == origin::TensorKind::Input)
        to.inputs.push_back(int32_t(i));
    }
    for (const Graph::Op &op : to.ops)
      for (int32_t tensor : op.out)
        if (tensor >= 0 && !used[tensor])
          to.outputs.push_back(tensor);
    to.connect();
  }
  return graphs;
}

/// Of a written subgraph, and of the one of the source that it was first.
Pairing pairingOf(size_t index, const Graph &graph, const origin::OriginMap &map, const Graph &from, uint32_t first) {
  Pairing pairing;
  pairing.origins.resize(graph.ops.size());
  pairing.only.assign(from.ops.size(), nowhere);
  if (index >= map.target.subgraphs.size())
    return pairing;
  std::vector<uint8_t> homes(from.ops.size());
  for (size_t i = 0; i < map.target.subgraphs.size(); ++i) {
    const auto &rows = map.target.subgraphs[i].operators;
    for (size_t op = 0; op < rows.size(); ++op)
      for (uint32_t id : rows[op].origins) {
        if (id < first || id - first >= from.ops.size())
          continue;
        homes[id - first] = uint8_t(std::min(homes[id - first] + 1, 2));
        if (i != index || op >= graph.ops.size())
          continue;
        pairing.origins[op].push_back(id - first);
        pairing.only[id - first] = uint32_t(op);
      }
  }
  for (size_t op = 0; op < homes.size(); ++op)
    if (homes[op] > 1)
      pairing.only[op] = several;
  return pairing;
}

/// Both sides of a subgraph together. One whose source stands with another already has a layout of its own.
void layOutAll(std::vector<Graph> &source, std::vector<Graph> &result, const origin::OriginMap *map) {
  std::vector<bool> isDone(source.size());
  Graph none;
  for (size_t i = 0; i < result.size(); ++i) {
    Graph &to = result[i];
    bool hasSource =
        map && !to.sources.empty() && to.sources[0] < source.size() && to.sources[0] < map->source.subgraphs.size();
    Graph &from = hasSource ? source[to.sources[0]] : none;
    Pairing pairing;
    pairing.origins.resize(to.ops.size());
    if (hasSource)
      pairing = pairingOf(i, to, *map, from, map->source.subgraphs[to.sources[0]].firstOperator);
    JointLayout joint = layOutJointly(from.shape, to.shape, pairing, /*fold=*/false);
    to.layout = std::move(joint.result);
    bool isFirst = hasSource && !isDone[to.sources[0]];
    if (!isFirst)
      continue;
    isDone[to.sources[0]] = true;
    from.layout = std::move(joint.source);
    joint = layOutJointly(from.shape, to.shape, pairing, /*fold=*/true);
    if (joint.folded.empty())
      continue;
    to.folded = std::move(joint.result);
    from.folded = std::move(joint.source);
    from.groups = std::move(joint.folded);
  }
  for (size_t i = 0; i < source.size(); ++i)
    if (!isDone[i]) {
      Pairing alone;
      alone.only.assign(source[i].ops.size(), nowhere);
      source[i].layout = layOutJointly(source[i].shape, none.shape, alone, /*fold=*/false).source;
    }
}

std::vector<origin::SourceSignature> signaturesOf(const Model &model) {
  std::vector<origin::SourceSignature> all;
  for (const Signature &from : model.signatures) {
    if (!from.subgraph)
      continue;
    auto entries = [](const std::vector<Signature::Entry> &list) {
      std::vector<origin::SourceSignature::Entry> rows;
      for (const Signature::Entry &entry : list)
        rows.push_back({entry.name.str(), entry.value ? int32_t(entry.value->index) : -1});
      return rows;
    };
    all.push_back({from.key.str(), from.subgraph->index, entries(from.inputs), entries(from.outputs)});
  }
  return all;
}

/// With tensors as their subgraph numbers them.
std::vector<origin::SourceSignature> signaturesOf(const origin::Listing &listing) {
  std::vector<origin::SourceSignature> all = listing.signatures;
  llvm::erase_if(all, [&](const auto &row) { return row.subgraph >= listing.subgraphs.size(); });
  for (origin::SourceSignature &row : all)
    for (auto *entries : {&row.inputs, &row.outputs})
      for (auto &entry : *entries) {
        const origin::SourceSubgraph &graph = listing.subgraphs[row.subgraph];
        int64_t local = int64_t(entry.tensor) - graph.firstTensor;
        entry.tensor = local >= 0 && local < int64_t(graph.tensors.size()) ? int32_t(local) : -1;
      }
  return all;
}

class Writer {
public:
  explicit Writer(const PageContents &contents) : contents(contents), os(text) { strings.try_emplace("", 0); }

  std::string write() {
    std::vector<Graph> result = graphsOf(contents.result);
    std::vector<Graph> source;
    const origin::OriginMap *map = contents.map;
    if (contents.source)
      source = graphsOf(*contents.source);
    else if (map)
      source = graphsOf(map->source);
    layOutAll(source, result, map);
    os << "{\"generator\":\"origo " ORIGO_VERSION "\",\"nodeWidth\":" << Layout::nodeWidth << ",\n\"notes\":";
    list(contents.notes, [&](const std::string &note) { os << jsonText(note); });
    os << ",\n\"result\":";
    side(contents.result.file, contents.result.imported->model->format == Format::Tflite ? "tflite" : "circle", result,
         signaturesOf(*contents.result.imported->model), &contents.result);
    if (!source.empty()) {
      os << ",\n\"source\":";
      side(map ? map->source.file : contents.source->file, map ? map->source.format : "", source,
           contents.source ? signaturesOf(*contents.source->imported->model) : signaturesOf(map->source),
           contents.source ? &*contents.source : nullptr, map ? &map->source : nullptr);
    }
    if (map)
      writeMap(*map);
    totals();
    kinds();
    proof();
    profiles();
    errors();
    target();
    if (!contents.history.empty())
      os << ",\n\"history\":" << contents.history;
    column("scopeTree", scopes, [&](auto scope) { os << '[' << scope.first << ',' << scope.second << ']'; });
    os << ",\n\"strings\":[\"\"";
    for (const std::string &item : order)
      os << ",\n" << jsonText(item);
    os << "]}\n";
    return std::move(text);
  }

private:
  const PageContents &contents;
  uint64_t elementsShown = 0;
  std::string text;
  llvm::raw_string_ostream os;
  llvm::StringMap<uint32_t> strings;
  std::vector<std::string> order;
  std::vector<std::pair<uint32_t, uint32_t>> scopes; ///< its text, and the number of the one around it, 0: none
  llvm::StringMap<uint32_t> scopeNumbers;            ///< from 1 on

  /// The innermost scope of a name; its own, if it has been met.
  uint32_t scopeOf(std::string_view name) {
    uint32_t around = 0;
    for (const std::string &scope : origin::scopesOfName(name))
      around = scopeNumber(scope, around);
    auto own = scopeNumbers.find(origin::ownScope(name));
    return own == scopeNumbers.end() ? around : own->second;
  }
  uint32_t scopeNumber(const std::string &scope, uint32_t around) {
    auto [at, isNew] = scopeNumbers.try_emplace(scope, uint32_t(scopes.size() + 1));
    if (isNew)
      scopes.emplace_back(id(scope), around);
    return at->second;
  }

  uint32_t id(StringRef item) {
    auto [at, isNew] = strings.try_emplace(item, strings.size());
    if (isNew)
      order.push_back(item.str());
    return at->second;
  }

  template <class T, class F> void list(const T &items, F write) {
    os << '[';
    bool first = true;
    for (const auto &item : items) {
      if (!first)
        os << ',';
      first = false;
      write(item);
    }
    os << ']';
  }
  template <class T> void numbers(const T &items) {
    list(items, [&](auto item) { os << item; });
  }
  template <class T, class F> void column(StringRef name, const T &items, F write) {
    os << ",\n\"" << name << "\":";
    list(items, write);
  }
  /// Of numbers that mostly follow each other: each less the one before it.
  template <class T, class F> void steps(StringRef name, const T &items, F number) {
    int64_t last = 0;
    column(name, items, [&](const auto &item) {
      int64_t value = number(item);
      os << value - last;
      last = value;
    });
  }
  /// Of what few rows have: {"row":…}.
  template <class T, class Has, class Write> void rare(StringRef name, const T &items, Has has, Write write) {
    os << ",\n\"" << name << "\":{";
    bool first = true;
    size_t index = 0;
    for (const auto &item : items) {
      if (has(item)) {
        os << (first ? "\"" : ",\"") << index << "\":";
        first = false;
        write(item);
      }
      ++index;
    }
    os << '}';
  }

  /// Each as what it is more than the one before, which is shorter.
  template <class T> void steps(const T &items) {
    int64_t last = 0;
    list(items, [&](int64_t item) {
      os << item - last;
      last = item;
    });
  }
  /// Rows and places by node; from, to, number of places, places of edges that pass rows, where −1 places say that the
  /// page is to find them.
  void places(const Graph &graph, const JointLayout::Side &layout) {
    using Line = JointLayout::Side::Line;
    os << "{\"row\":";
    steps(layout.row);
    os << ",\"x\":";
    steps(layout.x);
    os << ",\"routes\":[";
    bool first = true;
    for (size_t edge = 0; edge < graph.shape.edges.size(); ++edge) {
      if (layout.lines[edge] != Line::Routed && layout.lines[edge] != Line::Direct)
        continue;
      bool isRouted = layout.lines[edge] == Line::Routed;
      os << (first ? "" : ",") << graph.shape.edges[edge].first << ',' << graph.shape.edges[edge].second << ','
         << (isRouted ? int64_t(layout.routes[edge].size()) : -1);
      first = false;
      for (int32_t x : layout.routes[edge])
        os << ',' << x;
    }
    os << "]}";
  }

  void side(StringRef file, StringRef format, const std::vector<Graph> &graphs,
            const std::vector<origin::SourceSignature> &signatures, const PageModel *page,
            const origin::Listing *listing = nullptr) {
    os << "{\"file\":" << id(file) << ",\"format\":" << id(format);
    if (page)
      about(*page);
    elementsShown = elementsThatFit(graphs);
    // Key, subgraph, and names and tensors of inputs and of outputs.
    column("signatures", signatures, [&](const origin::SourceSignature &row) {
      auto entries = [&](const auto &list) {
        this->list(list, [&](const auto &entry) { os << id(entry.name) << ',' << entry.tensor; });
      };
      os << '[' << id(row.key) << ',' << row.subgraph << ',';
      entries(row.inputs);
      os << ',';
      entries(row.outputs);
      os << ']';
    });
    os << ",\"graphs\":[";
    for (size_t i = 0; i < graphs.size(); ++i) {
      const Graph &graph = graphs[i];
      os << (i ? ",\n{" : "\n{") << "\"name\":" << id(graph.name) << ",\"sources\":";
      numbers(graph.sources);
      os << ",\"inputs\":";
      numbers(graph.inputs);
      os << ",\"outputs\":";
      numbers(graph.outputs);
      os << ",\n\"layout\":";
      places(graph, graph.layout);
      if (graph.folded) {
        os << ",\n\"folded\":";
        places(graph, *graph.folded);
        column("groups", graph.groups, [&](const std::vector<uint32_t> &members) { numbers(members); });
      }
      rare(
          "host", graph.shape.host, [](uint32_t host) { return host != nowhere; }, [&](uint32_t host) { os << host; });
      operators(graph);
      bool isListed =
          listing && i < listing->subgraphs.size() && listing->subgraphs[i].operators.size() == graph.ops.size();
      if (isListed)
        layers(*listing, listing->subgraphs[i].operators);
      // The innermost scope of each; that of its own name may be met after it.
      std::vector<uint32_t> innermost;
      auto scopeOfOp = [&](size_t op) {
        return scopeOf(isListed ? listing->nameOf(listing->subgraphs[i].operators[op])
                                : std::string_view(graph.nameOf(op)));
      };
      for (size_t op = 0; op < graph.ops.size(); ++op)
        scopeOfOp(op);
      for (size_t op = 0; op < graph.ops.size(); ++op)
        innermost.push_back(scopeOfOp(op));
      // Those in a row that have one: it, and how many.
      os << ",\n\"scope\":[";
      for (size_t op = 0, next; op < innermost.size(); op = next) {
        for (next = op + 1; next < innermost.size() && innermost[next] == innermost[op];)
          ++next;
        os << (op ? "," : "") << innermost[op] << ',' << next - op;
      }
      os << ']';
      tensors(graph);
      os << '}';
    }
    os << "]}";
  }

  /// What a file says beside its graphs.
  void about(const PageModel &page) {
    const Model &model = *page.imported->model;
    auto text = [](llvm::ArrayRef<uint8_t> bytes) {
      return llvm::StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    };
    os << ",\n\"about\":{\"version\":" << model.version << ",\"description\":" << id(model.description.value_or(""));
    // Name, bytes, and of what is small the content.
    constexpr uint64_t small = 64 << 10;
    column("metadata", model.metadata, [&](const MetadataEntry &entry) {
      uint64_t size = entry.buffer ? entry.buffer->payload.size() : 0;
      bool isShown = size && size <= small && entry.buffer->payload.hasBytes() && !entry.name.starts_with("origo");
      os << '[' << id(entry.name) << ',' << size << ",\""
         << (isShown ? llvm::encodeBase64(text(entry.buffer->payload.bytes())) : "") << "\"]";
    });
    column("opcodes", model.opcodes, [&](const Model::OpcodeRow &row) {
      os << '[' << id(row.customCode.empty() ? StringRef(circle::EnumNameBuiltinOperator(row.code)) : row.customCode)
         << ',' << row.version << ']';
    });
    // Files that are packed behind the model are listed at the end of the archive.
    llvm::ArrayRef<uint8_t> archive = model.archive.hasBytes() ? model.archive.bytes() : llvm::ArrayRef<uint8_t>();
    os << ",\"buffers\":" << model.buffers.size() << ",\"archive\":" << archive.size() << ",\"listing\":\""
       << llvm::encodeBase64(text(archive.take_back(small))) << "\"}";
  }

  void operators(const Graph &graph) {
    column("kind", graph.ops, [&](const Graph::Op &op) { os << id(op.kind); });
    column("options", graph.ops, [&](const Graph::Op &op) { os << id(StringRef(op.options).trim()); });
    column("in", graph.ops, [&](const Graph::Op &op) { numbers(op.in); });
    column("out", graph.ops, [&](const Graph::Op &op) { numbers(op.out); });
    rare(
        "callees", graph.ops, [](const Graph::Op &op) { return !op.calls.empty(); },
        [&](const Graph::Op &op) { numbers(op.calls); });
    if (graph.ops.empty() || !graph.ops[0].metrics)
      return;
    os << ",\n\"metrics\":{";
    const char *separator = "";
    for (const Metric &metric : allMetrics()) {
      os << separator << '"' << metric.name << "\":";
      separator = ",\n";
      list(graph.ops, [&](const Graph::Op &op) {
        std::string value = metric.text(op.metrics->figures);
        os << (value.empty() ? "null" : value);
      });
    }
    os << '}';
  }

  /// What exporters wrote of operators: the path of the layer, its class, and the lines of the user's that called it.
  void layers(const origin::Listing &listing, const std::vector<origin::SourceOperator> &ops) {
    using origin::SourceOperator;
    if (llvm::none_of(ops, [](const SourceOperator &op) { return op.layer != nullptr; }))
      return;
    rare(
        "layer", ops, [](const SourceOperator &op) { return op.layer && !op.layer->path.empty(); },
        [&](const SourceOperator &op) { os << id(op.layer->path); });
    rare(
        "className", ops, [](const SourceOperator &op) { return op.layer && !op.layer->className.empty(); },
        [&](const SourceOperator &op) { os << id(op.layer->className); });
    rare(
        "line", ops, [&](const SourceOperator &op) { return listing.frameOf(op) != nullptr; },
        [&](const SourceOperator &op) { os << id(listing.lineOf(*listing.frameOf(op))); });
    rare(
        "lines", ops, [&](const SourceOperator &op) { return !listing.stackOf(op).empty(); },
        [&](const SourceOperator &op) {
          std::vector<uint32_t> lines;
          for (uint32_t frame : listing.stackOf(op))
            if (const origin::SourceFrame &line = listing.frames[frame]; origin::isUsersFile(listing.files[line.file]))
              lines.push_back(id(listing.lineOf(line) + " " + line.function));
          numbers(lines);
        });
  }

  void tensors(const Graph &graph) {
    using Tensor = Graph::Tensor;
    steps("tensorName", graph.tensors, [&](const Tensor &tensor) { return id(tensor.name); });
    column("tensorKind", graph.tensors, [&](const Tensor &tensor) { os << int(tensor.kind); });
    if (graph.tensors.empty() || !graph.tensors[0].metrics)
      return;
    column("type", graph.tensors, [&](const Tensor &tensor) { os << id(tensor.type); });
    column("shape", graph.tensors, [&](const Tensor &tensor) { os << id(tensor.shape); });
    column("bytes", graph.tensors, [&](const Tensor &tensor) { os << tensor.metrics->bytes; });
    rare(
        "quantization", graph.tensors, [](const Tensor &tensor) { return !tensor.quantization.empty(); },
        [&](const Tensor &tensor) { os << id(tensor.quantization); });
    // elements, zeros, NaNs, infinities, least, greatest, mean, standard deviation
    rare(
        "statistics", graph.tensors, [](const Tensor &tensor) { return tensor.metrics->statistics.has_value(); },
        [&](const Tensor &tensor) {
          const Statistics &s = *tensor.metrics->statistics;
          os << '[' << s.elements << ',' << s.zeros << ',' << s.nans << ',' << s.infinities;
          if (s.finite)
            for (double figure : {s.min, s.max, s.mean, s.std})
              os << ',' << (std::isfinite(figure) ? inShort(figure) : "null");
          os << ']';
        });
    if (contents.histograms || !contents.source)
      values(graph);
    if (contents.histograms)
      rare(
          "histogram", graph.tensors,
          [](const Tensor &tensor) { return tensor.metrics->statistics && tensor.metrics->statistics->finite > 1; },
          [&](const Tensor &tensor) { numbers(histogramOf(*tensor.metrics->value, *tensor.metrics->statistics, 32)); });
  }

  /// The first elements of a constant, as the file has them.
  static llvm::ArrayRef<uint8_t> bytesShown(const Value &value, uint64_t elements) {
    bool isPlain = value.isConstant() && !value.compression && !value.externalBuffer && value.payload().hasBytes();
    if (!isPlain || value.payload().size() == 0)
      return {};
    return value.payload().bytes().take_front(elements * bitsPerElement(value.type).value_or(64) / 8);
  }

  /// As many of each constant as Netron shows; where many are large, as many as a page has room for in all.
  uint64_t elementsThatFit(const std::vector<Graph> &graphs) const {
    uint64_t operators = 0, elements = 10000;
    for (const Graph &graph : graphs)
      operators += graph.ops.size();
    uint64_t room = 1'000'000 - std::min<uint64_t>(85 * operators, 900'000);
    auto bytes = [&] {
      uint64_t sum = 0;
      for (const Graph &graph : graphs)
        for (const Graph::Tensor &tensor : graph.tensors)
          if (tensor.metrics)
            sum += bytesShown(*tensor.metrics->value, elements).size();
      return sum;
    };
    while (elements > 8 && bytes() > (contents.source ? room / 2 : room))
      elements = elements * 7 / 8;
    return elements;
  }

  /// The first elements of constants, and scales that are many.
  void values(const Graph &graph) {
    using Tensor = Graph::Tensor;
    auto bytesOf = [&](const Tensor &tensor) { return bytesShown(*tensor.metrics->value, elementsShown); };
    rare(
        "values", graph.tensors, [&](const Tensor &tensor) { return !bytesOf(tensor).empty(); },
        [&](const Tensor &tensor) {
          llvm::ArrayRef<uint8_t> bytes = bytesOf(tensor);
          os << '"' << llvm::encodeBase64(llvm::StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()))
             << '"';
        });
    rare(
        "sparse", graph.tensors, [](const Tensor &tensor) { return tensor.metrics->value->sparsity() != nullptr; },
        [&](const Tensor &) { os << 1; });
    // The shape of one run, where the file has sizes that vary.
    auto isVaried = [](const Tensor &tensor) { return !tensor.metrics->value->shapeSignature().empty(); };
    rare("shapeNow", graph.tensors, isVaried, [&](const Tensor &tensor) { numbers(tensor.metrics->value->shape); });
    auto scalesOf = [](const Tensor &tensor) -> const Quantization * {
      const Quantization *q = tensor.metrics->value->quantization;
      return q && q->scale.size() > 1 ? q : nullptr;
    };
    // Scales, then zero points.
    rare(
        "scales", graph.tensors, [&](const Tensor &tensor) { return scalesOf(tensor) != nullptr; },
        [&](const Tensor &tensor) {
          os << '[';
          list(scalesOf(tensor)->scale.take_front(elementsShown),
               [&](float scale) { os << (std::isfinite(scale) ? shortestFloat(scale) : "null"); });
          os << ',';
          numbers(scalesOf(tensor)->zeroPoint.take_front(elementsShown));
          os << ']';
        });
  }

  /// By kind of operator, the names of its operands, and what its options are where a file does not say.
  void kinds() {
    std::set<std::string> kinds;
    for (const PageModel *page : {&contents.result, contents.source ? &*contents.source : nullptr})
      if (page)
        for (const auto &graph : page->imported->model->subgraphs)
          for (const Operator &op : graph->operators)
            if (op.customCode().empty())
              kinds.insert(op.opName());
    os << ",\n\"kinds\":{";
    const char *separator = "";
    for (const std::string &kind : kinds) {
      const OperatorInfo *info = operatorInfo(kind);
      if (!info)
        continue;
      os << separator << jsonText(kind) << ":[";
      separator = ",";
      list(info->operands, [&](const OperandInfo &operand) { os << jsonText(operand.name.str()); });
      std::vector<std::string> defaults;
      if (const wire::TableType *options = info->optionsType())
        for (const wire::Field &field : options->fields)
          if (std::string value = defaultText(field); !value.empty())
            defaults.push_back(field.name.str() + "=" + value);
      os << ',';
      list(defaults, [&](const std::string &text) { os << jsonText(text); });
      os << ']';
    }
    os << '}';
  }
  static std::string defaultText(const wire::Field &field) {
    if (field.deprecated || field.type >= wire::Type::String)
      return "";
    if (field.enumeration) {
      const wire::EnumValue *value = field.enumeration->find(field.defaultInteger);
      return value ? value->name.str() : "";
    }
    if (field.type == wire::Type::Bool)
      return field.defaultInteger ? "true" : "false";
    bool isReal = field.type == wire::Type::Float32 || field.type == wire::Type::Float64;
    return isReal ? inShort(field.defaultReal) : std::to_string(field.defaultInteger);
  }

  void writeMap(const origin::OriginMap &map) {
    os << ",\n\"map\":{\"firstOperator\":";
    list(map.source.subgraphs, [&](const auto &graph) { os << graph.firstOperator; });
    column("firstTensor", map.source.subgraphs, [&](const auto &graph) { os << graph.firstTensor; });
    MapNames names(map);
    os << ",\n\"graphs\":[";
    for (uint32_t i = 0; i < map.target.subgraphs.size(); ++i) {
      os << (i ? ",\n{" : "\n{");
      rows(names, i);
      os << '}';
    }
    os << ']';
    ledger(map);
    if (!map.target.inferred.empty()) {
      os << ",\n\"inferred\":" << id(map.target.inferred);
      column("doubts", contents.doubts, [&](const OriginDoubt &row) {
        os << '[' << row.subgraph << ',' << row.index << ',' << id(row.word) << ']';
      });
    }
    column("unneeded", map.unneeded, [&](const origin::MapUnneeded &row) {
      os << '[' << int(row.isTensor) << ',' << row.id << ',' << id(names.unneededWords(row)) << ']';
    });
    os << '}';
  }

  void rows(const MapNames &names, uint32_t index) {
    using origin::OperatorRow, origin::TensorRow, origin::MapRelation;
    const origin::TargetSubgraph &graph = names.map.target.subgraphs[index];
    os << "\"origins\":";
    list(graph.operators, [&](const OperatorRow &row) { numbers(row.origins); });
    column("passes", graph.operators, [&](const OperatorRow &row) {
      std::string all;
      for (const origin::Word &pass : row.passes)
        all += (all.empty() ? "" : ", ") + pass.str();
      os << id(all);
    });
    auto word = [&](StringRef name, origin::Word OperatorRow::*field) {
      rare(
          name, graph.operators, [&](const OperatorRow &row) { return !(row.*field).empty(); },
          [&](const OperatorRow &row) { os << id((row.*field).str()); });
    };
    auto ids = [&](StringRef name, const auto &rows, auto field) {
      rare(
          name, rows, [&](const auto &row) { return !(row.*field).empty(); },
          [&](const auto &row) { numbers(row.*field); });
    };
    word("synthetic", &OperatorRow::syntheticReason);
    word("wide", &OperatorRow::wide);
    ids("serves", graph.operators, &OperatorRow::serves);
    ids("calls", graph.operators, &OperatorRow::calls);
    steps("tensorIndex", graph.tensors, [&](const TensorRow &row) { return row.index; });
    // A number is the source tensor that it is; else [tensor, how, exact] for each.
    column("relations", graph.tensors, [&](const TensorRow &row) {
      if (row.relations.size() == 1 && row.relations[0].steps.empty() && row.relations[0].exact)
        os << row.relations[0].tensor;
      else
        list(row.relations, [&](const MapRelation &relation) {
          os << '[' << relation.tensor << ',' << id(names.relationWords(relation, index)) << ',' << int(relation.exact)
             << ']';
        });
    });
    ids("parentTensors", graph.tensors, &TensorRow::tensors);
    ids("parentOperators", graph.tensors, &TensorRow::operators);
    auto reason = [&](StringRef name, origin::Word TensorRow::*field) {
      rare(
          name, graph.tensors, [&](const TensorRow &row) { return !(row.*field).empty(); },
          [&](const TensorRow &row) { os << id((row.*field).str()); });
    };
    reason("noRelation", &TensorRow::reason);
    reason("invented", &TensorRow::syntheticReason);
  }

  /// Columns: is it a tensor, id, fate, first fate, pass, run, rewrite, operators and tensors it went into, other part.
  void ledger(const origin::OriginMap &map) {
    using Row = origin::MapLedgerRow;
    llvm::StringMap<std::array<std::string, 3>> fates;
    os << ",\n\"ledger\":{\"isTensor\":";
    list(map.ledger, [&](const Row &row) { os << int(row.isTensor); });
    steps("id", map.ledger, [&](const Row &row) { return row.id; });
    column("fate", map.ledger, [&](const Row &row) {
      os << id(row.fate.str());
      if (auto [at, isNew] = fates.try_emplace(row.fate.str()); isNew)
        at->second = {fateWords(row.fate, SourceThing::Operator), fateWords(row.fate, SourceThing::Tensor),
                      fateWords(row.fate, SourceThing::Constant)};
    });
    column("pass", map.ledger, [&](const Row &row) { os << id(row.pass.str()); });
    column("run", map.ledger, [&](const Row &row) { os << row.run; });
    steps("rewrite", map.ledger, [&](const Row &row) { return row.rewrite; });
    auto pairs = [&](const auto &list) {
      this->list(list, [&](auto pair) { os << pair.first << ',' << pair.second; });
    };
    column("operators", map.ledger, [&](const Row &row) { pairs(row.operators); });
    column("tensors", map.ledger, [&](const Row &row) { pairs(row.tensors); });
    rare(
        "was", map.ledger, [](const Row &row) { return !row.was.empty(); },
        [&](const Row &row) { os << id(row.was.str()); });
    rare(
        "part", map.ledger, [](const Row &row) { return !row.partFile.empty(); },
        [&](const Row &row) { os << id(row.partFile.str()); });
    rare(
        "print", map.ledger, [](const Row &row) { return !row.partFingerprint.empty(); },
        [&](const Row &row) { os << id(row.partFingerprint); });
    rare(
        "with", map.ledger, [](const Row &row) { return !row.with.empty(); },
        [&](const Row &row) { numbers(row.with); });
    os << "},\n\"fateWords\":[";
    std::vector<std::string> lines;
    for (auto &entry : fates) {
      std::string &line = lines.emplace_back("[" + std::to_string(id(entry.first())));
      for (const std::string &words : entry.second)
        line += "," + std::to_string(id(words));
      line += "]";
    }
    llvm::sort(lines);
    for (size_t i = 0; i < lines.size(); ++i)
      os << (i ? "," : "") << lines[i];
    os << ']';
  }

  /// Figures as the command line prints them, digit for digit: text.
  void totals() {
    os << ",\n\"meanings\":{";
    const char *separator = "";
    for (const Metric &metric : allMetrics()) {
      os << separator << '"' << metric.name << "\":" << jsonText(metric.meaning);
      separator = ",";
    }
    os << '}';
    auto of = [&](StringRef name, const PageModel &model) {
      os << ",\n\"" << name << "\":{\"operators\":\"" << model.metrics->operators.size() << '"';
      for (const Metric &metric : allMetrics())
        os << ",\"" << metric.name << "\":\"" << metric.text(model.metrics->figures) << '"';
      os << '}';
    };
    of("resultTotals", contents.result);
    if (contents.source)
      of("sourceTotals", *contents.source);
    if (!contents.map)
      return;
    column("scopes",
           byScope(*contents.result.metrics,
                   contents.isGuessed ? *contents.result.imported->lineage.source : contents.map->source),
           [&](const ScopeMetrics &row) {
             os << '[' << row.scope.level << ',' << id(row.scope.key) << ',' << row.sum.macs << ','
                << row.sum.sparseMacs << ',' << row.sum.operations << ',' << row.sum.parameters << ',' << row.sum.bytes
                << ',';
             if (row.sum.ownMacs)
               os << *row.sum.ownMacs;
             else
               os << "null";
             os << ']';
           });
  }

  /// Rows: label, how it was matched, subgraph, operators, nanoseconds, [source operator, nanoseconds, …], nanoseconds
  /// of no source operator, of no operator.
  void profiles() {
    column("profiles", contents.profiles, [&](const PageProfile &profile) {
      const Join &join = profile.join;
      os << "{\"file\":" << id(profile.file) << ",\"tool\":" << id(join.tool) << ",\"total\":" << join.total
         << ",\"attributed\":" << join.attributed << ",\"synthetic\":" << join.synthetic
         << ",\"unattributed\":" << join.unattributed;
      column("rows", join.rows, [&](const JoinedRow &row) {
        os << '[' << id(row.row.rawName) << ',' << id(matchName(row.match)) << ',' << row.subgraph << ',';
        numbers(row.operators);
        os << ',' << row.ns << ",[";
        llvm::interleave(
            row.shares, os, [&](auto share) { os << share.first << ',' << share.second; }, ",");
        os << "]," << row.synthetic << ',' << row.unattributed << ',' << id(row.row.metric) << ',' << row.row.count
           << ',' << id(row.row.backend) << ']';
      });
      os << '}';
    });
  }

  void errors() {
    column("errors", contents.errors, [&](const TensorError &row) {
      os << '[' << row.tensor;
      for (auto &[name, value] : row.figures)
        os << ',' << id(name) << ',' << shortest(value);
      os << ']';
    });
  }

  /// Rows: subgraph, operator or null, what, rule, expected, actual.
  void target() {
    if (contents.targetName.empty())
      return;
    os << ",\n\"target\":{\"name\":" << id(contents.targetName);
    column("rows", contents.unsupported, [&](const Violation &row) {
      os << '[' << row.subgraph << ',';
      if (row.op)
        os << row.op->index;
      else
        os << "null";
      os << ',' << id(row.operand) << ',' << id(row.rule) << ',' << id(row.expected) << ',' << id(row.actual) << ']';
    });
    os << '}';
  }

  void proof() {
    if (!contents.proof || !contents.map)
      return;
    const Proof &proof = *contents.proof;
    os << ",\n\"proof\":{\"withSource\":" << (proof.withSource ? "true" : "false") << ",\"source\":\""
       << origin::hex(contents.map->source.fingerprint) << "\",\"result\":\""
       << origin::hex(contents.map->target.fingerprint) << '"';
    column("violations", proof.violations,
           [&](const origin::Violation &row) { os << '[' << row.law << ',' << jsonText(row.text) << ']'; });
    column("skipped", proof.skipped, [&](const std::string &text) { os << jsonText(text); });
    os << '}';
  }
};

} // namespace

std::string pageData(const PageContents &contents) { return Writer(contents).write(); }

} // namespace origo::view
