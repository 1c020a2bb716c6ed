#include "report/target/Partition.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

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

llvm::Error checkState(Subgraph &graph, const llvm::DenseMap<const Operator *, uint64_t> &levels) {
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
  Support support(target);
  return partition(model, {backend.str(), fallback.str()},
                   [&](const Operator &op) { return support.takes(op) ? 0u : 1u; });
}

Expected<std::vector<Region>> partition(Model &model, const PartFile &part, std::vector<std::string> &unused) {
  if (part.backends.empty())
    return makeError("no back ends are named: backends=cpu,npu");
  if (part.backends.size() > 100)
    return makeError("there are more than 100 back ends");
  auto find = [&](const std::string &name) -> Expected<unsigned> {
    auto found = llvm::find(part.backends, name);
    if (found == part.backends.end())
      return makeError("\"" + printable(name) + "\" is not among the back ends " +
                       printable(llvm::join(part.backends, ",")));
    return found - part.backends.begin();
  };
  auto fallback = find(part.fallback.empty() ? part.backends.front() : part.fallback);
  if (!fallback)
    return fallback.takeError();
  std::map<std::string, unsigned> numbers;
  for (const auto &[name, backend] : part.rows) {
    auto number = find(backend);
    if (!number)
      return number.takeError();
    numbers[name] = *number;
  }
  std::set<std::string> used;
  auto regions = partition(model, part.backends, [&](const Operator &op) {
    auto row = numbers.find(!part.byName ? op.opName() : op.result() ? op.result()->name.str() : "");
    if (row == numbers.end())
      return *fallback;
    used.insert(row->first);
    return row->second;
  });
  for (const auto &[name, backend] : part.rows)
    if (!used.count(name))
      unused.push_back(name);
  return regions;
}

Expected<std::vector<Region>> partition(Model &model, llvm::ArrayRef<std::string> backends,
                                        llvm::function_ref<unsigned(const Operator &)> backendOf) {
  model.number();
  Subgraph &graph = *model.subgraphs.front();
  const uint64_t count = backends.size();
  // Levels go round the back ends, and data never flows back to a lower one.
  llvm::DenseMap<const Operator *, uint64_t> levels;
  std::map<uint64_t, Region> regions;
  for (Operator &op : graph.operators) {
    uint64_t level = backendOf(op);
    for (const Use &use : op.operands())
      if (const Operator *producer = use.get() ? use.get()->producer() : nullptr) {
        uint64_t from = levels.lookup(producer);
        level = std::max(level, from + (level + count - from % count) % count);
      }
    levels[&op] = level;
    Region &region = regions[level];
    region.backend = backends[level % count];
    region.operators.push_back(&op);
  }
  if (llvm::Error error = checkState(graph, levels))
    return error;
  // Each part tells of the whole source: ever more of them take time and space by the square.
  if (regions.size() > 1000)
    return makeError("the back ends take so few neighbours that there would be " + llvm::Twine(regions.size()) +
                     " parts, one behind the other; at most 1000 are written");
  std::vector<Region> parts;
  for (auto &[level, region] : regions)
    parts.push_back(std::move(region));
  return parts;
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

std::vector<std::string> namesIn(StringRef list) {
  llvm::SmallVector<StringRef> names;
  list.split(names, ',', -1, false);
  std::vector<std::string> texts;
  for (StringRef name : names)
    texts.push_back(name.trim().str());
  return texts;
}

Expected<PartFile> readPart(StringRef text) {
  PartFile part;
  StringRef section, comply = "opcode";
  unsigned number = 0;
  auto wrong = [&](const llvm::Twine &what) { return makeError("line " + llvm::Twine(number) + ": " + what); };
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    ++number;
    line = line.trim();
    if (line.empty() || line.front() == '#' || line.front() == ';')
      continue;
    if (line.front() == '[') {
      if (line != "[partition]" && (section.empty() || (line != "[OPCODE]" && line != "[OPNAME]")))
        return wrong("[partition] is expected, and behind it [OPCODE] and [OPNAME]");
      section = line;
      continue;
    }
    auto [key, value] = line.split('=');
    key = key.trim(), value = value.trim();
    if (key.size() == line.size() || section.empty())
      return wrong("a section is expected, and in it key=value");
    if (section != "[partition]") {
      // Rows of the way that is not asked for say nothing.
      if ((section == "[OPNAME]") == (comply == "opname") && !part.rows.try_emplace(key.str(), value.str()).second)
        return wrong("\"" + printable(key) + "\" stands here a second time");
    } else if (key == "backends") {
      part.backends = namesIn(value);
    } else if (key == "default") {
      part.fallback = value.str();
    } else if (key == "comply" && (value == "opcode" || value == "opname") && part.rows.empty()) {
      comply = value;
    } else {
      return wrong("[partition] has backends, default and comply, which is opcode or opname");
    }
  }
  part.byName = comply == "opname";
  return part;
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
