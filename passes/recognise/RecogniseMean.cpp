#include "passes/Spelling.h"

namespace origo {

/// sum(x, axes) / n → mean(x, axes), where n is how many elements there are along the axes.
static Rule bySum() {
  auto x = any(), axes = constant(), count = constant();
  auto sum = op(Op::SUM, {x, axes}).once();
  auto quotient = (sum / count).mayActivate(), product = (sum * count).mayActivate();
  return Rule{"sum", "not a sum that is used once, divided by a constant", quotient | product,
              [=](Match &m) {
                std::optional<Integers> over = m.integers(m[axes]);
                auto gone = over ? over->axesOf(m[x].rank()) : std::nullopt;
                if (!gone || !m[x].isFloat() || !m[x].isStatic())
                  return decline("not float, or the axes or the shape are not known before run time");
                int64_t elements = 1;
                for (int32_t axis : *gone)
                  elements *= m[x].shape()[axis];
                auto number = static_cast<double>(elements);
                if (elements < 1 || !m.isEvery(m[count], m.has(quotient) ? Quotient{number, 1} : Quotient{1, number}))
                  return decline("divided by another number than that of the elements");
                if (m.root().activation() != Activation::NONE)
                  return decline("an activation is fused");
                return m.replace(op(Op::MEAN, {x, axes}).with("keep_dims", m.op(sum).option("keep_dims")));
              }}
      .assumes("the float nearest to 1/n is 1/n");
}

Pass RecogniseMean() {
  return {"recognise-mean", "sum(x) / n -> mean(x), n elements along the axes", Phase::Recognise, true, {}, {bySum()}};
}

} // namespace origo
