#pragma once

#include "origin/OriginMap.h"

#include "flatbuffers/flatbuffers.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

/// Reading what the map says about a model file from the bytes of that file. Works on the verified Model table of
/// either format; nothing here depends on the graph in memory.
namespace origo::origin {

/// A verified model file, or the tables of one that is being written.
struct ModelView {
  const flatbuffers::Table *model; ///< circle::Model or tflite::Model
  bool tflite;
  /// Payload of a tensor (given its table and its buffer index): inline bytes, by Buffer.offset/size, or an external
  /// buffer. `size` without `bytes` (null data) is allowed where only the count is known.
  struct Bytes {
    const uint8_t *data;
    uint64_t size;
  };
  llvm::function_ref<Bytes(const flatbuffers::Table &tensor, uint32_t buffer)> payload;
};

/// Fills in everything of a Listing but `file` and the two digests. Indices that lead nowhere are no error here: an
/// operator without a code gets an empty `op`, a tensor that does not exist is −1.
Listing list(const ModelView &view);
/// Calls `visit` for every tensor of every subgraph, in file order.
void forEachTensor(const ModelView &view,
                   llvm::function_ref<void(const flatbuffers::Table &tensor, TensorKind kind)> visit);

/// Opens the bytes of a complete model file: checks the identifier, runs the flatbuffer verifier with limits scaled to
/// the file, and resolves payloads. Indices of operator codes and buffers are in range, those of tensors in operators
/// and subgraph inputs and outputs in range or −1. The readers of maps and the checker use it; import has its own,
/// stricter rules.
class ModelFile {
public:
  static llvm::Expected<std::unique_ptr<ModelFile>> open(llvm::StringRef path);
  /// The bytes must outlive the result.
  static llvm::Expected<std::unique_ptr<ModelFile>> fromBytes(llvm::ArrayRef<uint8_t> bytes, std::string name);
  ~ModelFile();
  const ModelView &view() const;
  llvm::ArrayRef<uint8_t> bytes() const;
  /// Payload of the last Model.metadata entry of that name, if any.
  std::optional<llvm::ArrayRef<uint8_t>> metadata(llvm::StringRef name) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
  explicit ModelFile(std::unique_ptr<Impl> impl);
};

} // namespace origo::origin
