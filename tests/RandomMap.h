#pragma once

#include "origin/Fingerprint.h"
#include "origin/codec/Embedded.h"
#include <iterator>
#include <random>
#include <set>

namespace origo::test {

using namespace origo::origin;

/// Deterministic on every platform, unlike the standard distributions.
struct Random {
  std::mt19937 engine;
  explicit Random(unsigned seed) : engine(seed) {}
  uint32_t below(uint32_t limit) { return limit ? engine() % limit : 0; }
  bool oneIn(uint32_t n) { return below(n) == 0; }
  std::string name() {
    static const char *const parts[] = {"model/", "block_", "conv/", "Relu;", "Ω", "\"q\"", "7", "\xFF", "\n", ""};
    std::string result;
    for (uint32_t i = below(6); i--;)
      result += parts[below(std::size(parts))];
    return result;
  }
  std::vector<uint32_t> ids(uint32_t limit, uint32_t most) {
    std::set<uint32_t> result;
    for (uint32_t i = below(most + 1); i--;)
      result.insert(below(limit));
    return {result.begin(), result.end()};
  }
  std::vector<int64_t> numbers() {
    std::vector<int64_t> result(below(5));
    for (int64_t &number : result)
      number = oneIn(9) ? -int64_t(below(1000)) * 5000000000 : below(7);
    return result;
  }
  Digest digest() {
    Digest result;
    for (uint8_t &byte : result)
      byte = below(256);
    return result;
  }
  Term term() {
    Term result;
    result.kind = Term::Kind(below(3));
    if (result.kind == Term::Number)
      result.number = oneIn(2) ? double(int32_t(engine())) / 1000 : below(10);
    if (result.kind == Term::Constant)
      result.constant = below(1000);
    return result;
  }
  MapStep step() {
    MapStep result;
    result.kind = MapStep::Kind(below(9));
    if (result.kind == MapStep::Permute || result.kind == MapStep::Slice || result.kind == MapStep::Placed)
      result.first = numbers();
    if (result.kind == MapStep::Slice || result.kind == MapStep::Placed)
      result.second = numbers();
    if (result.kind == MapStep::Affine) {
      result.axis = int32_t(below(5)) - 1;
      result.scale = term();
      result.shift = term();
      if (oneIn(3))
        for (Term *term : {&result.scale, &result.shift})
          if (term->kind == Term::Constant)
            term->kind = Term::Source;
    }
    if (result.kind == MapStep::Scaled) {
      result.axis = int32_t(below(4));
      for (uint32_t i = 1 + below(3); i--;)
        result.factors.push_back(float(1 + below(9)) / 3);
    }
    if (result.kind == MapStep::Unknown)
      result.unknown = R"({"fft":{"axis":[1,2]}})";
    return result;
  }
};

/// Lines of programs, layers, and inputs that are bound, of some operators and tensors.
inline void randomLayers(Random &random, Listing &source) {
  for (uint32_t i = random.below(4); i--;)
    source.files.push_back(random.name());
  for (uint32_t i = source.files.empty() ? 0 : random.below(5); i--;)
    source.frames.push_back({random.below(source.files.size()), random.below(999), random.name()});
  for (uint32_t i = source.frames.empty() ? 0 : 1 + random.below(4); i--;)
    for (uint32_t k = source.stacks.emplace_back().size() + random.below(4); k--;)
      source.stacks.back().push_back(random.below(source.frames.size()));
  if (source.stacks.empty()) {
    source.files.clear();
    source.frames.clear();
  }
  for (SourceSubgraph &graph : source.subgraphs)
    for (SourceOperator &op : graph.operators) {
      if (random.oneIn(2))
        continue;
      auto layer = std::make_shared<SourceLayer>();
      layer->name = random.name();
      for (uint32_t i = random.below(3); i--;)
        layer->scope.push_back(random.name());
      layer->className = random.name();
      layer->note = random.name();
      layer->stack = int32_t(random.below(source.stacks.size() + 1)) - 1;
      layer->setPath();
      op.layer = std::move(layer);
    }
  for (uint32_t id = 0; id < source.tensorCount(); ++id)
    if (random.oneIn(9))
      source.bound.push_back({id, random.digest()});
}

/// A map that is well formed and makes no sense, with the rows of that target.
inline OriginMap randomMap(unsigned seed, const ModelView &target) {
  Random random(seed);
  OriginMap map;
  map.generator = "origo 0.1.0";
  map.retrained = random.oneIn(2);
  map.source.file = "source.tflite";
  map.source.format = "tflite";
  map.source.fingerprint = random.digest();
  map.source.content = random.digest();
  for (uint32_t g = random.below(4); g--;) {
    SourceSubgraph graph;
    graph.name = random.name();
    graph.firstOperator = map.source.operatorCount();
    graph.firstTensor = map.source.tensorCount();
    graph.tensors.resize(random.below(60));
    for (SourceTensor &tensor : graph.tensors)
      tensor = {random.name(), TensorKind(random.below(5))};
    graph.operators.resize(random.below(30));
    for (SourceOperator &op : graph.operators) {
      op.op = random.oneIn(5) ? "CUSTOM" : random.oneIn(5) ? "1234" : "CONV_2D";
      op.customCode = op.op == "CUSTOM" ? random.name() : "";
      op.tensors.resize(random.below(4));
      for (int32_t &tensor : op.tensors)
        tensor = int32_t(random.below(graph.tensors.size() + 1)) - 1;
    }
    for (size_t i = 0; seed % 4 && i < graph.operators.size(); ++i) { // else as maps of before are
      for (uint32_t k = random.below(4); k--;)
        graph.operands.push_back(int32_t(random.below(graph.tensors.size() + 1)) - 1);
      graph.operandEnds.push_back(graph.operands.size());
      auto count = [&] {
        return random.oneIn(3) ? SourceCost::unknown : uint64_t(random.below(9)) << random.below(59);
      };
      graph.costs.push_back({count(), count()});
    }
    map.source.subgraphs.push_back(graph);
  }
  if (seed % 3)
    randomLayers(random, map.source);
  map.target.laws = random.oneIn(2) ? 11 : 0;
  map.target.inferred = random.oneIn(4) ? "by names" : "";
  map.target.proof = random.oneIn(4) ? "equal: 3 tensors equal" : "";
  for (uint32_t i = random.below(3); i--;) {
    SourceSignature signature{random.name(), random.below(4), {}, {}};
    for (uint32_t k = random.below(4); k--;)
      (random.oneIn(2) ? signature.inputs : signature.outputs)
          .push_back({random.name(), int32_t(random.below(50)) - 1});
    map.source.signatures.push_back(signature);
  }
  uint32_t operators = map.source.operatorCount() + 1, tensors = map.source.tensorCount() + 1;
  static const char *const passes[] = {"fuse", "fold", "quantize", "dce"};

  Listing listing = describe(target);
  map.target.format = listing.format;
  map.target.fingerprint = listing.fingerprint;
  map.target.content = listing.content;
  for (const SourceSubgraph &graph : listing.subgraphs) {
    TargetSubgraph to;
    to.name = graph.name;
    to.source = random.ids(4, 2);
    for (const SourceOperator &op : graph.operators) {
      OperatorRow row;
      row.op = op.op;
      row.customCode = op.customCode;
      for (int32_t tensor : op.tensors)
        row.outputs.push_back(tensor < 0 ? "" : graph.tensors[tensor - graph.firstTensor].name.str());
      row.origins = random.ids(operators, 4);
      if (row.origins.empty()) {
        row.syntheticReason = "type-bridge";
        row.serves = random.ids(operators, 3);
      }
      for (uint32_t i = random.below(4); i--;)
        row.passes.push_back(passes[random.below(4)]);
      row.wide = random.oneIn(8) ? "batch-matmul" : "";
      if (random.oneIn(8))
        row.calls = {random.below(operators), random.below(operators)};
      for (uint32_t i = random.oneIn(5) ? random.below(4) : 0; i--;)
        row.lineages.push_back({random.ids(operators, 3), {}, {random.below(3), random.below(300)}});
      if (random.oneIn(8))
        row.movedPast = random.ids(operators, 3);
      row.inexact = random.oneIn(6);
      to.operators.push_back(row);
    }
    for (const SourceTensor &tensor : graph.tensors) {
      TensorRow row;
      row.index = to.tensors.size();
      row.name = tensor.name;
      row.constant = tensor.kind == TensorKind::Constant;
      row.relations.resize(random.oneIn(3) ? random.below(4) : 1);
      for (MapRelation &relation : row.relations) {
        relation.tensor = random.below(tensors);
        relation.exact = random.oneIn(2);
        relation.inherited = random.oneIn(4);
        relation.lineage = random.oneIn(5) ? random.below(300) : 0;
        std::vector<MapStep> steps;
        if (random.oneIn(3))
          for (uint32_t i = random.below(4); i--;)
            steps.push_back(random.step());
        relation.steps = std::move(steps);
      }
      row.inexact = random.oneIn(6);
      if (row.relations.empty())
        row.reason = random.oneIn(2) ? "split-sum" : "something-new";
      else if (row.constant)
        row.tensors = {row.relations.front().tensor};
      if (row.constant && random.oneIn(2)) {
        row.tensors = random.ids(tensors, 3);
        row.operators = random.ids(operators, 3);
      }
      if (row.constant && row.tensors.empty() && row.operators.empty())
        row.syntheticReason = "invented-constant";
      for (uint32_t i = row.constant && random.oneIn(4) ? random.below(4) : 0; i--;)
        row.lineages.push_back({random.ids(operators, 3), random.ids(tensors, 3), {}});
      to.tensors.push_back(row);
    }
    map.target.subgraphs.push_back(to);
  }
  for (bool isTensor : {false, true})
    for (uint32_t id : random.ids(isTensor ? tensors : operators, 20)) {
      MapLedgerRow row;
      row.isTensor = isTensor;
      row.id = id;
      row.fate = random.oneIn(5) ? "evaporated" : "dead";
      row.was = random.oneIn(2) ? "identity" : "";
      row.pass = passes[random.below(4)];
      row.run = random.below(3);
      row.rewrite = random.below(100000);
      if (!isTensor && random.oneIn(4))
        row.with = random.ids(operators, 3);
      for (uint32_t i = random.below(3); i--;)
        row.operators.push_back({random.below(2), random.below(500)});
      for (uint32_t i = random.below(3); i--;)
        row.tensors.push_back({random.below(2), random.below(500)});
      if (random.oneIn(6))
        row.ledTo = {{{random.below(2), random.below(500)}}, {}};
      if (random.oneIn(6)) {
        row.partFile = "part1.circle";
        row.partFingerprint = "sha256:" + hex(random.digest());
      }
      map.ledger.push_back(row);
    }
  for (uint32_t i = random.below(3); i--;)
    map.chain.push_back({"step" + std::to_string(i) + ".circle", "circle", random.digest(), random.below(2) * 10,
                         random.oneIn(4) ? "by names" : "", random.oneIn(4) ? "equal: 3 tensors equal" : ""});
  for (bool isTensor : {false, true})
    for (uint32_t id : random.ids(isTensor ? tensors : operators, 10))
      for (uint32_t i = random.below(3); i--;)
        map.unneeded.push_back({isTensor, id, random.below(operators), random.below(5),
                                random.oneIn(3) ? "out-of-fashion" : "shape-only"});
  return map;
}

inline std::string encoded(const MapView &view, Embed embed) {
  flatbuffers::DetachedBuffer bytes = encode(view, embed);
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

} // namespace origo::test
