#pragma once

#include "ir/Model.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace origo {

/// An input file whose flatbuffer has been verified. Both formats are read through circle's accessors, since their
/// tables have the same slots; the few that do not are read by the functions here and by nothing else.
struct Source {
  std::shared_ptr<MappedFile> file;
  bool tflite = false;
  bool payloads = true;                          ///< ImportOptions::payloads
  std::vector<std::string> *tolerated = nullptr; ///< takes what ImportOptions::tolerant lets pass; null: nothing
  const circle::Model *model = nullptr;
  /// Fields of a later schema revision are there, which are not carried.
  bool unknownFields = false;
  /// tflite's external buffers by id. Wider keys than ids, because DenseMap reserves two.
  llvm::DenseMap<uint64_t, const flatbuffers::Table *> externalBuffers;

  llvm::ArrayRef<uint8_t> bytes() const { return file->bytes(); }
  bool inFile(uint64_t offset, uint64_t size) const {
    return offset <= bytes().size() && size <= bytes().size() - offset;
  }
  /// The slice of the file that `data` points at.
  Payload slice(const uint8_t *data, uint64_t size) const {
    return size ? Payload(file, data - bytes().data(), size) : Payload();
  }
  llvm::ArrayRef<uint8_t> payload(const circle::Buffer &buffer) const;
  /// Empty for an index without a buffer.
  llvm::ArrayRef<uint8_t> payload(uint32_t buffer) const;

  int32_t debugMetadata(const circle::SubGraph &graph) const;
  bool channelsFirst(const circle::SubGraph &graph) const;
  uint32_t externalBuffer(const circle::Tensor &tensor) const;
  uint8_t compression(const circle::Tensor &tensor) const;
  Quantization::Details details(const circle::QuantizationParameters &quantization) const;
  /// Nothing for a number that the file's format does not define.
  std::optional<TensorType> tensorType(int8_t type) const;
};

/// One of tflite's two tables of external buffers.
using TableVector = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>;
const TableVector *externalGroups(const Source &source);
const TableVector *externalBuffers(const Source &source);

/// Fields of the tables that circle's schema does not have.
namespace slot {
inline constexpr flatbuffers::voffset_t groupName = 4;
inline constexpr flatbuffers::voffset_t externalId = 4, externalGroup = 6, externalOffset = 8, externalLength = 10,
                                        externalPacking = 12;
inline constexpr flatbuffers::voffset_t detailScales = 4, detailZeroPoints = 6, detailBlockSize = 8,
                                        detailDimensions = 10;
} // namespace slot

/// Checks the identifier and runs the flatbuffer verifier, with limits scaled to the file.
llvm::Expected<Source> openSource(std::shared_ptr<MappedFile> file);

/// What the format's documentation demands and the flatbuffer verifier does not know. After it, indices need no checks.
llvm::Error checkRules(const Source &source);

/// The graph of a file that has passed the rules. Provenance is left empty.
std::unique_ptr<Model> buildModel(const Source &source);

/// The zip file behind the flatbuffer; empty if there is none.
Payload findArchive(const Source &source);

inline llvm::StringRef stringRef(const flatbuffers::String *text) {
  return text ? llvm::StringRef(text->c_str(), text->size()) : llvm::StringRef();
}
template <class T> const flatbuffers::Table &asTable(const T &table) {
  return reinterpret_cast<const flatbuffers::Table &>(table);
}
/// The elements of a vector that may be absent.
template <class T> size_t length(const flatbuffers::Vector<T> *vector) { return vector ? vector->size() : 0; }
BuiltinOperator resolvedCode(const circle::OperatorCode &code);

} // namespace origo
