#pragma once

#include "origin/Files.h"
#include "origin/OriginMap.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace origo::origin {

/// A model with its origin map, or a side file alone.
struct OriginFile {
  std::unique_ptr<ModelFile> model; ///< null for a side file alone
  std::optional<OriginMap> map;     ///< nothing if the model carries none and no side file is there
  std::vector<std::string> notes;   ///< one-line notices for the user
};

/// Opens a model, or a side file in the place of one. The map is the one in `mapPath`, else the embedded one, else that
/// of the side file beside the model. `acceptStale`: also a map that belongs to other bytes, as the checker wants it.
llvm::Expected<OriginFile> openOriginFile(llvm::StringRef path, llvm::StringRef mapPath, bool acceptStale);
/// The same of a file whose bytes were read from `path`; they must outlive what is returned.
llvm::Expected<OriginFile> openOriginFile(llvm::ArrayRef<uint8_t> bytes, llvm::StringRef path, llvm::StringRef mapPath,
                                          bool acceptStale);

/// Do two listings have as many operators and tensors in each subgraph?
bool sameCounts(const Listing &a, const Listing &b);

} // namespace origo::origin
