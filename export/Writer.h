#pragma once

#include "ir/AtomicFile.h"
#include "ir/Payload.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>

namespace origo {

/// A file that appears whole or not at all, when it is committed. A symbolic link is followed; a pipe, a device or "-"
/// is streamed to. The first failure is kept and told by finish().
class OutputFile {
public:
  /// `path` is what errors name.
  static llvm::Expected<std::unique_ptr<OutputFile>> open(llvm::StringRef path);
  ~OutputFile(); ///< removes what has not been committed
  OutputFile(const OutputFile &) = delete;

  bool isStream() const { return destination.empty(); }
  /// Takes the disk space at once, so that a full disk shows before anything is written.
  void reserve(uint64_t size);
  void write(llvm::ArrayRef<uint8_t> bytes);
  void zeros(uint64_t count);
  /// Writes bytes that may lie in a mapped file, without taking them through memory where they are many.
  void copy(llvm::ArrayRef<uint8_t> bytes, const MappedFile *file);
  /// The same of a payload; what is computed is written as it is made.
  void copy(const Payload &payload);
  uint64_t position() const { return written + buffered.size(); }
  bool failed() const { return error != 0; }
  /// All bytes are in the file, or the error.
  llvm::Error finish();

  /// Puts the files into place, in this order. If one cannot be, those before it are put back as they were.
  static llvm::Error commit(llvm::ArrayRef<OutputFile *> files);

private:
  OutputFile() = default;
  std::string name;                 ///< as the user wrote it
  std::string destination;          ///< with symbolic links followed; empty for a stream
  std::unique_ptr<AtomicFile> made; ///< what is no stream
  int fd = -1;
  uint64_t written = 0;
  std::vector<uint8_t> buffered;
  int error = 0; ///< errno of the first failure
  bool truncatedInput = false;

  llvm::Error failure(int code) const;
  void flush();
  void writeAll(const uint8_t *data, uint64_t size);
  uint64_t copyRange(int from, uint64_t offset, uint64_t size);
};

/// Lets LLVM's formatting write into an OutputFile.
class OutputStream : public llvm::raw_ostream {
public:
  explicit OutputStream(OutputFile &file) : file(file) { SetBufferSize(1 << 16); }
  ~OutputStream() override { flush(); }

private:
  OutputFile &file;
  void write_impl(const char *data, size_t size) override {
    file.write({reinterpret_cast<const uint8_t *>(data), size});
  }
  uint64_t current_pos() const override { return file.position(); }
};

/// Writes a file whole or not at all.
llvm::Error writeFile(llvm::StringRef path, llvm::function_ref<llvm::Error(llvm::raw_ostream &os)> write);
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef text);

/// While it lives, writing to a closed pipe or past the file size limit is an error like any other.
class IgnoreWriteSignals {
public:
  IgnoreWriteSignals();
  ~IgnoreWriteSignals();
  IgnoreWriteSignals(const IgnoreWriteSignals &) = delete;

private:
  struct Saved;
  std::unique_ptr<Saved> saved;
};

} // namespace origo
