#include "report/target/Partition.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <nlohmann/json.hpp>

namespace origo::report {

using llvm::Expected;
using llvm::StringRef;
using Json = nlohmann::ordered_json;

namespace {

/// Does the target take an operator with all that it calls?
class Support {
public:
  explicit Support(const Target &target) : target(target) {}
  bool takes(const Operator &op) {
    return checkOperator(op, target).empty() &&
           llvm::all_of(op.callees(), [&](Subgraph *callee) { return takes(*callee); });
  }

private:
  const Target &target;
  llvm::DenseMap<const Subgraph *, bool> known;
  bool takes(Subgraph &graph) {
    auto found = known.find(&graph);
    if (found != known.end())
      return found->second;
    bool all = llvm::all_of(graph.operators, [&](const Operator &op) { return takes(op); });
    return known[&graph] = all;
  }
};

/// State by which operators reach each other without a tensor between them.
bool touchesSharedState(const Operator &op) {
  if (!(op.effects() & (uint8_t(Effect::ReadsState) | uint8_t(Effect::WritesState))))
    return false;
  // A variable of its own is no way to others; one of several is found by its users.
  return llvm::none_of(op.operands(), [](const Use &use) { return use.get() && use.get()->isVariable; });
}

llvm::Error checkState(Subgraph &graph, const llvm::DenseMap<const Operator *, unsigned> &levels) {
  auto refuse = [](const Operator &op, const Operator &other) {
    return makeError({.subgraph = 0, .op = static_cast<int>(op.index), .opName = op.opName()},
                     "it shares state with operator " + llvm::Twine(other.index) + " (" + other.opName() +
                         "), which would be in another part; a model can be divided only where its parts share none");
  };
  const Operator *holder = nullptr;
  for (const Operator &op : graph.operators) {
    if (touchesSharedState(op)) {
      if (holder && levels.lookup(holder) != levels.lookup(&op))
        return refuse(op, *holder);
      holder = &op;
    }
    for (const Use &use : op.operands())
      if (const Value *value = use.get(); value && value->isVariable) {
        const Operator *other = nullptr;
        value->forEachUse([&](const Use &elsewhere) {
          if (levels.lookup(elsewhere.user()) != levels.lookup(&op))
            other = elsewhere.user();
        });
        if (other)
          return refuse(op, *other);
      }
  }
  return llvm::Error::success();
}

/// Names that an INI file can say as keys and values.
bool sayable(StringRef name) {
  return !name.empty() && name.trim() == name && !StringRef("[;#").contains(name.front()) &&
         llvm::none_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '=' || c == 0x7f; });
}

} // namespace

Expected<std::vector<Region>> partition(Model &model, const Target &target, StringRef backend, StringRef fallback) {
  model.number();
  Subgraph &graph = *model.subgraphs.front();
  Support support(target);
  // Levels alternate between the back ends, even ones being the target's, and data never flows back to a lower one.
  llvm::DenseMap<const Operator *, unsigned> levels;
  unsigned last = 0;
  for (const Operator &op : graph.operators) {
    unsigned level = support.takes(op) ? 0 : 1;
    for (const Use &use : op.operands())
      if (const Operator *producer = use.get() ? use.get()->producer() : nullptr) {
        unsigned from = levels.lookup(producer);
        level = std::max(level, from % 2 == level % 2 ? from : from + 1);
      }
    levels[&op] = level;
    last = std::max(last, level);
  }
  if (llvm::Error error = checkState(graph, levels))
    return error;
  // Each part tells of the whole source: ever more of them take time and space by the square.
  if (last >= 1000)
    return makeError("the target takes so few neighbours that there would be " + llvm::Twine(last + 1) +
                     " parts, one behind the other; at most 1000 are written");
  std::vector<Region> regions(last + 1);
  for (unsigned level = 0; level <= last; ++level)
    regions[level].backend = (level % 2 ? fallback : backend).str();
  for (Operator &op : graph.operators)
    regions[levels.lookup(&op)].operators.push_back(&op);
  llvm::erase_if(regions, [](const Region &region) { return region.operators.empty(); });
  return regions;
}

std::string partText(llvm::ArrayRef<Region> regions, StringRef backend, StringRef fallback,
                     std::vector<const Operator *> &unnamed) {
  llvm::StringMap<unsigned> count;
  auto nameOf = [](const Operator &op) { return op.result() ? op.result()->name : StringRef(); };
  for (const Region &region : regions)
    for (const Operator *op : region.operators)
      ++count[nameOf(*op)];
  std::string text =
      ("[partition]\nbackends=" + fallback + "," + backend + "\ndefault=" + fallback + "\ncomply=opname\n\n[OPNAME]\n")
          .str();
  for (const Region &region : regions)
    for (const Operator *op : region.operators) {
      if (region.backend != backend)
        continue;
      StringRef name = nameOf(*op);
      if (sayable(name) && count[name] == 1)
        text += (name + "=" + backend + "\n").str();
      else
        unnamed.push_back(op);
    }
  return text;
}

Ports portsOf(const Model &model, StringRef file) {
  Ports ports{file.str(), {}, {}};
  for (const Value *value : model.subgraphs.front()->inputs)
    ports.inputs.push_back(value->name.str());
  for (const Value *value : model.subgraphs.front()->outputs)
    ports.outputs.push_back(value->name.str());
  return ports;
}

std::string connectionsIni(const Ports &source, llvm::ArrayRef<Ports> parts) {
  std::string text;
  auto section = [&](StringRef name, const Ports &ports) {
    text += ("[" + name + "]\nfile=" + ports.file + "\n").str();
    for (auto [letter, names] : {std::pair('i', &ports.inputs), std::pair('o', &ports.outputs)})
      for (auto [i, port] : llvm::enumerate(*names))
        text += letter + std::to_string(i + 1) + "=" + printable(port, SIZE_MAX) + "\n";
  };
  section("source", source);
  text += "\n[models]\n";
  for (auto [i, part] : llvm::enumerate(parts))
    text += "m" + std::to_string(i + 1) + "=" + part.file + "\n";
  for (const Ports &part : parts) {
    text += "\n";
    section(part.file, part);
  }
  return text;
}

std::string connectionsJson(const Ports &source, llvm::ArrayRef<Ports> parts) {
  auto toJson = [](const Ports &ports) {
    return Json{{"file", ports.file}, {"inputs", ports.inputs}, {"outputs", ports.outputs}};
  };
  Json json{{"source", toJson(source)}, {"parts", Json::array()}};
  for (const Ports &part : parts)
    json["parts"].push_back(toJson(part));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace origo::report
