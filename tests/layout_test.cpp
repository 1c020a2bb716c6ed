#include "view/Layout.h"

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
  return {{"nothing", {0, {}}},          {"one", {1, {}}},          {"apart", {40, {}}},          {"chain", chain(300)},
          {"hub", hub(300)},             {"near", skips(400, 6, 1)}, {"far", skips(400, 300, 2)}, {"wide", skips(200, 200, 3)}};
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

/// The result of a rewrite: some nodes are gone, and who used one of them uses what it used.
TEST(Layout, WhatIsAnchoredKeepsItsPlace) {
  for (auto &[name, graph] : graphs()) {
    SCOPED_TRACE(name);
    Layout before = layOut(graph);
    std::vector<uint32_t> now(graph.nodes, ~0u); // by old number
    std::vector<std::vector<uint32_t>> uses(graph.nodes);
    LayoutGraph after;
    Anchors anchors;
    for (auto [from, to] : graph.edges)
      uses[to].push_back(from);
    for (uint32_t node = 0; node < graph.nodes; ++node) {
      if (node % 3 == 1 && !uses[node].empty()) {
        now[node] = now[uses[node].front()];
        continue;
      }
      now[node] = after.nodes++;
      anchors.row.push_back(before.row[node]);
      anchors.x.push_back(before.x[node]);
      std::set<uint32_t> froms;
      for (uint32_t from : uses[node])
        froms.insert(now[from]);
      for (uint32_t from : froms)
        after.edges.emplace_back(from, now[node]);
    }
    Layout layout = layOut(after, &anchors);
    EXPECT_EQ(layout.row, anchors.row);
    // Lines that pass where none did may push a little.
    uint32_t moved = 0;
    for (uint32_t node = 0; node < after.nodes; ++node)
      moved += std::abs(layout.x[node] - anchors.x[node]) > Layout::nodeWidth / 2;
    EXPECT_LE(moved, after.nodes / 10);
    // And what did not change at all stays to the point.
    Anchors same{before.row, before.x};
    Layout again = layOut(graph, &same);
    EXPECT_EQ(again.row, before.row);
    moved = 0;
    for (uint32_t node = 0; node < graph.nodes; ++node)
      moved += std::abs(again.x[node] - before.x[node]) > 1;
    EXPECT_EQ(moved, 0u);
  }
}

} // namespace
