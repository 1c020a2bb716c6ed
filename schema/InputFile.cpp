#include "schema/InputFile.h"

#include "schema/RunFiles.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace origo {

using llvm::sys::RetryAfterSignal;

namespace {

enum Refused { Device = 1, TooLong, Shorter };

struct Category : std::error_category {
  const char *name() const noexcept override { return "input"; }
  std::string message(int code) const override {
    return code == Device    ? "it is a device; files and pipes are read"
           : code == Shorter ? "it became shorter while it was read"
                             : "more than " + std::to_string(pipeLimit()) +
                                   " bytes come through the pipe; put them into a file, or set ORIGO_PIPE_LIMIT";
  }
};

std::error_code refused(Refused code) {
  static const Category category;
  return {code, category};
}

std::error_code systemCode() { return {errno, std::generic_category()}; }

} // namespace

static bool copied = false;
void copyInputs() { copied = true; }
bool inputsAreCopied() { return copied; }

std::error_code pipeTooLong() { return refused(TooLong); }

uint64_t pipeLimit() {
  const char *text = std::getenv("ORIGO_PIPE_LIMIT");
  uint64_t limit;
  return text && !llvm::StringRef(text).getAsInteger(10, limit) ? limit : uint64_t(4) << 30;
}

llvm::ErrorOr<InputKind> inputKind(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    return systemCode();
  if (S_ISDIR(status.st_mode))
    return std::make_error_code(std::errc::is_a_directory);
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))
    return refused(Device);
  if (!S_ISREG(status.st_mode))
    return InputKind::Pipe;
  noteInput(descriptor);
  return InputKind::File;
}

llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> readInput(llvm::StringRef path) {
  int descriptor = RetryAfterSignal(-1, ::open, path.str().c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return systemCode();
  auto closed = llvm::make_scope_exit([&] { ::close(descriptor); });
  llvm::ErrorOr<InputKind> kind = inputKind(descriptor);
  if (!kind)
    return kind.getError();
  if (*kind == InputKind::File && !inputsAreCopied())
    return llvm::MemoryBuffer::getOpenFile(descriptor, path, -1, /*RequiresNullTerminator=*/false);
  const uint64_t limit = *kind == InputKind::File ? UINT64_MAX : pipeLimit();
  struct stat status = {};
  llvm::SmallVector<char, 0> bytes;
  if (*kind == InputKind::File && ::fstat(descriptor, &status) == 0)
    bytes.reserve(static_cast<size_t>(status.st_size) + 1);
  for (size_t room = 1 << 16;; room = 1 << 20) {
    room = std::max(room, bytes.capacity() - bytes.size());
    size_t before = bytes.size();
    bytes.resize_for_overwrite(before + room);
    ssize_t got = RetryAfterSignal(-1, ::read, descriptor, bytes.data() + before, room);
    if (got < 0)
      return systemCode();
    bytes.truncate(before + got);
    if (bytes.size() > limit)
      return pipeTooLong();
    if (got == 0 && *kind == InputKind::File && bytes.size() < static_cast<uint64_t>(status.st_size))
      return refused(Shorter);
    if (got == 0)
      return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), path, /*RequiresNullTerminator=*/false);
  }
}

} // namespace origo
