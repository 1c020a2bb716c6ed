/// Counts what a model costs, in terms of its source too, and writes files for viewers.

#include "export/Writer.h"
#include "origin/codec/OriginFile.h"
#include "report/viewer/Viewers.h"
#include "tools/Driver.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace origo;
using namespace origo::tools;
using namespace origo::report;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options");
cl::opt<std::string> modelPath(cl::Positional, cl::desc("MODEL"), cl::cat(category));
cl::opt<bool> json("json", cl::desc("Print everything as JSON"), cl::cat(category));
cl::opt<bool> csv("csv", cl::desc("Print comma-separated values: a line an operator, or what --per says"),
                  cl::cat(category));
cl::opt<Rows> per("per", cl::desc("What there is a line for:"),
                  cl::values(clEnumValN(Rows::Operators, "operator", "each written operator (default)"),
                             clEnumValN(Rows::Sources, "source", "each operator of the source"),
                             clEnumValN(Rows::Scopes, "scope", "each scope in their names: block3/, block3/conv/"),
                             clEnumValN(Rows::Tensors, "tensor", "each tensor"),
                             clEnumValN(Rows::Memory, "memory", "each tensor that takes memory while most is taken"),
                             clEnumValN(Rows::Subgraphs, "subgraph", "each subgraph"),
                             clEnumValN(Rows::Model, "model", "the model")),
                  cl::init(Rows::Operators), cl::cat(category));
cl::opt<std::string> sourcePath("source", cl::value_desc("MODEL"),
                                cl::desc("The source: an operator's cost is divided by what its origins cost there"),
                                cl::cat(category));
cl::opt<std::string> mapPath("origin-map", cl::value_desc("FILE"),
                             cl::desc("The side file of a model that carries no origin map"), cl::cat(category));
cl::opt<unsigned> block("block", cl::init(4), cl::value_desc("N"),
                        cl::desc("Block sparsity is over N elements of a row (default: 4)"), cl::cat(category));
cl::opt<unsigned> threads("threads", cl::init(0), cl::value_desc("N"),
                          cl::desc("At most so many threads (default: one a processor); the result is the same"),
                          cl::cat(category));
cl::opt<bool> full("full", cl::desc("Shorten no names"), cl::cat(category));

cl::OptionCategory viewers("Files for viewers");
cl::opt<std::string> netron("netron", writes, cl::value_desc("FILE"), cl::desc("Attachment for Netron"),
                            cl::cat(viewers));
cl::opt<std::string> modelExplorer("model-explorer", cl::value_desc("DIR"),
                                   cl::desc("Node data of each metric, and the mapping, for Model Explorer"),
                                   cl::cat(viewers));
cl::opt<std::string> visq("visq", writes, cl::value_desc("FILE"),
                          cl::desc("--metric in the form of visq, for ONE-vscode"), cl::cat(viewers));
cl::opt<std::string> dot("dot", writes, cl::value_desc("FILE"), cl::desc("--metric as a Graphviz graph"),
                         cl::cat(viewers));
cl::opt<std::string> metricName("metric", cl::init("macs"), cl::value_desc("NAME"),
                                cl::desc("macs (default), sparse_macs, operations, parameters, bytes, "
                                         "activation_bytes, live_bytes, sparsity, block_sparsity or intensity"),
                                cl::cat(viewers));
cl::extrahelp
    examples("\nMODEL is a .circle, .tflite or .origo file. Without an option, totals and a table of the operators are "
             "printed.\n"
             "\nExamples:\n"
             "  circle-metrics net.circle                                  the table\n"
             "  circle-metrics --per=source --source=net.tflite net.circle what does each layer of mine cost now?\n"
             "  circle-metrics --per=scope net.circle                      by block1/, block1/conv/, ...\n"
             "  circle-metrics --per=memory net.circle                     what needs so much memory, and what could wait less?\n"
             "  circle-metrics --csv --per=tensor net.circle > tensors.csv\n"
             "  circle-metrics --json net.circle > metrics.json\n"
             "  circle-metrics --netron=net.netron.json net.circle         drop it on Netron with net.circle open\n"
             "  circle-metrics --model-explorer=explorer net.circle        explorer/net.macs.nodedata.json, ...,\n"
             "                                                             explorer/net.sync.json\n"
             "  circle-metrics --metric=sparsity --visq=net.sparsity.visq.json net.circle\n"
             "  circle-metrics --metric=macs --dot=- net.circle | dot -Tsvg > net.svg\n"
             "\nExit status: 0 success, 1 bad input or usage.\n");

void showProgress(unsigned percent) {
  static std::array<std::string, 101> words;
  std::string &word = words[percent];
  if (word.empty()) {
    std::string bar(percent / 5, '#');
    word = "measuring [" + bar + std::string(20 - bar.size(), ' ') + "] " + std::to_string(percent) + " %";
  }
  phase(word.c_str());
}

/// The model with its map, which may lie beside it.
llvm::Expected<Imported> loadModel(PayloadStore &store) {
  ImportOptions options;
  options.tolerant = true;
  if (!mapPath.empty() || (kindOf(modelPath) != FileKind::Text && !isStream(modelPath))) {
    llvm::Expected<origin::OriginFile> file = origin::openOriginFile(modelPath, mapPath, false);
    if (!file)
      return file.takeError();
    if (!file->model)
      return makeError(printable(modelPath) + " is a side file; its model is needed");
    for (const std::string &text : file->notes)
      note(text);
    if (file->map)
      options.map = std::make_shared<const origin::OriginMap>(std::move(*file->map));
  }
  return load(modelPath, options, store);
}

llvm::Expected<Imported> loadSource(PayloadStore &store, const origin::Listing &expected) {
  ImportOptions options;
  options.origin = OriginMode::Restart;
  llvm::Expected<Imported> source = load(sourcePath, options, store);
  if (source)
    if (llvm::Error error = expectSource(sourcePath, modelPath, expected, *source->lineage.source))
      return error;
  return source;
}

/// Files that appear all or not at all.
class Files {
public:
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
        note(printable(path) + ": " + llvm::Twine(*skipped) +
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
  std::vector<std::unique_ptr<OutputFile>> files;
};

llvm::Error writeModelExplorer(const MetricsReport &report, Files &files) {
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

llvm::Error writeViewers(const MetricsReport &report) {
  const Metric *metric = findMetric(metricName);
  if (!metric)
    return makeError("no such metric: \"" + printable(metricName) + "\"; --help tells the names");
  Files files;
  if (!netron.empty())
    if (llvm::Error error = files.add(netron, [&](llvm::raw_ostream &os) { return writeNetron(report, os); }))
      return error;
  if (!visq.empty())
    if (llvm::Error error = files.add(visq, [&](llvm::raw_ostream &os) { return writeVisq(report, *metric, os); }))
      return error;
  if (!dot.empty())
    if (llvm::Error error = files.add(dot, [&](llvm::raw_ostream &os) { return writeMetricDot(report, *metric, os); }))
      return error;
  if (!modelExplorer.empty())
    if (llvm::Error error = writeModelExplorer(report, files))
      return error;
  return files.commit();
}

llvm::Error run() {
  if (json && csv)
    return makeError("choose one of --json and --csv");
  if (json && per.getNumOccurrences())
    return makeError("--json prints everything; --per is for tables and --csv");
  if (metricName.getNumOccurrences() && visq.empty() && dot.empty())
    return makeError("--metric goes with --visq or --dot");
  if (block == 0)
    return makeError("--block: a block has at least one element");
  PayloadStore store;
  llvm::Expected<Imported> imported = loadModel(store);
  if (!imported)
    return imported.takeError();
  for (const std::string &text : imported->notes)
    note(text);
  std::optional<Imported> source;
  if (!sourcePath.empty()) {
    auto loaded = loadSource(store, *imported->lineage.source);
    if (!loaded)
      return loaded.takeError();
    source = std::move(*loaded);
  }
  phase("measuring");
  StatisticsOptions options{.block = block, .threads = threadCount(threads), .progress = showProgress};
  ModelMetrics metrics =
      metricsOf(*imported->model, *imported->lineage.source, source ? source->model.get() : nullptr, options);
  phase("writing");
  MetricsReport report{*imported, metrics, llvm::sys::path::filename(modelPath).str(), block};
  if (!netron.empty() || !visq.empty() || !dot.empty() || !modelExplorer.empty()) {
    if (json || csv || per.getNumOccurrences())
      return makeError("files for viewers are written without --json, --csv and --per");
    return writeViewers(report);
  }
  JsonOutput os;
  if (json)
    printMetricsJson(report, os);
  else if (csv)
    printMetricsCsv(report, per, llvm::outs());
  else if (per.getNumOccurrences())
    printMetrics(report, per, full, llvm::outs());
  else {
    printMetrics(report, llvm::outs());
    llvm::outs() << '\n';
    printMetrics(report, Rows::Operators, full, llvm::outs());
  }
  return llvm::Error::success();
}

} // namespace

int main(int argc, char **argv) {
  return tools::main(argc, argv, "circle-metrics", {&category, &viewers},
                     "Counts what a model costs: parameters, sparsity, operations, memory.\n", [] {
                       if (modelPath.empty())
                         return fail("which model? See circle-metrics --help");
                       llvm::Error error = run();
                       return error ? fail(std::move(error)) : 0;
                     });
}
