#pragma once

#include "eval/Session.h"
#include "quantize/Hdf5Tensors.h"

#include "llvm/ADT/StringMap.h"

namespace origo::commands {

/// The tensors of a model that another runtime, or a device, computed of one record.
class ValueDump {
public:
  /// Writes what is there of a tensor into it. False: nothing is, or it does not fit, which is noted.
  bool read(const Value &value, eval::Tensor &tensor);

  bool has(const Value &value) { return find(value); }

  std::vector<std::string> refused = {}; ///< where it lies, and why it does not fit
  unsigned turned = 0;                   ///< tensors that lay there with channels first
  std::vector<std::string> unused() const;

private:
  friend class ValueDumps;
  struct Entry {
    std::string path;                                 ///< of its file
    std::shared_ptr<quantize::Hdf5Tensors> file = {}; ///< or of the file that holds it
    uint64_t number = 0;                              ///< in that
    bool used = false;
  };
  llvm::StringMap<Entry> entries; ///< by what files and datasets are called, / as _
  llvm::Error addFile(const std::string &path);
  Entry *find(const Value &value);
};

/// Dumps of one record or of several.
class ValueDumps {
public:
  /// A directory with a file for each tensor, or an HDF5 file with a dataset for each; or one whose folders or groups
  /// 0, 1, … hold a record each.
  static llvm::Expected<ValueDumps> open(const std::string &path);
  size_t count() const { return folders.empty() ? records.size() : folders.size(); }
  llvm::Expected<ValueDump> record(size_t number) const;

private:
  std::vector<std::string> folders;
  std::vector<ValueDump> records; ///< of an HDF5 file
};

/// What a file holds, written into a tensor as far as shape and type allow: the same shape but for ones, or as a list,
/// or with channels first, which is noted in `turned`; floats of any width, of quantised tensors too. `bare`: elements
/// as the tensor stores them.
llvm::Error writeDumped(const eval::OwnedTensor &held, eval::Tensor &tensor, bool &turned);

} // namespace origo::commands
