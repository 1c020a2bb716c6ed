#include "commands/Onnx.h"

#include "commands/BoundInputs.h"
#include "commands/Files.h"
#include "import/onnx/Onnx.h"
#include "ir/CustomAttributes.h"
#include "ir/Undetermined.h"
#include "ir/Verifier.h"
#include "origin/DebugLines.h"
#include "origin/Fingerprint.h"
#include "origin/codec/OriginFile.h"
#include "passes/Pipeline.h"
#include "passes/onnx/LowerOnnx.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Path.h"

namespace origo::commands {

namespace {

bool isOpen(const Value *value) { return value && isUndetermined(*value); }

/// Of a WHILE that is a Loop or a Scan of ONNX.
std::string loopName(const Operator &op) {
  std::optional<flexbuffers::Map> attributes = attributesIn(op.customOptions().bytes());
  return attributes ? (*attributes)["$op"].AsString().str() : "a loop";
}

/// What is left, and why.
llvm::Error notLowered(const Model &model, const llvm::DenseMap<const Operator *, std::string> &reasons) {
  constexpr size_t most = 10;
  std::string text;
  size_t count = 0;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      llvm::StringRef name = op.customCode();
      bool isNode = name.consume_front(onnxPrefix), isCall = op.code == BuiltinOperator::CALL;
      bool isLoop = op.code == BuiltinOperator::WHILE && llvm::any_of(op.results(), isOpen);
      bool isChoice = op.code == BuiltinOperator::IF && llvm::any_of(op.results(), isOpen);
      // What only waits for an operator in front of it would be taken.
      bool waits = llvm::any_of(op.operands(), [](const Use &use) { return isOpen(use.get()); });
      if (!(isNode || isCall || isChoice || isLoop) ||
          (waits && !isCall && (isChoice || isLoop || isLoweredFromOnnx(name))) || count++ >= most)
        continue;
      auto found = reasons.find(&op);
      std::string reason = found == reasons.end() ? "nothing of circle stands for it" : found->second;
      if (isChoice)
        reason = "its branches have results of other types or numbers of dimensions, and none is known to be taken: " +
                 reason;
      if (isCall)
        reason = "its function has operands of other types than elsewhere, or is one of too many";
      text += (count == 1 ? "" : "; ") +
              (isNode     ? printable(name)
               : isChoice ? "If"
               : isLoop   ? loopName(op)
                          : "a call") +
              " \"" + printable(op.result() ? op.result()->name.str() : "") + "\": " + reason;
    }
  if (count == 0)
    return llvm::Error::success();
  if (count > most)
    text += "; and " + std::to_string(count - most) + " more";
  return makeError(std::to_string(count) + (count == 1 ? " operator is" : " operators are") + " not taken: " + text);
}

void takeType(Value &value, const Value &from) {
  value.type = from.type;
  value.hasShape = from.hasShape;
  value.hasRank = from.hasRank;
  value.shape = from.shape;
  value.setShapeSignature(from.shapeSignature());
}

/// Of two branches: of different sizes, only their number is known. Not of different numbers of dimensions.
bool takeTypes(Model &model, Value &result, const Value &a, const Value &b) {
  if (a.type != b.type || a.shape.size() != b.shape.size())
    return false;
  llvm::SmallVector<int32_t, 4> shape;
  for (auto [x, y] : llvm::zip(rewrite::statedShape(a), rewrite::statedShape(b)))
    shape.push_back(x == y ? x : -1);
  takeType(result, a);
  if (!llvm::is_contained(shape, -1))
    return true;
  result.shape = shape;
  result.shape.unknownToOne();
  result.setShapeSignature(model.copy(llvm::ArrayRef<int32_t>(shape)));
  return true;
}

/// A Scan of version 8 has batches, and a first operand for their lengths, which its body does not see.
bool hasBatches(const flexbuffers::Map &attributes) {
  return attributes["$op"].AsString().str() == "Scan" && attributes["$opset"].AsInt64() < 9;
}

/// What goes along an axis, at one place of it.
void withoutAxis(Model &model, Value &input, int64_t axis) {
  axis += axis < 0 ? input.rank() : 0;
  if (axis < 0 || axis >= input.rank())
    return;
  llvm::SmallVector<int32_t, 4> shape(input.shape.begin(), input.shape.end());
  llvm::SmallVector<int32_t, 4> signature(input.shapeSignature());
  shape.erase(shape.begin() + axis);
  if (!signature.empty())
    signature.erase(signature.begin() + axis);
  input.hasRank |= shape.empty();
  input.shape = shape;
  input.setShapeSignature(model.copy(llvm::ArrayRef<int32_t>(signature)));
}

/// What goes into the body of a Loop or a Scan of ONNX: its operands, where it does not count its rounds or go along
/// an axis.
void takeRoundType(Model &model, Value &input, const Operator &op, unsigned position,
                   const flexbuffers::Map &attributes) {
  auto own = static_cast<unsigned>(attributes["$inputs"].AsUInt64());
  bool isLoop = attributes["$op"].AsString().str() == "Loop";
  if (isLoop && position < 2) {
    input.type = position ? TensorType::BOOL : TensorType::INT64;
    input.hasShape = input.hasRank = true;
    return;
  }
  takeType(input, *op.operand(position));
  if (isLoop || position >= own)
    return;
  bool isBatched = hasBatches(attributes);
  if (isBatched)
    withoutAxis(model, input, 0);
  auto along = static_cast<unsigned>(attributes["num_scan_inputs"].AsUInt64());
  if (along > own || position < own - along)
    return;
  size_t k = position - (own - along);
  auto axes = attributes["scan_input_axes"].AsTypedVector();
  withoutAxis(model, input, !isBatched && k < axes.size() ? axes[k].AsInt64() : 0);
}

/// Inputs of the body of a loop that nobody knew. Is any known now?
bool typeLoop(Model &model, const Operator &op) {
  auto bodies = op.callees();
  std::optional<flexbuffers::Map> attributes = attributesIn(op.customOptions().bytes());
  if (bodies.size() != 2 || !attributes)
    return false;
  bool any = false;
  for (auto [i, input] : llvm::enumerate(bodies[1]->inputs)) {
    auto position = static_cast<unsigned>(i) + hasBatches(*attributes);
    bool counts = position < 2 && (*attributes)["$op"].AsString().str() == "Loop";
    const Value *operand = op.operand(position);
    if (!isUndetermined(*input) || (!counts && (!operand || isUndetermined(*operand))))
      continue;
    takeRoundType(model, *input, op, position, *attributes);
    any = true;
  }
  return any;
}

/// Inputs of the bodies of an IF are its operands, and its results are what comes of both. Is any known now?
bool typeBodies(Model &model) {
  bool any = false;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      if (op.code == BuiltinOperator::WHILE)
        any |= typeLoop(model, op);
      auto bodies = op.callees();
      if (op.code != BuiltinOperator::IF || bodies.size() != 2)
        continue;
      for (Subgraph *body : bodies)
        for (auto [i, input] : llvm::enumerate(body->inputs)) {
          const Value *operand = op.operand(static_cast<unsigned>(i) + 1);
          if (!operand || !isUndetermined(*input) || isUndetermined(*operand))
            continue;
          takeType(*input, *operand);
          any = true;
        }
      for (auto [i, result] : llvm::enumerate(op.results())) {
        const Value *a = bodies[0]->outputs[i], *b = bodies[1]->outputs[i];
        if (result && isUndetermined(*result) && !isUndetermined(*a) && !isUndetermined(*b))
          any |= takeTypes(model, *result, *a, *b);
      }
    }
  return any;
}

/// The last round of a loop does not need what the body makes for the next one only: what says whether a Loop goes on,
/// which it does whatever that is, and states of which nobody uses the result.
void noteLastRounds(Model &model) {
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      std::optional<flexbuffers::Map> attributes = attributesIn(op.customOptions().bytes());
      if (op.code != BuiltinOperator::WHILE || !attributes)
        continue;
      unsigned skipped = (*attributes)["$op"].AsString().str() == "Loop";
      uint32_t position = op.numOperands(), user = *model.sets.next(op.origins, 0);
      for (const Subgraph *body : op.callees())
        for (auto [i, output] : llvm::enumerate(body->outputs)) {
          uint32_t tensor = output->relations.front().tensor, operand = position++;
          int32_t maker = model.sourceGraph.producer(tensor);
          bool isTaken = i >= skipped && !op.result(static_cast<unsigned>(i) - skipped)->unused();
          if (!isTaken && (maker >= 0 || output->isConstant()))
            model.unneeded.push_back({maker < 0, UnneededReason::BranchNotTaken,
                                      maker < 0 ? tensor : static_cast<uint32_t>(maker), user, operand});
        }
    }
}

llvm::Expected<InputShapes> parsed(llvm::ArrayRef<std::string> shapes) {
  InputShapes known;
  for (llvm::StringRef shape : shapes) {
    auto [name, sizes] = shape.rsplit('=');
    auto &list = known[name];
    bool isWhole = !name.empty() && list.empty();
    for (auto [size, rest] = sizes.split(','); !size.empty(); std::tie(size, rest) = rest.split(',')) {
      int32_t number = 0;
      isWhole &= !size.getAsInteger(10, number) && number >= 0;
      list.push_back(number);
    }
    if (!isWhole)
      return makeError("--shape: \"" + printable(shape) + "\" is not NAME=1,3,224,224");
  }
  return known;
}

/// The nodes, as they are listed as the source.
llvm::Expected<Imported> nodesOf(std::shared_ptr<MappedFile> file, const InputShapes &shapes, SourceLines lines) {
  auto made = importOnnx(file, shapes, lines);
  if (!made)
    return made.takeError();
  auto imported = asOwnSource(std::move(made->model), llvm::sys::path::filename(file->path()), "onnx");
  if (!imported)
    return imported;
  imported->bytes = file->bytes().size();
  OnnxLayers &layers = made->layers;
  auto source = std::make_shared<origin::Listing>(*imported->lineage.source);
  size_t next = 0;
  for (origin::SourceSubgraph &graph : source->subgraphs)
    for (origin::SourceOperator &op : graph.operators)
      op.layer = std::move(layers.layers[next++]);
  source->files = std::move(layers.files);
  source->frames = std::move(layers.frames);
  source->stacks = std::move(layers.stacks);
  imported->lineage.source = std::move(source);
  return imported;
}

llvm::Expected<Imported> import(std::shared_ptr<MappedFile> file, PayloadStore &store, const OnnxReading &reading) {
  auto known = parsed(reading.shapes);
  if (!known)
    return known.takeError();
  auto bound = readBound(reading.bound);
  if (!bound)
    return bound.takeError();
  if (llvm::Error error = takeShapes(*bound, *known))
    return error;
  auto nodes = nodesOf(file, *known, reading.lines);
  if (!nodes)
    return nodes;
  Imported imported = std::move(*nodes);
  // The source is the file, whatever shapes were asked for.
  if (!known->empty()) {
    if (auto asWritten = nodesOf(file, {}, reading.lines))
      imported.lineage.source = asWritten->lineage.source;
    else
      llvm::consumeError(asWritten.takeError());
  }
  if (llvm::Error error = bindInputs(*bound, imported))
    return error;
  noteLastRounds(*imported.model);
  Pipeline pipeline;
  pipeline.add(lowerOnnx());
  pipeline.add(*findPass("fold-constants")); // shapes and axes that are computed from constants
  pipeline.add(*findPass("inline-calls"));   // and branches that follow from them
  llvm::DenseMap<const Operator *, std::string> reasons;
  PipelineOptions options;
  options.onAttempt = [&](const Operator &op, IdSet, const Pass &pass, const Rule &, llvm::StringRef reason) {
    bool lowers = &pass == &lowerOnnx() || (pass.name == "inline-calls" && op.code == BuiltinOperator::IF);
    if (!lowers || reason.empty())
      return;
    reasons[&op] = reason.str();
  };
  options.onRefusal = [&](llvm::StringRef text) { imported.notes.push_back(text.str()); };
  // What a body takes, and what comes of it, is known only when the operators around it and in it are lowered; and a
  // branch that is chosen by then brings others.
  for (uint32_t before = ~0u; before != imported.model->rewrites || typeBodies(*imported.model);) {
    before = imported.model->rewrites;
    if (llvm::Error error = runPipeline(*imported.model, pipeline, store, options))
      return error;
  }
  if (llvm::Error error = notLowered(*imported.model, reasons))
    return error;
  // A node without an input that it needs, or with one that is no tensor of its kind, shows in what is made of it.
  if (std::vector<std::string> violations = verify(*imported.model); !violations.empty())
    return makeError("the model has a node that its operator does not allow: " + violations.front());
  imported.rememberEnds();
  return imported;
}

} // namespace

llvm::Expected<Imported> readOnnxNodes(llvm::StringRef path, SourceLines lines) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.takeError();
  auto nodes = nodesOf(std::move(*file), {}, lines);
  return nodes ? std::move(nodes) : inFile(path, nodes.takeError());
}

/// The lines that called an operator, as text.
static std::string linesOf(const origin::Listing &listing, uint32_t id) {
  std::string text;
  for (uint32_t frame : listing.stackOf(*listing.findOperator(id)))
    text += listing.lineOf(listing.frames[frame]) + " " + listing.frames[frame].function + "\n";
  return text;
}

static origin::Violation otherLines() {
  return {4, "the map says of other lines that they called the source's operators than the file"};
}

std::vector<origin::Violation> checkDebugLines(const origin::OriginMap &map, const origin::ModelFile &source) {
  const origin::Listing &told = map.source;
  origin::Listing listing = origin::list(source.view());
  if (told.stacks.empty() || told.operatorCount() != listing.operatorCount()) // which is said elsewhere
    return {};
  if (auto lines = source.metadata(origin::debugMetadataName))
    origin::addDebugLines(source.view(), *lines, listing);
  for (uint32_t id = 0; id < told.operatorCount(); ++id)
    if (linesOf(told, id) != linesOf(listing, id))
      return {otherLines()};
  return {};
}

llvm::Error takeLines(origin::Listing &source, llvm::StringRef from, SourceLines lines) {
  if (source.format != "onnx")
    return makeError("lines are taken for nodes of ONNX, and the source is a " + source.format + " file");
  if (kindOf(from) != FileKind::Onnx)
    return inFile(from, makeError("lines are taken from a .onnx file, as its exporter wrote it"));
  auto nodes = readOnnxNodes(from, lines);
  if (!nodes)
    return nodes.takeError();
  const origin::Listing &other = *nodes->lineage.source;
  if (other.fingerprint != source.fingerprint || !origin::sameCounts(other, source))
    return inFile(from, makeError("has another graph than the source (sha256:" + origin::hex(other.fingerprint) +
                                  ", and not sha256:" + origin::hex(source.fingerprint) +
                                  "): names of nodes, documentation and metadata may be missing there, and nothing "
                                  "else. If an optimiser changed the nodes, convert the file that it was given"));
  bool any = false;
  for (auto [graph, from] : llvm::zip_equal(source.subgraphs, other.subgraphs))
    for (auto [op, known] : llvm::zip_equal(graph.operators, from.operators)) {
      op.layer = known.layer;
      any |= known.layer != nullptr;
    }
  if (!any)
    return inFile(from, makeError("tells no lines, modules or names of nodes either"));
  source.files = other.files;
  source.frames = other.frames;
  source.stacks = other.stacks;
  source.linesFrom = other.file;
  return llvm::Error::success();
}

llvm::Error takeLines(Imported &imported, llvm::StringRef from, SourceLines lines) {
  auto source = std::make_shared<origin::Listing>(*imported.lineage.source);
  if (llvm::Error error = takeLines(*source, from, lines))
    return error;
  imported.lineage.source = std::move(source);
  return llvm::Error::success();
}

/// What `listing` has of an operator beside its lines.
static origin::SourceLayer withoutLines(const origin::Listing &listing, uint32_t id) {
  const auto &layer = listing.findOperator(id)->layer;
  origin::SourceLayer without = layer ? *layer : origin::SourceLayer();
  without.stack = -1;
  return without;
}

/// The same of `file`, which tells layers and lines.
static llvm::Expected<std::vector<origin::Violation>> layersAgainst(const origin::Listing &told, llvm::StringRef file) {
  std::vector<origin::Violation> violations;
  auto operators = llvm::seq<uint32_t>(0, told.operatorCount());
  bool isLined = told.stacks.empty();
  for (SourceLines lines : {SourceLines::Relative, SourceLines::Full}) {
    if (lines == SourceLines::Full && isLined)
      break;
    auto nodes = readOnnxNodes(file, lines);
    if (!nodes)
      return nodes.takeError();
    const origin::Listing &listing = *nodes->lineage.source;
    if (told.operatorCount() != listing.operatorCount()) // which is said elsewhere
      return violations;
    for (uint32_t id : operators)
      if (lines == SourceLines::Relative && !(withoutLines(told, id) == withoutLines(listing, id)))
        violations.push_back(
            {4, "source operator " + std::to_string(id) + " is of another layer in the file than in the map"});
    isLined |= llvm::all_of(operators, [&](uint32_t id) { return linesOf(told, id) == linesOf(listing, id); });
  }
  if (!isLined)
    violations.push_back(otherLines());
  return violations;
}

llvm::Expected<std::vector<origin::Violation>> checkLayers(const origin::OriginMap &map, llvm::StringRef source,
                                                           llvm::StringRef linesFrom,
                                                           std::vector<std::string> &skipped) {
  if (!linesFrom.empty()) {
    origin::Listing same = map.source;
    if (llvm::Error error = takeLines(same, linesFrom))
      return error;
    return layersAgainst(map.source, linesFrom);
  }
  auto violations = layersAgainst(map.source, source);
  if (violations && !violations->empty() && !map.source.linesFrom.empty()) {
    skipped.push_back("layers and lines, which are from " + printable(map.source.linesFrom) +
                      "; give it with --lines-from");
    violations->clear();
  }
  return violations;
}

llvm::Expected<Imported> readOnnx(std::shared_ptr<MappedFile> file, PayloadStore &store, const OnnxReading &reading) {
  std::string path = file->path();
  auto imported = import(std::move(file), store, reading);
  return imported ? std::move(imported) : inFile(path, imported.takeError());
}

} // namespace origo::commands
