#include "eval/Block.h"

#include <sys/mman.h>

using namespace origo;
using namespace origo::eval;

bool Block::allocate(uint64_t size) {
  constexpr uint64_t cacheLine = 64, hugePage = uint64_t(2) << 20;
  std::align_val_t alignment{size < hugePage ? cacheLine : hugePage};
  data = {static_cast<uint8_t *>(operator new[](size + readAhead, alignment, std::nothrow)), Delete{alignment}};
  bytes = data ? size : 0;
  if (data && size >= hugePage)
    (void)::madvise(data.get(), size / hugePage * hugePage, MADV_HUGEPAGE); // a wish
  return data != nullptr;
}

void Block::keepOnly(llvm::ArrayRef<llvm::ArrayRef<uint8_t>> parts) {
  constexpr uintptr_t page = 4096;
  auto address = [](const uint8_t *at) { return reinterpret_cast<uintptr_t>(at); };
  llvm::SmallVector<llvm::ArrayRef<uint8_t>> kept;
  for (llvm::ArrayRef<uint8_t> part : parts)
    if (part.begin() < data.get() + bytes && part.end() > data.get())
      kept.push_back(part);
  llvm::sort(kept, [](auto a, auto b) { return a.begin() < b.begin(); });
  kept.push_back({data.get() + bytes, size_t(0)});
  for (uintptr_t at = address(data.get()); llvm::ArrayRef<uint8_t> part : kept) {
    uintptr_t first = (at + page - 1) / page * page, end = address(part.begin()) / page * page;
    if (first < end)
      (void)::madvise(reinterpret_cast<void *>(first), end - first, MADV_DONTNEED);
    at = std::max(at, address(part.end()));
  }
}
