#include "view/Graphs.h"

#include "ir/CustomAttributes.h"
#include "ir/text/Text.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <charconv>

namespace origo::view {

using namespace report;
using llvm::StringRef;

std::vector<int32_t> Graph::makers() const {
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

void Graph::connect() {
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
void Graph::findHosts(const std::vector<int32_t> &maker) {
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

static std::string shapeText(const Value &value) {
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
static std::string optionsText(const Operator &op) {
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

std::string shortestFloat(float value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof(digits), value).ptr};
}

std::string inShort(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", value);
  return text;
}

/// The range that was measured for a tensor, where the file has it.
static std::string rangeText(const Quantization &q) {
  if (q.min.size() != 1 || q.max.size() != 1)
    return "";
  return "from " + shortestFloat(q.min[0]) + " to " + shortestFloat(q.max[0]);
}

static std::string quantizationText(const Quantization *q) {
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

static origin::TensorKind kindOf(const Value &value) {
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
static Pairing pairingOf(size_t index, const Graph &graph, const origin::OriginMap &map, const Graph &from,
                         uint32_t first) {
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

} // namespace origo::view
