#pragma once

#include "ir/AtomicFile.h"
#include "ir/text/Elements.h"
#include "ir/text/Text.h"

#include "llvm/ADT/StringMap.h"

namespace origo::text {

/// Prints payloads: in full, as a splat, as a place in the data file, or as a digest.
class DataWriter {
public:
  explicit DataWriter(const PrintOptions &options) : options(options) {}
  ~DataWriter();
  void constant(llvm::raw_ostream &os, const Value &value);
  /// Bytes that are no tensor's.
  void bytes(llvm::raw_ostream &os, const Payload &payload);
  llvm::Error finish();

private:
  const PrintOptions &options;
  // The model's constants may lie in the very file that is to be replaced, so it is replaced at the end.
  AtomicFile file;
  std::unique_ptr<llvm::raw_fd_ostream> stream;
  std::string error;
  uint64_t written = 0;

  void open();
  void reference(llvm::raw_ostream &os, const Payload &payload, std::optional<uint64_t> expectedSize);
};

/// Reads what DataWriter prints, and what a seed stands for.
class DataReader {
public:
  /// `length`: bytes of the text.
  DataReader(Reader &reader, llvm::StringRef directory, PayloadStore &store, uint64_t length)
      : reader(reader), directory(directory), store(store), most(mostGenerated(length)) {}
  /// The payload of `value`, whose type and shape are known. `payload` has to stay where it is until finish().
  bool constant(const Value &value, Payload &payload);
  bool bytes(Payload &payload) { return data(nullptr, payload); }
  bool finish();

private:
  Reader &reader;
  llvm::StringRef directory;
  PayloadStore &store;
  llvm::StringMap<std::shared_ptr<MappedFile>> files;
  /// Bytes that splats and seeds may stand for: ORIGO_TEXT_LIMIT, or as many as a text of this length may ask for.
  static uint64_t mostGenerated(uint64_t length);
  uint64_t most, generated = 0, generatedSmall = 0;

  // A short text can ask for any number of small splats. What goes beyond a few of them is spilled in batches.
  std::string batch;
  struct Pending {
    Payload *target;
    uint64_t offset, size;
  };
  std::vector<Pending> pending;

  using Fill = llvm::function_ref<void(llvm::MutableArrayRef<uint8_t> window, uint64_t offset)>;
  bool data(const Value *value, Payload &payload);
  bool list(const Value &value, Payload &payload);
  bool generate(const Token &where, const Value &value, Payload &payload, Fill fill);
  bool flush();
  bool size(const Value *value, uint64_t &size);
  bool fileSlice(const Value *value, Payload &payload);
};

/// The bytes that type and shape ask for; nothing where they do not tell.
std::optional<uint64_t> expectedBytes(const Value &value);

} // namespace origo::text
