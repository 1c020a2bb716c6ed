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
  llvm::SmallString<256> own(data);
  llvm::sys::path::append(own, signature);
  bool apart = !signature.empty() && llvm::sys::fs::is_directory(own);
  return openRecords(apart ? own.str().str() : data, format, inputs, images);
}

llvm::Expected<std::unique_ptr<Records>> RecordsOpener::operator()(llvm::ArrayRef<eval::Port> inputs,
                                                                   llvm::StringRef signature) {
  auto records = request.open(inputs, signature);
  if (records && !request.arrays) {
    std::string text = orderNote(inputs, **records);
    if (!text.empty() && said.insert(text).second)
      door.note(text);
  }
  return records;
}

llvm::Expected<std::unique_ptr<Records>> recordsAt(const std::string &path, llvm::ArrayRef<eval::Port> inputs,
                                                   llvm::StringRef format) {
  RecordsRequest request;
  request.data = path;
  if (!format.empty())
    if (llvm::Error error = Codec<RecordFormat>::in(request.format, format)) {
      llvm::consumeError(std::move(error));
      return makeError("\"" + printable(format) +
                       "\" is no format of records; give h5, list, directory, numpy or images");
    }
  return path.empty() ? openRecords(path, request.format, inputs) : request.open(inputs, "");
}

llvm::Error checkRecords(const RecordsRequest &request, const Door &door) {
  if (llvm::any_of(request.images.deviation, [](float x) { return !(std::abs(x) > 0); }))
    return makeError(door.spell("std") + ": what is divided by is not 0");
  return llvm::Error::success();
}

} // namespace origo::commands
