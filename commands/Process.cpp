#include "commands/Process.h"

#include "export/Writer.h"
#include "ir/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace origo::commands {

std::string shellWord(llvm::StringRef text, bool isFile) {
  std::string word = text.str(), shown = printable(text, 4096);
  if (isFile && text.starts_with("-"))
    word = "./" + word, shown = "./" + shown;
  if (!text.empty() &&
      llvm::all_of(word, [](char c) { return llvm::isAlnum(c) || llvm::StringRef("_./:@%+,=-").contains(c); }))
    return word;
  auto escaped = [](llvm::StringRef from, llvm::StringRef quote) {
    std::string to;
    for (char c : from)
      to += c == '\'' ? quote.str() : std::string(1, c);
    return to;
  };
  bool plain = !llvm::StringRef(shown).contains("\\x") && !llvm::StringRef(shown).ends_with("…");
  return plain ? "'" + escaped(word, "'\\''") + "'" : "$'" + escaped(shown, "\\'") + "'";
}

std::string shellWords(llvm::ArrayRef<std::string> words) {
  return llvm::join(llvm::map_range(words, [](const std::string &word) { return shellWord(word, false); }), " ");
}

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

/// The process that runs `path`; −1 with errno where it cannot be started. Starts it with its standard output, and its
/// standard error if wanted, going to `end`; −1: where ours goes.
static pid_t launch(const std::string &path, const std::string &shown, llvm::ArrayRef<std::string> words, int end,
                    bool errorsToo, const sigset_t *mask = nullptr) {
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0)
    return -1;
  pid_t self = ::getpid(), child = ::fork();
  if (child != 0) {
    int code = child < 0 ? errno : 0;
    ::close(failure[1]);
    if (child > 0 && llvm::sys::RetryAfterSignal(-1, ::read, failure[0], &code, sizeof(code)) == sizeof(code)) {
      (void)exitStatus(child);
      child = -1;
    }
    ::close(failure[0]);
    errno = code;
    return child;
  }
  ::prctl(PR_SET_PDEATHSIG, SIGTERM); // whoever ends us means it too
  if (::getppid() != self)
    ::_exit(1);
  if (mask) { // the caller's own is not for it
    ::pthread_sigmask(SIG_SETMASK, mask, nullptr);
    ::close(0);
    ::open("/dev/null", O_RDONLY);
  }
  if (end >= 0)
    ::dup2(end, 1);
  if (end >= 0 && errorsToo)
    ::dup2(end, 2);
  become(path, shown, words);
  int code = errno;
  [[maybe_unused]] ssize_t ignored = ::write(failure[1], &code, sizeof(code));
  ::_exit(127);
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
  for (ssize_t count;
       child > 0 && ((count = ::read(ends[0], part, sizeof(part))) > 0 || (count < 0 && errno == EINTR));)
    if (count > 0)
      each({part, static_cast<size_t>(count)});
  ::close(ends[0]);
  if (child < 0)
    return cannotStart(path);
  return exitStatus(child);
}

llvm::Expected<int> runAs(const std::string &path, const std::string &shown, llvm::ArrayRef<std::string> words,
                          bool silent) {
  if (silent)
    return capture(path, shown, words, false, [](llvm::StringRef) {});
  pid_t child = launch(path, shown, words, -1, false);
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

llvm::Expected<std::string> findProgram(const std::string &name) {
  if (llvm::StringRef(name).contains('/')) {
    if (!llvm::sys::fs::can_execute(name))
      return makeError("cannot start " + printable(name, 300) + ": there is no such program");
    return name;
  }
  auto found = llvm::sys::findProgramByName(name);
  if (!found)
    return makeError("there is no program " + printable(name, 300) + " in PATH");
  return *found;
}

llvm::Expected<std::optional<int>> runQuietly(llvm::ArrayRef<std::string> words, const std::string &said,
                                              unsigned seconds) {
  int file = ::open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0)
    return inFile(said, makeError(std::strerror(errno)));
  // Waited for with a limit by its signal, which must not be lost before.
  sigset_t ended, before;
  ::sigemptyset(&ended);
  ::sigaddset(&ended, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &ended, &before);
  auto restore = llvm::make_scope_exit([&] { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); });
  pid_t child = launch(words[0], words[0], words.drop_front(), file, true, &before);
  int code = errno;
  ::close(file);
  if (child < 0) {
    errno = code;
    return cannotStart(words[0]);
  }
  using Clock = std::chrono::steady_clock;
  auto end = Clock::now() + std::chrono::seconds(seconds);
  for (int status = 0;;) {
    if (pid_t done = ::waitpid(child, &status, WNOHANG); done == child)
      return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::optional(-WTERMSIG(status));
    auto left = std::chrono::ceil<std::chrono::nanoseconds>(end - Clock::now()).count();
    if (left <= 0) {
      ::kill(child, SIGKILL);
      (void)exitStatus(child);
      return std::nullopt;
    }
    timespec wait = {static_cast<time_t>(left / 1000000000), static_cast<long>(left % 1000000000)};
    ::sigtimedwait(&ended, nullptr, &wait);
  }
}

llvm::Expected<int> runCommand(llvm::ArrayRef<std::string> words, const std::string &log) {
  auto program = findProgram(words[0]);
  if (!program)
    return program.takeError();
  std::string path = *program;
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
  if (llvm::Error error = writeFile(log, text))
    return error;
  return status;
}

/// Waits until the other end of a pipe is closed.
static void awaitEnd(int file) {
  char byte;
  while (::read(file, &byte, 1) < 0 && errno == EINTR)
    ;
}

/// Who takes the folder away is there before the folder is, so that no signal comes in between.
Scratch::Scratch(llvm::StringRef name) {
  llvm::sys::fs::createUniquePath(name + "-%%%%%%%%%%%%", path, /*MakeAbsolute=*/true);
  int ends[2], begun[2];
  pid_t keeper = -1; // where there is none to have, an interrupt leaves the folder
  if (::pipe2(ends, O_CLOEXEC) == 0) {
    if (::pipe2(begun, O_CLOEXEC) == 0) {
      keeper = ::fork();
      if (keeper == 0) {
        ::setsid(); // an interrupt is for the others
        for (int signal : {SIGHUP, SIGINT, SIGTERM})
          ::signal(signal, SIG_IGN);
        for (int file : {0, 1, 2, ends[1], begun[0], begun[1]})
          ::close(file);
        awaitEnd(ends[0]);
        (void)llvm::sys::fs::remove_directories(path);
        ::_exit(0);
      }
      ::close(begun[1]);
      awaitEnd(begun[0]);
      ::close(begun[0]);
    }
    ::close(ends[0]);
    end = ends[1];
  }
  error = llvm::sys::fs::create_directory(path, /*IgnoreExisting=*/false);
  if (error && keeper > 0) // whose folder it is, somebody else knows
    ::kill(keeper, SIGKILL);
}

Scratch::~Scratch() {
  if (!error)
    (void)llvm::sys::fs::remove_directories(path);
  if (end >= 0)
    ::close(end);
}

} // namespace origo::commands
