#include "origin/check/Check.h"
#include "origin/Fingerprint.h"
#include "origin/check/Context.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"

using namespace origo;
using namespace origo::origin;

void Report::finish() {
  for (int law = 1; law <= 11; ++law)
    if (counts[law] > shown)
      violations.push_back({law, "and " + std::to_string(counts[law] - shown) + " more against this law"});
  std::stable_sort(violations.begin(), violations.end(),
                   [](const Violation &a, const Violation &b) { return a.law < b.law; });
}

std::string origin::quoted(std::string_view text) {
  constexpr size_t limit = 120;
  std::string result = "\"";
  auto *at = reinterpret_cast<const llvm::UTF8 *>(text.data()), *end = at + text.size();
  while (at < end && result.size() < limit) {
    const llvm::UTF8 *start = at;
    llvm::UTF32 code = 0;
    if (llvm::convertUTF8Sequence(&at, end, &code, llvm::strictConversion) != llvm::conversionOK) {
      at = start + 1;
      result += "\\x" + llvm::toHex(llvm::ArrayRef(start, 1), true);
    } else if (code == '"' || code == '\\') {
      (result += '\\') += static_cast<char>(code);
    } else if (code == '\n') {
      result += "\\n";
    } else if (!llvm::sys::unicode::isPrintable(static_cast<int>(code))) {
      result += "\\u{" + llvm::utohexstr(code, true) + "}";
    } else {
      result.append(reinterpret_cast<const char *>(start), at - start);
    }
  }
  return result += at < end ? "…\"" : "\"";
}

bool origin::holds(llvm::ArrayRef<uint32_t> ascending, uint32_t id) {
  return std::binary_search(ascending.begin(), ascending.end(), id);
}

/// Do the subgraphs of the listing have as many operators and tensors as those of the file?
static bool sameCounts(const Listing &listing, const FileGraph &file) {
  if (listing.subgraphs.size() != file.subgraphs.size())
    return false;
  for (size_t g = 0; g < file.subgraphs.size(); ++g)
    if (listing.subgraphs[g].operators.size() != file.subgraphs[g].operatorCount ||
        listing.subgraphs[g].tensors.size() != file.subgraphs[g].tensorCount)
      return false;
  return true;
}

/// Not by the listing's own numbering, which is a claim like any other.
template <class Row> static uint32_t count(const Listing &listing, std::vector<Row> SourceSubgraph::*rows) {
  size_t sum = 0;
  for (const SourceSubgraph &graph : listing.subgraphs)
    sum += (graph.*rows).size();
  return static_cast<uint32_t>(sum);
}

CheckContext::CheckContext(const OriginMap &map, const FileGraph &target, const FileGraph *source, Report &report)
    : map(map), target(target), source(source && sameCounts(map.source, *source) ? source : nullptr), report(report),
      sourceOperators(count(map.source, &SourceSubgraph::operators)),
      sourceTensors(count(map.source, &SourceSubgraph::tensors)), sourceProducer(sourceTensors, -1),
      tensorRow(target.tensors.size()), operatorRow(target.operators.size()), liveOperator(sourceOperators),
      liveTensor(sourceTensors), operatorLedger(sourceOperators, -1), tensorLedger(sourceTensors, -1) {
  int32_t id = 0;
  sourceKind.reserve(sourceTensors);
  for (const SourceSubgraph &graph : map.source.subgraphs) {
    for (const SourceTensor &tensor : graph.tensors)
      sourceKind.push_back(tensor.kind);
    for (const SourceOperator &op : graph.operators) {
      for (int32_t tensor : op.tensors)
        if (tensor >= 0 && knownTensor(tensor) && sourceProducer[tensor] < 0)
          sourceProducer[tensor] = id;
      ++id;
    }
  }

  for (size_t g = 0; g < std::min(map.target.subgraphs.size(), target.subgraphs.size()); ++g) {
    const TargetSubgraph &rows = map.target.subgraphs[g];
    const FileSubgraph &graph = target.subgraphs[g];
    for (size_t i = 0; i < std::min<size_t>(rows.operators.size(), graph.operatorCount); ++i)
      operatorRow[graph.firstOperator + i] = &rows.operators[i];
    for (const TensorRow &row : rows.tensors)
      if (row.index < graph.tensorCount && !tensorRow[graph.firstTensor + row.index])
        tensorRow[graph.firstTensor + row.index] = &row;
  }

  for (const TargetSubgraph &graph : map.target.subgraphs) {
    for (const OperatorRow &row : graph.operators)
      for (uint32_t op : row.origins)
        if (knownOperator(op))
          liveOperator[op] = true;
    for (const TensorRow &row : graph.tensors) {
      for (const MapRelation &relation : row.relations)
        if (knownTensor(relation.tensor))
          liveTensor[relation.tensor] = true;
      if (row.constant)
        for (uint32_t tensor : row.tensors)
          if (knownTensor(tensor))
            liveTensor[tensor] = true;
    }
  }
  for (size_t i = 0; i < map.ledger.size(); ++i) {
    const MapLedgerRow &row = map.ledger[i];
    std::vector<int32_t> &rows = row.isTensor ? tensorLedger : operatorLedger;
    if (row.id < rows.size() && rows[row.id] < 0)
      rows[row.id] = static_cast<int32_t>(i);
  }
}

template <class Row>
static const Row *nth(llvm::ArrayRef<SourceSubgraph> graphs, uint32_t id, std::vector<Row> SourceSubgraph::*rows) {
  for (const SourceSubgraph &graph : graphs) {
    if (id < (graph.*rows).size())
      return &(graph.*rows)[id];
    id -= static_cast<uint32_t>((graph.*rows).size());
  }
  return nullptr;
}

std::string CheckContext::sourceOperator(uint32_t id) const {
  std::string words = "source operator " + std::to_string(id);
  const SourceOperator *op = nth(map.source.subgraphs, id, &SourceSubgraph::operators);
  if (!op)
    return words;
  words += " (" + quoted(op->op).substr(1);
  words.pop_back();
  for (int32_t tensor : op->tensors)
    if (const SourceTensor *row = tensor < 0 ? nullptr : nth(map.source.subgraphs, tensor, &SourceSubgraph::tensors);
        row && !row->name.empty()) {
      words += " " + quoted(row->name);
      break;
    }
  return words + ")";
}

std::string CheckContext::sourceTensor(uint32_t id) const {
  std::string words = "source tensor " + std::to_string(id);
  const SourceTensor *tensor = nth(map.source.subgraphs, id, &SourceSubgraph::tensors);
  return tensor && !tensor->name.empty() ? words + " " + quoted(tensor->name) : words;
}

static std::string inSubgraph(const FileGraph &file, uint32_t graph) {
  return file.subgraphs.size() > 1 ? " of subgraph " + std::to_string(graph) : "";
}

std::string CheckContext::writtenOperator(uint32_t op) const {
  uint32_t g = target.subgraphOfOperator(op);
  std::string words =
      "operator " + std::to_string(op - target.subgraphs[g].firstOperator) + " (" + target.operatorName(op);
  bool named = false;
  target.forEachOutput(op, [&](int32_t tensor) {
    if (named || tensor < 0 || target.tensorName(tensor).empty())
      return;
    words += " " + quoted(target.tensorName(tensor));
    named = true;
  });
  return words + ")" + inSubgraph(target, g);
}

std::string CheckContext::writtenTensor(uint32_t tensor) const {
  uint32_t g = target.subgraphOfTensor(tensor);
  std::string words = "tensor " + std::to_string(tensor - target.subgraphs[g].firstTensor);
  if (!target.tensorName(tensor).empty())
    words += " " + quoted(target.tensorName(tensor));
  return words + inSubgraph(target, g);
}

std::string CheckContext::ledgerSubject(const MapLedgerRow &row) const {
  return row.isTensor ? sourceTensor(row.id) : sourceOperator(row.id);
}

static void checkFingerprints(const OriginMap &map, const ModelView &target, const ModelView *source, Report &report) {
  auto compare = [&](const char *which, const ModelView &view, const Digest &stated, const Digest &statedContent,
                     llvm::ArrayRef<BoundInput> bound = {}) {
    if (Digest actual = fingerprint(view); actual != stated)
      report.add(5, [&] {
        return std::string("the map belongs to another ") + which + " file: it says sha256:" + hex(stated) +
               ", the file has sha256:" + hex(actual);
      });
    else if (!map.retrained && contentWith(content(view), bound) != statedContent)
      report.add(5, [&] {
        return std::string("the constants of the ") + which +
               " file are not those that the map was made for (its content digest differs)";
      });
  };
  compare("written", target, map.target.fingerprint, map.target.content);
  if (source)
    compare("source", *source, map.source.fingerprint, map.source.content, map.source.bound);
}

/// Of a map that was found: rows that say that something is not known.
static size_t unknownRows(const OriginMap &map) {
  auto isUnknown = [](const auto &row) { return row.syntheticReason == "unknown"; };
  size_t count = llvm::count_if(map.ledger, [](const MapLedgerRow &row) { return row.fate == "unknown"; });
  for (const TargetSubgraph &graph : map.target.subgraphs)
    count += llvm::count_if(graph.operators, isUnknown) + llvm::count_if(graph.tensors, isUnknown);
  return count;
}

std::vector<Violation> origin::check(const OriginMap &map, const ModelView &target, const ModelView *source,
                                     std::vector<std::string> &skipped) {
  std::vector<Violation> violations;
  Report report(violations);
  FileGraph targetGraph(target);
  std::optional<FileGraph> sourceGraph;
  if (source)
    sourceGraph.emplace(*source);
  CheckContext context(map, targetGraph, sourceGraph ? &*sourceGraph : nullptr, report);

  checkListings(context, sourceGraph ? &*sourceGraph : nullptr);
  if (context.source)
    checkCosts(context);
  checkBound(context, sourceGraph ? &*sourceGraph : nullptr);
  checkRows(context);
  checkFingerprints(map, target, source, report);
  checkProducers(context);
  checkLedger(context);
  if (!context.inferred())
    checkExact(context);
  if (context.source) {
    checkParents(context);
    checkRelations(context);
    checkInferred(context);
    checkLiving(context);
    checkNeighbours(context);
  } else {
    std::string why = source ? "the given source is not the file that the map lists" : "no source file was given";
    skipped.push_back("law 7 (no invented parents), law 10 (nothing dies under the living), law 11 (neighbours keep "
                      "their order) and in "
                      "law 8 shapes, types and "
                      "unused-in-source: " +
                      why);
  }
  if (!source)
    skipped.push_back("the source's listing and fingerprint (laws 4 and 5): no source file was given");
  if (size_t count = context.inferredOnce() ? unknownRows(map) : 0)
    skipped.push_back("what " + std::to_string(count) + " rows say that nobody knows: the map was found, and not kept");
  checkIdentity(context);
  report.finish();
  if (!violations.empty() && !context.allTold())
    skipped.push_back("whether that is untrue or only untold: a run has told fewer than " + std::to_string(allLaws) +
                      " laws");
  return violations;
}
