/// Divides a model between back ends as a .part file says.

#include "tools/Config.h"
#include "tools/Divide.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"

using namespace origo;
using namespace origo::tools;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options");
cl::opt<std::string> partFile("part_file", cl::value_desc("FILE"), cl::desc("Which operator goes where"), cl::cat(category));
cl::opt<std::string> inputFile("input_file", cl::value_desc("MODEL"), cl::desc("The model"), cl::cat(category));
cl::opt<std::string> workPath("work_path", cl::value_desc("DIR"),
                              cl::desc("Where both lie, and parts are written (default: the current directory)"),
                              cl::cat(category));
cl::opt<std::string> backends("backends", cl::value_desc("A,B"), cl::desc("Back ends, instead of those in FILE"),
                              cl::cat(category));
cl::opt<std::string> fallback("default", cl::value_desc("NAME"), cl::desc("Who takes the rest, instead of the one in FILE"),
                              cl::cat(category));
cl::extrahelp examples("\nA .part file:\n"
                       "  [partition]\n"
                       "  backends=cpu,npu\n"
                       "  default=cpu\n"
                       "  comply=opcode         or opname, and [OPNAME] with the names of outputs\n"
                       "  [OPCODE]\n"
                       "  CONV_2D=npu\n"
                       "\nExamples:\n"
                       "  circle-partitioner --part_file net.part --input_file net.circle --work_path work\n"
                       "  circle-check --target npu.json --partition net.circle     writes net.part and the parts\n"
                       "\nExit status: 0 success, 1 bad input or usage.\n");

/// As seen from --work_path.
std::string located(llvm::StringRef path) {
  if (llvm::sys::path::is_absolute(path))
    return path.str();
  llvm::SmallString<128> full(workPath);
  llvm::sys::path::append(full, path);
  return full.str().str();
}

int run() {
  if (partFile.empty() || inputFile.empty())
    return fail("needs --part_file and --input_file; --help shows examples");
  std::string path = located(partFile);
  auto text = readSettings(path);
  if (!text)
    return fail(text.takeError());
  auto part = report::readPart(*text);
  if (!part)
    return fail(inFile(path, part.takeError()));
  if (!backends.empty())
    part->backends = report::namesIn(backends);
  if (!fallback.empty())
    part->fallback = fallback;
  llvm::Error error = divide(located(inputFile), *part, workPath.empty() ? "." : llvm::StringRef(workPath));
  return error ? fail(std::move(error)) : 0;
}

} // namespace

int main(int argc, char **argv) {
  return tools::main(argc, argv, "circle-partitioner", {&category},
                     "Divides a model between back ends as a .part file says.\n", run);
}
