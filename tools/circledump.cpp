#include "ir/text/Text.h"
#include "tools/Driver.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace origo;
namespace cl = llvm::cl;

static cl::OptionCategory general("General");
static cl::opt<std::string> input(cl::Positional, cl::desc("MODEL"), cl::cat(general));
static cl::opt<bool> origins("origins", cl::desc("With origins, passes and relations as comments"), cl::cat(general));

static int run() {
  if (input.empty())
    return tools::fail("needs MODEL; --help shows an example");
  PayloadStore store;
  ImportOptions import;
  import.tolerant = true;
  llvm::Expected<Imported> imported = tools::load(input, import, store);
  if (!imported)
    return tools::fail(imported.takeError());
  for (const std::string &text : imported->notes)
    tools::note(text);
  PrintOptions options;
  options.origins = origins;
  printText(*imported->model, llvm::outs(), options);
  return 0;
}

int main(int argc, char **argv) {
  return tools::main(argc, argv, "circledump", {&general},
                     "Prints a .circle, .tflite or .origo model as text; big constants by their digest.\n"
                     "For a text with all constants: circle2circle net.tflite net.origo\n\n"
                     "  circledump net.circle | less\n",
                     run);
}
