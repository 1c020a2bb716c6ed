#include "view/Joint.h"

#include <algorithm>
#include <numeric>

namespace origo::view {
namespace {

using Edge = std::pair<uint32_t, uint32_t>;

class JointMaker {
public:
  JointMaker(const PageGraph &source, const PageGraph &result, const Pairing &pairing)
      : source(source), result(result), pairing(pairing) {}

  JointLayout run(bool fold) {
    standsFor.resize(source.nodes());
    std::iota(standsFor.begin(), standsFor.end(), 0);
    if (fold)
      foldSource();
    placeResult();
    number();
    connect();
    Layout layout = layOut(graph);
    JointLayout joint;
    joint.source = sideOf(source, sourceNode, layout);
    joint.result = sideOf(result, resultNode, layout);
    for (auto &members : groups)
      if (members.size() > 1)
        joint.folded.push_back(std::move(members));
    return joint;
  }

private:
  /// The order of all nodes: the source's by their numbers, those of the result that are none of them behind what they
  /// use.
  using Key = std::pair<uint32_t, uint32_t>;
  static constexpr uint32_t besidesMost = 3; ///< a folded node holds at most one of so many parts of the source
  static constexpr uint32_t fewest = 12;     ///< a source of fewer operators is shown as it is

  const PageGraph &source, &result;
  const Pairing &pairing;
  std::vector<uint32_t> standsFor;              ///< by node of the source: the last one that it is folded with
  std::vector<std::vector<uint32_t>> groups;    ///< by operator of the result: of the source
  std::vector<uint32_t> groupOf;                ///< by node of the source; `nowhere`: none
  std::vector<uint32_t> begin, from;            ///< of the source: by node, what it uses
  std::vector<Key> keys;                        ///< by node of the result
  std::vector<uint32_t> sourceNode, resultNode; ///< their numbers in `graph`
  std::vector<bool> isNew;                      ///< by node of the result: it has no counterpart in `graph`
  LayoutGraph graph;
  std::vector<Edge> direct; ///< of the source, where the result has something in between

  static bool isBeside(const PageGraph &of, uint32_t node) {
    return node >= of.inputs && node < of.inputs + of.operators && of.host[node - of.inputs] != nowhere;
  }

  bool isOperator(uint32_t node) const { return node >= source.inputs && node < source.inputs + source.operators; }

  void foldSource() {
    groups.resize(result.operators + 1); // the last: of those whose work several do
    groupOf.assign(source.nodes(), nowhere);
    if (source.operators <= fewest)
      return;
    begin.assign(source.nodes() + 1, 0);
    from.resize(source.edges.size());
    for (Edge edge : source.edges)
      ++begin[edge.second + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<uint32_t> at(begin.begin(), begin.end() - 1);
    for (Edge edge : source.edges)
      from[at[edge.second]++] = edge.first;
    for (uint32_t op = 0; op < source.operators; ++op)
      if (source.host[op] == nowhere)
        groupOf[source.inputs + op] = pairing.only[op] == several ? result.operators : pairing.only[op];
    takeInBetween();
    dropScattered(
        /*wholly=*/true); // such as changes of layout that became one far away: they may lie in between others
    takeInBetween();
    dropScattered(/*wholly=*/false);
    for (uint32_t op = 0; op < source.operators; ++op)
      if (uint32_t group = groupOf[source.inputs + op]; group != nowhere)
        groups[group].push_back(op);
    groups.back().clear();
    for (auto &members : groups) {
      if (members.size() < 2 || members.size() * besidesMost > source.operators) {
        for (uint32_t op : members)
          groupOf[source.inputs + op] = nowhere;
        members.clear();
      }
      for (uint32_t op : members)
        standsFor[source.inputs + op] = source.inputs + members.back();
    }
    unfoldCycles();
  }

  /// Operators that are not tied to each other are no node, even if one does the work of them all.
  void dropScattered(bool wholly) {
    std::vector<uint32_t> parent(source.nodes()), pieces(groups.size()), members(groups.size());
    std::iota(parent.begin(), parent.end(), 0);
    auto root = [&](uint32_t node) {
      while (parent[node] != node)
        node = parent[node] = parent[parent[node]];
      return node;
    };
    for (auto [a, b] : source.edges)
      if (groupOf[a] != nowhere && groupOf[a] == groupOf[b])
        parent[std::max(root(a), root(b))] = std::min(root(a), root(b));
    for (uint32_t node = 0; node < source.nodes(); ++node)
      if (uint32_t group = groupOf[node]; group != nowhere) {
        pieces[group] += root(node) == node;
        ++members[group];
      }
    for (uint32_t &group : groupOf)
      if (group < result.operators && pieces[group] > 1 && (!wholly || pieces[group] == members[group]))
        group = nowhere;
  }

  /// What lies between operators of a node and nowhere else, such as a change of layout that is gone, is in it too.
  void takeInBetween() {
    std::vector<uint32_t> user(source.nodes(), nowhere), wish = groupOf;
    std::vector<bool> isShared(source.nodes());
    for (uint32_t node = source.nodes(); node-- > 0;) {
      if (isOperator(node) && groupOf[node] == nowhere && !isBeside(source, node) && !isShared[node])
        wish[node] = user[node];
      for (uint32_t i = begin[node]; i < begin[node + 1]; ++i) {
        isShared[from[i]] =
            isShared[from[i]] || wish[node] == nowhere || (user[from[i]] != nowhere && user[from[i]] != wish[node]);
        user[from[i]] = wish[node];
      }
    }
    for (uint32_t node = 0; node < source.nodes(); ++node)
      for (uint32_t i = begin[node]; i < begin[node + 1]; ++i)
        if (groupOf[node] == nowhere && wish[node] != nowhere && groupOf[from[i]] == wish[node])
          groupOf[node] = wish[node];
  }

  /// An edge that leads up is one of a path that leaves a group and comes back, or may be; each group is unfolded once.
  void unfoldCycles() {
    std::vector<uint32_t> waiting;
    auto look = [&](uint32_t a, uint32_t b) {
      if (standsFor[a] > standsFor[b])
        waiting.push_back(groupOf[a]);
    };
    for (auto [a, b] : source.edges)
      look(a, b);
    while (!waiting.empty()) {
      std::vector<uint32_t> members = std::move(groups[waiting.back()]);
      groups[waiting.back()].clear();
      waiting.pop_back();
      for (uint32_t op : members)
        standsFor[source.inputs + op] = source.inputs + op;
      for (uint32_t op : members)
        for (uint32_t i = begin[source.inputs + op]; i < begin[source.inputs + op + 1]; ++i)
          look(from[i], source.inputs + op);
    }
  }

  /// The node of the source whose place one of the result takes, if it is free and below what it uses: of several the
  /// last that is above `limit`, where one is.
  uint32_t wishOf(uint32_t node, uint32_t limit = nowhere) const {
    if (node < result.inputs)
      return node < source.inputs ? node : nowhere;
    node -= result.inputs;
    if (node >= result.operators) {
      node -= result.operators;
      return node < source.outputs ? source.inputs + source.operators + node : nowhere;
    }
    const auto &origins = pairing.origins[node];
    uint32_t last = nowhere;
    for (size_t i = origins.size(); i-- > 0;)
      if (source.host[origins[i]] == nowhere) {
        uint32_t place = standsFor[source.inputs + origins[i]];
        if (place < limit)
          return place;
        last = last == nowhere ? place : last;
      }
    return last;
  }

  void placeResult() {
    keys.resize(result.nodes());
    isNew.assign(result.nodes(), false);
    std::vector<bool> taken(source.nodes());
    // Who uses one that was merged from several is not to be below the last of these; edges are in the order of their
    // ends.
    std::vector<uint32_t> limit(result.nodes(), nowhere);
    for (size_t i = result.edges.size(); i-- > 0;)
      limit[result.edges[i].first] =
          std::min(limit[result.edges[i].first], wishOf(result.edges[i].second, limit[result.edges[i].second]));
    size_t edge = 0;
    for (uint32_t node = 0; node < result.nodes(); ++node) {
      Key above = {0, 0};
      bool hasAbove = false;
      for (; edge < result.edges.size() && result.edges[edge].second == node; ++edge)
        if (uint32_t from = result.edges[edge].first; !isBeside(result, from)) {
          above = std::max(above, keys[from]);
          hasAbove = true;
        }
      if (isBeside(result, node))
        continue;
      auto isFree = [&](uint32_t wish) {
        return wish != nowhere && !taken[wish] && (!hasAbove || above < Key{wish, 0});
      };
      uint32_t wish = wishOf(node, limit[node]);
      if (!isFree(wish))
        wish = wishOf(node);
      isNew[node] = !isFree(wish);
      if (!isNew[node]) {
        keys[node] = {wish, 0};
        taken[wish] = true;
      } else
        keys[node] = {hasAbove ? above.first : wish == nowhere ? source.inputs : wish, node + 1};
    }
  }

  void number() {
    sourceNode.assign(source.nodes(), nowhere);
    resultNode.assign(result.nodes(), nowhere);
    std::vector<Key> all;
    for (uint32_t node = 0; node < source.nodes(); ++node)
      if (!isBeside(source, node) && standsFor[node] == node)
        all.emplace_back(node, 0);
    for (uint32_t node = 0; node < result.nodes(); ++node)
      if (isNew[node])
        all.push_back(keys[node]);
    std::sort(all.begin(), all.end());
    for (uint32_t i = 0; i < all.size(); ++i)
      if (all[i].second)
        resultNode[all[i].second - 1] = i;
      else
        sourceNode[all[i].first] = i;
    for (uint32_t node = 0; node < source.nodes(); ++node)
      sourceNode[node] = sourceNode[standsFor[node]];
    for (uint32_t node = 0; node < result.nodes(); ++node)
      if (!isBeside(result, node) && !isNew[node])
        resultNode[node] = sourceNode[keys[node].first];
    graph.nodes = uint32_t(all.size());
    graph.left.assign(graph.nodes, 0);
    std::vector<uint32_t> beside;
    auto reserve = [&](const PageGraph &of, std::vector<uint32_t> &nodes) {
      beside.assign(graph.nodes, 0);
      for (uint32_t op = 0; op < of.operators; ++op)
        if (of.host[op] != nowhere) {
          uint32_t to = nodes[of.inputs + op] = nodes[of.inputs + of.host[op]];
          graph.left[to] = std::max(graph.left[to], (++beside[to] + 1) / 2 * uint32_t(Layout::besideWidth));
        }
    };
    reserve(source, sourceNode);
    reserve(result, resultNode);
  }

  static void tidy(std::vector<Edge> &edges) {
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  }
  static std::vector<Edge> without(const std::vector<Edge> &from, const std::vector<Edge> &what) {
    std::vector<Edge> rest;
    std::set_difference(from.begin(), from.end(), what.begin(), what.end(), std::back_inserter(rest));
    return rest;
  }

  /// Of the places of what one of the result stands for the first that is behind another place.
  uint32_t firstOf(uint32_t node, uint32_t behind) const {
    uint32_t first = resultNode[node], op = node - result.inputs;
    if (node >= result.inputs && op < result.operators)
      for (uint32_t origin : pairing.origins[op])
        if (uint32_t place = sourceNode[source.inputs + origin]; source.host[origin] == nowhere && place > behind)
          first = std::min(first, place);
    return first;
  }

  void connect() {
    std::vector<Edge> ofSource, ofNew, ofResult;
    std::vector<uint32_t> above(result.nodes(), nowhere); // by new node: the nearest that is not
    for (auto [from, to] : source.edges)
      if (!isBeside(source, from) && sourceNode[from] != sourceNode[to])
        ofSource.emplace_back(sourceNode[from], sourceNode[to]);
    for (auto [from, to] : result.edges) {
      if (isBeside(result, from))
        continue;
      uint32_t last = isNew[from] ? above[from] : resultNode[from], first = resultNode[to];
      // Who uses what is new may stand for several that are not one node: that is above them all.
      if (isNew[from] && !isNew[to])
        first = firstOf(to, resultNode[from]);
      (isNew[from] || isNew[to] ? ofNew : ofResult).emplace_back(resultNode[from], first);
      if (first != resultNode[to])
        ofResult.emplace_back(resultNode[from], resultNode[to]);
      if (isNew[to] && above[to] == nowhere)
        above[to] = last;
      else if (isNew[from] && !isNew[to] && last != nowhere)
        direct.emplace_back(last, first);
    }
    tidy(ofSource), tidy(ofNew), tidy(ofResult), tidy(direct);
    graph.edges = without(ofSource, direct);
    graph.edges.insert(graph.edges.end(), ofNew.begin(), ofNew.end());
    tidy(graph.edges);
    graph.below = without(ofResult, graph.edges);
    graph.below.insert(graph.below.end(), direct.begin(), direct.end());
    tidy(graph.below);
    graph.below = without(graph.below, graph.edges);
  }

  JointLayout::Side sideOf(const PageGraph &of, const std::vector<uint32_t> &nodes, const Layout &layout) const {
    using Line = JointLayout::Side::Line;
    JointLayout::Side side;
    for (uint32_t node : nodes) {
      side.row.push_back(layout.row[node]);
      side.x.push_back(layout.x[node]);
    }
    for (auto [from, to] : of.edges) {
      Edge edge = {nodes[from], nodes[to]};
      side.routes.emplace_back();
      if (isBeside(of, from) || layout.row[edge.second] <= layout.row[edge.first] + 1) {
        side.lines.push_back(Line::Short);
        continue;
      }
      auto at = std::lower_bound(graph.edges.begin(), graph.edges.end(), edge);
      bool isDrawn = at != graph.edges.end() && *at == edge;
      if (isDrawn)
        side.routes.back() = layout.routes[at - graph.edges.begin()];
      side.lines.push_back(!isDrawn ? Line::Direct : side.routes.back().empty() ? Line::Apart : Line::Routed);
    }
    return side;
  }
};

} // namespace

JointLayout layOutJointly(const PageGraph &source, const PageGraph &result, const Pairing &pairing, bool fold) {
  return JointMaker(source, result, pairing).run(fold);
}

} // namespace origo::view
