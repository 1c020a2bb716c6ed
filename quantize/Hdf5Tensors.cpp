#include "quantize/Hdf5Tensors.h"

#include "quantize/RecordParts.h"
#include "readers/Protocol.h"

#include "llvm/ADT/StringExtras.h"

namespace origo::quantize {

llvm::Expected<Hdf5Tensors> Hdf5Tensors::open(const std::string &path) {
  auto reader = Reader::start("tensors", path, {});
  if (!reader)
    return inFile(path, reader.takeError());
  auto bytes = askFor(**reader, readers::countQuestion);
  if (!bytes)
    return inFile(path, bytes.takeError());
  Hdf5Tensors file;
  file.reader = std::move(*reader);
  llvm::SmallVector<llvm::StringRef> names;
  llvm::toStringRef(*bytes).split(names, '\0', -1, false);
  for (llvm::StringRef name : names)
    file.names.push_back(name.str());
  return file;
}

llvm::Expected<eval::OwnedTensor> Hdf5Tensors::read(uint64_t number) {
  auto bytes = askFor(*reader, number);
  if (!bytes)
    return bytes.takeError();
  llvm::ArrayRef<uint8_t> rest = *bytes;
  auto array = takeArray(rest);
  if (!array)
    return array.takeError();
  if (!array->type)
    return makeError("is of a type that no tensor has");
  return eval::OwnedTensor{*array->type, array->shape, {array->elements.begin(), array->elements.end()}};
}

} // namespace origo::quantize
