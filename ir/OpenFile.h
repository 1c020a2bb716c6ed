#pragma once

#include "ir/Error.h"
#include "schema/InputFile.h"

/// Files beside models: readInput() with errors that name the file.
namespace origo {

inline llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> openFile(llvm::StringRef path) {
  auto file = readInput(path);
  if (!file)
    return inFile(path, makeError("cannot be read: " + file.getError().message()));
  return std::move(*file);
}

/// What `read` makes of the text of a file; it need not name the file in its errors.
template <class Read> auto readFile(llvm::StringRef path, Read read) -> decltype(read(llvm::StringRef())) {
  auto file = openFile(path);
  if (!file)
    return file.takeError();
  auto result = read((*file)->getBuffer());
  if (!result)
    return inFile(path, result.takeError());
  return result;
}

} // namespace origo
