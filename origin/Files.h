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

/// Fills in everything of a Listing but `file`. Indices that lead nowhere are no error here: an operator without a code
/// gets an empty `op`, a tensor that does not exist is −1.
Listing describe(const ModelView &view);
/// The same without the two digests, which cost a walk over all tables and both ends of all constants.
Listing list(const ModelView &view);
/// Calls `visit` for every tensor of every subgraph, in file order.
void forEachTensor(const ModelView &view,
                   llvm::function_ref<void(const flatbuffers::Table &tensor, TensorKind kind)> visit);

/// The fingerprint of origin-map.md: SHA-256 over the four bytes of the file identifier ("TFL3" or "CIR0") and
/// enc(Model), where the text leaves the bytes open as follows. All numbers are little-endian.
///
///   enc(table)  for each field of the file's own schema in slot order, deprecated ones included, unless its value is
///   the
///               default: u16 slot, value. Then u16 0xFFFF. Slots that the schema does not have are left out.
///   value       scalar: in the width of the schema. string: u32 length, bytes. vector: u32 count, elements (strings
///               and tables as here). table: enc. A union's type field is a u8 in its own slot; a table behind a type
///               that is NONE or unknown to the schema is left out.
///   default     A scalar with the bits of its default (so −0.0 is a value), a vector or string of length 0, a table
///               whose enc is the end mark alone.
///
///   Model       left out: version, description, buffers, metadata, metadata_buffer, operator_codes.
///   Operator    opcode_index: i32 code as resolveOpcode() gives it, i32 version, custom code as a string; never a
///               default, so ADD version 1 is written too. Left out if there is no such operator code.
///               large_custom_options_offset: u64, the value of large_custom_options_size (which follows in its own
///               slot), whatever the offset is; 0 is the default.
///   Tensor      buffer: u64 byte count of the payload, 0 being the default; if the type is INT32, INT64, BOOL
///               or STRING and the count at most 4096, the payload's bytes follow. `external_buffer` stays as it is.
///   ExternalBuffer  offset: u64, the value of `length`, likewise.
///
/// A view must know the bytes, not only the count, of such small payloads.
Digest fingerprint(const ModelView &view);

/// The content digest: SHA-256 over, for each tensor of kind constant, subgraph by subgraph in file order: u64 byte
/// count n, the first min(n, 4096) bytes, the last min(n, 4096) bytes (the two overlap where n < 8192). Of a payload
/// whose bytes are not at hand (in another file) only the count.
Digest content(const ModelView &view);

/// 64 lower-case digits, without the prefix "sha256:" of the side file.
std::string hex(const Digest &digest);

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
