#include "tools/ValuesMode.h"

#include "eval/Npy.h"
#include "eval/RealNumbers.h"
#include "quantize/Records.h"
#include "report/errors/Live.h"
#include "report/errors/Print.h"
#include "schema/InputFile.h"
#include "schema/TensorTypes.h"
#include "tools/Related.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace origo;
using namespace origo::report;
using namespace origo::tools;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Tensors from elsewhere");
cl::opt<std::string> folder("join-values", cl::value_desc("DIR"), cl::cat(category),
                            cl::desc("Tell how far tensors that another runtime computed are from the source's, with "
                                     "--source and --json"));
cl::opt<std::string> data("values-data", cl::value_desc("PATH"), cl::cat(category),
                          cl::desc("The inputs, as record-minmax reads them, where DIR does not have them"));
cl::opt<std::string> metricName("values-metric", cl::value_desc("NAME"), cl::init("over_range"), cl::cat(category),
                                cl::desc("One of visq's figures (over_range)"));

/// The files of a record: each holds a tensor of the model.
class Dump {
public:
  static llvm::Expected<Dump> open(const std::string &path) {
    Dump dump;
    std::error_code ec;
    for (llvm::sys::fs::directory_iterator it(path, ec), end; it != end && !ec; it.increment(ec))
      if (llvm::sys::fs::is_regular_file(it->path()))
        dump.files[llvm::sys::path::filename(it->path())] = {it->path(), false};
    if (ec)
      return makeError(printable(path, 300) + ": " + ec.message());
    if (dump.files.empty())
      return makeError(printable(path, 300) + ": no file is there");
    return dump;
  }

  /// Writes what the file of a tensor holds into it. False: there is none, or it does not fit, which is noted.
  bool read(const Value &value, eval::Tensor &tensor) {
    auto *file = find(value);
    if (!file)
      return false;
    file->used = true;
    auto buffer = readInput(file->path);
    if (!buffer)
      return refuse(*file, buffer.getError().message());
    llvm::StringRef bytes = (*buffer)->getBuffer();
    if (!llvm::StringRef(file->path).ends_with(".npy")) {
      if (bytes.size() != tensor.storage.size())
        return refuse(*file, "has " + std::to_string(bytes.size()) + " bytes, the tensor " +
                                 std::to_string(tensor.storage.size()));
      std::copy(bytes.bytes_begin(), bytes.bytes_end(), tensor.storage.begin());
      return true;
    }
    auto held = eval::readNpy({bytes.bytes_begin(), bytes.size()});
    if (!held)
      return refuse(*file, llvm::toString(held.takeError()));
    if (eval::product(held->shape) != tensor.count())
      return refuse(*file, "is of shape " + eval::shapeText(held->shape) + ", the tensor of " +
                               eval::shapeText(tensor.shape));
    if (held->type == tensor.type) {
      llvm::copy(held->bytes, tensor.storage.begin());
      return true;
    }
    // Real numbers of a tensor that is stored as integers, or another width of floats.
    eval::Tensor view;
    view.type = held->type;
    view.shape = held->shape;
    view.storage = held->bytes;
    auto numbers = eval::realNumbers(view);
    if (!numbers || !eval::isFloat(held->type) || !eval::storeNumbers(tensor, *numbers))
      return refuse(*file, std::string("holds ") + tensorTypeName(held->type).str() + ", the tensor " +
                               tensorTypeName(tensor.type).str());
    return true;
  }

  std::vector<std::string> unused() const {
    std::vector<std::string> list;
    for (const auto &file : files)
      if (!file.second.used)
        list.push_back(file.first().str());
    llvm::sort(list);
    return list;
  }
  std::vector<std::string> refused;

private:
  struct File {
    std::string path;
    bool used;
  };
  llvm::StringMap<File> files;

  bool refuse(const File &file, std::string why) {
    refused.push_back(printable(file.path, 300) + ": " + why);
    return false;
  }

  /// As circle-interpreter --tap calls it, by number alone in the first subgraph, or by its name.
  File *find(const Value &value) {
    std::string name = value.name.str(), graph = std::to_string(value.subgraph()->index);
    std::replace(name.begin(), name.end(), '/', '_');
    llvm::SmallVector<std::string, 3> words{graph + "_" + std::to_string(value.index)};
    if (value.subgraph()->index == 0)
      words.push_back(std::to_string(value.index));
    if (!name.empty())
      words.push_back(name);
    for (const std::string &word : words)
      for (const char *end : {".npy", ""})
        if (auto found = files.find(word + end); found != files.end())
          return &found->second;
    return nullptr;
  }
};

/// DIR itself, or its folders 0, 1, … of a record each.
std::vector<std::string> recordsIn(const std::string &path) {
  std::vector<std::string> list;
  for (unsigned i = 0;; ++i) {
    llvm::SmallString<256> one(path);
    llvm::sys::path::append(one, std::to_string(i));
    if (!llvm::sys::fs::is_directory(one))
      break;
    list.push_back(one.str().str());
  }
  if (list.empty())
    list.push_back(path);
  return list;
}

/// The result's inputs, of the dump.
llvm::Expected<std::vector<eval::OwnedTensor>> inputsIn(Dump &dump, llvm::ArrayRef<eval::Port> ports) {
  std::vector<eval::OwnedTensor> inputs;
  for (const eval::Port &port : ports) {
    eval::OwnedTensor tensor{port.type, port.shape, {}};
    for (int32_t &dim : tensor.shape)
      dim = std::max(dim, 1);
    tensor.bytes.resize(static_cast<size_t>(eval::product(tensor.shape)) * bitsPerElement(port.type).value_or(0) / 8);
    eval::Tensor view = viewOf(*port.value, tensor);
    if (!dump.read(*port.value, view))
      return makeError("there is no file of input \"" + printable(port.name) + "\" (0_" +
                       llvm::Twine(port.value->index) + ".npy); --values-data says where inputs are");
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

llvm::Error join(const std::string &model, const std::string &source, const ErrorMetric &metric, bool json) {
  PayloadStore store;
  auto models = loadRelated(source, model, store);
  if (!models)
    return models.takeError();
  auto run = ErrorRun::of(models->source, models->result, {});
  auto result = eval::compile(*models->result.model);
  if (!run || !result)
    return llvm::joinErrors(run ? llvm::Error::success() : run.takeError(),
                            result ? llvm::Error::success() : result.takeError());
  std::string signature = run->signatures().front();
  auto ports = run->inputs(signature), resultPorts = result->inputs(result->signatures().empty() ? "" : signature);
  if (!ports || !resultPorts)
    return firstError(ports, resultPorts);
  std::unique_ptr<quantize::Records> records;
  if (!data.empty()) {
    auto opened = data == "random" ? quantize::seededRecords(*ports, 4)
                                   : quantize::openRecords(data, quantize::RecordFormat::ByName, *ports);
    if (!opened)
      return opened.takeError();
    records = std::move(*opened);
  }
  std::vector<std::string> folders = recordsIn(folder);
  if (records && records->count() < folders.size())
    return makeError("there are tensors of " + llvm::Twine(folders.size()) + " records, and inputs of " +
                     llvm::Twine(records->count()));
  phase("executing");
  uint64_t computed = 0, replaced = 0;
  for (auto [i, path] : llvm::enumerate(folders)) {
    auto dump = Dump::open(path);
    if (!dump)
      return dump.takeError();
    llvm::Expected<std::vector<eval::OwnedTensor>> inputs = std::vector<eval::OwnedTensor>();
    if (records) {
      inputs = records->read(i);
    } else {
      auto given = inputsIn(*dump, *resultPorts);
      if (!given)
        return given.takeError();
      inputs = inputsOfSource(*ports, *resultPorts, run->pairs(), std::move(*given));
    }
    if (!inputs)
      return inputs.takeError();
    llvm::Error error =
        run->addReplaced(signature, std::move(*inputs), [&](const Operator &, const Value &value, eval::Tensor &tensor) {
          ++computed;
          replaced += dump->read(value, tensor);
        });
    if (error)
      return error;
    run->endRecord();
    for (const std::string &why : dump->refused)
      note(why);
    if (auto extra = dump->unused(); !extra.empty())
      note(llvm::Twine(extra.size()) + " files are of no tensor that is computed; the first is " +
           printable(extra.front(), 200));
  }
  if (replaced == 0)
    return makeError(printable(folder, 300) + ": no file is of a tensor of the model; they are called 0_12.npy, 12.npy or "
                                              "by the tensor's name");
  if (replaced < computed)
    note(llvm::Twine(computed - replaced) + " of " + llvm::Twine(computed) +
         " tensors have no file, and are computed here from those that have");
  auto rows = run->rows();
  ErrorReport report{*models->source.model, rows, llvm::sys::path::filename(source).str(),
                     llvm::sys::path::filename(model).str(), run->pairs().by, folders.size()};
  if (json)
    writeErrors(report, metric, llvm::outs());
  else
    printErrors(report, metric, ErrorOrder::Blame, llvm::outs());
  return llvm::Error::success();
}

} // namespace

cl::OptionCategory &tools::valuesCategory() { return category; }

bool tools::wantsValues() { return !folder.empty(); }

int tools::runValues(const std::string &model, const std::string &source, bool json) {
  if (source.empty())
    return fail("--join-values needs the model's source: --source");
  const ErrorMetric *metric = findErrorMetric(metricName);
  if (!metric)
    return fail("--values-metric: \"" + printable(metricName) + "\" is none of visq's");
  llvm::Error error = join(model, source, *metric, json);
  return error ? fail(std::move(error)) : 0;
}
