#include "report/join/Sequences.h"

#include "report/join/Align.h"
#include "report/join/Kinds.h"
#include "report/join/UnnamedNodes.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace origo;
using namespace origo::report;
using namespace origo::origin;
using llvm::StringRef;

namespace {

/// So many rows for an operator are no sequence of a network's run any more, and aligning them would take time for
/// nothing.
bool isTooLong(size_t rows, size_t operators) { return rows > 16 * operators + 1000; }

std::vector<uint64_t> plainShape(const std::vector<uint64_t> &dims) {
  std::vector<uint64_t> shape;
  llvm::copy_if(dims, std::back_inserter(shape), [](uint64_t dim) { return dim > 1; });
  llvm::sort(shape);
  return shape;
}

SequenceRow sequenceRow(const ProfileRow &row) {
  double time = row.isSummed() || row.metric == "delegate_time"
                    ? double(row.value) / double(std::max<uint64_t>(row.count, 1))
                    : 0;
  return {kindOf(row).str(), row.details().linked, plainShape(row.details().shape), std::nullopt, time};
}

void place(JoinedRow &row, const Placed &placed, llvm::ArrayRef<OperatorFacts> facts, uint32_t subgraph, bool certain) {
  row.subgraph = subgraph;
  row.operators.clear();
  for (uint32_t position : placed.positions)
    row.operators.push_back(facts[position].index);
  llvm::sort(row.operators); // which may be there twice, with their activation apart
  row.operators.erase(std::unique(row.operators.begin(), row.operators.end()), row.operators.end());
  row.match = certain ? Match::Aligned : Match::Approx;
  row.score = static_cast<uint16_t>(certain ? placed.score : 0);
}

// ---- Runs ----

/// How many rows a run has, where several runs are one behind another: the same types again and again.
size_t periodOf(llvm::ArrayRef<JoinedRow *> rows, size_t operators) {
  for (size_t runs = 2; runs <= rows.size(); ++runs) {
    size_t period = rows.size() / runs;
    if (2 * period < operators)
      break;
    if (rows.size() % runs || period > 2 * operators)
      continue;
    bool repeats = true;
    for (size_t i = period; i < rows.size() && repeats; ++i)
      repeats = kindOf(rows[i]->row) == kindOf(rows[i - period]->row);
    if (repeats)
      return period;
  }
  return rows.size();
}

void alignRun(uint32_t subgraph, std::vector<JoinedRow *> rows, const Target &target, const FileGraph *graph,
              bool levels, std::vector<std::string> &notes) {
  llvm::stable_sort(rows, [](const JoinedRow *a, const JoinedRow *b) { return a->row.step < b->row.step; });
  std::vector<OperatorFacts> facts = factsOf(target, graph, subgraph, allOperators(target, subgraph));
  if (levels)
    facts = byLevels(facts);
  // What was only guessed is to be found as well.
  auto isOpen = [](const JoinedRow *row) { return row->match == Match::None || row->match == Match::Approx; };
  if (facts.empty() || llvm::none_of(rows, isOpen))
    return;
  size_t period = 2 * rows.size() > 3 * facts.size() ? periodOf(rows, facts.size()) : rows.size();
  if (isTooLong(period, facts.size())) {
    notes.push_back(std::to_string(rows.size()) + " rows in a sequence are too many for " +
                    std::to_string(facts.size()) + " operators, and not aligned");
    return;
  }
  std::vector<std::vector<SequenceRow>> steps;
  for (JoinedRow *row : llvm::ArrayRef(rows).take_front(period)) {
    SequenceRow &step = steps.emplace_back(1, sequenceRow(row->row)).front();
    if (!levels && !isOpen(row) && row->operators.size() == 1)
      step.anchor = row->operators.front();
  }
  // Names may stand in another order than operators; those that do are no anchors.
  std::optional<uint32_t> last;
  for (std::vector<SequenceRow> &step : steps)
    if (auto &anchor = step.front().anchor) {
      if (last && *anchor <= *last)
        anchor.reset();
      else
        last = anchor;
    }
  Alignment found = align(facts, steps, {{}, true});
  size_t placed = llvm::count_if(found.steps, [](const auto &step) { return step.has_value(); });
  // What a runtime does so that shapes fit tells nothing.
  size_t bridges = 0;
  for (size_t i = 0; levels && i < period; ++i)
    bridges +=
        !(i < found.steps.size() && found.steps[i]) && agreement(kindOf(rows[i]->row), "RESHAPE") == Agreement::Agrees;
  if (2 * placed < period - bridges) // it is another network's
    return;
  for (size_t i = 0; i < rows.size(); ++i)
    if (const auto &step = found.steps[i % period]; step && isOpen(rows[i]))
      place(*rows[i], *step, facts, subgraph, step->certain);
}

} // namespace

void report::alignRuns(std::vector<JoinedRow> &rows, const Target &target, const FileGraph *graph, bool byLevels,
                       std::vector<std::string> &notes) {
  std::map<uint32_t, std::vector<JoinedRow *>> runs; // by subgraph
  for (JoinedRow &row : rows)
    if (row.row.isSummed() && row.row.step)
      runs[row.row.subgraph.value_or(0)].push_back(&row);
  for (auto &[subgraph, run] : runs)
    alignRun(subgraph, std::move(run), target, graph, byLevels, notes);
}

// ---- Delegates ----

namespace {

/// A node that stands for operators.
struct Node {
  JoinedRow *row;
  std::vector<OperatorFacts> facts;
  Alignment alignment;
  uint64_t explained = 0; ///< by rows that are of it alone
};

struct InnerRow {
  JoinedRow *row;
  uint64_t nodes = 1; ///< of how many it is the sum
  uint64_t left = 1;  ///< of them without those that are known
  std::vector<std::pair<Node *, const Placed *>> claims;
};

class Delegates {
  static constexpr size_t mostTypes = 16; ///< at one place of all nodes; more there are in no network

public:
  Delegates(std::vector<Node> nodes, std::vector<JoinedRow *> inner, Join &join) : nodes(std::move(nodes)), join(join) {
    // The nodes' number of calls is that of the runs, unless they are in a loop.
    std::map<uint64_t, size_t> counts;
    for (const Node &node : this->nodes)
      ++counts[std::max<uint64_t>(node.row->row.count, 1)];
    auto most = llvm::max_element(counts, [](auto &a, auto &b) { return a.second < b.second; });
    uint64_t runs = most->first;
    countsTell = 2 * most->second > this->nodes.size();
    for (JoinedRow *row : inner)
      if (row->row.step) {
        uint64_t times = std::max<uint64_t>(row->row.count / runs, 1);
        if (!countsTell) // a row with the calls of one node is about that node; any other may be about all
          times = counts.count(row->row.count) ? 1 : this->nodes.size();
        rows.push_back({row, times, times, {}});
      }
  }

  bool run() {
    size_t operators = 0;
    for (const Node &node : nodes)
      operators += node.facts.size();
    if (rows.empty() || isTooLong(rows.size(), operators))
      return false;
    findSteps(16 * operators + 1000);
    findEnds();
    std::vector<Node *> order;
    for (Node &node : nodes)
      order.push_back(&node);
    // Those of many operators first: their sequences are like no other's.
    llvm::stable_sort(order, [](const Node *a, const Node *b) { return a->facts.size() > b->facts.size(); });
    size_t audible = 0, placed = 0;
    for (Node *node : order) {
      if (node->facts.empty())
        continue;
      alignNode(*node);
      audible += node->alignment.audible;
      placed += node->alignment.placed;
    }
    if (2 * placed < audible)
      return false;
    claim();
    return true;
  }

  void apply(std::vector<JoinedRow> &overheads) {
    markExchangeable();
    uint64_t whole = 0, inside = 0;
    size_t nobody = llvm::count_if(rows, [](const InnerRow &row) { return row.claims.empty(); });
    for (Node &node : nodes) {
      // One without rows stays what it was; those that are nobody's may be of one of which nothing is known.
      if (node.facts.empty() ? nobody == 0 : node.alignment.steps.empty())
        continue;
      whole += node.row->row.value;
      node.row->row.metric = "graph_time";
    }
    for (InnerRow &inner : rows) {
      inner.row->row.metric = "time";
      inside += inner.row->row.value;
      if (inner.nodes == 1 && inner.claims.size() == 1) {
        auto [node, placed] = inner.claims.front();
        place(*inner.row, *placed, node->facts, node->row->subgraph, placed->certain && !exchangeable.count(inner.row));
        node->explained += inner.row->row.value;
      }
    }
    // In proportion to what of a node's time is nobody's yet. A row is about operators of one subgraph: where there are
    // several, it becomes a row for each.
    for (InnerRow &inner : rows)
      if (inner.nodes > 1 && !inner.claims.empty()) {
        std::map<uint32_t, std::map<uint32_t, uint64_t>> weights; // by subgraph and operator
        for (auto [node, placed] : inner.claims) {
          uint64_t all = node->row->row.value;
          weights[node->row->subgraph][node->facts[placed->own].index] =
              all > node->explained ? all - node->explained : 1;
        }
        std::vector<uint64_t> bySubgraph;
        for (const auto &[subgraph, operators] : weights) {
          uint64_t &sum = bySubgraph.emplace_back();
          for (auto [index, weight] : operators)
            sum += std::min(weight, UINT64_MAX - sum);
        }
        std::vector<uint64_t> parts = divide(inner.row->row.value, bySubgraph);
        size_t at = 0;
        for (const auto &[subgraph, operators] : weights) {
          bool isLast = at + 1 == weights.size();
          JoinedRow &part = isLast ? *inner.row : overheads.emplace_back(join.measured.emplace_back(inner.row->row));
          part.row.value = parts[at++];
          part.match = Match::Merged;
          part.subgraph = subgraph;
          for (auto [index, weight] : operators) {
            part.operators.push_back(index);
            part.weights.push_back(weight);
          }
        }
      }
    if (nobody)
      join.notes.push_back(std::to_string(nobody) + " of " + std::to_string(rows.size()) +
                           " rows of delegates fit to no operator of their nodes");
    if (inside > whole) {
      join.notes.push_back("the rows of delegates take " + std::to_string((inside - whole) / 1000) +
                           " us more than their nodes");
      return;
    }
    if (inside == whole)
      return;
    JoinedRow &overhead = overheads.emplace_back(join.measured.emplace_back());
    overhead.overhead = true;
    overhead.row.rawName = "delegate overhead";
    overhead.row.value = whole - inside;
    overhead.row.count = nodes.front().row->row.count;
    overhead.row.backend = nodes.front().row->row.backend;
    overhead.row.subgraph = nodes.front().row->subgraph;
  }

private:
  std::vector<Node> nodes;
  bool countsTell = true; ///< of how many nodes a row is the sum
  std::vector<InnerRow> rows;
  Join &join;
  std::vector<std::vector<size_t>> steps; ///< rows by their place in their node
  std::vector<size_t> ends;               ///< how many nodes have so many rows
  std::set<const JoinedRow *> exchangeable;

  void findSteps(size_t limit) {
    for (size_t i = 0; i < rows.size(); ++i) {
      size_t step = *rows[i].row->row.step;
      if (step >= limit)
        continue;
      if (steps.size() <= step)
        steps.resize(step + 1);
      steps[step].push_back(i);
    }
  }

  /// As many nodes as rows at a place, counted as often as they are sums, have a row there.
  void findEnds() {
    std::vector<uint64_t> alive;
    for (const auto &step : steps) {
      uint64_t count = 0;
      for (size_t row : step)
        count += rows[row].nodes;
      alive.push_back(std::min<uint64_t>(count, nodes.size()));
    }
    ends.assign(steps.size() + 1, 0);
    ends[0] = alive.empty() ? nodes.size() : nodes.size() - alive[0];
    for (size_t n = 0; n < alive.size(); ++n)
      ends[n + 1] = alive[n] - std::min(alive[n], n + 1 < alive.size() ? alive[n + 1] : 0);
  }

  void alignNode(Node &node) {
    size_t most = std::min(steps.size(), nodes.size() == 1 ? steps.size() : 2 * node.facts.size() + 64);
    std::vector<std::vector<SequenceRow>> candidates(most);
    std::vector<std::vector<size_t>> from(most);
    for (size_t n = 0; n < most; ++n)
      for (size_t row : steps[n])
        if (rows[row].left && candidates[n].size() < mostTypes) {
          candidates[n].push_back(sequenceRow(rows[row].row->row));
          from[n].push_back(row);
        }
    AlignOptions options;
    if (nodes.size() > 1) {
      for (size_t n = 0; countsTell && n <= most; ++n)
        if (ends[n])
          options.lengths.push_back(n);
      if (options.lengths.empty()) // the counts say nothing
        for (size_t n = 0; n <= most; ++n)
          options.lengths.push_back(n);
    }
    node.alignment = align(node.facts, candidates, options);
    size_t length = node.alignment.steps.size();
    if (ends[length])
      --ends[length];
    for (size_t n = 0; n < length; ++n)
      if (auto &placed = node.alignment.steps[n]) {
        placed->row = from[n][placed->row];
        --rows[placed->row].left;
      }
  }

  void claim() {
    for (Node &node : nodes)
      for (const auto &placed : node.alignment.steps)
        if (placed)
          rows[placed->row].claims.push_back({&node, &*placed});
  }

  /// Two nodes whose rows at a place could as well be each other's.
  void markExchangeable() {
    for (const auto &step : steps) {
      std::vector<InnerRow *> single;
      for (size_t row : step)
        if (rows[row].claims.size() == 1)
          single.push_back(&rows[row]);
      if (single.size() > mostTypes) // nobody has so many types at one place
        continue;
      for (InnerRow *a : single)
        for (InnerRow *b : single) {
          if (a == b)
            continue;
          auto [nodeA, placedA] = a->claims.front();
          auto [nodeB, placedB] = b->claims.front();
          const OperatorFacts &opA = nodeA->facts[placedA->own], &opB = nodeB->facts[placedB->own];
          if (worthOf(opA, b->row->row) + worthOf(opB, a->row->row) >=
              worthOf(opA, a->row->row) + worthOf(opB, b->row->row))
            exchangeable.insert({a->row, b->row});
        }
    }
  }
  static int64_t worthOf(const OperatorFacts &op, const ProfileRow &row) { return fitOf(op, sequenceRow(row)); }
};

bool isDelegate(const JoinedRow &row) {
  return row.row.isSummed() &&
         (row.match == Match::Approx || row.match == Match::Partition || row.match == Match::None) &&
         isDelegateKind(row.row.kind);
}

} // namespace

void report::splitDelegates(Join &join, const Target &target, const FileGraph *graph) {
  std::vector<JoinedRow> &rows = join.rows;
  std::vector<Node> nodes;
  std::vector<JoinedRow *> inner;                       // which do not say of which subgraph their node is
  std::map<uint32_t, std::vector<JoinedRow *>> unknown; // by subgraph
  for (JoinedRow &row : rows)
    if (isDelegate(row) && row.match == Match::None)
      unknown[row.row.subgraph.value_or(0)].push_back(&row);
  for (auto &[subgraph, nodesOf] : unknown)
    placeUnnamed(nodesOf, rows, target, graph);
  for (JoinedRow &row : rows)
    if (isDelegate(row))
      nodes.push_back({&row, factsOf(target, graph, row.subgraph, row.operators), {}, 0});
    else if (row.row.metric == "delegate_time")
      inner.push_back(&row);
  if (nodes.empty() || inner.empty())
    return;
  std::vector<JoinedRow> overheads;
  Delegates delegates(std::move(nodes), std::move(inner), join);
  if (delegates.run())
    delegates.apply(overheads);
  else
    join.notes.push_back(
        "the rows inside of delegates are too few, or too many, to tell whose they are: the delegates' time is divided "
        "among all of their operators");
  for (JoinedRow &overhead : overheads)
    rows.push_back(std::move(overhead));
}
