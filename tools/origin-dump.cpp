/// Shows where the operators of a written model come from, and where those of
/// its source went.

#include "report/origin/Tables.h"
#include "report/origin/Words.h"
#include "tools/Driver.h"
#include "tools/JoinMode.h"
#include "tools/Related.h"
#include "tools/ValuesMode.h"

#include "export/Export.h"
#include "import/Import.h"
#include "ir/Error.h"
#include "origin/Fingerprint.h"
#include "origin/check/Check.h"
#include "origin/codec/Embedded.h"
#include "origin/codec/Json.h"
#include "origin/codec/OriginFile.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Process.h"

using namespace origo;
using namespace origo::tools;
using namespace origo::report;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options");
cl::opt<std::string> modelPath(cl::Positional, cl::desc("MODEL"), cl::cat(category));
cl::opt<bool> json("json", cl::desc("Print the side file; with --where and --check, the answer as JSON"),
                   cl::cat(category));
cl::opt<bool> csv("csv", cl::desc("Print one line of comma-separated values an operator"), cl::cat(category));
cl::opt<bool> dot("dot", cl::desc("Print a Graphviz graph of operators and their origins"), cl::cat(category));
cl::opt<bool> ledger("ledger", cl::desc("Print what became of everything that is gone"), cl::cat(category));
cl::opt<bool> summary("summary", cl::desc("Print counts"), cl::cat(category));
cl::opt<bool> showFingerprint("fingerprint", cl::desc("Print the fingerprints of the model"), cl::cat(category));
cl::opt<bool> check("check",
                    cl::desc("Check the map against the law: prints ok, or a "
                             "line for each violation"),
                    cl::cat(category));
cl::opt<std::string> where("where", cl::value_desc("NAME|ID"),
                           cl::desc("Tell what became of an operator or tensor of the source, and why"),
                           cl::cat(category));
cl::opt<std::string> from("from", cl::value_desc("INDEX|NAME"),
                          cl::desc("Tell where a written operator comes from (G:INDEX in subgraph G)"),
                          cl::cat(category));
cl::opt<std::string> secondPath(cl::Positional, cl::desc("[OUTPUT]"), cl::cat(category));
cl::opt<std::string> strip("strip", cl::ValueOptional, cl::value_desc("OUTPUT"),
                           cl::desc("Write the model without its origin map; without OUTPUT to standard output"),
                           cl::cat(category));
cl::opt<std::string> sourcePath("source", cl::value_desc("MODEL"),
                                cl::desc("The source model. With --check, without it a part of the law is "
                                         "left out; with --join, its shapes weigh operators"),
                                cl::cat(category));
cl::opt<std::string> mapPath("origin-map", cl::value_desc("FILE"),
                             cl::desc("Read this side file instead of the map that the model carries"),
                             cl::cat(category));
cl::opt<bool> full("full", cl::desc("Shorten nothing"), cl::cat(category));
cl::extrahelp examples("\nMODEL is a .circle or .tflite file, or a side file (MODEL.origin.json) "
                       "for all that needs no "
                       "bytes of the model.\nWithout an option, a table of the operators and "
                       "their origins is printed.\n"
                       "\nExamples:\n"
                       "  origin-dump net.circle                              the table\n"
                       "  origin-dump net.circle --where conv1/Relu           where did it go?\n"
                       "  origin-dump net.circle --from 3                     where does operator "
                       "3 come from?\n"
                       "  origin-dump net.circle --check --source net.tflite  is the map true?\n"
                       "  origin-dump --join-values=dump --source=net.tflite net.circle  what a device computed\n"
                       "  origin-dump --strip=plain.circle net.circle\n"
                       "  origin-dump --json net.circle > net.origin.json\n"
                       "\nExit status: 0 success, 1 bad input or usage, 2 the map breaks the "
                       "law.\n");

int runCheck(const origin::OriginFile &file) {
  if (!file.model)
    return fail("--check needs the model; give its side file with --origin-map");
  std::unique_ptr<origin::ModelFile> source;
  if (!sourcePath.empty()) {
    auto opened = openModelFile(sourcePath);
    if (!opened)
      return fail(opened.takeError());
    source = std::move(*opened);
  }
  std::vector<std::string> skipped;
  auto violations = origin::check(*file.map, file.model->view(), source ? &source->view() : nullptr, skipped);
  for (const std::string &text : skipped)
    note("not checked: " + text);
  if (json) {
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
    return violations.empty() ? 0 : 2;
  }
  for (const origin::Violation &violation : violations)
    llvm::outs() << "law " << violation.law << ": " << violation.text << '\n';
  if (!violations.empty())
    return 2;
  llvm::outs() << "ok\n";
  return 0;
}

int runFingerprint(const origin::OriginFile &file) {
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
  return 0;
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
int runStrip() {
  std::string model = modelPath, output = strip;
  if (!secondPath.empty()) {
    bool first = llvm::sys::fs::exists(modelPath), second = llvm::sys::fs::exists(secondPath);
    if (!output.empty() || (first && second))
      return fail("--strip: which is to be written? Say --strip=OUTPUT MODEL");
    output = first ? secondPath : modelPath;
    model = first ? modelPath : secondPath;
  }
  if (output.empty() && llvm::sys::Process::StandardOutIsDisplayed())
    return fail("--strip: a model is not for a terminal; say --strip=OUTPUT MODEL, or redirect the output");
  if (llvm::Error error = checkFiles(model, output))
    return fail(std::move(error));
  if (llvm::Error error = stripOrigins(model, output.empty() ? "-" : output))
    return fail(std::move(error));
  return 0;
}

int run() {
  int modes = json + csv + dot + ledger + summary + showFingerprint + check + (where.getNumOccurrences() > 0) +
              (from.getNumOccurrences() > 0) + (strip.getNumOccurrences() > 0);
  bool answers = json && (check || where.getNumOccurrences());
  if (modes - answers > 1)
    return fail("choose one of --json, --csv, --dot, --where, --from, "
                "--ledger, --summary, --fingerprint, --strip and "
                "--check");
  if (std::string option = strayJoinOption(); !option.empty())
    return fail("--" + option + " goes with --join");
  JoinModeOptions joinOptions{modelPath, sourcePath, json, csv, full};
  if (wantsJoin() || wantsCompare()) {
    if (modes - json - csv || (json && csv) || (wantsJoin() && wantsCompare()))
      return fail("of what is printed, --join and --compare go with --json or --csv only");
    if (wantsCompare())
      return secondPath.empty() ? fail("--compare takes two files") : runCompare(secondPath, joinOptions);
  } else if (wantsValues()) {
    if (modes - json)
      return fail("of what is printed, --join-values goes with --json only");
    return runValues(modelPath, sourcePath, json);
  } else if (!sourcePath.empty() && !check) {
    return fail("--source goes with --check, --join and --join-values");
  }
  if (strip.getNumOccurrences())
    return runStrip();
  if (!secondPath.empty())
    return fail("one MODEL at a time, and OUTPUT goes with --strip only");

  auto opened = origin::openOriginFile(modelPath, mapPath, check || showFingerprint);
  if (!opened)
    return fail(opened.takeError());
  origin::OriginFile &file = *opened;
  for (const std::string &text : file.notes)
    note(text);
  if (showFingerprint)
    return runFingerprint(file);
  if (!file.map && file.model && wantsJoin()) {
    becomeOwnSource(file, modelPath);
    note(printable(modelPath) + " carries no origin map: its operators are those of the source");
  }
  if (!file.map)
    return fail(printable(modelPath) + " carries no origin map, and there is no " + printable(modelPath) +
                ".origin.json");
  if (check)
    return runCheck(file);
  if (wantsJoin())
    return runJoin(file, joinOptions);
  if (json && !answers) {
    JsonOutput os;
    origin::writeJson(*file.map, os);
    return 0;
  }
  MapNames names(*file.map);
  const origin::ModelView *view = file.model ? &file.model->view() : nullptr;
  if (where.getNumOccurrences()) {
    JsonOutput os;
    WhereAnswer answer =
        json ? printWhere(names, where, full, true, os) : printWhere(names, where, full, false, llvm::outs());
    if (!answer.found)
      return fail("the source has no operator or tensor \"" + printable(where) + "\"; " +
                  (answer.note.empty() ? "origin-dump MODEL shows the names" : answer.note));
    if (!answer.note.empty())
      note(answer.note);
    return 0;
  }
  if (from.getNumOccurrences())
    return printFrom(names, view, from, llvm::outs())
               ? 0
               : fail("the written file has no operator or constant \"" + printable(from) + "\"");
  if (csv)
    printCsv(names, llvm::outs());
  else if (dot)
    printDot(names, llvm::outs());
  else if (ledger)
    printLedger(names, full, llvm::outs());
  else if (summary)
    printSummary(names, llvm::outs());
  else
    printTable(names, full, llvm::outs());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  std::string profileHelp = joinHelp();
  cl::extrahelp profiles(profileHelp);
  return tools::main(argc, argv, "origin-dump", {&category, &joinCategory(), &valuesCategory()},
                     "Tells where the operators of a written model come from.\n", [] {
                       if (modelPath.empty())
                         return fail(wantsCompare() ? "--compare takes two files"
                                                    : "which model? See origin-dump --help");
                       return run();
                     });
}
