#pragma once

#include "passes/Rule.h"

#include "flatbuffers/flexbuffers.h"

namespace origo {

/// The attributes of a custom operator that TensorFlow made: a flexbuffer with a map. None: it is not.
inline std::optional<flexbuffers::Map> attributesOf(Node custom) {
  llvm::ArrayRef<uint8_t> bytes = custom.customOptions();
  std::vector<uint8_t> seen;
  if (bytes.empty() || !flexbuffers::VerifyBuffer(bytes.data(), bytes.size(), &seen))
    return std::nullopt;
  flexbuffers::Reference root = flexbuffers::GetRoot(bytes.data(), bytes.size());
  return root.IsMap() ? std::optional(root.AsMap()) : std::nullopt;
}

} // namespace origo
