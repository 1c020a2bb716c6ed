#pragma once

#include "eval/Parts.h"
#include "quantize/Records.h"
#include "quantize/Summary.h"

namespace origo::quantize {

struct CalibrateOptions {
  eval::CompileOptions compile;
  eval::Shard shard;
  std::vector<std::string> signatures = {};                  ///< empty: all
  bool histograms = false;                                   ///< how many elements lie where, too
  std::function<void(uint64_t done, uint64_t all)> progress; ///< after each record
};

/// Opens the records for the inputs of the model; of one with several signatures, for each of them in turn. The name of
/// one of several signatures, else none.
using OpenRecords = llvm::function_ref<llvm::Expected<std::unique_ptr<Records>>(llvm::ArrayRef<eval::Port> inputs,
                                                                                llvm::StringRef signature)>;

/// Sees each tensor of floats that is an input or computed, in called subgraphs too.
using SeeTensor =
    llvm::function_ref<void(const Value &value, llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<float> numbers)>;

/// Runs a compiled model on the records of a part; `end` is told after each.
llvm::Error forEachRecord(Model &model, const eval::Session &session, OpenRecords open, const CalibrateOptions &options,
                          SeeTensor see, llvm::function_ref<void(uint64_t record, uint64_t count)> end);

/// Runs the model on records and notes the extremes of each tensor of floats that is an input or computed, in called
/// subgraphs too; of one that is computed several times in a record, of all those times. Memory: what the model takes,
/// 8 bytes a record and tensor, and 64 KiB a tensor with histograms.
llvm::Expected<Statistics> calibrate(Model &model, OpenRecords open, const CalibrateOptions &options);

} // namespace origo::quantize
