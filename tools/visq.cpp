/// How far the tensors of a quantised model are from those of the float one.

#include "commands/Errors.h"
#include "commands/QuantizeModel.h"
#include "commands/Records.h"
#include "export/Writer.h"
#include "origin/Fingerprint.h"
#include "report/errors/Print.h"
#include "report/errors/Search.h"
#include "tools/Parts.h"
#include "tools/Related.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace origo;
using namespace origo::report;
using namespace origo::tools;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options"), ones("Files as ONE's tool writes them, one metric each");
cl::opt<std::string> source("fp32_circle", cl::value_desc("MODEL"), cl::cat(category),
                            cl::desc("The float model, or any that the other was made from"));
cl::alias sourceToo("f", cl::aliasopt(source), cl::desc("The same"), cl::cat(category));
cl::opt<std::string> result("q_circle", cl::value_desc("MODEL"), cl::cat(category), cl::desc("What was made of it"));
cl::alias resultToo("q", cl::aliasopt(result), cl::desc("The same"), cl::cat(category));
cl::opt<std::string>
    data("data", cl::value_desc("PATH"), cl::cat(category),
         cl::desc("Records as record-minmax reads them; without: four of random numbers, the same each "
                  "time, between -1 and 1"));
cl::alias dataOnes("input_data", cl::aliasopt(data), cl::desc("Same as --data"), cl::cat(category));
cl::alias dataToo("d", cl::aliasopt(data), cl::desc("The same"), cl::cat(category));
cl::opt<uint64_t> most("records", cl::value_desc("N"), cl::cat(category),
                       cl::desc("Only the first N records; of random ones so many"));
cl::opt<std::string>
    metricName("metric", cl::value_desc("NAME"), cl::init("MPEIR"), cl::cat(category),
               cl::desc("MPEIR, MSE, TAE, SRMSE, MAE, PSNR, cosine, max or over_range: what is shown, and "
                        "of own and inherited error (MPEIR)"));
cl::opt<bool> blame("blame", cl::cat(category),
                    cl::desc("Tells own from inherited error, and sorts by what a layer's own does to the outputs"));
cl::opt<uint64_t> blameRecords("blame_records", cl::value_desc("N"), cl::init(2), cl::cat(category),
                               cl::desc("Records that effects on the outputs are taken from (2)"));
cl::opt<double>
    bound("bound", cl::value_desc("ERROR"), cl::cat(category),
          cl::desc("Finds the fewest layers to be kept float for an output error of at most that, measured like "
                   "an effect"));
cl::opt<double>
    limit("limit", cl::value_desc("ERROR"), cl::cat(category),
          cl::desc("Exit status 2 where an output's --metric is more than that, as circle2circle --bisect asks"));
cl::opt<std::string> config("config", writes, cl::value_desc("FILE"), cl::cat(category),
                            cl::desc("With --bound: writes them for circle-quantizer --config"));
cl::opt<unsigned> mostRuns("most_runs", cl::value_desc("N"), cl::init(200), cl::cat(category),
                           cl::desc("With --bound: measures at most so often (200)"));
cl::opt<std::string> shardText("shard", cl::value_desc("N/M"), cl::init("1/1"), cl::cat(category),
                               cl::desc("Only the records of part N, from 1, of M parts, for --stats"));
cl::opt<std::string> statisticsFile("statistics", writes, cl::value_desc("FILE"), cl::cat(category),
                                    cl::desc("Writes what was measured of these records, to be merged; also --stats"));
cl::list<std::string> merge("merge", cl::value_desc("FILE,…"), cl::CommaSeparated, cl::cat(category),
                            cl::desc("Takes what was measured from these files instead of running the models"));
cl::list<std::string> moreFiles(cl::Positional, cl::desc("[more of --merge]"), cl::cat(category));
cl::opt<bool> byScope("by_scope", cl::cat(category), cl::desc("A line a scope of names"));
cl::opt<std::string> json("json", writes, cl::value_desc("FILE"), cl::cat(category),
                          cl::desc("Writes everything as JSON"));
cl::opt<bool> dot("dump_dot_graph", cl::cat(ones),
                  cl::desc("Writes FILE.dot beside each file, a picture of subgraph 0"));
cl::opt<std::string> mpeir("mpeir_output", writes, cl::value_desc("FILE"), cl::cat(ones), cl::desc("Writes MPEIR"));
cl::opt<std::string> mse("mse_output", writes, cl::value_desc("FILE"), cl::cat(ones), cl::desc("Writes MSE"));
cl::opt<std::string> tae("tae_output", writes, cl::value_desc("FILE"), cl::cat(ones), cl::desc("Writes TAE"));
cl::opt<std::string> srmse("srmse_output", writes, cl::value_desc("FILE"), cl::cat(ones), cl::desc("Writes SRMSE"));
cl::opt<unsigned> batch("batch_size", cl::cat(ones), cl::desc("Accepted; a record is a record"));
cl::alias batchToo("b", cl::aliasopt(batch), cl::desc("The same"), cl::cat(ones));
cl::opt<eval::Engine>
    engine("engine", cl::init(eval::Engine::Fast), cl::cat(category), cl::desc("What computes:"),
           cl::values(clEnumValN(eval::Engine::Reference, "reference", "the semantics, bit for bit"),
                      clEnumValN(eval::Engine::Fast, "fast", "vector kernels, within small tolerances")));
cl::opt<unsigned> threads("threads", cl::value_desc("N"), cl::init(1), cl::cat(category),
                          cl::desc("Threads of a run (1)"));

ErrorOptions options() {
  ErrorOptions options;
  options.compile.engine = engine;
  options.compile.threads = threadCount(threads);
  options.own = blame || bound.getNumOccurrences();
  return options;
}

struct Wanted {
  std::string path;
  const ErrorMetric *metric;
  bool dot;
};

llvm::Error write(const ErrorReport &report, llvm::ArrayRef<Wanted> files) {
  std::vector<std::unique_ptr<OutputFile>> open;
  std::vector<OutputFile *> done;
  for (const Wanted &wanted : files) {
    auto file = OutputFile::open(wanted.path);
    if (!file)
      return file.takeError();
    {
      OutputStream os(**file);
      JsonOutput escaped(os);
      wanted.dot ? writeErrorDot(report, *wanted.metric, os) : writeErrors(report, *wanted.metric, escaped);
    }
    if (llvm::Error error = (*file)->finish())
      return error;
    done.push_back(file->get());
    open.push_back(std::move(*file));
  }
  return OutputFile::commit(done);
}

/// A record that effects are taken from.
struct Sample {
  std::string signature;
  std::vector<eval::OwnedTensor> inputs;
};

llvm::Expected<std::unique_ptr<quantize::Records>> recordsFor(llvm::ArrayRef<eval::Port> inputs) {
  bool random = data.empty() || data == "random";
  return random && most.getNumOccurrences() ? quantize::seededRecords(inputs, most)
                                            : commands::recordsAt(random ? "random" : std::string(data), inputs);
}

/// The output error on all records, where the source does the work of these layers.
llvm::Expected<double> errorOnAll(const ErrorRun &run, const Layers &layers) {
  double sum = 0;
  uint64_t counted = 0;
  for (const std::string &signature : run.signatures()) {
    auto ports = run.inputs(signature);
    if (!ports)
      return ports.takeError();
    auto records = recordsFor(*ports);
    if (!records)
      return records.takeError();
    uint64_t count = most.getNumOccurrences() ? std::min<uint64_t>((*records)->count(), most) : (*records)->count();
    for (uint64_t i = 0; i < count; ++i) {
      auto inputs = (*records)->read(i);
      if (!inputs)
        return inputs.takeError();
      auto error = run.errorWith(signature, *inputs, layers);
      if (!error)
        return error.takeError();
      sum += *error;
      ++counted;
    }
  }
  return sum / static_cast<double>(std::max<uint64_t>(counted, 1));
}

/// False: what suffices on the records that effects are taken from does not on all of them.
llvm::Expected<bool> findLayers(const ErrorRun &run, const ErrorReport &report, llvm::ArrayRef<Sample> samples) {
  std::vector<const ErrorRow *> rows;
  for (const ErrorRow &row : report.rows)
    if (row.effect && row.value->producer())
      rows.push_back(&row);
  llvm::stable_sort(rows, [](const ErrorRow *a, const ErrorRow *b) { return *a->effect > *b->effect; });
  std::vector<const Operator *> blamed;
  for (const ErrorRow *row : rows)
    if (!llvm::is_contained(blamed, row->value->producer()))
      blamed.push_back(row->value->producer());
  auto found = fewestLayers(blamed, run.pairs(), bound, mostRuns, [&](const Layers &layers) -> llvm::Expected<double> {
    double sum = 0;
    for (const Sample &sample : samples) {
      auto error = run.errorWith(sample.signature, sample.inputs, layers);
      if (!error)
        return error.takeError();
      sum += *error;
    }
    return sum / static_cast<double>(std::max<size_t>(samples.size(), 1));
  });
  if (!found)
    return found.takeError();
  double error = found->error;
  if (report.records > blameRecords) {
    auto all = errorOnAll(run, closed(Layers(found->layers.begin(), found->layers.end()), run.pairs()));
    if (!all)
      return all.takeError();
    error = *all;
  }
  phase(nullptr);
  if (!(error <= bound)) {
    llvm::errs()
        << "visq: with " << found->layers.size()
        << llvm::format(
               " layers as in the source the output error is %.4g on the %llu records that they were found on, "
               "and %.4g on all %llu, more than %.4g; --blame_records=%llu looks for them on all\n",
               found->error, (unsigned long long)blameRecords, error, (unsigned long long)report.records,
               bound.getValue(), (unsigned long long)report.records);
    return false;
  }
  llvm::outs() << llvm::format("output error %.4g", found->before);
  if (found->layers.empty())
    llvm::outs() << ", which is within the bound\n";
  else
    llvm::outs() << llvm::format(", and %.4g with %zu of %zu layers as in the source (%u runs):\n", error,
                                 found->layers.size(), blamed.size(), found->runs);
  for (const Operator *op : found->layers)
    llvm::outs() << "  " << op->opName() << " " << printable(op->result()->name, 200) << '\n';
  if (!config.empty())
    if (llvm::Error failed = writeFile(config, floatConfig(found->layers)))
      return failed;
  return true;
}

llvm::Expected<std::string> fingerprintOf(Model &model) {
  auto listing = listingOf(model, model.format);
  if (!listing)
    return listing.takeError();
  return "sha256:" + origin::hex((*listing)->fingerprint);
}

/// Runs the models on the records of this part; what was measured.
llvm::Expected<ErrorPart> measure(ErrorRun &run, std::vector<Sample> &samples) {
  auto shard = eval::Shard::parse(shardText);
  if (!shard)
    return shard.takeError();
  commands::ErrorRecords records;
  if (most.getNumOccurrences())
    records.most = most;
  if (options().own)
    records.withEffects = blameRecords;
  if (bound.getNumOccurrences())
    records.onEffect = [&](const std::string &signature, std::vector<eval::OwnedTensor> inputs) {
      samples.push_back({signature, std::move(inputs)});
    };
  records.shard = *shard;
  records.progress = [progress = Progress(), parts = shard->parts](uint64_t done, uint64_t all) mutable {
    progress(done, all, parts);
  };
  phase("executing");
  auto numbers = commands::runRecords(run, recordsFor, records);
  if (!numbers)
    return numbers.takeError();
  ErrorPart part = run.measured();
  part.records = std::move(*numbers);
  part.withEffects = records.withEffects;
  return part;
}

/// What was measured, here or elsewhere; the run has it as well.
llvm::Expected<ErrorPart> partOf(ErrorRun &run, const Related &models, std::vector<Sample> &samples) {
  auto source = fingerprintOf(*models.source.model), result = fingerprintOf(*models.result.model);
  if (!source || !result)
    return firstError(source, result);
  std::vector<std::string> files(merge.begin(), merge.end());
  files.insert(files.end(), moreFiles.begin(), moreFiles.end()); // as a shell writes part*.json
  auto part = files.empty() ? measure(run, samples) : commands::mergeFiles<ErrorPart>(files);
  if (!part)
    return part.takeError();
  if (files.empty()) {
    part->source = *source;
    part->result = *result;
  } else if (part->source != *source || part->result != *result) {
    return makeError("--merge: the errors are of other models");
  } else if (blame && !part->own) {
    return makeError("--merge: the parts were measured without --blame");
  } else if (llvm::Error error = run.take(*part)) {
    return error;
  }
  return part;
}

/// Whether an output is off by more than --limit, or has no figure; of those that are, one is told.
bool exceedsLimit(const ErrorReport &report, const ErrorMetric &metric) {
  if (llvm::none_of(report.rows, [](const ErrorRow &row) { return row.isOutput; })) {
    llvm::errs() << "visq: no output is compared\n";
    return true;
  }
  for (const ErrorRow &row : report.rows) {
    if (!row.isOutput)
      continue;
    auto error = row.unmeasured.empty() ? metric.of(row.total.figures(row.scale)) : std::nullopt;
    if (error && *error <= limit && row.total.odd == 0)
      continue;
    llvm::errs() << "visq: output \"" << printable(row.value->name, 200) << "\": ";
    if (!error)
      llvm::errs() << "no " << metric.name << (row.unmeasured.empty() ? "" : ", for it " + row.unmeasured) << '\n';
    else if (row.total.odd)
      llvm::errs() << row.total.odd << " elements are finite in one of the two only\n";
    else
      llvm::errs() << metric.name << llvm::format(" %.4g, more than %.4g\n", *error, limit.getValue());
    return true;
  }
  return false;
}

/// False: something is off by more than --limit.
llvm::Expected<bool> compare(const ErrorMetric &metric) {
  PayloadStore store;
  auto models = loadRelated(source, result, store);
  if (!models)
    return models.takeError();
  auto run = ErrorRun::of(models->source, models->result, options());
  if (!run)
    return run.takeError();
  std::vector<Sample> samples;
  auto part = partOf(*run, *models, samples);
  if (!part)
    return part.takeError();
  if (!statisticsFile.empty())
    if (llvm::Error error = writeFile(statisticsFile, part->text()))
      return error;
  auto rows = run->rows();
  ErrorReport report{*models->source.model,
                     rows,
                     llvm::sys::path::filename(source).str(),
                     llvm::sys::path::filename(result).str(),
                     run->pairs().by,
                     part->records.size()};
  std::vector<Wanted> files;
  auto want = [&](const std::string &path, const ErrorMetric *of) {
    if (path.empty())
      return;
    files.push_back({path, of, false});
    if (dot)
      files.push_back({path + ".dot", of, true});
  };
  want(mpeir, findErrorMetric("MPEIR"));
  want(mse, findErrorMetric("MSE"));
  want(tae, findErrorMetric("TAE"));
  want(srmse, findErrorMetric("SRMSE"));
  want(json, &metric);
  if (llvm::Error error = write(report, files))
    return error;
  if (bound.getNumOccurrences())
    return findLayers(*run, report, samples);
  phase(nullptr);
  if (byScope && json != "-")
    printErrorScopes(report, metric, llvm::outs());
  else if (files.empty() && statisticsFile.empty())
    printErrors(report, metric, part->own ? ErrorOrder::Blame : ErrorOrder::Execution, llvm::outs());
  return !limit.getNumOccurrences() || !exceedsLimit(report, metric);
}

int checkAndRun() {
  if (source.empty() || result.empty())
    return fail("needs --fp32_circle and --q_circle; --help shows examples");
  const ErrorMetric *metric = findErrorMetric(metricName);
  if (!metric)
    return fail("--metric: \"" + printable(metricName) +
                "\" is none; give MPEIR, MSE, TAE, SRMSE, MAE, PSNR, cosine, "
                "max or over_range");
  if (!config.empty() && !bound.getNumOccurrences())
    return fail("--config goes with --bound");
  if (merge.empty() && !moreFiles.empty())
    return fail("there are too many arguments: \"" + printable(moreFiles.front()) + "\"");
  if (bound.getNumOccurrences() && (shardText.getNumOccurrences() || !merge.empty()))
    return fail("--bound runs the models on all records, without --shard and --merge");
  if (shardText.getNumOccurrences() && statisticsFile.empty())
    return fail("--shard needs --stats, a file for --merge");
  if (!merge.empty() && (!data.empty() || shardText.getNumOccurrences()))
    return fail("--merge takes what parts have measured, so --data and --shard are of no use with it");
  if (limit.getNumOccurrences() && (metric->name == "PSNR" || metric->name == "cosine"))
    return fail("--limit goes with a metric of which more is worse");
  if (most.getNumOccurrences() && most == 0)
    return fail("--records 0 leaves nothing to be compared");
  if (bound.getNumOccurrences() && blameRecords == 0)
    return fail("--bound measures on the records that --blame_records counts, which are none");
  if (limit.getNumOccurrences() && bound.getNumOccurrences())
    return fail("--limit judges what there is, and --bound looks for something else: give one of the two");
  auto within = compare(*metric);
  if (!within)
    return fail(within.takeError());
  return *within ? 0 : 2;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<char *> words = withStatistics(argc, argv);
  return tools::main(
      argc, words.data(), "visq", {&category, &ones},
      "Runs a model and what was made of it, and tells how far apart their tensors are, in terms of the "
      "former.\n\n"
      "  visq -f net.tflite -q net_int8.tflite --data records/            a line a tensor\n"
      "  visq -f net.tflite -q net_int8.tflite -d records/ --blame        the worst layers first\n"
      "  visq -f net.circle -q net_u8.circle -d images.npy --mpeir_output net.visq.json --dump_dot_graph\n"
      "  visq -f net.tflite -q net_int8.tflite -d records/ --bound 0.01 --config keep.json\n"
      "  circle2circle -O1 --bisect='visq -f net.circle -d records/ --limit 0.01 -q' net.circle out.circle\n"
      "  visq -f net.circle -q net_u8.circle -d images.npy --blame --json errors.json\n"
      "  visq -f net.tflite -q net_int8.tflite -d records/ --shard 3/16 --stats part3.json\n"
      "  visq -f net.tflite -q net_int8.tflite --merge part*.json --json errors.json\n",
      checkAndRun);
}
