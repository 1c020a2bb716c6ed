#include "view/Layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace origo::view {
namespace {

/// Layers with a place for each row that an edge passes ("lane"), sweeps that sort a row by where its neighbours are,
/// and sweeps that move each row as near to its neighbours as its order allows.
class Layers {
public:
  explicit Layers(const LayoutGraph &graph) : graph(graph) {}

  Layout run() {
    assignRows();
    addLanes();
    order();
    place();
    Layout layout;
    layout.row.assign(row.begin(), row.begin() + graph.nodes);
    int32_t least = 0;
    for (size_t i = 0; i < x.size(); ++i)
      least = i ? std::min<int32_t>(least, std::lround(x[i])) : int32_t(std::lround(x[i]));
    for (uint32_t node = 0; node < graph.nodes; ++node)
      layout.x.push_back(int32_t(std::lround(x[node])) - least);
    layout.looked = looked;
    layout.routes.resize(graph.edges.size());
    for (size_t edge = 0; edge < graph.edges.size(); ++edge)
      for (uint32_t lane = 0; lane < laneCount[edge]; ++lane)
        layout.routes[edge].push_back(int32_t(std::lround(x[firstLane[edge] + lane])) - least);
    return layout;
  }

private:
  static constexpr uint32_t longest = 48; ///< rows that an edge may pass and still be drawn as a line
  const LayoutGraph &graph;
  std::vector<uint32_t> row;                          ///< by node, then by lane
  std::vector<uint32_t> firstLane, laneCount;         ///< by edge
  std::vector<std::vector<uint32_t>> rows;            ///< nodes and lanes from left to right
  std::vector<uint32_t> upBegin, up, downBegin, down; ///< neighbours in the rows above and below
  std::vector<double> x;
  mutable uint64_t looked = 0;

  bool isLane(uint32_t item) const { return item >= graph.nodes; }

  void assignRows() {
    row.assign(graph.nodes, 0);
    std::vector<std::pair<uint32_t, uint32_t>> all = graph.edges;
    all.insert(all.end(), graph.below.begin(), graph.below.end());
    std::vector<uint32_t> begin(graph.nodes + 1), from(all.size());
    for (auto edge : all)
      ++begin[edge.second + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<uint32_t> at(begin.begin(), begin.end() - 1);
    for (auto edge : all)
      from[at[edge.second]++] = edge.first;
    for (uint32_t node = 0; node < graph.nodes; ++node)
      for (uint32_t i = begin[node]; i < begin[node + 1]; ++i)
        row[node] = std::max(row[node], row[from[i]] + 1);
    sink(all, begin, from);
  }

  /// What depends on nothing, or on nothing but what many use, stands right above its first user and not with all its
  /// like.
  void sink(const std::vector<std::pair<uint32_t, uint32_t>> &all, const std::vector<uint32_t> &begin,
            const std::vector<uint32_t> &from) {
    constexpr uint32_t many = 4;
    std::vector<uint32_t> users(graph.nodes), lowest(graph.nodes, ~0u), latest(graph.nodes);
    for (auto edge : all)
      ++users[edge.first];
    for (uint32_t node = graph.nodes; node-- > 0;) {
      latest[node] = lowest[node] == ~0u ? row[node] : lowest[node] - 1;
      for (uint32_t i = begin[node]; i < begin[node + 1]; ++i)
        lowest[from[i]] = std::min(lowest[from[i]], latest[node]);
    }
    std::vector<bool> floats(graph.nodes);
    for (uint32_t node = 0; node < graph.nodes; ++node) {
      floats[node] = latest[node] > row[node];
      for (uint32_t i = begin[node]; i < begin[node + 1]; ++i)
        floats[node] = floats[node] && (floats[from[i]] || users[from[i]] >= many);
    }
    std::fill(lowest.begin(), lowest.end(), ~0u);
    for (uint32_t node = graph.nodes; node-- > 0;) {
      if (floats[node] && lowest[node] != ~0u)
        row[node] = std::max(row[node], lowest[node] - 1);
      for (uint32_t i = begin[node]; i < begin[node + 1]; ++i)
        lowest[from[i]] = std::min(lowest[from[i]], row[node]);
    }
  }

  void addLanes() {
    firstLane.assign(graph.edges.size(), 0);
    laneCount.assign(graph.edges.size(), 0);
    std::vector<uint64_t> bySpan(longest + 1);
    auto between = [&](auto edge) { return row[edge.second] - row[edge.first] - 1; };
    for (auto edge : graph.edges)
      if (between(edge) <= longest)
        bySpan[between(edge)] += between(edge);
    uint32_t limit = 0;
    uint64_t lanes = 0, most = 6 * uint64_t(graph.nodes) + 2000;
    while (limit < longest && lanes + bySpan[limit + 1] <= most)
      lanes += bySpan[++limit];
    std::vector<std::pair<uint32_t, uint32_t>> steps;
    for (size_t edge = 0; edge < graph.edges.size(); ++edge) {
      auto [from, to] = graph.edges[edge];
      uint32_t count = between(graph.edges[edge]);
      if (count > limit)
        continue;
      firstLane[edge] = uint32_t(row.size());
      laneCount[edge] = count;
      uint32_t last = from;
      for (uint32_t i = 0; i < count; ++i) {
        steps.emplace_back(last, uint32_t(row.size()));
        last = uint32_t(row.size());
        row.push_back(row[from] + 1 + i);
      }
      steps.emplace_back(last, to);
    }
    auto index = [&](auto key, auto other, std::vector<uint32_t> &begin, std::vector<uint32_t> &list) {
      begin.assign(row.size() + 1, 0);
      list.resize(steps.size());
      for (auto &step : steps)
        ++begin[key(step) + 1];
      std::partial_sum(begin.begin(), begin.end(), begin.begin());
      std::vector<uint32_t> at(begin.begin(), begin.end() - 1);
      for (auto &step : steps)
        list[at[key(step)]++] = other(step);
    };
    auto first = [](auto &step) { return step.first; };
    auto second = [](auto &step) { return step.second; };
    index(second, first, upBegin, up);
    index(first, second, downBegin, down);
  }

  template <class F> void forEachNeighbour(uint32_t item, bool above, F visit) const {
    const auto &begin = above ? upBegin : downBegin;
    const auto &list = above ? up : down;
    looked += begin[item + 1] - begin[item];
    for (uint32_t i = begin[item]; i < begin[item + 1]; ++i)
      visit(list[i]);
  }

  /// Rows from left to right: as a search from above comes upon nodes, so that what hangs together is together; then
  /// each row by the middle of its neighbours, downward and upward in turn.
  void order() {
    uint32_t height = 0;
    for (uint32_t r : row)
      height = std::max(height, r + 1);
    rows.resize(height);
    std::vector<bool> seen(row.size());
    std::vector<uint32_t> stack;
    for (uint32_t start = 0; start < row.size(); ++start) {
      if (upBegin[start] != upBegin[start + 1])
        continue;
      stack.push_back(start);
      while (!stack.empty()) {
        uint32_t item = stack.back();
        stack.pop_back();
        if (seen[item])
          continue;
        seen[item] = true;
        rows[row[item]].push_back(item);
        for (uint32_t i = downBegin[item + 1]; i-- > downBegin[item];)
          stack.push_back(down[i]);
      }
    }
    std::vector<double> position(row.size()), wish(row.size());
    auto number = [&](std::vector<uint32_t> &items) {
      for (size_t i = 0; i < items.size(); ++i)
        position[items[i]] = double(i);
    };
    for (auto &items : rows)
      number(items);
    unsigned sweeps = row.size() > 20000 ? 8 : 20;
    for (unsigned sweep = 0; sweep < sweeps; ++sweep) {
      bool above = sweep % 2 == 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        auto &items = rows[above ? i : rows.size() - 1 - i];
        if (items.size() < 2)
          continue;
        for (uint32_t item : items) {
          double sum = 0, count = 0;
          forEachNeighbour(item, above, [&](uint32_t other) { sum += position[other], ++count; });
          wish[item] = count ? sum / count : position[item];
        }
        std::stable_sort(items.begin(), items.end(), [&](uint32_t a, uint32_t b) { return wish[a] < wish[b]; });
        number(items);
      }
    }
  }

  double distance(uint32_t a, uint32_t b) const {
    auto half = [&](uint32_t item) { return isLane(item) ? 0 : Layout::nodeWidth / 2.0; };
    double beside = isLane(b) || graph.left.empty() ? 0 : graph.left[b];
    return half(a) + half(b) + beside + (isLane(a) || isLane(b) ? Layout::laneGap : Layout::nodeGap);
  }

  /// Moves the items of a row as near to where they wish to be as their order and distances allow (least squares: what
  /// would be out of order becomes a block at the mean of its wishes).
  void settle(const std::vector<uint32_t> &items, const std::vector<double> &wish, const std::vector<double> &weight) {
    struct Block {
      double sum, weight;
      size_t count;
      double at() const { return sum / weight; }
    };
    std::vector<Block> blocks;
    double offset = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i)
        offset += distance(items[i - 1], items[i]);
      blocks.push_back({(wish[items[i]] - offset) * weight[items[i]], weight[items[i]], 1});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].at() > blocks.back().at()) {
        Block last = blocks.back();
        blocks.pop_back();
        blocks.back().sum += last.sum, blocks.back().weight += last.weight, blocks.back().count += last.count;
      }
    }
    offset = 0;
    size_t i = 0;
    for (const Block &block : blocks)
      for (size_t n = 0; n < block.count; ++n, ++i) {
        if (i)
          offset += distance(items[i - 1], items[i]);
        x[items[i]] = block.at() + offset;
      }
  }

  /// One is all that the other has on that side, and the other way round: a chain, which is to be straight.
  bool isOnly(uint32_t a, uint32_t b) const {
    if (row[a] > row[b])
      std::swap(a, b);
    return downBegin[a + 1] - downBegin[a] == 1 && upBegin[b + 1] - upBegin[b] == 1;
  }

  void place() {
    x.assign(row.size(), 0);
    std::vector<double> wish(row.size()), weight(row.size(), 1);
    for (auto &items : rows) {
      double at = 0;
      for (size_t i = 0; i < items.size(); ++i)
        x[items[i]] = i ? at += distance(items[i - 1], items[i]) : 0;
      for (uint32_t item : items)
        x[item] -= at / 2;
    }
    // Lanes weigh more, so that long edges are straight.
    for (uint32_t item = graph.nodes; item < weight.size(); ++item)
      weight[item] = 3;
    unsigned sweeps = row.size() > 20000 ? 10 : 24;
    for (unsigned sweep = 0; sweep < sweeps; ++sweep) {
      bool above = sweep % 2 == 1,
           both = sweep + 8 >= sweeps && sweep + 2 < sweeps; // the last one makes lines straight
      for (size_t i = 0; i < rows.size(); ++i) {
        auto &items = rows[above ? i : rows.size() - 1 - i];
        for (uint32_t item : items) {
          double sum = 0, count = 0;
          auto add = [&](uint32_t other) {
            double w = isLane(item) && isLane(other) ? 4 : isOnly(item, other) ? 8 : 1;
            sum += w * x[other], count += w;
          };
          forEachNeighbour(item, above, add);
          if (both || !count)
            forEachNeighbour(item, !above, add);
          wish[item] = count ? sum / count : x[item];
        }
        settle(items, wish, weight);
      }
    }
    alignTrunk();
  }

  /// Where all branches join again is below where they parted: blocks of one form would lean, each a little further.
  /// Who is further away than that is in another branch.
  void alignTrunk() {
    double shift = 0;
    std::optional<double> trunk;
    for (auto &items : rows) {
      if (items.size() == 1) {
        double at = x[items.front()];
        bool joins = upBegin[items.front() + 1] - upBegin[items.front()] > 1;
        if (trunk && joins && std::abs(at + shift - *trunk) < Layout::nodeWidth)
          shift = *trunk - at;
        else
          trunk = at + shift;
      }
      for (uint32_t item : items)
        x[item] += shift;
    }
  }
};

} // namespace

Layout layOut(const LayoutGraph &graph) { return Layers(graph).run(); }

} // namespace origo::view
