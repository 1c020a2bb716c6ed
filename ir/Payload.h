#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>

namespace origo {

/// An open file, closed with its last owner.
class FileDescriptor {
public:
  explicit FileDescriptor(int fd) : fd(fd) {}
  ~FileDescriptor();
  FileDescriptor(const FileDescriptor &) = delete;
  const int fd;
};

/// An open, read-only mapped file; an input model or the unlinked temporary file that computed constants are spilled to.
/// The mapping is MAP_PRIVATE/MAP_SHARED read-only: file-backed, never anonymous memory.
class MappedFile {
public:
  static llvm::Expected<std::shared_ptr<MappedFile>> open(llvm::StringRef path);
  /// Maps `size` bytes of an open file from `offset` (a multiple of the page size).
  static llvm::Expected<std::shared_ptr<MappedFile>> adopt(std::shared_ptr<FileDescriptor> fd, uint64_t offset, uint64_t size, std::string path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;

  llvm::ArrayRef<uint8_t> bytes() const { return {data, static_cast<size_t>(length)}; }
  uint64_t offset() const { return base; } ///< of bytes() in the file
  int descriptor() const { return fd->fd; } ///< for copy_file_range
  const std::string &path() const { return name; }

private:
  MappedFile() = default;
  const uint8_t *data = nullptr;
  uint64_t length = 0, base = 0;
  std::shared_ptr<FileDescriptor> fd;
  std::string name;
};

/// The bytes of a constant. Never writable; cheap to copy.
class Payload {
public:
  Payload() = default;
  /// A slice of a mapped file.
  Payload(std::shared_ptr<MappedFile> file, uint64_t offset, uint64_t size);
  /// A small owned value.
  static Payload owned(std::string bytes);
  /// Bytes that are known by their digest only: such a text form parses, but reading or exporting it is refused.
  static Payload digest(std::string digest, uint64_t size);

  uint64_t size() const { return length; }
  bool empty() const { return length == 0; }
  bool hasBytes() const { return length == 0 || data; }
  llvm::ArrayRef<uint8_t> bytes() const { return {data, data ? static_cast<size_t>(length) : 0}; } ///< any alignment
  const MappedFile *file() const { return mapping; } ///< null when owned
  uint64_t offset() const { return mapping->offset() + (data - mapping->bytes().data()); } ///< in file()
  const std::string &digestText() const { return *static_cast<const std::string *>(owner.get()); }

  /// A part of a payload that has bytes; shares them.
  Payload slice(uint64_t offset, uint64_t size) const;

  /// Equal content: sizes, ends, and only then all bytes.
  bool sameBytes(const Payload &other) const;

private:
  const uint8_t *data = nullptr;
  uint64_t length = 0;
  const MappedFile *mapping = nullptr;
  std::shared_ptr<const void> owner; ///< the mapping; or a std::string: the bytes, or the digest
};

/// Where rewrites put the constants they compute. What is larger than `spillAbove` goes to one unlinked temporary file
/// and is mapped, so that it is exported like any slice of an input and held in no anonymous memory.
class PayloadStore {
public:
  static constexpr uint64_t spillAbove = 1 << 20;
  /// `directory`: where the temporary file is made on first need (beside the output, else TMPDIR).
  explicit PayloadStore(std::string directory = {}) : directory(std::move(directory)) {}
  /// Makes a payload of `size` bytes by asking `fill(window, offset)` for consecutive windows of at most 4 MiB (a
  /// multiple of 64 bytes but for the last).
  llvm::Expected<Payload> make(uint64_t size,
                               llvm::function_ref<void(llvm::MutableArrayRef<uint8_t> window, uint64_t offset)> fill);
  void setDirectory(std::string path) { directory = std::move(path); }

private:
  std::string directory;
  std::shared_ptr<FileDescriptor> spill;
  uint64_t used = 0;
};

} // namespace origo
