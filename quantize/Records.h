#pragma once

#include "eval/Session.h"

#include <memory>

namespace origo::quantize {

/// Inputs for a model to be run on, record by record. Each is in the order of the model's inputs.
class Records {
public:
  virtual ~Records();
  virtual uint64_t count() const = 0;
  virtual llvm::Expected<std::vector<eval::OwnedTensor>> read(uint64_t record) = 0;
};

enum class RecordFormat {
  ByName,    ///< a directory is Directory, *.npy and *.npz are Numpy, anything else a List
  List,      ///< each line names the files of the inputs, separated by spaces, or one with all of them in order
  Directory, ///< each file, by name, is a record: elements of all inputs in order, or .npy or .npz
  Numpy,     ///< .npy, or .npz with an array for each input: the input's shape, or behind a first dimension of records
};

/// Opens what lies at `path`. Nothing big is read before it is asked for.
llvm::Expected<std::unique_ptr<Records>> openRecords(const std::string &path, RecordFormat format,
                                                     llvm::ArrayRef<eval::Port> inputs);

/// What is run where there are no data: three records of std::mt19937 with its default seed, which so are the same
/// everywhere. Floats lie between −5 and 5, integers between 0 and 100. What is not known of a shape is 1.
llvm::Expected<std::unique_ptr<Records>> randomRecords(llvm::ArrayRef<eval::Port> inputs);

} // namespace origo::quantize
