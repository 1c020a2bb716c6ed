#include "commands/RecordMinMax.h"

#include "commands/Files.h"
#include "export/Writer.h"
#include "quantize/Choose.h"

namespace origo::commands {

using namespace quantize;
using Request = RecordRequest;
using Mode = Summary::Mode;

template <>
inline constexpr auto choicesOf<Mode> = std::to_array<ChoiceOf<Mode>>(
    {{"percentile", Mode::Percentile, "of their ends"}, {"moving_average", Mode::MovingAverage, "over batches"}});
namespace {

std::vector<Choice> calibratorChoices() {
  std::vector<Choice> choices;
  for (const Calibrator &one : calibrators())
    choices.push_back({one.name, one.help});
  choices.push_back({"auto", "tries all of them on each tensor"});
  return choices;
}

constexpr std::array ownRows{
    option<&Request::input>("input_model", "MODEL", "The float model",
                            {.python = Without::Place, .cfg = Without::Place}),
    option<&Request::output>("output_model", "OUTPUT", "The same model, with the range of each tensor",
                             {.python = Without::Place, .cfg = Without::Place}),
    option<&Request::summary, &Summary::mode>("mode", "MODE", "How the records' ranges become one:"),
    option<&Request::summary, &Summary::low>("min_percentile", "PERCENT", "Of the records' minima (1)"),
    option<&Request::summary, &Summary::high>("max_percentile", "PERCENT", "Of the records' maxima (99)"),
    option<&Request::summary, &Summary::batch>("moving_avg_batch", "N", "Records in a batch (16)"),
    option<&Request::summary, &Summary::constant>("moving_avg_const", "WEIGHT",
                                                  "Weight of the newest batch in the moving average (0.1)"),
    option<&Request::calibrators>(
        "calibrator", "[TENSOR=]METHOD",
        "The range of all tensors, or of one, in place of the mode:", {.choices = calibratorChoices}),
    option<&Request::summary, &Summary::elements>(
        "percentile", "PERCENT", "With the calibrator percentile: of the elements' magnitudes (99.99)"),
    option<&Request::bits>("bits", "8|16", "With the calibrator mse: of what is to come (8)"),
    option<&Request::histograms>(
        "histograms", "Notes how many elements lie where, too, for calibrators of elements to be tried later"),
    option<&Request::threads>("num_threads", "N", "Threads of a run (1)", {.also = "threads"}),
    option<&Request::verbose>("verbose", "Ignored, for compatibility; results are always reported",
                              {.also = "V", .python = Without::Ignored, .cfg = Without::Ignored}),
    option<&Request::engine>("engine", "ENGINE", "What computes:"),
    option<&Request::statisticsFile>("statistics", "FILE",
                                     "Writes the ranges of all records, to be merged or summarised later; also --stats",
                                     {.also = "stats", .writes = true, .cfg = Without::Place}),
    option<&Request::shard>("shard", "N/M", "Only the records of part N, from 1, of M parts", {.cfg = Without::Place}),
    option<&Request::merge>("merge", "FILE,…", "Takes statistics from these files instead of running the model",
                            {.cfg = Without::Place}),
    option<&Request::profileData>("generate_profile_data", "Writes ONE's tables of origins beside the map",
                                  {.python = Without::Ignored}),
};
constexpr auto rows = joinRows(ownRows, recordRows<&Request::records>);

} // namespace

llvm::Error check(const Request &request, const Door &door) {
  const Summary &summary = request.summary;
  if (!(summary.low >= 0 && summary.low <= 100 && summary.high >= 0 && summary.high <= 100))
    return makeError(door.spell("min_percentile") + " and " + door.spell("max_percentile") + " lie between 0 and 100");
  if (llvm::Error error = checkRecords(request.records, door))
    return error;
  if (!(summary.elements > 0 && summary.elements <= 100))
    return makeError(door.spell("percentile") + " lies between 0 and 100");
  if (request.bits != 8 && request.bits != 16)
    return makeError(door.spell("bits") + " is 8 or 16");
  if (summary.batch == 0 || !(summary.constant >= 0 && summary.constant <= 1))
    return makeError(door.spell("moving_avg_batch") + " is at least 1, " + door.spell("moving_avg_const") +
                     " lies between 0 and 1");
  if (!request.merge.empty() && ((request.records.any() && !request.tries()) || request.shard != Request().shard))
    return makeError(door.spell("merge") + " takes what parts have recorded, so " + door.spell("shard") +
                     " is of no use with it, and " + door.spell("data") + " only with " + door.spell("calibrator") +
                     " auto");
  return llvm::Error::success();
}

namespace {

/// One run of the command.
class Recording {
public:
  Recording(const Request &request, Imported &imported, const Door &door)
      : request(request), model(*imported.model), door(door), records(request.records, door) {}
  llvm::Error run();

private:
  const Request &request;
  Model &model;
  const Door &door;
  RecordsOpener records;
  Summaries summaries;

  llvm::Error readCalibrators();
  llvm::Error findTensors() const;
  CalibrateOptions options() const;
  llvm::Expected<Statistics> record();
  llvm::Expected<Statistics> statistics();
  llvm::Error choose(const Statistics &statistics);
};

llvm::Error Recording::readCalibrators() {
  std::string option = door.spell("calibrator");
  summaries.all = request.summary;
  summaries.all.steps = request.bits == 8 ? 255 : 65535;
  for (llvm::StringRef text : request.calibrators) {
    llvm::StringRef tensor, name = text;
    if (text.contains('='))
      std::tie(tensor, name) = text.rsplit('=');
    if (tensor.empty() && name == "auto")
      continue;
    const Calibrator *found = findCalibrator(name);
    if (!found) {
      std::string names;
      for (const Choice &one : calibratorChoices())
        names += (names.empty() ? "" : ", ") + one.name.str();
      return makeError(option + ": \"" + printable(name) + "\" is none of " + names);
    }
    Summary one = summaries.all;
    one.calibrator = found;
    if (tensor.empty())
      summaries.all.calibrator = found;
    else if (!summaries.named.emplace(tensor.str(), one).second)
      return makeError(option + ": \"" + printable(tensor) + "\" is named twice");
  }
  return llvm::Error::success();
}

/// Tensors that calibrators name, before hours of running.
llvm::Error Recording::findTensors() const {
  auto isThere = [&](llvm::StringRef name) {
    return llvm::any_of(model.subgraphs, [&](auto &graph) {
      return llvm::any_of(graph->values, [&](const Value *value) {
        return value->name == name && value->type == TensorType::FLOAT32 && !value->isConstant();
      });
    });
  };
  for (const auto &[name, summary] : summaries.named)
    if (!isThere(name))
      return makeError(door.spell("calibrator") + ": no tensor of floats is called \"" + printable(name) + "\"");
  return llvm::Error::success();
}

CalibrateOptions Recording::options() const {
  CalibrateOptions options;
  options.compile.engine = request.engine;
  options.compile.threads = threadCount(request.threads);
  return options;
}

llvm::Expected<Statistics> Recording::record() {
  auto shard = eval::Shard::parse(request.shard);
  if (!shard)
    return shard.takeError();
  CalibrateOptions runs = options();
  runs.histograms = request.histograms || request.tries() || summaries.all.needsHistograms() ||
                    llvm::any_of(summaries.named, [](auto &one) { return one.second.needsHistograms(); });
  runs.shard = *shard;
  if (door.progress)
    runs.progress = [this, parts = shard->parts](uint64_t done, uint64_t all) { door.progress(done, all, parts); };
  door.phase("executing");
  return calibrate(model, records, runs);
}

llvm::Expected<Statistics> Recording::statistics() {
  auto name = fingerprintOf(model);
  if (!name)
    return name.takeError();
  auto taken = request.merge.empty() ? record() : mergeFiles<Statistics>(request.merge);
  if (!taken)
    return taken.takeError();
  if (request.merge.empty())
    taken->model = *name;
  else if (taken->model != *name)
    return makeError(door.spell("merge") + ": the statistics are of another model");
  return taken;
}

/// What is best for each tensor, but for those that are named.
llvm::Error Recording::choose(const Statistics &statistics) {
  door.phase("trying calibrators");
  auto chosen = chooseSummaries(model, statistics, summaries.all, records, options());
  if (!chosen)
    return chosen.takeError();
  std::string text;
  for (const Calibrator &calibrator : calibrators())
    if (size_t count = llvm::count_if(chosen->named, [&](auto &one) { return one.second.calibrator == &calibrator; }))
      text += (llvm::Twine(text.empty() ? "" : ", ") + llvm::Twine(count) + " " + calibrator.name).str();
  door.note(door.spell("calibrator") + "=auto chose, by tensors: " + text);
  for (const auto &[name, summary] : summaries.named)
    chosen->named[name] = summary;
  summaries = std::move(*chosen);
  return llvm::Error::success();
}

llvm::Error Recording::run() {
  if (llvm::Error error = readCalibrators())
    return error;
  if (llvm::Error error = findTensors())
    return error;
  auto taken = statistics();
  if (!taken)
    return taken.takeError();
  if (!request.statisticsFile.empty())
    if (llvm::Error error = writeFile(request.statisticsFile, taken->text()))
      return error;
  if (request.tries() && !request.output.empty())
    if (llvm::Error error = choose(*taken))
      return error;
  std::vector<std::string> silent;
  if (llvm::Error error = setRanges(model, *taken, summaries, silent))
    return error;
  if (!silent.empty())
    door.note(withoutRange(silent));
  size_t count = taken->records.size();
  bool random = request.merge.empty() && !request.records.arrays &&
                (request.records.data.empty() || request.records.data == "random");
  door.note("ranges of " + llvm::Twine(taken->tensors.size()) + " tensors from " + llvm::Twine(count) +
            (count == 1 ? " record" : " records") +
            (random ? " of random numbers, which are for trying out only" : ""));
  return llvm::Error::success();
}

} // namespace

llvm::Error run(const Request &request, Imported &imported, const Door &door) {
  return Recording(request, imported, door).run();
}

static llvm::Error recordFile(Request &request, Words more, const Door &door, Verdict &) {
  if (request.merge.empty() && !more.empty())
    return makeError("there are too many arguments: \"" + printable(more.front()) + "\"");
  llvm::append_range(request.merge, more); // as a shell writes part*.json
  if (request.input.empty() || (request.output.empty() && request.statisticsFile.empty()))
    return makeError("needs " + door.spell("input_model") + ", and " + door.spell("output_model") + " or " +
                     door.spell("stats") + "; --help shows examples");
  if (llvm::Error error = check(request, door))
    return error;
  if (!request.output.empty())
    return rewriteFile(
        request.input, request.output, [&](Imported &imported, PayloadStore &) { return run(request, imported, door); },
        door, request.profileData ? origin::Embed::Full : origin::Embed::Names);
  PayloadStore store;
  auto imported = load(request.input, {}, store, door);
  return imported ? inFile(request.input, run(request, *imported, door)) : imported.takeError();
}

const Command recordCommand = makeCommand<recordFile>(
    "record-minmax", "[more of --merge]",
    "Runs a float model on data and notes the range of each tensor, for circle-quantizer.\n\n"
    "  record-minmax --input_model net.circle --input_data images.npy --output_model ranges.circle\n"
    "  record-minmax --input_model net.circle --input_data records/ --input_data_format dir \\\n"
    "                --output_model ranges.circle              a file for each record, all inputs in order\n"
    "  record-minmax --input_model net.circle --input_data records/ --shard 3/16 --stats part3.json\n"
    "  record-minmax --input_model net.circle --merge part*.json --output_model ranges.circle\n"
    "  record-minmax --input_model net.circle --input_data images/ --mean 127.5 --std 127.5 --resize crop \\\n"
    "                --calibrator mse --calibrator conv_1=percentile --output_model ranges.circle\n",
    [] { return Options(rows); });

} // namespace origo::commands
