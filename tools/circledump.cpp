#include "ir/text/Text.h"
#include "tools/Driver.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace origo;
namespace cl = llvm::cl;

static cl::OptionCategory general("General");
static cl::opt<std::string> input(cl::Positional, cl::desc("MODEL"), cl::cat(general));
static cl::opt<bool> origins("origins", cl::desc("With origins, passes and relations as comments"), cl::cat(general));

int main(int argc, char **argv) {
  tools::start("circledump");
  cl::HideUnrelatedOptions(general);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "circledump (origo) 0.1.0\n"; });
  tools::parseOptions(argc, argv,
                      "Prints a .circle, .tflite or .origo model as text; big constants by their digest.\n"
                      "For a text with all constants: circle2circle net.tflite net.origo\n\n"
                      "  circledump net.circle | less\n");
  if (input.empty())
    return tools::fail("needs MODEL; --help shows an example");
  PayloadStore store;
  llvm::Expected<Imported> imported = tools::load(input, {}, store);
  if (!imported)
    return tools::fail(imported.takeError());
  PrintOptions options;
  options.origins = origins;
  printText(*imported->model, llvm::outs(), options);
  llvm::outs().flush();
  return 0;
}
