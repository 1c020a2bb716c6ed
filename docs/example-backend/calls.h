// From an operator to the call of the kernel that computes it.
#pragma once
#include "graph.h"

struct Call {
  std::string text;                 ///< statements of C
  std::string constants;            ///< what they use, in front of the function
  int room = 0;                     ///< bytes that it works in; `room` is where
  std::vector<uint32_t> calls = {}; ///< subgraphs, as net_graph_<n>()
};

/// Throws what the kernels cannot compute. `name`: of what is in `constants`.
Call callOf(const Graph &graph, uint32_t subgraph, const circle::Operator &op, const std::string &name);
