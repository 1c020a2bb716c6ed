#include "view/PageWriter.h"

#include "llvm/ADT/STLExtras.h"

#include <array>

namespace origo::view {

using namespace report;
using llvm::StringRef;

void PageWriter::writeMap(const origin::OriginMap &map) {
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
  // One run that has proved nothing, and the rewrites of all are not proved.
  auto isProved = [](const auto &file) { return StringRef(file.proof).starts_with("equal"); };
  if (isProved(map.target) && llvm::all_of(map.chain, isProved) && !map.retrained)
    os << ",\n\"proof\":" << id(map.target.proof);
  column("unneeded", map.unneeded, [&](const origin::MapUnneeded &row) {
    os << '[' << int(row.isTensor) << ',' << row.id << ',' << id(names.unneededWords(row)) << ']';
  });
  os << '}';
}

void PageWriter::rows(const MapNames &names, uint32_t index) {
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

void PageWriter::ledger(const origin::OriginMap &map) {
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
  auto pairs = [&](const auto &list) { this->list(list, [&](auto pair) { os << pair.first << ',' << pair.second; }); };
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
      "with", map.ledger, [](const Row &row) { return !row.with.empty(); }, [&](const Row &row) { numbers(row.with); });
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

} // namespace origo::view
