#include "ir/AtomicFile.h"

#include "schema/RunFiles.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/xxhash.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace origo {

using llvm::sys::RetryAfterSignal;

static std::string besides(llvm::StringRef path, const llvm::Twine &name) {
  llvm::SmallString<128> result = llvm::sys::path::parent_path(path);
  llvm::sys::path::append(result, name);
  return result.str().str();
}

/// What a link to a file without a name is made from.
static std::string inProc(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

std::string hiddenName(llvm::StringRef path, llvm::StringRef extension) {
  uint64_t hash = llvm::xxh3_64bits(llvm::sys::path::filename(path));
  return besides(path, ".origo-" + llvm::utohexstr(hash, true) + extension);
}

std::string randomName(llvm::StringRef path, llvm::StringRef extension) {
  uint64_t random =
      uint64_t(llvm::sys::Process::GetRandomNumber()) << 32 | uint32_t(llvm::sys::Process::GetRandomNumber());
  return besides(path, ".origo-" + llvm::utohexstr(random, true) + extension);
}

bool isOurs(const std::string &path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
}

int AtomicFile::open(const std::string &path) {
  destination = path;
  std::string directory = llvm::sys::path::parent_path(path).str();
  fd =
      RetryAfterSignal(-1, ::open, directory.empty() ? "." : directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (fd < 0)
    return openNamed(); // which knows, too, what is wrong with the directory
  if (::access(inProc(fd).c_str(), F_OK) == 0)
    return 0;
  ::close(fd);
  return openNamed();
}

int AtomicFile::openNamed() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string path = randomName(destination, ".tmp");
    // Registered first, so that no moment is left in which an interrupt would leave the file behind.
    llvm::sys::RemoveFileOnSignal(path);
    fd = RetryAfterSignal(-1, ::open, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      temporary = std::move(path);
      return 0;
    }
    int code = errno;
    llvm::sys::DontRemoveFileOnSignal(path);
    if (code != EEXIST)
      return code;
  }
  return EEXIST;
}

int AtomicFile::settle() {
  // Without a name it would be gone if it were closed; closing a second descriptor tells the same.
  int closing = temporary.empty() ? ::dup(fd) : std::exchange(fd, -1);
  return closing < 0 || (::close(closing) != 0 && errno != EINTR) ? errno : 0;
}

int AtomicFile::place() {
  if (!temporary.empty()) {
    if (::rename(temporary.c_str(), destination.c_str()) != 0)
      return errno;
    llvm::sys::DontRemoveFileOnSignal(temporary);
    temporary.clear();
    noteOutput(destination);
    return 0;
  }
  int code = placeNameless();
  if (code == 0)
    noteOutput(destination);
  return code;
}

int AtomicFile::placeNameless() {
  auto link = [&](const std::string &to) {
    return ::linkat(AT_FDCWD, inProc(fd).c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
  };
  std::string between = hiddenName(destination, ".tmp");
  int code = link(destination);
  if (code == 0 && isOurs(between))
    ::unlink(between.c_str()); // left by a run that was killed
  if (code != EEXIST)
    return code;
  // Whatever has the name in between is a whole file that was about to take this place: of a run that was killed, or of
  // one that is here now, too. Whoever finds it helps it on, and whoever misses it has been helped.
  auto moveOn = [&] { return ::rename(between.c_str(), destination.c_str()) == 0 || errno == ENOENT ? 0 : errno; };
  for (int attempt = 0; (code = link(between)) == EEXIST && attempt < 100; ++attempt)
    if (!isOurs(between))
      between = randomName(destination, ".tmp");
    else if (int failed = moveOn())
      return failed;
  if (code == 0)
    if ((code = moveOn()))
      ::unlink(between.c_str());
  return code;
}

AtomicFile::~AtomicFile() {
  if (fd >= 0)
    ::close(fd);
  if (!temporary.empty()) {
    ::unlink(temporary.c_str());
    llvm::sys::DontRemoveFileOnSignal(temporary);
  }
}

int openNameless(const std::string &directory) {
  int fd = RetryAfterSignal(-1, ::open, directory.c_str(), O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0)
    return fd;
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, ".origo-spill-%%%%%%%%");
  if (std::error_code ec = llvm::sys::fs::createUniqueFile(path, fd, path, llvm::sys::fs::OF_None, 0600)) {
    errno = ec.value();
    return -1;
  }
  llvm::sys::fs::remove(path);
  return fd;
}

} // namespace origo
