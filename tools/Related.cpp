#include "tools/Related.h"

namespace origo::tools {

llvm::Expected<Related> loadRelated(llvm::StringRef source, llvm::StringRef result, PayloadStore &store,
                                    bool tell) {
  auto to = load(result, {}, store);
  if (!to)
    return to.takeError();
  ImportOptions alone;
  alone.origin = OriginMode::Restart;
  auto from = load(source, alone, store);
  if (!from)
    return from.takeError();
  if (from->lineage.source->fingerprint != to->lineage.source->fingerprint) {
    auto continued = load(source, {}, store);
    if (!continued)
      return continued.takeError();
    if (continued->lineage.source->fingerprint == to->lineage.source->fingerprint)
      from = std::move(continued);
    else if (tell)
      note("the origins of " + printable(result, 300) + " do not lead to " + printable(source, 300) +
           ": tensors are paired by the order of operators, or else by name");
  }
  return Related{std::move(*from), std::move(*to)};
}

} // namespace origo::tools
