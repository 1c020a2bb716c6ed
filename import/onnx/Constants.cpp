#include "import/onnx/Builder.h"
#include "schema/OnnxTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

/// What stands in a graph without being computed.
namespace origo::onnx {

using llvm::Error;
using llvm::Expected;
using llvm::Twine;

/// Of the model's folder only, whatever links say.
Expected<std::shared_ptr<MappedFile>> Builder::openBeside(llvm::StringRef location) {
  auto &known = beside[location];
  if (known)
    return known;
  auto refuse = [&](const Twine &why) { return makeError("external data in " + inQuotes(location) + ": " + why); };
  if (location.empty() || location.contains('\0') || llvm::sys::path::is_absolute(location))
    return refuse("not a path within the model's folder");
  llvm::SmallString<128> folder(llvm::sys::path::parent_path(file->path())), realFolder, real;
  if (folder.empty())
    folder = ".";
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, location);
  if (std::error_code error = llvm::sys::fs::real_path(folder, realFolder))
    return refuse(error.message());
  if (std::error_code error = llvm::sys::fs::real_path(path, real))
    return refuse(error.message());
  if (realFolder.back() != '/')
    realFolder += '/';
  if (!real.starts_with(realFolder))
    return refuse("not a path within the model's folder");
  auto opened = MappedFile::open(real);
  if (!opened)
    return opened.takeError();
  known = std::move(*opened);
  model.keep(known);
  return known;
}

Expected<Payload> Builder::payload(const TensorProto &tensor, uint64_t size) {
  auto wrong = [&](uint64_t has) {
    return makeError("tensor " + inQuotes(tensor.name) + " has " + Twine(has) + " bytes, and its shape " + Twine(size));
  };
  if (tensor.external) {
    auto data = openBeside(tensor.location);
    if (!data)
      return data.takeError();
    uint64_t has = (*data)->bytes().size();
    if (tensor.offset > has || size > has - tensor.offset || (tensor.length && *tensor.length != size))
      return makeError("tensor " + inQuotes(tensor.name) + " lies beyond " + inQuotes(tensor.location));
    return size ? Payload(*data, tensor.offset, size) : Payload();
  }
  if (tensor.hasRaw) {
    if (tensor.raw.size() != size)
      return wrong(tensor.raw.size());
    auto *start = reinterpret_cast<const uint8_t *>(tensor.raw.data());
    return size ? Payload(file, static_cast<uint64_t>(start - file->bytes().data()), size) : Payload();
  }
  if (tensor.typed.size() != size)
    return wrong(tensor.typed.size());
  return size ? Payload::owned(tensor.typed) : Payload();
}

Expected<Value *> Builder::constant(const TensorProto &tensor, llvm::StringRef name) {
  std::optional<TensorType> type = tensorTypeOfOnnx(static_cast<int64_t>(tensor.type));
  if (!type)
    return makeError("tensor " + inQuotes(name) + " has the type " + Twine(static_cast<int>(tensor.type)) +
                     " of ONNX, which is not taken");
  llvm::SmallVector<int32_t, 4> shape;
  for (int64_t dim : tensor.dims) {
    if (dim < 0 || dim > INT32_MAX)
      return makeError("tensor " + inQuotes(name) + " has a dimension of " + Twine(dim));
    shape.push_back(static_cast<int32_t>(dim));
  }
  Value &value = model.addValue(*scope->graph);
  value.type = *type;
  value.hasShape = true;
  value.hasRank = shape.empty();
  value.shape = shape;
  value.name = name;
  std::optional<uint64_t> count = value.elementCount(), size = count ? payloadBytes(*type, *count) : std::nullopt;
  if (!size)
    return makeError("tensor " + inQuotes(name) + " is too big");
  Expected<Payload> bytes = payload(tensor, *size);
  if (!bytes)
    return bytes.takeError();
  value.buffer = &model.addBuffer(std::move(*bytes));
  return &value;
}

Error Builder::input(const ValueInfo &info) {
  std::optional<TensorType> type = info.isTensor ? tensorTypeOfOnnx(static_cast<int64_t>(info.type)) : std::nullopt;
  if (!type)
    return makeError("input " + inQuotes(info.name) +
                     (info.isTensor ? " has a type that is not taken: " + std::to_string(int(info.type)) + " of ONNX"
                                    : " is no tensor, and sequences, maps and optionals are not taken"));
  auto given = shapes.find(info.name);
  if (!info.hasShape && given == shapes.end())
    return makeError("input " + inQuotes(info.name) + " has no shape; --shape NAME=1,3,… gives one");
  Value &value = model.addValue(*scope->graph);
  llvm::SmallVector<int32_t, 4> shape;
  for (const Dimension &dim : info.dims) {
    if (dim.size && *dim.size > INT32_MAX)
      return makeError("input " + inQuotes(info.name) + " has a dimension of " + Twine(*dim.size));
    shape.push_back(dim.size ? static_cast<int32_t>(*dim.size) : -1);
  }
  if (given != shapes.end()) {
    auto agrees = [](auto sizes) { return std::get<0>(sizes) == -1 || std::get<0>(sizes) == std::get<1>(sizes); };
    bool fits = !info.hasShape ||
                (shape.size() == given->second.size() && llvm::all_of(llvm::zip(shape, given->second), agrees));
    if (!fits)
      return makeError("input " + inQuotes(info.name) + " cannot have the shape that is asked for");
    shape = given->second;
  }
  value.type = *type;
  value.hasShape = true;
  value.hasRank = shape.empty();
  value.shape = shape;
  value.name = info.name;
  if (llvm::is_contained(shape, -1)) {
    value.setShapeSignature(model.copy(llvm::ArrayRef<int32_t>(shape)));
    value.shape.unknownToOne();
  }
  return define(info.name, value);
}

} // namespace origo::onnx
