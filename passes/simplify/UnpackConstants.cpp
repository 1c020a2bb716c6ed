#include "passes/Rule.h"

#include "llvm/Support/MathExtras.h"

namespace origo {

/// unpack(constant) → its value, which is bigger in the file and is not computed in each run.
static Rule unpack() {
  auto packed = any();
  return {"unpack", "", anyOf({Op::DEQUANTIZE, Op::DENSIFY}, {packed}), [=](Match &m) {
            Node root = m.root();
            if (!m[packed].isConstant())
              return decline("the operand is computed");
            if (root.result().isOutput())
              return decline("a graph output would become a constant");
            // float32 of int8 weights are four times as big; of sparse ones there are few.
            uint64_t growth = root.code() == Op::DENSIFY ? 16 : 4, always = 4096;
            std::optional<uint64_t> count = root.result().elementCount();
            std::optional<uint64_t> size = count ? payloadBytes(root.result().type(), *count) : std::nullopt;
            if (!size || *size > std::max(always, llvm::SaturatingMultiply(m[packed].payloadSize(), growth)))
              return decline("the value would be much bigger than the operand");
            return m.foldRoot();
          }};
}

Pass UnpackConstants() {
  return {"unpack-constants",
          "dequantize(constant), densify(constant) -> its value, though the file grows",
          Phase::Simplify,
          false,
          {{"fold_densify", {{Op::DENSIFY, {}}}}, {"fold_dequantize", {{Op::DEQUANTIZE, {}}}}},
          {unpack()}};
}

} // namespace origo
