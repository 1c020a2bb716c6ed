#pragma once

#include "commands/Command.h"
#include "commands/Origins.h"
#include "commands/QuantizeModel.h"
#include "commands/Records.h"
#include "import/Import.h"

namespace origo::commands {

/// What to make of a model: one mode of those marked, or other types of its ends.
struct QuantizeRequest {
  using Words2 = std::array<std::string, 2>;
  using Words3 = std::array<std::string, 3>;

  std::optional<TfliteScheme::Name> scheme; ///< a mode
  std::string recipe;                       ///< a mode
  RecordsRequest records;
  std::string statisticsFile, labels, score;
  const quantize::Statistics *statistics = nullptr; ///< instead of the file
  std::vector<std::string> inputTypes, outputTypes, keepFloat, only;
  bool strict = false;
  unsigned weightBits = 8;
  uint64_t leastElements = TfliteScheme().leastElements;
  bool clipsWeights = false, perTensor = false, perChannelDense = false;
  int32_t blockSize = 0;
  bool equalize = false, absorb = false, gptq = false, gptaq = false, biasCorrection = false;
  bool best = false;                        ///< what of these is best is tried, see commands/Best.h
  std::optional<unsigned> steps, time;      ///< most that `best` tries, and seconds in which it begins to
  std::optional<quantize::Summary> summary; ///< how records' ranges become one; none: the least and the greatest
  std::function<llvm::Expected<Imported>(PayloadStore &)> again; ///< the model once more, for `best`
  std::optional<double> smooth;
  bool verbose = false, verifyEach = false;
  OriginRequest origins;
  // Modes of ONE's tool, but for the last five.
  std::optional<Words3> rounded, full, weightsOnly;
  std::optional<Words2> requantized;
  bool fakeQuantized = false, onnx = false;
  Repeated<Words3> forced;
  Repeated<Words2> copied;
  std::string config;
  bool poolKeepsScale = false, savesRanges = false, profileData = false;

  unsigned modes() const;
  bool onlyEnds() const { return modes() == 0 && !(inputTypes.empty() && outputTypes.empty()); }
  bool onlyParameters() const { return !forced.empty() || !copied.empty(); }
  bool hasRanges() const { return records.any() || statistics || !statisticsFile.empty(); }
  /// Where no mode is asked for: integers all through by what is recorded, else weights alone.
  void chooseScheme();
  /// What the result is called after: the scheme.
  std::string name() const;
};

/// Options that do not go with each other.
llvm::Error check(const QuantizeRequest &request, const Door &door);
/// Quantises a model, as check() allows it. `verdict` is Refused where the error is that strict() is not met.
llvm::Error run(const QuantizeRequest &request, Imported &imported, PayloadStore &store, const Door &door,
                Verdict &verdict);

} // namespace origo::commands
