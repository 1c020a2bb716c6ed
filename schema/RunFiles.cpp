#include "schema/RunFiles.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

#include <climits>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace origo {

static FileIdentity identityOf(const struct stat &status) { return {status.st_dev, status.st_ino, {}}; }

std::optional<FileIdentity> FileIdentity::of(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    return std::nullopt;
  return identityOf(status);
}

std::optional<FileIdentity> FileIdentity::of(llvm::StringRef path) {
  struct stat status;
  if (path.empty() || path == "-" || path.contains('\0'))
    return std::nullopt;
  if (::stat(path.str().c_str(), &status) == 0)
    return S_ISREG(status.st_mode) ? std::optional(identityOf(status)) : std::nullopt;
  auto destination = followLinks(path.str());
  if (!destination)
    return std::nullopt;
  std::string folder = llvm::sys::path::parent_path(*destination).str();
  if (::stat(folder.empty() ? "." : folder.c_str(), &status) != 0)
    return std::nullopt;
  FileIdentity identity = identityOf(status);
  identity.name = llvm::sys::path::filename(*destination).str();
  return identity;
}

std::optional<std::string> followLinks(std::string path) {
  constexpr int maxLinks = 40; // Linux's own limit
  for (int i = 0; i < maxLinks; ++i) {
    char link[PATH_MAX];
    ssize_t length = ::readlink(path.c_str(), link, sizeof(link));
    if (length < 0)
      return path;
    llvm::StringRef to(link, length);
    if (to.starts_with("/")) {
      path = to.str();
    } else {
      llvm::SmallString<128> next = llvm::sys::path::parent_path(path);
      llvm::sys::path::append(next, to);
      path = next.str().str();
    }
  }
  return std::nullopt;
}

namespace {

struct RunFiles {
  std::mutex mutex;
  bool wanted = false;
  std::set<FileIdentity> inputs, outputs, replaceable;
};

RunFiles &runFiles() {
  static RunFiles files;
  return files;
}

} // namespace

void protectInputs() {
  RunFiles &files = runFiles();
  std::lock_guard lock(files.mutex);
  files.wanted = true;
  files.inputs.clear(), files.outputs.clear(), files.replaceable.clear();
}

void noteInput(int descriptor) {
  RunFiles &files = runFiles();
  std::lock_guard lock(files.mutex);
  if (!files.wanted)
    return;
  if (auto file = FileIdentity::of(descriptor))
    files.inputs.insert(std::move(*file));
}

void noteOutput(llvm::StringRef path) {
  RunFiles &files = runFiles();
  std::lock_guard lock(files.mutex);
  if (!files.wanted)
    return;
  if (auto file = FileIdentity::of(path))
    files.outputs.insert(std::move(*file));
}

void mayReplace(const FileIdentity &file) {
  RunFiles &files = runFiles();
  std::lock_guard lock(files.mutex);
  files.replaceable.insert(file);
}

llvm::StringRef refusedOutput(llvm::StringRef path) {
  RunFiles &files = runFiles();
  std::lock_guard lock(files.mutex);
  if (files.inputs.empty())
    return {};
  auto file = FileIdentity::of(path);
  bool free = !file || !files.inputs.count(*file) || files.outputs.count(*file) || files.replaceable.count(*file);
  return free ? "" : "it is an input of this run, which would be lost; write to another file";
}

} // namespace origo
