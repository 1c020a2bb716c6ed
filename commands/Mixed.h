#pragma once

#include "commands/Command.h"
#include "commands/Records.h"
#include "eval/Session.h"
#include "import/Import.h"
#include "quantize/Assignment.h"
#include "quantize/MixedPrecision.h"
#include "quantize/Ranges.h"
#include "quantize/Scheme.h"

#include <map>

namespace origo::commands {

/// Where 16 bits are.
enum class Bisection : uint8_t { Auto, Front, Behind };
template <>
inline constexpr auto choicesOf<Bisection> =
    std::to_array<ChoiceOf<Bisection>>({{"auto", Bisection::Auto, "by --visq_file, or where fewer layers need them"},
                                        {"true", Bisection::Front, "in front"},
                                        {"false", Bisection::Behind, "behind"}});

/// Finds the layers of a quantised model that need 16 bits, or floats.
struct MixedRequest {
  std::string input, output;
  RecordsRequest data;
  double ratio = 0.5;
  std::optional<Bisection> bisection;
  std::string visqFile;
  std::optional<double> bound, mostBytes, mostTime; ///< budgets
  std::string costFile, writeCosts;
  std::vector<std::string> levelNames;
  std::optional<std::string> inputType, outputType;
  std::string quantizedType = "uint8", granularity = "channel";
  bool tfMaxPool = false, saveMinMax = false;
  bool patterns = false, layerNorms = false, softmaxes = false;
  std::string intermediate, configFile;
  bool verbose = false;

  bool byPatterns() const { return patterns || layerNorms || softmaxes; }
  bool isUnsigned() const { return quantizedType == "uint8"; }
  llvm::StringRef shown(quantize::Level level) const { return quantize::levelName(level, isUnsigned()); }
  unsigned budgets() const { return bound.has_value() + mostBytes.has_value() + mostTime.has_value(); }
};

/// The input, read anew for each try.
class MixedSolver {
public:
  MixedSolver(const MixedRequest &request, const Door &door, Verdict &verdict)
      : request(request), door(door), verdict(verdict) {}
  llvm::Error run();

private:
  const MixedRequest &request;
  const Door &door;
  Verdict &verdict; ///< Refused: what was asked for cannot be had
  PayloadStore store;
  Imported original;
  std::optional<quantize::Statistics> statistics; ///< where the model has no ranges
  std::unique_ptr<quantize::Records> records;
  std::optional<eval::Session> reference;
  quantize::Scheme scheme;
  unsigned tried = 0;
  std::map<std::pair<quantize::Levels, bool>, double> measured; ///< of what is written
  std::string errors;                                           ///< lines of errors.mpq.txt

  const Subgraph &graph() const { return *original.model->subgraphs.front(); }
  llvm::Expected<quantize::Scheme::Choice> choiceOf(quantize::Level level, llvm::StringRef granularity) const;
  llvm::Error open();
  llvm::Error takeRanges();
  llvm::Expected<bool> inFront() const;
  llvm::Expected<quantize::MixedPrecision> solve();
  llvm::Expected<quantize::LevelCosts> levelCosts() const;
  llvm::Error solveBudget();
  llvm::Error measureCosts();
  llvm::Error unpack(Imported &loaded); ///< weights that the file packs are weights as any other
  llvm::Expected<Imported> read();
  std::string nameOf(const Operator &op) const { return op.result() ? op.result()->name.str() : ""; }
  llvm::Error quantize(Imported &imported, const quantize::Levels &levels, bool floatEnds);
  llvm::Expected<double> insideErrorOf(const quantize::Levels &levels);
  llvm::Expected<double> writtenErrorOf(const quantize::Levels &levels, bool runs);
  llvm::Expected<double> runWritten(Model &model);
  llvm::Expected<double> kept(const quantize::Levels &levels, llvm::Expected<double> error);
  llvm::Expected<eval::Session> fake(Imported &faked, const quantize::Levels &levels);
  llvm::Expected<double> distance(const eval::Session &session, const Subgraph *ends = nullptr);
  llvm::Expected<uint64_t> writtenBytes(const quantize::Levels &levels);
  std::string configOf(const quantize::Levels &levels) const;
  std::string recipeOf(const quantize::Levels &levels) const;
  llvm::Error keep(const std::string &number, const quantize::Levels &levels, double error);
  llvm::Error finish(const quantize::Levels &levels);
};

quantize::Levels levelsOf(const quantize::WideLayers &wide);

} // namespace origo::commands
