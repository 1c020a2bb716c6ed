#include "export/Export.h"

#include "export/DebugLines.h"
#include "export/Layout.h"
#include "export/OriginMapOf.h"
#include "export/Tables.h"
#include "export/Writer.h"
#include "ir/Mutation.h"

#include "origin/codec/Json.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

#include <cstring>

namespace origo {

namespace {

/// Where the payloads of everything inline pass the 2 GB of a flatbuffer, those from this size on leave it. The last
/// resort is that all do.
constexpr uint64_t inlineLimits[] = {Tables::everythingInline, 4096, 1};

/// Tensors or operators are not where the input had them.
bool hasMoved(const Model &model) {
  if (model.rewrites > 0)
    return true;
  for (auto &graph : model.subgraphs)
    for (auto [i, value] : llvm::enumerate(graph->values))
      if (value->erased() || value->index != i)
        return true;
  return false;
}

/// The same bytes, in the file of `store` if they are many and there is room.
Payload inStore(llvm::StringRef bytes, PayloadStore &store) {
  auto fill = [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
    std::memcpy(window.data(), bytes.data() + offset, window.size());
  };
  if (llvm::Expected<Payload> made = store.make(bytes.size(), fill))
    return *made;
  else
    llvm::consumeError(made.takeError());
  return Payload::owned(bytes.str());
}

llvm::StringRef bytesOf(const flatbuffers::DetachedBuffer &buffer) {
  return {reinterpret_cast<const char *>(buffer.data()), buffer.size()};
}

/// What is embedded, by name. ONE's tables are made of names, as is the summary to people, which `ids` leaves out.
llvm::SmallVector<const char *> entriesOf(origin::Embed embed) {
  if (embed == origin::Embed::Ids)
    return {origin::deflatedName, origin::metadataName};
  llvm::SmallVector<const char *> names = {origin::summaryName, origin::deflatedName, origin::metadataName};
  if (embed == origin::Embed::Full)
    names.append({origin::oneSourceTable, origin::oneOpTable});
  return names;
}

/// Their bytes, in the same order; `modelBytes`: of the tables.
std::array<Payload, Tables::mostMapEntries> payloadsOf(const origin::MapView &view, origin::Embed embed,
                                                       uint64_t modelBytes, PayloadStore &store) {
  Payload map, elsewhere = Payload::owned(bytesOf(origin::deflatedElsewhere()).str());
  {
    flatbuffers::DetachedBuffer encoded = origin::encode(view, embed);
    map = inStore(origin::deflated({encoded.data(), encoded.size()}, modelBytes), store);
  }
  if (embed == origin::Embed::Ids)
    return {std::move(map), std::move(elsewhere)};
  Payload summary = Payload::owned(origin::summary(view));
  if (embed == origin::Embed::Names)
    return {std::move(summary), std::move(map), std::move(elsewhere)};
  origin::OneTables one = origin::encodeOneTables(view);
  mutation::exported(one);
  return {std::move(summary), std::move(map), std::move(elsewhere), inStore(one.source, store), inStore(one.op, store)};
}

} // namespace

llvm::Error dropStaleMetadata(Model &model, const ExportOptions &options) {
  const bool moved = hasMoved(model);
  llvm::DenseSet<const Buffer *> dropped;
  auto isStale = [&](const MetadataEntry &entry) {
    // What describes tensors for users (TFLITE_METADATA) does so by their position among inputs and outputs.
    return (moved && (entry.name == "ONE_execution_plan_table" || entry.name == "OfflineMemoryAllocation")) ||
           (options.otherEnds && entry.name == "TFLITE_METADATA");
  };
  for (const MetadataEntry &entry : model.metadata) {
    if (moved && (entry.name == "COMPRESSION_METADATA" || entry.name == "LiteRtStamp"))
      return makeError("the model has been compiled already (metadata '" + entry.name +
                       "'): it can be converted, but not optimized");
    if (!isStale(entry))
      continue;
    if (options.notes)
      options.notes->push_back("metadata '" + entry.name.str() + "' is dropped: it does not fit the changed model");
    if (entry.buffer)
      dropped.insert(entry.buffer);
  }
  llvm::erase_if(model.metadata, isStale);
  for (const MetadataEntry &entry : model.metadata)
    dropped.erase(entry.buffer);
  for (const Buffer *buffer : model.metadataBuffers)
    dropped.erase(buffer);
  for (auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      dropped.erase(value->buffer);
  llvm::erase_if(model.buffers, [&](const Buffer *buffer) { return dropped.contains(buffer); });
  return llvm::Error::success();
}

llvm::Error exportModel(Model &model, const origin::Lineage &lineage, llvm::StringRef path,
                        const ExportOptions &options) {
  auto inPath = [&](llvm::Error error) { return inFile(path, std::move(error)); };
  if (llvm::Error error = dropStaleMetadata(model, options))
    return inPath(std::move(error));
  writeDebugLines(model, lineage);
  model.number();
  model.restFiles();
  if (llvm::Error error = checkExpressible(model, options.format))
    return inPath(std::move(error));

  bool embed = options.embed != origin::Embed::None && !model.provenanceDropped;
  const llvm::SmallVector<const char *> mapEntries =
      embed ? entriesOf(options.embed) : llvm::SmallVector<const char *>();
  bool writeJson = options.originJson.has_value() && !model.provenanceDropped;
  if (embed || writeJson)
    if (llvm::Error error = checkHasSource(lineage))
      return inPath(std::move(error));
  std::optional<MapOfModel> map;
  std::array<Payload, Tables::mostMapEntries> mapPayloads;
  llvm::StringRef directory = llvm::sys::path::parent_path(path);
  PayloadStore store(path == "-" ? "" : directory.empty() ? "." : directory.str());
  std::unique_ptr<Tables> tables;
  std::optional<Layout> layout;
  for (uint64_t inlineBelow : inlineLimits) {
    layout.reset();
    llvm::Expected<std::unique_ptr<Tables>> built = buildTables(
        model, {.format = options.format, .mapEntries = mapEntries, .inlineBelow = inlineBelow, .store = &store});
    if (!built)
      return inPath(built.takeError());
    tables = std::move(*built);
    // The map follows from the tables but not from where payloads lie.
    if (embed || writeJson)
      map.emplace(model, lineage, *tables, path == "-" ? std::string() : llvm::sys::path::filename(path).str());
    model.restFiles();
    tables->rest();
    if (embed && mapPayloads.front().empty()) {
      origin::MapView view = map->view();
      mapPayloads = payloadsOf(view, options.embed, tables->bytes().size(), store);
    }
    tables->map = mapPayloads;
    layout.emplace(model, *tables, options.notes);
    if (layout->fits())
      break;
  }
  if (!layout->fits())
    return inPath(makeError("the tables alone would pass the 2 GB that a flatbuffer can hold"));

  IgnoreWriteSignals ignore;
  llvm::Expected<std::unique_ptr<OutputFile>> out = OutputFile::open(path);
  if (!out)
    return out.takeError();
  OutputFile &file = **out;
  llvm::SmallVector<OutputFile *, 2> files = {&file};
  std::unique_ptr<OutputFile> side;
  if (writeJson) {
    llvm::Expected<std::unique_ptr<OutputFile>> opened = OutputFile::open(*options.originJson);
    if (!opened)
      return opened.takeError();
    side = std::move(*opened);
    OutputStream os(*side);
    origin::writeJson(map->view(), os);
    os.flush();
    if (llvm::Error error = side->finish())
      return error;
    files.insert(files.begin(), side.get());
  }
  model.restFiles();
  tables->rest();
  file.reserve(layout->size());
  layout->write(file);
  if (llvm::Error error = file.finish())
    return error;
  assert(file.position() == layout->size() && "the layout is what is written");
  return OutputFile::commit(files);
}

} // namespace origo
