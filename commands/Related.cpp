#include "commands/Related.h"

#include "commands/Files.h"

namespace origo::commands {

llvm::Expected<Related> relate(llvm::function_ref<llvm::Expected<Imported>(const ImportOptions &)> readSource,
                               llvm::function_ref<llvm::Expected<Imported>(const ImportOptions &)> readResult) {
  auto to = readResult({});
  if (!to)
    return to.takeError();
  ImportOptions alone;
  alone.origin = OriginMode::Restart;
  auto from = readSource(alone);
  if (!from)
    return from.takeError();
  bool byOrigins = from->lineage.source->fingerprint == to->lineage.source->fingerprint;
  if (!byOrigins) {
    auto continued = readSource({});
    if (!continued)
      return continued.takeError();
    byOrigins = continued->lineage.source->fingerprint == to->lineage.source->fingerprint;
    if (byOrigins)
      from = std::move(continued);
  }
  return Related{std::move(*from), std::move(*to), byOrigins};
}

llvm::Expected<Related> loadRelated(llvm::StringRef source, llvm::StringRef result, PayloadStore &store,
                                    const Door &door, bool tell) {
  auto models = relate([&](const ImportOptions &options) { return load(source, options, store, door); },
                       [&](const ImportOptions &options) { return load(result, options, store, door); });
  if (models && !models->byOrigins && tell)
    door.note("the origins of " + printable(result, 300) + " do not lead to " + printable(source, 300) +
              ": tensors are paired by the order of operators, or else by name");
  return models;
}

} // namespace origo::commands
