/// Quantises models: ONE's modes, and TensorFlow Lite's schemes.

#include "commands/Quantize.h"
#include "tools/Driver.h"

#include "llvm/Support/FileSystem.h"

using namespace origo;
using namespace origo::tools;

static void tellSizes(const std::string &input, const std::string &output, bool withOrigins) {
  uint64_t before = sizeOf(input), after = 0;
  if (before && !isStream(output) && !llvm::sys::fs::file_size(output, after))
    note(llvm::Twine(before) + " bytes before, " + llvm::Twine(after) + " after" +
         (withOrigins ? ", origins included" : ""));
}

static int runQuantizer(const commands::QuantizeRequest &request, llvm::ArrayRef<std::string> arguments) {
  if (llvm::Error error = commands::check(request, door()))
    return fail(std::move(error));
  if (arguments.size() != 2)
    return fail("needs INPUT and OUTPUT; --help shows examples");
  commands::Verdict verdict = commands::Verdict::Holds;
  auto change = [&](Imported &imported, PayloadStore &store) {
    return commands::run(request, imported, store, door(), verdict);
  };
  if (llvm::Error error =
          rewriteFile(arguments[0], arguments[1], change, request.origins.embed, !request.origins.noSideFile)) {
    fail(std::move(error));
    return verdict == commands::Verdict::Refused ? 2 : 1;
  }
  if (!request.onlyParameters())
    tellSizes(arguments[0], arguments[1], request.origins.embed != origin::Embed::None);
  return 0;
}

int main(int argc, char **argv) {
  commands::QuantizeRequest request;
  return tools::main(argc, argv, commands::quantizeCommand, &request,
                     [&](llvm::ArrayRef<std::string> arguments) { return runQuantizer(request, arguments); });
}
