// All facts of a map as lines, by the C++ reader. facts.h and json_facts.cpp print the same.
#include "origin/OriginReader.h"

#include <clocale>
#include <cstdio>

using namespace origo::origin;

static void print(const char *word, const std::vector<uint32_t> &ids) {
  std::printf(" %s", word);
  for (uint32_t id : ids)
    std::printf(" %u", id);
}

static void print(const char *word, const std::vector<std::pair<uint32_t, uint32_t>> &places) {
  std::printf(" %s", word);
  for (auto [subgraph, index] : places)
    std::printf(" %u:%u", subgraph, index);
}

static void print(const char *word, const std::vector<int64_t> &numbers) {
  std::printf(" %s", word);
  for (int64_t number : numbers)
    std::printf(" %lld", static_cast<long long>(number));
}

static void print(const char *word, const Term &term) {
  if (term.kind == Term::Number)
    std::printf(" %s number %.17g", word, term.number);
  else if (term.kind == Term::Constant)
    std::printf(" %s constant %u", word, term.constant);
  else if (term.kind == Term::Source)
    std::printf(" %s source %u", word, term.constant);
}

static void print(const MapStep &step) {
  switch (step.kind) {
  case MapStep::Permute:
    return print("permute", step.first);
  case MapStep::Reshape:
    std::printf(" reshape");
    return;
  case MapStep::Slice:
  case MapStep::Placed:
    print(step.kind == MapStep::Slice ? "slice" : "placed", step.first);
    return print("size", step.second);
  case MapStep::Cast:
    std::printf(" cast");
    return;
  case MapStep::Affine:
    std::printf(" affine %d", step.axis);
    print("scale", step.scale);
    return print("shift", step.shift);
  case MapStep::Quantize:
    std::printf(" quantize");
    return;
  case MapStep::Scaled:
    std::printf(" scaled");
    return;
  case MapStep::Unknown:
    std::printf(" unknown");
  }
}

static void print(unsigned subgraph, const TensorRow &row) {
  std::printf("tensor %u:%u \"%s\" reason %s synthetic %s\n", subgraph, row.index, row.name.c_str(), row.reason.c_str(),
              row.syntheticReason.c_str());
  for (const MapRelation &relation : row.relations) {
    std::printf("  is %u%s", relation.tensor, relation.exact ? " exact" : "");
    for (const MapStep &step : relation.steps)
      print(step);
    std::printf("\n");
  }
  std::vector<uint32_t> usual;
  if (!row.relations.empty())
    usual.push_back(row.relations.front().tensor);
  if (row.constant && (row.tensors != usual || !row.operators.empty())) {
    print("computed from tensors", row.tensors);
    print("operators", row.operators);
    std::printf("\n");
  }
}

static const char *kindName(TensorKind kind) {
  const char *names[] = {"input", "activation", "variable", "constant", "absent"};
  return names[static_cast<int>(kind)];
}

/// What whereIs… says must be what the rows say.
static bool isConsistent(const OriginReader &reader) {
  const OriginMap &map = reader.map();
  size_t carried = 0, found = 0, gone = 0;
  for (const TargetSubgraph &graph : map.target.subgraphs)
    for (const OperatorRow &row : graph.operators)
      carried += row.origins.size();
  for (uint32_t id = 0; id < map.source.operatorCount(); ++id) {
    OperatorFate fate = reader.whereIsOperator(id);
    for (Place place : fate.operators) {
      const OperatorRow *row = map.target.findOperator(place.subgraph, place.index);
      found += row && std::find(row->origins.begin(), row->origins.end(), id) != row->origins.end();
    }
    for (Place place : fate.constants) {
      const TensorRow *row = map.target.findTensor(place.subgraph, place.index);
      if (!row || std::find(row->operators.begin(), row->operators.end(), id) == row->operators.end())
        return false;
    }
    gone += fate.gone != nullptr;
    if (fate.operators.empty() != (fate.gone && fate.gone->id == id && !fate.gone->isTensor))
      return false;
  }
  for (uint32_t id = 0; id < map.source.tensorCount(); ++id) {
    TensorFate fate = reader.whereIsTensor(id);
    for (Place place : fate.tensors) {
      const TensorRow *row = map.target.findTensor(place.subgraph, place.index);
      if (!row || std::none_of(row->relations.begin(), row->relations.end(),
                               [&](const MapRelation &relation) { return relation.tensor == id; }))
        return false;
    }
    gone += fate.gone != nullptr;
    if ((fate.tensors.empty() && fate.constants.empty()) != (fate.gone && fate.gone->id == id && fate.gone->isTensor))
      return false;
  }
  uint32_t beyond = map.source.operatorCount();
  return carried == found && gone == map.ledger.size() && !reader.whereIsOperator(beyond).gone &&
         reader.whereIsOperator(~0u).operators.empty() && !map.source.findOperator(beyond);
}

int main(int argc, char **argv) {
  std::setlocale(LC_ALL, "");
  std::string error;
  auto reader = OriginReader::open(argc > 1 ? argv[1] : "", error);
  if (!reader) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  const OriginMap &map = reader->map();
  for (unsigned g = 0; g < map.target.subgraphs.size(); ++g)
    for (unsigned i = 0; i < map.target.subgraphs[g].operators.size(); ++i) {
      const OperatorRow &row = *map.target.findOperator(g, i);
      std::printf("operator %u:%u", g, i);
      print("origins", row.origins);
      std::printf(" passes");
      for (const auto &pass : row.passes)
        std::printf(" %s", pass.c_str());
      std::printf(" synthetic %s", row.syntheticReason.c_str());
      print("serves", row.serves);
      std::printf(" wide %s", row.wide.c_str());
      print("calls", row.calls);
      std::printf("\n");
    }
  for (unsigned g = 0; g < map.target.subgraphs.size(); ++g)
    for (const TensorRow &row : map.target.subgraphs[g].tensors)
      print(g, row);
  for (uint32_t id = 0; id < map.source.operatorCount(); ++id) {
    const SourceOperator &op = *map.source.findOperator(id);
    std::printf("source operator %u %s %s \"%s\" scopes \"", id, op.op.c_str(), op.customCode.c_str(),
                std::string(map.source.nameOf(op)).c_str());
    for (const std::string &scope : scopesOfName(map.source.nameOf(op)))
      std::printf("%s ", scope.c_str());
    std::printf("\" outputs");
    for (int32_t tensor : op.tensors)
      std::printf(" %d", tensor);
    std::printf(" operands");
    for (int32_t tensor : map.source.operandsOf(id))
      std::printf(" %d", tensor);
    for (auto [word, cost] :
         {std::pair("macs", map.source.costOf(id).macs), std::pair("bytes", map.source.costOf(id).bytes)})
      std::printf(" %s %s", word, cost == SourceCost::unknown ? "unknown" : std::to_string(cost).c_str());
    std::printf("\n");
  }
  for (uint32_t id = 0; id < map.source.tensorCount(); ++id) {
    const SourceTensor &tensor = *map.source.findTensor(id);
    std::printf("source tensor %u %s \"%s\"\n", id, kindName(tensor.kind), tensor.name.c_str());
  }
  for (const SourceSignature &signature : map.source.signatures) {
    std::printf("signature \"%s\" subgraph %u", signature.key.c_str(), signature.subgraph);
    for (auto [word, entries] : {std::pair("inputs", &signature.inputs), std::pair("outputs", &signature.outputs)}) {
      std::printf(" %s", word);
      for (const SourceSignature::Entry &entry : *entries)
        std::printf(" \"%s\" %d", entry.name.c_str(), entry.tensor);
    }
    std::printf("\n");
  }
  for (const MapLedgerRow &row : map.ledger) {
    std::printf("gone %s %u %s was %s by %s run %u rewrite %u part %s %s", row.isTensor ? "tensor" : "operator", row.id,
                row.fate.c_str(), row.was.c_str(), row.pass.c_str(), row.run, row.rewrite, row.partFile.c_str(),
                row.partFingerprint.c_str());
    print("operators", row.operators);
    print("tensors", row.tensors);
    for (const MapUnneeded &item : map.unneededOf(row.isTensor, row.id))
      std::printf(" unneeded %u %u %s", item.user, item.operand, item.reason.c_str());
    std::printf("\n");
  }
  if (!isConsistent(*reader)) {
    std::fprintf(stderr, "%s: whereIs… says something else than the rows\n", argv[1]);
    return 2;
  }
}
