#include "tools/Driver.h"
#include "tools/FrontDoor.h"
#include "tools/OneSteps.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <sys/auxv.h>

using namespace origo;

/// The program of all command lines, each a link to it. Which one is meant tells the path that was executed: argv[0] is
/// how whoever started it wants it to be called.
int main(int argc, char **argv) {
  const auto *executed = reinterpret_cast<const char *>(::getauxval(AT_EXECFN));
  for (const char *path : {executed, static_cast<const char *>(argv[0])}) {
    llvm::StringRef name = path ? llvm::sys::path::filename(path) : "";
    if (const commands::Command *command = commands::findCommand(name))
      return tools::main(argc, argv, *command);
    if (name == "origo")
      return tools::frontDoor(argc, argv);
    if (name == "onecc" || tools::findStep(name))
      return tools::oneDriver(argc, argv, name);
  }
  llvm::errs() << "the program is called by the name of a command; links to it are called so\n";
  return 1;
}
