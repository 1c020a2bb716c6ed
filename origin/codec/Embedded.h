#pragma once

#include "origin/Files.h"
#include "origin/codec/MapView.h"

namespace origo::origin {

inline constexpr const char *metadataName = "origo.origin_map";
inline constexpr const char *summaryName = "origo.summary";
inline constexpr const char *oneOpTable = "ONE_op_table";
inline constexpr const char *oneSourceTable = "ONE_source_table";

enum class Embed : uint8_t { None, Ids, Full };

/// The payload of the metadata entry `origo.origin_map`: a flatbuffer of schema/origin_map.fbs. What the model itself
/// says (operators, names, kinds of the target) is not repeated.
flatbuffers::DetachedBuffer encode(const MapView &view, Embed embed);
/// Decodes it; the target's rows are completed from the model that holds it. Bounds-checked: the bytes are untrusted.
llvm::Expected<OriginMap> decode(llvm::ArrayRef<uint8_t> bytes, const ModelView &model);

/// The payload of `origo.summary`: a line for viewers that show metadata as text, which they do up to 255 bytes of
/// printable ASCII.
std::string summary(const MapView &view);

/// ONE's two tables for subgraph 0, in their binary layout.
struct OneTables {
  std::string source, op;
};
OneTables encodeOneTables(const MapView &view);

/// ONE's tables as read: names by source id, source ids by operator index.
struct OneOrigins {
  std::vector<std::pair<uint32_t, std::string>> names;
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> operators;
};
llvm::Expected<OneOrigins> decodeOneTables(llvm::ArrayRef<uint8_t> source, llvm::ArrayRef<uint8_t> op);

} // namespace origo::origin
