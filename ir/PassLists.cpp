#include "ir/Provenance.h"

#include <algorithm>

namespace origo {

uint32_t PassLists::add(uint32_t list, llvm::StringRef pass) {
  for (uint32_t at = list; at; at = nodes[at].previous)
    if (nodes[at].pass == pass)
      return list;
  auto [it, fresh] = index.try_emplace({list, pass}, nodes.size());
  if (fresh)
    nodes.push_back({list, pass});
  return it->second;
}

uint32_t PassLists::join(uint32_t a, uint32_t b) {
  if (a == b || !b)
    return a;
  for (llvm::StringRef pass : get(b))
    a = add(a, pass);
  return a;
}

llvm::SmallVector<llvm::StringRef> PassLists::get(uint32_t list) const {
  llvm::SmallVector<llvm::StringRef> passes;
  for (; list; list = nodes[list].previous)
    passes.push_back(nodes[list].pass);
  std::reverse(passes.begin(), passes.end());
  return passes;
}

} // namespace origo
