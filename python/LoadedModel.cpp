#include "python/LoadedModel.h"

#include "commands/Files.h"
#include "commands/Optimize.h"
#include "commands/Prove.h"
#include "commands/Related.h"
#include "export/Writer.h"
#include "origin/check/Check.h"
#include "origin/codec/Json.h"
#include "quantize/Ranges.h"
#include "report/infer/Infer.h"
#include "report/origin/Words.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace origo::python {

namespace {

/// A folder of our own for as long as a file in it needs a name.
class Folder {
public:
  Folder() { failed = llvm::sys::fs::createUniqueDirectory("origo", path); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  Folder(const Folder &) = delete;
  llvm::Error error() const {
    return failed ? makeError(path.str() + ": " + failed.message()) : llvm::Error::success();
  }
  std::string operator/(llvm::StringRef name) const { return (path + "/" + name).str(); }

private:
  llvm::SmallString<64> path;
  std::error_code failed;
};

/// Readers of origin maps name the file in their text.
llvm::Error about(const std::string &path, llvm::Error error) {
  return llvm::handleErrors(
      std::move(error), [](std::unique_ptr<ModelError> e) { return llvm::Error(std::move(e)); },
      [&](const llvm::ErrorInfoBase &e) {
        std::string text = e.message();
        llvm::StringRef rest = text;
        rest.consume_front(path + ": ");
        return inFile(path, makeError(rest));
      });
}

/// The same of a file that the user knows by another name.
llvm::Error renamed(const std::string &path, const std::string &name, llvm::Error error) {
  return llvm::handleErrors(about(path, std::move(error)), [&](std::unique_ptr<ModelError> e) {
    e->file = name;
    return llvm::Error(std::move(e));
  });
}

const char *extensionOf(Format format) { return format == Format::Tflite ? ".tflite" : ".circle"; }

/// NAME.STEP.EXTENSION, as the front door calls what it writes.
std::string named(const std::string &path, llvm::StringRef step, Format format) {
  return (llvm::sys::path::stem(path) + "." + step + extensionOf(format)).str();
}

} // namespace

llvm::Expected<ModelPtr> LoadedModel::adopt(const std::string &path, const std::string &name) {
  auto model = std::make_shared<LoadedModel>();
  struct stat status;
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || ::fstat(fd, &status) != 0)
    return inFile(path, makeError(std::strerror(errno)));
  auto mapped = MappedFile::adopt(std::make_shared<FileDescriptor>(fd), 0, status.st_size, name);
  if (!mapped)
    return mapped.takeError();
  auto opened = origin::openOriginFile((*mapped)->bytes(), path, {}, /*acceptStale=*/false);
  if (!opened)
    return renamed(path, name, opened.takeError());
  if (!opened->model)
    return inFile(name, makeError("is a side file; its model is needed"));
  model->file = std::move(*mapped);
  model->tables = std::move(opened->model);
  if (opened->map)
    model->map = std::make_shared<const origin::OriginMap>(std::move(*opened->map));
  model->format = model->tables->view().tflite ? Format::Tflite : Format::Circle;
  return model;
}

llvm::Expected<ModelPtr> LoadedModel::open(const std::string &path, const std::string &mapPath) {
  if (commands::isConverted(path)) {
    PayloadStore store;
    auto imported = commands::read(path, {}, store);
    if (!imported)
      return imported.takeError();
    return write(*imported, imported->model->format, origin::Embed::None, path, {});
  }
  auto mapped = MappedFile::openCopy(path);
  if (!mapped)
    return mapped.takeError();
  auto opened = origin::openOriginFile((*mapped)->bytes(), path, mapPath, /*acceptStale=*/false);
  if (!opened)
    return about(path, opened.takeError());
  auto model = std::make_shared<LoadedModel>();
  model->file = std::move(*mapped);
  model->tables = std::move(opened->model);
  model->notes = std::move(opened->notes);
  if (opened->map)
    model->map = std::make_shared<const origin::OriginMap>(std::move(*opened->map));
  model->format = model->tables->view().tflite ? Format::Tflite : Format::Circle;
  auto imported = model->import(); // what cannot be read is refused now
  if (!imported)
    return imported.takeError();
  for (const std::string &note : imported->notes)
    model->notes.push_back(note);
  return model;
}

llvm::Expected<ModelPtr> LoadedModel::fromBytes(llvm::StringRef bytes, const std::string &name) {
  Folder folder;
  if (llvm::Error error = folder.error())
    return error;
  std::string path = folder / "model";
  if (llvm::Error error = writeFile(path, bytes))
    return error;
  auto model = adopt(path, name);
  if (!model)
    return model.takeError();
  auto imported = (*model)->import();
  if (!imported)
    return imported.takeError();
  (*model)->notes = std::move(imported->notes);
  return *model;
}

llvm::Expected<ModelPtr> LoadedModel::write(Imported &imported, Format format, origin::Embed embed,
                                            const std::string &path, std::vector<std::string> notes) {
  Folder folder;
  if (llvm::Error error = folder.error())
    return error;
  ExportOptions options;
  options.format = format;
  options.embed = embed;
  options.notes = &notes;
  std::string file = folder / llvm::sys::path::filename(path);
  if (llvm::Error error = exportModel(*imported.model, imported.lineage, file, options))
    return inFile(path, std::move(error));
  auto model = adopt(file, path);
  if (!model)
    return model.takeError();
  (*model)->notes = std::move(notes);
  (*model)->rewrites = imported.model->rewrites;
  return *model;
}

llvm::Expected<Imported> LoadedModel::import(ImportOptions options) const {
  if (options.origin == OriginMode::Continue)
    options.map = map;
  return importModel(file, options);
}

llvm::Error LoadedModel::save(const std::string &path, bool sideFile) const {
  const char *extension = extensionOf(format);
  llvm::StringRef given = llvm::sys::path::extension(path);
  if (!given.empty() && !given.equals_insensitive(extension))
    return inFile(path, makeError("the extension tells the format, and this model's is " + llvm::Twine(extension) +
                                  "; Model.convert gives another one"));
  std::string beside = path + ".origin.json";
  std::unique_ptr<OutputFile> side;
  IgnoreWriteSignals guard;
  if (sideFile && map) {
    auto out = OutputFile::open(beside);
    if (!out)
      return out.takeError();
    side = std::move(*out);
    {
      origin::OriginMap copy = *map;
      copy.target.file = llvm::sys::path::filename(path).str();
      OutputStream os(*side);
      origin::writeJson(copy, os);
    }
    if (llvm::Error error = side->finish())
      return error;
  }
  auto out = OutputFile::open(path);
  if (!out)
    return out.takeError();
  (*out)->copy(bytes(), file.get());
  if (llvm::Error error = (*out)->finish())
    return error;
  std::vector<OutputFile *> files;
  if (side)
    files.push_back(side.get());
  files.push_back(out->get());
  return OutputFile::commit(files);
}

/// Notes what a command tells, and calls its options by their keywords.
static commands::Door doorFor(const commands::Command &command, std::vector<std::string> &notes) {
  return {[&command](llvm::StringRef name) { return command.find(name)->keyword(); },
          [&notes](const llvm::Twine &text) { notes.push_back(text.str()); }};
}

llvm::Expected<ModelPtr> LoadedModel::optimize(commands::OptimizeRequest request) const {
  std::vector<std::string> notes;
  commands::Door door = doorFor(commands::optimizeCommand, notes);
  request.input = path();
  if (llvm::Error error = commands::check(request, door))
    return error;
  auto job =
      commands::Job::of(request, door, [&](const ImportOptions &options, PayloadStore &) { return import(options); });
  if (!job)
    return job.takeError();
  commands::Verdict verdict;
  std::string proof;
  if (llvm::Error error = job->verify(verdict, proof))
    return error;
  PayloadStore store;
  auto made = job->optimize(store);
  if (!made)
    return made.takeError();
  made->imported.lineage.proof = std::move(proof);
  Format format = commands::formatOf(request.output, made->imported.model->format);
  bool converts = job->passes().empty();
  return write(made->imported, format, request.embed(),
               converts ? llvm::sys::path::stem(path()).str() + extensionOf(format)
                        : named(path(), "optimized", format),
               std::move(notes));
}

llvm::Expected<ModelPtr> LoadedModel::quantize(commands::QuantizeRequest request) const {
  std::vector<std::string> notes;
  request.again = [this](PayloadStore &) { return import(); };
  commands::Door door = doorFor(commands::quantizeCommand, notes);
  if (llvm::Error error = commands::check(request, door))
    return error;
  PayloadStore store;
  auto imported = import();
  if (!imported)
    return imported.takeError();
  commands::Verdict verdict;
  if (llvm::Error error = commands::run(request, *imported, store, door, verdict))
    return inFile(path(), std::move(error));
  Format format = imported->model->format;
  return write(*imported, format, request.origins.embed, named(path(), request.name(), format), std::move(notes));
}

llvm::Expected<ModelPtr> LoadedModel::calibrate(commands::RecordRequest request) const {
  std::vector<std::string> notes;
  commands::Door door = doorFor(commands::recordCommand, notes);
  request.output = path();
  if (llvm::Error error = commands::check(request, door))
    return error;
  auto imported = import();
  if (!imported)
    return imported.takeError();
  if (llvm::Error error = commands::run(request, *imported, door))
    return inFile(path(), std::move(error));
  Format format = imported->model->format;
  return write(*imported, format, origin::Embed::Names, named(path(), "ranges", format), std::move(notes));
}

llvm::Expected<quantize::Statistics> LoadedModel::statistics(Open open) const {
  auto imported = import();
  if (!imported)
    return imported.takeError();
  auto statistics = commands::calibrate(
      *imported->model, [&](llvm::ArrayRef<eval::Port> inputs, llvm::StringRef) { return open(inputs); });
  if (!statistics)
    return inFile(path(), statistics.takeError());
  return statistics;
}

llvm::Expected<const origin::OriginMap *> LoadedModel::wantMap() const {
  if (map)
    return map.get();
  return inFile(path(),
                makeError("is its own source: it carries no origin map, and what optimize or quantize makes of it "
                          "does"));
}

llvm::Expected<std::string> LoadedModel::mapJson() const {
  auto map = wantMap();
  if (!map)
    return map.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  origin::writeJson(**map, os);
  return text;
}

llvm::Expected<std::string> LoadedModel::where(const std::string &what) const {
  auto map = wantMap();
  if (!map)
    return map.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  report::WhereAnswer answer = printWhere(report::MapNames(**map), what, /*full=*/true, /*json=*/false, os);
  if (!answer.found)
    return inFile(path(), makeError("the source has no operator or tensor \"" + printable(what) + '"' +
                                    (answer.note.empty() ? "" : "; " + answer.note)));
  return text;
}

llvm::Expected<std::string> LoadedModel::from(const std::string &what) const {
  auto map = wantMap();
  if (!map)
    return map.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!printFrom(report::MapNames(**map), &tables->view(), what, os))
    return inFile(path(), makeError("has no operator or constant \"" + printable(what) + '"'));
  return text;
}

llvm::Expected<std::vector<std::string>> LoadedModel::check(const LoadedModel *source) const {
  auto map = wantMap();
  if (!map)
    return map.takeError();
  std::vector<std::string> skipped, lines;
  for (const origin::Violation &violation :
       origin::check(**map, tables->view(), source ? &source->tables->view() : nullptr, skipped))
    lines.push_back("law " + std::to_string(violation.law) + ": " + violation.text);
  return lines;
}

llvm::Expected<std::string> LoadedModel::prove(const LoadedModel &source) const {
  auto related = commands::relate([&](const ImportOptions &options) { return source.import(options); },
                                  [&](const ImportOptions &options) { return import(options); });
  if (!related)
    return related.takeError();
  PayloadStore store;
  auto proof = commands::proveFiles(std::move(*related), store);
  if (!proof)
    return proof.takeError();
  std::string text;
  llvm::raw_string_ostream os(text);
  commands::printProof(*proof, true, os);
  return os.str();
}

static ImportOptions alone() {
  ImportOptions options;
  options.origin = OriginMode::Restart;
  return options;
}

llvm::Expected<ModelPtr> LoadedModel::infer(const LoadedModel &source, unsigned seed) const {
  auto from = source.import(alone()), own = import(alone());
  if (!from || !own)
    return firstError(from, own);
  report::InferOptions options;
  options.seeds = {seed, seed + 1};
  auto made = report::infer(*from, source.tables->view(), *own, tables->view(), options);
  if (!made)
    return inFile(path(), made.takeError());
  auto file = bytes();
  auto model = fromBytes({reinterpret_cast<const char *>(file.data()), file.size()}, path());
  if (!model)
    return model;
  (*model)->notes = std::move(made->notes);
  (*model)->notes.push_back(llvm::StringRef(report::summaryOf(*made)).rtrim().str());
  (*model)->map = std::make_shared<const origin::OriginMap>(std::move(made->map));
  return model;
}

llvm::Expected<std::string> LoadedModel::metricsCsv(report::Rows rows, const LoadedModel *source) const {
  auto imported = import();
  if (!imported)
    return imported.takeError();
  std::optional<Imported> from;
  if (source) {
    auto other = source->import(alone());
    if (!other)
      return other.takeError();
    if (llvm::Error error =
            commands::expectSource(source->path(), path(), *imported->lineage.source, *other->lineage.source))
      return error;
    from = std::move(*other);
  }
  report::ModelMetrics metrics =
      report::metricsOf(*imported->model, *imported->lineage.source, from ? from->model.get() : nullptr,
                        {.threads = commands::threadCount(0)});
  std::string text;
  llvm::raw_string_ostream os(text);
  report::printMetricsCsv({*imported, metrics, llvm::sys::path::filename(path()).str()}, rows, os);
  return text;
}

llvm::Expected<std::string> LoadedModel::page(commands::PageRequest request, const LoadedModel *source) const {
  auto imported = import();
  if (!imported)
    return imported.takeError();
  request.result = {std::move(*imported), tables.get(), path()};
  request.map = map;
  if (source && map) {
    auto other = source->import(alone());
    if (!other)
      return other.takeError();
    request.source = commands::PageInput{std::move(*other), source->tables.get(), source->path()};
  }
  request.threads = commands::threadCount(0);
  auto data = commands::pageData(std::move(request));
  if (!data)
    return data.takeError();
  std::string page;
  llvm::raw_string_ostream os(page);
  view::writePage(*data, os);
  return page;
}

} // namespace origo::python
