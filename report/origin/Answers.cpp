#include "report/origin/Words.h"

#include "ir/Error.h"
#include "origin/check/Graph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <map>

using namespace origo;
using namespace origo::report;
using namespace origo::origin;
using llvm::StringRef;

std::string report::fateWords(StringRef fate, SourceThing thing) {
  struct Words {
    StringRef fate, ofOperator, ofTensor, ofConstant;
  };
  static constexpr StringRef dead = "is dead: nothing in the written model needs it";
  static constexpr StringRef removed = "was removed because the user asked for it";
  static constexpr StringRef elsewhere = "is in another part of the model";
  static constexpr StringRef unused = "was used by nothing in the source already";
  static const Words rows[] = {
      {"dead", dead, dead, dead},
      {"identity", "is gone: it changed nothing, so its operand took its place",
       "is gone: its operator changed nothing, so the operand took its place",
       "is gone: the operator that read it changed nothing"},
      {"duplicate-of", "is gone: another one computes the same", "is gone: another tensor holds the same",
       "is gone: an equal constant took its place"},
      {"folded-to-constant", "was computed ahead of time", "is a constant now",
       "is gone: what read it was computed ahead of time"},
      {"layout-cancelled", "is gone: its change of layout was undone by another",
       "is gone: the change of layout that made it was undone by another",
       "is gone: the change of layout that read it was undone by another"},
      {"quantization-cancelled", "is gone: its quantisation or dequantisation was undone by another",
       "is gone: the quantisation or dequantisation that made it was undone by another",
       "is gone: the quantisation or dequantisation that read it was undone by another"},
      {"cancelled", "is gone: what it did was undone by another",
       "is gone: what the operator that made it did was undone by another",
       "is gone: what the operator that read it did was undone by another"},
      {"inlined", "was inlined: the operators of its subgraph took its place",
       "is gone: the call that it belonged to was inlined", "is gone: the call that it belonged to was inlined"},
      {"user-removed", removed, removed, removed},
      {"elsewhere", elsewhere, elsewhere, elsewhere},
      {"fused-away", "was fused", "no longer exists: the operator that made it was fused",
       "is gone: the operator that read it was fused"},
      {"decomposed", "was decomposed", "no longer exists: the operator that made it was decomposed",
       "is gone: the operator that read it was decomposed"},
      {"unused-in-source", unused, unused, unused},
  };
  for (const Words &row : rows)
    if (row.fate == fate)
      return (thing == SourceThing::Operator ? row.ofOperator
              : thing == SourceThing::Tensor ? row.ofTensor
                                             : row.ofConstant)
          .str();
  return "is gone, and its fate \"" + printable(fate) + "\" is not one that this version knows";
}

namespace {

std::string ledgerWords(const MapNames &names, const MapLedgerRow &row, bool full) {
  std::string words = fateWords(row.fate, names.thing(row));
  if (row.fate == "dead" && !row.was.empty())
    words += " (" + printable(row.was) + " at first)";
  if (!row.with.empty()) {
    words += ", together with ";
    std::vector<std::string> others;
    for (uint32_t id : row.with)
      others.push_back(names.sourceOperatorWords(id));
    words += shortened(others, full);
  }
  if (row.fate == "elsewhere")
    words += ", " + printable(row.partFile) +
             (row.partFingerprint.empty() ? "" : " (" + printable(row.partFingerprint) + ")");
  if (std::string into = names.intoWords(row, full); !into.empty())
    words += "; it went into " + into;
  if (!row.pass.empty())
    words += "; pass " + printable(row.pass) + ", run " + std::to_string(row.run) + ", rewrite " +
             std::to_string(row.rewrite);
  return words;
}

/// Where matched things of the source were found.
struct Found {
  const MapLedgerRow *ledger = nullptr;
  std::vector<std::pair<uint32_t, uint32_t>> operators; ///< subgraph, index; and so below
  std::vector<std::pair<uint32_t, uint32_t>> constants;
  std::vector<std::tuple<uint32_t, uint32_t, const MapRelation *>> values;
};

/// How a name fits what was asked for, the best last.
enum class Fit { None, Part, Beginning, Joined, Whole };

Fit fitOf(StringRef name, StringRef what, const std::string &lower) {
  if (name == what)
    return Fit::Whole;
  if (what.empty() || name.size() < what.size())
    return Fit::None;
  for (auto [first, rest] = name.split(';'); !first.empty() || !rest.empty(); std::tie(first, rest) = rest.split(';'))
    if (first == what)
      return Fit::Joined;
  if (name.starts_with(what))
    return Fit::Beginning;
  return StringRef(name.lower()).contains(lower) ? Fit::Part : Fit::None;
}

class Where {
public:
  Where(const MapNames &names, StringRef what, bool full) : names(names), full(full) {
    uint32_t id = 0;
    bool isId = !what.getAsInteger(10, id);
    // An operator has the name of what it makes.
    std::string lower = what.lower();
    std::vector<Fit> fits;
    Fit best = isId ? Fit::Whole : Fit::None;
    for (const SourceSubgraph &graph : names.map.source.subgraphs)
      for (const SourceTensor &row : graph.tensors)
        best = std::max(best, fits.emplace_back(fitOf(row.name, what, lower)));
    std::vector<Fit> layerFits = fitsOfLayers(what, lower);
    for (Fit one : layerFits)
      best = std::max(best, one);
    fit = best;
    uint32_t op = 0, tensor = 0;
    auto wanted = [&](uint32_t tensor) { return best != Fit::None && tensor < fits.size() && fits[tensor] == best; };
    for (const SourceSubgraph &graph : names.map.source.subgraphs) {
      for (size_t i = 0; i < graph.tensors.size(); ++i, ++tensor)
        if ((isId && tensor == id) || wanted(tensor))
          add(tensors, tensor);
      for (const SourceOperator &row : graph.operators) {
        if ((isId && op == id) || (best != Fit::None && layerFits[op] == best) ||
            llvm::any_of(row.tensors, [&](int32_t id) { return id >= 0 && wanted(id); }))
          add(operators, op);
        ++op;
      }
    }
    search();
  }

  /// What is to be said beside the answer.
  std::string note(StringRef what) const {
    std::string text;
    if (empty())
      return guesses(what);
    if (fit == Fit::Joined)
      text = "\"" + printable(what) + "\" is a part of joined names";
    else if (fit == Fit::Beginning || fit == Fit::Part)
      text = "no name is \"" + printable(what) + "\"; shown is what " +
             (fit == Fit::Part ? "contains it" : "begins with it");
    if (left)
      text += (text.empty() ? "" : ", and ") + std::to_string(left) + " more have it; --full shows all";
    return text;
  }
  bool empty() const { return operators.empty() && tensors.empty(); }

  void print(llvm::raw_ostream &os) const {
    for (const auto &[id, found] : operators)
      printOperator(os, id, found);
    for (const auto &[id, found] : tensors)
      printTensor(os, id, found);
  }

  /// The same for programs, names as they are.
  void writeJson(llvm::raw_ostream &os, StringRef what) const {
    llvm::json::OStream out(os, 1);
    out.object([&] {
      if (std::string text = note(what); !text.empty())
        out.attribute("note", llvm::json::fixUTF8(text));
      out.attributeArray("operators", [&] {
        for (const auto &[id, found] : operators)
          out.object([&, id = id, &found = found] {
            const SourceOperator *op = names.sourceOperator(id);
            writeHead(out, id, op ? names.nameOf(*op) : "", op ? op->op : "");
            out.attributeArray("livesIn", [&] {
              for (auto [graph, index] : found.operators)
                out.object([&, graph = graph, index = index] {
                  const OperatorRow *row = names.writtenOperator(graph, index);
                  out.attribute("subgraph", graph);
                  out.attribute("operator", index);
                  out.attribute("op", llvm::json::fixUTF8(row->op));
                  out.attribute("name", llvm::json::fixUTF8(MapNames::nameOf(*row)));
                });
            });
            writeRest(out, false, id, found);
          });
      });
      out.attributeArray("tensors", [&] {
        for (const auto &[id, found] : tensors)
          out.object([&, id = id, &found = found] {
            const SourceTensor *tensor = names.sourceTensor(id);
            writeHead(out, id, tensor ? StringRef(tensor->name) : "", "");
            out.attributeArray("is", [&] {
              for (auto [graph, index, relation] : found.values)
                out.object([&, graph = graph, index = index, relation = relation] {
                  writePlace(out, graph, index);
                  out.attribute("exact", relation->exact);
                  if (std::string how = names.relationWords(*relation, graph); !how.empty())
                    out.attribute("how", llvm::json::fixUTF8(how));
                });
            });
            writeRest(out, true, id, found);
          });
      });
    });
    os << '\n';
  }

private:
  const MapNames &names;
  bool full;
  Fit fit = Fit::None;
  size_t left = 0;                              ///< that fit and are not shown
  std::map<uint32_t, Found> operators, tensors; ///< by id, which is any number in an untrue map

  /// By operator, how its layer fits: the node's name, the path of scopes to it, or a line that called it.
  std::vector<Fit> fitsOfLayers(StringRef what, const std::string &lower) const {
    const Listing &source = names.map.source;
    std::vector<bool> calls; ///< by stack: does one of its lines fit?
    auto isLine = [&](uint32_t frame) {
      std::string line = source.lineOf(source.frames[frame]);
      return line == what || (StringRef(line).ends_with(what) && line[line.size() - what.size() - 1] == '/');
    };
    std::vector<bool> lines;
    for (uint32_t i = 0; i < source.frames.size(); ++i)
      lines.push_back(isLine(i));
    for (const std::vector<uint32_t> &stack : source.stacks)
      calls.push_back(llvm::any_of(stack, [&](uint32_t frame) { return lines[frame]; }));
    std::vector<Fit> fits;
    for (const SourceSubgraph &graph : source.subgraphs)
      for (const SourceOperator &op : graph.operators) {
        Fit &best = fits.emplace_back(Fit::None);
        if (!op.layer)
          continue;
        for (StringRef name : {StringRef(op.layer->name), StringRef(op.layer->path)})
          best = std::max(best, fitOf(name, what, lower));
        if (op.layer->stack >= 0 && calls[static_cast<size_t>(op.layer->stack)])
          best = Fit::Whole;
      }
    return fits;
  }

  void add(std::map<uint32_t, Found> &things, uint32_t id) {
    constexpr size_t most = 12; // of a kind, where only parts of names fit
    if (!full && fit < Fit::Whole && things.size() >= most)
      ++left;
    else
      things.try_emplace(id);
  }

  /// Names that are nearly what was asked for.
  std::string guesses(StringRef what) const {
    constexpr size_t longest = 200; // beyond, comparing would take long
    std::vector<std::pair<unsigned, std::string>> near;
    unsigned worst = std::max<unsigned>(2, what.size() / 3);
    if (what.size() <= longest)
      for (const SourceSubgraph &graph : names.map.source.subgraphs)
        for (const SourceTensor &row : graph.tensors)
          if (!row.name.empty() && row.name.size() <= longest)
            if (unsigned distance = what.edit_distance(row.name, true, worst); distance <= worst)
              near.emplace_back(distance, row.name);
    llvm::stable_sort(near, [](const auto &a, const auto &b) { return a.first < b.first; });
    std::string text;
    for (size_t i = 0; i < near.size() && i < 3; ++i)
      text += (i ? ", " : "") + ("\"" + printable(near[i].second) + "\"");
    return text.empty() ? "" : "did you mean " + text + "?";
  }

  /// One look at all rows, however many things have the name.
  void search() {
    auto &graphs = names.map.target.subgraphs;
    auto note = [](std::map<uint32_t, Found> &wanted, uint32_t id, auto Found::*list, uint32_t graph, uint32_t index) {
      if (auto it = wanted.find(id); it != wanted.end())
        if (auto &places = it->second.*list; places.empty() || places.back() != std::pair(graph, index))
          places.emplace_back(graph, index);
    };
    for (uint32_t g = 0; g < graphs.size(); ++g) {
      for (uint32_t i = 0; i < graphs[g].operators.size(); ++i)
        for (uint32_t id : graphs[g].operators[i].origins)
          note(operators, id, &Found::operators, g, i);
      for (const TensorRow &row : graphs[g].tensors) {
        for (const MapRelation &relation : row.relations)
          if (auto it = tensors.find(relation.tensor); it != tensors.end())
            it->second.values.emplace_back(g, row.index, &relation);
        for (uint32_t id : row.tensors)
          note(tensors, id, &Found::constants, g, row.index);
        for (uint32_t id : row.operators)
          note(operators, id, &Found::constants, g, row.index);
      }
    }
    for (const MapLedgerRow &row : names.map.ledger) {
      auto &wanted = row.isTensor ? tensors : operators;
      if (auto it = wanted.find(row.id); it != wanted.end() && !it->second.ledger)
        it->second.ledger = &row;
    }
  }

  std::string places(llvm::ArrayRef<std::pair<uint32_t, uint32_t>> places, bool ofOperators) const {
    std::vector<std::string> parts;
    for (auto [graph, index] : places)
      parts.push_back(ofOperators ? names.operatorWords(graph, index) : names.tensorWords(graph, index));
    return shortened(parts, full);
  }

  static void writeHead(llvm::json::OStream &out, uint32_t id, StringRef name, StringRef op) {
    out.attribute("id", id);
    if (!op.empty())
      out.attribute("op", llvm::json::fixUTF8(op));
    out.attribute("name", llvm::json::fixUTF8(name));
  }
  void writePlace(llvm::json::OStream &out, uint32_t graph, uint32_t index) const {
    const TensorRow *row = names.writtenTensor(graph, index);
    out.attribute("subgraph", graph);
    out.attribute("tensor", index);
    if (row)
      out.attribute("name", llvm::json::fixUTF8(row->name));
  }
  void writeRest(llvm::json::OStream &out, bool isTensor, uint32_t id, const Found &found) const {
    out.attributeArray("constants", [&] {
      for (auto [graph, index] : found.constants)
        out.object([&, graph = graph, index = index] { writePlace(out, graph, index); });
    });
    if (found.ledger)
      out.attributeObject("gone", [&] {
        out.attribute("fate", llvm::json::fixUTF8(found.ledger->fate));
        out.attribute("words", llvm::json::fixUTF8(ledgerWords(names, *found.ledger, full)));
      });
    out.attributeArray("unneeded", [&] {
      for (const MapUnneeded &row : names.map.unneededOf(isTensor, id))
        out.value(llvm::json::fixUTF8(names.unneededWords(row)));
    });
  }

  void printUnneeded(llvm::raw_ostream &os, bool isTensor, uint32_t id) const {
    for (const MapUnneeded &row : names.map.unneededOf(isTensor, id))
      os << "  " << names.unneededWords(row) << '\n';
  }

  void printOperator(llvm::raw_ostream &os, uint32_t id, const Found &found) const {
    os << names.sourceOperatorWords(id) << '\n';
    if (!found.operators.empty())
      os << "  lives in " << places(found.operators, true) << '\n';
    if (found.ledger)
      os << "  " << ledgerWords(names, *found.ledger, full) << '\n';
    if (!found.constants.empty())
      os << "  went into the values of " << places(found.constants, false) << '\n';
    printUnneeded(os, false, id);
    if (found.operators.empty() && !found.ledger)
      os << "  the map does not say what became of it\n";
  }

  void printTensor(llvm::raw_ostream &os, uint32_t id, const Found &found) const {
    os << names.sourceTensorWords(id) << '\n';
    std::vector<std::string> same;
    for (auto [graph, index, relation] : found.values) {
      std::string how = names.relationWords(*relation, graph);
      same.push_back(names.tensorWords(graph, index) + (how.empty() ? "" : " (" + how + ")"));
    }
    if (!same.empty())
      os << "  is " << shortened(same, full) << '\n';
    if (!found.constants.empty())
      os << "  went into the values of " << places(found.constants, false) << '\n';
    if (found.ledger)
      os << "  " << ledgerWords(names, *found.ledger, full) << '\n';
    printUnneeded(os, true, id);
    if (found.values.empty() && found.constants.empty() && !found.ledger)
      os << "  the map does not say what became of it\n";
  }
};

void printRelations(const MapNames &names, uint32_t graph, const TensorRow &row, llvm::raw_ostream &os) {
  if (row.relations.empty())
    os << "    equals no tensor of the source" << (row.reason.empty() ? "" : " (" + printable(row.reason) + ")")
       << '\n';
  for (const MapRelation &relation : row.relations) {
    std::string how = names.relationWords(relation, graph);
    os << "    is " << names.sourceTensorWords(relation.tensor) << (how.empty() ? "" : ", ") << how << '\n';
  }
}

void printOperator(const MapNames &names, uint32_t graph, uint32_t index, const OperatorRow &row,
                   llvm::raw_ostream &os) {
  os << names.operatorWords(graph, index) << '\n';
  if (!row.syntheticReason.empty()) {
    os << "  stands for no operator of the source: " << printable(row.syntheticReason) << '\n';
    for (uint32_t id : row.serves)
      os << "  serves " << names.sourceOperatorWords(id) << '\n';
  }
  for (uint32_t id : row.origins)
    os << "  does the work of " << names.sourceOperatorWords(id) << '\n';
  for (uint32_t id : row.calls)
    os << "  was inlined from the call by " << names.sourceOperatorWords(id) << '\n';
  if (!row.wide.empty())
    os << "  has more origins than the structure proves: " << printable(row.wide) << '\n';
  if (row.passes.empty())
    os << "  no pass changed it\n";
  else
    os << "  was made by ";
  llvm::ListSeparator comma;
  for (const Word &pass : row.passes)
    os << comma << printable(pass);
  if (!row.passes.empty())
    os << '\n';
}

} // namespace

WhereAnswer report::printWhere(const MapNames &names, StringRef what, bool full, bool json, llvm::raw_ostream &os) {
  Where where(names, what, full);
  if (!json)
    where.print(os);
  else if (!where.empty())
    where.writeJson(os, what);
  return {!where.empty(), where.note(what)};
}

static void printConstant(const MapNames &names, uint32_t graph, const TensorRow &row, llvm::raw_ostream &os) {
  os << names.tensorWords(graph, row.index) << '\n';
  if (!row.syntheticReason.empty())
    os << "  comes from nothing in the source: " << printable(row.syntheticReason) << '\n';
  for (uint32_t id : row.tensors)
    os << "  was computed from " << names.sourceTensorWords(id) << '\n';
  for (uint32_t id : row.operators)
    os << "  was computed ahead of time from " << names.sourceOperatorWords(id) << '\n';
  printRelations(names, graph, row, os);
}

bool report::printFrom(const MapNames &names, const ModelView *model, StringRef what, llvm::raw_ostream &os) {
  std::optional<FileGraph> file;
  if (model)
    file.emplace(*model);
  uint32_t wantedGraph = 0, wantedIndex = 0;
  auto [first, second] = what.split(':');
  bool isIndex = second.empty() ? !what.getAsInteger(10, wantedIndex)
                                : !first.getAsInteger(10, wantedGraph) && !second.getAsInteger(10, wantedIndex);
  bool any = false;
  auto &graphs = names.map.target.subgraphs;
  for (uint32_t g = 0; g < graphs.size(); ++g) {
    for (uint32_t i = 0; i < graphs[g].operators.size(); ++i) {
      const OperatorRow &row = graphs[g].operators[i];
      if (!(isIndex && g == wantedGraph && i == wantedIndex) && !llvm::is_contained(row.outputs, what))
        continue;
      any = true;
      printOperator(names, g, i, row, os);
      if (!file || g >= file->subgraphs.size() || i >= file->subgraphs[g].operatorCount)
        continue;
      file->forEachOutput(file->subgraphs[g].firstOperator + i, [&](int32_t tensor) {
        if (tensor < 0)
          return;
        uint32_t index = tensor - file->subgraphs[g].firstTensor;
        os << "  computes " << names.tensorWords(g, index) << '\n';
        if (const TensorRow *output = names.writtenTensor(g, index))
          printRelations(names, g, *output, os);
      });
    }
    for (const TensorRow &row : graphs[g].tensors)
      if (row.constant && row.name == what) {
        printConstant(names, g, row, os);
        any = true;
      }
  }
  return any;
}
