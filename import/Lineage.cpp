#include "import/Lineage.h"

#include "ir/Printable.h"
#include "origin/DebugLines.h"
#include "origin/Fingerprint.h"
#include "origin/Utf8.h"
#include "origin/codec/Embedded.h"
#include "origin/codec/Json.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

namespace origo {

using llvm::Error;
using llvm::Twine;

namespace {

bool holdsOrigins(llvm::StringRef name) {
  return name == origin::metadataName || name == origin::deflatedName || name == origin::summaryName ||
         name == origin::oneOpTable || name == origin::oneSourceTable;
}

/// The payload of the last entry of that name; nothing if there is none.
std::optional<llvm::ArrayRef<uint8_t>> metadata(const Model &model, llvm::StringRef name) {
  for (const MetadataEntry &entry : llvm::reverse(model.metadata))
    if (entry.name == name)
      return entry.buffer ? entry.buffer->payload.bytes() : llvm::ArrayRef<uint8_t>();
  return std::nullopt;
}

/// Drops the entries that hold origins, and the buffers that only they used.
void dropOriginMetadata(Model &model) {
  llvm::DenseSet<const Buffer *> dropped;
  llvm::erase_if(model.metadata, [&](const MetadataEntry &entry) {
    if (!holdsOrigins(entry.name))
      return false;
    dropped.insert(entry.buffer);
    return true;
  });
  if (dropped.empty())
    return;
  for (const MetadataEntry &entry : model.metadata)
    dropped.erase(entry.buffer);
  for (const Buffer *buffer : model.metadataBuffers)
    dropped.erase(buffer);
  for (auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      dropped.erase(value->buffer);
  llvm::erase_if(model.buffers, [&](const Buffer *buffer) { return dropped.contains(buffer); });
  model.number();
}

/// Is there a constant, as far as the tables tell, without bytes?
bool lacksPayloads(const Model &model) {
  for (auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      if (value->buffer && !value->producer() && !value->isGraphInput && value->buffer->payload.empty())
        return true;
  return false;
}

/// Is the target of the map a model with these operators and tensors?
bool listsSame(const origin::OriginMap &map, const origin::Listing &listing) {
  auto sameOperator = [](const origin::OperatorRow &row, const origin::SourceOperator &op) {
    return row.op == op.op && row.customCode == op.customCode;
  };
  auto sameTensor = [](const origin::TensorRow &row, const origin::SourceTensor &tensor) {
    return origin::replaceInvalidUtf8(row.name) == origin::replaceInvalidUtf8(tensor.name); // a side file has it so
  };
  return std::equal(map.target.subgraphs.begin(), map.target.subgraphs.end(), listing.subgraphs.begin(),
                    listing.subgraphs.end(), [&](const origin::TargetSubgraph &a, const origin::SourceSubgraph &b) {
                      return llvm::equal(a.operators, b.operators, sameOperator) &&
                             llvm::equal(a.tensors, b.tensors, sameTensor);
                    });
}

std::string baseName(const Source &source) { return llvm::sys::path::filename(source.file->path()).str(); }
std::string formatName(const Source &source) { return source.tflite ? "tflite" : "circle"; }

class Lineages {
public:
  Lineages(const Source &source, const ImportOptions &options, Imported &imported)
      : source(source), options(options), imported(imported), model(*imported.model) {}
  Error run();

private:
  const Source &source;
  const ImportOptions &options;
  Imported &imported;
  Model &model;

  Error continueMap(const origin::ModelView &view, origin::OriginMap map, llvm::StringRef what);
  bool continueOneTables(const origin::ModelView &view);
  void restart(const origin::ModelView &view);
};

void Lineages::restart(const origin::ModelView &view) {
  model.becomeSource();
  auto listing = std::make_shared<origin::Listing>(origin::describe(view));
  origin::measure(view, *listing);
  if (auto lines = metadata(model, origin::debugMetadataName))
    origin::addDebugLines(view, *lines, *listing);
  listing->file = baseName(source);
  imported.lineage.source = std::move(listing);
}

Error Lineages::continueMap(const origin::ModelView &view, origin::OriginMap map, llvm::StringRef what) {
  origin::Digest fingerprint = origin::fingerprint(view);
  bool incomparable = map.target.fingerprint != fingerprint && !options.payloads && lacksPayloads(model);
  if (incomparable && listsSame(map, origin::describe(view)))
    imported.notes.push_back("payloads are missing, so that the fingerprint in the origin map cannot be compared; its "
                             "operators and tensors are those of the model");
  else if (map.target.fingerprint != fingerprint)
    return makeError("stale origin map: " + what + " leads to a model with the fingerprint " +
                     origin::hex(map.target.fingerprint).substr(0, 16) + "…, and that of this one is " +
                     origin::hex(fingerprint).substr(0, 16) + "…; use --origin=restart or --origin=ignore");
  origin::Digest content = options.payloads ? origin::content(view) : origin::Digest();
  return origo::continueMap(std::move(map), fingerprint, content, baseName(source), formatName(source),
                            options.payloads, imported);
}

/// ONE's tables say which operators of a first circle file stand behind each operator of subgraph 0, and nothing else.
bool Lineages::continueOneTables(const origin::ModelView &view) {
  auto opTable = metadata(model, origin::oneOpTable), sourceTable = metadata(model, origin::oneSourceTable);
  if (!opTable && !sourceTable)
    return false;
  auto refuse = [&](const Twine &why) {
    imported.notes.push_back((why + "; origins start from this file").str());
    return false;
  };
  if (!opTable || !sourceTable)
    return refuse(Twine(opTable ? origin::oneSourceTable : origin::oneOpTable) + " is missing beside its counterpart");
  llvm::Expected<origin::OneOrigins> tables = origin::decodeOneTables(*sourceTable, *opTable);
  if (!tables)
    return refuse("ONE's origin tables are damaged (" + printableWords(llvm::toString(tables.takeError()), 120) + ")");
  if (tables->operators.empty() && model.operatorCount())
    return refuse("ONE_op_table is empty, a known defect of circle2circle since 2021");

  // Ids may have gaps, but a listing by id must not be larger than the table.
  uint32_t count = 0;
  for (auto &[id, name] : tables->names) {
    if (id >= sourceTable->size())
      return refuse("ONE_source_table has the id " + Twine(id) + ", beyond any model of its size");
    count = std::max(count, id + 1);
  }
  std::vector<Operator *> operators;
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators)
      operators.push_back(&op);
  llvm::DenseSet<uint64_t> described;
  for (auto &[index, ids] : tables->operators) {
    if (index >= model.subgraphs[0]->operators.size() || ids.empty() || !described.insert(index).second)
      return refuse("ONE_op_table does not fit this model");
    if (llvm::any_of(ids, [&](uint32_t id) { return id >= count; }))
      return refuse("ONE_op_table has ids that ONE_source_table does not list");
  }
  if (described.size() != operators.size())
    return refuse("ONE_op_table leaves out " + Twine(operators.size() - described.size()) + " operators");

  auto listing = std::make_shared<origin::Listing>();
  listing->format = "circle";
  origin::SourceSubgraph &graph = listing->subgraphs.emplace_back();
  graph.operators.resize(count);
  for (auto &[id, name] : tables->names)
    graph.operators[id].op = std::move(name);
  imported.lineage.source = std::move(listing);

  model.sourceOperators = count;
  for (auto &subgraph : model.subgraphs) {
    subgraph->sources = {0};
    for (Value *value : subgraph->values) {
      value->noRelation = NoRelation::NewIntermediate;
      if (value->isConstant())
        value->setSynthetic("not-recorded");
    }
  }
  IdSet live;
  for (auto &[index, ids] : tables->operators) {
    operators[index]->origins = model.sets.of(ids);
    live = model.sets.join(live, operators[index]->origins);
  }
  // No operator of this file does the work of the others, and the tables lead nowhere from them: that is what dead
  // means.
  if (IdSet gone = model.sets.minus(model.sets.range(0, count), live); !gone.empty())
    model.tombstones.push_back(
        Tombstone{.fate = Fate::Dead, .ids = gone, .pass = model.passLists.add(0, origin::oneOpTable)});
  imported.lineage.chain = {{baseName(source), formatName(source), origin::fingerprint(view)}};
  model.run = 1;
  imported.notes.push_back("origins continue from ONE_op_table, which knows operators only: tensors have no relations");
  return true;
}

Error Lineages::run() {
  auto payload = [&](const flatbuffers::Table &tensor, uint32_t buffer) -> origin::ModelView::Bytes {
    uint32_t external = source.externalBuffer(reinterpret_cast<const circle::Tensor &>(tensor));
    if (const flatbuffers::Table *table = external ? source.externalBuffers.lookup(external) : nullptr)
      return {nullptr, table->GetField<uint64_t>(slot::externalLength, 0)};
    llvm::ArrayRef<uint8_t> bytes = source.payload(buffer);
    return {bytes.data(), bytes.size()};
  };
  origin::ModelView view{&asTable(*source.model), source.tflite, payload};

  auto entries = [&](llvm::StringRef name) { return metadata(model, name); };
  // Where payloads may be missing, a map without bytes is none.
  auto isMissing = [&](llvm::StringRef name) {
    auto payload = entries(name);
    return !options.payloads && payload && payload->empty();
  };
  if (options.origin == OriginMode::None) {
    model.becomeSource();
  } else if (options.origin == OriginMode::Restart) {
    restart(view);
  } else if (entries(origin::metadataName) && !isMissing(origin::metadataName) && !isMissing(origin::deflatedName)) {
    llvm::Expected<std::optional<origin::OriginMap>> map = origin::decode(entries, source.bytes().size(), view);
    if (!map)
      return makeError("its origin map is damaged: " + printableWords(llvm::toString(map.takeError()), 300) +
                       "; use --origin=restart or --origin=ignore");
    // One that was embedded with ids only is completed by its side file.
    bool completed = options.map && !(*map)->source.namesKnown;
    if (Error error = completed ? continueMap(view, *options.map, "the given origin map")
                                : continueMap(view, std::move(**map), "the embedded origin map"))
      return error;
  } else if (options.map) {
    if (Error error = continueMap(view, *options.map, "the given origin map"))
      return error;
  } else if (!continueOneTables(view)) {
    restart(view);
  }
  dropOriginMetadata(model);
  return Error::success();
}

} // namespace

Error continueMap(origin::OriginMap map, const origin::Digest &fingerprint, const origin::Digest &content,
                  std::string name, std::string format, bool payloads, Imported &imported) {
  bool retrained = payloads && map.target.content != content;
  if (retrained)
    imported.notes.push_back("the weights have changed since the origin map was made: origins hold, relations of "
                             "constants are dropped");
  if (Error error = applyMap(map, retrained, *imported.model, payloads))
    return error;
  origin::Lineage &lineage = imported.lineage;
  lineage.retrained = map.retrained || retrained;
  lineage.source = std::make_shared<origin::Listing>(std::move(map.source));
  lineage.chain = std::move(map.chain);
  lineage.chain.push_back({.file = std::move(name),
                           .format = std::move(format),
                           .fingerprint = fingerprint,
                           .laws = map.target.laws,
                           .inferred = std::move(map.target.inferred),
                           .proof = std::move(map.target.proof)});
  imported.model->run = lineage.chain.size();
  return Error::success();
}

Error takeLineage(const Source &source, const ImportOptions &options, Imported &imported) {
  return Lineages(source, options, imported).run();
}

} // namespace origo
