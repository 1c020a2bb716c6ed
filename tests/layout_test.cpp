#include "view/Joint.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace origo::view;

namespace {

LayoutGraph chain(uint32_t nodes) {
  LayoutGraph graph{nodes, {}};
  for (uint32_t i = 1; i < nodes; ++i)
    graph.edges.emplace_back(i - 1, i);
  return graph;
}

/// Each node is used by the next and by some further on, as far as `reach`.
LayoutGraph skips(uint32_t nodes, uint32_t reach, unsigned seed) {
  std::mt19937 random(seed);
  std::set<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t to = 1; to < nodes; ++to)
    for (unsigned i = 0; i < 1 + random() % 3; ++i)
      edges.emplace(to - 1 - random() % std::min(to, reach), to);
  return {nodes, {edges.begin(), edges.end()}};
}

/// Everything uses the first node, and the last one everything.
LayoutGraph hub(uint32_t nodes) {
  std::set<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t i = 1; i < nodes; ++i)
    edges.insert({{0, i}, {i - 1, i}, {i - 1, nodes - 1}});
  edges.erase({nodes - 1, nodes - 1});
  return {nodes, {edges.begin(), edges.end()}};
}

std::map<std::string, LayoutGraph> graphs() {
  return {{"nothing", {0, {}}}, {"one", {1, {}}},           {"apart", {40, {}}},         {"chain", chain(300)},
          {"hub", hub(300)},    {"near", skips(400, 6, 1)}, {"far", skips(400, 300, 2)}, {"wide", skips(200, 200, 3)}};
}

uint32_t between(const Layout &layout, std::pair<uint32_t, uint32_t> edge) {
  return layout.row[edge.second] - layout.row[edge.first] - 1;
}

TEST(Layout, EdgesLeadDownAndNothingLiesUponAnother) {
  for (auto &[name, graph] : graphs()) {
    SCOPED_TRACE(name);
    Layout layout = layOut(graph);
    ASSERT_EQ(layout.row.size(), graph.nodes);
    ASSERT_EQ(layout.x.size(), graph.nodes);
    ASSERT_EQ(layout.routes.size(), graph.edges.size());
    std::map<uint32_t, std::vector<int32_t>> rows;
    for (uint32_t node = 0; node < graph.nodes; ++node)
      rows[layout.row[node]].push_back(layout.x[node]);
    for (auto &[row, places] : rows) {
      std::sort(places.begin(), places.end());
      for (size_t i = 1; i < places.size(); ++i)
        EXPECT_GE(places[i] - places[i - 1], Layout::nodeWidth + Layout::nodeGap - 1) << "row " << row; // rounded
    }
    for (size_t i = 0; i < graph.edges.size(); ++i) {
      auto [from, to] = graph.edges[i];
      ASSERT_GT(layout.row[to], layout.row[from]);
      for (size_t at = 0; at < layout.routes[i].size(); ++at)
        for (int32_t place : rows[layout.row[from] + 1 + at])
          EXPECT_GE(std::abs(place - layout.routes[i][at]), Layout::nodeWidth / 2 + Layout::laneGap - 1);
    }
  }
}

TEST(Layout, AChainIsStraight) {
  Layout layout = layOut(chain(50));
  EXPECT_EQ(std::set<int32_t>(layout.x.begin(), layout.x.end()).size(), 1u);
  for (uint32_t node = 0; node < 50; ++node)
    EXPECT_EQ(layout.row[node], node);
}

/// A block of two branches, one of them a line, again and again.
TEST(Layout, BlocksDoNotLean) {
  LayoutGraph graph;
  graph.nodes = 4 * 200 + 1;
  for (uint32_t block = 0; block < 200; ++block) {
    uint32_t top = 4 * block;
    for (auto [from, to] : {std::pair(0u, 1u), {0u, 4u}, {1u, 2u}, {2u, 3u}, {3u, 4u}})
      graph.edges.emplace_back(top + from, top + to);
  }
  Layout layout = layOut(graph);
  for (uint32_t block = 0; block < 200; ++block)
    for (uint32_t i = 0; i < 4; ++i)
      EXPECT_EQ(layout.x[4 * block + i], layout.x[i]) << block;
}

/// What a connection skips, or a short branch is beside, is straight; and so is what is next.
TEST(Layout, TheMainChainIsStraight) {
  LayoutGraph graph{12, {}}; // a skip connection over two nodes, then a branch of one node beside two
  for (uint32_t i = 1; i < 12; ++i)
    if (i != 7)
      graph.edges.emplace_back(i == 8 ? 6 : i - 1, i);
  for (auto [from, to] : {std::pair(1u, 4u), {5u, 7u}, {7u, 9u}})
    graph.edges.emplace_back(from, to);
  std::sort(graph.edges.begin(), graph.edges.end());
  Layout layout = layOut(graph);
  for (uint32_t node = 0; node < 12; ++node) {
    if (node != 7)
      EXPECT_EQ(layout.x[node], layout.x[0]) << node;
    else
      EXPECT_NE(layout.x[node], layout.x[0]);
  }
}

/// Branches of one length stand at both sides of where they part and join.
TEST(Layout, EqualBranchesAreOnBothSides) {
  LayoutGraph graph{7, {{0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 5}, {5, 6}}};
  Layout layout = layOut(graph);
  EXPECT_EQ(layout.x[4], layout.x[1]);
  EXPECT_EQ(layout.x[2] + layout.x[3], 2 * layout.x[1]);
}

TEST(Layout, LongEdgesAreApart) {
  unsigned routed = 0, apart = 0;
  for (auto &[name, graph] : graphs()) {
    SCOPED_TRACE(name);
    Layout layout = layOut(graph);
    for (size_t i = 0; i < graph.edges.size(); ++i) {
      uint32_t rows = between(layout, graph.edges[i]);
      if (layout.routes[i].empty())
        apart += rows > 0;
      else {
        EXPECT_EQ(layout.routes[i].size(), rows);
        EXPECT_LE(rows, 48u);
        ++routed;
      }
    }
  }
  EXPECT_GT(routed, 500u);
  EXPECT_GT(apart, 100u);
}

/// What it costs is what it looks at: neighbours of nodes, and of places on lines.
TEST(Layout, WorkGrowsNoFasterThanTheGraph) {
  auto all = [](uint32_t nodes) {
    return std::vector<LayoutGraph>{chain(nodes), hub(nodes), skips(nodes, 6, 1), skips(nodes, nodes, 2), {nodes, {}}};
  };
  for (size_t shape = 0; shape < all(2).size(); ++shape) {
    SCOPED_TRACE(shape);
    LayoutGraph small = all(1000)[shape], big = all(4000)[shape];
    EXPECT_LE(layOut(big).looked, 4 * layOut(small).looked * 11 / 10 + 100);
    uint64_t places = 0;
    for (auto &route : layOut(big).routes)
      places += route.size();
    EXPECT_LE(places, 6 * uint64_t(big.nodes) + 2000);
  }
}

TEST(Layout, IsTheSameTwice) {
  LayoutGraph graph = skips(500, 60, 7);
  Layout a = layOut(graph), b = layOut(graph);
  EXPECT_EQ(a.row, b.row);
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.routes, b.routes);
}

/// A chain, each third operator of which is fused with what it uses.
struct Fused {
  PageGraph source, result;
  Pairing pairing;
  explicit Fused(uint32_t operators) {
    auto chain = [](PageGraph &graph, uint32_t count) {
      graph = {1, count, 1, {}, std::vector<uint32_t>(count, nowhere)};
      for (uint32_t i = 1; i < graph.nodes(); ++i)
        graph.edges.emplace_back(i - 1, i);
    };
    for (uint32_t op = 0; op < operators; ++op) {
      if (op % 3 != 2)
        pairing.origins.emplace_back();
      pairing.origins.back().push_back(op);
      pairing.only.push_back(uint32_t(pairing.origins.size() - 1));
    }
    chain(source, operators);
    chain(result, uint32_t(pairing.origins.size()));
  }
};

TEST(JointLayout, WhatCorrespondsStandsAtOnePlace) {
  Fused pair(60);
  for (bool fold : {false, true}) {
    SCOPED_TRACE(fold);
    JointLayout joint = layOutJointly(pair.source, pair.result, pair.pairing, fold);
    EXPECT_EQ(joint.folded.size(), fold ? 20u : 0u);
    for (uint32_t op = 0; op < pair.result.operators; ++op) {
      EXPECT_EQ(joint.result.row[1 + op], joint.source.row[1 + pair.pairing.origins[op].back()]);
      EXPECT_EQ(joint.result.x[1 + op], joint.source.x[1 + pair.pairing.origins[op].back()]);
    }
    EXPECT_EQ(joint.source.row.back(), fold ? 41u : 61u);
    EXPECT_EQ(joint.result.row.back(), joint.source.row.back());
  }
}

/// One that is made between two of the source has a row of its own, and does not push its neighbours off theirs.
TEST(JointLayout, WhatIsNewHasARowOfItsOwn) {
  PageGraph source{1, 2, 1, {{0, 1}, {1, 2}, {2, 3}}, {nowhere, nowhere}};
  PageGraph result{1, 3, 1, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}, {nowhere, nowhere, nowhere}};
  JointLayout joint = layOutJointly(source, result, {{{}, {0}, {1}}, {1, 2}}, false);
  EXPECT_EQ(joint.source.row, (std::vector<uint32_t>{0, 2, 3, 4}));
  EXPECT_EQ(joint.result.row, (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(joint.source.lines[0], JointLayout::Side::Line::Direct);
  EXPECT_EQ(std::set<int32_t>(joint.result.x.begin(), joint.result.x.end()).size(), 1u);
}

/// Before an operator that stands for several, it is before them all, and in line.
TEST(JointLayout, WhatIsNewIsBeforeAllThatItsUserStandsFor) {
  PageGraph source{1, 3, 1, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}, {nowhere, nowhere, nowhere}};
  PageGraph result{1, 2, 1, {{0, 1}, {1, 2}, {2, 3}}, {nowhere, nowhere}};
  JointLayout joint = layOutJointly(source, result, {{{}, {0, 1, 2}}, {1, 1, 1}}, false);
  EXPECT_EQ(joint.source.row, (std::vector<uint32_t>{0, 2, 3, 4, 5}));
  EXPECT_EQ(joint.result.row, (std::vector<uint32_t>{0, 1, 4, 5}));
  std::set<int32_t> places(joint.result.x.begin(), joint.result.x.end());
  places.insert(joint.source.x.begin(), joint.source.x.end());
  EXPECT_EQ(places.size(), 1u);
  EXPECT_EQ(joint.result.lines[1], JointLayout::Side::Line::Direct);
}

/// Of two chains that are one now, all of it stands at the first, above who uses it.
TEST(JointLayout, WhatWasMergedIsAboveItsUsers) {
  PageGraph source{
      1, 6, 2, {{0, 1}, {1, 2}, {2, 3}, {0, 4}, {4, 5}, {5, 6}, {3, 7}, {6, 8}}, std::vector<uint32_t>(6, nowhere)};
  PageGraph result{1, 4, 2, {{0, 1}, {1, 2}, {2, 3}, {2, 4}, {3, 5}, {4, 6}}, std::vector<uint32_t>(4, nowhere)};
  JointLayout joint = layOutJointly(source, result, {{{0, 3}, {1, 4}, {2}, {5}}, {0, 1, 2, 0, 1, 3}}, false);
  for (auto [to, from] : {std::pair<size_t, size_t>{1, 1}, {2, 2}, {3, 3}, {4, 6}}) {
    EXPECT_EQ(joint.result.row[to], joint.source.row[from]);
    EXPECT_EQ(joint.result.x[to], joint.source.x[from]);
  }
}

/// A path that leaves what became one operator and comes back would lead up.
TEST(JointLayout, NoPathLeadsOutOfANodeAndBack) {
  constexpr uint32_t operators = 30;
  PageGraph source{1, operators, 1, {}, std::vector<uint32_t>(operators, nowhere)};
  for (uint32_t i = 1; i < source.nodes(); ++i)
    source.edges.emplace_back(i - 1, i);
  PageGraph result = source;
  Pairing pairing{std::vector<std::vector<uint32_t>>(operators), std::vector<uint32_t>(operators, nowhere)};
  for (uint32_t op : {4u, 6u, 8u}) { // 5 and 7 lie between
    pairing.origins[8].push_back(op);
    pairing.only[op] = 8;
  }
  pairing.only[5] = pairing.only[7] = several;
  JointLayout joint = layOutJointly(source, result, pairing, true);
  EXPECT_TRUE(joint.folded.empty());
  for (auto [from, to] : source.edges)
    EXPECT_LT(joint.source.row[from], joint.source.row[to]);
}

/// What lies between operators that became one is in their node; operators that are not tied to each other are no node.
TEST(JointLayout, NodesHoldWhatHangsTogether) {
  constexpr uint32_t operators = 30;
  PageGraph source{1, operators, 1, {}, std::vector<uint32_t>(operators, nowhere)},
      result{1, 3, 1, {}, {nowhere, nowhere, nowhere}};
  for (uint32_t i = 1; i < source.nodes(); ++i)
    source.edges.emplace_back(i - 1, i);
  Pairing pairing{{{3, 6}, {11, 20}, {10, 12, 13}}, std::vector<uint32_t>(operators, nowhere)};
  for (uint32_t i = 0; i < 3; ++i)
    for (uint32_t op : pairing.origins[i])
      pairing.only[op] = i;
  source.edges.emplace_back(4, 7); // 3 is used by 6 too
  JointLayout joint = layOutJointly(source, result, pairing, true);
  EXPECT_EQ(joint.folded, (std::vector<std::vector<uint32_t>>{{3, 4, 5, 6}, {10, 11, 12, 13}}));
}

/// The result's operators in another order, and with origins that say anything.
TEST(JointLayout, EdgesOfBothSidesLeadDown) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(round);
    auto graph = [&](uint32_t operators) {
      PageGraph one{2, operators, 1, {}, std::vector<uint32_t>(operators, nowhere)};
      for (uint32_t node = 2; node < one.nodes(); ++node) {
        std::set<uint32_t> from;
        for (unsigned i = 0; i < 1 + random() % 2; ++i)
          from.insert(random() % node);
        for (uint32_t other : from)
          one.edges.emplace_back(other, node);
      }
      return one;
    };
    PageGraph source = graph(40), result = graph(25);
    Pairing pairing{std::vector<std::vector<uint32_t>>(25), std::vector<uint32_t>(40, nowhere)};
    for (uint32_t op = 0; op < 40; ++op)
      if (random() % 5) {
        pairing.only[op] = random() % 25;
        pairing.origins[pairing.only[op]].push_back(op);
      }
    for (bool fold : {false, true}) {
      JointLayout joint = layOutJointly(source, result, pairing, fold);
      std::map<uint32_t, uint32_t> group;
      for (uint32_t i = 0; i < joint.folded.size(); ++i)
        for (uint32_t op : joint.folded[i])
          group[2 + op] = i + 1;
      for (auto [from, to] : source.edges) {
        bool isInside = group.count(from) && group.count(to) && group[from] == group[to];
        EXPECT_TRUE(isInside || joint.source.row[from] < joint.source.row[to]);
      }
      for (auto [from, to] : result.edges)
        EXPECT_LT(joint.result.row[from], joint.result.row[to]);
      // No two nodes of a side stand upon each other.
      std::set<std::pair<uint32_t, int32_t>> places;
      for (uint32_t node = 0; node < result.nodes(); ++node)
        EXPECT_TRUE(places.emplace(joint.result.row[node], joint.result.x[node]).second);
    }
  }
}

TEST(JointLayout, WhatHasOnlyConstantsStandsBesideItsUser) {
  PageGraph source{1, 3, 1, {{0, 2}, {1, 2}, {2, 3}, {3, 4}}, {1, nowhere, nowhere}};
  JointLayout joint = layOutJointly(source, {}, {{}, {nowhere, nowhere, nowhere}}, true);
  EXPECT_EQ(joint.source.row, (std::vector<uint32_t>{0, 1, 1, 2, 3}));
  EXPECT_EQ(joint.source.x[1], joint.source.x[2]);
}

/// What hangs on nothing but what many use stands above its user.
TEST(Layout, SideBranchesOfAHubStandBesideTheirUsers) {
  LayoutGraph graph{18, {}}; // 0: the beginning; 1: the hub; then in turn a branch of it, and who uses that
  for (uint32_t i = 0; i < 8; ++i) {
    graph.edges.emplace_back(1, 2 + 2 * i);
    graph.edges.emplace_back(2 + 2 * i, 3 + 2 * i);
    graph.edges.emplace_back(i ? 1 + 2 * i : 0, 3 + 2 * i);
  }
  Layout layout = layOut(graph);
  for (uint32_t i = 0; i < 8; ++i)
    EXPECT_EQ(layout.row[2 + 2 * i] + 1, layout.row[3 + 2 * i]) << i;
}

} // namespace
