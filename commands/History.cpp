#include "commands/History.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <map>

namespace origo::commands {

/// What an edge leads from: no constant.
static bool flows(const Value *value) {
  return value && (value->producer() || value->isGraphInput || value->isVariable);
}

HistoryRecorder::HistoryRecorder(const Model &model, const origin::Listing &source, llvm::raw_ostream &os)
    : model(model), os(os), told(model.rewrites) {
  if (source.format == "onnx")
    beginWithNodes(source);
  else
    beginWithOperators();
  reasons.resize(nextOperator);
}

void HistoryRecorder::beginWithOperators() {
  for (auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      values[value] = nextValue++;
  for (auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      operators[&op] = describe(op);
      operators[&op].id = nextOperator++;
    }
  os << "{\"format\":\"origo.history\",\"version\":1,\"operators\":" << nextOperator << ",\"tensors\":" << nextValue
     << "}\n";
}

/// What was made of the nodes when they were read is the first rewrite of each subgraph.
void HistoryRecorder::beginWithNodes(const origin::Listing &source) {
  nextOperator = source.operatorCount();
  nextValue = source.tensorCount();
  os << "{\"format\":\"origo.history\",\"version\":1,\"operators\":" << nextOperator << ",\"tensors\":" << nextValue
     << "}\n";
  llvm::DenseSet<uint64_t> taken;
  for (auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      for (const Relation &relation : value->relations)
        if (!relation.steps && taken.insert(relation.tensor).second) {
          values[value] = relation.tensor;
          break;
        }
  std::vector<bool> isGone(nextOperator);
  for (auto &graph : model.subgraphs) {
    Ids removed;
    llvm::DenseMap<uint64_t, uint32_t> position;
    std::vector<Made> made;
    auto remove = [&](uint32_t id) {
      if (id >= isGone.size() || isGone[id])
        return;
      isGone[id] = true;
      position[id] = uint32_t(removed.size());
      removed.push_back(id);
    };
    for (const Operator &op : graph->operators) {
      Made &item = made.emplace_back(Made{&op, llvm::SmallVector<uint32_t, 2>()});
      model.sets.forEach(op.origins, [&](uint32_t id) {
        remove(id);
        if (auto at = position.find(id); at != position.end())
          item.from->push_back(at->second);
      });
    }
    if (graph == model.subgraphs.back()) // who computed shapes and axes, and what is left of bodies
      for (uint32_t id = 0; id < isGone.size(); ++id)
        remove(id);
    write(model.rewrites, "lower-onnx", "as it was read", graph->index, removed, made, {});
  }
}

/// A line of its own the first time.
uint32_t HistoryRecorder::name(llvm::StringRef text) {
  auto [at, isNew] = names.try_emplace(text, names.size());
  if (isNew)
    os << llvm::json::Value(llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text)) << '\n';
  return at->second;
}

uint32_t HistoryRecorder::current(uint32_t value) {
  uint32_t last = value;
  while (last < standIns.size() && standIns[last] != last)
    last = standIns[last];
  while (value < standIns.size() && standIns[value] != last) // shorter for the next time
    value = std::exchange(standIns[value], last);
  return last;
}

uint32_t HistoryRecorder::valueId(const Value &value) {
  auto [at, isNew] = values.try_emplace(&value, nextValue);
  nextValue += isNew;
  return current(at->second);
}

HistoryRecorder::Known HistoryRecorder::describe(const Operator &op) {
  Known known{~0u, {}, {}};
  for (const Use &use : op.operands())
    if (flows(use.get()))
      known.operands.push_back(valueId(*use.get()));
  for (const Value *value : op.results())
    if (value)
      known.results.push_back(valueId(*value));
  return known;
}

static void writeList(llvm::raw_ostream &os, llvm::ArrayRef<uint32_t> items) {
  os << '[';
  llvm::interleave(
      items, os, [&](uint32_t item) { os << item; }, ",");
  os << ']';
}

/// The values of what is gone may be those of what was made; an object in memory that is used again is another value.
void HistoryRecorder::forgetReused(llvm::ArrayRef<const Operator *> removed, llvm::ArrayRef<Made> made) {
  llvm::DenseSet<uint64_t> kept;
  for (const Operator *op : removed) {
    const Known &known = operators.find(op)->second;
    kept.insert(known.results.begin(), known.results.end());
  }
  for (const Made &item : made)
    for (const Value *value : item.op->results())
      if (auto known = value ? values.find(value) : values.end();
          known != values.end() && !kept.contains(current(known->second)))
        values.erase(known);
}

/// Their numbers; they are known no longer.
HistoryRecorder::Ids HistoryRecorder::forget(llvm::ArrayRef<const Operator *> removed) {
  Ids ids;
  for (const Operator *op : removed) {
    auto known = operators.find(op);
    ids.push_back(known->second.id);
    operators.erase(known);
  }
  return ids;
}

void HistoryRecorder::write(uint32_t number, llvm::StringRef pass, llvm::StringRef rule, uint32_t graph,
                            llvm::ArrayRef<uint32_t> removed, llvm::ArrayRef<Made> made,
                            llvm::ArrayRef<std::pair<uint32_t, uint32_t>> replaced) {
  uint32_t passName = name(pass), ruleName = name(rule);
  for (const Made &item : made)
    name(item.op->opName());
  os << '[' << number << ',' << passName << ',' << ruleName << ',' << graph << ',';
  writeList(os, removed);
  os << ",[";
  const char *separator = "";
  for (const Made &item : made) {
    Known known = describe(*item.op);
    known.id = nextOperator++;
    os << separator << '[' << name(item.op->opName()) << ',';
    separator = ",";
    writeList(os, known.operands);
    os << ',';
    writeList(os, known.results);
    if (item.from) {
      os << ',';
      writeList(os, *item.from);
    }
    os << ']';
    operators[item.op] = std::move(known);
  }
  os << ']';
  if (!replaced.empty()) {
    os << ",[";
    llvm::interleave(
        replaced, os, [&](auto pair) { os << pair.first << ',' << pair.second; }, ",");
    os << ']';
  }
  os << "]\n";
}

void HistoryRecorder::record(const RewriteEvent &event) {
  if (!event.subgraph)
    return compare(event.number, event.pass);
  if (event.number != told + 1)
    compare(event.number - 1, event.pass); // what nobody told of
  told = event.number;
  llvm::SmallVector<const Operator *> removed;
  llvm::SmallVector<IdSet> origins;
  for (const RewriteEvent::Before &before : event.before)
    if (!before.kept && operators.contains(before.at)) {
      removed.push_back(before.at);
      origins.push_back(before.origins);
    }
  // What became useless in an earlier rewrite had gone when its memory was used again.
  llvm::SmallVector<const Operator *> unused;
  for (const Operator *op : event.created)
    if (operators.contains(op) && !llvm::is_contained(removed, op))
      unused.push_back(op);
  if (!unused.empty())
    write(event.number, event.pass, "unused", event.subgraph->index, forget(unused), {}, {});
  std::vector<Made> made;
  IdSets &sets = const_cast<Model &>(model).sets;
  for (const Operator *op : event.created) {
    Made &item = made.emplace_back(Made{op, std::nullopt});
    llvm::SmallVector<uint32_t, 2> from;
    for (auto [i, set] : llvm::enumerate(origins))
      if (sets.minus(set, op->origins).empty())
        from.push_back(uint32_t(i));
    if (from.size() != origins.size())
      item.from = std::move(from);
  }
  forgetReused(removed, made);
  llvm::SmallVector<std::pair<uint32_t, uint32_t>> replaced;
  for (auto [from, to] : event.tookOver) {
    auto known = values.find(from);
    if (known == values.end() || !flows(to))
      continue;
    uint32_t a = current(known->second), b = valueId(*to);
    if (a == b)
      continue;
    replaced.emplace_back(a, b);
    values.erase(from); // nothing has it any more, and its memory may become another value's
    for (uint32_t next = uint32_t(standIns.size()); next <= std::max(a, b); ++next)
      standIns.push_back(next);
    standIns[a] = b;
  }
  if (removed.empty() && made.empty() && replaced.empty())
    return; // two constants became one
  write(event.number, event.pass, event.rule, event.subgraph->index, forget(removed), made, replaced);
}

void HistoryRecorder::declined(const Operator &op, const Pass &pass, const Rule &rule, llvm::StringRef reason) {
  auto known = operators.find(&op);
  if (known == operators.end() || known->second.id >= reasons.size())
    return;
  std::vector<uint32_t> &list = reasons[known->second.id];
  auto [at, isNew] = attemptNumbers.try_emplace((pass.name + "/" + rule.name + "/" + reason).str(), attempts.size());
  if (isNew)
    attempts.push_back({pass.name, rule.name, reason.str()});
  if (list.size() < mostReasons && !llvm::is_contained(list, at->second))
    list.push_back(at->second);
}

/// Of operators that are as they were read: why. Those for which the same was said share a line.
void HistoryRecorder::writeReasons() {
  std::map<std::vector<uint32_t>, Ids> same; // runs of operators
  for (auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      uint32_t id = operators.lookup(&op).id;
      if (id >= reasons.size() || reasons[id].empty())
        continue;
      Ids &runs = same[std::move(reasons[id])];
      if (!runs.empty() && runs[runs.size() - 2] + runs.back() == id)
        ++runs.back();
      else
        runs.append({id, 1});
    }
  std::vector<uint32_t> numbers(attempts.size(), ~0u);
  uint32_t next = 0;
  for (auto &[list, runs] : same) {
    Ids told;
    for (uint32_t attempt : list) {
      if (numbers[attempt] == ~0u) {
        const Declined &row = attempts[attempt];
        uint32_t pass = name(row.pass), rule = name(row.rule), reason = name(row.reason);
        os << "{\"attempt\":[" << pass << ',' << rule << ',' << reason << "]}\n";
        numbers[attempt] = next++;
      }
      told.push_back(numbers[attempt]);
    }
    os << "{\"stayed\":[";
    writeList(os, runs);
    os << ',';
    writeList(os, told);
    os << "]}\n";
  }
}

/// Tells what is otherwise than known: what no rewrite did.
void HistoryRecorder::compare(uint32_t number, llvm::StringRef pass) {
  told = number;
  llvm::DenseSet<const Operator *> there;
  llvm::SmallVector<const Operator *> removed, added;
  std::vector<std::pair<uint32_t, const Operator *>> gone;
  llvm::DenseSet<const Operator *> changed;
  for (auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      there.insert(&op);
      auto known = operators.find(&op);
      if (known == operators.end()) {
        added.push_back(&op);
        continue;
      }
      Known now = describe(op);
      llvm::SmallVector<uint32_t, 2> before;
      for (uint32_t value : known->second.operands)
        before.push_back(current(value));
      // An operand that has become a constant is none.
      if (now.operands != before &&
          !(now.operands.size() < before.size() &&
            llvm::all_of(now.operands, [&](uint32_t one) { return llvm::is_contained(before, one); }))) {
        gone.emplace_back(known->second.id, &op);
        changed.insert(&op);
        added.push_back(&op);
      }
    }
  for (auto &[op, known] : operators)
    if (!there.contains(op))
      gone.emplace_back(known.id, op);
  llvm::sort(gone, [](auto &a, auto &b) { return a.first < b.first; });
  llvm::DenseMap<const Operator *, uint32_t> position;
  for (auto &[id, op] : gone) {
    position[op] = uint32_t(removed.size());
    removed.push_back(op);
  }
  if (removed.empty() && added.empty())
    return;
  std::vector<Made> made;
  for (const Operator *op : added) {
    Made &item = made.emplace_back(Made{op, llvm::SmallVector<uint32_t, 2>()});
    if (changed.contains(op))
      item.from->push_back(position[op]);
  }
  forgetReused(removed, made);
  write(number, pass, "unused", added.empty() ? 0 : added.front()->subgraph()->index, forget(removed), made, {});
}

void HistoryRecorder::finish() {
  compare(model.rewrites, "remove-dead-code");
  writeReasons();
  // By subgraph: numbers in file order, as first, count, first, count, …
  os << "{\"final\":[";
  const char *separator = "";
  for (auto &graph : model.subgraphs) {
    os << separator << '[';
    separator = ",";
    Ids runs;
    for (const Operator &op : graph->operators) {
      uint32_t id = operators.lookup(&op).id;
      if (!runs.empty() && runs[runs.size() - 2] + runs.back() == id)
        ++runs.back();
      else
        runs.append({id, 1});
    }
    llvm::interleave(
        runs, os, [&](uint32_t item) { os << item; }, ",");
    os << ']';
  }
  os << "]}\n";
}

} // namespace origo::commands
