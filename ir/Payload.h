#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace origo {

/// An open file, closed with its last owner.
class FileDescriptor {
public:
  explicit FileDescriptor(int fd) : fd(fd) {}
  ~FileDescriptor();
  FileDescriptor(const FileDescriptor &) = delete;
  const int fd;
};

/// An open, read-only mapped file; an input model or the unlinked temporary file that computed constants are spilled
/// to. The mapping is MAP_PRIVATE/MAP_SHARED read-only: file-backed, never anonymous memory.
class MappedFile {
public:
  static llvm::Expected<std::shared_ptr<MappedFile>> open(llvm::StringRef path);
  /// The same of a copy without a name, which nobody can change or cut off.
  static llvm::Expected<std::shared_ptr<MappedFile>> openCopy(llvm::StringRef path);
  /// Maps `size` bytes of an open file from `offset` (a multiple of the page size).
  static llvm::Expected<std::shared_ptr<MappedFile>> adopt(std::shared_ptr<FileDescriptor> fd, uint64_t offset,
                                                           uint64_t size, std::string path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;

  llvm::ArrayRef<uint8_t> bytes() const { return {data, static_cast<size_t>(length)}; }
  uint64_t offset() const { return base; }  ///< of bytes() in the file
  int descriptor() const { return fd->fd; } ///< for copy_file_range
  const std::string &path() const { return name; }
  /// What was read of it so far is not looked at soon: it need not stay in memory, and is read again where it is.
  void rest() const;

private:
  friend class SpillFile;
  MappedFile() = default;
  static llvm::Expected<std::shared_ptr<MappedFile>> open(llvm::StringRef path, bool copied);
  const uint8_t *data = nullptr;
  uint64_t length = 0, base = 0;
  std::shared_ptr<FileDescriptor> fd;
  std::string name;
  bool givesBack = false; ///< its part of the file is of no use to anybody else: the disk gets it back in the end
};

/// Bytes that are computed when somebody asks for them: what rewrites make of big constants. Immutable, so any part of
/// them can be asked for, in any order and again.
class Computation {
public:
  virtual ~Computation();
  /// Writes the bytes from `offset` on. Cannot fail: what might is found out before there is a computation.
  virtual void fill(uint64_t offset, llvm::MutableArrayRef<uint8_t> window) const = 0;
  /// How many computations a window takes: this one, and those of its operands that have no bytes yet.
  virtual unsigned cost() const { return 1; }
};

class PayloadStore;
class SpillFile;

/// The bytes of a constant: a slice of a file, a small owned value, or computed when they are needed. Never writable;
/// cheap to copy.
class Payload {
public:
  Payload() = default;
  /// A slice of a mapped file.
  Payload(std::shared_ptr<MappedFile> file, uint64_t offset, uint64_t size);
  /// A small owned value.
  static Payload owned(std::string bytes);
  /// Bytes that are known by their digest only: such a text form parses, but reading or exporting it is refused.
  static Payload digest(std::string digest, uint64_t size);
  /// What `computation` makes. Nothing is computed before somebody reads it; `store` keeps the bytes of who wants them
  /// all at once.
  static Payload computed(std::shared_ptr<const Computation> computation, uint64_t size, PayloadStore &store);

  uint64_t size() const { return length; }
  bool empty() const { return length == 0; }
  bool hasBytes() const { return length == 0 || kind != Digest; }
  /// All bytes, at any alignment. Those of a computed payload are made once for all its copies; where the disk has no
  /// room for big ones they take memory, so who can fail calls materialize() before.
  llvm::ArrayRef<uint8_t> bytes() const {
    return kind == Computed ? computedBytes() : llvm::ArrayRef<uint8_t>(data, data ? static_cast<size_t>(length) : 0);
  }
  /// Makes the bytes of a computed payload; an error if there is no room for them.
  llvm::Error materialize() const;
  /// What a window of it costs now; 0: the bytes are there. Computations that read from others keep to this limit by
  /// materialising them: so nothing recurses deeply, and a chain of n costs n.
  unsigned cost() const;
  static constexpr unsigned maxCost = 16;
  /// Copies or computes a part of it. It has bytes.
  void read(uint64_t offset, llvm::MutableArrayRef<uint8_t> window) const;

  const MappedFile *file() const; ///< null when owned, or not computed yet
  uint64_t offset() const;        ///< in file()
  const std::string &digestText() const { return *static_cast<const std::string *>(owner.get()); }

  /// A part of a payload that has bytes; shares them.
  Payload slice(uint64_t offset, uint64_t size) const;

  /// Equal content: sizes, ends, and only then all bytes.
  bool sameBytes(const Payload &other) const;
  /// Of its size and its ends, which takes no time. It has bytes.
  uint64_t hash() const;
  /// Ends with the bytes, whose identity another payload may have then.
  std::weak_ptr<const void> lifetime() const { return owner; }
  /// Two payloads of one size that share their bytes have the same.
  std::pair<const void *, uint64_t> identity() const {
    return kind == Computed ? std::pair<const void *, uint64_t>(owner.get(), start)
                            : std::pair<const void *, uint64_t>(data, 0);
  }

private:
  class Lazy;
  enum Kind : uint8_t { Owned, Mapped, Computed, Digest };
  union {
    const uint8_t *data = nullptr;
    uint64_t start; ///< of a computed one, in what is computed
  };
  uint64_t length : 61 = 0;
  uint64_t kind : 3 = Owned;
  std::shared_ptr<const void> owner; ///< MappedFile, Lazy, or a std::string: the bytes, or the digest
  const Lazy *lazy() const;
  const MappedFile *mapping() const { return kind == Mapped ? static_cast<const MappedFile *>(owner.get()) : nullptr; }
  llvm::ArrayRef<uint8_t> computedBytes() const;
};

/// Where rewrites put the constants they compute. What is larger than `spillAbove` goes to one unlinked temporary file
/// and is mapped, so that it is exported like any slice of an input and held in no anonymous memory. The disk gets it
/// back with the last payload that uses it.
class PayloadStore {
public:
  static constexpr uint64_t spillAbove = 1 << 20;
  /// `directory`: where the temporary file is made on first need (beside the output, else TMPDIR).
  explicit PayloadStore(std::string directory = {});
  /// Makes a payload of `size` bytes by asking `fill(window, offset)` for consecutive windows of at most 1 MiB (a
  /// multiple of 64 bytes but for the last).
  llvm::Expected<Payload> make(uint64_t size,
                               llvm::function_ref<void(llvm::MutableArrayRef<uint8_t> window, uint64_t offset)> fill);
  /// A payload that the caller fills through `room` before anybody reads it.
  llvm::Expected<Payload> allocate(uint64_t size, llvm::MutableArrayRef<uint8_t> &room);
  void setDirectory(std::string path);
  uint64_t spilledBytes() const; ///< what the temporary file takes of the disk now

private:
  friend class Payload;
  std::shared_ptr<SpillFile> spill;
};

} // namespace origo
