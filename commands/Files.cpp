#include "commands/Files.h"

#include "export/Writer.h"
#include "ir/text/Text.h"
#include "origin/Fingerprint.h"
#include "origin/codec/OriginFile.h"
#include "schema/RunFiles.h"

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
  return std::nullopt;
}

Format formatOf(llvm::StringRef path, Format otherwise) {
  auto kind = kindOf(path);
  return kind == FileKind::Tflite ? Format::Tflite : kind == FileKind::Circle ? Format::Circle : otherwise;
}

unsigned threadCount(unsigned asked) {
  unsigned processors = std::max(std::thread::hardware_concurrency(), 1u); // more threads than that gain nothing
  return asked ? std::min(asked, processors) : processors;
}

llvm::Expected<Imported> read(llvm::StringRef path, const ImportOptions &options, PayloadStore &store) {
  if (kindOf(path) != FileKind::Text)
    return importModel(path, options);
  llvm::Expected<std::shared_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.takeError();
  llvm::ArrayRef<uint8_t> bytes = (*file)->bytes();
  llvm::Expected<std::unique_ptr<Model>> model = parseText({reinterpret_cast<const char *>(bytes.data()), bytes.size()},
                                                           llvm::sys::path::parent_path(path), store);
  if (!model)
    return inFile(path, model.takeError());
  Imported imported;
  imported.model = std::move(*model);
  imported.bytes = bytes.size();
  imported.model->keep(*file);
  imported.model->becomeSource();
  auto listing = listingOf(*imported.model, imported.model->format);
  if (!listing)
    return inFile(path, listing.takeError());
  (*listing)->file = llvm::sys::path::filename(path).str();
  imported.lineage.source = *listing;
  imported.rememberEnds();
  return imported;
}

static llvm::Error saveText(Model &model, llvm::StringRef path) {
  PrintOptions options;
  options.origins = true;
  if (FileIdentity::of(path)) // a stream has nothing beside it
    options.dataFile = path.str() + ".bin";
  return writeFile(path, [&](llvm::raw_ostream &os) { return writeText(model, os, options); });
}

llvm::Error write(Imported &imported, llvm::StringRef path, ExportOptions options) {
  options.otherEnds = imported.hasOtherEnds();
  if (kindOf(path) == FileKind::Text) {
    if (llvm::Error error = dropStaleMetadata(*imported.model, options))
      return inFile(path, std::move(error));
    return saveText(*imported.model, path);
  }
  return exportModel(*imported.model, imported.lineage, path, options);
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
