#include "passes/Linear.h"
#include "passes/Match.h"
#include "passes/Passes.h"

#include <cmath>
#include <cstring>

namespace origo {

namespace {

bool isOneNumber(const Value &constant) { return *constant.elementCount() == 1; }

/// The shape of two constants' sum or product where one is a number or both have equally many elements for each
/// dimension; none: they would have to be broadcast.
std::optional<llvm::SmallVector<int32_t, 6>> jointShape(const Value &a, const Value &b) {
  llvm::SmallVector<int32_t, 6> shapes[2];
  size_t rank = std::max(a.rank(), b.rank());
  for (auto [shape, constant] : {std::pair(&shapes[0], &a), std::pair(&shapes[1], &b)}) {
    shape->assign(rank - constant->rank(), 1);
    shape->append(constant->shape.begin(), constant->shape.end());
  }
  if (isOneNumber(b) || shapes[0] == shapes[1])
    return shapes[0];
  return isOneNumber(a) ? std::optional(shapes[1]) : std::nullopt;
}

/// (x ∘ c) ∘ d → x ∘ (d ∘ c)
RewriteResult merge(Operator &outer, Rewriter &rw, Operator &inner, Value *x, Value &c, Value &d) {
  bool product = outer.code == BuiltinOperator::MUL;
  float sign = outer.code == inner.code ? 1 : -1; // of c, where ADD and SUB meet
  if (x->type != TensorType::FLOAT32 || !isDenseFloatConstant(&c) || !isDenseFloatConstant(&d))
    return decline("not dense float constants");
  if (fusedActivation(inner) != ActivationFunctionType::NONE)
    return decline("activation in between");
  std::optional<llvm::SmallVector<int32_t, 6>> shape = jointShape(c, d);
  if (!shape)
    return decline("the constants broadcast in different ways");
  Value &base = isOneNumber(d) ? c : d, &other = &base == &c ? d : c; // the new one has the shape of `base`
  constexpr uint64_t small = 4096;
  if (base.payload().size() > small && !base.hasOneUse())
    return decline("the constant has other users, for whom it would have to stay");

  bool finite = true;
  llvm::Expected<Payload> payload =
      rw.store.make(base.payload().size(), [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
        for (size_t at = 0; at < window.size(); at += sizeof(float)) {
          size_t i = (offset + at) / sizeof(float);
          float first = floatAt(c, isOneNumber(c) ? 0 : i), second = floatAt(d, isOneNumber(d) ? 0 : i);
          float value = product ? first * second : second + sign * first;
          finite &= std::isfinite(first) && std::isfinite(second) && std::isfinite(value);
          // A product that underflows would lose what two multiplications keep.
          finite &= !product || first == 0 || second == 0 || std::isnormal(value);
          std::memcpy(window.data() + at, &value, sizeof(float));
        }
      });
  if (!payload)
    return rw.fail(payload.takeError());
  if (!finite)
    return decline("the constants, or the number that they make, are not finite or not normal");

  std::optional<llvm::SmallVector<Step, 2>> steps;
  if (isOneNumber(other)) {
    Step step{Step::Affine};
    auto number = [](double n) { return Step::Term{Step::Term::Number, n, nullptr}; };
    if (product) {
      step.scale = number(floatAt(other, 0));
    } else {
      bool first = &base == &c; // which may be d as well
      if (first && sign < 0)
        step.scale = number(-1);
      step.shift = number((first ? 1 : sign) * floatAt(other, 0));
    }
    steps = {step};
    if (llvm::ArrayRef(*shape) != llvm::ArrayRef(base.shape))
      steps->push_back({Step::Reshape});
  }
  Value *constant =
      rw.constant(std::move(*payload), TensorType::FLOAT32, *shape, {&base, &other}, &outer, std::move(steps));
  bool swapped = outer.operand(0) == &d;
  return rw.replace(rw.clone(outer).operand(swapped ? 1 : 0, x).operand(swapped ? 0 : 1, constant));
}

} // namespace

/// (x + c) + d → x + (d + c), (x * c) * d → x * (d * c), and with subtractions of constants.
RewriteResult mergeConstantArithmetic(Operator &outer, Rewriter &rw) {
  using Op = BuiltinOperator;
  Operator *inner;
  Value *x, *c, *d;
  auto outerOf = [&](Op code) {
    return match(outer, rw, m_Commutative(m_OneUse(m_Op(code, inner, m_Value(x), m_Constant(c))), m_Constant(d)));
  };
  if (outer.code == Op::MUL ? !outerOf(Op::MUL) : !outerOf(Op::ADD) && !outerOf(Op::SUB))
    return decline("not two of the same with constants, the first used once");
  return merge(outer, rw, *inner, x, *c, *d);
}

} // namespace origo
