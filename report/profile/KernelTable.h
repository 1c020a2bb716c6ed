#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// What a code generator writes beside its code: kernel k, at offset o, does the work of these operators of the written
/// model. docs/profiles.md describes the file.
namespace origo::report {

struct Kernel {
  uint64_t id = 0;
  std::string name;
  uint64_t offset = 0;
  uint64_t size = 1; ///< bytes of code; offsets in it are this kernel's
  uint32_t subgraph = 0;
  std::vector<uint32_t> operators; ///< ascending
  bool guessed = false;            ///< the operators are not what the table says, but what fits to it
};

class KernelTable {
public:
  std::string fingerprint;     ///< of the written model, sha256:…
  std::vector<Kernel> kernels; ///< ascending offsets

  const Kernel *atOffset(uint64_t offset) const;
};

/// Refuses what overlaps or is there twice. Whether the operators exist is for whoever has the model.
llvm::Expected<KernelTable> readKernelTable(llvm::StringRef text);

} // namespace origo::report
