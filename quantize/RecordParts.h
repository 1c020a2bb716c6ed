#pragma once

#include "quantize/Records.h"

#include "llvm/Support/MemoryBuffer.h"

/// What the kinds of records share.
namespace origo::quantize {

using Record = std::vector<eval::OwnedTensor>;

std::string inputText(llvm::ArrayRef<eval::Port> ports, size_t i);
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> openFile(const std::string &path);
/// Bytes of one input; none: its shape, or its type, does not tell.
std::optional<uint64_t> sizeOf(const eval::Port &port);
/// The elements of one input alone, which may tell one dimension that the model does not.
llvm::Expected<eval::OwnedTensor> ofRaw(llvm::ArrayRef<eval::Port> ports, size_t i, llvm::ArrayRef<uint8_t> bytes);
bool fits(const eval::Port &port, llvm::ArrayRef<int32_t> shape);

/// What a process with limits reads.
llvm::Expected<std::unique_ptr<Records>> hdf5Records(const std::string &path, llvm::ArrayRef<eval::Port> inputs);
llvm::Expected<std::unique_ptr<Records>> imageRecords(std::vector<std::string> files, llvm::ArrayRef<eval::Port> inputs,
                                                      const ImageOptions &options);

} // namespace origo::quantize
