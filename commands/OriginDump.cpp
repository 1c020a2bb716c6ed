#include "commands/Command.h"
#include "commands/Files.h"
#include "commands/JoinProfile.h"
#include "commands/JoinValues.h"
#include "commands/JsonOutput.h"
#include "commands/Onnx.h"
#include "commands/Prove.h"
#include "commands/Related.h"
#include "origin/Fingerprint.h"
#include "origin/check/Check.h"
#include "origin/codec/Json.h"
#include "report/origin/Tables.h"
#include "report/origin/Words.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Process.h"

namespace origo::commands {

using namespace report;

namespace {

/// Shows where the operators of a written model come from, and where those of its source went.
struct OriginRequest {
  std::string model, second, source, map, linesFrom;
  bool json = false, csv = false, dot = false, ledger = false, summary = false, fingerprint = false, check = false,
       prove = false, full = false;
  std::optional<std::string> where, from, strip; ///< strip: empty is standard output
  JoinRequest join;
  ValuesRequest values;
};

constexpr std::array originRows{
    option<&OriginRequest::json>("json", "Print the side file; with --where and --check, the answer as JSON"),
    option<&OriginRequest::csv>("csv", "Print one line of comma-separated values an operator"),
    option<&OriginRequest::dot>("dot", "Print a Graphviz graph of operators and their origins"),
    option<&OriginRequest::ledger>("ledger", "Print what became of everything that is gone"),
    option<&OriginRequest::summary>("summary", "Print counts"),
    option<&OriginRequest::fingerprint>("fingerprint", "Print the fingerprints of the model"),
    option<&OriginRequest::check>("check", "Check the map against the law: prints ok, or a line for each violation"),
    option<&OriginRequest::prove>("prove",
                                  "Prove MODEL equal to the source in exact arithmetic, from both files and the "
                                  "map: origin-dump --prove SOURCE MODEL"),
    option<&OriginRequest::where>("where", "NAME|ID",
                                  "Tell what became of an operator or tensor of the source, and why"),
    option<&OriginRequest::from>("from", "INDEX|NAME",
                                 "Tell where a written operator comes from (G:INDEX in subgraph G)"),
    option<&OriginRequest::strip>(
        "strip", "OUTPUT", "Write the model without its origin map; without OUTPUT to standard output", {.bare = true}),
    option<&OriginRequest::source>("source", "MODEL",
                                   "The source model. With --check, without it a part of the law is left out; with "
                                   "--join, its shapes weigh operators"),
    option<&OriginRequest::map>("origin-map", "FILE", "Read this side file instead of the map that the model carries"),
    option<&OriginRequest::linesFrom>("lines-from", "FILE.onnx", linesFromHelp),
    option<&OriginRequest::full>("full", "Shorten nothing"),
};
constexpr auto dumpRowsOfAll =
    joinRows(originRows, joinOptions<&OriginRequest::join>, valuesOptions<&OriginRequest::values>);

llvm::Error checkLaw(const OriginRequest &request, const origin::OriginFile &file, const Door &door, Verdict &verdict) {
  if (!file.model)
    return makeError("--check needs the model; give its side file with --origin-map");
  std::unique_ptr<origin::ModelFile> source;
  if (!request.source.empty()) {
    auto opened = openModelFile(request.source, door);
    if (!opened)
      return opened.takeError();
    source = std::move(*opened);
  }
  std::vector<std::string> skipped;
  auto violations = origin::check(*file.map, file.model->view(), source ? &source->view() : nullptr, skipped);
  if (source && kindOf(request.source) == FileKind::Onnx && file.map->source.namesKnown) {
    auto wrong = checkLayers(*file.map, request.source, request.linesFrom, skipped);
    if (!wrong)
      return wrong.takeError();
    llvm::append_range(violations, *wrong);
  }
  if (source && kindOf(request.source) != FileKind::Onnx && file.map->source.namesKnown)
    llvm::append_range(violations, checkDebugLines(*file.map, *source));
  for (const std::string &text : skipped)
    door.note("not checked: " + text);
  verdict = violations.empty() ? Verdict::Holds : Verdict::Refused;
  if (request.json) {
    JsonOutput os;
    llvm::json::OStream out(os, 1);
    out.object([&] {
      out.attribute("ok", violations.empty());
      out.attributeArray("violations", [&] {
        for (const origin::Violation &violation : violations)
          out.object([&] {
            out.attribute("law", violation.law);
            out.attribute("text", llvm::json::fixUTF8(violation.text));
          });
      });
      out.attributeArray("notChecked", [&] {
        for (const std::string &text : skipped)
          out.value(llvm::json::fixUTF8(text));
      });
    });
    os << '\n';
    return llvm::Error::success();
  }
  for (const origin::Violation &violation : violations)
    llvm::outs() << "law " << violation.law << ": " << violation.text << '\n';
  if (violations.empty())
    llvm::outs() << "ok\n";
  return llvm::Error::success();
}

/// `--prove SOURCE MODEL`, or the source by --source.
llvm::Error proveModel(const OriginRequest &request, const Door &door, Verdict &verdict) {
  const std::string &source = request.source.empty() ? request.model : request.source;
  const std::string &model = request.source.empty() ? request.second : request.model;
  if (model.empty() || (!request.source.empty() && !request.second.empty()))
    return makeError("--prove takes two files: the source and the model that was made from it");
  if (kindOf(source) == FileKind::Onnx)
    return makeError(printable(source, 300) +
                     ": nodes of ONNX have no exact kernels; give the .circle that onnx2circle "
                     "makes of it, and what was made from that with --origin=restart");
  ImportOptions withMap;
  if (llvm::Error error = takeMap(withMap, model, request.map, door))
    return error;
  if (!withMap.map)
    return makeError(printable(model, 300) + " carries no origin map, and none is beside it");
  PayloadStore store;
  auto related = relate([&](const ImportOptions &options) { return load(source, options, store, door); },
                        [&](const ImportOptions &) { return load(model, withMap, store, door); });
  if (!related)
    return related.takeError();
  if (!related->byOrigins)
    return makeError(printable(model, 300) + ": its origin map does not lead to " + printable(source, 300));
  auto proof = proveFiles(std::move(*related), store);
  if (!proof)
    return inFile(model, proof.takeError());
  verdict = llvm::StringRef(proof->verdict()) == "equal" ? Verdict::Holds : Verdict::Refused;
  JsonOutput os;
  printProof(*proof, request.json, request.json ? static_cast<llvm::raw_ostream &>(os) : llvm::outs());
  return llvm::Error::success();
}

void printFingerprint(const origin::OriginFile &file) {
  auto print = [](const char *what, const origin::Digest &digest) {
    llvm::outs() << what << " sha256:" << origin::hex(digest) << '\n';
  };
  if (file.model) {
    print("fingerprint", origin::fingerprint(file.model->view()));
    print("content    ", origin::content(file.model->view()));
  } else {
    print("fingerprint", file.map->target.fingerprint);
    print("content    ", file.map->target.content);
  }
}

/// The file of `path` without a map of any kind, as `--embed-origin=none` writes it.
llvm::Error stripOrigins(llvm::StringRef path, llvm::StringRef output) {
  ImportOptions options;
  options.origin = OriginMode::Restart;
  auto imported = importModel(path, options);
  if (!imported)
    return imported.takeError();
  ExportOptions to;
  to.format = imported->model->format;
  to.embed = origin::Embed::None;
  return exportModel(*imported->model, imported->lineage, output, to);
}

/// `--strip=OUTPUT MODEL`, or the two as words in either order, told apart by which of them is there.
llvm::Error stripModel(const OriginRequest &request, const Door &door) {
  std::string model = request.model, output = *request.strip;
  if (!request.second.empty()) {
    bool first = llvm::sys::fs::exists(request.model), second = llvm::sys::fs::exists(request.second);
    if (!output.empty() || (first && second))
      return makeError("--strip: which is to be written? Say --strip=OUTPUT MODEL");
    output = first ? request.second : request.model;
    model = first ? request.model : request.second;
  }
  if (output.empty() && llvm::sys::Process::StandardOutIsDisplayed())
    return makeError("--strip: a model is not for a terminal; say --strip=OUTPUT MODEL, or redirect the output");
  if (llvm::Error error = door.checkFiles(model, output))
    return error;
  return stripOrigins(model, output.empty() ? "-" : output);
}

llvm::Error printWhereOf(const OriginRequest &request, const MapNames &names, const Door &door) {
  JsonOutput os;
  WhereAnswer answer = request.json ? printWhere(names, *request.where, request.full, true, os)
                                    : printWhere(names, *request.where, request.full, false, llvm::outs());
  if (!answer.found)
    return makeError("the source has no operator or tensor \"" + printable(*request.where) + "\"; " +
                     (answer.note.empty() ? "origin-dump MODEL shows the names" : answer.note));
  if (!answer.note.empty())
    door.note(answer.note);
  return llvm::Error::success();
}

/// What is printed of a map; without an option, the table.
llvm::Error printMap(const OriginRequest &request, const origin::OriginFile &file, const Door &door) {
  MapNames names(*file.map);
  if (request.where)
    return printWhereOf(request, names, door);
  if (request.from && !printFrom(names, file.model ? &file.model->view() : nullptr, *request.from, llvm::outs()))
    return makeError("the written file has no operator or constant \"" + printable(*request.from) + "\"");
  if (request.from)
    return llvm::Error::success();
  if (request.json) {
    JsonOutput os;
    origin::writeJson(*file.map, os);
  } else if (request.csv)
    printCsv(names, llvm::outs());
  else if (request.dot)
    printDot(names, llvm::outs());
  else if (request.ledger)
    printLedger(names, request.full, llvm::outs());
  else if (request.summary)
    printSummary(names, llvm::outs());
  else
    printTable(names, request.full, llvm::outs());
  return llvm::Error::success();
}

/// An option of profiles that means nothing without --join, or --compare for some; empty: there is none.
std::string strayOption(const OriginRequest &request) {
  const OriginRequest fresh;
  for (const Option &row : joinOptions<&OriginRequest::join>) {
    bool compares = llvm::is_contained({"by", "top", "sort"}, row.name) && request.join.compare;
    bool alone = llvm::is_contained({"join", "compare", "times", "errors"}, row.name);
    if (!request.join.profile && !compares && !alone && row.get(&request) != row.get(&fresh))
      return row.spelled();
  }
  return "";
}

/// What cannot be asked for at the same time.
llvm::Error checkModes(const OriginRequest &r) {
  int modes = r.csv + r.dot + r.ledger + r.summary + r.fingerprint + r.check + r.prove + r.where.has_value() +
              r.from.has_value() + r.strip.has_value();
  if (modes + (r.json && !r.check && !r.prove && !r.where) > 1)
    return makeError("choose one of --json, --csv, --dot, --where, --from, --ledger, --summary, --fingerprint, "
                     "--strip, --prove and --check");
  if (std::string option = strayOption(r); !option.empty())
    return makeError(option + " goes with --join");
  bool joins = r.join.profile.has_value(), values = !r.values.folder.empty();
  if ((joins || r.join.compare) && (modes - r.csv || (r.json && r.csv) || (joins && r.join.compare)))
    return makeError("of what is printed, --join and --compare go with --json or --csv only");
  if (values && !joins && !r.join.compare && modes)
    return makeError("of what is printed, --join-values goes with --json only");
  if (!r.source.empty() && !r.check && !r.prove && !joins && !r.join.compare && !values)
    return makeError("--source goes with --check, --prove, --join and --join-values");
  if (r.join.compare ? r.second.empty() : !r.second.empty() && !r.strip && !r.prove && !values)
    return makeError(r.join.compare ? "--compare takes two files"
                                    : "one MODEL at a time, and OUTPUT goes with --strip only");
  return llvm::Error::success();
}

llvm::Error dumpOrigins(OriginRequest &request, Words words, const Door &door, Verdict &verdict) {
  if (words.empty())
    return makeError(request.join.compare ? "--compare takes two files" : "which model? See origin-dump --help");
  if (words.size() > 2)
    return makeError("there are too many arguments; --help shows examples");
  request.model = words.front();
  request.second = words.size() > 1 ? words[1] : "";
  if (llvm::Error error = checkModes(request))
    return error;
  const bool joins = request.join.profile.has_value();
  const JoinContext context{request.join, door, request.model, request.source, request.json, request.csv, request.full};
  if (request.join.compare)
    return compareWith(request.second, context);
  if (!joins && !request.values.folder.empty())
    return joinValues(request.values, request.model, request.source, request.json, door);
  if (request.strip)
    return stripModel(request, door);
  if (request.prove)
    return proveModel(request, door, verdict);

  auto opened = origin::openOriginFile(request.model, request.map, request.check || request.fingerprint);
  if (!opened)
    return opened.takeError();
  origin::OriginFile &file = *opened;
  for (const std::string &text : file.notes)
    door.note(text);
  if (request.fingerprint) {
    printFingerprint(file);
    return llvm::Error::success();
  }
  if (!file.map && file.model && joins) {
    file.map.emplace(ownSource(*file.model, request.model));
    door.note(printable(request.model) + " carries no origin map: its operators are those of the source");
  }
  if (!file.map)
    return makeError(printable(request.model) + " carries no origin map, and there is no " + printable(request.model) +
                     ".origin.json");
  if (request.check)
    return checkLaw(request, file, door, verdict);
  if (!request.linesFrom.empty())
    if (llvm::Error error = takeLines(file.map->source, request.linesFrom))
      return error;
  return joins ? joinProfile(file, context) : printMap(request, file, door);
}

} // namespace

const Command originCommand = makeCommand<dumpOrigins>(
    "origin-dump", "MODEL [OUTPUT]",
    "Tells where the operators of a written model come from.\n\n"
    "MODEL is a .circle or .tflite file, or a side file (MODEL.origin.json) for all that needs no bytes of the model.\n"
    "Without an option, a table of the operators and their origins is printed.\n\n"
    "  origin-dump net.circle                              the table\n"
    "  origin-dump net.circle --where conv1/Relu           where did it go?\n"
    "  origin-dump net.circle --from 3                     where does operator 3 come from?\n"
    "  origin-dump net.circle --check --source net.tflite  is the map true?\n"
    "  origin-dump --prove net.tflite net.circle           does it compute the same, without any tolerance?\n"
    "  origin-dump --join-values=dump --source=net.tflite net.circle  what a device computed\n"
    "  origin-dump --strip=plain.circle net.circle\n"
    "  origin-dump --json net.circle > net.origin.json\n"
    "\nProfiles, in terms of the source:\n"
    "  origin-dump --join times.csv net.circle                    which row is which operator, from where\n"
    "  origin-dump --join times.csv --by=scope net.circle         the time of each scope of the source\n"
    "  origin-dump --join times.csv --json --source=net.tflite net.circle > a.json\n"
    "  origin-dump --join times.csv --by=operator --top=10 net.circle  the ten that cost most\n"
    "  origin-dump --compare a.json b.json                        two builds, by source operator\n"
    "  origin-dump --compare o1.circle int8.circle                two results: what became of each layer, and its "
    "bytes\n"
    "  origin-dump --compare --times=a.json,b.json --errors=ea.json,eb.json o1.circle int8.circle\n"
    "  origin-dump --compare --by=scope a.json b.json             the same, by the scopes of their names\n"
    "  origin-dump --join cycles.csv --kernels=kernels.json --clock=400 net.circle\n"
    "  origin-dump --join t.csv --columns=tensor=Layer,us=Duration net.circle\n"
    "\nExit status: 0 success, 1 bad input or usage, 2 the map breaks the law, or the proof says other than equal.\n",
    [] { return Options(dumpRowsOfAll); });

} // namespace origo::commands
