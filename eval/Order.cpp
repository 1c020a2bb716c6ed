#include "eval/Order.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <queue>
#include <set>

namespace origo::eval {

namespace {

using Bits = std::vector<uint64_t>;

bool has(const Bits &bits, int i) { return bits[static_cast<size_t>(i) / 64] >> (i % 64) & 1; }

/// The steps that ran, those that may be next, and what lives behind them: that follows from which ones they are.
struct Reached {
  Bits done;
  llvm::SmallVector<int, 8> ready; ///< sorted
  uint64_t live = 0, peak = 0;
  size_t count = 0;
};

class Search {
public:
  explicit Search(const Ordering &problem)
      : problem(problem), readers(problem.bytes.size()), behind(problem.steps.size()) {
    for (size_t s = 0; s < problem.steps.size(); ++s) {
      for (int tensor : problem.steps[s].reads)
        readers[static_cast<size_t>(tensor)].push_back(static_cast<int>(s));
      for (int before : problem.steps[s].after)
        if (auto &list = behind[static_cast<size_t>(before)]; list.empty() || list.back() != static_cast<int>(s))
          list.push_back(static_cast<int>(s));
    }
  }
  uint64_t work = 0; ///< steps that were looked at

  /// `peak`: what every order reaches.
  Reached start(uint64_t peak) const {
    Reached made{Bits((problem.steps.size() + 63) / 64), {}, 0, peak, 0};
    for (size_t s = 0; s < problem.steps.size(); ++s)
      if (problem.steps[s].after.empty())
        made.ready.push_back(static_cast<int>(s));
    return made;
  }
  uint64_t made(int step) const {
    uint64_t all = 0;
    for (int tensor : problem.steps[static_cast<size_t>(step)].makes)
      all += problem.bytes[static_cast<size_t>(tensor)];
    return all;
  }
  /// What nobody reads behind `step`.
  uint64_t freed(const Reached &state, int step) const {
    uint64_t all = 0;
    auto add = [&](int tensor) {
      auto at = static_cast<size_t>(tensor);
      if (problem.bytes[at] && !problem.kept[at] &&
          llvm::all_of(readers[at], [&](int s) { return s == step || has(state.done, s); }))
        all += problem.bytes[at];
    };
    llvm::for_each(problem.steps[static_cast<size_t>(step)].reads, add);
    for (int tensor : problem.steps[static_cast<size_t>(step)].makes)
      if (readers[static_cast<size_t>(tensor)].empty())
        add(tensor);
    return all;
  }
  void take(Reached &state, int step) const {
    state.peak = std::max(state.peak, state.live + made(step));
    state.live = state.live + made(step) - freed(state, step);
    state.done[static_cast<size_t>(step) / 64] |= uint64_t(1) << (step % 64);
    ++state.count;
    state.ready.erase(llvm::lower_bound(state.ready, step));
    for (int next : behind[static_cast<size_t>(step)])
      if (llvm::all_of(problem.steps[static_cast<size_t>(next)].after, [&](int s) { return has(state.done, s); }))
        state.ready.insert(llvm::lower_bound(state.ready, next), next);
  }
  /// Takes each step that makes no more than it frees, and lives within the peak that there was: whatever order the
  /// others have, it does no harm now.
  void takeHarmless(Reached &state, std::vector<int> &order) {
    for (bool found = true; found;) {
      found = false;
      for (int from = 0;;) {
        auto *at = llvm::lower_bound(state.ready, from);
        if (at == state.ready.end())
          break;
        int step = *at;
        from = step + 1;
        ++work;
        if (state.live + made(step) <= state.peak && made(step) <= freed(state, step)) {
          take(state, step);
          order.push_back(step);
          found = true;
        }
      }
    }
  }
  /// Always the step that raises the peak least, then the one that leaves least.
  std::vector<int> greedy() {
    Reached state = start(problem.lowerBound());
    std::vector<int> order;
    for (takeHarmless(state, order); state.count < problem.steps.size(); takeHarmless(state, order)) {
      int best = -1;
      std::pair<uint64_t, int64_t> least;
      for (int step : state.ready) {
        ++work;
        std::pair cost(std::max(state.peak, state.live + made(step)),
                       static_cast<int64_t>(made(step)) - static_cast<int64_t>(freed(state, step)));
        if (best < 0 || cost < least)
          best = step, least = cost;
      }
      take(state, best);
      order.push_back(best);
    }
    return order;
  }
  /// Sets of steps, the lowest peak first: the first time that all steps are in one, its peak is the least. Nothing
  /// below `bound`, or too much work; `finished` says which.
  std::vector<int> exact(uint64_t bound, uint64_t mostWork, bool &finished) {
    struct Node {
      Reached state;
      int parent;
      std::vector<int> steps; ///< since the parent
    };
    std::vector<Node> nodes;
    // Of the same peak, the one that is nearest to the end.
    using Key = std::tuple<uint64_t, size_t, int>;
    std::priority_queue<Key, std::vector<Key>, std::greater<>> queue;
    std::set<Bits> seen;
    size_t all = problem.steps.size();
    auto add = [&](Reached state, int parent, std::vector<int> steps) {
      if (state.peak >= bound)
        return;
      takeHarmless(state, steps);
      queue.push({state.peak, all - state.count, static_cast<int>(nodes.size())});
      nodes.push_back({std::move(state), parent, std::move(steps)});
    };
    finished = false;
    add(start(problem.lowerBound()), -1, {});
    while (!queue.empty() && work < mostWork) {
      int at = std::get<2>(queue.top());
      queue.pop();
      Reached state = nodes[static_cast<size_t>(at)].state;
      if (!seen.insert(state.done).second)
        continue;
      if (state.count == all) {
        finished = true;
        std::vector<std::vector<int>> parts;
        for (int node = at; node >= 0; node = nodes[static_cast<size_t>(node)].parent)
          parts.push_back(nodes[static_cast<size_t>(node)].steps);
        std::vector<int> order;
        for (const std::vector<int> &part : llvm::reverse(parts))
          llvm::append_range(order, part);
        return order;
      }
      for (int step : state.ready) {
        work += 1 + state.ready.size() / 16; // all of it is copied
        Reached next = state;
        take(next, step);
        add(std::move(next), at, {step});
      }
    }
    finished = queue.empty();
    return {};
  }

private:
  const Ordering &problem;
  std::vector<llvm::SmallVector<int, 4>> readers, behind; ///< of a tensor; of a step, which come after it
};

} // namespace

uint64_t Ordering::peak(llvm::ArrayRef<int> order) const {
  std::vector<size_t> left(bytes.size()); // reads that are still to come
  for (const Step &step : steps)
    for (int tensor : step.reads)
      ++left[static_cast<size_t>(tensor)];
  uint64_t live = 0, most = 0;
  auto release = [&](int tensor) {
    auto at = static_cast<size_t>(tensor);
    live -= left[at] == 0 && !kept[at] ? bytes[at] : 0;
  };
  for (int at : order) {
    const Step &step = steps[static_cast<size_t>(at)];
    for (int tensor : step.makes)
      live += bytes[static_cast<size_t>(tensor)];
    most = std::max(most, live);
    for (int tensor : step.reads)
      if (--left[static_cast<size_t>(tensor)] == 0)
        release(tensor);
    for (int tensor : step.makes)
      release(tensor); // nobody reads it
  }
  return most;
}

uint64_t Ordering::lowerBound() const {
  uint64_t most = 0;
  std::vector<bool> computed(bytes.size());
  for (const Step &step : steps)
    for (int tensor : step.makes)
      computed[static_cast<size_t>(tensor)] = true;
  for (const Step &step : steps) {
    uint64_t all = 0;
    for (int tensor : step.reads)
      all += computed[static_cast<size_t>(tensor)] ? bytes[static_cast<size_t>(tensor)] : 0;
    for (int tensor : step.makes)
      all += bytes[static_cast<size_t>(tensor)];
    most = std::max(most, all);
  }
  uint64_t end = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    end += kept[i] && computed[i] ? bytes[i] : 0;
  return std::max(most, end);
}

Ordering::Found Ordering::search(uint64_t mostWork) const {
  Found best{std::vector<int>(steps.size()), 0, false};
  std::iota(best.order.begin(), best.order.end(), 0);
  best.peak = peak(best.order);
  best.least = best.peak <= lowerBound();
  if (best.least || steps.size() > mostSteps)
    return best;
  Search search(*this);
  auto consider = [&](std::vector<int> order) {
    if (uint64_t bytes = peak(order); bytes < best.peak)
      best = {std::move(order), bytes, bytes <= lowerBound()};
  };
  consider(search.greedy());
  if (best.least)
    return best;
  search.work = 0;
  bool finished;
  std::vector<int> order = search.exact(best.peak, mostWork, finished);
  if (!order.empty())
    consider(std::move(order));
  best.least |= finished;
  return best;
}

} // namespace origo::eval
