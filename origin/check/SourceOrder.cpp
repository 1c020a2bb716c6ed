#include "origin/check/SourceOrder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

using namespace origo;
using namespace origo::origin;

SourceOrder::SourceOrder(const FileGraph &file) {
  auto operators = static_cast<uint32_t>(file.operators.size());
  auto graphs = static_cast<uint32_t>(file.subgraphs.size());
  auto entry = [&](uint32_t graph) { return operators + 2 * graph; };
  auto exit = [&](uint32_t graph) { return operators + 2 * graph + 1; };

  std::vector<std::vector<uint32_t>> callers(graphs);
  for (uint32_t op = 0; op < operators; ++op)
    for (uint32_t graph : file.callees(op))
      if (callers[graph].empty() || callers[graph].back() != op)
        callers[graph].push_back(op);

  auto producers = [&](uint32_t op, llvm::function_ref<void(uint32_t)> visit) {
    bool fromOutside = false;
    file.forEachInput(op, [&](int32_t tensor) {
      if (tensor < 0)
        return;
      fromOutside |= file.kind[tensor] == TensorKind::Input;
      if (file.producer[tensor] >= 0)
        visit(static_cast<uint32_t>(file.producer[tensor]));
    });
    if (fromOutside)
      visit(entry(file.subgraphOfOperator(op)));
  };
  for (uint32_t op = 0; op < operators; ++op) {
    first.push_back(static_cast<uint32_t>(edges.size()));
    producers(op, [&](uint32_t from) { edges.push_back(from); });
    for (uint32_t graph : file.callees(op))
      edges.push_back(exit(graph));
  }
  for (uint32_t graph = 0; graph < graphs; ++graph) {
    first.push_back(static_cast<uint32_t>(edges.size()));
    for (uint32_t caller : callers[graph])
      producers(caller, [&](uint32_t from) { edges.push_back(from); });
    first.push_back(static_cast<uint32_t>(edges.size()));
    bool handsThrough = false;
    if (auto *outputs = file.subgraphs[graph].table->outputs())
      for (int32_t index : *outputs)
        if (int32_t tensor = file.tensorId(file.subgraphs[graph], index); tensor >= 0) {
          if (file.producer[tensor] >= 0)
            edges.push_back(static_cast<uint32_t>(file.producer[tensor]));
          handsThrough |= file.kind[tensor] == TensorKind::Input;
        }
    if (handsThrough)
      edges.push_back(entry(graph));
  }
  first.push_back(static_cast<uint32_t>(edges.size()));
  walk();
}

void SourceOrder::walk() {
  uint32_t count = nodeCount(), clock = 0;
  constexpr uint32_t unseen = ~0u;
  opened.assign(count, unseen);
  closed.assign(count, unseen);
  sequence.reserve(count);
  std::vector<std::pair<uint32_t, uint32_t>> stack; // node, next predecessor
  // From the back, so that most of a graph hangs on few trees.
  for (uint32_t root = count; root-- > 0;) {
    if (opened[root] != unseen)
      continue;
    opened[root] = clock++;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto &[node, next] = stack.back();
      auto list = predecessors(node);
      if (next == list.size()) {
        closed[node] = clock;
        sequence.push_back(node);
        stack.pop_back();
        continue;
      }
      uint32_t before = list[next++];
      if (opened[before] == unseen) {
        opened[before] = clock++;
        stack.emplace_back(before, 0);
      } else if (closed[before] == unseen) {
        hasCycle = true;
      }
    }
  }
}

void SourceOrder::answer(llvm::MutableArrayRef<Question> questions, Nodes members, Nodes ends) const {
  if (questions.empty())
    return;
  constexpr unsigned width = 256; // groups at a time, one bit each
  using Bits = std::array<uint64_t, width / 64>;
  llvm::sort(questions, [](const Question &a, const Question &b) {
    return std::pair(a.group, a.row) < std::pair(b.group, b.row);
  });
  std::vector<Bits> reached(nodeCount());
  std::vector<Question *> batch;
  for (size_t begin = 0; begin < questions.size();) {
    for (Bits &bits : reached)
      bits.fill(0);
    batch.clear();
    llvm::DenseMap<uint64_t, unsigned> bitOf;
    size_t end = begin;
    for (; end < questions.size(); ++end) {
      auto [at, isNew] = bitOf.try_emplace(questions[end].group, bitOf.size());
      if (isNew && at->second == width)
        break;
      if (isNew)
        members(questions[end].group,
                [&, bit = at->second](uint32_t node) { reached[node][bit / 64] |= uint64_t{1} << (bit % 64); });
      batch.push_back(&questions[end]);
    }
    begin = end;

    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t node : sequence) {
        Bits bits = reached[node];
        for (uint32_t before : predecessors(node))
          for (unsigned word = 0; word < bits.size(); ++word)
            bits[word] |= reached[before][word];
        if (hasCycle && bits != reached[node])
          changed = true;
        reached[node] = bits;
      }
    }

    llvm::sort(batch, [](const Question *a, const Question *b) { return a->row < b->row; });
    Bits bits{};
    for (size_t i = 0; i < batch.size(); ++i) {
      if (i == 0 || batch[i]->row != batch[i - 1]->row) {
        bits.fill(0);
        ends(batch[i]->row, [&](uint32_t node) {
          for (unsigned word = 0; word < bits.size(); ++word)
            bits[word] |= reached[node][word];
        });
      }
      unsigned bit = bitOf[batch[i]->group];
      batch[i]->answer = bits[bit / 64] >> (bit % 64) & 1;
    }
  }
}
