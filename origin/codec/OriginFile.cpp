#include "origin/codec/OriginFile.h"
#include "origin/Fingerprint.h"
#include "origin/codec/Embedded.h"
#include "origin/codec/Json.h"
#include "schema/InputFile.h"
#include "schema/Refusals.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace origo;
using namespace origo::origin;

static llvm::Error inFile(llvm::StringRef path, const llvm::Twine &message) {
  return llvm::createStringError(path + ": " + message);
}
static llvm::Error inFile(llvm::StringRef path, llvm::Error error) {
  return inFile(path, llvm::toString(std::move(error)));
}

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(llvm::StringRef path) {
  auto buffer = readInput(path);
  if (!buffer)
    return inFile(path, refusal::cannotOpen(buffer.getError()));
  return std::move(*buffer);
}

static llvm::Expected<OriginMap> readSideFile(llvm::StringRef path) {
  auto buffer = readFile(path);
  if (!buffer)
    return buffer.takeError();
  auto map = readJson((*buffer)->getBuffer());
  if (!map)
    return inFile(path, map.takeError());
  return map;
}

static bool looksLikeJson(llvm::StringRef text) { return text.ltrim(" \t\r\n").starts_with("{"); }

/// A model starts with an offset and its identifier, so that what begins like JSON and has no identifier is a side
/// file.
static bool isSideFile(llvm::StringRef text) {
  llvm::StringRef identifier = text.substr(4, 4);
  return looksLikeJson(text.take_front(256)) && identifier != "CIR0" && identifier != "TFL3";
}

bool origin::sameCounts(const Listing &a, const Listing &b) {
  return llvm::equal(a.subgraphs, b.subgraphs, [](const SourceSubgraph &x, const SourceSubgraph &y) {
    return x.operators.size() == y.operators.size() && x.tensors.size() == y.tensors.size();
  });
}

/// Names of a map that was embedded with ids only come from the side file.
static void takeNames(OriginFile &file, llvm::StringRef path) {
  OriginMap &map = *file.map;
  if (map.source.namesKnown || !llvm::sys::fs::exists(path))
    return;
  auto side = readSideFile(path);
  if (!side) {
    file.notes.push_back("no names, for the side file cannot be read: " + llvm::toString(side.takeError()));
    return;
  }
  if (side->source.fingerprint != map.source.fingerprint || !sameCounts(side->source, map.source)) {
    file.notes.push_back(("no names, for " + path + " is about another source").str());
    return;
  }
  map.source = std::move(side->source);
}

static llvm::Expected<OriginFile> withOrigins(std::unique_ptr<ModelFile> model, llvm::StringRef path,
                                              llvm::StringRef mapPath, bool acceptStale) {
  OriginFile file;
  file.model = std::move(model);
  std::string beside = (path + ".origin.json").str();
  bool embedded = file.model->metadata(metadataName).has_value();
  if (!mapPath.empty() || (!embedded && llvm::sys::fs::exists(beside))) {
    if (mapPath.empty())
      file.notes.push_back((path + " carries no origin map; this is " + beside).str());
    auto map = readSideFile(mapPath.empty() ? llvm::StringRef(beside) : mapPath);
    if (!map)
      return map.takeError();
    file.map = std::move(*map);
  } else if (embedded) {
    auto map = decode([&](llvm::StringRef name) { return file.model->metadata(name); }, file.model->bytes().size(),
                      file.model->view());
    if (!map)
      return inFile(path, map.takeError());
    file.map = std::move(*map);
    file.map->target.file = llvm::sys::path::filename(path).str();
    takeNames(file, beside);
  } else {
    return file;
  }
  if (!acceptStale && file.map->target.fingerprint != fingerprint(file.model->view()))
    return inFile(path, "stale origin map: it leads to a model with the fingerprint " +
                            hex(file.map->target.fingerprint) +
                            ", not to this one, which was changed by something that does not keep the map");
  return file;
}

llvm::Expected<OriginFile> origin::openOriginFile(llvm::StringRef path, llvm::StringRef mapPath, bool acceptStale) {
  auto buffer = readFile(path);
  if (!buffer)
    return buffer.takeError();
  if (!isSideFile((*buffer)->getBuffer())) {
    auto model = ModelFile::open(path);
    if (!model)
      return model.takeError(); // names the file
    return withOrigins(std::move(*model), path, mapPath, acceptStale);
  }
  if (!mapPath.empty())
    return inFile(path, "this is a side file; --origin-map needs a model");
  auto map = readSideFile(path);
  if (!map)
    return map.takeError();
  OriginFile file;
  file.map = std::move(*map);
  return file;
}

llvm::Expected<OriginFile> origin::openOriginFile(llvm::ArrayRef<uint8_t> bytes, llvm::StringRef path,
                                                  llvm::StringRef mapPath, bool acceptStale) {
  if (isSideFile(llvm::toStringRef(bytes)))
    return inFile(path, "is a side file; its model is needed");
  auto model = ModelFile::fromBytes(bytes, path.str());
  if (!model)
    return model.takeError();
  return withOrigins(std::move(*model), path, mapPath, acceptStale);
}
