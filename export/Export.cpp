#include "export/Export.h"

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
  model.number();
  model.restFiles();
  if (llvm::Error error = checkExpressible(model, options.format))
    return inPath(std::move(error));

  bool embed = options.embed != origin::Embed::None && !model.provenanceDropped;
  // ONE's tables are made of names, which `ids` leaves to the side file.
  unsigned mapEntries = !embed ? 0 : options.embed == origin::Embed::Full ? Tables::mapEntries : 1;
  bool writeJson = options.originJson.has_value() && !model.provenanceDropped;
  if (embed || writeJson)
    if (llvm::Error error = checkHasSource(lineage))
      return inPath(std::move(error));
  std::optional<MapOfModel> map;
  std::array<Payload, Tables::mapEntries> mapPayloads;
  llvm::StringRef directory = llvm::sys::path::parent_path(path);
  PayloadStore store(path == "-" ? "" : directory.empty() ? "." : directory.str());
  std::unique_ptr<Tables> tables;
  std::optional<Layout> layout;
  for (uint64_t inlineBelow : inlineLimits) {
    layout.reset();
    llvm::Expected<std::unique_ptr<Tables>> built =
        buildTables(model, {.format = options.format, .mapEntries = mapEntries, .inlineBelow = inlineBelow, .store = &store});
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
      Payload encoded = inStore(bytesOf(origin::encode(view, options.embed)), store);
      if (options.embed == origin::Embed::Full) {
        origin::OneTables one = origin::encodeOneTables(view);
        mutation::exported(one);
        mapPayloads = {Payload::owned(origin::summary(view)), std::move(encoded), inStore(one.source, store),
                       inStore(one.op, store)};
      } else {
        mapPayloads = {std::move(encoded)};
      }
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
