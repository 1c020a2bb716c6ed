#pragma once

#include "import/Import.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace origo::test {

/// All well-formed model files, in a fixed order; none where the shared folder is absent.
inline std::vector<std::string> realModels() {
  const char *shared = std::getenv("ORIGO_SHARED");
  std::string folder = (shared ? std::string(shared) : std::string(ORIGO_SOURCE_DIR "/../shared")) + "/models";
  std::vector<std::string> files;
  for (const char *part : {"", "/mini", "/recipes"}) {
    std::error_code ec;
    for (llvm::sys::fs::directory_iterator it(folder + part, ec), end; it != end && !ec; it.increment(ec))
      if (llvm::StringRef(it->path()).ends_with(".tflite") || llvm::StringRef(it->path()).ends_with(".circle"))
        files.push_back(it->path());
  }
  llvm::sort(files);
  return files;
}

/// Where the map of an earlier run names tensors that the file has not, there is nothing to compare with. Null: not read.
inline std::unique_ptr<Imported> importAsSource(const std::string &path) {
  ImportOptions options;
  options.origin = OriginMode::Restart;
  auto imported = importModel(path, options);
  if (!imported) {
    llvm::consumeError(imported.takeError());
    return nullptr;
  }
  return std::make_unique<Imported>(std::move(*imported));
}

inline std::string baseName(llvm::StringRef path) { return llvm::sys::path::filename(path).str(); }

} // namespace origo::test
