#include "passes/Rule.h"

namespace origo {

/// fc(x, W, b) of computed weights → batch_matmul(x, Wᵀ) + b, for back ends whose fully connected operator wants
/// constants.
static Rule decompose() {
  auto x = any(), weights = any(), bias = optionalConstant();
  auto linear = op(Op::FULLY_CONNECTED, {x, weights, bias}).mayActivate();
  return {"decompose", "not a fully connected operator, or its bias is computed", linear, [=](Match &m) {
            Node at = m.op(linear);
            if (m[weights].isConstant() || m[weights].isPackedConstant())
              return decline("the weights are constant");
            if (!m[x].isFloat() || !m[weights].isFloat() || at.resultCount() != 1 || at.option("weights_format") != 0)
              return decline("not float weights in the usual order");
            int32_t length = m[weights].lastDimension();
            if (!m[x].isStatic() || !m[weights].isStatic() || m[weights].rank() != 2 || length < 1)
              return decline("the shapes are not known before run time");
            auto rows = static_cast<int32_t>(*m[x].elementCount() / length);
            // BATCH_MATMUL takes the rows of several dimensions as they are, where the result keeps these dimensions.
            bool keeps = m[x].lastDimension() == length && m[x].rank() == m[linear].rank() && m[x].rank() <= 5;
            bool flat = !keeps && (m[x].rank() != 2 || m[x].lastDimension() != length); // to two dimensions, and back
            bool bridged = !keeps && m[linear].rank() != 2;
            Expr input = flat ? reshape(x, list({rows, length})).synthetic(SyntheticReason::LayoutBridge) : Expr(x);
            Expr product = op(Op::BATCH_MATMUL, {input, weights}).with("adjoint_rhs", 1);
            bool shifts = m[bias] && !m.every(m[bias], [](double n) { return n == 0; });
            Expr sum = shifts ? product + bias : product;
            Activation activation = at.activation();
            if (activation != Activation::NONE && activation != Activation::RELU && activation != Activation::RELU6)
              return decline("another activation than RELU and RELU6 is fused");
            if (activation != Activation::NONE)
              sum = shifts ? sum.activation(activation) : activation == Activation::RELU ? relu(sum) : relu6(sum);
            return m.replace(bridged ? reshape(sum, shapeOf(m[linear])).synthetic(SyntheticReason::LayoutBridge) : sum);
          }};
}

Pass DecomposeComputedFullyConnected() {
  return {"decompose-computed-fully-connected",
          "fc(x, W, b) of computed W -> batch_matmul(x, transposed W) + b",
          Phase::Decompose,
          true,
          {{"replace_non_const_fc_with_batch_matmul", {}}},
          {decompose()}};
}

} // namespace origo
