#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace origo {

/// A file that is seen when it is whole. Until then it has no name, so that not even a killed run leaves something
/// behind; where a file system has no such files it has a temporary name, which an interrupt removes.
///
/// Taking the name of a file that exists needs a name in between, because a link does not replace. A run that is killed
/// in these microseconds leaves it; it follows from the name of the output, and the next run that writes that output
/// removes it.
///
/// Functions that return an int return 0, or errno.
class AtomicFile {
public:
  AtomicFile() = default;
  AtomicFile(const AtomicFile &) = delete;
  ~AtomicFile(); ///< closes, and removes what has not been placed
  /// In the directory of `destination`.
  int open(const std::string &destination);
  int descriptor() const { return fd; }
  /// Everything has been written. Tells what some file systems find out only when a file is closed.
  int settle();
  /// Gives it its name; what had it is replaced.
  int place();

private:
  std::string destination, temporary;
  int fd = -1;
  int openNamed();
  int placeNameless();
};

/// A hidden name in the directory of `path` that follows from its name, so that what a killed run leaves is found. In a
/// folder of many users others may have taken it: then one that nobody can foresee.
std::string hiddenName(llvm::StringRef path, llvm::StringRef extension);
std::string randomName(llvm::StringRef path, llvm::StringRef extension);
/// A file of ours, which may be moved and removed.
bool isOurs(const std::string &path);

/// A file that will never have a name, for reading and writing: a descriptor, or −1 with errno.
int openNameless(const std::string &directory);

} // namespace origo
