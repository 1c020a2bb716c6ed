#include "passes/Rule.h"

namespace origo {

/// relu(f(x)) → f(x) with a fused activation.
static Rule fuse(llvm::StringLiteral name, Op code, Activation activation) {
  auto f = anyWith(Trait::Clamps).once();
  auto clamped = op(code, {f});
  return {
      name, "not the only user of an operator that can have a fused activation and has none", clamped, [=](Match &m) {
        if (m.op(f).resultCount() != 1)
          return decline("the operator has several results");
        if (!m[f].isFloat() && !m[f].isQuantized())
          return decline("integers without quantisation are not clamped");
        // Which dimensions are dynamic, the two may state differently.
        if (!m[f].hasTypeOf(m[clamped]) || m[f].shape() != m[clamped].shape() || !m[f].hasQuantizationOf(m[clamped]))
          return decline("the activation changes type, shape or quantisation");
        return m.replace(clone(f).activation(activation));
      }};
}

Pass FuseActivation() {
  return {"fuse-activation",
          "relu(f(x)) -> f(x) with a fused activation, f used once",
          Phase::Fuse,
          true,
          {{"fuse_activation_function", {}}},
          {fuse("relu", Op::RELU, Activation::RELU), fuse("relu6", Op::RELU6, Activation::RELU6),
           fuse("relu-n1-to-1", Op::RELU_N1_TO_1, Activation::RELU_N1_TO_1)}};
}

} // namespace origo
