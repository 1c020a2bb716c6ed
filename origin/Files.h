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
  /// buffer. `size` without `bytes` (null data) is allowed where only the count is known. Where there is an `end`,
  /// which is good until the next call, as `data` is, only the first and the last 4096 bytes are at hand, at `data` and
  /// at `end`.
  struct Bytes {
    const uint8_t *data;
    uint64_t size;
    const uint8_t *end = nullptr;
  };
  llvm::function_ref<Bytes(const flatbuffers::Table &tensor, uint32_t buffer)> payload;
  /// While a file is being written, byte vectors that will lie behind the tables have offsets that lead nowhere yet.
  /// Given the place of an offset, the bytes that it will lead to; null data where the vector is in the tables.
  llvm::function_ref<Bytes(const uint8_t *offset)> unplaced = nullptr;

  /// The bytes of a field that is a byte vector; none if it is absent. Whoever reads such a field by anything else has
  /// to know that it is never written behind the tables.
  Bytes byteVector(const flatbuffers::Table &table, flatbuffers::voffset_t field) const;
};

/// The operators and tensors of a view by subgraph and index. Indices that lead nowhere are no error here: an operator
/// without a code gets an empty `op`, a tensor that does not exist is −1. Payloads are looked at once, when it is made.
class FileRows {
public:
  explicit FileRows(const ModelView &view);
  size_t subgraphs() const { return graphs.size(); }
  llvm::StringRef name(size_t subgraph) const;
  uint32_t firstOperator(size_t subgraph) const { return graphs[subgraph].firstOperator; }
  uint32_t firstTensor(size_t subgraph) const { return graphs[subgraph].firstTensor; }
  uint32_t operatorCount(size_t subgraph) const { return graphs[subgraph].operators; }
  uint32_t tensorCount(size_t subgraph) const { return uint32_t(graphs[subgraph].kinds.size()); }
  const Word &op(size_t subgraph, uint32_t index) const { return codeOf(subgraph, index).first; }
  const Word &customCode(size_t subgraph, uint32_t index) const { return codeOf(subgraph, index).second; }
  llvm::ArrayRef<int32_t> outputs(size_t subgraph, uint32_t index) const; ///< in the subgraph
  llvm::StringRef tensorName(size_t subgraph, uint32_t index) const;
  TensorKind kind(size_t subgraph, uint32_t index) const { return graphs[subgraph].kinds[index]; }

private:
  using Code = std::pair<Word, Word>;
  struct Subgraph {
    uint32_t firstOperator, firstTensor, operators;
    std::vector<TensorKind> kinds;
  };
  const flatbuffers::Table *model;
  std::vector<Code> codes;
  std::vector<Subgraph> graphs;
  const Code &codeOf(size_t subgraph, uint32_t index) const;
};

/// Fills in everything of a Listing but `file`, and what measure() does, from FileRows.
Listing list(const ModelView &view);
/// What each operator of a view takes and costs, into the listing of that view. Macs are counted by schema/Macs.h.
void measure(const ModelView &view, Listing &listing);
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
