#include "passes/Rule.h"

#include "llvm/Support/MathExtras.h"

namespace origo {

/// All that a kernel may be run for; some custom operators are pure too.
static std::vector<Op> foldable() {
  std::vector<Op> codes = pureOperators();
  codes.push_back(Op::CUSTOM);
  return codes;
}

/// f(constants) → its value. What would make the model much bigger than what it replaces is left alone.
static Rule evaluate() {
  return {"evaluate", "", anyOf(foldable()).mayActivate(), [](Match &m) {
            Node root = m.root();
            // ONE unpacks constants; who writes .tflite wants a file that does not grow, but an operator takes a few
            // bytes, too.
            bool staysPacked = (root.code() == Op::DEQUANTIZE || root.code() == Op::DENSIFY) && m.writesTflite();
            // float32 of int8 weights are four times as big; of sparse ones there are few.
            uint64_t always = staysPacked ? 64 : 4096, growth = staysPacked ? 1 : root.code() == Op::DENSIFY ? 16 : 4;
            uint64_t before = 0, after = 0;
            for (unsigned i = 0; i < root.operandCount(); ++i)
              if (root.operand(i) && root.operand(i).isConstant())
                before += root.operand(i).payloadSize();
            for (unsigned i = 0; i < root.resultCount(); ++i) {
              std::optional<uint64_t> count = root.result(i).elementCount();
              std::optional<uint64_t> size = count ? payloadBytes(root.result(i).type(), *count) : std::nullopt;
              after = llvm::SaturatingAdd(after, size.value_or(UINT64_MAX));
              if (root.result(i).isOutput())
                return decline("a graph output would become a constant");
            }
            if (after > std::max(always, llvm::SaturatingMultiply(before, growth)))
              return decline(staysPacked ? "the file would grow, and unpack-constants was not asked for"
                                         : "the value would be much bigger than the operands");
            return m.foldRoot();
          }};
}

/// move(dequantize(constant)) → dequantize(moved constant)
static Rule packed() {
  auto stored = constant();
  auto unpacked = op(Op::DEQUANTIZE, {stored});
  auto move = anyOf({Op::TRANSPOSE, Op::RESHAPE, Op::SQUEEZE, Op::EXPAND_DIMS}, {unpacked, optionalConstant()});
  return {"packed", "no packed constant is moved", move, [=](Match &m) {
            Node at = m.op(move);
            if (at.resultCount() != 1 || at.result().isOutput())
              return decline("a graph output would become a constant");
            if (m[stored].isShared())
              return decline("the constant has other users, for whom it would have to stay");
            if (!m[stored].isPerTensor()) { // the dimension that the scales go along stays where it is
              std::optional<int32_t> channels = m[stored].channelDimension();
              std::optional<Integers> order = at.code() == Op::TRANSPOSE ? m.integers(at.operand(1)) : std::nullopt;
              if (!channels || !order || !order->isPermutation(m[stored].shape().size()) ||
                  !order->is(static_cast<size_t>(*channels), *channels))
                return decline("scales move too");
            }
            Expr moved = clone(move).operand(0u, stored).as(m[stored], at.result());
            return m.replace(op(Op::DEQUANTIZE, {fold(moved)}));
          }};
}

Pass FoldConstants() {
  return {"fold-constants",
          "an operator whose operands are constant, or a shape that is known -> its value",
          Phase::Simplify,
          true,
          {{"fold_add_v2", {{Op::CUSTOM, {}}}},
           {"fold_cast", {{Op::CAST, {}}}},
           {"fold_dwconv", {{Op::DEPTHWISE_CONV_2D, {}}}},
           {"fold_fully_connected", {{Op::FULLY_CONNECTED, {}}}},
           {"fold_gather", {{Op::GATHER, {}}}},
           {"fold_mul", {{Op::MUL, {}}}},
           {"fold_reshape", {{Op::RESHAPE, {}}}},
           {"fold_shape", {{Op::SHAPE, {}}}},
           {"fold_sparse_to_dense", {{Op::SPARSE_TO_DENSE, {}}}},
           {"fold_squeeze", {{Op::SQUEEZE, {}}}}},
          {evaluate(), packed()}};
}

} // namespace origo
