#pragma once

#include "import/Import.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>
#include <string>
#include <vector>

/// Model files that tests sweep. Those that the tree makes (tests/networks/) are there always. Public ones are where
/// ORIGO_MODELS says; tests of these have names with PublicModels, and CTest the label `models`.
namespace origo::test {

/// A folder laid out like that: networks, `mini` (an operator each), `recipes` (a pattern each), `hostile`.
struct ModelFolder {
  std::string path;

  /// In a fixed order.
  std::vector<std::string> in(llvm::StringRef part) const {
    std::vector<std::string> files;
    std::error_code ec;
    for (llvm::sys::fs::directory_iterator it(path + "/" + part, ec), end; it != end && !ec; it.increment(ec))
      if (llvm::StringRef(it->path()).ends_with(".tflite") || llvm::StringRef(it->path()).ends_with(".circle"))
        files.push_back(it->path());
    llvm::sort(files);
    return files;
  }
  std::vector<std::string> networks() const { return in(""); }
  /// All but the hostile ones.
  std::vector<std::string> all() const {
    std::vector<std::string> files;
    for (const char *part : {"", "mini", "recipes"})
      llvm::append_range(files, in(part));
    return files;
  }
  std::string at(llvm::StringRef name) const { return path + "/" + name.str(); }
};

inline ModelFolder ownNetworks() { return {ORIGO_BIN_DIR "/../networks"}; }
/// Nothing is in it where ORIGO_MODELS does not say where it is, so that a test of it fails.
inline ModelFolder publicModels() {
  const char *folder = std::getenv("ORIGO_MODELS");
  return {folder && *folder ? folder : "/nonexistent"};
}
/// For programs that have both as one test each.
inline ModelFolder modelsToSweep() {
  const char *folder = std::getenv("ORIGO_MODELS");
  return folder && *folder ? publicModels() : ownNetworks();
}

/// Where the map of an earlier run names tensors that the file has not, there is nothing to compare with. Null: not
/// read.
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
