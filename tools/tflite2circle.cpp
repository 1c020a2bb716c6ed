#include "tools/Driver.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace origo;
namespace cl = llvm::cl;

static cl::OptionCategory general("General");
static cl::opt<std::string> input(cl::Positional, cl::desc("INPUT.tflite"), cl::cat(general));
static cl::opt<std::string> output(cl::Positional, cl::desc("OUTPUT.circle"), cl::cat(general));

static cl::opt<bool> verbose("verbose", cl::desc("Accepted; what was done is always said"), cl::cat(general));
static cl::alias verboseShort("V", cl::aliasopt(verbose), cl::desc("Same as --verbose"), cl::cat(general));

static int run() {
  if (input.empty() || output.empty())
    return tools::fail("needs INPUT.tflite and OUTPUT.circle; --help shows an example");
  if (llvm::Error error = tools::checkFiles(input, output))
    return tools::fail(std::move(error));
  if (llvm::Error error = tools::checkOutput(output, tools::FileKind::Circle))
    return tools::fail(std::move(error));
  PayloadStore store;
  llvm::Expected<Imported> imported = tools::load(input, {}, store);
  if (!imported)
    return tools::fail(imported.takeError());
  for (const std::string &note : imported->notes)
    tools::note(note);
  std::vector<std::string> notes;
  ExportOptions options;
  options.format = Format::Circle;
  options.notes = &notes;
  options.originJson = output + ".origin.json";
  if (llvm::Error error = exportModel(*imported->model, imported->lineage, output, options))
    return tools::fail(std::move(error));
  for (const std::string &note : notes)
    tools::note(note);
  tools::tellResult(imported->bytes, output, imported->model->operatorCount(), 0, std::nullopt, true, "");
  return 0;
}

int main(int argc, char **argv) {
  return tools::main(argc, argv, "tflite2circle", {&general},
                     "Converts a .tflite model to .circle, and nothing else. Operator and tensor numbers stay.\n"
                     "The side file OUTPUT.origin.json says so.\n\n"
                     "  tflite2circle net.tflite net.circle\n",
                     run);
}
