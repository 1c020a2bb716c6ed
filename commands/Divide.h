#pragma once

#include "commands/Door.h"
#include "import/Import.h"
#include "ir/edit/Editor.h"
#include "report/target/Partition.h"

/// Parts of models, as models that know where they come from.
namespace origo::commands {

/// Editor::keepOnly for a model that was read.
llvm::Error keepOnly(Imported &imported, PayloadStore &store, llvm::StringRef pass, llvm::ArrayRef<Operator *> kept,
                     Editor::PartOf partOf);

/// Divides the model of `path` between the target and the back end `fallback`, and writes the parts and the files that
/// tell of them into `directory`: NAME.00001_BACKEND.circle and so on, NAME.part, NAME.conn.ini and NAME.conn.json.
llvm::Error divide(llvm::StringRef path, const ImportOptions &options, const report::Target &target,
                   llvm::StringRef fallback, llvm::StringRef directory, const Door &door);
/// The same as a .part file says, which is not written again.
llvm::Error divide(llvm::StringRef path, const report::PartFile &part, llvm::StringRef directory, const Door &door);

} // namespace origo::commands
