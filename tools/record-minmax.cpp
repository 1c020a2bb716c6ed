/// Runs a model on data and writes the range of each tensor into it, for circle-quantizer.

#include "commands/RecordMinMax.h"
#include "tools/Parts.h"

using namespace origo;
using namespace origo::tools;

static llvm::Error record(const commands::RecordRequest &request) {
  commands::Door door = tools::door();
  door.progress = Progress();
  auto change = [&](Imported &imported, PayloadStore &) { return commands::run(request, imported, door); };
  if (!request.output.empty())
    return rewriteFile(request.input, request.output, change);
  PayloadStore store;
  auto imported = load(request.input, {}, store);
  if (!imported)
    return imported.takeError();
  return inFile(request.input, change(*imported, store));
}

static int runRecorder(commands::RecordRequest &request, llvm::ArrayRef<std::string> more) {
  if (request.merge.empty() && !more.empty())
    return fail("there are too many arguments: \"" + printable(more.front()) + "\"");
  llvm::append_range(request.merge, more); // as a shell writes part*.json
  if (request.input.empty() || (request.output.empty() && request.statisticsFile.empty()))
    return fail("needs --input_model, and --output_model or --stats; --help shows examples");
  if (llvm::Error error = commands::check(request, door()))
    return fail(std::move(error));
  llvm::Error error = record(request);
  return error ? fail(std::move(error)) : 0;
}

int main(int argc, char **argv) {
  commands::RecordRequest request;
  return tools::main(argc, argv, commands::recordCommand, &request,
                     [&](llvm::ArrayRef<std::string> more) { return runRecorder(request, more); });
}
