#include "quantize/ImageMetadata.h"

#include "schema/image_metadata_generated.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace origo::quantize {

std::optional<Normalization> normalizationOf(const eval::Port &input) {
  constexpr uint64_t most = uint64_t(1) << 24;
  const Subgraph *graph = input.value ? input.value->subgraph() : nullptr;
  if (!graph)
    return std::nullopt;
  auto place = llvm::find(graph->inputs, input.value) - graph->inputs.begin();
  for (const MetadataEntry &entry : graph->model().metadata) {
    if (entry.name != "TFLITE_METADATA" || !entry.buffer || entry.buffer->payload.size() > most)
      continue;
    std::vector<uint8_t> bytes(entry.buffer->payload.size());
    entry.buffer->payload.read(0, bytes);
    flatbuffers::Verifier verifier(bytes.data(), bytes.size());
    if (!image_metadata::VerifyMetadataBuffer(verifier))
      return std::nullopt;
    const auto *graphs = image_metadata::GetMetadata(bytes.data())->subgraph_metadata();
    const auto *own = graphs && graph->index < graphs->size() ? graphs->Get(graph->index) : nullptr;
    const auto *tensors = own ? own->input_tensor_metadata() : nullptr;
    const auto *tensor =
        tensors && place < static_cast<int64_t>(tensors->size()) ? tensors->Get(static_cast<uint32_t>(place)) : nullptr;
    if (!tensor || !tensor->process_units())
      return std::nullopt;
    for (const auto *unit : *tensor->process_units()) {
      const auto *one = unit->options_as_Normalization();
      if (!one || !one->mean() || !one->std() || one->mean()->size() != one->std()->size() || one->mean()->size() == 0)
        continue;
      Normalization made{{one->mean()->begin(), one->mean()->end()}, {one->std()->begin(), one->std()->end()}};
      auto isSound = [](float x) { return std::isfinite(x); };
      if (llvm::all_of(made.mean, isSound) && llvm::all_of(made.deviation, isSound) &&
          llvm::none_of(made.deviation, [](float x) { return x == 0; }))
        return made;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

} // namespace origo::quantize
