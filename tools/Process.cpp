#include "tools/Process.h"

#include "export/Writer.h"
#include "ir/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace origo::tools {

std::string toolFolder() {
  static const std::string path = [] {
    static int anchor;
    return llvm::sys::path::parent_path(llvm::sys::fs::getMainExecutable("origo", &anchor)).str();
  }();
  return path;
}

std::string toolPath(llvm::StringRef tool) { return toolFolder() + "/" + tool.str(); }

llvm::Error checkTool(llvm::StringRef tool) {
  if (llvm::sys::fs::can_execute(toolPath(tool)))
    return llvm::Error::success();
  return makeError("needs " + tool + ", which does not lie beside this program in " + printable(toolFolder(), 300) +
                   "; install all of Origo, or build the target command_lines");
}

void become(const std::string &path, const std::string &shown, llvm::ArrayRef<std::string> words) {
  std::vector<std::string> texts = {shown};
  texts.insert(texts.end(), words.begin(), words.end());
  std::vector<char *> argv;
  for (std::string &text : texts)
    argv.push_back(text.data());
  argv.push_back(nullptr);
  ::execv(path.c_str(), argv.data());
}

static int exitStatus(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static llvm::Error cannotStart(const std::string &path) {
  return makeError("cannot start " + printable(path, 300) + ": " + std::strerror(errno));
}

/// Starts `path` with its standard output, and its standard error if wanted, going to `end`; −1: where ours goes.
static pid_t launch(const std::string &path, const std::string &shown, llvm::ArrayRef<std::string> words, int end,
                    bool errorsToo) {
  pid_t self = ::getpid(), child = ::fork();
  if (child != 0)
    return child;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM); // whoever ends us means it too
  if (::getppid() != self)
    ::_exit(1);
  if (end >= 0)
    ::dup2(end, 1);
  if (end >= 0 && errorsToo)
    ::dup2(end, 2);
  become(path, shown, words);
  ::_exit(127);
}

llvm::Expected<int> runAs(const std::string &path, const std::string &shown, llvm::ArrayRef<std::string> words) {
  pid_t child = launch(path, shown, words, -1, false);
  if (child < 0)
    return cannotStart(path);
  return exitStatus(child);
}

/// All that the program prints; `each` sees it as it comes.
static llvm::Expected<int> capture(const std::string &path, const std::string &shown, llvm::ArrayRef<std::string> words,
                                   bool errorsToo, llvm::function_ref<void(llvm::StringRef)> each) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return cannotStart(path);
  pid_t child = launch(path, shown, words, ends[1], errorsToo);
  ::close(ends[1]);
  char part[4096];
  for (ssize_t count; child > 0 && ((count = ::read(ends[0], part, sizeof(part))) > 0 || (count < 0 && errno == EINTR));)
    if (count > 0)
      each({part, static_cast<size_t>(count)});
  ::close(ends[0]);
  if (child < 0)
    return cannotStart(path);
  return exitStatus(child);
}

llvm::Expected<std::string> outputOf(llvm::StringRef tool, llvm::ArrayRef<std::string> words) {
  if (llvm::Error error = checkTool(tool))
    return error;
  std::string text;
  auto status = capture(toolPath(tool), tool.str(), words, false, [&](llvm::StringRef part) { text += part; });
  if (!status)
    return status.takeError();
  if (*status)
    return makeError(tool + " cannot be asked for " + llvm::join(words, " "));
  return text;
}

llvm::Expected<int> runCommand(llvm::ArrayRef<std::string> words, const std::string &log) {
  std::string path = words[0];
  if (!llvm::StringRef(path).contains('/')) {
    auto found = llvm::sys::findProgramByName(path);
    if (!found)
      return makeError("there is no program " + printable(path, 300) + " in PATH");
    path = *found;
  } else if (!llvm::sys::fs::can_execute(path)) {
    return makeError("cannot start " + printable(path, 300) + "; install all of Origo");
  }
  std::string name = llvm::sys::path::filename(path).str(), text = name;
  for (const std::string &word : words.drop_front())
    text += " " + word;
  text += '\n';
  auto status = capture(path, name, words.drop_front(), true, [&](llvm::StringRef part) {
    llvm::errs() << part;
    if (!log.empty())
      text += part;
  });
  if (!status || log.empty())
    return status;
  auto file = OutputFile::open(log);
  if (!file)
    return file.takeError();
  (*file)->write(llvm::arrayRefFromStringRef(text));
  if (llvm::Error error = (*file)->finish())
    return error;
  if (llvm::Error error = OutputFile::commit({file->get()}))
    return error;
  return status;
}

} // namespace origo::tools
