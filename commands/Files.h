#pragma once

#include "commands/Door.h"
#include "export/Export.h"
#include "import/Import.h"

#include "llvm/ADT/STLFunctionalExtras.h"

/// Models as files: binary ones, and the text form.
namespace origo::commands {

enum class FileKind { Circle, Tflite, Text, Onnx };
/// By extension, in capitals or not; none: something else.
std::optional<FileKind> kindOf(llvm::StringRef path);
/// Is it of another kind, of which a model is made when it is read? Such a file has no origin map.
bool isConverted(llvm::StringRef path);
/// What is written to `path`: what its extension tells, or where it tells none of the two, `otherwise`.
Format formatOf(llvm::StringRef path, Format otherwise);

/// A model that is its own source, as who has made it hands it on. `name`: of its file; empty: it has none. `format`:
/// of that, where it is none of ours.
llvm::Expected<Imported> asOwnSource(std::unique_ptr<Model> model, llvm::StringRef name = "",
                                     llvm::StringRef format = "");

/// Reads a model of any of these kinds. Binary models are told by their identifier, text by its extension `.origo` and
/// ONNX by
/// `.onnx`.
llvm::Expected<Imported> read(llvm::StringRef path, const ImportOptions &options, PayloadStore &store);
/// Writes it in the form that the extension of `path` asks for. A text has its big constants in `path`.bin.
llvm::Error write(Imported &imported, llvm::StringRef path, ExportOptions options);

/// read(), which the door hears of.
llvm::Expected<Imported> load(llvm::StringRef path, const ImportOptions &options, PayloadStore &store,
                              const Door &door);
/// write(), with notes that nobody else takes.
llvm::Error save(Imported &imported, llvm::StringRef path, ExportOptions options, const Door &door);

/// Standard input or output, a pipe or a device: what has no size and no files beside it.
bool isStream(llvm::StringRef path);

/// A folder for output, which others may read as far as the umask allows.
llvm::Error makeFolder(llvm::StringRef path);

/// The closing line of what wrote a model: operators, rewrites and sizes of the two files; no line for a stream.
/// `bytesBefore`: of the input when it was read; 0: not known. `withOrigins`: the written model has its origin map
/// inside. `grown` is why the file may have become much bigger.
void tellResult(const Door &door, uint64_t bytesBefore, llvm::StringRef output, size_t before, size_t after,
                std::optional<uint32_t> rewrites, bool withOrigins, llvm::StringRef nothing,
                llvm::StringRef grown = "");

/// Refuses an OUTPUT whose extension is none of those that tell a format. It may have none: then it is written as the
/// input is.
llvm::Error checkOutput(llvm::StringRef path,
                        llvm::ArrayRef<FileKind> kinds = {FileKind::Circle, FileKind::Tflite, FileKind::Text});

/// MODEL from the words of a command line; an error where there are others, or none.
llvm::Error takeModel(std::string &model, llvm::ArrayRef<std::string> words);
/// INPUT and OUTPUT from the words of a command line; an error where there are others, or not both.
llvm::Error takeFiles(std::string &input, std::string &output, llvm::ArrayRef<std::string> words);

/// Reads `input`, changes it and writes it to `output`, with its side file if that is wanted. Errors of `change` are
/// about the input.
llvm::Error rewriteFile(const std::string &input, const std::string &output,
                        llvm::function_ref<llvm::Error(Imported &imported, PayloadStore &store)> change,
                        const Door &door, origin::Embed embed = origin::Embed::Names, bool sideFile = true);

/// An error where `path`, which `actual` lists, is not the model that `model` was made from, which `expected` lists.
llvm::Error expectSource(llvm::StringRef path, llvm::StringRef model, const origin::Listing &expected,
                         const origin::Listing &actual);

/// sha256:… of the model as a file of its format.
llvm::Expected<std::string> fingerprintOf(Model &model);

/// So many threads as asked for, but not more than there are processors; 0 asks for all of them.
unsigned threadCount(unsigned asked);

} // namespace origo::commands
