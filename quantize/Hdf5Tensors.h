#pragma once

#include "eval/Session.h"
#include "quantize/Reader.h"

namespace origo::quantize {

/// An HDF5 file whose datasets are tensors, read by a process with limits.
class Hdf5Tensors {
public:
  static llvm::Expected<Hdf5Tensors> open(const std::string &path);
  std::vector<std::string> names; ///< with those of their groups, as "value/0/12"
  /// By its place in `names`. Errors name the dataset, and not the file.
  llvm::Expected<eval::OwnedTensor> read(uint64_t number);

private:
  std::unique_ptr<Reader> reader;
};

} // namespace origo::quantize
