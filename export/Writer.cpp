#include "export/Writer.h"

#include "ir/Error.h"
#include "schema/RunFiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace origo {

using llvm::sys::RetryAfterSignal;

namespace {

constexpr uint64_t bufferBytes = 1 << 20;
/// What is at least as long is not taken through the buffer.
constexpr uint64_t directBytes = 256 << 10;
constexpr uint64_t windowBytes = 8 << 20;

llvm::StringRef remedy(int code) {
  switch (code) {
  case ENOSPC:
  case EDQUOT:
    return "; free space or write to another place";
  case EFBIG:
    return "; raise the file size limit (ulimit -f) or write to another file system";
  case ENOENT:
  case ENOTDIR:
    return "; create its directory first";
  case EACCES:
  case EPERM:
  case EROFS:
    return "; write to a directory that you may write to";
  case EISDIR:
    return "; name a file";
  default:
    return "";
  }
}

} // namespace

struct IgnoreWriteSignals::Saved {
  struct sigaction fileSize, pipe;
};

/// LLVM installs its own handlers when the first file is registered for removal; ours have to come after that. It does
/// not ask whether a signal was ignored, as nohup has it: removing the file then and going on would be wrong.
static void installHandlersOfLLVM() {
  constexpr int interrupts[] = {SIGHUP, SIGINT, SIGTERM};
  struct sigaction before[std::size(interrupts)];
  for (auto [signal, action] : llvm::zip_equal(interrupts, before))
    ::sigaction(signal, nullptr, &action);
  llvm::sys::RemoveFileOnSignal("");
  llvm::sys::DontRemoveFileOnSignal("");
  for (auto [signal, action] : llvm::zip_equal(interrupts, before))
    if (action.sa_handler == SIG_IGN)
      ::sigaction(signal, &action, nullptr);
}

IgnoreWriteSignals::IgnoreWriteSignals() : saved(std::make_unique<Saved>()) {
  // Each time LLVM goes through all files that were ever registered: not where its handlers are there.
  static std::atomic<void (*)(int)> ofLLVM{nullptr};
  auto handler = [] {
    struct sigaction now;
    ::sigaction(SIGXFSZ, nullptr, &now);
    return now.sa_handler;
  };
  if (!ofLLVM || handler() != ofLLVM) {
    installHandlersOfLLVM();
    ofLLVM = handler();
  }
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGXFSZ, &ignore, &saved->fileSize);
  ::sigaction(SIGPIPE, &ignore, &saved->pipe);
}

IgnoreWriteSignals::~IgnoreWriteSignals() {
  ::sigaction(SIGXFSZ, &saved->fileSize, nullptr);
  ::sigaction(SIGPIPE, &saved->pipe, nullptr);
}

llvm::Error OutputFile::failure(int code) const {
  if (truncatedInput)
    return inFile(name, makeError("is not written: an input file became shorter while it was read"));
  return inFile(name, makeError("cannot be written: " + llvm::sys::StrError(code) + remedy(code)));
}

llvm::Expected<std::unique_ptr<OutputFile>> OutputFile::open(llvm::StringRef path) {
  std::unique_ptr<OutputFile> file(new OutputFile());
  file->name = path.str();
  if (path == "-") {
    file->fd = ::dup(STDOUT_FILENO);
    if (file->fd < 0)
      return file->failure(errno);
    return file;
  }
  struct stat status;
  bool exists = ::stat(file->name.c_str(), &status) == 0;
  if (!exists && errno != ENOENT)
    return file->failure(errno);
  if (path.empty() || (exists && S_ISDIR(status.st_mode)) || path.ends_with("/"))
    return file->failure(path.empty() ? ENOENT : EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    file->fd = RetryAfterSignal(-1, ::open, file->name.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file->fd < 0)
      return file->failure(errno);
    return file;
  }

  std::optional<std::string> destination = followLinks(file->name);
  if (!destination)
    return file->failure(ELOOP);
  if (llvm::StringRef why = refusedOutput(path); !why.empty())
    return inFile(path, makeError("cannot be written: " + why));
  file->destination = std::move(*destination);
  // A plain open would refuse to overwrite a read-only file; a rename would not ask.
  if (exists && ::faccessat(AT_FDCWD, file->destination.c_str(), W_OK, AT_EACCESS) != 0)
    return file->failure(errno);
  file->made = std::make_unique<AtomicFile>();
  if (int code = file->made->open(file->destination))
    return file->failure(code);
  file->fd = file->made->descriptor();
  if (exists && ::fchmod(file->fd, status.st_mode & 0777) != 0)
    return file->failure(errno);
  return file;
}

OutputFile::~OutputFile() {
  if (fd >= 0 && !made)
    ::close(fd);
}

void OutputFile::reserve(uint64_t size) {
  if (error || isStream() || size == 0)
    return;
  // The system call and not posix_fallocate, which would write to every block where the file system cannot do it.
  int result;
  do
    result = ::fallocate(fd, 0, 0, static_cast<off_t>(size));
  while (result != 0 && errno == EINTR);
  if (result != 0 && (errno == ENOSPC || errno == EFBIG || errno == EDQUOT))
    error = errno;
}

void OutputFile::writeAll(const uint8_t *data, uint64_t size) {
  while (size && !error) {
    ssize_t put = RetryAfterSignal(-1, ::write, fd, data, std::min(size, windowBytes));
    if (put < 0) {
      error = errno;
      truncatedInput = error == EFAULT; // a page of the mapping is gone
      return;
    }
    data += put;
    size -= put;
    written += put;
  }
}

void OutputFile::flush() {
  if (buffered.empty())
    return;
  // Emptied first: position() counts both.
  std::vector<uint8_t> bytes;
  bytes.swap(buffered);
  writeAll(bytes.data(), bytes.size());
  bytes.clear();
  buffered.swap(bytes);
}

void OutputFile::write(llvm::ArrayRef<uint8_t> bytes) {
  if (error)
    return;
  bool direct = bytes.size() >= directBytes;
  if (direct || buffered.size() + bytes.size() > bufferBytes)
    flush();
  if (direct)
    return writeAll(bytes.data(), bytes.size());
  if (buffered.capacity() == 0)
    buffered.reserve(bufferBytes);
  buffered.insert(buffered.end(), bytes.begin(), bytes.end());
}

void OutputFile::zeros(uint64_t count) {
  static const uint8_t none[64] = {};
  for (; count; count -= std::min<uint64_t>(count, sizeof(none)))
    write({none, static_cast<size_t>(std::min<uint64_t>(count, sizeof(none)))});
}

/// Returns how many bytes the kernel has moved; the caller writes the rest.
uint64_t OutputFile::copyRange(int from, uint64_t offset, uint64_t size) {
  uint64_t done = 0;
  while (done < size) {
    off_t at = static_cast<off_t>(offset + done);
    ssize_t moved = RetryAfterSignal(-1, ::copy_file_range, from, &at, fd, nullptr, size - done, 0u);
    if (moved <=
        0) { // between file systems, from a pipe's copy, an old kernel, the end of a truncated file: write says
      if (moved < 0 && (errno == ENOSPC || errno == EFBIG || errno == EDQUOT || errno == EIO))
        error = errno;
      break;
    }
    done += moved;
  }
  written += done;
  return done;
}

void OutputFile::copy(llvm::ArrayRef<uint8_t> bytes, const MappedFile *file) {
  if (error)
    return;
  if (!file || bytes.size() < directBytes) {
    while (!bytes.empty()) { // in pieces that fit the buffer
      size_t part = std::min<size_t>(bytes.size(), directBytes - 1);
      write(bytes.take_front(part));
      bytes = bytes.drop_front(part);
    }
    return;
  }
  flush();
  if (!isStream() && !error && file->descriptor() >= 0) {
    uint64_t offset = file->offset() + (bytes.data() - file->bytes().data());
    bytes = bytes.drop_front(copyRange(file->descriptor(), offset, bytes.size()));
  }
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  while (!bytes.empty() && !error) {
    llvm::ArrayRef<uint8_t> window = bytes.take_front(windowBytes);
    // Reading the pages in ahead is much faster than write's faults one by one. Where it is not known nothing is lost.
    auto begin = reinterpret_cast<uintptr_t>(window.data()) / page * page;
    auto end = reinterpret_cast<uintptr_t>(window.end());
    ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_POPULATE_READ);
    writeAll(window.data(), window.size());
    bytes = bytes.drop_front(window.size());
  }
}

void OutputFile::copy(const Payload &payload) {
  if (payload.cost() == 0)
    return copy(payload.bytes(), payload.file());
  flush();
  std::vector<uint8_t> window(std::min(payload.size(), bufferBytes));
  for (uint64_t at = 0; at < payload.size() && !error; at += window.size()) {
    window.resize(std::min(payload.size() - at, bufferBytes));
    payload.read(at, window);
    writeAll(window.data(), window.size());
  }
}

llvm::Error OutputFile::finish() {
  if (!error)
    flush();
  if (error)
    return failure(error);
  return llvm::Error::success();
}

llvm::Error writeFile(llvm::StringRef path, llvm::function_ref<llvm::Error(llvm::raw_ostream &os)> write) {
  IgnoreWriteSignals guard;
  auto file = OutputFile::open(path);
  if (!file)
    return file.takeError();
  {
    OutputStream os(**file);
    if (llvm::Error error = write(os))
      return error;
  }
  if (llvm::Error error = (*file)->finish())
    return error;
  return OutputFile::commit({file->get()});
}

llvm::Error writeFile(llvm::StringRef path, llvm::StringRef text) {
  return writeFile(path, [&](llvm::raw_ostream &os) {
    os << text;
    return llvm::Error::success();
  });
}

llvm::Error OutputFile::commit(llvm::ArrayRef<OutputFile *> files) {
  // Two under one name would lose one.
  std::set<FileIdentity> places;
  for (OutputFile *file : files)
    if (auto place = FileIdentity::of(file->destination); place && !places.insert(std::move(*place)).second)
      return inFile(file->name,
                    makeError("cannot be written: another output of this run has this name; give each its own"));

  // An interrupt waits, so that it finds all files in place or none.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  auto restore = llvm::make_scope_exit([&] { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); });

  for (OutputFile *file : files)
    if (file->made) {
      if (int code = file->made->settle())
        return file->failure(code);
    } else if (::close(std::exchange(file->fd, -1)) != 0 && errno != EINTR) {
      return file->failure(errno);
    }

  struct Placed {
    std::string destination, backup;
  };
  llvm::SmallVector<Placed, 2> placed;
  auto forgetBackups = llvm::make_scope_exit([&] {
    for (const Placed &file : placed)
      if (!file.backup.empty())
        ::unlink(file.backup.c_str());
  });
  for (OutputFile *file : files) {
    if (file->isStream())
      continue;
    Placed &here = placed.emplace_back(Placed{file->destination, {}});
    // A second name for what is replaced. Where there is none to have, undoing removes the new file.
    if (file != files.back()) {
      here.backup = hiddenName(file->destination, ".old");
      if (isOurs(here.backup))
        ::unlink(here.backup.c_str()); // left by a run that was killed
      auto link = [&] { return ::link(file->destination.c_str(), here.backup.c_str()) == 0; };
      if (!link() && (errno != EEXIST || (here.backup = randomName(file->destination, ".old"), !link())))
        here.backup.clear();
    }
    if (int code = file->made->place()) {
      for (const Placed &done : llvm::reverse(llvm::ArrayRef(placed).drop_back()))
        if (done.backup.empty() || ::rename(done.backup.c_str(), done.destination.c_str()) != 0)
          ::unlink(done.destination.c_str());
      return file->failure(code);
    }
  }
  return llvm::Error::success();
}

} // namespace origo
