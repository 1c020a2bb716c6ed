#include "ir/rewrite/Moves.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::rewrite {

/// No part has one element, and none that stay together are apart.
Moves::Moves(llvm::ArrayRef<int64_t> parts, llvm::ArrayRef<unsigned> places, unsigned repeated) {
  size_t count = parts.size() - repeated;
  llvm::SmallVector<unsigned, 8> numbers(count);
  llvm::SmallVector<int64_t, 8> all;
  for (auto [i, size] : llvm::enumerate(parts.take_front(count)))
    if (size != 1) {
      numbers[i] = static_cast<unsigned>(all.size());
      all.push_back(size);
    }
  llvm::SmallVector<unsigned, 8> starts; // of runs, in the order of the result
  llvm::SmallVector<int64_t, 8> product(all.size(), 1);
  unsigned expected = again, own = again; // the latter: the run that goes on
  for (unsigned place : places) {
    if (parts[place] == 1)
      continue;
    if (place >= count) {
      if (!starts.empty() && starts.back() == again) {
        repeats.back() *= parts[place];
      } else {
        starts.push_back(again);
        repeats.push_back(parts[place]);
      }
      continue;
    }
    unsigned number = numbers[place];
    if (number != expected || starts.empty() || starts.back() == again) {
      starts.push_back(number);
      own = number;
    }
    product[own] *= all[number];
    expected = number + 1;
  }
  llvm::SmallVector<unsigned, 8> sorted;
  for (unsigned start : starts)
    if (start != again)
      sorted.push_back(start);
  llvm::sort(sorted);
  for (unsigned start : sorted)
    sizes.push_back(product[start]);
  for (unsigned start : starts)
    order.push_back(start == again ? again : static_cast<unsigned>(llvm::find(sorted, start) - sorted.begin()));
}

std::optional<Moves> Moves::ofLast(int64_t front, int64_t channels) const {
  llvm::SmallVector<int64_t, 8> parts(sizes);
  llvm::SmallVector<unsigned, 8> places(order);
  if (!repeats.empty())
    return std::nullopt;
  if (front > 1) {
    if (parts.empty() || places.front() != 0 || parts.front() % front)
      return std::nullopt;
    parts.front() /= front;
  }
  int64_t elements = 1;
  for (int64_t size : parts)
    elements *= size;
  return elements == channels ? std::optional(Moves(parts, places)) : std::nullopt;
}

Moves Moves::inverse() const {
  llvm::SmallVector<int64_t, 8> parts;
  llvm::SmallVector<unsigned, 8> places(order.size());
  for (auto [place, part] : llvm::enumerate(order)) {
    parts.push_back(sizes[part]);
    places[part] = static_cast<unsigned>(place);
  }
  return {parts, places};
}

llvm::SmallVector<int32_t, 8> Moves::moved() const {
  llvm::SmallVector<int32_t, 8> result;
  for (unsigned part : order)
    result.push_back(static_cast<int32_t>(sizes[part]));
  return result;
}

llvm::SmallVector<int32_t, 8> Moves::back() const {
  llvm::SmallVector<int32_t, 8> result(order.size());
  for (auto [place, part] : llvm::enumerate(order))
    result[part] = static_cast<int32_t>(place);
  return result;
}

Chain::Chain(llvm::ArrayRef<int32_t> shape) {
  for (auto [i, size] : llvm::enumerate(shape)) {
    sizes.push_back(size);
    source.push_back(static_cast<unsigned>(i));
    current.push_back({static_cast<unsigned>(i)});
  }
}

bool Chain::reshape(llvm::ArrayRef<int32_t> shape) {
  llvm::SmallVector<unsigned, 16> open;
  for (const auto &dimension : current)
    open.append(dimension.begin(), dimension.end());
  current.clear();
  for (int32_t size : shape) {
    auto &dimension = current.emplace_back();
    int64_t left = size;
    while (left > 1) {
      if (open.empty() || sizes.size() > 32)
        return false;
      unsigned part = open.front();
      if (sizes[part] < 1 || (left % sizes[part] && sizes[part] % left))
        return false;
      if (left % sizes[part]) { // its outer share belongs here
        auto inner = static_cast<unsigned>(sizes.size());
        sizes.push_back(sizes[part] / left);
        sizes[part] = left;
        if (auto place = llvm::find(source, part); place != source.end())
          source.insert(place + 1, inner);
        open.insert(open.begin() + 1, inner);
      }
      left /= sizes[part];
      dimension.push_back(part);
      open.erase(open.begin());
    }
  }
  // What is left has one element.
  for (unsigned part : open) {
    if (sizes[part] != 1 || current.empty())
      return false;
    current.back().push_back(part);
  }
  return true;
}

bool Chain::transpose(llvm::ArrayRef<int64_t> permutation) {
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>, 6> moved;
  for (int64_t axis : permutation) {
    if (axis < 0 || static_cast<size_t>(axis) >= current.size())
      return false;
    moved.push_back(current[axis]);
  }
  current = std::move(moved);
  return true;
}

bool Chain::repeat(int64_t axis, int64_t times, bool each) {
  if (axis < 0 || static_cast<size_t>(axis) >= current.size() || times < 1 || sizes.size() > 32)
    return false;
  auto &dimension = current[axis];
  dimension.insert(each ? dimension.end() : dimension.begin(), static_cast<unsigned>(sizes.size()));
  sizes.push_back(times);
  return true;
}

Moves Chain::moves() const {
  llvm::SmallVector<int64_t, 8> parts;
  llvm::SmallVector<unsigned, 8> places, number(sizes.size());
  for (auto [i, part] : llvm::enumerate(source)) {
    parts.push_back(sizes[part]);
    number[part] = static_cast<unsigned>(i);
  }
  unsigned repeated = 0;
  for (unsigned part = 0; part < sizes.size(); ++part)
    if (!llvm::is_contained(source, part)) {
      number[part] = static_cast<unsigned>(parts.size());
      parts.push_back(sizes[part]);
      ++repeated;
    }
  for (const auto &dimension : current)
    for (unsigned part : dimension)
      places.push_back(number[part]);
  return Moves(parts, places, repeated);
}

} // namespace origo::rewrite
