#pragma once

#include "origin/OriginMap.h"
#include "origin/codec/Json.h"

#include "llvm/ADT/STLExtras.h"

#include <functional>
#include <set>

/// Comparing what two origin maps say.
namespace origo::test {

/// The core of a map as docs/origin-map.md defines it, in the words of the side file.
inline std::string coreOf(origin::OriginMap map) {
  map.generator.clear();
  map.source.file.clear();
  map.target.file.clear();
  map.chain.clear();
  for (origin::MapLedgerRow &row : map.ledger)
    row.run = row.rewrite = 0;
  // Of what gives the same bytes, such as k and k · 1, runs that are cut may tell another: what is told is proved.
  for (origin::TargetSubgraph &graph : map.target.subgraphs)
    for (origin::TensorRow &row : graph.tensors)
      row.expression.clear();
  std::string text;
  llvm::raw_string_ostream os(text);
  origin::writeJson(map, os);
  return text;
}

/// How source ids and names of one model are to be read as those of another.
struct Reading {
  std::function<uint32_t(uint32_t)> op = [](uint32_t id) { return id; };
  std::function<uint32_t(uint32_t)> tensor = op;
  std::function<std::string(llvm::StringRef)> name = [](llvm::StringRef name) { return name.str(); };
  std::set<uint32_t> anyFate = {}; ///< source tensors that may go in any way
  bool anyPlace = false;           ///< what is gone may have gone into anything
};

/// The core without digests, a line a row. What is in the written file is told by its name, not by its position.
class MapRows {
public:
  MapRows(const origin::OriginMap &map, const Reading &as) : map(map), as(as) {
    for (auto [g, graph] : llvm::enumerate(map.source.subgraphs))
      source(g, graph);
    for (const origin::SourceSignature &signature : map.source.signatures)
      rows.push_back("signature " + signature.key + " of " + std::to_string(signature.subgraph) + ": " +
                     entries(signature.inputs) + " -> " + entries(signature.outputs));
    for (auto [g, graph] : llvm::enumerate(map.target.subgraphs)) {
      for (const origin::OperatorRow &row : graph.operators)
        rows.push_back(opRow(g, row));
      for (const origin::TensorRow &row : graph.tensors)
        rows.push_back(tensorRow(g, row));
    }
    for (const origin::MapLedgerRow &row : map.ledger)
      rows.push_back(ledgerRow(row));
  }
  std::vector<std::string> rows;

private:
  const origin::OriginMap &map;
  const Reading &as;

  template <class List, class F> static std::string join(const List &list, F f) {
    std::string text;
    for (const auto &item : list)
      text += (text.empty() ? "" : ", ") + f(item);
    return "[" + text + "]";
  }
  /// As a set: another reading may have another order.
  static std::string ids(llvm::ArrayRef<uint32_t> ids, const std::function<uint32_t(uint32_t)> &f) {
    std::vector<uint32_t> read;
    for (uint32_t id : ids)
      read.push_back(f(id));
    llvm::sort(read);
    return join(read, [](uint32_t id) { return std::to_string(id); });
  }
  std::string entries(llvm::ArrayRef<origin::SourceSignature::Entry> list) const {
    return join(list, [&](auto &e) { return e.name + "=" + id(e.tensor); });
  }
  std::string id(int32_t tensor) const { return tensor < 0 ? "none" : std::to_string(as.tensor(tensor)); }
  std::string names(llvm::ArrayRef<std::string> list) const {
    return join(list, [&](llvm::StringRef name) { return "\"" + as.name(name) + "\""; });
  }
  std::string tensorAt(uint32_t graph, uint32_t index) const {
    return "\"" + as.name(map.target.subgraphs[graph].tensors[index].name) + "\" of " + std::to_string(graph);
  }

  void source(size_t g, const origin::SourceSubgraph &graph) {
    std::string in = " of " + std::to_string(g) + ": ";
    for (auto [i, op] : llvm::enumerate(graph.operators))
      rows.push_back("source operator " + std::to_string(as.op(graph.firstOperator + i)) + in + op.op + " " +
                     op.customCode + " -> " + join(op.tensors, [&](int32_t t) { return id(t); }));
    for (auto [i, tensor] : llvm::enumerate(graph.tensors))
      rows.push_back("source tensor " + std::to_string(as.tensor(graph.firstTensor + i)) + in + "\"" +
                     as.name(tensor.name.str()) + "\" kind " + std::to_string(int(tensor.kind)));
  }
  std::string opRow(size_t g, const origin::OperatorRow &row) const {
    return "operator of " + std::to_string(g) + ": " + row.op + " " + row.customCode + " -> " + names(row.outputs) +
           " origins " + ids(row.origins, as.op) + " passes " + join(row.passes, [](auto &p) { return p; }) +
           " synthetic " + row.syntheticReason + " serves " + ids(row.serves, as.op) + " wide " + row.wide + " calls " +
           ids(row.calls, as.op);
  }
  std::string tensorRow(size_t g, const origin::TensorRow &row) const {
    // Relations of one quality have no order that means anything.
    std::vector<std::string> relations;
    for (const origin::MapRelation &r : row.relations)
      relations.push_back(relation(g, r));
    llvm::sort(relations);
    return (row.constant ? "constant" : "value") + std::string(" of ") + std::to_string(g) + ": \"" +
           as.name(row.name) + "\" tensors " + ids(row.tensors, as.tensor) + " operators " + ids(row.operators, as.op) +
           " relations " + join(relations, [](auto &r) { return r; }) + " reason " + row.reason + " synthetic " +
           row.syntheticReason;
  }
  std::string relation(size_t g, const origin::MapRelation &relation) const {
    auto term = [&](const origin::Term &t) {
      return t.kind == origin::Term::Number     ? std::to_string(t.number)
             : t.kind == origin::Term::Constant ? tensorAt(g, t.constant)
             : t.kind == origin::Term::Source   ? "source " + std::to_string(as.tensor(t.constant))
                                                : std::string("none");
    };
    auto numbers = [](llvm::ArrayRef<int64_t> list) { return join(list, [](int64_t n) { return std::to_string(n); }); };
    return std::to_string(as.tensor(relation.tensor)) + (relation.exact ? " exact " : " ") +
           join(relation.steps, [&](const origin::MapStep &s) {
             return std::to_string(int(s.kind)) + " axis " + std::to_string(s.axis) + " " + term(s.scale) + " " +
                    term(s.shift) + " " + numbers(s.first) + " " + numbers(s.second) + s.unknown +
                    join(s.factors, [](float factor) { return std::to_string(factor); });
           });
  }
  std::string ledgerRow(const origin::MapLedgerRow &row) const {
    std::string gone = (row.isTensor ? "gone tensor " : "gone operator ") +
                       std::to_string(row.isTensor ? as.tensor(row.id) : as.op(row.id)) + ": ";
    if (row.isTensor && as.anyFate.contains(as.tensor(row.id)))
      return gone + "any fate";
    if (as.anyPlace)
      return gone + row.fate + " was " + row.was + " by " + row.pass;
    std::vector<std::string> into;
    for (auto [g, index] : row.operators)
      into.push_back("operator -> " + names(map.target.subgraphs[g].operators[index].outputs) + " of " +
                     std::to_string(g));
    for (auto [g, index] : row.tensors)
      into.push_back("tensor " + tensorAt(g, index));
    llvm::sort(into);
    return gone + row.fate + " was " + row.was + " by " + row.pass + " into " + join(into, [](auto &i) { return i; });
  }
};

inline std::vector<std::string> rowsOf(const origin::OriginMap &map, const Reading &as = {}) {
  return MapRows(map, as).rows;
}

/// The first few lines that only one of two lists has, whatever their order; empty if there are none.
inline std::string differenceOf(std::vector<std::string> expected, std::vector<std::string> actual) {
  llvm::sort(expected);
  llvm::sort(actual);
  std::string text;
  unsigned lines = 0;
  auto tell = [&](char sign, const auto &list, const auto &other) {
    std::vector<std::string> only;
    std::set_difference(list.begin(), list.end(), other.begin(), other.end(), std::back_inserter(only));
    for (const std::string &line : only)
      if (++lines <= 12)
        text += sign + line + "\n";
  };
  tell('-', expected, actual);
  tell('+', actual, expected);
  return text;
}

inline std::vector<std::string> linesOf(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  return {lines.begin(), lines.end()};
}

} // namespace origo::test
