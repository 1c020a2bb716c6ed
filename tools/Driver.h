#pragma once

#include "commands/Command.h"
#include "commands/Door.h"
#include "commands/Files.h"
#include "commands/JsonOutput.h"
#include "commands/Process.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

/// What the command lines share: reading and writing by extension, and ending with one line on stderr.
namespace origo::tools {

using commands::checkOutput, commands::FileKind, commands::formatOf, commands::kindOf, commands::isStream,
    commands::makeFolder, commands::expectSource, commands::threadCount;
using commands::checkTool, commands::findProgram, commands::outputOf, commands::runAs, commands::runCommand,
    commands::runQuietly, commands::Scratch, commands::shellWord, commands::shellWords, commands::toolFolder,
    commands::toolPath;
using commands::JsonOutput;

/// The command line of a command: what main returns. A mistake in the options, an input that is truncated while it is
/// mapped, and output that cannot be written end with one line and exit code 1, and leave no temporary files.
int main(int argc, char **argv, const commands::Command &command);
/// This command line, as who asks for a command.
commands::Door door();

/// Refuses an output that is an input or another output, whatever they are called, before anything is read; main() does
/// so for options that write. `output`, a model, may take the place of `input`, which it is made of. What cannot be
/// foreseen, such as files in a folder, is refused when it is opened (schema/RunFiles.h).
llvm::Error checkFiles(const std::string &input = "", const std::string &output = "");

/// What main() does before it looks at options, for other command lines.
void startTool(llvm::StringRef name);
/// Begins every message from now on; must outlive them.
void setToolName(llvm::StringRef name);

/// What is being done now, a word such as "reading". On a terminal it is shown from the third second on.
void phase(const char *word);

/// As commands/Files.h does, with what a command line says while it takes long, and with notes that nobody else takes.
llvm::Expected<Imported> load(llvm::StringRef path, const ImportOptions &options, PayloadStore &store);
llvm::Error save(Imported &imported, llvm::StringRef path, ExportOptions options);

/// Prints one line for the error; the exit code of bad input, 1.
int fail(llvm::Error error);
int fail(const llvm::Twine &message);
void note(const llvm::Twine &message);

} // namespace origo::tools
