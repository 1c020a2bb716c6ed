#pragma once

#include "eval/fast/Fast.h"

namespace origo::eval {

/// What the reference kernel computes of constants; nothing where it refuses them. The operands have the type and
/// quantisation of the site's.
std::optional<std::vector<uint8_t>> computeByReference(const FastSite &site, llvm::ArrayRef<Tensor> operands);

/// A tensor like `of`, with each of the 256 numbers of 8 bits, of this shape.
struct AllBytes {
  AllBytes(const Tensor &of, Shape shape) : tensor(of) {
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<uint8_t>(i);
    tensor.shape = std::move(shape);
    tensor.storage = bytes;
    tensor.known = tensor.rankKnown = true;
  }
  AllBytes(const AllBytes &) = delete;
  std::array<uint8_t, 256> bytes;
  Tensor tensor;
};

} // namespace origo::eval
