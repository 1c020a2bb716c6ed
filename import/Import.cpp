#include "import/Import.h"

#include "import/Lineage.h"
#include "import/Source.h"

namespace origo {

static llvm::Expected<Imported> importFile(std::shared_ptr<MappedFile> file, const ImportOptions &options) {
  llvm::Expected<Source> source = openSource(std::move(file));
  if (!source)
    return source.takeError();
  source->payloads = options.payloads;
  if (llvm::Error error = checkRules(*source))
    return error;
  Imported imported;
  imported.model = buildModel(*source);
  if (source->unknownFields)
    imported.notes.push_back("fields of a later revision of the format are not carried over");
  if (llvm::Error error = takeLineage(*source, options, imported))
    return error;
  source->file->rest(); // all tables were read
  return imported;
}

llvm::Expected<Imported> importModel(std::shared_ptr<MappedFile> file, const ImportOptions &options) {
  std::string path = file->path();
  llvm::Expected<Imported> imported = importFile(std::move(file), options);
  if (!imported)
    return inFile(path, imported.takeError());
  return imported;
}

llvm::Expected<Imported> importModel(llvm::StringRef path, const ImportOptions &options) {
  llvm::Expected<std::shared_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.takeError();
  return importModel(std::move(*file), options);
}

} // namespace origo
