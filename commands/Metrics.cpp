#include "commands/Command.h"
#include "commands/Files.h"
#include "commands/JsonOutput.h"
#include "commands/Related.h"
#include "export/Writer.h"
#include "report/viewer/Viewers.h"

#include "llvm/Support/Path.h"

namespace origo::commands {

using namespace report;

template <>
inline constexpr auto choicesOf<Rows> = std::to_array<ChoiceOf<Rows>>(
    {{"operator", Rows::Operators, "each written operator (default)"},
     {"source", Rows::Sources, "each operator of the source"},
     {"scope", Rows::Scopes, "each scope in their names: block3/, block3/conv/"},
     {"line", Rows::Lines, "each line of the program that made the source, where it is known"},
     {"file", Rows::Files, "each file of that program"},
     {"tensor", Rows::Tensors, "each tensor"},
     {"memory", Rows::Memory, "each tensor that takes memory while most is taken"},
     {"subgraph", Rows::Subgraphs, "each subgraph"},
     {"model", Rows::Model, "the model"}});

namespace {

/// Counts what a model costs, in terms of its source too, and writes files for viewers.
struct MetricsRequest {
  std::string model, source, map;
  bool json = false, csv = false, full = false;
  std::optional<Rows> per;
  unsigned block = 4, threads = 0;
  std::string netron, modelExplorer, visq, dot;
  std::optional<std::string> metric;
};

constexpr Option ofViewers{.category = "Files for viewers"};
constexpr Option viewerFile{.category = ofViewers.category, .writes = true};
constexpr std::array metricsRows{
    option<&MetricsRequest::json>("json", "Print everything as JSON"),
    option<&MetricsRequest::csv>("csv", "Print comma-separated values: a line an operator, or what --per says"),
    option<&MetricsRequest::per>("per", "", "What there is a line for:"),
    option<&MetricsRequest::source>("source", "MODEL",
                                    "The source: an operator's cost is divided by what its origins cost there"),
    option<&MetricsRequest::map>("origin-map", "FILE", "The side file of a model that carries no origin map"),
    option<&MetricsRequest::block>("block", "N", "Block sparsity is over N elements of a row (default: 4)"),
    option<&MetricsRequest::threads>("threads", "N",
                                     "At most so many threads (default: one a processor); the result is the same"),
    option<&MetricsRequest::full>("full", "Shorten no names"),
    option<&MetricsRequest::netron>("netron", "FILE", "Attachment for Netron", viewerFile),
    option<&MetricsRequest::modelExplorer>("model-explorer", "DIR",
                                           "Node data of each metric, and the mapping, for Model Explorer", ofViewers),
    option<&MetricsRequest::visq>("visq", "FILE", "--metric in the form of visq, for ONE-vscode", viewerFile),
    option<&MetricsRequest::dot>("dot", "FILE", "--metric as a Graphviz graph", viewerFile),
    option<&MetricsRequest::metric>("metric", "NAME",
                                    "macs (default), sparse_macs, operations, parameters, bytes, activation_bytes, "
                                    "live_bytes, sparsity, block_sparsity or intensity",
                                    ofViewers),
};

/// The model with its map, which may lie beside it.
llvm::Expected<Imported> loadModel(const MetricsRequest &request, PayloadStore &store, const Door &door) {
  ImportOptions options;
  options.tolerant = true;
  if (!request.map.empty() || (!isConverted(request.model) && !isStream(request.model)))
    if (llvm::Error error = takeMap(options, request.model, request.map, door))
      return error;
  return load(request.model, options, store, door);
}

llvm::Expected<Imported> loadSource(const MetricsRequest &request, PayloadStore &store, const origin::Listing &expected,
                                    const Door &door) {
  ImportOptions options;
  options.origin = OriginMode::Restart;
  llvm::Expected<Imported> source = load(request.source, options, store, door);
  if (source)
    if (llvm::Error error = expectSource(request.source, request.model, expected, *source->lineage.source))
      return error;
  return source;
}

/// Files that appear all or not at all.
class ViewerFiles {
public:
  explicit ViewerFiles(const Door &door) : door(door) {}
  llvm::Error add(const std::string &path, llvm::function_ref<llvm::Expected<size_t>(llvm::raw_ostream &)> write) {
    auto file = OutputFile::open(path);
    if (!file)
      return file.takeError();
    {
      OutputStream os(**file);
      llvm::Expected<size_t> skipped = write(os);
      if (!skipped)
        return skipped.takeError();
      if (*skipped)
        door.note(printable(path) + ": " + llvm::Twine(*skipped) +
                  (*skipped == 1 ? " thing is left out: its name is" : " things are left out: their names are") +
                  " empty, repeated or not UTF-8");
    }
    if (llvm::Error error = (*file)->finish())
      return error;
    files.push_back(std::move(*file));
    return llvm::Error::success();
  }
  llvm::Error commit() {
    std::vector<OutputFile *> all;
    for (auto &file : files)
      all.push_back(file.get());
    return OutputFile::commit(all);
  }

private:
  const Door &door;
  std::vector<std::unique_ptr<OutputFile>> files;
};

llvm::Error writeModelExplorer(const MetricsReport &report, const std::string &modelExplorer, ViewerFiles &files) {
  if (llvm::Error error = makeFolder(modelExplorer))
    return error;
  std::string base = (modelExplorer + "/" + llvm::sys::path::stem(report.file)).str();
  for (const Metric &metric : allMetrics())
    if (llvm::Error error = files.add(base + "." + metric.name.str() + ".nodedata.json",
                                      [&](llvm::raw_ostream &os) { return writeNodeData(report, metric, os); }))
      return error;
  if (llvm::Error error = files.add(base + ".origins.nodedata.json",
                                    [&](llvm::raw_ostream &os) { return writeOriginNodeData(report, os); }))
    return error;
  // Nodes are not told apart by subgraph, so that each pair has a file; a model that is its own source needs none.
  for (auto &graph : report.imported.model->subgraphs)
    for (uint32_t from : graph->sources) {
      if (from >= report.imported.lineage.source->subgraphs.size())
        continue;
      bool isFirst = graph->index == 0 && from == 0;
      std::string pair = isFirst ? "" : "." + std::to_string(from) + "-" + std::to_string(graph->index);
      if (llvm::Error error = files.add(base + pair + ".sync.json", [&](llvm::raw_ostream &os) -> size_t {
            writeSync(report, *graph, from, os);
            return 0;
          }))
        return error;
    }
  return llvm::Error::success();
}

llvm::Error writeViewers(const MetricsReport &report, const MetricsRequest &request, const Door &door) {
  const Metric *metric = findMetric(request.metric.value_or("macs"));
  if (!metric)
    return makeError("no such metric: \"" + printable(*request.metric) + "\"; --help tells the names");
  ViewerFiles files(door);
  if (!request.netron.empty())
    if (llvm::Error error = files.add(request.netron, [&](llvm::raw_ostream &os) { return writeNetron(report, os); }))
      return error;
  if (!request.visq.empty())
    if (llvm::Error error =
            files.add(request.visq, [&](llvm::raw_ostream &os) { return writeVisq(report, *metric, os); }))
      return error;
  if (!request.dot.empty())
    if (llvm::Error error =
            files.add(request.dot, [&](llvm::raw_ostream &os) { return writeMetricDot(report, *metric, os); }))
      return error;
  if (!request.modelExplorer.empty())
    if (llvm::Error error = writeModelExplorer(report, request.modelExplorer, files))
      return error;
  return files.commit();
}

llvm::Error metrics(MetricsRequest &request, Words words, const Door &door, Verdict &) {
  if (llvm::Error error = takeModel(request.model, words))
    return error;
  if (request.json && request.csv)
    return makeError("choose one of --json and --csv");
  if (request.json && request.per)
    return makeError("--json prints everything; --per is for tables and --csv");
  if (request.metric && request.visq.empty() && request.dot.empty())
    return makeError("--metric goes with --visq or --dot");
  if (request.block == 0)
    return makeError("--block: a block has at least one element");
  PayloadStore store;
  llvm::Expected<Imported> imported = loadModel(request, store, door);
  if (!imported)
    return imported.takeError();
  for (const std::string &text : imported->notes)
    door.note(text);
  std::optional<Imported> source;
  if (!request.source.empty()) {
    auto loaded = loadSource(request, store, *imported->lineage.source, door);
    if (!loaded)
      return loaded.takeError();
    source = std::move(*loaded);
  }
  door.phase("measuring");
  std::array<std::string, 101> shares; // which a door shows until the next one comes
  auto showProgress = [&](unsigned percent) {
    std::string &word = shares[percent], bar(percent / 5, '#');
    if (word.empty())
      word = "measuring [" + bar + std::string(20 - bar.size(), ' ') + "] " + std::to_string(percent) + " %";
    door.phase(word.c_str());
  };
  StatisticsOptions options{.block = request.block, .threads = threadCount(request.threads), .progress = showProgress};
  ModelMetrics metrics =
      metricsOf(*imported->model, *imported->lineage.source, source ? source->model.get() : nullptr, options);
  door.phase("writing");
  MetricsReport report{*imported, metrics, llvm::sys::path::filename(request.model).str(), request.block};
  if (!(request.netron + request.visq + request.dot + request.modelExplorer).empty()) {
    if (request.json || request.csv || request.per)
      return makeError("files for viewers are written without --json, --csv and --per");
    return writeViewers(report, request, door);
  }
  JsonOutput os;
  Rows rows = request.per.value_or(Rows::Operators);
  if (request.json)
    printMetricsJson(report, os);
  else if (request.csv)
    printMetricsCsv(report, rows, llvm::outs());
  else {
    if (!request.per) {
      printMetrics(report, llvm::outs());
      llvm::outs() << '\n';
    }
    printMetrics(report, rows, request.full, llvm::outs());
  }
  return llvm::Error::success();
}

} // namespace

const Command metricsCommand = makeCommand<metrics>(
    "circle-metrics", "MODEL",
    "Counts what a model costs: parameters, sparsity, operations, memory.\n\n"
    "MODEL is a .circle, .tflite or .origo file. Without an option, totals and a table of the operators are "
    "printed.\n\n"
    "  circle-metrics net.circle                                  the table\n"
    "  circle-metrics --per=source --source=net.tflite net.circle what does each layer of mine cost now?\n"
    "  circle-metrics --per=scope net.circle                      by block1/, block1/conv/, ...\n"
    "  circle-metrics --per=memory net.circle                     what needs so much memory, and what could wait "
    "less?\n"
    "  circle-metrics --csv --per=tensor net.circle > tensors.csv\n"
    "  circle-metrics --json net.circle > metrics.json\n"
    "  circle-metrics --netron=net.netron.json net.circle         drop it on Netron with net.circle open\n"
    "  circle-metrics --model-explorer=explorer net.circle        explorer/net.macs.nodedata.json, ...,\n"
    "                                                             explorer/net.sync.json\n"
    "  circle-metrics --metric=sparsity --visq=net.sparsity.visq.json net.circle\n"
    "  circle-metrics --metric=macs --dot=- net.circle | dot -Tsvg > net.svg\n"
    "\nExit status: 0 success, 1 bad input or usage.\n",
    [] { return Options(metricsRows); });

} // namespace origo::commands
