#include "commands/Command.h"
#include "commands/Errors.h"
#include "commands/Files.h"
#include "commands/Labels.h"
#include "commands/Records.h"
#include "commands/Related.h"
#include "export/Writer.h"
#include "report/errors/Print.h"
#include "report/errors/Search.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

namespace origo::commands {

using namespace report;

template <>
inline constexpr auto choicesOf<ErrorsBy> = std::to_array<ChoiceOf<ErrorsBy>>(
    {{"scope", ErrorsBy::Scope, "a line a scope of names"},
     {"line", ErrorsBy::Line, "a line of the program that made the source, where it is known"},
     {"file", ErrorsBy::File, "a file of that program"}});

namespace {

/// Runs a model and what was made of it, and tells how far apart their tensors are.
struct VisqRequest {
  std::string source, result;
  RecordsRequest records;
  std::optional<uint64_t> most; ///< records
  std::string metric = "MPEIR";
  std::string labels, score;
  bool blame = false;
  uint64_t blameRecords = 2;
  std::optional<double> bound, limit;
  std::string config;
  unsigned mostRuns = 200;
  std::optional<std::string> shard;
  std::string statisticsFile;
  std::vector<std::string> merge; ///< instead of running the models
  bool byScope = false, dot = false;
  std::optional<ErrorsBy> by;
  std::string json, mpeir, mse, tae, srmse; ///< are written
  unsigned batch = 0;
  eval::Engine engine = eval::Engine::Fast;
  unsigned threads = 1;
};

using Request = VisqRequest;
constexpr Option ones{.category = "Files as ONE's tool writes them, one metric each", .writes = true};

constexpr std::array ownRows{
    option<&Request::source>("fp32_circle", "MODEL", "The float model, or any that the other was made from",
                             {.also = "f", .python = Without::Place}),
    option<&Request::result>("q_circle", "MODEL", "What was made of it", {.also = "q", .python = Without::Place}),
    option<&Request::most>("records", "N", "Only the first N records; of random ones so many"),
    option<&Request::metric>("metric", "NAME",
                             "MPEIR, MSE, TAE, SRMSE, MAE, PSNR, cosine, max or over_range: what is shown, and of own "
                             "and inherited error (MPEIR)"),
    option<&Request::labels>("labels", "FILE",
                             "The class of each record, a number a line, also behind the name of its file, or a .npy "
                             "file: how often each model finds it"),
    option<&Request::score>("score", "COMMAND",
                            "A measure of your own: runs it with the path of each model as its last word, and shows "
                            "the last line that it prints",
                            {.python = Without::Prints, .cfg = Without::Prints}),
    option<&Request::blame>("blame",
                            "Tells own from inherited error, and sorts by what a layer's own does to the outputs"),
    option<&Request::blameRecords>("blame_records", "N", "Records that effects on the outputs are taken from (2)"),
    option<&Request::bound>("bound", "ERROR",
                            "Finds the fewest layers to be kept float for an output error of at most that, measured "
                            "like an effect"),
    option<&Request::limit>(
        "limit", "ERROR", "Exit status 2 where an output's --metric is more than that, as circle2circle --bisect asks"),
    option<&Request::config>("config", "FILE", "With --bound: writes them for circle-quantizer --config",
                             {.writes = true}),
    option<&Request::mostRuns>("most_runs", "N", "With --bound: measures at most so often (200)"),
    option<&Request::shard>("shard", "N/M", "Only the records of part N, from 1, of M parts, for --stats"),
    option<&Request::statisticsFile>("statistics", "FILE",
                                     "Writes what was measured of these records, to be merged; also --stats",
                                     {.also = "stats", .writes = true}),
    option<&Request::merge>("merge", "FILE,…",
                            "Takes what was measured from these files instead of running the models"),
    option<&Request::by>("by", "", "Brings layers together:"),
    option<&Request::byScope>("by_scope", "The same as --by=scope"),
    option<&Request::json>("json", "FILE", "Writes everything as JSON", {.writes = true}),
    option<&Request::engine>("engine", "ENGINE", "What computes:"),
    option<&Request::threads>("threads", "N", "Threads of a run (1)"),
    option<&Request::dot>("dump_dot_graph", "Writes FILE.dot beside each file, a picture of subgraph 0",
                          {.category = ones.category}),
    option<&Request::mpeir>("mpeir_output", "FILE", "Writes MPEIR", ones),
    option<&Request::mse>("mse_output", "FILE", "Writes MSE", ones),
    option<&Request::tae>("tae_output", "FILE", "Writes TAE", ones),
    option<&Request::srmse>("srmse_output", "FILE", "Writes SRMSE", ones),
    option<&Request::batch>("batch_size", "N", "Ignored, for compatibility; a record is a record",
                            {.category = ones.category, .also = "b", .python = Without::Ignored}),
};
constexpr auto rows = joinRows(ownRows, recordRows<&Request::records>);

llvm::Error check(const Request &request, const Door &door) {
  auto wrong = [&](llvm::StringRef option, const llvm::Twine &what) { return makeError(door.spell(option) + what); };
  if (request.source.empty() || request.result.empty())
    return makeError("needs " + door.spell("fp32_circle") + " and " + door.spell("q_circle") +
                     "; --help shows examples");
  const ErrorMetric *metric = findErrorMetric(request.metric);
  if (!metric)
    return wrong("metric", ": \"" + printable(request.metric) +
                               "\" is none; give MPEIR, MSE, TAE, SRMSE, MAE, PSNR, cosine, max or over_range");
  if (!request.config.empty() && !request.bound)
    return wrong("config", " goes with " + door.spell("bound"));
  if (request.bound && (request.shard || !request.merge.empty()))
    return wrong("bound",
                 " runs the models on all records, without " + door.spell("shard") + " and " + door.spell("merge"));
  if (request.shard && request.statisticsFile.empty())
    return wrong("shard", " needs " + door.spell("stats") + ", a file for " + door.spell("merge"));
  if (!request.merge.empty() && (request.records.any() || request.shard))
    return wrong("merge", " takes what parts have measured, so " + door.spell("data") + " and " + door.spell("shard") +
                              " are of no use with it");
  if (request.limit && (metric->name == "PSNR" || metric->name == "cosine"))
    return wrong("limit", " goes with a metric of which more is worse");
  if (!request.labels.empty() && (request.records.isRandom() || !request.merge.empty() || request.shard))
    return wrong("labels", " are of records: give " + door.spell("data") + ", all of it");
  if (request.most == 0u)
    return wrong("records", " 0 leaves nothing to be compared");
  if (request.bound && request.blameRecords == 0)
    return wrong("bound", " measures on the records that " + door.spell("blame_records") + " counts, which are none");
  if (request.limit && request.bound)
    return wrong("limit", " judges what there is, and " + door.spell("bound") +
                              " looks for something else: give one of the two");
  return checkRecords(request.records, door);
}

/// A record that effects are taken from.
struct Sample {
  std::string signature;
  std::vector<eval::OwnedTensor> inputs;
};

/// One run of the command.
class Visq {
public:
  Visq(const Request &request, const Door &door) : request(request), door(door), opener(request.records, door) {}
  /// False: what was asked for does not hold.
  llvm::Expected<bool> run();

private:
  const Request &request;
  const Door &door;
  RecordsOpener opener;
  std::vector<Sample> samples;

  bool own() const { return request.blame || request.bound; }
  llvm::Expected<std::unique_ptr<quantize::Records>> recordsFor(llvm::ArrayRef<eval::Port> inputs,
                                                                llvm::StringRef signature);
  llvm::Expected<double> errorOnAll(const ErrorRun &run, const Layers &layers);
  llvm::Expected<bool> findLayers(const ErrorRun &run, const ErrorReport &report);
  llvm::Error scoreLabels(const Related &models);
  llvm::Expected<ErrorPart> measure(ErrorRun &run);
  llvm::Expected<ErrorPart> partOf(ErrorRun &run, const Related &models);
  bool exceedsLimit(const ErrorReport &report, const ErrorMetric &metric) const;
};

llvm::Expected<std::unique_ptr<quantize::Records>> Visq::recordsFor(llvm::ArrayRef<eval::Port> inputs,
                                                                    llvm::StringRef signature) {
  return request.records.isRandom() ? quantize::seededRecords(inputs, request.most.value_or(4))
                                    : opener(inputs, signature);
}

/// The output error on all records, where the source does the work of these layers.
llvm::Expected<double> Visq::errorOnAll(const ErrorRun &run, const Layers &layers) {
  double sum = 0;
  uint64_t counted = 0;
  for (const std::string &signature : run.signatures()) {
    auto ports = run.inputs(signature);
    if (!ports)
      return ports.takeError();
    auto records = recordsFor(*ports, run.signatures().size() > 1 ? signature : "");
    if (!records)
      return records.takeError();
    uint64_t count = std::min((*records)->count(), request.most.value_or(~uint64_t{0}));
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
llvm::Expected<bool> Visq::findLayers(const ErrorRun &run, const ErrorReport &report) {
  double bound = *request.bound;
  std::vector<const ErrorRow *> rows;
  for (const ErrorRow &row : report.rows)
    if (row.effect && row.value->producer())
      rows.push_back(&row);
  llvm::stable_sort(rows, [](const ErrorRow *a, const ErrorRow *b) { return *a->effect > *b->effect; });
  std::vector<const Operator *> blamed;
  for (const ErrorRow *row : rows)
    if (!llvm::is_contained(blamed, row->value->producer()))
      blamed.push_back(row->value->producer());
  auto found =
      fewestLayers(blamed, run.pairs(), bound, request.mostRuns, [&](const Layers &layers) -> llvm::Expected<double> {
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
  if (report.records > request.blameRecords) {
    auto all = errorOnAll(run, closed(Layers(found->layers.begin(), found->layers.end()), run.pairs()));
    if (!all)
      return all.takeError();
    error = *all;
  }
  door.phase(nullptr);
  if (!(error <= bound)) {
    llvm::errs()
        << "visq: with " << found->layers.size()
        << llvm::format(
               " layers as in the source the output error is %.4g on the %llu records that they were found on, "
               "and %.4g on all %llu, more than %.4g; --blame_records=%llu looks for them on all\n",
               found->error, (unsigned long long)request.blameRecords, error, (unsigned long long)report.records, bound,
               (unsigned long long)report.records);
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
  if (!request.config.empty())
    if (llvm::Error failed = writeFile(request.config, floatConfig(found->layers)))
      return failed;
  return true;
}

/// Runs the models on the records of this part; what was measured.
llvm::Expected<ErrorPart> Visq::measure(ErrorRun &run) {
  auto shard = eval::Shard::parse(request.shard.value_or("1/1"));
  if (!shard)
    return shard.takeError();
  ErrorRecords records;
  records.most = request.most;
  if (own())
    records.withEffects = request.blameRecords;
  if (request.bound)
    records.onEffect = [&](const std::string &signature, std::vector<eval::OwnedTensor> inputs) {
      samples.push_back({signature, std::move(inputs)});
    };
  records.shard = *shard;
  if (door.progress)
    records.progress = [&](uint64_t done, uint64_t all) { door.progress(done, all, shard->parts); };
  if (request.records.isRandom())
    door.note("inputs are random numbers, on which models are off otherwise than on real data; give " +
              door.spell("data"));
  door.phase("executing");
  auto numbers = runRecords(
      run, [&](llvm::ArrayRef<eval::Port> inputs, llvm::StringRef signature) { return recordsFor(inputs, signature); },
      records);
  if (!numbers)
    return numbers.takeError();
  ErrorPart part = run.measured();
  part.records = std::move(*numbers);
  part.withEffects = records.withEffects;
  return part;
}

/// What was measured, here or elsewhere; the run has it as well.
llvm::Expected<ErrorPart> Visq::partOf(ErrorRun &run, const Related &models) {
  auto source = fingerprintOf(*models.source.model), result = fingerprintOf(*models.result.model);
  if (!source || !result)
    return firstError(source, result);
  auto part = request.merge.empty() ? measure(run) : mergeFiles<ErrorPart>(request.merge);
  if (!part)
    return part.takeError();
  if (request.merge.empty()) {
    part->source = *source;
    part->result = *result;
  } else if (part->source != *source || part->result != *result) {
    return makeError(door.spell("merge") + ": the errors are of other models");
  } else if (request.blame && !part->own) {
    return makeError(door.spell("merge") + ": the parts were measured without " + door.spell("blame"));
  } else if (llvm::Error error = run.take(*part)) {
    return error;
  }
  return part;
}

/// Whether an output is off by more than --limit, or has no figure; of those that are, one is told.
bool Visq::exceedsLimit(const ErrorReport &report, const ErrorMetric &metric) const {
  if (llvm::none_of(report.rows, [](const ErrorRow &row) { return row.isOutput; })) {
    llvm::errs() << "visq: no output is compared\n";
    return true;
  }
  for (const ErrorRow &row : report.rows) {
    if (!row.isOutput)
      continue;
    auto error = row.unmeasured.empty() ? metric.of(row.total.figures(row.scale)) : std::nullopt;
    if (error && *error <= *request.limit && row.total.odd == 0)
      continue;
    llvm::errs() << "visq: output \"" << printable(row.value->name, 200) << "\": ";
    if (!error)
      llvm::errs() << "no " << metric.name << (row.unmeasured.empty() ? "" : ", for it " + row.unmeasured) << '\n';
    else if (row.total.odd)
      llvm::errs() << row.total.odd << " elements are finite in one of the two only\n";
    else
      llvm::errs() << metric.name << llvm::format(" %.4g, more than %.4g\n", *error, *request.limit);
    return true;
  }
  return false;
}

/// How often both models find the class that records have.
llvm::Error Visq::scoreLabels(const Related &models) {
  auto labels = Labels::read(request.labels);
  if (!labels)
    return labels.takeError();
  auto session = eval::compile(*models.source.model, {});
  if (!session)
    return session.takeError();
  auto ports = session->inputs();
  if (!ports)
    return ports.takeError();
  auto records = recordsFor(*ports, "");
  if (!records)
    return records.takeError();
  auto before = scoreClasses(*models.source.model, **records, *labels),
       after = scoreClasses(*models.result.model, **records, *labels);
  if (!before || !after)
    return inFile(request.labels, firstError(before, after));
  for (const std::string &line : scoreWords(*before, *after))
    llvm::outs() << line << '\n';
  return llvm::Error::success();
}

/// False: something is off by more than --limit.
llvm::Expected<bool> Visq::run() {
  const ErrorMetric &metric = *findErrorMetric(request.metric);
  PayloadStore store;
  auto models = loadRelated(request.source, request.result, store, door);
  if (!models)
    return models.takeError();
  ErrorOptions options;
  options.compile.engine = request.engine;
  options.compile.threads = threadCount(request.threads);
  options.own = own();
  auto run = ErrorRun::of(models->source, models->result, options);
  if (!run)
    return run.takeError();
  auto part = partOf(*run, *models);
  if (!part)
    return part.takeError();
  if (!request.statisticsFile.empty())
    if (llvm::Error error = writeFile(request.statisticsFile, part->text()))
      return error;
  auto rows = run->rows();
  ErrorReport report{*models->source.model,
                     rows,
                     llvm::sys::path::filename(request.source).str(),
                     llvm::sys::path::filename(request.result).str(),
                     run->pairs().by,
                     part->records.size(),
                     models->source.lineage.source.get()};
  std::vector<ErrorFile> files;
  auto want = [&](const std::string &path, const ErrorMetric *of) {
    if (path.empty())
      return;
    files.push_back({path, of, false});
    if (request.dot)
      files.push_back({path + ".dot", of, true});
  };
  want(request.mpeir, findErrorMetric("MPEIR"));
  want(request.mse, findErrorMetric("MSE"));
  want(request.tae, findErrorMetric("TAE"));
  want(request.srmse, findErrorMetric("SRMSE"));
  want(request.json, &metric);
  if (llvm::Error error = writeErrorFiles(report, files))
    return error;
  if (request.bound)
    return findLayers(*run, report);
  door.phase(nullptr);
  if ((request.by || request.byScope) && request.json != "-")
    printErrorsBy(report, request.by.value_or(ErrorsBy::Scope), metric, llvm::outs());
  else if (files.empty() && request.statisticsFile.empty())
    printErrors(report, metric, part->own ? ErrorOrder::Blame : ErrorOrder::Execution, llvm::outs());
  if (!request.labels.empty())
    if (llvm::Error error = scoreLabels(*models))
      return error;
  if (!request.score.empty()) {
    auto said = scoreByCommand(request.score, request.source, request.result);
    if (!said)
      return said.takeError();
    llvm::outs() << *said << '\n';
  }
  return !request.limit || !exceedsLimit(report, metric);
}

llvm::Error visq(Request &request, Words more, const Door &door, Verdict &verdict) {
  if (request.merge.empty() && !more.empty())
    return makeError("there are too many arguments: \"" + printable(more.front()) + "\"");
  llvm::append_range(request.merge, more); // as a shell writes part*.json
  if (llvm::Error error = check(request, door))
    return error;
  auto holds = Visq(request, door).run();
  if (holds && !*holds)
    verdict = Verdict::Refused;
  return holds.takeError();
}

} // namespace

const Command visqCommand = makeCommand<visq>(
    "visq", "[more of --merge]",
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
    [] { return Options(rows); });

} // namespace origo::commands
