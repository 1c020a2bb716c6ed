#pragma once

#include "eval/fast/Fast.h"

namespace origo::eval {

/// What the reference kernel computes of constants; nothing where it refuses them. The operands have the type and
/// quantisation of the site's.
std::optional<std::vector<uint8_t>> computeByReference(const FastSite &site, llvm::ArrayRef<Tensor> operands);

/// With one scale for all, a result does not depend on where a number is.
inline bool hasManyScales(const Tensor &tensor) {
  return tensor.perChannel() || (tensor.quantization && tensor.quantization->details != Quantization::Details::None);
}

/// A tensor like `of`, with all numbers of 8 or 16 bits in the order of their bits, of this shape.
struct AllNumbers {
  AllNumbers(const Tensor &of, Shape shape) : tensor(of) {
    tensor.shape = std::move(shape);
    bool wide = tensor.count() == 1 << 16;
    for (uint32_t i = 0; i < tensor.count(); ++i) {
      bytes.push_back(static_cast<uint8_t>(i));
      if (wide)
        bytes.push_back(static_cast<uint8_t>(i >> 8));
    }
    tensor.storage = bytes;
    tensor.known = tensor.rankKnown = true;
  }
  AllNumbers(const AllNumbers &) = delete;
  std::vector<uint8_t> bytes;
  Tensor tensor;
};

} // namespace origo::eval
