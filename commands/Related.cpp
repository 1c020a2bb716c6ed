#include "commands/Related.h"

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

} // namespace origo::commands
