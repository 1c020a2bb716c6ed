#include "ir/SourceGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace origo {

void SourceGraph::addOperator(llvm::ArrayRef<int32_t> operands, llvm::ArrayRef<int32_t> results) {
  auto op = static_cast<int32_t>(ends.size());
  tensors.insert(tensors.end(), operands.begin(), operands.end());
  ends.push_back(tensors.size());
  for (int32_t tensor : results) {
    if (tensor < 0)
      continue;
    if (static_cast<size_t>(tensor) >= producers.size())
      producers.resize(tensor + 1, -1);
    if (producers[tensor] < 0)
      producers[tensor] = op;
  }
}

llvm::ArrayRef<int32_t> SourceGraph::operands(uint32_t op) const {
  if (op >= ends.size())
    return {};
  uint32_t begin = op ? ends[op - 1] : 0;
  return llvm::ArrayRef(tensors).slice(begin, ends[op] - begin);
}

bool SourceGraph::walkBack(uint32_t tensor, size_t most, llvm::function_ref<bool(uint32_t)> visit) const {
  llvm::SmallVector<uint32_t, 32> reached{tensor};
  for (size_t i = 0; i < reached.size(); ++i) {
    if (visit(reached[i]))
      return true;
    int32_t maker = producer(reached[i]);
    for (int32_t operand : maker < 0 ? llvm::ArrayRef<int32_t>() : operands(maker)) {
      if (reached.size() >= most)
        break;
      if (operand >= 0 && !llvm::is_contained(reached, static_cast<uint32_t>(operand)))
        reached.push_back(operand);
    }
  }
  return false;
}

void SourceGraph::index() {
  int32_t last = -1;
  for (int32_t tensor : tensors)
    last = std::max(last, tensor);
  firstUse.assign(last + 2, 0);
  for (int32_t tensor : tensors)
    if (tensor >= 0)
      ++firstUse[tensor + 1];
  std::partial_sum(firstUse.begin(), firstUse.end(), firstUse.begin());
  uses.resize(firstUse.back());
  std::vector<uint32_t> next(firstUse.begin(), firstUse.end() - 1);
  for (uint32_t place = 0; place < tensors.size(); ++place)
    if (tensors[place] >= 0)
      uses[next[tensors[place]]++] = place;
  nextLeft.resize(uses.size() + 1);
  std::iota(nextLeft.begin(), nextLeft.end(), 0);
}

uint32_t SourceGraph::userOf(uint32_t place) const {
  return std::upper_bound(ends.begin(), ends.end(), place) - ends.begin();
}

/// This use or the next that has not been taken. Halves the way for those who come after.
uint32_t SourceGraph::left(uint32_t use) {
  while (nextLeft[use] != use)
    use = nextLeft[use] = nextLeft[nextLeft[use]];
  return use;
}

void SourceGraph::takeUses(uint32_t tensor, IdSet users, const IdSets &sets,
                           llvm::function_ref<void(uint32_t, uint32_t)> visit) {
  if (nextLeft.empty())
    index();
  if (tensor + 1 >= firstUse.size())
    return;
  const uint32_t end = firstUse[tensor + 1];
  // The two ascending lists, uses that are left and members of `users`, each jumping to what the other has next.
  for (uint32_t use = left(firstUse[tensor]); use < end;) {
    uint32_t user = userOf(uses[use]);
    std::optional<uint32_t> member = sets.next(users, user);
    if (!member || *member >= ends.size())
      return;
    if (*member == user) {
      visit(user, uses[use] - (user ? ends[user - 1] : 0));
      nextLeft[use] = use + 1;
      use = left(use + 1);
    } else {
      uint32_t from = *member ? ends[*member - 1] : 0;
      use = left(std::lower_bound(uses.begin() + use, uses.begin() + end, from) - uses.begin());
    }
  }
}

} // namespace origo
