/// Runs a model on data and writes the range of each tensor into it, for circle-quantizer.

#include "export/Writer.h"
#include "origin/Fingerprint.h"
#include "quantize/Choose.h"
#include "tools/NoteOrder.h"
#include "tools/Parts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace origo;
using namespace origo::quantize;
using namespace origo::tools;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options");
cl::opt<std::string> input("input_model", cl::value_desc("MODEL"), cl::desc("The float model"), cl::cat(category));
cl::opt<std::string> data("input_data", cl::value_desc("PATH"), cl::cat(category),
                          cl::desc("Records to run it on, or the word random; without: three of random numbers, the same each time"));
cl::opt<std::string> output("output_model", cl::value_desc("OUTPUT"), cl::cat(category),
                            cl::desc("The same model, with the range of each tensor"));
cl::opt<RecordFormat>
    format("input_data_format", cl::init(RecordFormat::ByName), cl::cat(category),
           cl::desc("What lies at PATH; without: as its name tells"),
           cl::values(clEnumValN(RecordFormat::List, "list", "a line for each record: the files of its inputs"),
                      clEnumValN(RecordFormat::List, "filelist", "the same"),
                      clEnumValN(RecordFormat::Directory, "directory", "a file for each record: all inputs in order"),
                      clEnumValN(RecordFormat::Directory, "dir", "the same"),
                      clEnumValN(RecordFormat::Numpy, "numpy", ".npy, or .npz with an array for each input"),
                      clEnumValN(RecordFormat::Hdf5, "h5", "HDF5: value/RECORD/INPUT, both numbered from 0"),
                      clEnumValN(RecordFormat::Hdf5, "hdf5", "the same"),
                      clEnumValN(RecordFormat::Images, "images", "a directory of PNG, JPEG or BMP files")));
cl::list<float> mean("mean", cl::CommaSeparated, cl::value_desc("N,…"), cl::cat(category),
                     cl::desc("Images: (pixel - mean) / std, one number or one a channel (0)"));
cl::list<float> deviation("std", cl::CommaSeparated, cl::value_desc("N,…"), cl::cat(category),
                          cl::desc("Images: see --mean (255)"));
using Layout = ImageOptions::Layout;
cl::opt<Layout> layout("layout", cl::cat(category), cl::desc("Images: of the input; without: as its shape tells"),
                       cl::values(clEnumValN(Layout::ChannelsLast, "nhwc", "channels last"),
                                  clEnumValN(Layout::ChannelsFirst, "nchw", "channels first")));
using Resize = ImageOptions::Resize;
cl::opt<Resize> resize("resize", cl::init(Resize::Stretch), cl::cat(category), cl::desc("Images of another size:"),
                       cl::values(clEnumValN(Resize::Stretch, "stretch", "are stretched"),
                                  clEnumValN(Resize::Crop, "crop", "their middle is taken"),
                                  clEnumValN(Resize::Pad, "pad", "get black borders")));
using Channels = ImageOptions::Channels;
cl::opt<Channels>
    channels("channels", cl::cat(category), cl::desc("Images: of the input; without: rgb, or gray if it has one"),
             cl::values(clEnumValN(Channels::Rgb, "rgb", "red first"), clEnumValN(Channels::Bgr, "bgr", "blue first"),
                        clEnumValN(Channels::Gray, "gray", "brightness")));
cl::opt<Summary::Mode> mode("mode", cl::init(Summary::Mode::Percentile), cl::cat(category),
                            cl::desc("How the records' ranges become one:"),
                            cl::values(clEnumValN(Summary::Mode::Percentile, "percentile", "of their ends"),
                                       clEnumValN(Summary::Mode::MovingAverage, "moving_average", "over batches")));
cl::opt<double> low("min_percentile", cl::init(1), cl::cat(category), cl::desc("Of the records' minima (1)"));
cl::opt<double> high("max_percentile", cl::init(99), cl::cat(category), cl::desc("Of the records' maxima (99)"));
cl::opt<unsigned> batch("moving_avg_batch", cl::init(16), cl::cat(category), cl::desc("Records in a batch (16)"));
cl::opt<float> constant("moving_avg_const", cl::init(0.1f), cl::cat(category),
                        cl::desc("What a batch counts against those before it (0.1)"));
cl::list<std::string> calibrators(
    "calibrator", cl::value_desc("[TENSOR=]METHOD"), cl::cat(category),
    cl::desc("The range of all tensors, or of one, instead of --mode: minmax, ema (0.95 old, 0.05 new record), or of "
             "elements percentile, mse (of rounding and clipping), entropy; auto tries all five"));
cl::opt<double> elements("percentile", cl::init(99.99), cl::cat(category),
                         cl::desc("--calibrator=percentile: of the elements' magnitudes (99.99)"));
cl::opt<unsigned> bits("bits", cl::init(8), cl::cat(category), cl::desc("--calibrator=mse: of what is to come (8)"));
cl::opt<bool>
    histograms("histograms", cl::cat(category),
               cl::desc("Notes how many elements lie where, too, for calibrators of elements to be tried later"));
cl::opt<unsigned> threads("num_threads", cl::init(1), cl::cat(category), cl::desc("Threads of a run (1)"));
cl::alias threadsToo("threads", cl::aliasopt(threads), cl::desc("The same"), cl::cat(category));
cl::opt<bool> verbose("verbose", cl::desc("Accepted; what was done is always said"), cl::cat(category));
cl::alias verboseShort("V", cl::aliasopt(verbose), cl::desc("Same as --verbose"), cl::cat(category));
cl::opt<eval::Engine>
    engine("engine", cl::init(eval::Engine::Fast), cl::cat(category), cl::desc("What computes:"),
           cl::values(clEnumValN(eval::Engine::Reference, "reference", "the semantics, bit for bit"),
                      clEnumValN(eval::Engine::Fast, "fast", "vector kernels, within small tolerances")));
cl::opt<std::string>
    statisticsFile("statistics", writes, cl::value_desc("FILE"), cl::cat(category),
                   cl::desc("Writes the ranges of all records, to be merged or summarised later; also --stats"));
cl::opt<std::string> shardText("shard", cl::value_desc("N/M"), cl::init("1/1"), cl::cat(category),
                               cl::desc("Only the records of part N, from 1, of M parts"));
cl::list<std::string> parts("merge", cl::value_desc("FILE,…"), cl::CommaSeparated, cl::cat(category),
                            cl::desc("Takes statistics from these files instead of running the model"));
cl::list<std::string> moreParts(cl::Positional, cl::desc("[more of --merge]"), cl::cat(category));
cl::opt<bool> profileData("generate_profile_data", cl::cat(category), cl::desc("Accepted; origins are always kept"));

bool automatic = false; // --calibrator=auto

const char *nameOf(Summary::Mode mode) {
  switch (mode) {
  case Summary::Mode::Percentile:
  case Summary::Mode::MovingAverage:
    break; // chosen by --mode
  case Summary::Mode::MinMax:
    return "minmax";
  case Summary::Mode::Ema:
    return "ema";
  case Summary::Mode::Elements:
    return "percentile";
  case Summary::Mode::Mse:
    return "mse";
  case Summary::Mode::Entropy:
    return "entropy";
  }
  return "";
}

llvm::Expected<Summaries> parseCalibrators() {
  Summaries summaries;
  summaries.all = {mode, low, high, batch, constant, elements, bits == 8 ? 255u : 65535u};
  for (llvm::StringRef text : calibrators) {
    llvm::StringRef tensor, name = text;
    if (text.contains('='))
      std::tie(tensor, name) = text.rsplit('=');
    if (tensor.empty() && name == "auto") {
      automatic = true;
      continue;
    }
    const auto *found = llvm::find_if(triedModes(), [&](Summary::Mode one) { return name == nameOf(one); });
    if (found == triedModes().end())
      return makeError("--calibrator: \"" + printable(name) +
                       "\" is none of minmax, ema, percentile, mse, entropy, auto");
    Summary one = summaries.all;
    one.mode = *found;
    if (tensor.empty())
      summaries.all.mode = *found;
    else if (!summaries.named.emplace(tensor.str(), one).second)
      return makeError("--calibrator: \"" + printable(tensor) + "\" is named twice");
  }
  return summaries;
}

bool needsHistograms(const Summaries &summaries) {
  return automatic || Summary::needsHistograms(summaries.all.mode) ||
         llvm::any_of(summaries.named, [](auto &one) { return Summary::needsHistograms(one.second.mode); });
}

llvm::Expected<std::unique_ptr<Records>> openData(llvm::ArrayRef<eval::Port> inputs, llvm::StringRef signature) {
  if (data.empty())
    return randomRecords(inputs);
  if (data == "random")
    return seededRecords(inputs, 4);
  // Signatures with inputs of their own have data of their own.
  llvm::SmallString<256> own(data.getValue());
  llvm::sys::path::append(own, signature);
  bool apart = !signature.empty() && llvm::sys::fs::is_directory(own);
  auto records =
      openRecords(apart ? own.str().str() : data, format, inputs, {layout, resize, channels, mean, deviation});
  if (records)
    noteOrder(inputs, **records);
  return records;
}

CalibrateOptions optionsOfRuns() {
  CalibrateOptions options;
  options.compile.engine = engine;
  options.compile.threads = threadCount(threads);
  return options;
}

llvm::Expected<Statistics> record(Imported &imported, bool withHistograms) {
  auto shard = eval::Shard::parse(shardText);
  if (!shard)
    return shard.takeError();
  CalibrateOptions options = optionsOfRuns();
  options.histograms = withHistograms;
  options.shard = *shard;
  options.progress = Progress(shard->parts);
  phase("executing");
  return calibrate(*imported.model, openData, options);
}

/// What is best for each tensor, but for those that are named.
llvm::Expected<Summaries> choose(Imported &imported, const Statistics &statistics, const Summaries &given) {
  phase("trying calibrators");
  auto chosen = chooseSummaries(*imported.model, statistics, given.all, openData, optionsOfRuns());
  if (!chosen)
    return chosen.takeError();
  std::map<Summary::Mode, size_t> counts;
  for (const auto &[name, summary] : chosen->named)
    ++counts[summary.mode];
  std::string text;
  for (auto [mode, count] : counts)
    text += (llvm::Twine(text.empty() ? "" : ", ") + llvm::Twine(count) + " " + nameOf(mode)).str();
  note("--calibrator=auto chose, by tensors: " + text);
  for (const auto &[name, summary] : given.named)
    chosen->named[name] = summary;
  return chosen;
}

llvm::Error run() {
  auto summaries = parseCalibrators();
  if (!summaries)
    return summaries.takeError();
  auto change = [&](Imported &imported, PayloadStore &) -> llvm::Error {
    auto listing = listingOf(*imported.model, imported.model->format);
    if (!listing)
      return listing.takeError();
    // Before hours of running.
    for (const auto &[name, summary] : summaries->named)
      if (llvm::none_of(imported.model->subgraphs, [&, &name = name](auto &graph) {
            return llvm::any_of(graph->values, [&](const Value *value) {
              return value->name == name && value->type == TensorType::FLOAT32 && !value->isConstant();
            });
          }))
        return makeError("--calibrator: no tensor of floats is called \"" + printable(name) + "\"");
    std::string model = "sha256:" + origin::hex((*listing)->fingerprint);
    std::vector<std::string> files(parts.begin(), parts.end());
    files.insert(files.end(), moreParts.begin(), moreParts.end()); // as a shell writes part*.json
    auto statistics = files.empty() ? record(imported, histograms || needsHistograms(*summaries))
                                    : mergeFiles<Statistics>(files);
    if (!statistics)
      return statistics.takeError();
    if (parts.empty())
      statistics->model = model;
    else if (statistics->model != model)
      return makeError("--merge: the statistics are of another model");
    if (!statisticsFile.empty())
      if (llvm::Error error = writeFile(statisticsFile, statistics->text()))
        return error;
    if (automatic && !output.empty()) {
      summaries = choose(imported, *statistics, *summaries);
      if (!summaries)
        return summaries.takeError();
    }
    std::vector<std::string> silent;
    if (llvm::Error error = setRanges(*imported.model, *statistics, *summaries, silent))
      return error;
    if (!silent.empty())
      note(withoutRange(silent));
    size_t records = statistics->records.size();
    note("ranges of " + llvm::Twine(statistics->tensors.size()) + " tensors from " + llvm::Twine(records) +
         (records == 1 ? " record" : " records") +
         (parts.empty() && (data.empty() || data == "random") ? " of random numbers, which are for trying out only" : ""));
    return llvm::Error::success();
  };
  if (!output.empty())
    return rewriteFile(input, output, change);
  PayloadStore store;
  auto imported = load(input, {}, store);
  if (!imported)
    return imported.takeError();
  return inFile(input, change(*imported, store));
}

int checkAndRun() {
  if (parts.empty() && !moreParts.empty())
    return fail("there are too many arguments: \"" + printable(moreParts.front()) + "\"");
  if (input.empty() || (output.empty() && statisticsFile.empty()))
    return fail("needs --input_model, and --output_model or --stats; --help shows examples");
  if (!(low >= 0 && low <= 100 && high >= 0 && high <= 100))
    return fail("--min_percentile and --max_percentile lie between 0 and 100");
  if (llvm::any_of(deviation, [](float x) { return !(std::abs(x) > 0); }))
    return fail("--std: what is divided by is not 0");
  if (!(elements > 0 && elements <= 100))
    return fail("--percentile lies between 0 and 100");
  if (bits != 8 && bits != 16)
    return fail("--bits is 8 or 16");
  if (batch == 0 || !(constant >= 0 && constant <= 1))
    return fail("--moving_avg_batch is at least 1, --moving_avg_const lies between 0 and 1");
  bool tries = llvm::is_contained(calibrators, "auto");
  if (!parts.empty() && ((!data.empty() && !tries) || shardText.getNumOccurrences()))
    return fail("--merge takes what parts have recorded, so --shard is of no use with it, and --input_data only with "
                "--calibrator=auto");
  llvm::Error error = run();
  return error ? fail(std::move(error)) : 0;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<char *> words = withStatistics(argc, argv);
  return tools::main(
      argc, words.data(), "record-minmax", {&category},
      "Runs a float model on data and notes the range of each tensor, for circle-quantizer.\n\n"
      "  record-minmax --input_model net.circle --input_data images.npy --output_model ranges.circle\n"
      "  record-minmax --input_model net.circle --input_data records/ --input_data_format dir \\\n"
      "                --output_model ranges.circle              a file for each record, all inputs in order\n"
      "  record-minmax --input_model net.circle --input_data records/ --shard 3/16 --stats part3.json\n"
      "  record-minmax --input_model net.circle --merge part*.json --output_model ranges.circle\n"
      "  record-minmax --input_model net.circle --input_data images/ --mean 127.5 --std 127.5 --resize crop \\\n"
      "                --calibrator mse --calibrator conv_1=percentile --output_model ranges.circle\n",
      checkAndRun);
}
