#include "quantize/Scheme.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::quantize {

static bool anyChoice(const Scheme &scheme, llvm::function_ref<bool(const Scheme::Choice &)> holds) {
  auto quantizes = [&](const Scheme::Choice &choice) { return choice.quantize && holds(choice); };
  auto any = [&](const auto &some) {
    return llvm::any_of(some, [&](const auto &one) { return quantizes(one.second); });
  };
  return quantizes(scheme.common) || any(scheme.operators) || (!scheme.isFollowed && any(scheme.layers));
}

void Scheme::choose(const Operator &op, Choice choice) {
  if (op.result())
    layers[op.result()->name] = choice;
  operators[&op] = std::move(choice);
}

const Scheme::Choice &Scheme::of(const Operator &op) const {
  if (isFollowed) {
    auto own = operators.find(&op);
    return own == operators.end() ? common : own->second;
  }
  auto own = op.result() ? layers.find(op.result()->name) : layers.end();
  return own == layers.end() ? common : own->second;
}

static std::string resultName(const Operator &op) { return op.result() ? op.result()->name.str() : std::string(); }

FollowedChoices::FollowedChoices(const Model &model, const Scheme &scheme) {
  if (scheme.layers.empty() && scheme.operators.empty())
    return;
  llvm::StringMap<bool> chosen; // names that somebody was chosen for himself by
  for (const auto &[op, choice] : scheme.operators)
    chosen[resultName(*op)] = true;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      Before one{resultName(op), {}, std::nullopt};
      llvm::append_range(one.origins, model.sets.members(op.origins));
      if (auto own = scheme.operators.find(&op); own != scheme.operators.end())
        one.choice = own->second;
      else if (auto named = scheme.layers.find(one.name); named != scheme.layers.end() && !chosen.contains(one.name))
        one.choice = named->second;
      all.push_back(std::move(one));
    }
}

void FollowedChoices::follow(const Model &model, Scheme &scheme) const {
  if (all.empty())
    return;
  llvm::StringMap<bool> now;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      now[resultName(op)] = true;
  llvm::StringMap<llvm::SmallVector<const Before *, 1>> byName;
  llvm::DenseMap<uint64_t, llvm::SmallVector<const Before *, 1>> byOrigin;
  for (const Before &one : all) {
    byName[one.name].push_back(&one);
    for (uint32_t origin : one.origins)
      byOrigin[origin].push_back(&one);
  }
  scheme.operators.clear();
  scheme.isFollowed = true;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      auto origins = model.sets.members(op.origins);
      auto shares = [&](const Before *one) {
        return llvm::any_of(one->origins, [&](uint32_t id) { return llvm::is_contained(origins, id); });
      };
      const Before *was = nullptr;
      auto named = byName.find(resultName(op));
      if (named != byName.end()) {
        auto own = llvm::find_if(named->second, shares);
        was = own != named->second.end() ? *own : named->second.size() == 1 ? named->second.front() : nullptr;
      }
      for (uint32_t origin : origins) // who has gone into it, where nobody of its name is there, or has to stay float
        for (const Before *one : byOrigin.lookup(origin))
          if (!now.contains(one->name) && (!was || (one->choice && !one->choice->quantize)))
            was = one;
      if (was && was->choice)
        scheme.operators[&op] = *was->choice;
    }
}

bool Scheme::needsRanges() const {
  return anyChoice(*this, [](const Choice &choice) { return choice.mode == Mode::Full; });
}
bool Scheme::needsProducts() const {
  return anyChoice(*this, [](const Choice &choice) { return choice.choosesRounding; });
}
bool Scheme::adapts() const {
  return anyChoice(*this, [](const Choice &choice) { return choice.adapts; });
}
bool Scheme::needsMoments() const {
  return needsProducts() || anyChoice(*this, [](const Choice &choice) { return choice.correctsBias; });
}

} // namespace origo::quantize
