#include "report/join/UnnamedNodes.h"

#include "report/join/Align.h"
#include "report/join/Kinds.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace origo;
using namespace origo::report;
using namespace origo::origin;

namespace {

/// What TFLite makes a node of, in the order of its nodes: in turn everything that is ready and its own (`others`), and
/// everything that is ready and the delegate's. `facts` are of a whole subgraph.
std::vector<std::vector<uint32_t>> partsOf(llvm::ArrayRef<OperatorFacts> facts, const std::set<uint32_t> &others) {
  std::vector<size_t> waits;
  std::vector<uint32_t> ready[2]; // its own, and the delegate's
  auto isTaken = [&](uint32_t index) { return !others.count(index); };
  for (const OperatorFacts &is : facts) {
    waits.push_back(is.producers.size());
    if (is.producers.empty())
      ready[isTaken(is.index)].push_back(is.index);
  }
  // Which of them is first is what the first operator that is ready is.
  bool taken = ready[0].empty() || (!ready[1].empty() && ready[1].front() < ready[0].front());
  std::vector<std::vector<uint32_t>> parts;
  for (; !ready[0].empty() || !ready[1].empty(); taken = !taken) {
    std::vector<uint32_t> part;
    while (!ready[taken].empty()) {
      uint32_t index = part.emplace_back(ready[taken].back());
      ready[taken].pop_back();
      for (uint32_t consumer : facts[index].consumers)
        if (--waits[consumer] == 0)
          ready[isTaken(consumer)].push_back(consumer);
    }
    llvm::sort(part);
    if (taken)
      parts.push_back(std::move(part));
  }
  return parts;
}

} // namespace

void report::placeUnnamed(llvm::ArrayRef<JoinedRow *> nodes, std::vector<JoinedRow> &rows, const Target &target,
                          const FileGraph *graph) {
  uint32_t subgraph = nodes.front()->row.subgraph.value_or(0);
  std::set<uint32_t> others;
  bool othersAreDelegates = false;
  for (const JoinedRow &row : rows)
    if (row.subgraph == subgraph && !row.operators.empty()) {
      others.insert(row.operators.begin(), row.operators.end());
      othersAreDelegates |= isDelegateKind(row.row.kind);
    }
  std::vector<uint32_t> all = allOperators(target, subgraph);
  std::vector<std::vector<uint32_t>> parts;
  if (nodes.size() == 1) {
    llvm::copy_if(all, std::back_inserter(parts.emplace_back()), [&](uint32_t index) { return !others.count(index); });
  } else if (!othersAreDelegates && llvm::all_of(nodes, [](const JoinedRow *node) { return node->row.op; })) {
    parts = partsOf(factsOf(target, graph, subgraph, all), others);
  }
  if (parts.size() != nodes.size())
    return;
  std::vector<JoinedRow *> order(nodes);
  llvm::stable_sort(order, [](const JoinedRow *a, const JoinedRow *b) { return a->row.op < b->row.op; });
  for (auto [node, part] : llvm::zip(order, parts)) {
    node->subgraph = subgraph;
    node->operators = std::move(part);
    if (!node->operators.empty())
      node->match = Match::Approx;
  }
}
