#include "ir/Payload.h"

#include "ir/Error.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace origo {

using llvm::sys::RetryAfterSignal;

static llvm::Error systemError(const llvm::Twine &what) {
  int code = errno; // before anything else can change it
  return makeError(what + ": " + llvm::sys::StrError(code));
}

llvm::Expected<std::shared_ptr<MappedFile>> MappedFile::adopt(std::shared_ptr<FileDescriptor> fd, uint64_t offset,
                                                             uint64_t size, std::string path) {
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->fd = fd;
  file->base = offset;
  file->length = size;
  file->name = std::move(path);
  if (size) {
    void *data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd->fd, static_cast<off_t>(offset));
    if (data == MAP_FAILED)
      return inFile(file->name, systemError("cannot be mapped"));
    file->data = static_cast<const uint8_t *>(data);
  }
  return file;
}

/// A pipe cannot be mapped: its bytes go to an unlinked temporary file first.
static llvm::Expected<int> spoolPipe(int pipe) {
  llvm::SmallString<128> path;
  int fd;
  if (std::error_code ec = llvm::sys::fs::createTemporaryFile("origo", "input", fd, path))
    return makeError("no temporary file for the input: " + ec.message());
  llvm::sys::fs::remove(path);
  std::vector<char> window(1 << 20);
  for (;;) {
    ssize_t got = RetryAfterSignal(-1, ::read, pipe, window.data(), window.size());
    if (got == 0)
      return fd;
    for (ssize_t done = 0; got > 0 && done < got;) {
      ssize_t put = RetryAfterSignal(-1, ::write, fd, window.data() + done, got - done);
      if (put < 0)
        got = -1;
      done += put;
    }
    if (got < 0) {
      llvm::Error error = systemError("the input cannot be read to its end");
      ::close(fd);
      return error;
    }
  }
}

llvm::Expected<std::shared_ptr<MappedFile>> MappedFile::open(llvm::StringRef path) {
  int fd = path == "-" ? ::dup(0) : RetryAfterSignal(-1, ::open, path.str().c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return inFile(path, systemError("cannot be opened"));
  struct stat status;
  if (::fstat(fd, &status) != 0 || S_ISDIR(status.st_mode)) {
    ::close(fd);
    return inFile(path, makeError("is not a file"));
  }
  if (!S_ISREG(status.st_mode)) {
    llvm::Expected<int> spool = spoolPipe(fd);
    ::close(fd);
    if (!spool)
      return inFile(path, spool.takeError());
    fd = *spool;
    ::fstat(fd, &status);
  }
  return adopt(std::make_shared<FileDescriptor>(fd), 0, status.st_size, path.str());
}

MappedFile::~MappedFile() {
  if (data)
    ::munmap(const_cast<uint8_t *>(data), length);
}

FileDescriptor::~FileDescriptor() { ::close(fd); }

Payload::Payload(std::shared_ptr<MappedFile> file, uint64_t offset, uint64_t size)
    : data(file->bytes().data() + offset), length(size), mapping(file.get()), owner(std::move(file)) {}

Payload Payload::owned(std::string bytes) {
  Payload p;
  auto text = std::make_shared<std::string>(std::move(bytes));
  p.data = reinterpret_cast<const uint8_t *>(text->data());
  p.length = text->size();
  p.owner = std::move(text);
  return p;
}

Payload Payload::digest(std::string digest, uint64_t size) {
  Payload p;
  p.owner = std::make_shared<std::string>(std::move(digest));
  p.length = size;
  return p;
}

Payload Payload::slice(uint64_t offset, uint64_t size) const {
  assert(data && offset <= length && size <= length - offset);
  Payload part = *this;
  part.data += offset;
  part.length = size;
  return part;
}

bool Payload::sameBytes(const Payload &other) const {
  if (length != other.length)
    return false;
  if (!hasBytes() || !other.hasBytes())
    return !hasBytes() && !other.hasBytes() && digestText() == other.digestText();
  if (data == other.data || length == 0)
    return true;
  size_t ends = std::min<uint64_t>(length, 4096);
  return std::memcmp(data, other.data, ends) == 0 &&
         std::memcmp(data + length - ends, other.data + length - ends, ends) == 0 &&
         std::memcmp(data, other.data, length) == 0;
}

llvm::Expected<Payload>
PayloadStore::make(uint64_t size, llvm::function_ref<void(llvm::MutableArrayRef<uint8_t>, uint64_t)> fill) {
  if (size <= spillAbove) {
    std::string bytes(size, 0);
    fill({reinterpret_cast<uint8_t *>(bytes.data()), bytes.size()}, 0);
    return Payload::owned(std::move(bytes));
  }
  if (!spill) {
    int fd;
    llvm::SmallString<128> path(directory);
    if (directory.empty())
      llvm::sys::path::system_temp_directory(true, path);
    llvm::sys::path::append(path, ".origo-spill-%%%%%%%%");
    if (std::error_code ec = llvm::sys::fs::createUniqueFile(path, fd, path, llvm::sys::fs::OF_None, 0600))
      return makeError("no temporary file for computed constants beside the output: " + ec.message());
    llvm::sys::fs::remove(path);
    spill = std::make_shared<FileDescriptor>(fd);
  }
  constexpr uint64_t windowSize = 4 << 20, alignment = 64 << 10; // a multiple of the page size, for mapping
  uint64_t begin = (used + alignment - 1) / alignment * alignment;
  std::vector<uint8_t> window(std::min(size, windowSize));
  for (uint64_t at = 0; at < size; at += window.size()) {
    window.resize(std::min(size - at, windowSize));
    fill(window, at);
    for (size_t done = 0; done < window.size();) {
      ssize_t put = RetryAfterSignal(-1, ::pwrite, spill->fd, window.data() + done, window.size() - done,
                                     static_cast<off_t>(begin + at + done));
      if (put < 0)
        return systemError("computed constants do not fit on the disk of the output");
      done += put;
    }
  }
  used = begin + size;
  llvm::Expected<std::shared_ptr<MappedFile>> file = MappedFile::adopt(spill, begin, size, "computed constants");
  if (!file)
    return file.takeError();
  return Payload(*file, 0, size);
}

} // namespace origo
