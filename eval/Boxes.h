#pragma once

#include "eval/Shapes.h"

/// Parts of dense tensors that lie in one piece and are tensors again, so that kernels can compute them.
namespace origo::eval {

struct Box {
  Shape origin, shape;
  int64_t count = 1;
};

/// f(box) for boxes that make up the elements [first, first + count) of a dense tensor, in their order. There are no
/// more than two for each dimension, and one.
template <class F> void forEachBox(llvm::ArrayRef<int32_t> whole, int64_t first, int64_t count, F f) {
  auto strides = stridesOf(whole);
  while (count > 0) {
    Box box{Shape(whole.size(), 0), Shape(whole.begin(), whole.end()), 1};
    int64_t rest = first;
    for (size_t d = 0; d < whole.size(); ++d) {
      box.origin[d] = static_cast<int32_t>(rest / strides[d]);
      rest %= strides[d];
    }
    // The outermost dimension whose steps begin here and fit.
    size_t along = 0;
    while (along < whole.size() && (first % strides[along] || strides[along] > count))
      box.shape[along++] = 1;
    if (along < whole.size()) {
      int64_t length = std::min<int64_t>(whole[along] - box.origin[along], count / strides[along]);
      box.shape[along] = static_cast<int32_t>(length);
      box.count = length * strides[along];
    }
    f(box);
    first += box.count;
    count -= box.count;
  }
}

/// What of an operand that broadcasts to a result belongs to a box of the result. It lies in one piece, too.
struct OperandBox {
  int64_t first = 0; ///< element of the operand
  Shape shape;

  OperandBox(llvm::ArrayRef<int32_t> operand, const Box &box) {
    auto strides = stridesOf(operand);
    size_t missing = box.shape.size() - operand.size();
    for (size_t d = 0; d < operand.size(); ++d) {
      bool repeated = operand[d] == 1;
      first += repeated ? 0 : box.origin[missing + d] * strides[d];
      shape.push_back(repeated ? 1 : box.shape[missing + d]);
    }
  }
};

/// f(first, count, to) for the elements of `size` bytes that bytes [offset, offset + window) are part of, at most
/// `most` bytes at a time. `to` is aligned to the elements.
template <class F>
void forEachBlock(uint64_t offset, llvm::MutableArrayRef<uint8_t> window, uint64_t size, uint64_t most, F f) {
  alignas(16) uint8_t cut[16];
  while (!window.empty()) {
    uint64_t inside = offset % size, part = window.size() / size * size;
    bool aligned = reinterpret_cast<uintptr_t>(window.data()) % size == 0;
    if (inside == 0 && part && aligned) {
      part = std::min(part, most / size * size);
      f(static_cast<int64_t>(offset / size), static_cast<int64_t>(part / size), window.data());
    } else { // an element that is cut, or that would not be aligned
      part = std::min<uint64_t>(window.size(), size - inside);
      f(static_cast<int64_t>(offset / size), int64_t(1), cut);
      std::copy_n(cut + inside, part, window.data());
    }
    offset += part;
    window = window.drop_front(part);
  }
}

} // namespace origo::eval
