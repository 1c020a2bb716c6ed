#include "commands/ValueDump.h"

#include "eval/Npy.h"
#include "eval/RealNumbers.h"
#include "schema/InputFile.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace origo::commands {

using llvm::Error;

namespace {

bool isHdf5(llvm::StringRef path) { return path.ends_with(".h5") || path.ends_with(".hdf5"); }

eval::Shape withoutOnes(llvm::ArrayRef<int32_t> shape) {
  eval::Shape rest;
  llvm::copy_if(shape, std::back_inserter(rest), [](int32_t dim) { return dim != 1; });
  return rest;
}

eval::Shape channelsFirst(llvm::ArrayRef<int32_t> shape) {
  eval::Shape turned(shape.begin(), shape.end());
  std::rotate(turned.begin() + 1, turned.end() - 1, turned.end());
  return turned;
}

/// [N,C,…] as [N,…,C].
std::vector<uint8_t> channelsLast(llvm::ArrayRef<uint8_t> bytes, llvm::ArrayRef<int32_t> shape, size_t elementSize) {
  std::vector<uint8_t> made(bytes.size());
  size_t channels = shape.back(), places = 1;
  for (int32_t dim : shape.drop_front().drop_back())
    places *= dim;
  for (size_t i = 0, count = bytes.size() / elementSize; i < count; ++i) {
    size_t outer = i / (channels * places), channel = i / places % channels, place = i % places;
    std::copy_n(&bytes[i * elementSize], elementSize,
                &made[((outer * places + place) * channels + channel) * elementSize]);
  }
  return made;
}

std::string called(llvm::StringRef name) {
  std::string text = name.str();
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

} // namespace

Error writeDumped(const eval::OwnedTensor &held, eval::Tensor &tensor, bool &turned) {
  bool list = held.shape.size() == 1 && held.shape[0] == tensor.count();
  bool same = withoutOnes(held.shape) == withoutOnes(tensor.shape);
  turned =
      !same && !list && tensor.shape.size() >= 3 && withoutOnes(held.shape) == withoutOnes(channelsFirst(tensor.shape));
  if (!same && !list && !turned)
    return makeError("is of shape " + eval::shapeText(held.shape) + ", the tensor of " + eval::shapeText(tensor.shape));
  size_t size = bitsPerElement(held.type).value_or(0) / 8;
  if (size == 0 || held.bytes.size() != static_cast<size_t>(tensor.count()) * size)
    return makeError("holds no numbers");
  std::vector<uint8_t> bytes = turned ? channelsLast(held.bytes, tensor.shape, size) : held.bytes;
  if (held.type == tensor.type) {
    llvm::copy(bytes, tensor.storage.begin());
    return Error::success();
  }
  // Real numbers of a tensor that is stored as integers, or another width of floats.
  eval::Tensor view;
  view.type = held.type;
  view.shape = tensor.shape;
  view.storage = bytes;
  auto numbers = eval::realNumbers(view);
  if (!numbers || !eval::isFloat(held.type) || !eval::storeNumbers(tensor, *numbers))
    return makeError("holds " + tensorTypeName(held.type) + ", the tensor " + tensorTypeName(tensor.type));
  return Error::success();
}

bool ValueDump::read(const Value &value, eval::Tensor &tensor) {
  Entry *entry = find(value);
  if (!entry)
    return false;
  entry->used = true;
  auto refuse = [&](Error error) {
    refused.push_back(printable(entry->path, 300) + ": " + llvm::toString(std::move(error)));
    return false;
  };
  llvm::Expected<eval::OwnedTensor> held = eval::OwnedTensor();
  if (entry->file) {
    held = entry->file->read(entry->number);
  } else {
    auto buffer = readInput(entry->path);
    if (!buffer)
      return refuse(makeError(buffer.getError().message()));
    llvm::ArrayRef<uint8_t> bytes = llvm::arrayRefFromStringRef((*buffer)->getBuffer());
    if (llvm::StringRef(entry->path).ends_with(".npy"))
      held = eval::readNpy(bytes);
    else if (bytes.size() != tensor.storage.size())
      return refuse(
          makeError("has " + llvm::Twine(bytes.size()) + " bytes, the tensor " + llvm::Twine(tensor.storage.size())));
    else
      held = eval::OwnedTensor{tensor.type, tensor.shape, bytes.vec()};
  }
  if (!held)
    return refuse(held.takeError());
  bool isTurned = false;
  if (Error error = writeDumped(*held, tensor, isTurned))
    return refuse(std::move(error));
  turned += isTurned;
  return true;
}

std::vector<std::string> ValueDump::unused() const {
  std::vector<std::string> list;
  for (const auto &entry : entries)
    if (!entry.second.used)
      list.push_back(entry.second.path);
  llvm::sort(list);
  return list;
}

/// As circle-interpreter --tap calls it, by number alone in the first subgraph, or by its name.
ValueDump::Entry *ValueDump::find(const Value &value) {
  llvm::SmallVector<std::string, 3> words{
      (llvm::Twine(value.subgraph()->index) + "_" + llvm::Twine(value.index)).str()};
  if (value.subgraph()->index == 0)
    words.push_back(std::to_string(value.index));
  if (!value.name.empty())
    words.push_back(called(value.name));
  for (const std::string &word : words)
    if (auto found = entries.find(word); found != entries.end())
      return &found->second;
  return nullptr;
}

Error ValueDump::addFile(const std::string &path) {
  if (!isHdf5(path)) {
    llvm::StringRef name = llvm::sys::path::filename(path);
    name.consume_back(".npy");
    entries[name] = {path};
    return Error::success();
  }
  auto file = quantize::Hdf5Tensors::open(path);
  if (!file)
    return file.takeError();
  auto shared = std::make_shared<quantize::Hdf5Tensors>(std::move(*file));
  for (auto [i, name] : llvm::enumerate(shared->names))
    entries[called(name)] = {path + ": dataset \"" + name + "\"", shared, i};
  return Error::success();
}

llvm::Expected<ValueDumps> ValueDumps::open(const std::string &path) {
  ValueDumps dumps;
  if (!isHdf5(path) || llvm::sys::fs::is_directory(path)) {
    for (unsigned i = 0;; ++i) {
      llvm::SmallString<256> one(path);
      llvm::sys::path::append(one, std::to_string(i));
      if (!llvm::sys::fs::is_directory(one))
        break;
      dumps.folders.push_back(one.str().str());
    }
    if (dumps.folders.empty())
      dumps.folders.push_back(path);
    return dumps;
  }
  auto file = quantize::Hdf5Tensors::open(path);
  if (!file)
    return file.takeError();
  auto shared = std::make_shared<quantize::Hdf5Tensors>(std::move(*file));
  const auto &names = shared->names;
  bool inValue = llvm::all_of(names, [](llvm::StringRef name) { return name.starts_with("value/"); });
  std::vector<llvm::StringRef> rests;
  for (llvm::StringRef name : names)
    rests.push_back(name.drop_front(inValue ? strlen("value/") : 0));
  auto recordOf = [](llvm::StringRef name) -> std::optional<size_t> {
    auto [head, rest] = name.split('/');
    size_t number;
    return rest.empty() || head.getAsInteger(10, number) ? std::nullopt : std::optional(number);
  };
  bool grouped = llvm::all_of(rests, recordOf);
  for (auto [i, name] : llvm::enumerate(rests)) {
    size_t record = grouped ? *recordOf(name) : 0;
    if (record >= names.size())
      return inFile(path, makeError("has a group of record " + llvm::Twine(record) + ", and not of all before it"));
    if (record >= dumps.records.size())
      dumps.records.resize(record + 1);
    dumps.records[record].entries[called(grouped ? name.split('/').second : name)] = {
        path + ": dataset \"" + names[i] + "\"", shared, i};
  }
  for (auto [i, dump] : llvm::enumerate(dumps.records))
    if (dump.entries.empty())
      return inFile(path, makeError("has no group of record " + llvm::Twine(i)));
  if (dumps.records.empty())
    return inFile(path, makeError("has no dataset"));
  return dumps;
}

llvm::Expected<ValueDump> ValueDumps::record(size_t number) const {
  if (folders.empty())
    return records[number];
  ValueDump dump;
  std::vector<std::string> files;
  std::error_code ec;
  for (llvm::sys::fs::directory_iterator it(folders[number], ec), end; it != end && !ec; it.increment(ec))
    if (llvm::sys::fs::is_regular_file(it->path()))
      files.push_back(it->path());
  llvm::sort(files); // of two of one tensor the last counts
  if (ec)
    return makeError(printable(folders[number], 300) + ": " + ec.message());
  for (const std::string &file : files)
    if (Error error = dump.addFile(file))
      return error;
  if (dump.entries.empty())
    return makeError(printable(folders[number], 300) + ": no file is there");
  return dump;
}

} // namespace origo::commands
