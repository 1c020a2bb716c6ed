#include "commands/Targets.h"

#include "ir/OpenFile.h"
#include "report/Columns.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace origo::commands {

using namespace report;

llvm::Expected<Target> loadTarget(const std::string &nameOrFile) {
  const llvm::StringLiteral *text = builtinTarget(nameOrFile);
  if (!text && !llvm::StringRef(nameOrFile).contains('/') && !llvm::StringRef(nameOrFile).ends_with(".json") &&
      !llvm::sys::fs::exists(nameOrFile)) {
    std::string names;
    for (const auto &[name, description] : builtinTargets())
      names += (names.empty() ? "" : ", ") + name.str();
    return makeError("\"" + printable(nameOrFile) +
                     "\" is neither a file nor a target that comes with the program; those are " + names);
  }
  auto target = text ? readTarget(*text) : readFile(nameOrFile, readTarget);
  if (target && target->name.empty())
    target->name = llvm::sys::path::stem(nameOrFile).str();
  return target;
}

llvm::Error listTargets(llvm::raw_ostream &os) {
  std::vector<Cells> rows;
  for (const auto &[name, text] : builtinTargets()) {
    auto target = readTarget(text);
    if (!target)
      return inFile(name, target.takeError());
    rows.push_back({name.str(), std::to_string(target->ops.size()), target->date, target->commit, target->source});
  }
  printColumns(
      {"target", "operators", "as of", "commit", "limits from"}, rows.size(), [&](size_t i) { return rows[i]; }, os);
  return llvm::Error::success();
}

} // namespace origo::commands
