#include "ir/Payload.h"

#include "ir/AtomicFile.h"
#include "ir/Error.h"
#include "schema/InputFile.h"
#include "schema/Refusals.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
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

/// The bytes of `from` in an unlinked temporary file.
static llvm::Expected<int> spool(int from, InputKind kind) {
  llvm::SmallString<128> directory;
  llvm::sys::path::system_temp_directory(true, directory);
  int fd = openNameless(directory.str().str());
  if (fd < 0)
    return systemError("no temporary file for the input");
  const uint64_t limit = kind == InputKind::Pipe ? pipeLimit() : UINT64_MAX;
  std::vector<char> window(1 << 20);
  for (uint64_t total = 0;;) {
    ssize_t got = RetryAfterSignal(-1, ::read, from, window.data(), window.size());
    if (got == 0)
      return fd;
    if (got > 0 && (total += got) > limit) {
      ::close(fd);
      return makeError("cannot be read: " + pipeTooLong().message());
    }
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
  return open(path, inputsAreCopied());
}
llvm::Expected<std::shared_ptr<MappedFile>> MappedFile::openCopy(llvm::StringRef path) { return open(path, true); }

llvm::Expected<std::shared_ptr<MappedFile>> MappedFile::open(llvm::StringRef path, bool copied) {
  int fd = path == "-" ? ::dup(0) : RetryAfterSignal(-1, ::open, path.str().c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return inFile(path, systemError("cannot be opened"));
  llvm::ErrorOr<InputKind> kind = inputKind(fd);
  if (!kind) {
    ::close(fd);
    return inFile(path, makeError(refusal::cannotOpen(kind.getError())));
  }
  if (copied || *kind == InputKind::Pipe) { // which cannot be mapped
    llvm::Expected<int> copy = spool(fd, *kind);
    ::close(fd);
    if (!copy)
      return inFile(path, copy.takeError());
    fd = *copy;
  }
  struct stat status = {};
  ::fstat(fd, &status);
  return adopt(std::make_shared<FileDescriptor>(fd), 0, status.st_size, path.str());
}

void MappedFile::rest() const {
  if (data)
    (void)::madvise(const_cast<uint8_t *>(data), length, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data)
    ::munmap(const_cast<uint8_t *>(data), length);
  if (givesBack) // where the file system cannot, the disk waits for the end of the run
    (void)::fallocate(fd->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(base),
                      static_cast<off_t>(length));
}

FileDescriptor::~FileDescriptor() { ::close(fd); }

Payload::Payload(std::shared_ptr<MappedFile> file, uint64_t offset, uint64_t size)
    : data(file->bytes().data() + offset), length(size), kind(Mapped), owner(std::move(file)) {}

Payload Payload::owned(std::string bytes) {
  Payload p;
  constexpr size_t small = 256;
  if (bytes.size() <= small) { // there may be one for each operator: in one piece of memory
    auto copy = std::make_shared_for_overwrite<uint8_t[]>(bytes.size());
    llvm::copy(bytes, copy.get());
    p.data = copy.get();
    p.length = bytes.size();
    p.owner = std::move(copy);
    return p;
  }
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
  p.kind = Digest;
  return p;
}

/// The unlinked temporary file of a store; lives as long as a payload may need it.
class SpillFile {
public:
  std::string directory;
  llvm::Expected<Payload> make(uint64_t size, llvm::function_ref<void(llvm::MutableArrayRef<uint8_t>, uint64_t)> fill);
  llvm::Expected<Payload> allocate(uint64_t size, llvm::MutableArrayRef<uint8_t> &room);
  uint64_t onDisk();

private:
  std::mutex mutex;
  std::shared_ptr<FileDescriptor> fd;
  uint64_t used = 0;

  /// A part of the file; it is mapped, and given back, by who gets it.
  llvm::Expected<std::shared_ptr<MappedFile>> take(uint64_t size);
  static llvm::Error map(MappedFile &part, int protection);
};

llvm::Expected<std::shared_ptr<MappedFile>> SpillFile::take(uint64_t size) {
  std::lock_guard lock(mutex);
  if (!fd) {
    llvm::SmallString<128> path(directory);
    if (directory.empty())
      llvm::sys::path::system_temp_directory(true, path);
    int descriptor = openNameless(path.str().str());
    if (descriptor < 0)
      return systemError("no temporary file for computed constants beside the output");
    fd = std::make_shared<FileDescriptor>(descriptor);
  }
  constexpr uint64_t alignment = 64 << 10; // a multiple of the page size, for mapping
  std::shared_ptr<MappedFile> part(new MappedFile());
  part->base = used;
  part->length = size;
  part->fd = fd;
  part->name = "computed constants";
  part->givesBack = true;
  used = (used + size + alignment - 1) / alignment * alignment;
  return part;
}

llvm::Error SpillFile::map(MappedFile &part, int protection) {
  void *data = ::mmap(nullptr, part.length, protection, MAP_SHARED, part.fd->fd, static_cast<off_t>(part.base));
  if (data == MAP_FAILED)
    return systemError("computed constants cannot be mapped");
  part.data = static_cast<const uint8_t *>(data);
  return llvm::Error::success();
}

static const char *const noRoom = "computed constants do not fit on the disk of the output";

llvm::Expected<Payload> SpillFile::make(uint64_t size,
                                        llvm::function_ref<void(llvm::MutableArrayRef<uint8_t>, uint64_t)> fill) {
  if (size <= PayloadStore::spillAbove) {
    std::string bytes(size, 0);
    fill({reinterpret_cast<uint8_t *>(bytes.data()), bytes.size()}, 0);
    return Payload::owned(std::move(bytes));
  }
  llvm::Expected<std::shared_ptr<MappedFile>> part = take(size);
  if (!part)
    return part.takeError();
  constexpr uint64_t windowSize = 1 << 20;
  std::vector<uint8_t> window(windowSize);
  for (uint64_t at = 0; at < size; at += window.size()) {
    window.resize(std::min(size - at, windowSize));
    fill(window, at);
    for (size_t done = 0; done < window.size();) {
      ssize_t put = RetryAfterSignal(-1, ::pwrite, (*part)->fd->fd, window.data() + done, window.size() - done,
                                     static_cast<off_t>((*part)->base + at + done));
      if (put < 0)
        return systemError(noRoom);
      done += put;
    }
  }
  if (llvm::Error error = map(**part, PROT_READ))
    return error;
  return Payload(std::move(*part), 0, size);
}

llvm::Expected<Payload> SpillFile::allocate(uint64_t size, llvm::MutableArrayRef<uint8_t> &room) {
  if (size <= PayloadStore::spillAbove) {
    Payload payload = Payload::owned(std::string(size, 0));
    room = {const_cast<uint8_t *>(payload.bytes().data()), static_cast<size_t>(size)};
    return payload;
  }
  llvm::Expected<std::shared_ptr<MappedFile>> part = take(size);
  if (!part)
    return part.takeError();
  // A full disk must show here: a write through the mapping could not report it.
  if (int code = ::posix_fallocate((*part)->fd->fd, static_cast<off_t>((*part)->base), static_cast<off_t>(size)))
    return makeError(llvm::Twine(noRoom) + ": " + llvm::sys::StrError(code));
  if (llvm::Error error = map(**part, PROT_READ | PROT_WRITE))
    return error;
  room = {const_cast<uint8_t *>((*part)->data), static_cast<size_t>(size)};
  return Payload(std::move(*part), 0, size);
}

uint64_t SpillFile::onDisk() {
  std::lock_guard lock(mutex);
  struct stat status;
  return fd && ::fstat(fd->fd, &status) == 0 ? static_cast<uint64_t>(status.st_blocks) * 512 : 0;
}

Computation::~Computation() = default;

/// What the copies of a computed payload share.
class Payload::Lazy {
public:
  Lazy(std::shared_ptr<const Computation> computation, uint64_t size, std::shared_ptr<SpillFile> spill)
      : size(size), spill(std::move(spill)), computation(std::move(computation)) {}

  /// The bytes, if they have been made; else null.
  const Payload *made() const {
    std::lock_guard lock(mutex);
    return computation ? nullptr : &result;
  }
  /// Null where the bytes have been made.
  std::shared_ptr<const Computation> toCompute() const {
    std::lock_guard lock(mutex);
    return computation;
  }
  llvm::Error make() const {
    std::lock_guard lock(mutex);
    if (!computation)
      return llvm::Error::success();
    llvm::Expected<Payload> made = spill->make(
        size, [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) { computation->fill(offset, window); });
    if (!made)
      return made.takeError();
    finish(std::move(*made));
    return llvm::Error::success();
  }
  void makeInMemory() const {
    std::lock_guard lock(mutex);
    if (!computation)
      return;
    std::string bytes(size, 0);
    computation->fill(0, {reinterpret_cast<uint8_t *>(bytes.data()), bytes.size()});
    finish(owned(std::move(bytes)));
  }

private:
  const uint64_t size;
  const std::shared_ptr<SpillFile> spill;
  mutable std::mutex mutex;
  mutable std::shared_ptr<const Computation> computation; ///< let go when it is done, with all that it reads from
  mutable Payload result;

  void finish(Payload made) const {
    result = std::move(made);
    computation = nullptr;
  }
};

Payload Payload::computed(std::shared_ptr<const Computation> computation, uint64_t size, PayloadStore &store) {
  Payload p;
  p.start = 0;
  p.length = size;
  p.kind = Computed;
  p.owner = std::make_shared<const Lazy>(std::move(computation), size, store.spill);
  return p;
}

const Payload::Lazy *Payload::lazy() const {
  return kind == Computed ? static_cast<const Lazy *>(owner.get()) : nullptr;
}

llvm::Error Payload::materialize() const { return lazy() ? lazy()->make() : llvm::Error::success(); }

llvm::ArrayRef<uint8_t> Payload::computedBytes() const {
  if (llvm::Error error = lazy()->make()) {
    llvm::consumeError(std::move(error));
    lazy()->makeInMemory();
  }
  return lazy()->made()->bytes().slice(start, length);
}

unsigned Payload::cost() const {
  std::shared_ptr<const Computation> computation = lazy() ? lazy()->toCompute() : nullptr;
  return computation ? computation->cost() : 0;
}

void Payload::read(uint64_t offset, llvm::MutableArrayRef<uint8_t> window) const {
  assert(hasBytes() && offset <= length && window.size() <= length - offset);
  if (std::shared_ptr<const Computation> computation = lazy() ? lazy()->toCompute() : nullptr)
    computation->fill(start + offset, window);
  else
    llvm::copy(bytes().slice(offset, window.size()), window.begin());
}

const MappedFile *Payload::file() const {
  if (kind != Computed)
    return mapping();
  const Payload *made = lazy()->made();
  return made ? made->mapping() : nullptr;
}

uint64_t Payload::offset() const {
  return kind == Computed ? lazy()->made()->offset() + start : mapping()->offset() + (data - mapping()->bytes().data());
}

Payload Payload::slice(uint64_t offset, uint64_t size) const {
  assert(hasBytes() && offset <= length && size <= length - offset);
  Payload part = *this;
  if (kind == Computed)
    part.start += offset;
  else
    part.data += offset;
  part.length = size;
  return part;
}

/// Without making all bytes of either.
static bool sameInWindows(const Payload &a, const Payload &b) {
  constexpr uint64_t windowSize = 256 << 10;
  std::vector<uint8_t> x(std::min(a.size(), windowSize)), y(x.size());
  for (uint64_t at = 0; at < a.size(); at += x.size()) {
    x.resize(std::min(a.size() - at, windowSize));
    y.resize(x.size());
    a.read(at, x);
    b.read(at, y);
    if (x != y)
      return false;
  }
  return true;
}

constexpr uint64_t endBytes = 4096;

bool Payload::sameBytes(const Payload &other) const {
  if (length != other.length)
    return false;
  if (!hasBytes() || !other.hasBytes())
    return !hasBytes() && !other.hasBytes() && digestText() == other.digestText();
  if (identity() == other.identity() || length == 0)
    return true;
  if (cost() || other.cost())
    return hash() == other.hash() && sameInWindows(*this, other);
  const uint8_t *mine = bytes().data(), *its = other.bytes().data();
  size_t ends = std::min<uint64_t>(length, endBytes);
  return std::memcmp(mine, its, ends) == 0 && std::memcmp(mine + length - ends, its + length - ends, ends) == 0 &&
         std::memcmp(mine, its, length) == 0;
}

uint64_t Payload::hash() const {
  uint8_t ends[2][endBytes];
  size_t size = std::min<uint64_t>(length, endBytes);
  read(0, {ends[0], size});
  read(length - size, {ends[1], size});
  return llvm::hash_combine(length, llvm::xxh3_64bits(llvm::ArrayRef(ends[0], size)),
                            llvm::xxh3_64bits(llvm::ArrayRef(ends[1], size)));
}

PayloadStore::PayloadStore(std::string directory) : spill(std::make_shared<SpillFile>()) {
  spill->directory = std::move(directory);
}

void PayloadStore::setDirectory(std::string path) { spill->directory = std::move(path); }
uint64_t PayloadStore::spilledBytes() const { return spill->onDisk(); }

llvm::Expected<Payload> PayloadStore::make(uint64_t size,
                                           llvm::function_ref<void(llvm::MutableArrayRef<uint8_t>, uint64_t)> fill) {
  return spill->make(size, fill);
}

llvm::Expected<Payload> PayloadStore::allocate(uint64_t size, llvm::MutableArrayRef<uint8_t> &room) {
  return spill->allocate(size, room);
}

} // namespace origo
