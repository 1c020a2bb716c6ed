#include "ir/rewrite/Order.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

bool comesBefore(const Operator &a, const Operator &b) {
  if (a.index != b.index)
    return a.index < b.index;
  auto end = a.subgraph()->operators.end();
  for (auto it = a.getIterator(); ++it != end && it->index == b.index;)
    if (&*it == &b)
      return true;
  return false;
}

llvm::SmallVector<Operator *, 4> usersInOrder(const Value &value) {
  llvm::SmallVector<Operator *, 4> users;
  value.forEachUse([&](Use &use) { users.push_back(use.user()); });
  if (users.size() > 1)
    llvm::sort(users, [](const Operator *a, const Operator *b) { return comesBefore(*a, *b); });
  return users;
}

} // namespace origo
