#include "report/infer/Infer.h"

#include "origin/Fingerprint.h"
#include "origin/Laws.h"
#include "origin/check/Check.h"
#include "report/infer/Execute.h"
#include "report/infer/InferredMap.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>
#include <set>

namespace origo::report {

using namespace origin;

namespace {

/// Rows of the written file, of which nothing is known yet.
void listTarget(const ModelView &view, OriginMap &map) {
  FileRows file(view);
  for (size_t g = 0; g < file.subgraphs(); ++g) {
    TargetSubgraph &graph = map.target.subgraphs.emplace_back();
    graph.name = file.name(g).str();
    for (uint32_t i = 0; i < file.operatorCount(g); ++i) {
      OperatorRow &row = graph.operators.emplace_back();
      row.op = file.op(g, i);
      row.customCode = file.customCode(g, i);
      for (int32_t output : file.outputs(g, i))
        row.outputs.push_back(output < 0 ? std::string() : file.tensorName(g, static_cast<uint32_t>(output)).str());
    }
    for (uint32_t i = 0; i < file.tensorCount(g); ++i) {
      TensorRow &row = graph.tensors.emplace_back();
      row.index = i;
      row.name = file.tensorName(g, i).str();
      row.constant = file.kind(g, i) == TensorKind::Constant;
      row.reason = "new-intermediate";
    }
  }
}

/// The graph in memory and the file are read one after the other, and of ONNX the graph has other operators.
bool isListed(const Imported &model, const ModelView &file) {
  const Listing &listing = *model.lineage.source;
  auto &graphs = model.model->subgraphs;
  return fingerprint(file) == listing.fingerprint && content(file) == listing.content &&
         graphs.size() == listing.subgraphs.size() && llvm::all_of(llvm::zip(graphs, listing.subgraphs), [](auto pair) {
           const auto &[graph, rows] = pair;
           return graph->operators.size() == rows.operators.size() && graph->values.size() == rows.tensors.size();
         });
}

void becomeIdentity(OriginMap &map, InferCoverage &coverage) {
  for (auto [g, graph] : llvm::enumerate(map.target.subgraphs)) {
    graph.source = {static_cast<uint32_t>(g)};
    for (auto [i, row] : llvm::enumerate(graph.operators))
      row.origins = {map.source.subgraphs[g].firstOperator + static_cast<uint32_t>(i)};
    for (TensorRow &row : graph.tensors) {
      uint32_t id = map.source.subgraphs[g].firstTensor + row.index;
      row.relations.push_back({id, {}, true});
      row.reason = "";
      if (row.constant)
        row.tensors = {id};
      auto &count = row.constant ? coverage.constants : coverage.tensors;
      ++count.all, ++count.related, ++count.proved;
    }
    coverage.operators.all += graph.operators.size();
  }
  coverage.operators.related = coverage.operators.proved = coverage.operators.all;
  coverage.live = coverage.related = coverage.tensors.all;
}

} // namespace

/// What an earlier map says must be about the same source.
static llvm::Error checkEarlier(const OriginMap *earlier, const OriginMap &map) {
  if (!earlier ||
      (earlier->source.fingerprint == map.source.fingerprint && earlier->source.content == map.source.content))
    return llvm::Error::success();
  return makeError("the earlier map is of another source: it has the fingerprint " +
                   llvm::Twine(hex(earlier->source.fingerprint).substr(0, 16)) + "… and the content " +
                   hex(earlier->source.content).substr(0, 16) + "…");
}

namespace {
/// A model and the file that it was read from.
struct Side {
  const Model &model;
  const ModelView &file;
};
} // namespace

/// Writes what a search has found into a map, up to what the laws say cannot be: first nothing of the earlier map is
/// said, then nothing of movements that traded places, at last nothing of the operators themselves. The violations that
/// are left.
static std::vector<Violation> writeLawfully(const InferSearch &search, Side source, Side result,
                                            const EarlierMap *earlier, Inferred &made) {
  struct Attempt {
    bool rows, fates; ///< of the earlier map are kept
    bool careful;     ///< movements have traded no places
  };
  std::set<int64_t> doubted;
  constexpr Attempt last{false, false, true};
  const OriginMap bare = made.map;
  std::vector<Violation> violations;
  for (Attempt attempt :
       {Attempt{true, true, false}, {true, false, false}, {false, false, false}, last, last, last, last}) {
    const EarlierMap *kept = attempt.rows ? earlier : nullptr;
    if (attempt.rows && !kept)
      continue;
    made.map = bare;
    made.coverage = {};
    made.doubts.clear();
    InferredMap(search, source.model, result.model, made.map, made.coverage, made.doubts, kept, attempt.fates,
                attempt.careful, doubted)
        .run();
    findMovedPast(made.map, result.file, source.file);
    std::vector<std::string> skipped;
    violations = check(made.map, result.file, &source.file, skipped);
    if (violations.empty())
      break;
    for (const Violation &one : violations)
      if (attempt.careful && one.written >= 0)
        doubted.insert(one.written);
  }
  return violations;
}

static llvm::Expected<Inferred> inferInOrder(Imported &source, const ModelView &sourceFile, Imported &result,
                                             const ModelView &resultFile, const InferOptions &options) {
  for (auto [model, file] : {std::pair(&source, &sourceFile), std::pair(&result, &resultFile)})
    if (!isListed(*model, *file))
      return makeError(model->lineage.source->format == "onnx"
                           ? "of an ONNX model, what onnx2circle makes of it can be compared"
                           : "a model has changed while it was read");
  Inferred made;
  OriginMap &map = made.map;
  map.generator = "origo " ORIGO_VERSION;
  map.source = *source.lineage.source;
  map.target.file = result.lineage.source->file;
  map.target.format = result.lineage.source->format;
  map.target.fingerprint = fingerprint(resultFile);
  map.target.content = content(resultFile);
  map.target.laws = origin::allLaws - 1; // nobody saw what was inexact
  map.target.inferred = "structure, constants, and operators executed on " + options.evidence;
  if (options.evidence.empty()) {
    map.target.inferred += "seeds";
    for (uint32_t seed : options.seeds)
      map.target.inferred += " " + std::to_string(seed);
  }
  listTarget(resultFile, map);
  if (map.source.fingerprint == map.target.fingerprint && map.source.content == map.target.content) {
    becomeIdentity(map, made.coverage);
    return made;
  }
  if (source.model->subgraphs.empty() || result.model->subgraphs.empty() || !source.model->operatorCount() ||
      !result.model->operatorCount())
    return makeError("a model without operators has nothing that origins could be found of");
  if (llvm::Error error = checkBound(*source.model, *result.model, options))
    return error;
  if (llvm::Error error = checkEarlier(options.earlier, map))
    return error;
  source.model->number();
  result.model->number();
  std::optional<EarlierMap> earlier;
  if (options.earlier)
    earlier.emplace(*options.earlier, map.source, map.target);
  const OriginMap bare = map;
  auto isRelated = [](const Inferred &made) { return made.coverage.related * 5 >= made.coverage.live; };
  std::vector<Violation> violations;
  for (auto numbers : {InferNumbers::Same, InferNumbers::Rescaled, InferNumbers::Other}) {
    const bool isOther = numbers == InferNumbers::Other;
    if (isOther ? isRelated(made) : numbers == InferNumbers::Rescaled && !made.coverage.tensors.unknown && !made.first)
      continue;
    InferSearch search(*source.model, *result.model, options, earlier ? &*earlier : nullptr, numbers);
    if (llvm::Error error = search.run())
      return error;
    Inferred next;
    next.map = bare;
    std::vector<Violation> broken = writeLawfully(search, {*source.model, sourceFile}, {*result.model, resultFile},
                                                  earlier ? &*earlier : nullptr, next);
    // That tensors are rescaled is said where it explains all that is otherwise to blame.
    if (numbers == InferNumbers::Rescaled && (search.first || !broken.empty() || !search.agreesWithRescaled() ||
                                              next.coverage.tensors.unknown > 0 || !isRelated(next)))
      continue;
    if (isOther && made.first)
      next.first = made.first;
    else
      next.first = search.first;
    next.notes = search.notes;
    if (isOther && isRelated(next))
      next.notes.push_back("the two have other numbers in their constants: they are related by structure, and nothing "
                           "is proved");
    made = std::move(next);
    violations = std::move(broken);
  }
  if (!isRelated(made))
    return makeError("the models are not related: of " + llvm::Twine(made.coverage.live) +
                     " computed tensors that can be told apart, " + llvm::Twine(made.coverage.related) +
                     " are tensors of the source");
  if (!violations.empty())
    return makeError("what was found cannot be true: law " + llvm::Twine(violations.front().law) + ": " +
                     violations.front().text);
  if (made.coverage.kept)
    map.target.inferred += "; " + std::to_string(made.coverage.kept) + " operators as an earlier map says";
  if (made.first)
    made.first->sourceOperator += static_cast<int32_t>(map.source.subgraphs[made.first->subgraph].firstOperator);
  compareUnseen(*source.model, *result.model, made);
  return made;
}

llvm::Expected<Inferred> infer(Imported &source, const ModelView &sourceFile, Imported &result,
                               const ModelView &resultFile, const InferOptions &options) {
  auto made = inferInOrder(source, sourceFile, result, resultFile, options);
  if (made && !made->first)
    return made;
  // What differs may be the order of inputs only.
  for (const InferOptions &order : otherOrders(*source.model, *result.model, options)) {
    auto other = inferInOrder(source, sourceFile, result, resultFile, order);
    if (other && !other->first) {
      llvm::consumeError(made.takeError());
      return other;
    }
    llvm::consumeError(other.takeError());
  }
  return made;
}

} // namespace origo::report
