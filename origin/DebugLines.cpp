#include "origin/DebugLines.h"

#include "origin/SourceLines.h"
#include "schema/circle_generated.h"
#include "schema/debug_metadata_generated.h"
#include "schema/tflite_generated.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace origo;
using namespace origo::origin;
namespace debug = debug_metadata;

namespace {

constexpr size_t deepestStack = 64;
constexpr unsigned deepestLocation = 200;

/// MLIR's locations as stacks of lines. Each is looked at once, for they are a graph, and may have cycles.
class Locations {
public:
  Locations(const debug::ConversionDebugMetadata &metadata, Listing &listing)
      : metadata(metadata), listing(listing), known(metadata.attributes() ? metadata.attributes()->size() : 0) {}

  /// Into Listing::stacks; −1: no line is known.
  int32_t stackOf(uint32_t location) {
    const std::vector<uint32_t> &frames = framesOf(location, 0);
    if (frames.empty())
      return -1;
    auto [found, isNew] = stacks.try_emplace(frames, int32_t(listing.stacks.size()));
    if (isNew)
      listing.stacks.push_back(frames);
    return found->second;
  }

private:
  const debug::ConversionDebugMetadata &metadata;
  Listing &listing;
  std::vector<std::optional<std::vector<uint32_t>>> known; ///< by location: its frames, the innermost first
  llvm::StringMap<uint32_t> files;
  std::map<std::tuple<uint32_t, uint32_t, std::string>, uint32_t> frames;
  std::map<std::vector<uint32_t>, int32_t> stacks;

  static std::string text(const flatbuffers::String *text) { return text ? text->str() : ""; }

  const debug::Location *locationAt(uint32_t index) const {
    auto *types = metadata.attributes_type();
    if (index >= known.size() || !types || index >= types->size() || types->Get(index) != debug::Attribute::Location)
      return nullptr;
    return static_cast<const debug::Location *>(metadata.attributes()->GetAs<void>(index));
  }

  void addLine(const debug::FileLineColLoc &line, std::string function, std::vector<uint32_t> &to) {
    if (!line.filename() || line.filename()->size() == 0)
      return;
    auto [file, isNewFile] = files.try_emplace(text(line.filename()), listing.files.size());
    if (isNewFile)
      listing.files.push_back(file->getKey().str());
    auto [found, isNew] = frames.try_emplace({file->second, line.line(), function}, listing.frames.size());
    if (isNew)
      listing.frames.push_back({file->second, line.line(), std::move(function)});
    to.push_back(found->second);
  }

  const std::vector<uint32_t> &framesOf(uint32_t index, unsigned depth) {
    static const std::vector<uint32_t> none;
    const debug::Location *location = depth < deepestLocation ? locationAt(index) : nullptr;
    if (!location || known[index])
      return location ? *known[index] : none;
    known[index].emplace(); // so that a cycle ends here
    std::vector<uint32_t> found;
    auto add = [&](uint32_t other) {
      for (uint32_t frame : framesOf(other, depth + 1))
        if (found.size() < deepestStack && !llvm::is_contained(found, frame))
          found.push_back(frame);
    };
    if (auto *line = location->location_as_FileLineColLoc())
      addLine(*line, "", found);
    else if (auto *call = location->location_as_CallSiteLoc()) {
      add(call->callee_index());
      add(call->caller_index());
    } else if (auto *name = location->location_as_NameLoc()) {
      const debug::Location *child = locationAt(name->child_index());
      if (auto *line = child ? child->location_as_FileLineColLoc() : nullptr)
        addLine(*line, text(name->name()), found);
      else
        add(name->child_index());
    } else if (auto *opaque = location->location_as_OpaqueLoc())
      add(opaque->fallback_location_index());
    else if (auto *fused = location->location_as_FusedLoc(); fused && fused->location_indexes())
      for (uint32_t part : *fused->location_indexes())
        add(part);
    known[index] = std::move(found);
    return *known[index];
  }
};

/// Verified; null: it is damaged, or has nothing.
const debug::ConversionDebugMetadata *conversionOf(llvm::ArrayRef<uint8_t> bytes) {
  flatbuffers::Verifier::Options limits;
  limits.max_tables = flatbuffers::uoffset_t(bytes.size());
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), limits);
  if (bytes.size() < 8 || !verifier.VerifyBuffer<debug::DebugMetadata>(nullptr))
    return nullptr;
  auto *root = flatbuffers::GetRoot<debug::DebugMetadata>(bytes.data());
  if (!root->debug_metadata() || !root->debug_metadata_type() || root->debug_metadata()->size() == 0 ||
      root->debug_metadata_type()->Get(0) != debug::DebugMetadataType::ConversionDebugMetadata)
    return nullptr;
  return static_cast<const debug::ConversionDebugMetadata *>(root->debug_metadata()->GetAs<void>(0));
}

template <class Vector> auto *rowAt(const Vector *rows, int32_t index) {
  return rows && index >= 0 && uint32_t(index) < rows->size() ? rows->Get(uint32_t(index)) : nullptr;
}

} // namespace

void origin::addDebugLines(const ModelView &view, llvm::ArrayRef<uint8_t> payload, Listing &listing) {
  std::vector<uint64_t> aligned;
  if (reinterpret_cast<uintptr_t>(payload.data()) % 8) {
    aligned.resize(payload.size() / 8 + 1);
    std::copy(payload.begin(), payload.end(), reinterpret_cast<uint8_t *>(aligned.data()));
    payload = {reinterpret_cast<const uint8_t *>(aligned.data()), payload.size()};
  }
  const debug::ConversionDebugMetadata *metadata = conversionOf(payload);
  auto *graphs = reinterpret_cast<const circle::Model *>(view.model)->subgraphs();
  if (!metadata || !graphs)
    return;
  Locations locations(*metadata, listing);
  for (size_t g = 0; g < listing.subgraphs.size(); ++g) {
    const circle::SubGraph *graph = graphs->Get(uint32_t(g));
    auto *table = reinterpret_cast<const flatbuffers::Table *>(graph);
    auto *rows =
        rowAt(metadata->subgraphs_debug_metadata(),
              table->GetField<int32_t>(view.tflite ? flatbuffers::voffset_t(tflite::SubGraph::VT_DEBUG_METADATA_INDEX)
                                                   : flatbuffers::voffset_t(circle::SubGraph::VT_DEBUG_METADATA_INDEX),
                                       -1));
    if (!rows)
      continue;
    auto &operators = listing.subgraphs[g].operators;
    for (size_t i = 0; i < operators.size(); ++i) {
      auto *row = rowAt(rows->operators_debug_metadata(), graph->operators()->Get(uint32_t(i))->debug_metadata_index());
      if (!row || !row->attribute_metadata_indexes() || row->attribute_metadata_indexes()->size() == 0)
        continue;
      if (int32_t stack = locations.stackOf(row->attribute_metadata_indexes()->Get(0)); stack >= 0) {
        auto layer = std::make_shared<SourceLayer>();
        layer->stack = stack;
        operators[i].layer = std::move(layer);
      }
    }
  }
  makeRelative(listing.files);
}
