#include "tools/Driver.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <sys/auxv.h>

using namespace origo;

/// The program of all commands with rows, each a link to it. Which one is meant tells the path that was executed:
/// argv[0] is how whoever started it wants it to be called.
int main(int argc, char **argv) {
  const auto *executed = reinterpret_cast<const char *>(::getauxval(AT_EXECFN));
  for (const char *path : {executed, static_cast<const char *>(argv[0])})
    if (const commands::Command *command = path ? commands::findCommand(llvm::sys::path::filename(path)) : nullptr)
      return tools::main(argc, argv, *command);
  llvm::errs() << "the program is called by the name of a command; links to it are called so\n";
  return 1;
}
