#include "commands/Optimize.h"
#include "commands/Process.h"
#include "ir/OpenFile.h"
#include "schema/RunFiles.h"

#include "llvm/Support/FileSystem.h"

#include <csignal>
#include <cstdlib>
#include <set>
#include <sys/wait.h>

namespace origo::commands {

/// Whether the command succeeds on the output. An error: it was not started, or somebody ended it, which says nothing
/// about the model.
static llvm::Expected<bool> commandSucceeds(const Job &job) {
  std::string command = job.request.bisect + " '" + job.request.output + "'", option = job.door.spell("bisect");
  int status = std::system(command.c_str());
  int code = status == -1 ? 127 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == 126 || code == 127)
    return makeError(option + ": the command cannot be started (exit status " + llvm::Twine(code) +
                     "), which says nothing about the model: " + printable(job.request.bisect, 300));
  if (code == 128 + SIGINT)
    return makeError(option + ": the command was interrupted");
  return code == 0;
}

static llvm::Error search(const Job &job, llvm::raw_ostream &os) {
  const std::string &output = job.request.output;
  std::string last, option = job.door.spell("bisect");
  if (llvm::StringRef(output).contains('\''))
    return inFile(output, makeError(option + " needs an output name without quotes"));
  if (output == "-")
    return makeError(option + " needs an OUTPUT that the command can read, and \"-\" is none");
  uint32_t applied = 0;
  auto make = [&](std::optional<uint32_t> most) -> llvm::Error {
    auto made = job.make(output, most, [&](const RewriteEvent &event) { last = event.text(); });
    if (made)
      applied = *made;
    return made.takeError();
  };
  auto succeedsAfter = [&](std::optional<uint32_t> most) -> llvm::Expected<bool> {
    if (llvm::Error error = make(most))
      return error;
    return commandSucceeds(job);
  };
  auto succeeds = succeedsAfter(std::nullopt);
  if (!succeeds)
    return succeeds.takeError();
  if (*succeeds) {
    os << "the command succeeds after all " << applied << " rewrites\n";
    return llvm::Error::success();
  }
  uint32_t good = 0, bad = applied;
  succeeds = succeedsAfter(0);
  if (!succeeds)
    return succeeds.takeError();
  if (!*succeeds)
    return makeError(option + ": the command fails before the first rewrite already");
  while (bad - good > 1) {
    uint32_t middle = good + (bad - good) / 2;
    succeeds = succeedsAfter(middle);
    if (!succeeds)
      return succeeds.takeError();
    llvm::errs() << "after " << middle << " rewrites: " << (*succeeds ? "succeeds" : "fails") << '\n';
    (*succeeds ? good : bad) = middle;
  }
  if (llvm::Error error = make(bad))
    return error;
  os << "the command fails first after " << last << '\n';
  return llvm::Error::success();
}

llvm::Error bisect(const Job &job, llvm::raw_ostream &os) {
  Scratch scratch("origo-bisect");
  if (scratch.error)
    return makeError("no folder for what OUTPUT is now: " + scratch.error.message());
  std::string files[] = {job.request.output, job.request.output + ".bin", job.sideFile()};
  auto kept = [&](const std::string &file) { return scratch.file(llvm::Twine(&file - files)); };
  std::set<std::string> older;
  for (const std::string &file : files)
    if (auto identity = FileIdentity::of(file); identity && identity->name.empty()) {
      if (std::error_code code = llvm::sys::fs::copy_file(file, kept(file)))
        return inFile(
            file, makeError("cannot be kept while " + job.door.spell("bisect") + " writes there: " + code.message()));
      older.insert(file);
    }
  llvm::Error error = search(job, os);
  for (const std::string &file : files) {
    if (!error || !FileIdentity::of(file))
      continue;
    if (!older.count(file))
      llvm::sys::fs::remove(file);
    else if (auto bytes = MappedFile::open(kept(file)))
      error = llvm::joinErrors(std::move(error), writeFile(file, llvm::toStringRef((*bytes)->bytes())));
    else
      error = llvm::joinErrors(std::move(error), bytes.takeError());
  }
  return error;
}

} // namespace origo::commands
