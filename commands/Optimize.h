#pragma once

#include "commands/Command.h"
#include "commands/Door.h"
#include "commands/Observe.h"
#include "commands/Origins.h"
#include "commands/Remarks.h"
#include "commands/Sparsify.h"
#include "export/Writer.h"
#include "import/Import.h"
#include "passes/VerifyNumerics.h"
#include "report/target/Target.h"

#include <map>

namespace origo::commands {

/// The category of options that ask for rewrites: by name, who gives one wants no others.
inline constexpr llvm::StringLiteral rewriteCategory = "Rewrites, by the flags of the circle toolchain";

/// What becomes of an origin map in the input.
enum class FoundMap : uint8_t { Continue, Restart, Ignore };
/// What is priced, see commands/Prices.h.
enum class PriceOf : uint8_t { Pass, Rewrite };

/// -O0, -O1, -O2, and -Os, which is -O2 where that makes no more operators.
struct Level {
  unsigned number = 0;
  bool small = false;
  bool operator==(const Level &) const = default;
};

template <> struct Codec<Level> {
  static constexpr llvm::StringRef type = "int";
  static llvm::Error in(Level &value, llvm::StringRef text) {
    value = {2, text == "s"};
    return value.small ? llvm::Error::success() : Codec<unsigned>::in(value.number, text);
  }
  static std::string out(const Level &value) { return value.small ? "s" : std::to_string(value.number); }
};

/// Rewrites to apply to a model, or the conversion of it alone.
struct OptimizeRequest {
  std::string input, output;
  std::optional<Level> level;
  std::vector<std::string> passes, skip, changeOutputs;
  std::map<std::string, bool> flags; ///< of the toolchain, on or off
  SparsifyRequest sparse;
  std::string config, target, verifyData, bisect;
  bool printPipeline = false, listPasses = false, verifyEach = false, verifyNumerics = false, verifyAlgebra = false,
       verbose = false;
  unsigned threads = 1;
  ObserveOptions observe;
  std::optional<PriceOf> prices;
  bool pricesJson = false;
  bool allowOneStep = false, allowHybridToFloat = false;
  std::optional<uint32_t> fuel;
  OriginRequest origins;
  std::string sideFile;  ///< empty: beside the output
  std::string givenMap;  ///< a side file of the input
  std::string linesFrom; ///< an ONNX file
  FoundMap found = FoundMap::Continue;

  bool isOn(llvm::StringRef flag) const { return says(flag, true); }
  bool isOff(llvm::StringRef flag) const { return says(flag, false); }
  origin::Embed embed() const {
    return found == FoundMap::Ignore ? origin::Embed::None : origins.with(isOn("generate_profile_data"));
  }

private:
  bool says(llvm::StringRef flag, bool on) const {
    auto asked = flags.find(flag.str());
    return asked != flags.end() && asked->second == on;
  }
};

/// The options of the .cfg file that the request names, and that it does not give itself.
llvm::Error applyConfig(OptimizeRequest &request);
/// Options that do not go with each other, or name nothing.
llvm::Error check(const OptimizeRequest &request, const Door &door);
/// The passes that a request asks for.
llvm::Expected<Pipeline> pipelineOf(const OptimizeRequest &request, const Door &door);

/// A request as a run, in its steps: read, change, rewrite, write. Bisecting, verifying numbers, prices and the
/// reproducer make them as well, so that they judge this run and no other one.
class Job {
public:
  using Load = std::function<llvm::Expected<Imported>(const ImportOptions &, PayloadStore &)>;
  /// All of it outlives the job. `load` gives the model; null: it is the file `input`.
  static llvm::Expected<Job> of(const OptimizeRequest &request, const Door &door, Load load = nullptr);
  const OptimizeRequest &request;
  const Door &door;
  const Pipeline &passes() const { return pipeline; }

  struct Result {
    Imported imported;
    uint64_t bytes = 0;                  ///< of the input, which may be written over
    size_t operators = 0, unpackers = 0; ///< before
    std::string taken;                   ///< by the target, as a text; empty without one
  };
  /// All but writing, told to who looks on. `broken`: told that a rewrite fails, which is the error.
  llvm::Expected<Result> optimize(PayloadStore &store, llvm::function_ref<void()> broken = nullptr) const;
  /// Verifies what the request says, and runs it. `verdict` is Refused where a rewrite is wrong, which is the error.
  llvm::Error run(llvm::raw_ostream &os, Verdict &verdict) const;
  /// All of it, with at most `most` rewrites, into `path`; how many there were. `instead`: another pipeline.
  llvm::Expected<uint32_t> make(const std::string &path, std::optional<uint32_t> most,
                                std::function<void(const RewriteEvent &)> onRewrite = nullptr,
                                const Pipeline *instead = nullptr) const;
  /// An error where numbers are to be verified and a rewrite makes them wrong. `proof`: the certificate, if there is
  /// one.
  llvm::Error verify(Verdict &verdict, std::string &proof) const;
  std::string sideFile() const { return request.sideFile.empty() ? request.output + ".origin.json" : request.sideFile; }

private:
  Job(const OptimizeRequest &request, const Door &door) : request(request), door(door) {}
  Load load;
  Pipeline pipeline;
  std::shared_ptr<const report::Target> target; ///< null: everything is taken

  Format formatOf(const Model &model) const;
  llvm::Expected<Imported> read(PayloadStore &store) const;
  llvm::Error change(Model &model) const;
  llvm::Expected<Imported> readChanged(PayloadStore &store) const;
  PipelineOptions options(const Model &model) const;
  bool passesThrough(const Model &model) const;
  std::string takenText(const Model &model) const; ///< by the target; empty without one
  llvm::Error rewrite(Model &model, PayloadStore &store, const PipelineOptions &options,
                      const Pipeline *instead = nullptr) const;
  llvm::Error write(Imported &imported, const std::string &path, std::vector<std::string> *notes = nullptr) const;
  llvm::Error writeRemarks(const Imported &imported, const RemarkRecorder &recorder) const;
  llvm::Error runOnce(std::string proof) const;
  void writeReproducer() const;
};

/// Finds the first rewrite after which the command of the request fails, and leaves in the output what the run has made
/// by then. Where it finds nothing, what it tried goes, and what was there before is there again.
llvm::Error bisect(const Job &job, llvm::raw_ostream &os);

} // namespace origo::commands
