#pragma once

#include "export/Export.h"
#include "import/Import.h"

/// Models as files: binary ones, and the text form.
namespace origo::commands {

enum class FileKind { Circle, Tflite, Text };
/// By extension, in capitals or not; none: something else.
std::optional<FileKind> kindOf(llvm::StringRef path);
/// What is written to `path`: what its extension tells, or where it tells none of the two, `otherwise`.
Format formatOf(llvm::StringRef path, Format otherwise);

/// Reads a model of any of the three kinds. Binary models are told by their identifier, text by its extension `.origo`.
llvm::Expected<Imported> read(llvm::StringRef path, const ImportOptions &options, PayloadStore &store);
/// Writes it in the form that the extension of `path` asks for. A text has its big constants in `path`.bin.
llvm::Error write(Imported &imported, llvm::StringRef path, ExportOptions options);

/// An error where `path`, which `actual` lists, is not the model that `model` was made from, which `expected` lists.
llvm::Error expectSource(llvm::StringRef path, llvm::StringRef model, const origin::Listing &expected,
                         const origin::Listing &actual);

/// So many threads as asked for, but not more than there are processors; 0 asks for all of them.
unsigned threadCount(unsigned asked);

} // namespace origo::commands
