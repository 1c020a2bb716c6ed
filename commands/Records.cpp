#include "commands/Records.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cmath>

namespace origo::commands {

using namespace quantize;

llvm::Expected<std::unique_ptr<Records>> RecordsRequest::open(llvm::ArrayRef<eval::Port> inputs,
                                                              llvm::StringRef signature) const {
  if (arrays)
    return arrays(inputs);
  if (data.empty())
    return randomRecords(inputs);
  if (data == "random")
    return seededRecords(inputs, 4);
  // Signatures with inputs of their own have data of their own.
  if (!signature.empty() && llvm::sys::fs::is_directory(data)) {
    llvm::SmallString<256> own(data);
    llvm::sys::path::append(own, signature);
    for (const char *extension : {"", ".npz", ".npy", ".h5", ".hdf5", ".txt"})
      if (std::string path = (own + extension).str();
          *extension ? llvm::sys::fs::is_regular_file(path) : llvm::sys::fs::is_directory(path))
        return openRecords(path, format, inputs, images);
  }
  return openRecords(data, format, inputs, images);
}

namespace {

/// Tells what a person may not expect of records as they are read.
class WatchedRecords : public Records {
public:
  WatchedRecords(std::unique_ptr<Records> records, std::vector<std::string> names, std::set<std::string> &said,
                 const Door &door)
      : records(std::move(records)), names(std::move(names)), said(said), door(door) {}
  uint64_t count() const override { return records->count(); }
  bool hasNoNames() const override { return records->hasNoNames(); }
  llvm::Expected<std::vector<eval::OwnedTensor>> read(uint64_t record) override {
    auto inputs = records->read(record);
    if (!inputs)
      return inputs;
    for (const std::string &line : records->remarks())
      say(line);
    for (auto [i, input] : llvm::enumerate(*inputs))
      if (input.type == TensorType::FLOAT32)
        tellOdd(record, i, {reinterpret_cast<const float *>(input.bytes.data()), input.bytes.size() / sizeof(float)});
    return inputs;
  }

private:
  std::unique_ptr<Records> records;
  std::vector<std::string> names;
  std::set<std::string> &said;
  const Door &door;

  bool say(const std::string &line) {
    bool isNew = said.insert(line).second;
    if (isNew)
      door.note(line);
    return isNew;
  }
  void tellOdd(uint64_t record, size_t input, llvm::ArrayRef<float> numbers) {
    auto odd = llvm::count_if(numbers, [](float x) { return std::isnan(x); });
    if (odd == 0)
      return;
    constexpr size_t most = 8;
    std::string prefix = "record ";
    auto told =
        llvm::count_if(said, [&](const std::string &line) { return llvm::StringRef(line).starts_with(prefix); });
    std::string line = prefix + std::to_string(record) + ": " + std::to_string(odd) + " of the " +
                       std::to_string(numbers.size()) + " numbers of input \"" +
                       printable(input < names.size() ? names[input] : "", 200) + "\" are NaN";
    if (static_cast<size_t>(told) < most)
      say(line);
    else if (!said.count(line))
      say("more records have NaN than these " + std::to_string(most));
  }
};

} // namespace

llvm::Expected<std::unique_ptr<Records>> RecordsOpener::operator()(llvm::ArrayRef<eval::Port> inputs,
                                                                   llvm::StringRef signature) {
  return watch(request.open(inputs, signature), inputs);
}

llvm::Expected<std::unique_ptr<Records>> RecordsOpener::watch(llvm::Expected<std::unique_ptr<Records>> records,
                                                              llvm::ArrayRef<eval::Port> inputs) {
  if (!records || request.arrays)
    return records;
  std::string text = orderNote(inputs, **records);
  if (!text.empty() && said.insert(text).second)
    door.note(text);
  std::vector<std::string> names;
  for (const eval::Port &port : inputs)
    names.push_back(port.name);
  return std::make_unique<WatchedRecords>(std::move(*records), std::move(names), said, door);
}

llvm::Expected<std::unique_ptr<Records>> recordsAt(const std::string &path, llvm::ArrayRef<eval::Port> inputs,
                                                   llvm::StringRef format, const ImageOptions &images) {
  RecordsRequest request;
  request.data = path;
  request.images = images;
  if (!format.empty())
    if (llvm::Error error = Codec<RecordFormat>::in(request.format, format)) {
      llvm::consumeError(std::move(error));
      return makeError("\"" + printable(format) +
                       "\" is no format of records; give h5, list, directory, numpy or images");
    }
  return path.empty() ? openRecords(path, request.format, inputs, images) : request.open(inputs, "");
}

llvm::Error checkRecords(const RecordsRequest &request, const Door &door) {
  if (llvm::any_of(request.images.deviation, [](float x) { return !(std::abs(x) > 0); }))
    return makeError(door.spell("std") + ": what is divided by is not 0");
  return llvm::Error::success();
}

} // namespace origo::commands
