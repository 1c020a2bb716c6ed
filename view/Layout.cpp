#include "view/Layout.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

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
  static constexpr uint32_t none = ~0u;
  std::vector<uint32_t> position; ///< in its row
  std::vector<uint32_t> block;    ///< what has one number is straight
  uint32_t blocks = 0;
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
    std::vector<double> wish(row.size());
    position.resize(row.size());
    auto number = [&](std::vector<uint32_t> &items) {
      for (size_t i = 0; i < items.size(); ++i)
        position[items[i]] = uint32_t(i);
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

  /// The nodes on the longest way to an item, from above or from below.
  std::vector<uint32_t> longestWays(bool above) const {
    std::vector<uint32_t> length(row.size());
    for (size_t i = 0; i < rows.size(); ++i)
      for (uint32_t item : rows[above ? i : rows.size() - 1 - i]) {
        uint32_t most = 0;
        forEachNeighbour(item, above, [&](uint32_t other) { most = std::max(most, length[other]); });
        length[item] = most + !isLane(item);
      }
    return length;
  }

  /// The neighbour that the longest way goes through; of several such ways the one in the middle, of an even number
  /// none, so that branches of one length stand at both sides of where they part and join.
  uint32_t mainOf(uint32_t item, bool above, const std::vector<uint32_t> &length) const {
    std::vector<uint32_t> best;
    forEachNeighbour(item, above, [&](uint32_t other) {
      if (!best.empty() && length[other] > length[best.front()])
        best.clear();
      if (best.empty() || length[other] == length[best.front()])
        best.push_back(other);
    });
    std::sort(best.begin(), best.end(), [&](uint32_t a, uint32_t b) { return position[a] < position[b]; });
    return best.size() % 2 ? best[best.size() / 2] : none;
  }

  /// Items that stand straight below each other have one number: what is next on the longest way for both, unless that
  /// crosses a longer one; and where all ways part and join again.
  void makeBlocks(bool joins) {
    std::vector<uint32_t> up = longestWays(true), down = longestWays(false);
    std::vector<uint32_t> parent(row.size());
    std::iota(parent.begin(), parent.end(), 0);
    struct Pair {
      uint32_t above, below, length;
    };
    std::vector<Pair> pairs;
    for (size_t i = 0; i + 1 < rows.size(); ++i) {
      pairs.clear();
      for (uint32_t item : rows[i])
        if (uint32_t to = mainOf(item, false, down); to != none && mainOf(to, true, up) == item)
          pairs.push_back({item, to, up[item] + down[to]});
      std::stable_sort(pairs.begin(), pairs.end(), [](auto &a, auto &b) { return a.length > b.length; });
      std::map<uint32_t, uint32_t> taken; // places above → below
      for (auto [above, below, length] : pairs) {
        auto next = taken.lower_bound(position[above]);
        if ((next == taken.end() || next->second > position[below]) &&
            (next == taken.begin() || std::prev(next)->second < position[below])) {
          taken.emplace(position[above], position[below]);
          parent[below] = above;
        }
      }
    }
    uint32_t last = none;
    for (auto &items : rows)
      if (items.size() == 1) {
        uint32_t item = items.front(), first = item;
        while (parent[first] != first && row[parent[first]] > (last == none ? 0 : row[last]))
          first = parent[first];
        if (joins && last != none && parent[first] == first && upBegin[item + 1] - upBegin[item] > 1)
          parent[first] = last;
        last = item;
      }
    block.resize(row.size());
    blocks = 0;
    for (auto &items : rows) // who is straight above has its number already
      for (uint32_t item : items)
        block[item] = parent[item] == item ? blocks++ : block[parent[item]];
  }

  /// Blocks in an order in which each is behind those at its left.
  std::vector<uint32_t> fromLeft() const {
    std::vector<uint32_t> missing(blocks), order;
    std::vector<std::vector<uint32_t>> right(blocks);
    for (auto &items : rows)
      for (size_t i = 1; i < items.size(); ++i) {
        right[block[items[i - 1]]].push_back(block[items[i]]);
        ++missing[block[items[i]]];
      }
    for (uint32_t i = 0; i < blocks; ++i)
      if (!missing[i])
        order.push_back(i);
    for (size_t i = 0; i < order.size(); ++i)
      for (uint32_t next : right[order[i]])
        if (!--missing[next])
          order.push_back(next);
    return order;
  }

  /// In the manner of Brandes and Köpf: blocks as near to what they are tied to as their order and distances allow, the
  /// mean of as far left and as far right as that is.
  void place() {
    makeBlocks(/*joins=*/true);
    if (fromLeft().size() < blocks) // something would be at both sides of what joins
      makeBlocks(/*joins=*/false);
    x.assign(row.size(), 0);
    for (auto &items : rows) {
      double at = 0;
      for (size_t i = 0; i < items.size(); ++i)
        x[items[i]] = i ? at += distance(items[i - 1], items[i]) : 0;
      for (uint32_t item : items)
        x[item] -= at / 2;
    }
    struct Gap {
      uint32_t other;
      double distance;
    };
    std::vector<uint32_t> order = fromLeft();
    std::vector<std::vector<Gap>> left(blocks), right(blocks);
    for (auto &items : rows)
      for (size_t i = 1; i < items.size(); ++i) {
        uint32_t a = block[items[i - 1]], b = block[items[i]];
        double gap = distance(items[i - 1], items[i]);
        left[b].push_back({a, gap});
        right[a].push_back({b, gap});
      }
    std::vector<double> at(blocks), sum(blocks), weight(blocks), low(blocks), high(blocks);
    for (unsigned sweeps = row.size() > 20000 ? 10 : 24, sweep = 0; sweep < sweeps; ++sweep) {
      std::fill(sum.begin(), sum.end(), 0);
      std::fill(weight.begin(), weight.end(), 0);
      for (uint32_t item = 0; item < row.size(); ++item) {
        auto add = [&](uint32_t other) {
          double w = isLane(item) && isLane(other) ? 4 : 1;
          if (block[item] != block[other] || !sweep)
            sum[block[item]] += w * x[other], weight[block[item]] += w;
        };
        forEachNeighbour(item, true, add);
        forEachNeighbour(item, false, add);
      }
      for (uint32_t b : order) {
        low[b] = at[b] = weight[b] ? sum[b] / weight[b] : at[b];
        for (Gap gap : left[b])
          low[b] = std::max(low[b], low[gap.other] + gap.distance);
      }
      for (size_t i = order.size(); i-- > 0;) {
        uint32_t b = order[i];
        high[b] = at[b];
        for (Gap gap : right[b])
          high[b] = std::min(high[b], high[gap.other] - gap.distance);
        at[b] = (low[b] + high[b]) / 2;
      }
      for (uint32_t item = 0; item < row.size(); ++item)
        x[item] = at[block[item]];
    }
  }
};

} // namespace

Layout layOut(const LayoutGraph &graph) { return Layers(graph).run(); }

} // namespace origo::view
