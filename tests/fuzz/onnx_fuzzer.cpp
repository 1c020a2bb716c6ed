#include "commands/Onnx.h"
#include "ir/Verifier.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace origo;

/// Any bytes end in a model of circle's operators, or in an error of one line that names the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int fd = ::memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0)
    return 0;
  auto descriptor = std::make_shared<FileDescriptor>(fd);
  if (size == 0 || ::write(fd, data, size) != static_cast<ssize_t>(size))
    return 0;
  auto file = MappedFile::adopt(descriptor, 0, size, "fuzz.onnx");
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  PayloadStore store;
  auto imported = commands::readOnnx(std::move(*file), store);
  if (!imported) {
    std::string error = llvm::toString(imported.takeError());
    if (error.rfind("fuzz.onnx: ", 0) != 0 || error.find('\n') != std::string::npos)
      __builtin_trap();
    return 0;
  }
  if (!verify(*imported->model).empty())
    __builtin_trap();
  return 0;
}
