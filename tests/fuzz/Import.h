#pragma once

#include "import/Import.h"

#include "llvm/Support/Error.h"

#include <sys/mman.h>
#include <unistd.h>

/// Bytes as a file that exists nowhere.
inline llvm::Expected<origo::Imported> importBytes(const uint8_t *data, size_t size,
                                                   const origo::ImportOptions &options = {}) {
  int fd = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0)
    return llvm::createStringError("no file");
  auto descriptor = std::make_shared<origo::FileDescriptor>(fd);
  if (::write(fd, data, size) != static_cast<ssize_t>(size))
    return llvm::createStringError("no room");
  auto file = origo::MappedFile::adopt(descriptor, 0, size, "fuzz.circle");
  if (!file)
    return file.takeError();
  return origo::importModel(std::move(*file), options);
}
