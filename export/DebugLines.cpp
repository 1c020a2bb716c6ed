#include "export/DebugLines.h"

#include "origin/DebugLines.h"
#include "schema/debug_metadata_generated.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace origo;
using namespace origo::origin;
namespace debug = debug_metadata;

namespace {

constexpr size_t mostOrigins = 64; // that one operator is told to be of; the map has all

class DebugLines {
public:
  DebugLines(const Model &model, const Listing &source) : model(model), source(source) {}

  /// Of an operator: into the attributes; none where none of its origins has a line.
  std::optional<uint32_t> locationOf(const Operator &op) {
    std::vector<uint32_t> parts;
    model.sets.forEach(op.origins, [&](uint32_t id) {
      const SourceOperator *of = source.findOperator(id);
      if (of && of->layer && of->layer->stack >= 0 && parts.size() < mostOrigins)
        parts.push_back(id);
    });
    if (parts.empty())
      return std::nullopt;
    for (uint32_t &part : parts)
      part = named(part);
    if (parts.size() == 1)
      return parts[0];
    auto [found, isNew] = fused.try_emplace(parts, 0);
    if (isNew)
      found->second = add(debug::LocationType::FusedLoc, debug::CreateFusedLocDirect(fbb, &parts).Union());
    return found->second;
  }

  using Rows = std::vector<flatbuffers::Offset<debug::OperatorDebugMetadata>>;
  /// A row of a subgraph.
  int32_t add(Rows &rows, uint32_t location) {
    rows.push_back(debug::CreateOperatorDebugMetadata(fbb, fbb.CreateVector(&location, 1)));
    return int32_t(rows.size()) - 1;
  }
  int32_t add(const Rows &rows) {
    graphs.push_back(debug::CreateSubgraphDebugMetadataDirect(fbb, &rows));
    return int32_t(graphs.size()) - 1;
  }

  std::string bytes() {
    auto conversion = debug::CreateConversionDebugMetadataDirect(fbb, &graphs, &types, &attributes);
    std::vector<debug::DebugMetadataType> kinds = {debug::DebugMetadataType::ConversionDebugMetadata};
    std::vector<flatbuffers::Offset<void>> all = {conversion.Union()};
    fbb.Finish(debug::CreateDebugMetadataDirect(fbb, &kinds, &all));
    return {reinterpret_cast<const char *>(fbb.GetBufferPointer()), fbb.GetSize()};
  }

private:
  const Model &model;
  const Listing &source;
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<debug::Attribute> types;
  std::vector<flatbuffers::Offset<void>> attributes;
  std::vector<flatbuffers::Offset<debug::SubgraphDebugMetadata>> graphs;
  std::optional<uint32_t> nowhere;
  std::map<uint32_t, uint32_t> names, frames;
  std::map<int32_t, uint32_t> stacks;
  std::map<std::vector<uint32_t>, uint32_t> fused;

  uint32_t add(debug::LocationType type, flatbuffers::Offset<void> location) {
    types.push_back(debug::Attribute::Location);
    attributes.push_back(debug::CreateLocation(fbb, type, location).Union());
    return uint32_t(attributes.size() - 1);
  }
  uint32_t addName(llvm::StringRef name, uint32_t child) {
    auto text = fbb.CreateString(name.data(), name.size());
    return add(debug::LocationType::NameLoc, debug::CreateNameLoc(fbb, text, child).Union());
  }

  uint32_t unknown() {
    if (!nowhere)
      nowhere = add(debug::LocationType::UnknownLoc, debug::CreateUnknownLoc(fbb).Union());
    return *nowhere;
  }

  uint32_t frame(uint32_t id) {
    auto [found, isNew] = frames.try_emplace(id, 0);
    if (isNew) {
      const SourceFrame &of = source.frames[id];
      auto file = fbb.CreateString(source.files[of.file]);
      uint32_t line = add(debug::LocationType::FileLineColLoc, debug::CreateFileLineColLoc(fbb, file, of.line).Union());
      found->second = of.function.empty() ? line : addName(of.function, line);
    }
    return found->second;
  }

  /// The innermost line, called by the next one, and so on.
  uint32_t stack(int32_t id) {
    auto [found, isNew] = stacks.try_emplace(id, 0);
    if (isNew) {
      llvm::ArrayRef<uint32_t> of = source.stacks[size_t(id)];
      uint32_t outer = frame(of.back());
      for (uint32_t inner : llvm::reverse(of.drop_back())) {
        uint32_t callee = frame(inner);
        outer = add(debug::LocationType::CallSiteLoc, debug::CreateCallSiteLoc(fbb, callee, outer).Union());
      }
      found->second = outer;
    }
    return found->second;
  }

  uint32_t named(uint32_t id) {
    auto [found, isNew] = names.try_emplace(id, 0);
    if (isNew) {
      const SourceOperator &op = *source.findOperator(id);
      // The name is around a call, so that nobody takes it for that of the function: a stack of one line is called by
      // nothing that is known.
      uint32_t called = stack(op.layer->stack);
      if (source.stackOf(op).size() == 1)
        called = add(debug::LocationType::CallSiteLoc, debug::CreateCallSiteLoc(fbb, called, unknown()).Union());
      found->second = addName(source.nameOf(op), called);
    }
    return found->second;
  }
};

} // namespace

void origo::writeDebugLines(Model &model, const origin::Lineage &lineage) {
  auto entry = llvm::find_if(model.metadata, [](const MetadataEntry &one) { return one.name == debugMetadataName; });
  if (entry == model.metadata.end() || model.provenanceDropped || !lineage.source || lineage.source->stacks.empty())
    return;
  DebugLines lines(model, *lineage.source);
  for (auto &graph : model.subgraphs) {
    DebugLines::Rows rows;
    for (Operator &op : graph->operators) {
      std::optional<uint32_t> location = lines.locationOf(op);
      op.debugMetadata = location ? lines.add(rows, *location) : -1;
    }
    graph->debugMetadata = lines.add(rows);
  }
  Buffer *&buffer = entry->buffer;
  bool isShared = llvm::count_if(model.metadata, [&](auto &one) { return one.buffer == buffer; }) > 1 ||
                  llvm::is_contained(model.metadataBuffers, buffer) || llvm::any_of(model.subgraphs, [&](auto &graph) {
                    return llvm::any_of(graph->values, [&](const Value *value) { return value->buffer == buffer; });
                  });
  if (!buffer || isShared)
    buffer = &model.addBuffer({});
  buffer->payload = Payload::owned(lines.bytes());
}
