#include "passes/Spelling.h"

namespace origo {

/// The parts of a softmax of `x` over the axes `axes`, with the maximum taken off first or not.
struct SoftmaxParts {
  explicit SoftmaxParts(Expr x) : x(x) {}
  Expr x, axes = constant(), axesToo = constant();
  Expr most = op(Op::REDUCE_MAX, {x, axesToo}), centred = x - column(most);
  Expr power = expOf(centred | x).inside();
  Expr sum = op(Op::SUM, {power, axes}).once(), divisor = column(sum);
  Expr inverse = 1.0 / divisor, quotient = power / divisor | power * inverse;
  Tensor divided(Match &m) const { return m.has(inverse) ? m.op(inverse).operand(1) : m.root().operand(1); }

  /// Why they do not go over the last axis of x alone, or another one of `permutation` that is the last one before.
  const char *refusal(Match &m, Tensor from, const Integers *permutation, Tensor divided) const {
    Tensor whole = m[x];
    std::optional<Integers> over = m.integers(m[axes]);
    auto gone = over ? over->axesOf(whole.rank()) : std::nullopt;
    if (!whole.isFloat() || !gone || gone->size() != 1 ||
        !(permutation ? permutation->is(gone->front(), from.rank() - 1) : gone->front() == from.rank() - 1))
      return "not float, or not over one axis, the last";
    // The maximum may be over more: what is taken off all of a row counts for nothing.
    auto spans = [&](const Expr &reduced, Tensor axes, Tensor wide, bool more) {
      std::optional<Integers> list = m.integers(axes);
      auto own = list ? list->axesOf(whole.rank()) : std::nullopt;
      if (!own || !llvm::is_contained(*own, gone->front()) || (own->size() != 1 && !more) ||
          wide.rank() != whole.rank())
        return false;
      llvm::SmallVector<int32_t, 6> kept(whole.statedShape());
      for (int32_t axis : *own)
        kept[axis] = 1;
      return m.op(reduced).option("keep_dims") ||
             (whole.isStaticButOne() && wide.isStaticButOne() && wide.statedShape() == llvm::ArrayRef<int32_t>(kept));
    };
    if (!spans(sum, m[axes], divided, false) ||
        (m.has(most) && !spans(most, m[axesToo], m.op(centred).operand(1), true)))
      return "the maximum or the sum is not one number for each row";
    return nullptr;
  }
};

/// exp(x − max(x)) / sum(exp(x − max(x))) → softmax(x)
static Rule byParts() {
  auto x = any();
  SoftmaxParts parts(x);
  return {"parts", "not exp(x) over its sum", parts.quotient, [=](Match &m) {
            const char *why = parts.refusal(m, m[x], nullptr, parts.divided(m));
            return why ? decline(why) : m.replace(op(Op::SOFTMAX, {x}).withReal("beta", 1));
          }};
}

/// The same along another axis of what is transposed, which is the last one before.
static Rule byPartsOfTransposed() {
  auto x = any(), p = constant();
  auto moved = transpose(x, p);
  SoftmaxParts parts(moved);
  return {"parts-transposed", "not exp(x) over its sum, x transposed", parts.quotient, [=](Match &m) {
            std::optional<Integers> permutation = m.integers(m[p]);
            if (!permutation || !permutation->isPermutation(m[x].rank()))
              return decline("not a permutation");
            const char *why = parts.refusal(m, m[x], &*permutation, parts.divided(m));
            return why ? decline(why) : m.replace(clone(moved).operand(0, op(Op::SOFTMAX, {x}).withReal("beta", 1)));
          }};
}

/// The same along another axis: x is transposed so that it is the last one, and the result back.
static Rule byPartsAcross() {
  auto x = any();
  SoftmaxParts parts(x);
  return {"parts-across", "not exp(x) over its sum", parts.quotient, [=](Match &m) {
            int rank = m[x].rank();
            std::optional<Integers> over = m.integers(m[parts.axes]);
            auto gone = over ? over->axesOf(rank) : std::nullopt;
            if (!m.has(parts.most) || !gone || gone->size() != 1 || rank < 2 || rank > 4 || !m[x].isStatic())
              return decline("no more operators than with transposes, or not one axis of a known shape");
            llvm::SmallVector<int32_t, 4> there, back;
            for (int32_t i = 0; i < rank; ++i) {
              if (i != gone->front())
                there.push_back(i);
              back.push_back(i < gone->front() ? i : i == gone->front() ? rank - 1 : i - 1);
            }
            there.push_back(gone->front());
            Integers order = over->with(there), undone = over->with(back);
            if (const char *why = parts.refusal(m, m[x], &undone, parts.divided(m)))
              return decline(why);
            auto bridge = [&](Expr of, Expr by) { return transpose(of, by).synthetic(SyntheticReason::LayoutBridge); };
            Expr soft = op(Op::SOFTMAX, {bridge(x, order)}).withReal("beta", 1);
            return m.replace(bridge(soft, undone));
          }};
}

/// softmax(x − max(x)) → softmax(x), which takes the maximum off itself.
static Rule ofCentred() {
  auto x = any(), axes = constant();
  auto c = constant();
  auto most = op(Op::REDUCE_MAX, {x, axes}), centred = (x - column(most)).once(), scaled = (centred * c).once();
  auto soft = op(Op::SOFTMAX, {centred | scaled}), logarithm = op(Op::LOG_SOFTMAX, {centred | scaled});
  return {"centred", "not of what its maximum was taken off, used once", soft | logarithm, [=](Match &m) {
            if (!m[x].isFloat() || !isColumnOf(m, m[x], most, m[axes], m.op(centred).operand(1)))
              return decline("not float, or the maximum is not one number for each row");
            if (!m.has(scaled))
              return m.replace(cloneRoot().operand(0, x));
            if (m[c].elementCount() != 1 || m[c].rank() > m[x].rank())
              return decline("what is centred is not multiplied by one number");
            return m.replace(cloneRoot().operand(0, x * c));
          }};
}

/// exp(log_softmax(x)) → softmax(x)
static Rule exponential() {
  auto x = any();
  return {"exponential", "not the exponential of a log_softmax", expOf(op(Op::LOG_SOFTMAX, {x})), [=](Match &m) {
            return m[x].isFloat() ? m.replace(op(Op::SOFTMAX, {x}).withReal("beta", 1)) : decline("not float");
          }};
}

/// log(softmax(x)) → log_softmax(x)
static Rule logarithm() {
  auto x = any();
  auto soft = op(Op::SOFTMAX, {x}).once();
  return {"logarithm", "not the logarithm of a softmax that is used once", logOf(soft), [=](Match &m) {
            if (!m[x].isFloat() || m.op(soft).realOption("beta") != 1)
              return decline("not float, or beta is not one");
            return m.replace(op(Op::LOG_SOFTMAX, {x}));
          }};
}

/// (x − max(x)) − log(sum(exp(x − max(x)))) → log_softmax(x)
static Rule logarithmByParts() {
  auto x = any(), axes = constant(), axesToo = constant();
  auto most = op(Op::REDUCE_MAX, {x, axesToo}), centred = x - column(most);
  auto sum = op(Op::SUM, {expOf(centred), axes}), sumOfAll = op(Op::SUM, {expOf(x), axes});
  auto logarithm = logOf(column(sum)) | column(logOf(sum)), ofAll = logOf(column(sumOfAll)) | column(logOf(sumOfAll));
  auto less = x - logarithm, apart = less - column(most);
  auto pattern = (centred - logarithm) | (x - (column(most) + logarithm)) | apart | (x - ofAll);
  return {"logarithm-parts", "not x − log(sum(exp(x)))", pattern, [=](Match &m) {
            bool off = m.has(most);
            Expr total = off ? sum : sumOfAll;
            Tensor subtracted = m.root().operand(1), first = m.has(less) ? m.op(less).operand(1) : subtracted;
            if (!m[x].isFloat() || !isColumnOf(m, m[x], total, m[axes], first) ||
                (off && !isColumnOf(m, m[x], most, m[axesToo], m.has(centred) ? m.op(centred).operand(1) : subtracted)))
              return decline("not float, or the sum is not one number for each row");
            return m.replace(op(Op::LOG_SOFTMAX, {x}));
          }};
}

Pass RecogniseSoftmax() {
  return Pass{
      "recognise-softmax",
      "exp(x - max(x)) / sum(exp(x - max(x))), softmax(x - max(x)), exp(log_softmax(x)) -> softmax(x), "
      "log(softmax(x)), "
      "x - log(sum(exp(x))) -> log_softmax(x)",
      Phase::Recognise,
      true,
      {},
      {byParts(), byPartsOfTransposed(), byPartsAcross(), ofCentred(), exponential(), logarithm(), logarithmByParts()}}
      .about("Without the maximum taken off, an exponential overflows above 88 and the quotient is NaN there, where "
             "SOFTMAX has one; the logarithm of a probability that rounds to zero is minus infinity, where LOG_SOFTMAX "
             "has a number.");
}

} // namespace origo
