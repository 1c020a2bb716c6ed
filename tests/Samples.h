#pragma once

#include "export/Export.h"
#include "import/Import.h"
#include "ir/text/Text.h"
#include "tests/RealModels.h"

#include "llvm/Support/MemoryBuffer.h"

#include <filesystem>
#include <unistd.h>

/// Models that a test can load again and again, and optimise in this process.
namespace origo::test {

/// ORIGO_THOROUGH=1 asks for everything instead of a bounded choice.
inline bool thorough() {
  const char *set = std::getenv("ORIGO_THOROUGH");
  return set && llvm::StringRef(set) == "1";
}

/// A folder that is gone at the end.
class Scratch {
public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "origo-test-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
      std::abort();
    directory = pattern;
  }
  ~Scratch() {
    std::error_code ec;
    std::filesystem::remove_all(directory, ec);
  }
  Scratch(const Scratch &) = delete;
  std::string at(llvm::StringRef name) const { return (directory / name.str()).string(); }

private:
  std::filesystem::path directory;
};

struct Sample {
  std::string name; ///< for messages
  std::string path; ///< of a model file
};

/// Makes the model as it stands its own source.
inline llvm::Error restart(Imported &imported) {
  imported.model->number();
  imported.model->becomeSource();
  auto listing = listingOf(*imported.model, imported.model->format);
  if (!listing)
    return listing.takeError();
  imported.lineage = {};
  imported.lineage.source = *listing;
  return llvm::Error::success();
}

inline bool writeAsFile(llvm::StringRef text, llvm::StringRef folder, const std::string &path) {
  PayloadStore store;
  auto failed = [](llvm::Error error) {
    bool is = bool(error);
    llvm::consumeError(std::move(error));
    return is;
  };
  llvm::Expected<std::unique_ptr<Model>> model = parseText(text, folder, store);
  if (!model)
    return !failed(model.takeError());
  Imported imported;
  imported.model = std::move(*model);
  ExportOptions options;
  options.format = imported.model->format;
  options.embed = origin::Embed::None;
  return !failed(restart(imported)) && !failed(exportModel(*imported.model, imported.lineage, path, options));
}

/// The models of res/ and of the golden tests, as files in `scratch`. Texts that cannot be files (some golden cases are
/// about errors, or have only a digest of their weights) are left out.
inline std::vector<Sample> ownSamples(const Scratch &scratch) {
  std::vector<Sample> samples;
  auto add = [&](const std::string &name, llvm::StringRef text, llvm::StringRef folder) {
    std::string path = scratch.at(std::to_string(samples.size()) + ".model");
    if (writeAsFile(text, folder, path))
      samples.push_back({name, path});
  };
  for (const char *folder : {ORIGO_SOURCE_DIR "/res", ORIGO_SOURCE_DIR "/tests/golden"}) {
    std::vector<std::string> files;
    std::error_code ec;
    for (llvm::sys::fs::directory_iterator it(folder, ec), end; it != end && !ec; it.increment(ec))
      if (llvm::StringRef(it->path()).ends_with(".origo") || llvm::StringRef(it->path()).ends_with(".txt"))
        files.push_back(it->path());
    llvm::sort(files);
    for (const std::string &file : files) {
      auto buffer = llvm::MemoryBuffer::getFile(file);
      if (!buffer)
        continue;
      llvm::SmallVector<llvm::StringRef> cases;
      (*buffer)->getBuffer().split(cases, "\n-----\n");
      for (auto [i, text] : llvm::enumerate(cases))
        add(baseName(file) + (cases.size() > 1 ? " case " + std::to_string(i + 1) : ""), text.split("\n=>").first,
            folder);
    }
  }
  return samples;
}

inline std::vector<Sample> samplesOf(const std::vector<std::string> &paths) {
  std::vector<Sample> samples;
  for (const std::string &path : paths)
    samples.push_back({baseName(path), path});
  return samples;
}

} // namespace origo::test
