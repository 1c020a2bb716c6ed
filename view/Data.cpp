#include "view/PageWriter.h"

#include "origin/Naming.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Base64.h"

#include <cmath>
#include <set>

namespace origo::view {

using namespace report;
using llvm::StringRef;

std::string PageWriter::write() {
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

uint32_t PageWriter::scopeOf(std::string_view name) {
  uint32_t around = 0;
  for (const std::string &scope : origin::scopesOfName(name))
    around = scopeNumber(scope, around);
  auto own = scopeNumbers.find(origin::ownScope(name));
  return own == scopeNumbers.end() ? around : own->second;
}

uint32_t PageWriter::scopeNumber(const std::string &scope, uint32_t around) {
  auto [at, isNew] = scopeNumbers.try_emplace(scope, uint32_t(scopes.size() + 1));
  if (isNew)
    scopes.emplace_back(id(scope), around);
  return at->second;
}

uint32_t PageWriter::id(StringRef item) {
  auto [at, isNew] = strings.try_emplace(item, strings.size());
  if (isNew)
    order.push_back(item.str());
  return at->second;
}

void PageWriter::places(const Graph &graph, const JointLayout::Side &layout) {
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

void PageWriter::side(StringRef file, StringRef format, const std::vector<Graph> &graphs,
                      const std::vector<origin::SourceSignature> &signatures, const PageModel *page,
                      const origin::Listing *listing) {
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

void PageWriter::about(const PageModel &page) {
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

void PageWriter::operators(const Graph &graph) {
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

void PageWriter::layers(const origin::Listing &listing, const std::vector<origin::SourceOperator> &ops) {
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

void PageWriter::tensors(const Graph &graph) {
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

llvm::ArrayRef<uint8_t> PageWriter::bytesShown(const Value &value, uint64_t elements) {
  bool isPlain = value.isConstant() && !value.compression && !value.externalBuffer && value.payload().hasBytes();
  if (!isPlain || value.payload().size() == 0)
    return {};
  return value.payload().bytes().take_front(elements * bitsPerElement(value.type).value_or(64) / 8);
}

uint64_t PageWriter::elementsThatFit(const std::vector<Graph> &graphs) const {
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

void PageWriter::values(const Graph &graph) {
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

void PageWriter::kinds() {
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

std::string PageWriter::defaultText(const wire::Field &field) {
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

std::string pageData(const PageContents &contents) { return PageWriter(contents).write(); }

} // namespace origo::view
