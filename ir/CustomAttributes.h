#pragma once

#include "flatbuffers/flexbuffers.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace origo {

/// Options of a custom operator that are a flexbuffer with a map, as converters write them. None: they are not.
inline std::optional<flexbuffers::Map> attributesIn(llvm::ArrayRef<uint8_t> customOptions) {
  std::vector<uint8_t> seen;
  if (customOptions.empty() || !flexbuffers::VerifyBuffer(customOptions.data(), customOptions.size(), &seen))
    return std::nullopt;
  flexbuffers::Reference root = flexbuffers::GetRoot(customOptions.data(), customOptions.size());
  return root.IsMap() ? std::optional(root.AsMap()) : std::nullopt;
}

/// The dimension that the attribute "axis" means, counted from the end where it is negative; without one, the first.
/// None: there is no such dimension.
inline std::optional<size_t> axisIn(llvm::ArrayRef<uint8_t> customOptions, int64_t rank) {
  std::optional<flexbuffers::Map> attributes = attributesIn(customOptions);
  int64_t axis = attributes ? (*attributes)["axis"].AsInt64() : 0;
  axis = axis < 0 ? axis + rank : axis;
  return axis >= 0 && axis < rank ? std::optional(static_cast<size_t>(axis)) : std::nullopt;
}

} // namespace origo
