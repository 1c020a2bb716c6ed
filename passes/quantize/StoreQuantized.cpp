#include "passes/Rule.h"

namespace origo {

/// And those whose state is in variables of their own. FAKE_QUANT has a rule of its own.
static std::vector<Op> storedOperators() {
  std::vector<Op> codes = pureOperators();
  llvm::erase(codes, Op::FAKE_QUANT);
  codes.insert(codes.end(), {Op::LSTM, Op::UNIDIRECTIONAL_SEQUENCE_LSTM, Op::SVDF});
  return codes;
}

static std::optional<Op> operatorOf(Activation activation) {
  switch (activation) {
  case Activation::RELU:
    return Op::RELU;
  case Activation::RELU6:
    return Op::RELU6;
  case Activation::RELU_N1_TO_1:
    return Op::RELU_N1_TO_1;
  case Activation::TANH:
    return Op::TANH;
  default:
    return std::nullopt;
  }
}

Pass StoreQuantized() {
  using Constants = StoragePlan::Constants;
  Rule rule{"store", "an operand is absent", anyOf(storedOperators()).mayActivate(), [](Match &m) {
              Expr copy = cloneRoot();
              bool any = false;
              for (unsigned i = 0; i < m.operandsPlanned(); ++i) {
                Stored stored = m.operandStored(i);
                std::optional<Expr> sum = m.corrected(i);
                if (!stored && !sum)
                  continue;
                any = true;
                Tensor operand = m.root().operand(i);
                Expr x = sum ? *sum : Expr(operand);
                if (!stored)
                  copy = copy.operand(i, fold(x));
                else if (operand && operand.isVariable())
                  copy = copy.operand(i, variable(operand, stored));
                else if (operand && !operand.isConstant())
                  copy = copy.operand(i, store(x, stored));
                else if (m.constantsStored() == Constants::Rounded)
                  copy = copy.operand(i, fold(load(fold(store(x, stored)), operand).storing(0, stored)));
                else if (m.constantsStored() == Constants::Widened)
                  copy = copy.operand(i, load(fold(store(x, stored)), operand));
                else if (operand && operand.type() == TensorType::INT32 &&
                         stored.type() == TensorType::INT32) // sums of other products than before
                  copy = copy.operand(i, fold(store(fold(op(Op::DEQUANTIZE, {x})), stored)));
                else
                  copy = copy.operand(i, fold(store(x, stored)));
              }
              for (unsigned i = 0; i < m.root().resultCount(); ++i)
                if (Stored stored = m.resultStored(i)) {
                  any = true;
                  copy = copy.storing(i, stored);
                } else if (any && m.root().code() == Op::QUANTIZE) {
                  copy = copy.as(m.root().result()); // which inference cannot tell
                }
              if (auto within = m.intermediatesStored(); !within.empty())
                copy = copy.intermediates(within);
              // Scales need not be powers of two, which the option's default promises.
              Op code = m.root().code();
              if (Stored sum = m.resultStored(0);
                  sum && sum.type() == TensorType::INT16 && (code == Op::ADD || code == Op::SUB))
                copy = copy.with("pot_scale_int16", 0);
              if (!any)
                return decline("nothing says how its tensors are to be stored");
              // A float that is to be left as one: by an operator into which nothing is fused.
              Activation activation = m.root().activation();
              Stored left = m.resultStored(0);
              if (left && left.type() == TensorType::FLOAT32 && m.root().result().isFloat()) {
                auto behind = operatorOf(activation);
                return behind ? m.replace(op(*behind, {copy.activation(Activation::NONE)}))
                              : decline("what is fused has no operator of its own");
              }
              std::vector<std::pair<Tensor, Expr>> results;
              for (unsigned i = 0; i < m.root().resultCount(); ++i) {
                Tensor y = m.root().result(i);
                Expr result = rewrite::result(copy, i);
                results.emplace_back(y, m.resultStored(i) ? load(result, y) : result);
              }
              return m.replace(std::move(results));
            }};
  // What training rounded: dequantize(quantize(x)), of the same numbers.
  auto x = any();
  Rule fake{"fake-quant", "", op(Op::FAKE_QUANT, {x}), [=](Match &m) {
              Stored stored = m.resultStored(0);
              return stored ? m.replace(load(store(x, stored), m.root().result()))
                            : decline("nothing says how its numbers are to be stored");
            }};
  return {"quantize",
          "f(x) → dequantize(f(quantize(x))), with the scales of a plan; constants are rounded once, c as c + d where "
          "data ask for d",
          Phase::Quantize,
          false,
          {},
          {rule, fake}};
}

} // namespace origo
