#include "tools/Driver.h"

#include "export/Writer.h"
#include "ir/Text.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <unistd.h>

namespace origo::tools {

static llvm::StringRef toolName;

std::optional<FileKind> kindOf(llvm::StringRef path) {
  llvm::StringRef extension = llvm::sys::path::extension(path);
  if (extension == ".circle")
    return FileKind::Circle;
  if (extension == ".tflite")
    return FileKind::Tflite;
  if (extension == ".origo")
    return FileKind::Text;
  return std::nullopt;
}

/// A page of the mapped input is gone: somebody truncated the file.
static void onBusError(int) {
  static const char message[] = "error: the input was truncated while it was being read\n";
  [[maybe_unused]] ssize_t ignored = ::write(2, message, sizeof(message) - 1);
  llvm::sys::RunInterruptHandlers();
  ::_exit(1);
}

void start(llvm::StringRef tool) {
  toolName = tool;
  struct sigaction action = {};
  action.sa_handler = onBusError;
  ::sigaction(SIGBUS, &action, nullptr);
}

llvm::Expected<Imported> load(llvm::StringRef path, const ImportOptions &options, PayloadStore &store) {
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
  imported.model->keep(*file);
  imported.model->becomeSource();
  auto listing = listingOf(*imported.model, imported.model->format);
  if (!listing)
    return inFile(path, listing.takeError());
  (*listing)->file = llvm::sys::path::filename(path).str();
  imported.lineage.source = *listing;
  return imported;
}

static llvm::Error saveText(Model &model, llvm::StringRef path) {
  IgnoreWriteSignals guard;
  llvm::Expected<std::unique_ptr<OutputFile>> file = OutputFile::open(path);
  if (!file)
    return file.takeError();
  PrintOptions options;
  options.origins = true;
  if (!(*file)->isStream())
    options.dataFile = path.str() + ".bin";
  {
    OutputStream os(**file);
    if (llvm::Error error = writeText(model, os, options))
      return error;
  }
  if (llvm::Error error = (*file)->finish())
    return error;
  return OutputFile::commit({file->get()});
}

llvm::Error save(Imported &imported, llvm::StringRef path, ExportOptions options) {
  if (kindOf(path) == FileKind::Text)
    return saveText(*imported.model, path);
  return exportModel(*imported.model, imported.lineage, path, options);
}

int fail(llvm::Error error) {
  // Several failures of one cause are still one line each.
  llvm::handleAllErrors(std::move(error), [](const llvm::ErrorInfoBase &e) { fail(llvm::Twine(e.message())); });
  return 1;
}

int fail(const llvm::Twine &message) {
  llvm::errs() << toolName << ": error: " << message << '\n';
  return 1;
}

void note(const llvm::Twine &message) { llvm::errs() << toolName << ": note: " << message << '\n'; }

} // namespace origo::tools
