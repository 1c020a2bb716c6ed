#include "quantize/Reader.h"

#include "ir/Model.h"
#include "ir/Printable.h"
#include "readers/Protocol.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace origo::quantize {

using llvm::Error;
using namespace readers;

struct Reader::Deadline {
  explicit Deadline(std::chrono::milliseconds time) : end(std::chrono::steady_clock::now() + time) {}
  std::chrono::steady_clock::time_point end;
  int left() const {
    auto now = std::chrono::steady_clock::now();
    return now >= end ? 0 : static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(end - now).count());
  }
};

static std::string &setPath() {
  static std::string path;
  return path;
}

void Reader::setProgram(const std::string &path) { setPath() = path; }

static std::string programPath() {
  if (!setPath().empty())
    return setPath();
  static int here;
  llvm::SmallString<256> program(llvm::sys::fs::getMainExecutable(nullptr, &here));
  llvm::sys::path::remove_filename(program);
  llvm::SmallString<256> installed(program);
  llvm::sys::path::append(program, "origo-reader");
  llvm::sys::path::append(installed, "..", "libexec", "origo", "origo-reader");
  return (llvm::sys::fs::can_execute(program) ? program : installed).str().str();
}

llvm::Expected<std::unique_ptr<Reader>> Reader::start(const std::string &kind, const std::string &path, Limits limits) {
  std::string program = programPath();
  if (!llvm::sys::fs::can_execute(program))
    return makeError("the program origo-reader, which reads such files, is not there: " + printable(program, 300));
  int file = ::open(path.empty() ? "/dev/null" : path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return makeError(llvm::sys::StrError());
  auto closeFile = llvm::make_scope_exit([&] { ::close(file); });
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return makeError(llvm::sys::StrError());
  std::unique_ptr<Reader> reader(new Reader);
  reader->socket = ends[0];
  reader->limits = limits;
  auto closeEnd = llvm::make_scope_exit([&] { ::close(ends[1]); });
  // Above those it gets, so that giving it one does not close another.
  int high = ::fcntl(ends[1], F_DUPFD_CLOEXEC, 10), highFile = ::fcntl(file, F_DUPFD_CLOEXEC, 10);
  auto closeHigh = llvm::make_scope_exit([&] {
    ::close(high);
    ::close(highFile);
  });
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, high, socketDescriptor);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, highFile, fileDescriptor);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, fileDescriptor + 1);
  std::string name = "origo-reader", what = kind, limit = std::to_string(limits.bytes);
  char *arguments[] = {name.data(), what.data(), limit.data(), nullptr};
  pid_t child = -1;
  int failed =
      high < 0 || highFile < 0 ? EMFILE : ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed)
    return makeError("the program origo-reader cannot be started: " + llvm::sys::StrError(failed));
  reader->child = child;
  return reader;
}

Reader::~Reader() { llvm::consumeError(end("")); }

Error Reader::end(const char *why) {
  int status = 0;
  bool killed = false;
  if (child >= 0) {
    // It may be about to die by itself, and what of is worth knowing.
    for (int i = 0; i < 50 && *why && ::waitpid(child, &status, WNOHANG) == 0; ++i, killed = i == 50)
      ::usleep(1000);
    if (!*why || killed) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
    }
  }
  if (socket >= 0)
    ::close(socket);
  bool died = child >= 0 && !killed && *why;
  child = socket = -1;
  if (died && WIFSIGNALED(status))
    return makeError(llvm::Twine("is damaged: the library that reads it ends by signal ") +
                     llvm::Twine(WTERMSIG(status)));
  if (died)
    return makeError("is damaged: the library that reads it gives up");
  return makeError(why);
}

Error Reader::transfer(uint8_t *data, size_t size, bool receive, const Deadline &deadline) {
  while (size > 0) {
    pollfd one{socket, static_cast<short>(receive ? POLLIN : POLLOUT), 0};
    int ready = ::poll(&one, 1, deadline.left());
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready == 0)
      return end(("is not read within " + llvm::Twine(limits.time.count()) + " ms").str().c_str());
    ssize_t done =
        receive ? ::recv(socket, data, size, MSG_DONTWAIT) : ::send(socket, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    if (done <= 0)
      return end("is not read to its end");
    data += done;
    size -= done;
  }
  return Error::success();
}

llvm::Expected<std::vector<uint8_t>> Reader::ask(llvm::ArrayRef<uint8_t> question) {
  if (socket < 0)
    return makeError("its reader has ended");
  Deadline deadline(limits.time);
  if (Error error = transfer(const_cast<uint8_t *>(question.data()), question.size(), false, deadline))
    return error;
  Answer answer;
  if (Error error = transfer(reinterpret_cast<uint8_t *>(&answer), sizeof(answer), true, deadline))
    return error;
  // Headers of arrays are beside what the limit counts.
  constexpr uint64_t headers = 1 << 20;
  if (answer.magic != answerMagic || answer.size > (answer.failed ? 4096 : limits.bytes + headers))
    return end("is damaged: the library that reads it has lost its way");
  std::vector<uint8_t> bytes(answer.size);
  if (Error error = transfer(bytes.data(), bytes.size(), true, deadline))
    return error;
  if (answer.failed)
    return makeError(printableWords(llvm::StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()), 4096));
  return bytes;
}

} // namespace origo::quantize
