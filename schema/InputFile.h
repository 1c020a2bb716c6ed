#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorOr.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <system_error>

/// How everything that a tool is given is opened: files, and pipes, of which a limited number of bytes is taken because
/// they have to be kept. Devices are refused, for many never end.
namespace origo {

/// From now on files are read and not mapped: a process that is not ours must not end where a file is cut off
/// meanwhile.
void copyInputs();
bool inputsAreCopied();

/// A file as it lies there, or all that comes through a pipe.
llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> readInput(llvm::StringRef path);

/// What an open descriptor is.
enum class InputKind { File, Pipe };
llvm::ErrorOr<InputKind> inputKind(int descriptor);

/// Bytes that are taken from a pipe: ORIGO_PIPE_LIMIT, or 4 GB.
uint64_t pipeLimit();
std::error_code pipeTooLong();

} // namespace origo
