#pragma once

#include "origin/Files.h"
#include "origin/codec/MapView.h"

#include <optional>

namespace origo::origin {

inline constexpr const char *metadataName = "origo.origin_map";
inline constexpr const char *deflatedName = "origo.origin_map.deflated";
inline constexpr const char *summaryName = "origo.summary";
inline constexpr const char *oneOpTable = "ONE_op_table";
inline constexpr const char *oneSourceTable = "ONE_source_table";

/// The map without names, with them, and with ONE's tables besides.
enum class Embed : uint8_t { None, Ids, Names, Full };

/// A map: a flatbuffer of schema/origin_map.fbs. What the model itself says (operators, names, kinds of the target) is
/// not repeated.
flatbuffers::DetachedBuffer encode(const MapView &view, Embed embed);
/// Decodes it; the target's rows are completed from the model that holds it. Bounds-checked: the bytes are untrusted.
llvm::Expected<OriginMap> decode(llvm::ArrayRef<uint8_t> bytes, const ModelView &model);

/// The payload of the metadata entry `origo.origin_map.deflated`. `modelBytes`: at most as many as the file has without
/// it, for a reader lets a map become no larger than follows from the file.
std::string deflated(llvm::ArrayRef<uint8_t> map, uint64_t modelBytes);
/// The payload of `origo.origin_map` beside it: a map of a version that tells readers which know nothing of the other
/// entry that there is something that they cannot read.
flatbuffers::DetachedBuffer deflatedElsewhere();
/// The payload of the last metadata entry of a name, if any.
using MetadataEntries = llvm::function_ref<std::optional<llvm::ArrayRef<uint8_t>>(llvm::StringRef name)>;
/// Decodes what the entries of a file of so many bytes hold, deflated or, as written before, not. Nothing: no map.
llvm::Expected<std::optional<OriginMap>> decode(MetadataEntries entries, uint64_t fileBytes, const ModelView &model);

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
