#pragma once

#include "ir/Rewriter.h"

#include <tuple>

/// Patterns are values. A matcher of an operator consumes it; a matcher of a value merely looks at it. What a failed
/// match consumed is forgotten.
///
///     Operator *conv; Value *scale;
///     if (!match(mul, rw, m_Commutative(m_OneUse(m_Op(BuiltinOperator::CONV_2D, conv)), m_Constant(scale))))
///       return decline("not a constant multiple of a convolution");
///
/// A matcher of one's own is a struct with `bool match(Value *value, Rewriter &rw) const`, and `value` may be null.
namespace origo {

/// Any value, absent ones excluded.
struct m_Value {
  Value *&bind;
  explicit m_Value(Value *&bind) : bind(bind) {}
  bool match(Value *value, Rewriter &) const {
    bind = value;
    return value != nullptr;
  }
};

/// A constant whose bytes are at hand.
struct m_Constant {
  Value *&bind;
  explicit m_Constant(Value *&bind) : bind(bind) {}
  bool match(Value *value, Rewriter &) const {
    bind = value;
    return value && value->isConstant() && !value->sparsity && !value->compression && !value->externalBuffer &&
           value->payload().hasBytes();
  }
};

/// The value of an inner matcher, used by the operator that is being matched and by nothing else.
template <class Inner> struct m_OneUse {
  Inner inner;
  explicit m_OneUse(Inner inner) : inner(inner) {}
  bool match(Value *value, Rewriter &rw) const { return value && value->hasOneUse() && inner.match(value, rw); }
};

/// Do the operands match, in order or, where there are two and the operator's row says that it is commutative, the
/// other way round?
template <class... Patterns> bool matchOperands(Operator &op, Rewriter &rw, const std::tuple<Patterns...> &patterns) {
  size_t mark = rw.consumedCount();
  unsigned i = 0;
  if (std::apply([&](const auto &...pattern) { return (pattern.match(op.operand(i++), rw) && ...); }, patterns))
    return true;
  rw.unconsume(mark);
  if constexpr (sizeof...(Patterns) == 2)
    if (op.numOperands() == 2 && op.info()->has(Trait::Commutative) && std::get<0>(patterns).match(op.operand(1), rw) &&
        std::get<1>(patterns).match(op.operand(0), rw))
      return true;
  rw.unconsume(mark);
  return false;
}

/// The result of an operator of this code, whose leading operands match: two in either order if it is commutative.
/// Consumes it.
template <class... Operands> struct m_Op {
  BuiltinOperator code;
  Operator *&bind;
  std::tuple<Operands...> operands;
  m_Op(BuiltinOperator code, Operator *&bind, Operands... operands) : code(code), bind(bind), operands(operands...) {}
  bool match(Value *value, Rewriter &rw) const {
    Operator *op = value ? value->producer() : nullptr;
    if (!op || op->code != code)
      return false;
    size_t mark = rw.consumedCount();
    rw.consume(*op);
    if (!matchOperands(*op, rw, operands)) {
      rw.unconsume(mark);
      return false;
    }
    bind = op;
    return true;
  }
};

/// The result of an operator that `accepts` says yes to. Consumes it.
template <class Predicate> struct m_OpIf {
  Predicate accepts;
  Operator *&bind;
  m_OpIf(Predicate accepts, Operator *&bind) : accepts(accepts), bind(bind) {}
  bool match(Value *value, Rewriter &rw) const {
    Operator *op = value ? value->producer() : nullptr;
    if (!op || !accepts(*op))
      return false;
    bind = op;
    rw.consume(*op);
    return true;
  }
};

/// An operator that has the trait. Consumes it.
struct m_Trait {
  Trait trait;
  Operator *&bind;
  m_Trait(Trait trait, Operator *&bind) : trait(trait), bind(bind) {}
  bool match(Value *value, Rewriter &rw) const {
    Operator *op = value ? value->producer() : nullptr;
    if (!op || !op->info() || !op->info()->has(trait))
      return false;
    bind = op;
    rw.consume(*op);
    return true;
  }
};

/// The first two operands of the operator at hand, in this order.
template <class A, class B> struct m_Operands {
  A a;
  B b;
  m_Operands(A a, B b) : a(a), b(b) {}
  bool match(Operator &op, Rewriter &rw) const {
    size_t mark = rw.consumedCount();
    if (a.match(op.operand(0), rw) && b.match(op.operand(1), rw))
      return true;
    rw.unconsume(mark);
    return false;
  }
};

/// The two operands of the operator at hand, in either order where its row says that it is commutative.
template <class A, class B> struct m_Commutative {
  A a;
  B b;
  m_Commutative(A a, B b) : a(a), b(b) {}
  bool match(Operator &op, Rewriter &rw) const {
    return op.numOperands() == 2 && matchOperands(op, rw, std::tuple<A, B>(a, b));
  }
};

template <class Pattern> bool match(Operator &op, Rewriter &rw, const Pattern &pattern) {
  return pattern.match(op, rw);
}
template <class Pattern> bool match(Value *value, Rewriter &rw, const Pattern &pattern) {
  return pattern.match(value, rw);
}

} // namespace origo
