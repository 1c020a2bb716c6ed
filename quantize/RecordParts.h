#pragma once

#include "ir/OpenFile.h"
#include "quantize/Reader.h"
#include "quantize/Records.h"

/// What the kinds of records share.
namespace origo::quantize {

using Record = std::vector<eval::OwnedTensor>;

std::string inputText(llvm::ArrayRef<eval::Port> ports, size_t i);
/// Bytes of one input; none: its shape, or its type, does not tell.
std::optional<uint64_t> sizeOf(const eval::Port &port);
/// The elements of one input alone, which may tell one dimension that the model does not.
llvm::Expected<eval::OwnedTensor> ofRaw(llvm::ArrayRef<eval::Port> ports, size_t i, llvm::ArrayRef<uint8_t> bytes);
bool fits(const eval::Port &port, llvm::ArrayRef<int32_t> shape);

/// What a process with limits reads.
llvm::Expected<std::unique_ptr<Records>> hdf5Records(const std::string &path, llvm::ArrayRef<eval::Port> inputs);
llvm::Expected<std::unique_ptr<Records>> imageRecords(std::vector<std::string> files, llvm::ArrayRef<eval::Port> inputs,
                                                      const ImageOptions &options);

/// An array as origo-reader sends it.
struct SentArray {
  std::optional<TensorType> type; ///< none: no tensor has it
  eval::Shape shape;
  llvm::ArrayRef<uint8_t> elements;
};
/// Takes the one that `rest` begins with.
llvm::Expected<SentArray> takeArray(llvm::ArrayRef<uint8_t> &rest);
/// Asks for what has a number.
llvm::Expected<std::vector<uint8_t>> askFor(Reader &reader, uint64_t number);

} // namespace origo::quantize
