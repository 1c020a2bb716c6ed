#include "quantize/Records.h"

#include "eval/Npy.h"
#include "eval/RandomInput.h"
#include "quantize/Npz.h"
#include "quantize/RecordParts.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <random>

namespace origo::quantize {

using namespace eval;
using Bytes = llvm::ArrayRef<uint8_t>;

Records::~Records() = default;

std::string orderNote(llvm::ArrayRef<Port> inputs, const Records &records) {
  if (inputs.size() < 2 || !records.hasNoNames() || llvm::any_of(inputs, [](const Port &port) { return !port.value; }))
    return {};
  const Subgraph *graph = inputs.front().value->subgraph();
  auto listed = [](auto names) {
    std::string text;
    for (llvm::StringRef name : names)
      text += (text.empty() ? "\"" : ", \"") + printable(name) + "\"";
    return text;
  };
  for (const Signature &signature : graph->model().signatures) {
    if (signature.subgraph != graph || signature.inputs.size() != inputs.size())
      continue;
    bool differs = false, fits = true;
    for (auto [entry, port] : llvm::zip_equal(signature.inputs, inputs)) {
      differs |= entry.value != port.value;
      fits &= entry.value && entry.value->type == port.type && entry.value->shape == port.value->shape;
    }
    if (differs && fits)
      return "data without names are in the order of the subgraph's inputs, " +
             listed(llvm::map_range(inputs, [](const Port &port) { return port.value->name.text(); })) +
             "; signature \"" + printable(signature.key) + "\" lists them as " +
             listed(llvm::map_range(signature.inputs,
                                    [](const Signature::Entry &entry) { return entry.value->name.text(); })) +
             ", and .npz files tell them by name";
  }
  return {};
}

std::string inputText(llvm::ArrayRef<Port> ports, size_t i) {
  return ("input " + llvm::Twine(i) + " \"" + printable(ports[i].name) + "\"").str();
}

namespace {

Bytes bytesOf(const llvm::MemoryBuffer &file) {
  return {reinterpret_cast<const uint8_t *>(file.getBufferStart()), file.getBufferSize()};
}

} // namespace

std::optional<uint64_t> sizeOf(const Port &port) {
  uint64_t count = 1;
  for (int32_t dim : port.shape)
    if (dim < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count))
      return std::nullopt;
  return port.rankKnown ? payloadBytes(port.type, count) : std::nullopt;
}

llvm::Expected<OwnedTensor> ofRaw(llvm::ArrayRef<Port> ports, size_t i, Bytes bytes) {
  const Port &port = ports[i];
  OwnedTensor tensor{port.type, port.shape, {bytes.begin(), bytes.end()}};
  std::optional<uint64_t> size = sizeOf(port);
  if (!size && port.rankKnown && llvm::count(port.shape, -1) == 1) {
    Port one = port;
    int32_t &open = *llvm::find(tensor.shape, -1);
    *llvm::find(one.shape, -1) = 1;
    if (auto slice = sizeOf(one); slice && *slice != 0 && bytes.size() / *slice <= INT32_MAX) {
      open = static_cast<int32_t>(bytes.size() / *slice);
      size = *slice * std::max(open, 1);
    }
  }
  if (!size)
    return makeError(inputText(ports, i) + " is of unknown shape " + shapeText(port.shape) +
                     ", which bare elements do not tell; give the data as .npy files");
  if (*size != bytes.size())
    return makeError("has " + llvm::Twine(bytes.size()) + " bytes, " + inputText(ports, i) + " of " +
                     tensorTypeName(port.type) + shapeText(port.shape) + " takes " + llvm::Twine(*size));
  return tensor;
}

namespace {

/// The elements of all inputs, one behind the other.
llvm::Expected<Record> allOfRaw(llvm::ArrayRef<Port> ports, Bytes bytes) {
  Record record;
  for (size_t i = 0; i < ports.size(); ++i) {
    std::optional<uint64_t> size = ports.size() == 1 ? bytes.size() : sizeOf(ports[i]);
    if (!size)
      return makeError(inputText(ports, i) + " is of unknown shape " + shapeText(ports[i].shape) +
                       ", so where it ends is not known; give the data as .npy files");
    if (*size > bytes.size())
      return makeError("is too short: it ends in " + inputText(ports, i));
    auto tensor = ofRaw(ports, i, bytes.take_front(*size));
    if (!tensor)
      return tensor.takeError();
    record.push_back(std::move(*tensor));
    bytes = bytes.drop_front(*size);
  }
  if (!bytes.empty())
    return makeError("has " + llvm::Twine(bytes.size()) + " bytes more than the inputs take");
  return record;
}

} // namespace

bool fits(const Port &port, llvm::ArrayRef<int32_t> shape) {
  return !port.rankKnown ||
         llvm::equal(port.shape, shape, [](int32_t want, int32_t have) { return want < 0 || want == have; });
}

namespace {

/// Arrays of a .npy or .npz file, one for each input: records one by one, or one record alone.
class Arrays {
public:
  llvm::Error open(llvm::ArrayRef<Port> ports, const std::string &path) {
    auto file = openFile(path);
    if (!file)
      return file.takeError();
    if (llvm::Error error = take(ports, bytesOf(**file), llvm::StringRef(path).ends_with(".npz")))
      return inFile(path, std::move(error));
    return llvm::Error::success();
  }
  uint64_t count() const { return records; }
  bool isNamed = true; ///< but for a single array, which needs no name
  Record read(uint64_t record) const {
    Record all;
    for (const auto &[i, array] : llvm::enumerate(arrays)) {
      uint64_t size = array.bytes.size() / counts[i], at = counts[i] == 1 ? 0 : record;
      OwnedTensor &one = all.emplace_back(OwnedTensor{array.type, shapes[i], {}});
      one.bytes.assign(array.bytes.begin() + at * size, array.bytes.begin() + (at + 1) * size);
    }
    return all;
  }

private:
  Record arrays;
  std::vector<Shape> shapes;    ///< of one record of each
  std::vector<uint64_t> counts; ///< of records in each; what is there once is the same in all
  uint64_t records = 1;

  /// The shape of one record, and how many there are; none: the array does not fit.
  static std::optional<std::pair<Shape, uint64_t>> recordsOf(const Port &port, const OwnedTensor &array) {
    llvm::ArrayRef<int32_t> shape = array.shape, rest = shape.empty() ? shape : shape.drop_front();
    auto counted = [&](Shape one) { return std::pair(std::move(one), static_cast<uint64_t>(shape[0])); };
    if (fits(port, shape))
      return std::pair(array.shape, uint64_t(1));
    if (!shape.empty() && fits(port, rest))
      return counted(Shape(rest.begin(), rest.end()));
    // An input of one image or sentence, and an array of several, or of one without that dimension.
    Shape one = {1};
    one.append(rest.begin(), rest.end());
    if (!shape.empty() && fits(port, one))
      return counted(one);
    one.resize(1);
    one.append(shape.begin(), shape.end());
    if (fits(port, one))
      return std::pair(one, uint64_t(1));
    return std::nullopt;
  }

  llvm::Error take(llvm::ArrayRef<Port> ports, Bytes bytes, bool isArchive) {
    if (isArchive) {
      auto named = readNpz(bytes);
      if (!named)
        return named.takeError();
      if (named->size() != ports.size())
        return makeError("has " + llvm::Twine(named->size()) + " arrays for " + llvm::Twine(ports.size()) + " inputs");
      for (size_t i = 0; i < ports.size(); ++i) {
        auto called = [&](llvm::StringRef name) {
          return llvm::find_if(*named, [&](const NamedTensor &one) { return one.name == name; });
        };
        auto own = called(ports[i].name); // a signature has a name of its own for the tensor
        if (own == named->end() && ports[i].value)
          own = called(ports[i].value->name.str());
        if (own == named->end()) { // numpy.savez(file, a, b) calls them so
          own = called("arr_" + std::to_string(i));
          isNamed = false;
        }
        if (own == named->end())
          return makeError("has no array \"" + printable(ports[i].name) + "\" and no \"arr_" + llvm::Twine(i) +
                           "\" for " + inputText(ports, i));
        arrays.push_back(std::move(own->tensor));
      }
    } else {
      auto one = readNpy(bytes);
      if (!one)
        return one.takeError();
      if (ports.size() != 1)
        return makeError("is one array for " + llvm::Twine(ports.size()) +
                         " inputs; write them with numpy.savez, each under the name of its input");
      arrays.push_back(std::move(*one));
    }
    for (size_t i = 0; i < ports.size(); ++i) {
      const OwnedTensor &array = arrays[i];
      if (array.type != ports[i].type)
        return makeError("holds " + tensorTypeName(array.type) + ", " + inputText(ports, i) + " is " +
                         tensorTypeName(ports[i].type) + "; write it with array.astype(numpy." +
                         tensorTypeName(ports[i].type).lower() + ")");
      auto one = recordsOf(ports[i], array);
      if (!one || (one->second != 1 && records != 1 && one->second != records))
        return makeError("holds an array of shape " + shapeText(array.shape) + ", " + inputText(ports, i) + " is of " +
                         shapeText(ports[i].shape) + ", or as many behind a first dimension of records as the others");
      shapes.push_back(std::move(one->first));
      counts.push_back(one->second);
      records = records == 1 ? one->second : records;
    }
    return llvm::Error::success();
  }
};

bool isNumpy(llvm::StringRef path) { return path.ends_with(".npy") || path.ends_with(".npz"); }

llvm::Expected<Record> readRecord(llvm::ArrayRef<Port> ports, const std::string &path) {
  if (isNumpy(path)) {
    Arrays arrays;
    if (llvm::Error error = arrays.open(ports, path))
      return error;
    if (arrays.count() != 1)
      return makeError(printable(path, 300) + ": holds " + llvm::Twine(arrays.count()) +
                       " records; a file of a directory or a list is one");
    return arrays.read(0);
  }
  auto file = openFile(path);
  if (!file)
    return file.takeError();
  auto record = allOfRaw(ports, bytesOf(**file));
  if (!record)
    return inFile(path, record.takeError());
  return record;
}

class NumpyRecords : public Records {
public:
  Arrays arrays;
  uint64_t count() const override { return arrays.count(); }
  bool hasNoNames() const override { return !arrays.isNamed; }
  llvm::Expected<Record> read(uint64_t record) override { return arrays.read(record); }
};

/// Files that are one record each, or one input of a record.
class FileRecords : public Records {
public:
  explicit FileRecords(llvm::ArrayRef<Port> ports) : ports(ports.begin(), ports.end()) {}
  std::vector<std::vector<std::string>> files;
  uint64_t count() const override { return files.size(); }
  bool hasNoNames() const override {
    return llvm::any_of(
        files, [](const auto &parts) { return parts.size() > 1 || !llvm::StringRef(parts.front()).ends_with(".npz"); });
  }
  llvm::Expected<Record> read(uint64_t record) override {
    const std::vector<std::string> &parts = files[record];
    if (parts.size() == 1)
      return readRecord(ports, parts.front());
    Record all;
    for (size_t i = 0; i < parts.size(); ++i) {
      auto one = [&]() -> llvm::Expected<OwnedTensor> {
        llvm::ArrayRef<Port> port = llvm::ArrayRef(ports).slice(i, 1);
        auto alone = readRecord(port, parts[i]);
        if (!alone)
          return alone.takeError();
        return std::move(alone->front());
      }();
      if (!one)
        return one.takeError();
      all.push_back(std::move(*one));
    }
    return all;
  }

private:
  std::vector<Port> ports;
};

class RandomRecords : public Records {
public:
  std::vector<Port> ports;
  uint64_t count() const override { return 3; }
  llvm::Expected<Record> read(uint64_t record) override {
    std::mt19937 generator;
    Record last;
    for (uint64_t i = 0; i <= record; ++i) {
      last.clear();
      for (const Port &port : ports)
        last.push_back(make(port, generator));
    }
    return last;
  }
  static bool canMake(TensorType type) {
    switch (type) {
    case TensorType::FLOAT32:
    case TensorType::INT32:
    case TensorType::INT64:
    case TensorType::INT16:
    case TensorType::UINT8:
    case TensorType::BOOL:
      return true;
    default:
      return false;
    }
  }

private:
  template <class T, class Distribution>
  static void fill(OwnedTensor &tensor, Distribution distribution, std::mt19937 &generator) {
    for (size_t at = 0; at + sizeof(T) <= tensor.bytes.size(); at += sizeof(T)) {
      T element = static_cast<T>(distribution(generator));
      std::memcpy(tensor.bytes.data() + at, &element, sizeof(T));
    }
  }
  static OwnedTensor make(const Port &port, std::mt19937 &generator) {
    OwnedTensor tensor{port.type, port.shape, std::vector<uint8_t>(*sizeOf(port))};
    switch (port.type) {
    case TensorType::FLOAT32:
      fill<float>(tensor, std::uniform_real_distribution<float>(-5, 5), generator);
      break;
    case TensorType::INT64:
      fill<int64_t>(tensor, std::uniform_int_distribution<int64_t>(0, 100), generator);
      break;
    case TensorType::INT16:
      fill<int16_t>(tensor, std::uniform_int_distribution<int>(0, 100), generator);
      break;
    case TensorType::UINT8:
      fill<uint8_t>(tensor, std::uniform_int_distribution<int>(0, 100), generator);
      break;
    case TensorType::BOOL:
      fill<uint8_t>(tensor, std::uniform_int_distribution<int>(0, 1), generator);
      break;
    default:
      fill<int32_t>(tensor, std::uniform_int_distribution<int32_t>(0, 100), generator);
    }
    return tensor;
  }
};

llvm::Expected<std::unique_ptr<Records>> openList(const std::string &path, llvm::ArrayRef<Port> inputs) {
  auto file = openFile(path);
  if (!file)
    return file.takeError();
  auto records = std::make_unique<FileRecords>(inputs);
  llvm::SmallVector<llvm::StringRef> lines, names;
  (*file)->getBuffer().split(lines, '\n');
  for (auto [number, line] : llvm::enumerate(lines)) {
    names.clear();
    line.trim("\r ").split(names, ' ', -1, false);
    if (names.empty())
      continue;
    if (names.size() != 1 && names.size() != inputs.size())
      return makeError(printable(path, 300) + ":" + llvm::Twine(number + 1) + ": names " + llvm::Twine(names.size()) +
                       " files for " + llvm::Twine(inputs.size()) +
                       " inputs; give one for each, separated by spaces, or one with all");
    records->files.emplace_back(names.begin(), names.end());
  }
  return records;
}

/// Its files in the order of their names, which is the same everywhere.
llvm::Expected<std::vector<std::string>> filesOf(const std::string &path) {
  std::vector<std::string> files;
  std::error_code ec;
  llvm::sys::fs::directory_iterator it(path, ec), end;
  for (; it != end && !ec; it.increment(ec))
    if (llvm::sys::fs::is_regular_file(it->path()))
      files.push_back(it->path());
  if (ec)
    return makeError(printable(path, 300) + ": " + ec.message());
  llvm::sort(files);
  return files;
}

bool hasExtension(llvm::StringRef path, std::initializer_list<llvm::StringRef> extensions) {
  return llvm::any_of(extensions, [&](llvm::StringRef extension) { return path.ends_with_insensitive(extension); });
}
bool isImage(llvm::StringRef path) { return hasExtension(path, {".png", ".jpg", ".jpeg", ".bmp"}); }
/// Labels and what a file manager leaves.
bool isBesideImages(llvm::StringRef path) {
  return llvm::sys::path::filename(path).starts_with(".") ||
         hasExtension(path, {".txt", ".csv", ".tsv", ".json", ".md", ".xml", ".yaml", ".ini", ".db"});
}

} // namespace

llvm::Expected<std::unique_ptr<Records>> openRecords(const std::string &path, RecordFormat format,
                                                     llvm::ArrayRef<Port> inputs, const ImageOptions &images) {
  llvm::StringRef name = path;
  bool isDirectory = format == RecordFormat::ByName
                         ? llvm::sys::fs::is_directory(path)
                         : llvm::is_contained({RecordFormat::Directory, RecordFormat::Images}, format);
  std::vector<std::string> files;
  if (isDirectory) {
    auto found = filesOf(path);
    if (!found)
      return found.takeError();
    files = std::move(*found);
  }
  if (format == RecordFormat::ByName)
    format = isDirectory && llvm::any_of(files, isImage)        ? RecordFormat::Images
             : isDirectory                                      ? RecordFormat::Directory
             : isNumpy(path)                                    ? RecordFormat::Numpy
             : name.ends_with(".h5") || name.ends_with(".hdf5") ? RecordFormat::Hdf5
                                                                : RecordFormat::List;
  if (format == RecordFormat::Images)
    llvm::erase_if(files, isBesideImages);
  auto records = [&]() -> llvm::Expected<std::unique_ptr<Records>> {
    if (format == RecordFormat::Directory) {
      auto list = std::make_unique<FileRecords>(inputs);
      for (std::string &file : files)
        list->files.push_back({std::move(file)});
      return list;
    }
    if (format == RecordFormat::Images)
      return imageRecords(std::move(files), inputs, images);
    if (format == RecordFormat::Hdf5)
      return hdf5Records(path, inputs);
    if (format == RecordFormat::List)
      return openList(path, inputs);
    auto numpy = std::make_unique<NumpyRecords>();
    if (llvm::Error error = numpy->arrays.open(inputs, path))
      return error;
    return numpy;
  }();
  if (records && (*records)->count() == 0)
    return makeError(printable(path, 300) + ": there is no record in it");
  return records;
}

namespace {

class SeededRecords : public Records {
public:
  std::vector<Port> ports;
  uint64_t records = 0;
  uint64_t count() const override { return records; }
  llvm::Expected<Record> read(uint64_t record) override {
    Record all;
    for (const auto &[i, port] : llvm::enumerate(ports)) {
      auto one = randomInput(port, static_cast<unsigned>(i), static_cast<uint32_t>(record + 1));
      if (!one)
        return one.takeError();
      all.push_back(std::move(*one));
    }
    return all;
  }
};

} // namespace

llvm::Expected<std::unique_ptr<Records>> seededRecords(llvm::ArrayRef<Port> inputs, uint64_t count) {
  auto records = std::make_unique<SeededRecords>();
  records->ports.assign(inputs.begin(), inputs.end());
  records->records = count;
  return records;
}

llvm::Expected<std::unique_ptr<Records>> randomRecords(llvm::ArrayRef<Port> inputs) {
  auto records = std::make_unique<RandomRecords>();
  for (const auto &[i, port] : llvm::enumerate(inputs)) {
    Port known = port;
    known.rankKnown = true; // as it is stated
    std::replace(known.shape.begin(), known.shape.end(), -1, 1);
    auto size = sizeOf(known);
    if (!RandomRecords::canMake(port.type) || !size || *size > CompileOptions().memoryLimit)
      return makeError(inputText(inputs, i) + " is " + tensorTypeName(port.type) + shapeText(port.shape) +
                       ", for which there are no random numbers; give --input_data");
    records->ports.push_back(std::move(known));
  }
  return records;
}

} // namespace origo::quantize
