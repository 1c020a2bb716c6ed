#include "commands/Command.h"
#include "commands/Config.h"
#include "commands/Divide.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

namespace origo::commands {

namespace {

/// Divides a model between back ends as a .part file says.
struct PartitionRequest {
  std::string partFile, input, folder;
  std::vector<std::string> backends; ///< instead of those in the file
  std::string fallback;              ///< likewise
};

constexpr std::array partitionRows{
    option<&PartitionRequest::partFile>("part_file", "FILE", "Which operator goes where"),
    option<&PartitionRequest::input>("input_file", "MODEL", "The model"),
    option<&PartitionRequest::folder>("work_path", "DIR",
                                      "Where both lie, and parts are written (default: the current directory)"),
    option<&PartitionRequest::backends>("backends", "A,B", "Back ends, instead of those in FILE"),
    option<&PartitionRequest::fallback>("default", "NAME", "Who takes the rest, instead of the one in FILE"),
};

llvm::Error partition(PartitionRequest &request, Words words, const Door &door, Verdict &) {
  if (!words.empty())
    return makeError("there are too many arguments; --help shows examples");
  if (request.partFile.empty() || request.input.empty())
    return makeError("needs " + door.spell("part_file") + " and " + door.spell("input_file") +
                     "; --help shows examples");
  auto located = [&](llvm::StringRef path) { // as seen from the folder
    llvm::SmallString<128> full(llvm::sys::path::is_absolute(path) ? "" : request.folder);
    llvm::sys::path::append(full, path);
    return full.str().str();
  };
  std::string path = located(request.partFile);
  auto text = readSettings(path);
  if (!text)
    return text.takeError();
  auto part = report::readPart(*text);
  if (!part)
    return inFile(path, part.takeError());
  if (!request.backends.empty())
    part->backends = report::namesIn(joinList(request.backends));
  if (!request.fallback.empty())
    part->fallback = request.fallback;
  return divide(located(request.input), *part, request.folder.empty() ? "." : llvm::StringRef(request.folder), door);
}

} // namespace

const Command partitionCommand = makeCommand<partition>(
    "circle-partitioner", "",
    "Divides a model between back ends as a .part file says.\n\n"
    "A .part file:\n"
    "  [partition]\n"
    "  backends=cpu,npu\n"
    "  default=cpu\n"
    "  comply=opcode         or opname, and [OPNAME] with the names of outputs\n"
    "  [OPCODE]\n"
    "  CONV_2D=npu\n\n"
    "  circle-partitioner --part_file net.part --input_file net.circle --work_path work\n"
    "  circle-check --target npu.json --partition net.circle     writes net.part and the parts\n",
    [] { return Options(partitionRows); });

} // namespace origo::commands
