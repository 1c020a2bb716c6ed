#include "passes/Rule.h"

#include "flatbuffers/flexbuffers.h"

namespace origo {

/// A truth value of TensorFlow's attributes, which stand in a flexbuffer; none: they cannot be read.
static std::optional<bool> attribute(llvm::ArrayRef<uint8_t> bytes, const char *name) {
  std::vector<uint8_t> seen;
  if (bytes.empty() || !flexbuffers::VerifyBuffer(bytes.data(), bytes.size(), &seen))
    return std::nullopt;
  flexbuffers::Reference root = flexbuffers::GetRoot(bytes.data(), bytes.size());
  if (!root.IsMap())
    return std::nullopt;
  return root.AsMap()[name].AsBool();
}

/// CUSTOM "BatchMatMulV2"(x, y) → batch_matmul(x, y)
static Rule resolve() {
  auto x = any(), y = any();
  auto product = custom("BatchMatMulV2", {x, y});
  return {"batch-mat-mul", "not a custom BatchMatMulV2", product, [=](Match &m) {
            if (!m[x].isFloat() || !m[y].isFloat())
              return decline("not float");
            std::optional<bool> left = attribute(m.op(product).customOptions(), "adj_x");
            std::optional<bool> right = attribute(m.op(product).customOptions(), "adj_y");
            if (!left || !right)
              return decline("its attributes cannot be read");
            return m.replace(op(Op::BATCH_MATMUL, {x, y}).with("adjoint_lhs", *left).with("adjoint_rhs", *right));
          }};
}

Pass ResolveCustomBatchMatMul() {
  return {"resolve-custom-batch-mat-mul",
          "custom BatchMatMulV2(x, y) -> batch_matmul(x, y)",
          Phase::Decompose,
          true,
          {{"resolve_customop_batchmatmul", {}}},
          {resolve()}};
}

} // namespace origo
