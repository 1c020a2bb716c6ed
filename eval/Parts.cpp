#include "eval/Parts.h"

#include "eval/fast/Processor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>

namespace origo::eval {

llvm::Expected<Shard> Shard::parse(llvm::StringRef text) {
  Shard shard;
  auto [part, all] = text.split('/');
  if (part.getAsInteger(10, shard.part) || all.getAsInteger(10, shard.parts) || shard.part < 1 ||
      shard.part > shard.parts)
    return makeError("--shard: \"" + printable(text) + "\" is not like 3/16, the third of sixteen parts");
  return shard;
}

bool remembers(const Model &model) {
  return llvm::any_of(model.subgraphs, [](auto &graph) {
    return graph->effects() != 0 || llvm::any_of(graph->values, [](const Value *value) { return value->isVariable; });
  });
}

std::string engineText(const Session &session, Engine engine) {
  if (engine == Engine::Reference)
    return "reference";
  Session::Coverage coverage = session.coverage();
  return ("fast, " + llvm::sys::getHostCPUName() + ", " +
          forThisProcessor<llvm::StringRef>("least vectors", "AVX2", "AVX-512") + ", " +
          llvm::Twine(coverage.fast.size()) + " fast and " + llvm::Twine(coverage.reference.size()) +
          " reference kernels")
      .str();
}

llvm::Error checkSameEngine(llvm::StringRef mine, llvm::StringRef other) {
  if (mine == other)
    return llvm::Error::success();
  return makeError("were made by another engine or processor (" + printable(other) + ", not " + printable(mine) +
                   "): record all parts on one kind of machine");
}

llvm::Error addRecords(std::vector<uint64_t> &mine, llvm::ArrayRef<uint64_t> other) {
  std::vector<uint64_t> all;
  std::merge(mine.begin(), mine.end(), other.begin(), other.end(), std::back_inserter(all));
  if (auto twice = std::adjacent_find(all.begin(), all.end()); twice != all.end())
    return makeError("has record " + llvm::Twine(*twice) + ", which another part has too");
  mine = std::move(all);
  return llvm::Error::success();
}

} // namespace origo::eval
