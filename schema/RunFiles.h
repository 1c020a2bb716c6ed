#pragma once

#include "llvm/ADT/StringRef.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

/// What a run reads and writes, known by identity and not by name, so that no output takes the place of an input.
namespace origo {

/// A file whatever it is called: its device and number; of one that is not there yet, those of its folder, and its
/// name.
struct FileIdentity {
  uint64_t device = 0, number = 0;
  std::string name; ///< empty: the file is there
  auto operator<=>(const FileIdentity &) const = default;

  /// With links followed. None: a pipe, a device, a folder, or nothing that could be made there.
  static std::optional<FileIdentity> of(llvm::StringRef path);
  static std::optional<FileIdentity> of(int descriptor);
};

/// Follows links by hand, for the last one may lead to a file that is not there yet. None: there are too many.
std::optional<std::string> followLinks(std::string path);

/// From now on inputs are remembered, and refused as outputs; those of before are forgotten. For command lines: a
/// process that goes on to live, as Python does, may write over what it read long ago.
void protectInputs();
void noteInput(int descriptor);
/// What was written is no input, whoever reads it later.
void noteOutput(llvm::StringRef path);
/// The model that is rewritten in its place, with what lies beside it.
void mayReplace(const FileIdentity &file);
/// Why `path` may not be written: it is an input. Empty: it may.
llvm::StringRef refusedOutput(llvm::StringRef path);

} // namespace origo
