#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace origo::quantize {

/// A process of its own that reads a kind of file (readers/Protocol.h), without a right to open others and with limits
/// on its memory. What it dies of, or hangs on, is an error of the file.
class Reader {
public:
  struct Limits {
    uint64_t bytes = uint64_t(1) << 30;                        ///< of an answer
    std::chrono::milliseconds time = std::chrono::seconds(60); ///< for an answer
  };
  /// Where the program is, for who does not lie beside it: a library that another program has loaded.
  static void setProgram(const std::string &path);
  /// `kind`: "hdf5", which reads `path`, or "image", which reads what it is sent.
  static llvm::Expected<std::unique_ptr<Reader>> start(const std::string &kind, const std::string &path, Limits limits);
  /// The answer to a question. After an error that is not the reader's own, there are no more.
  llvm::Expected<std::vector<uint8_t>> ask(llvm::ArrayRef<uint8_t> question);
  ~Reader();

private:
  Reader() = default;
  struct Deadline;
  llvm::Error transfer(uint8_t *data, size_t size, bool receive, const Deadline &deadline);
  llvm::Error end(const char *why);
  int socket = -1, child = -1;
  Limits limits;
};

} // namespace origo::quantize
