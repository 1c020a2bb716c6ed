#include "quantize/Assignment.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace origo::quantize {

llvm::StringRef levelName(Level level, bool isUnsigned) {
  constexpr const char *names[levelCount] = {"int8", "int16", "float32"};
  return level == Level::Int8 && isUnsigned ? "uint8" : names[static_cast<size_t>(level)];
}

namespace {

/// An operator from one level to another.
struct StepUp {
  size_t layer;
  Level from, to;
  double cost, worth; ///< more than before; what is gained for that
};

class Search {
public:
  Search(const LevelCosts &costs, MeasureLevels measure) : costs(costs), measure(measure) {}

  double costOf(size_t layer, Level level) const { return *costs[layer][static_cast<size_t>(level)]; }
  double costOf(const Levels &levels) const {
    double sum = 0;
    for (auto [layer, level] : llvm::enumerate(levels))
      sum += costOf(layer, level);
    return sum;
  }
  llvm::SmallVector<Level, levelCount> levelsOf(size_t layer) const {
    llvm::SmallVector<Level, levelCount> list;
    for (size_t k = 0; k < levelCount; ++k)
      if (costs[layer][k])
        list.push_back(static_cast<Level>(k));
    return list;
  }

  llvm::Error start() {
    for (size_t layer = 0; layer < costs.size(); ++layer) {
      auto levels = levelsOf(layer);
      if (levels.empty())
        return makeError("operator " + llvm::Twine(layer) + " has no cost at any level that it may have");
      found.levels.push_back(
          *llvm::min_element(levels, [&](Level a, Level b) { return costOf(layer, a) < costOf(layer, b); }));
    }
    auto error = measure(found.levels);
    if (!error)
      return error.takeError();
    found.error = found.errorAtLeast = *error;
    found.cost = found.leastCost = costOf(found.levels);
    return llvm::Error::success();
  }

  /// Of each operator those that gain most for their cost, one behind the other, and of all the best first.
  llvm::Expected<std::vector<StepUp>> steps() {
    std::vector<StepUp> all;
    for (size_t layer = 0; layer < costs.size(); ++layer) {
      std::array<double, levelCount> gains{};
      Level now = found.levels[layer];
      for (Level level : levelsOf(layer)) {
        if (level == now)
          continue;
        Levels alone = found.levels;
        alone[layer] = level;
        auto error = measure(alone);
        if (!error)
          return error.takeError();
        gains[static_cast<size_t>(level)] = found.errorAtLeast - *error;
      }
      while (true) {
        std::optional<StepUp> best;
        for (Level level : levelsOf(layer)) {
          double gain = gains[static_cast<size_t>(level)] - gains[static_cast<size_t>(now)];
          double cost = costOf(layer, level) - costOf(layer, now);
          // Downwards, and to what costs less and gains less, is no step.
          if (level <= now || cost < 0)
            continue;
          double worth = cost > 0 ? gain / cost : gain > 0 ? INFINITY : gain < 0 ? -INFINITY : 0;
          if (!best || worth > best->worth)
            best = StepUp{layer, now, level, cost, worth};
        }
        if (!best)
          break;
        if (!all.empty() && all.back().layer == layer) // one behind the other
          best->worth = std::min(best->worth, all.back().worth);
        now = best->to;
        all.push_back(*best);
      }
    }
    llvm::stable_sort(all, [](const StepUp &a, const StepUp &b) { return a.worth > b.worth; });
    return all;
  }

  const LevelCosts &costs;
  MeasureLevels measure;
  Assignment found;
};

} // namespace

llvm::Expected<Assignment> cheapestWithin(const LevelCosts &costs, double bound, MeasureLevels measure) {
  Search search(costs, measure);
  if (llvm::Error error = search.start())
    return error;
  if (search.found.error <= bound)
    return search.found;
  Levels finest;
  for (size_t layer = 0; layer < costs.size(); ++layer)
    finest.push_back(search.levelsOf(layer).back());
  auto least = measure(finest);
  if (!least)
    return least.takeError();
  if (!(*least <= bound)) {
    search.found.levels = finest;
    search.found.error = *least;
    search.found.cost = search.costOf(finest);
    search.found.suffices = false;
    return search.found;
  }
  auto steps = search.steps();
  if (!steps)
    return steps.takeError();
  const Levels start = search.found.levels;
  auto after = [&](size_t count) {
    Levels levels = start;
    for (const StepUp &step : llvm::ArrayRef(*steps).take_front(count))
      levels[step.layer] = step.to;
    return levels;
  };
  Levels best = finest;
  double error = *least;
  size_t low = 0, high = steps->size() + 1; // `low` steps do not suffice; one more than there are stands for the finest
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    Levels levels = after(middle);
    auto now = measure(levels);
    if (!now)
      return now.takeError();
    (*now <= bound ? high : low) = middle;
    if (*now <= bound) {
      best = levels;
      error = *now;
    }
  }
  // The last that were taken gained least: these go back first, as far as they can.
  std::vector<size_t> order;
  for (const StepUp &step : llvm::reverse(*steps))
    if (!llvm::is_contained(order, step.layer))
      order.push_back(step.layer);
  for (size_t layer : order) {
    auto cheaper = search.levelsOf(layer);
    llvm::erase_if(cheaper,
                   [&](Level level) { return search.costOf(layer, level) >= search.costOf(layer, best[layer]); });
    llvm::stable_sort(cheaper, [&](Level a, Level b) { return search.costOf(layer, a) < search.costOf(layer, b); });
    for (Level level : cheaper) {
      Levels levels = best;
      levels[layer] = level;
      auto now = measure(levels);
      if (!now)
        return now.takeError();
      if (*now > bound)
        continue;
      best = levels;
      error = *now;
      break;
    }
  }
  search.found.levels = best;
  search.found.error = error;
  search.found.cost = search.costOf(best);
  return search.found;
}

llvm::Expected<Assignment> bestWithin(const LevelCosts &costs, double budget, MeasureLevels measure) {
  Search search(costs, measure);
  if (llvm::Error error = search.start())
    return error;
  if (search.found.cost > budget) {
    search.found.suffices = false;
    return search.found;
  }
  auto steps = search.steps();
  if (!steps)
    return steps.takeError();
  Levels levels = search.found.levels;
  double cost = search.found.cost;
  for (const StepUp &step : *steps) {
    // Behind a step that did not fit in comes a dearer one of the operator, if any.
    if (step.worth <= 0 || levels[step.layer] != step.from || cost + step.cost > budget)
      continue;
    levels[step.layer] = step.to;
    cost += step.cost;
  }
  auto error = measure(levels);
  if (!error)
    return error.takeError();
  if (*error < search.found.error) { // gains that were measured alone may not add up
    search.found.levels = levels;
    search.found.error = *error;
    search.found.cost = search.costOf(levels);
  }
  return search.found;
}

namespace {

std::string nameOf(const Operator &op) { return op.result() ? op.result()->name.str() : ""; }

} // namespace

llvm::Expected<LevelCosts> readCosts(llvm::StringRef text, const Subgraph &graph, bool isUnsigned) {
  auto root = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  auto layers = root.is_object() ? root.find("layers") : root.end();
  if (!root.is_object() || layers == root.end() || !layers->is_array())
    return makeError("is no file of costs: an object in JSON with a list \"layers\"");
  llvm::StringMap<size_t> positions;
  LevelCosts costs;
  for (const Operator &op : graph.operators) {
    positions[nameOf(op)] = costs.size();
    costs.push_back({0, 0, 0});
  }
  std::vector<bool> given(costs.size(), false);
  for (const auto &layer : *layers) {
    auto name = layer.is_object() ? layer.find("name") : layer.end();
    if (!layer.is_object() || name == layer.end() || !name->is_string())
      return makeError("a layer has no \"name\"");
    std::string called = name->get<std::string>();
    auto position = positions.find(called);
    if (called.empty() || position == positions.end())
      return makeError("layer \"" + printable(called) + "\" is no first result of an operator");
    if (given[position->second])
      return makeError("layer \"" + printable(called) + "\" is there twice");
    given[position->second] = true;
    for (size_t k = 0; k < levelCount; ++k) {
      std::string level = levelName(static_cast<Level>(k), isUnsigned).str();
      auto cost = layer.find(level);
      auto &to = costs[position->second][k];
      to.reset();
      if (cost == layer.end() || cost->is_null())
        continue;
      if (!cost->is_number() || !(cost->get<double>() >= 0) || !std::isfinite(cost->get<double>()))
        return makeError("layer \"" + printable(called) + "\": " + level + " is no cost; give a number, from 0");
      to = cost->get<double>();
    }
  }
  return costs;
}

std::string costsText(const LevelCosts &costs, const Subgraph &graph, llvm::StringRef unit, bool isUnsigned) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (auto [op, cost] : llvm::zip_equal(graph.operators, costs)) {
    if (nameOf(op).empty())
      continue;
    Json layer = {{"name", nameOf(op)}};
    for (size_t k = 0; k < levelCount; ++k)
      if (cost[k])
        layer[levelName(static_cast<Level>(k), isUnsigned).str()] = *cost[k];
    list.push_back(std::move(layer));
  }
  return Json{{"unit", unit.str()}, {"layers", std::move(list)}}.dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

} // namespace origo::quantize
