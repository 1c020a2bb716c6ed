#pragma once

#include "commands/Command.h"
#include "commands/Door.h"
#include "commands/Files.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

/// What the command lines share: reading and writing by extension, and ending with one line on stderr.
namespace origo::tools {

using commands::FileKind, commands::formatOf, commands::kindOf, commands::expectSource, commands::threadCount;

/// A command line: what main returns. `name` begins every message, `overview` the help. A mistake in the options, an
/// input that is truncated while it is mapped, and output that cannot be written end with one line and exit code 1, and
/// leave no temporary files.
int main(int argc, char **argv, llvm::StringRef name, llvm::ArrayRef<const llvm::cl::OptionCategory *> categories,
         llvm::StringRef overview, llvm::function_ref<int()> run);

/// The same for a command whose options are rows: `request` is what they say, `arguments` are the other words.
int main(int argc, char **argv, const commands::Command &command, void *request,
         llvm::function_ref<int(llvm::ArrayRef<std::string> arguments)> run);
/// This command line, as who asks for a command.
commands::Door door();

/// Marks an option that names an output, for checkFiles().
void noteOutputOption(const llvm::cl::Option &option, std::function<std::string()> value);
struct WritesMark {
  template <class T> void apply(T &option) const {
    noteOutputOption(option, [&option] { return std::string(option.getValue()); });
  }
};
inline constexpr WritesMark writes;
/// Refuses an output that is an input or another output, whatever they are called, before anything is read; main() does
/// so for marked options. `output`, a model, may take the place of `input`, which it is made of. What cannot be
/// foreseen, such as files in a folder, is refused when it is opened (schema/RunFiles.h).
llvm::Error checkFiles(const std::string &input = "", const std::string &output = "");

/// What main() does before it looks at options, for a command line that has none of LLVM's.
void startTool(llvm::StringRef name);
/// Begins every message from now on; must outlive them.
void setToolName(llvm::StringRef name);

/// What LLVM says of a wrong option, in our words.
std::string optionError(llvm::StringRef text);

/// Standard input or output, a pipe or a device: what has no size and no files beside it.
bool isStream(llvm::StringRef path);

/// Refuses an OUTPUT whose extension is none of those that tell a format. It may have none: then it is written as the
/// input is.
llvm::Error checkOutput(llvm::StringRef path,
                        llvm::ArrayRef<FileKind> kinds = {FileKind::Circle, FileKind::Tflite, FileKind::Text});

/// The command line with --stats spelled --statistics, for tools that read or write a file of them: LLVM has taken the
/// shorter word. For main().
std::vector<char *> withStatistics(int argc, char **argv);

/// What is being done now, a word such as "reading". On a terminal it is shown from the third second on.
void phase(const char *word);

/// As commands/Files.h does, with what a command line says while it takes long, and with notes that nobody else takes.
llvm::Expected<Imported> load(llvm::StringRef path, const ImportOptions &options, PayloadStore &store);
llvm::Error save(Imported &imported, llvm::StringRef path, ExportOptions options);
/// Bytes of what was loaded from there, or of the file; 0: there is none.
uint64_t sizeOf(llvm::StringRef path);

/// A folder for output, which others may read as far as the umask allows.
llvm::Error makeFolder(llvm::StringRef path);

/// Reads `input`, changes it and writes it to `output`, with its side file if that is wanted. Errors of `change` are
/// about the input.
llvm::Error rewriteFile(const std::string &input, const std::string &output,
                        llvm::function_ref<llvm::Error(Imported &imported, PayloadStore &store)> change,
                        origin::Embed embed = origin::Embed::Full, bool sideFile = true);

/// The closing line of what wrote a model: operators, rewrites and sizes of the two files; no line for a stream.
/// `bytesBefore`: of the input when it was read; 0: not known. `withOrigins`: the written model has its origin map
/// inside. `grown` is why the file may have become much bigger.
void tellResult(uint64_t bytesBefore, llvm::StringRef output, size_t before, size_t after,
                std::optional<uint32_t> rewrites, bool withOrigins, llvm::StringRef nothing,
                llvm::StringRef grown = "");

/// Standard output for JSON. What a terminal would obey, or reorder, is escaped, as JSON can do with any character.
class JsonOutput : public llvm::raw_ostream {
public:
  explicit JsonOutput(llvm::raw_ostream &to = llvm::outs()) : to(to) {}
  ~JsonOutput() override { flush(); }

private:
  llvm::raw_ostream &to;
  std::string rest; ///< the beginning of a character
  uint64_t written = 0;
  void write_impl(const char *data, size_t size) override;
  uint64_t current_pos() const override { return written; }
};

/// Prints one line for the error; the exit code of bad input, 1.
int fail(llvm::Error error);
int fail(const llvm::Twine &message);
void note(const llvm::Twine &message);

} // namespace origo::tools
