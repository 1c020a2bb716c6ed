#include "report/origin/Tables.h"

#include "report/Columns.h"

#include "ir/Error.h"
#include "origin/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <set>

using namespace origo;
using namespace origo::report;
using namespace origo::origin;
using llvm::StringRef;

namespace {

std::string label(StringRef name, bool full) { return shortName(name, full ? ~size_t{0} : 40); }

std::string joined(llvm::ArrayRef<uint32_t> ids, const char *between) {
  std::string text;
  for (uint32_t id : ids)
    text += (text.empty() ? "" : between) + std::to_string(id);
  return text;
}

std::string originsCell(const MapNames &names, const OperatorRow &row, bool full) {
  size_t shown = full || row.origins.size() <= 5 ? row.origins.size() : 4;
  Cells parts;
  for (uint32_t id : llvm::ArrayRef(row.origins).take_front(shown)) {
    std::string part = std::to_string(id);
    if (const SourceOperator *op = names.sourceOperator(id)) {
      part += " " + names.kind(op->op, op->customCode);
      if (StringRef name = names.nameOf(*op); !name.empty())
        part += " " + label(name, full);
    }
    parts.push_back(part);
  }
  std::string cell = llvm::join(parts, ", ");
  if (size_t rest = row.origins.size() - shown)
    cell += ", and " + std::to_string(rest) + " more";
  if (!row.syntheticReason.empty()) {
    size_t served = full || row.serves.size() <= 5 ? row.serves.size() : 4;
    cell += "(" + printable(row.syntheticReason) + " for " +
            joined(llvm::ArrayRef(row.serves).take_front(served), " ") +
            (served < row.serves.size() ? " and " + std::to_string(row.serves.size() - served) + " more" : "") + ")";
  }
  if (!row.wide.empty())
    cell += " (wide: " + printable(row.wide) + ")";
  return cell;
}

std::string passesCell(const OperatorRow &row) {
  Cells parts;
  for (const Word &pass : row.passes)
    parts.push_back(printable(pass));
  return llvm::join(parts, ", ");
}

size_t operatorCount(const OriginMap &map) {
  size_t count = 0;
  for (const TargetSubgraph &graph : map.target.subgraphs)
    count += graph.operators.size();
  return count;
}

std::string fileWords(StringRef file, StringRef format) {
  return (file.empty() ? "a file" : printable(file)) + (format.empty() ? "" : " (" + printable(format) + ")");
}

} // namespace

void report::printTable(const MapNames &names, bool full, llvm::raw_ostream &os) {
  const OriginMap &map = names.map;
  os << fileWords(map.target.file, map.target.format) << " from " << fileWords(map.source.file, map.source.format)
     << ": " << operatorCount(map) << " operators from " << names.map.source.operatorCount() << '\n';
  for (uint32_t g = 0; g < map.target.subgraphs.size(); ++g) {
    const TargetSubgraph &graph = map.target.subgraphs[g];
    os << "\nsubgraph " << g;
    if (!graph.name.empty())
      os << " \"" << label(graph.name, full) << '"';
    if (!graph.source.empty())
      os << " from source subgraph " << joined(graph.source, ", ");
    os << '\n';
    printColumns(
        {"INDEX", "OPERATOR", "NAME", "ORIGINS", "PASSES"}, graph.operators.size(),
        [&](size_t i) -> Cells {
          const OperatorRow &row = graph.operators[i];
          return {std::to_string(i), names.kind(row.op, row.customCode), label(names.nameOf(row), full),
                  originsCell(names, row, full), passesCell(row)};
        },
        os);
  }
}

void report::printLedger(const MapNames &names, bool full, llvm::raw_ostream &os) {
  const auto &ledger = names.map.ledger;
  printColumns(
      {"WHAT", "ID", "NAME", "FATE", "PASS", "RUN", "REWRITE", "INTO"}, ledger.size(),
      [&](size_t i) -> Cells {
        const MapLedgerRow &row = ledger[i];
        std::string kind = "tensor", name;
        if (const SourceTensor *tensor = row.isTensor ? names.sourceTensor(row.id) : nullptr)
          name = tensor->name;
        if (const SourceOperator *op = row.isTensor ? nullptr : names.sourceOperator(row.id)) {
          kind = names.kind(op->op, op->customCode);
          name = names.nameOf(*op).str();
        } else if (!row.isTensor) {
          kind = "operator";
        }
        std::string fate = printable(row.fate) + (row.was.empty() ? "" : " (was " + printable(row.was) + ")");
        std::string into = row.partFile.empty() ? names.intoWords(row, full) : printable(row.partFile);
        for (const MapUnneeded &item : names.map.unneededOf(row.isTensor, row.id))
          into += (into.empty() ? "" : "; ") + names.unneededWords(item);
        return {kind,
                std::to_string(row.id),
                label(name, full),
                fate,
                printable(row.pass),
                std::to_string(row.run),
                std::to_string(row.rewrite),
                into};
      },
      os);
}

void report::printSummary(const MapNames &names, llvm::raw_ostream &os) {
  const OriginMap &map = names.map;
  size_t fused = 0, synthetic = 0, wide = 0, untouched = 0;
  std::map<std::string, size_t> operatorFates, tensorFates, passes;
  for (const TargetSubgraph &graph : map.target.subgraphs)
    for (const OperatorRow &row : graph.operators) {
      fused += row.origins.size() > 1;
      synthetic += !row.syntheticReason.empty();
      wide += !row.wide.empty();
      untouched += row.passes.empty();
      for (const Word &pass : row.passes)
        ++passes[pass.str()];
    }
  for (const MapLedgerRow &row : map.ledger)
    ++(row.isTensor ? tensorFates : operatorFates)[row.fate.str()];

  os << "source             " << fileWords(map.source.file, map.source.format) << '\n';
  auto proof = [&](StringRef text) {
    if (!text.empty())
      os << "  rewrites proved  " << printable(text, text.size()) << '\n';
  };
  for (const ChainEntry &entry : map.chain) {
    os << "through            " << fileWords(entry.file, entry.format) << '\n';
    proof(entry.proof);
  }
  os << "written            " << fileWords(map.target.file, map.target.format) << '\n';
  proof(map.target.proof);
  os << "source operators   " << names.map.source.operatorCount() << '\n'
     << "source tensors     " << names.map.source.tensorCount() << '\n'
     << "written operators  " << operatorCount(map) << '\n'
     << "  untouched        " << untouched << '\n'
     << "  from several     " << fused << '\n'
     << "  synthetic        " << synthetic << '\n'
     << "  wide             " << wide << '\n';
  if (map.retrained)
    os << "the weights were trained again since the map was first made\n";
  auto list = [&](const char *title, const std::map<std::string, size_t> &counts) {
    if (counts.empty())
      return;
    os << title << '\n';
    int widest = 0;
    for (auto &[name, count] : counts)
      widest = std::max(widest, columnWidth(printable(name)));
    for (auto &[name, count] : counts)
      os << "  " << printable(name) << std::string(widest - columnWidth(printable(name)) + 2, ' ') << count << '\n';
  };
  list("operators in the ledger", operatorFates);
  list("tensors in the ledger", tensorFates);
  list("written operators by pass", passes);
}

void report::printCsv(const MapNames &names, llvm::raw_ostream &os) {
  os << "subgraph,index,operator,custom_code,name,origins,passes,synthetic,"
        "serves,wide,calls\n";
  for (uint32_t g = 0; g < names.map.target.subgraphs.size(); ++g) {
    const TargetSubgraph &graph = names.map.target.subgraphs[g];
    for (size_t i = 0; i < graph.operators.size(); ++i) {
      const OperatorRow &row = graph.operators[i];
      os << g << ',' << i << ',' << csvText(row.op) << ',' << csvText(row.customCode) << ','
         << csvText(names.nameOf(row)) << ',' << joined(row.origins, " ") << ','
         << csvText(llvm::join(llvm::map_range(row.passes, [](const Word &pass) { return pass.str(); }), " ")) << ','
         << csvText(row.syntheticReason) << ',' << joined(row.serves, " ") << ',' << csvText(row.wide) << ','
         << joined(row.calls, " ") << '\n';
    }
  }
}

void report::printDot(const MapNames &names, llvm::raw_ostream &os) {
  const OriginMap &map = names.map;
  // printable() escapes quotes and backslashes the way DOT wants them.
  auto node = [&](const std::string &id, const std::string &kind, StringRef name, const char *more) {
    os << "    " << id << " [label=\"" << kind << (name.empty() ? "" : "\\n") << printable(name) << '"' << more
       << "];\n";
  };
  os << "digraph origins {\n  rankdir=LR;\n  node [shape=box];\n";
  std::vector<const MapLedgerRow *> gone(names.map.source.operatorCount());
  for (const MapLedgerRow &row : map.ledger)
    if (!row.isTensor && row.id < gone.size())
      gone[row.id] = &row;
  os << "  subgraph cluster_source {\n    label=\"source\";\n";
  for (uint32_t id = 0; id < gone.size(); ++id) {
    const SourceOperator &op = *names.sourceOperator(id);
    std::string kind = std::to_string(id) + " " + names.kind(op.op, op.customCode);
    if (gone[id])
      kind += "\\n(" + printable(gone[id]->fate) + ")";
    node("s" + std::to_string(id), kind, names.nameOf(op), gone[id] ? ", style=dashed" : "");
  }
  os << "  }\n  subgraph cluster_written {\n    label=\"written\";\n";
  for (uint32_t g = 0; g < map.target.subgraphs.size(); ++g)
    for (uint32_t i = 0; i < map.target.subgraphs[g].operators.size(); ++i) {
      const OperatorRow &row = map.target.subgraphs[g].operators[i];
      std::string kind =
          (g ? std::to_string(g) + ":" : "") + std::to_string(i) + " " + names.kind(row.op, row.customCode);
      node("t" + std::to_string(g) + "_" + std::to_string(i), kind, names.nameOf(row),
           row.syntheticReason.empty() ? "" : ", style=filled");
    }
  // What was computed ahead of time has no operator, but the constants that it is in.
  auto place = [](const char *kind, std::pair<uint32_t, uint32_t> at) {
    return kind + std::to_string(at.first) + "_" + std::to_string(at.second);
  };
  std::set<std::pair<uint32_t, uint32_t>> constants;
  for (const MapLedgerRow *row : gone)
    if (row)
      constants.insert(row->tensors.begin(), row->tensors.end());
  for (auto [g, index] : constants)
    if (const TensorRow *row = names.writtenTensor(g, index))
      node(place("c", {g, index}), (g ? std::to_string(g) + ":" : "") + "tensor " + std::to_string(index), row->name,
           ", shape=note");
  os << "  }\n";
  for (uint32_t g = 0; g < map.target.subgraphs.size(); ++g)
    for (uint32_t i = 0; i < map.target.subgraphs[g].operators.size(); ++i) {
      const OperatorRow &row = map.target.subgraphs[g].operators[i];
      for (uint32_t id : row.origins)
        os << "  s" << id << " -> " << place("t", {g, i}) << ";\n";
      for (uint32_t id : row.serves)
        if (id < gone.size())
          os << "  s" << id << " -> " << place("t", {g, i}) << " [style=dotted];\n";
    }
  for (uint32_t id = 0; id < gone.size(); ++id) {
    if (!gone[id])
      continue;
    std::string tail = " [style=dashed, label=\"" + printable(gone[id]->pass) + "\"];\n";
    for (auto at : gone[id]->operators)
      if (names.writtenOperator(at.first, at.second))
        os << "  s" << id << " -> " << place("t", at) << tail;
    for (auto at : gone[id]->tensors)
      if (names.writtenTensor(at.first, at.second))
        os << "  s" << id << " -> " << place("c", at) << tail;
  }
  os << "}\n";
}
