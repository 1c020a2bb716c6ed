#include "commands/Pair.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

namespace origo::commands {

namespace {

constexpr uint32_t none = ~0u, several = none - 1;

using NameOf = llvm::function_ref<std::string(const Operator &op, const Value &result)>;

/// Pairs operators that are still alone and have a result of the same name, if it is the only one of this name on its
/// side.
void matchBy(NameOf nameOf, const Subgraph &from, const Subgraph &to, std::vector<uint32_t> &matches,
             std::vector<bool> &taken) {
  llvm::StringMap<std::pair<uint32_t, uint32_t>> byName; // of `from` and of `to`
  auto note = [&](const Subgraph &graph, bool isFrom) {
    uint32_t index = 0;
    for (const Operator &op : graph.operators) {
      for (const Value *value : op.results())
        if (value && !value->name.empty() && (isFrom ? matches[index] == none : !taken[index])) {
          auto &pair = byName.try_emplace(nameOf(op, *value), none, none).first->second;
          uint32_t &place = isFrom ? pair.first : pair.second;
          place = place == none || place == index ? index : several;
        }
      ++index;
    }
  };
  note(from, true), note(to, false);
  uint32_t index = 0;
  for (const Operator &op : from.operators) {
    for (const Value *value : op.results())
      if (value && !value->name.empty() && matches[index] == none)
        if (auto at = byName.find(nameOf(op, *value)); at != byName.end())
          if (auto [one, other] = at->second; one == index && other < several && !taken[other]) {
            matches[index] = other;
            taken[other] = true;
          }
    ++index;
  }
}

/// By operator of `from`: the one of `to` that has a result of the same name; else one of the same kind and the first
/// of joined names; or, where no name is the same, its place.
std::vector<uint32_t> matchOperators(const Subgraph &from, const Subgraph &to) {
  std::vector<uint32_t> matches(from.operators.size(), none);
  std::vector<bool> taken(to.operators.size());
  matchBy([](const Operator &, const Value &value) { return value.name.str(); }, from, to, matches, taken);
  matchBy([](const Operator &op,
             const Value &value) { return op.opName() + "\n" + llvm::StringRef(value.name).split(';').first.str(); },
          from, to, matches, taken);
  bool isAlike = from.operators.size() == to.operators.size() &&
                 llvm::all_of(llvm::zip(from.operators, to.operators),
                              [](auto pair) { return std::get<0>(pair).opName() == std::get<1>(pair).opName(); });
  if (isAlike && llvm::all_of(matches, [](uint32_t match) { return match == none; }))
    for (uint32_t i = 0; i < matches.size(); ++i)
      matches[i] = i;
  return matches;
}

/// By operator of the source: the one of the result that does its work. What has no counterpart of its own is part of
/// the one that everything that uses it is part of.
std::vector<uint32_t> homesOf(const Subgraph &result, const Subgraph &source) {
  std::vector<uint32_t> homes(source.operators.size(), none), matches = matchOperators(result, source);
  for (uint32_t op = 0; op < matches.size(); ++op)
    if (matches[op] != none)
      homes[matches[op]] = op;
  std::vector<const Operator *> ops;
  for (const Operator &op : source.operators)
    ops.push_back(&op);
  std::vector<uint32_t> wish(ops.size(), none), places(source.values.size(), none);
  for (uint32_t i = 0; i < ops.size(); ++i)
    for (const Value *value : ops[i]->results())
      if (value)
        places[value->index] = i;
  auto want = [&](const Value *value, uint32_t home) {
    if (!value || places[value->index] == none)
      return;
    uint32_t &was = wish[places[value->index]];
    was = was == none || was == home ? home : several;
  };
  for (const Value *value : source.outputs)
    want(value, several);
  for (uint32_t i = uint32_t(ops.size()); i-- > 0;) {
    if (homes[i] == none && wish[i] != several)
      homes[i] = wish[i];
    for (const Use &use : ops[i]->operands())
      want(use.get(), homes[i] == none ? several : homes[i]);
  }
  return homes;
}

} // namespace

GuessedMap pairByNames(const Imported &result, const Imported &source) {
  auto map = std::make_shared<origin::OriginMap>();
  map->source = *source.lineage.source;
  map->target.format = result.model->format == Format::Tflite ? "tflite" : "circle";
  size_t paired = 0, all = 0;
  for (const auto &graph : result.model->subgraphs) {
    origin::TargetSubgraph &to = map->target.subgraphs.emplace_back();
    to.name = graph->name.str();
    to.operators.resize(graph->operators.size());
    uint32_t row = 0;
    for (const Operator &op : graph->operators) {
      to.operators[row].op = op.opName();
      for (const Value *value : op.results())
        to.operators[row].outputs.push_back(value ? value->name.str() : "");
      ++row;
    }
    all += graph->operators.size();
    if (graph->index >= source.model->subgraphs.size() || graph->index >= map->source.subgraphs.size())
      continue;
    const Subgraph &from = *source.model->subgraphs[graph->index];
    const origin::SourceSubgraph &listed = map->source.subgraphs[graph->index];
    to.source = {graph->index};
    std::vector<uint32_t> homes = homesOf(*graph, from);
    for (uint32_t op = 0; op < homes.size(); ++op)
      if (homes[op] != none)
        to.operators[homes[op]].origins.push_back(listed.firstOperator + op);
    paired += llvm::count_if(to.operators, [](const origin::OperatorRow &one) { return !one.origins.empty(); });
    llvm::StringMap<uint32_t> byName;
    for (const Value *value : from.values)
      if (!value->name.empty())
        byName.try_emplace(value->name, value->index);
    for (const Value *value : graph->values)
      if (auto at = byName.find(value->name); at != byName.end()) {
        origin::TensorRow &tensor = to.tensors.emplace_back();
        tensor.index = value->index;
        tensor.name = value->name.str();
        tensor.constant = value->isConstant();
        tensor.relations.push_back({listed.firstTensor + at->second, {}, false});
      }
  }
  return {map,
          "no origin map ties these files: " + std::to_string(paired) + " of " + std::to_string(all) +
              " operators of the result are paired with operators of the source by names, and by what lies between "
              "them; that is a guess, and nothing was checked"};
}

} // namespace origo::commands
