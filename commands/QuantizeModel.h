#pragma once

#include "passes/Pipeline.h"
#include "quantize/Calibrate.h"
#include "quantize/Ends.h"
#include "quantize/Parts.h"
#include "quantize/Plan.h"

namespace origo::commands {

/// A scheme of TensorFlow Lite, by what can be chosen of it.
struct TfliteScheme {
  enum class Name : uint8_t { Int8, Int16x8, Dynamic, Weights, Float16 } name = Name::Int8;
  bool fourBits = false, clipsWeights = false, perChannel = true, perChannelDense = false;
  int32_t blockSize = 0;         ///< of weights; 0: their scales are of channels
  uint64_t leastElements = 1024; ///< of weights that are stored alone, beside floats
};
quantize::Scheme schemeOf(const TfliteScheme &scheme);

/// Types of inputs or outputs by their names in any case; none given: `otherwise`.
llvm::Expected<llvm::SmallVector<TensorType, 2>> typesOf(const std::vector<std::string> &names, TensorType otherwise);

/// These stay float, as the scheme has it for what is asked to.
void keepFloat(const quantize::Parts::Operators &operators, quantize::Scheme &scheme);

/// Gives channels of consecutive filters like ranges; those of tensors have to be taken afterwards.
llvm::Error equalizeChannels(Model &model, PayloadStore &store, bool verifyEach);

/// Lets filters take over how far the channels that they read go in records: with 1 all of it, with 0 they become even
/// themselves. Ranges have to be taken afterwards.
llvm::Error smoothChannels(Model &model, quantize::OpenRecords open, double migration, PayloadStore &store,
                           bool verifyEach);

/// Shifts channels that stay far from zero in records, for which the bias of what reads them makes up. Ranges have to
/// be taken afterwards.
llvm::Error absorbBiases(Model &model, quantize::OpenRecords open, PayloadStore &store, bool verifyEach);

/// Takes what ONNX's pairs of custom operators say for ranges, types and scales (quantize/OnnxFake.h), and removes
/// them.
llvm::Error readOnnxFakes(Model &model, quantize::Scheme &scheme, PayloadStore &store, bool verifyEach);

/// Takes what the model says itself, by QUANTIZE and DEQUANTIZE behind each other and by FAKE_QUANT, for scales of the
/// scheme (quantize/Carried.h). `alone`: nothing is calibrated besides. Gives the number of tensors that have scales.
llvm::Expected<size_t> readCarried(Model &model, quantize::Scheme &scheme, bool alone, PayloadStore &store,
                                   bool verifyEach);

/// Constants that the file stores packed, as float16 say, become what is computed of them: weights to be quantised.
llvm::Error unpackConstants(Model &model, PayloadStore &store, bool verifyEach);

/// Lets a scheme choose how weights are rounded, and correct biases, by what operators see in records. Of the model as
/// it is.
llvm::Error learnFrom(Model &model, quantize::OpenRecords open, quantize::Scheme &scheme,
                      const std::function<void(uint64_t done, uint64_t all)> &progress = {});

/// From the least to the greatest number of all records.
inline constexpr quantize::Summary wholeRange{quantize::Summary::Mode::Percentile, 0, 100};
/// Takes ranges as record-minmax does.
llvm::Expected<quantize::Statistics> calibrate(Model &model, quantize::OpenRecords open, bool histograms = false);
/// Have tensors that the model computes ranges, as record-minmax notes them?
bool carriesRanges(const Model &model);
/// Leaves those tensors out that have one.
void leaveCarried(const Model &model, quantize::Statistics &statistics);
/// Integers all through need to know how far numbers go; files state ranges of their inputs, which are not enough.
bool lacksRanges(const Model &model, const quantize::Scheme &scheme);

/// Inputs and outputs of a model that is quantised become of other types (quantize/Ends.h); the rest stays bit for bit.
llvm::Error changeEnds(Model &model, const quantize::Ends &ends, PayloadStore &store, PipelineOptions options,
                       std::vector<std::string> &told);

/// What stays as it is.
llvm::Expected<std::vector<quantize::Unquantized>> quantizeModel(Model &model, const quantize::Scheme &scheme,
                                                                 PayloadStore &store, PipelineOptions options);
/// Refuses a model of which something would stay float.
llvm::Error refuseUnquantized(llvm::ArrayRef<quantize::Unquantized> list);
/// A line for each reason. `stays`: "float".
std::vector<std::string> unquantizedWords(llvm::ArrayRef<quantize::Unquantized> list, llvm::StringRef stays);
/// A line for each kind of operator whose result has a scale of its own, where TensorFlow Lite's kernels compute in the
/// operand's, as ONE's quantiser writes AVERAGE_POOL_2D and what only moves numbers.
std::vector<std::string> ownScaleWords(const Model &model);

} // namespace origo::commands
