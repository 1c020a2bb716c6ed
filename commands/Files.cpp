#include "commands/Files.h"

#include "commands/Onnx.h"
#include "export/Writer.h"
#include "import/Lineage.h"
#include "ir/OpenFile.h"
#include "ir/Printable.h"
#include "ir/text/Text.h"
#include "origin/Fingerprint.h"
#include "origin/codec/Json.h"
#include "origin/codec/OriginFile.h"
#include "schema/RunFiles.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <thread>

namespace origo::commands {

std::optional<FileKind> kindOf(llvm::StringRef path) {
  llvm::StringRef extension = llvm::sys::path::extension(path);
  if (extension.equals_insensitive(".circle"))
    return FileKind::Circle;
  if (extension.equals_insensitive(".tflite"))
    return FileKind::Tflite;
  if (extension.equals_insensitive(".origo"))
    return FileKind::Text;
  if (extension.equals_insensitive(".onnx"))
    return FileKind::Onnx;
  return std::nullopt;
}

bool isConverted(llvm::StringRef path) {
  auto kind = kindOf(path);
  return kind == FileKind::Text || kind == FileKind::Onnx;
}

Format formatOf(llvm::StringRef path, Format otherwise) {
  auto kind = kindOf(path);
  return kind == FileKind::Tflite ? Format::Tflite : kind == FileKind::Circle ? Format::Circle : otherwise;
}

llvm::Expected<std::string> fingerprintOf(Model &model) {
  auto listing = listingOf(model, model.format);
  if (!listing)
    return listing.takeError();
  return "sha256:" + origin::hex((*listing)->fingerprint);
}

unsigned threadCount(unsigned asked) {
  unsigned processors = std::max(std::thread::hardware_concurrency(), 1u); // more threads than that gain nothing
  return asked ? std::min(asked, processors) : processors;
}

llvm::Expected<Imported> asOwnSource(std::unique_ptr<Model> model, llvm::StringRef name, llvm::StringRef format) {
  Imported imported;
  imported.model = std::move(model);
  imported.model->becomeSource();
  auto listing = listingOf(*imported.model, imported.model->format);
  if (!listing)
    return listing.takeError();
  (*listing)->file = name.str();
  if (!format.empty())
    (*listing)->format = format.str();
  imported.lineage.source = *listing;
  imported.rememberEnds();
  return imported;
}

/// The map that lies beside a text, or that was given for it. One that nobody gave may be of what the text was before
/// somebody edited it. Null: none.
static llvm::Expected<std::shared_ptr<const origin::OriginMap>> mapOfText(llvm::StringRef path,
                                                                          const ImportOptions &options) {
  std::string beside = path.str() + ".origin.json";
  if (options.origin != OriginMode::Continue || options.map || !llvm::sys::fs::exists(beside))
    return options.origin == OriginMode::Continue ? options.map : nullptr;
  auto map = readFile(beside, origin::readJson);
  if (!map)
    return map.takeError();
  return std::make_shared<const origin::OriginMap>(std::move(*map));
}

/// A text is its own source, or goes on with the map beside it.
static llvm::Expected<Imported> ofText(std::unique_ptr<Model> model, llvm::StringRef path,
                                       const ImportOptions &options) {
  llvm::StringRef name = llvm::sys::path::filename(path);
  auto map = mapOfText(path, options);
  if (!map)
    return map.takeError();
  if (!*map)
    return asOwnSource(std::move(model), name);
  auto listing = listingOf(*model, model->format);
  if (!listing)
    return listing.takeError();
  const origin::OriginMap &known = **map;
  if (known.target.fingerprint != (*listing)->fingerprint) {
    std::string stale = "the origin map is of another model than this text";
    if (options.map)
      return makeError(stale + "; use --origin=restart or --origin=ignore");
    auto imported = asOwnSource(std::move(model), name);
    if (imported)
      imported->notes.push_back(printable(path, 300) + ".origin.json: " + stale + "; origins start from the text");
    return imported;
  }
  Imported imported;
  imported.model = std::move(model);
  if (llvm::Error error = continueMap(known, (*listing)->fingerprint, (*listing)->content, name.str(),
                                      (*listing)->format, true, imported))
    return error;
  imported.rememberEnds();
  return imported;
}

llvm::Expected<Imported> read(llvm::StringRef path, const ImportOptions &options, PayloadStore &store) {
  if (!isConverted(path))
    return importModel(path, options);
  llvm::Expected<std::shared_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.takeError();
  if (kindOf(path) == FileKind::Onnx)
    return readOnnx(std::move(*file), store);
  llvm::ArrayRef<uint8_t> bytes = (*file)->bytes();
  llvm::Expected<std::unique_ptr<Model>> model = parseText({reinterpret_cast<const char *>(bytes.data()), bytes.size()},
                                                           llvm::sys::path::parent_path(path), store);
  if (!model)
    return inFile(path, model.takeError());
  (*model)->keep(*file);
  auto imported = ofText(std::move(*model), path, options);
  if (!imported)
    return inFile(path, imported.takeError());
  imported->bytes = bytes.size();
  return imported;
}

static llvm::Error saveText(Model &model, llvm::StringRef path) {
  PrintOptions options;
  options.origins = true;
  if (FileIdentity::of(path)) // a stream has nothing beside it
    options.dataFile = path.str() + ".bin";
  return writeFile(path, [&](llvm::raw_ostream &os) { return writeText(model, os, options); });
}

/// Text has comments of where things come from, which nobody reads back; the map is beside it.
static llvm::Error saveMapOfText(Imported &imported, llvm::StringRef path, const ExportOptions &options) {
  bool isBeside = options.originJson.has_value() && !imported.model->provenanceDropped;
  if (options.notes && (isBeside || options.embed != origin::Embed::None))
    options.notes->push_back(printable(path, 300) + " is text and carries no origin map" +
                             (isBeside ? "; " + printable(*options.originJson, 300) + " has it" : ""));
  if (!isBeside)
    return llvm::Error::success();
  auto map = originMapOf(*imported.model, imported.lineage, options.format);
  if (!map)
    return inFile(path, map.takeError());
  map->target.file = path == "-" ? std::string() : llvm::sys::path::filename(path).str();
  return writeFile(*options.originJson, [&](llvm::raw_ostream &os) {
    origin::writeJson(origin::MapView(*map), os);
    return llvm::Error::success();
  });
}

llvm::Error write(Imported &imported, llvm::StringRef path, ExportOptions options) {
  options.otherEnds = imported.hasOtherEnds();
  if (kindOf(path) == FileKind::Text) {
    if (llvm::Error error = dropStaleMetadata(*imported.model, options))
      return inFile(path, std::move(error));
    if (llvm::Error error = saveMapOfText(imported, path, options))
      return error;
    return saveText(*imported.model, path);
  }
  return exportModel(*imported.model, imported.lineage, path, options);
}

llvm::Expected<Imported> load(llvm::StringRef path, const ImportOptions &options, PayloadStore &store,
                              const Door &door) {
  door.phase("reading");
  if (door.maps)
    door.maps(path);
  return read(path, options, store);
}

llvm::Error save(Imported &imported, llvm::StringRef path, ExportOptions options, const Door &door) {
  door.phase("writing");
  std::vector<std::string> notes;
  if (!options.notes)
    options.notes = &notes;
  llvm::Error error = write(imported, path, options);
  for (const std::string &text : notes)
    door.note(text);
  return error;
}

bool isStream(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  return path == "-" ||
         (!llvm::sys::fs::status(path, status) && status.type() != llvm::sys::fs::file_type::regular_file &&
          status.type() != llvm::sys::fs::file_type::directory_file);
}

llvm::Error checkOutput(llvm::StringRef path, llvm::ArrayRef<FileKind> kinds) {
  bool isModel = llvm::is_contained(kinds, FileKind::Circle);
  if (isStream(path) || path.starts_with("/dev/") || (isModel && llvm::sys::path::extension(path).empty()))
    return llvm::Error::success();
  auto kind = kindOf(path);
  if (kind && llvm::is_contained(kinds, *kind))
    return llvm::Error::success();
  auto named = [](FileKind kind) {
    return kind == FileKind::Circle ? ".circle" : kind == FileKind::Tflite ? ".tflite" : ".origo";
  };
  std::string names;
  for (size_t i = 0; i < kinds.size(); ++i)
    names += std::string(i == 0 ? "" : i + 1 == kinds.size() ? " or " : ", ") + named(kinds[i]);
  return inFile(path, makeError("the extension tells the format: use " + names));
}

llvm::Error takeModel(std::string &model, llvm::ArrayRef<std::string> words) {
  if (words.size() != 1)
    return makeError(words.empty() ? "which model? --help shows examples"
                                   : "there are too many arguments; --help shows examples");
  model = words.front();
  return llvm::Error::success();
}

llvm::Error takeFiles(std::string &input, std::string &output, llvm::ArrayRef<std::string> words) {
  for (const std::string &word : words) {
    std::string &file = input.empty() ? input : output;
    if (!file.empty())
      return makeError("there are too many arguments; --help shows examples");
    file = word;
  }
  if (input.empty() || output.empty())
    return makeError("needs INPUT and OUTPUT; --help shows examples");
  return llvm::Error::success();
}

llvm::Error rewriteFile(const std::string &input, const std::string &output,
                        llvm::function_ref<llvm::Error(Imported &imported, PayloadStore &store)> change,
                        const Door &door, origin::Embed embed, bool sideFile) {
  if (llvm::Error error = checkOutput(output))
    return error;
  if (door.checkFiles)
    if (llvm::Error error = door.checkFiles(input, output))
      return error;
  llvm::StringRef directory = llvm::sys::path::parent_path(output);
  PayloadStore store(directory.empty() ? "." : directory.str());
  llvm::Expected<Imported> imported = load(input, {}, store, door);
  if (!imported)
    return imported.takeError();
  for (const std::string &text : imported->notes)
    door.note(text);
  if (llvm::Error error = change(*imported, store))
    return inFile(input, std::move(error));
  ExportOptions options;
  options.format = formatOf(output, imported->model->format);
  options.embed = embed;
  if (sideFile && !isStream(output))
    options.originJson = output + ".origin.json";
  return save(*imported, output, options, door);
}

llvm::Error makeFolder(llvm::StringRef path) {
  if (std::error_code code = llvm::sys::fs::create_directories(path, true, llvm::sys::fs::all_all))
    return inFile(path, makeError("cannot be made: " + code.message()));
  return llvm::Error::success();
}

void tellResult(const Door &door, uint64_t bytesBefore, llvm::StringRef output, size_t before, size_t after,
                std::optional<uint32_t> rewrites, bool withOrigins, llvm::StringRef nothing, llvm::StringRef grown) {
  uint64_t bytesAfter = 0;
  if (isStream(output) || llvm::sys::fs::file_size(output, bytesAfter))
    return;
  std::string text = std::to_string(before) + (before == 1 ? " operator" : " operators");
  if (rewrites)
    text += ", " + std::to_string(after) + " after " + std::to_string(*rewrites) +
            (*rewrites == 1 ? " rewrite" : " rewrites");
  if (bytesBefore)
    text += "; " + std::to_string(bytesBefore) + " bytes, " + std::to_string(bytesAfter) + " after" +
            (withOrigins ? ", origins included" : "");
  if (bytesBefore && bytesAfter > bytesBefore + bytesBefore / 4)
    text += grown;
  door.note(text + (rewrites == 0u ? nothing.str() : ""));
}

llvm::Error expectSource(llvm::StringRef path, llvm::StringRef model, const origin::Listing &expected,
                         const origin::Listing &actual) {
  if (expected.fingerprint == actual.fingerprint) {
    if (origin::sameCounts(expected, actual))
      return llvm::Error::success();
    return makeError("the origin map of " + printable(model, 300) + " has the fingerprint of " + printable(path, 300) +
                     ", and lists other operators and tensors than are there: it is not true (origin-dump --check)");
  }
  std::string name = expected.file.empty() ? "a " + expected.format + " file" : printable(expected.file);
  return makeError(printable(path, 300) + " is not the source of " + printable(model, 300) + ", which was made from " +
                   name + " with the fingerprint sha256:" + origin::hex(expected.fingerprint) +
                   "; this one has sha256:" + origin::hex(actual.fingerprint) +
                   " (origin-dump --fingerprint FILE shows it)");
}

} // namespace origo::commands
